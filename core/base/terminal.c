#include "core/base/terminal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool tt_is_terminal(FILE *f)
{
    const char *term = getenv("TERM");
    if (getenv("OMPI_COMM_WORLD_RANK")) return false; /* Open MPI gives its ranks a pseudo-terminal */
    return isatty(fileno(f)) && !(term && !strcmp(term, "dumb"));
}

int tt_terminal_columns(FILE *f)
{
    struct winsize size;
    return tt_is_terminal(f) && !ioctl(fileno(f), TIOCGWINSZ, &size) ? size.ws_col : 0;
}

const char *tt_colour(FILE *f, enum tt_colour c)
{
    static const char *const codes[] = {"\033[0m", "\033[1m", "\033[32m", "\033[33m", "\033[1;31m"};
    const char *no_color = getenv("NO_COLOR");
    return tt_is_terminal(f) && !(no_color && *no_color) ? codes[c] : "";
}

static bool silent;

void tt_say_nothing(void) { silent = true; }

void tt_say(const char *format, ...)
{
    char line[2000] = "tt: ";
    va_list args;
    if (silent) return;
    va_start(args, format);
    vsnprintf(line + 4, sizeof line - 5, format, args);
    va_end(args);
    strcat(line, "\n");
    fputs(line, stderr); /* one call, so that lines of several processes do not mix */
}
