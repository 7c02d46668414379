/* Long lines on a terminal, which here is a pseudo-terminal. */
#include "cli/wrap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/test.h"

static int after_ten(const char *line) { return line[0] == ' ' ? 10 : 4; }

/* Prints to a terminal of that width; NULL: there are no pseudo-terminals. Every line ends with "\r\n" there. */
static char *printed(const char *text, int width, char *out, size_t size)
{
    struct winsize columns = {.ws_row = 24, .ws_col = (unsigned short)width};
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    int slave = master < 0 || grantpt(master) || unlockpt(master) ? -1 : open(ptsname(master), O_RDWR | O_NOCTTY);
    FILE *f = slave < 0 || ioctl(slave, TIOCSWINSZ, &columns) ? NULL : fdopen(slave, "w");
    size_t n = 0;
    if (!f) return NULL;
    tt_print_wrapped(f, text, after_ten);
    fputs("\004", f); /* the end */
    fflush(f);
    for (ssize_t more = 1; more > 0 && n + 1 < size && (!n || out[n - 1] != '\004'); n += (size_t)more)
        if ((more = read(master, out + n, size - 1 - n)) < 0) more = 0;
    out[n ? n - 1 : 0] = 0;
    fclose(f);
    close(master);
    return out;
}

static const char long_line[] = "  right   step_ms     The median of ten steps, of which half are longer, and half are "
                                "shorter than it\n";

/* What does not fit goes on below, indented, and no word is broken or lost. */
static void lines_are_broken_between_words(void)
{
    char out[2000], plain[2000] = "";
    setenv("TERM", "xterm", 1);
    if (!printed(long_line, 60, out, sizeof out)) SKIP("no pseudo-terminals");
    for (char *line = strtok(out, "\r\n"); line; line = strtok(NULL, "\r\n")) {
        CHECK(strlen(line) <= 60, "%zu columns: %s", strlen(line), line);
        CHECK(!plain[0] || !strncmp(line, "          ", 10), "indented: \"%s\"", line);
        snprintf(plain + strlen(plain), sizeof plain - strlen(plain), "%s%s", plain[0] ? " " : "",
                 line + (plain[0] ? 10 : 0));
    }
    CHECK(!strncmp(plain, long_line, strlen(long_line) - 1), "%s", plain);
}

/* Short lines, empty ones and words longer than the terminal stay as they are. */
static void other_lines_stay(void)
{
    char out[2000];
    if (!printed("short\n\n  a\n", 80, out, sizeof out)) SKIP("no pseudo-terminals");
    CHECK(!strcmp(out, "short\r\n\r\n  a\r\n"), "%s", out);
    char word[101] = "";
    memset(word, 'x', 100);
    CHECK(printed(word, 60, out, sizeof out) && !strncmp(out, word, 100), "%s", out);
}

/* A file gets every line whole, and so does a terminal too narrow for columns. */
static void files_stay_as_they_are(void)
{
    char out[2000] = "";
    FILE *f = tmpfile();
    CHECK(f != NULL);
    if (!f) return;
    tt_print_wrapped(f, long_line, after_ten);
    rewind(f);
    CHECK(fread(out, 1, sizeof out - 1, f) == strlen(long_line) && !strcmp(out, long_line), "%s", out);
    fclose(f);
    if (printed(long_line, 30, out, sizeof out)) CHECK(!strchr(strchr(out, '\n') + 1, '\n'), "%s", out);
}

int main(void)
{
    TEST(lines_are_broken_between_words);
    TEST(other_lines_stay);
    TEST(files_stay_as_they_are);
    return test_end();
}
