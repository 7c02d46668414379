#include "core/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returned when there is no memory even for the message. */
static struct tt_error out_of_memory = {TT_FAILED, "out of memory"};

/* Replaces control characters, so that text quoted from a file cannot break the line or send escapes to the terminal.
 */
static void keep_to_one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f) *text = ' ';
}

tt_status tt_fail(enum tt_code code, const char *format, ...)
{
    struct tt_error *e = malloc(sizeof *e);
    if (!e) return &out_of_memory;
    e->code = code;
    va_list ap;
    va_start(ap, format);
    vsnprintf(e->text, sizeof e->text, format, ap);
    va_end(ap);
    keep_to_one_line(e->text);
    return e;
}

tt_status tt_no_memory(const char *what, ...)
{
    char text[sizeof out_of_memory.text];
    va_list ap;
    va_start(ap, what);
    vsnprintf(text, sizeof text, what, ap);
    va_end(ap);
    return tt_fail(TT_FAILED, "out of memory for %s; free some memory", text);
}

tt_status tt_context(tt_status st, const char *format, ...)
{
    if (!st || st == &out_of_memory) return st;
    char before[sizeof st->text];
    memcpy(before, st->text, sizeof before);
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(st->text, sizeof st->text, format, ap);
    va_end(ap);
    keep_to_one_line(st->text);
    if (n < 0 || (size_t)n >= sizeof st->text - 3) return st;
    memcpy(st->text + n, ": ", 2);
    size_t room = sizeof st->text - (size_t)n - 3, length = strnlen(before, sizeof before);
    if (length > room) length = room;
    memcpy(st->text + n + 2, before, length);
    st->text[(size_t)n + 2 + length] = 0;
    return st;
}

void tt_status_free(tt_status st)
{
    if (st != &out_of_memory) free(st);
}
