/* Strings that end a text which grows. */
#ifndef TT_STOPS_H
#define TT_STOPS_H

#include <stdbool.h>
#include <stddef.h>

struct tt_stops {
    const char *const *strings; /* none of them empty */
    int count;
};

/* How much of text[from .. n) may be shown: up to the first of the strings, then *found is set; otherwise all but what
 * could be the beginning of one. Returns where it ends. What was shown before lies before `from`. */
size_t tt_stops_visible(const struct tt_stops *s, const char *text, size_t from, size_t n, bool *found);

#endif
