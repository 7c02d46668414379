#include "cli/wrap.h"

#include <string.h>

#include "core/base/terminal.h"

/* Columns of UTF-8: bytes that continue a character take none. */
static int columns_of(const char *s, size_t n)
{
    int columns = 0;
    for (size_t i = 0; i < n; i++) columns += ((unsigned char)s[i] & 0xc0) != 0x80;
    return columns;
}

static void print_line(FILE *f, const char *line, size_t length, int width, int hang)
{
    int column = 0;
    for (size_t at = 0; at < length;) {
        size_t spaces = strspn(line + at, " "), word = strcspn(line + at + spaces, " \n");
        int columns = columns_of(line + at + spaces, word);
        if (column > hang && column + (int)spaces + columns > width) {
            fprintf(f, "\n%*s", hang, "");
            column = hang;
        } else {
            fprintf(f, "%*s", (int)spaces, "");
            column += (int)spaces;
        }
        fwrite(line + at + spaces, 1, word, f);
        column += columns;
        at += spaces + word;
    }
    fputs("\n", f);
}

void tt_print_wrapped(FILE *f, const char *text, int (*hang)(const char *line))
{
    enum { NARROW = 60 };
    int width = tt_terminal_columns(f);
    if (width < NARROW) {
        fputs(text, f);
        return;
    }
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        int indent = hang(text);
        print_line(f, text, n, width, indent < width / 2 ? indent : 4);
    }
}
