/* Stop strings, which end a text while it is generated. */
#ifndef TT_STOPS_H
#define TT_STOPS_H

#include <stdbool.h>
#include <stddef.h>

struct tt_stops {
    const char *const *strings; /* none of them empty */
    int count;
};

/* Up to where text[from .. n) may be shown. If it contains a stop string: up to the first one, and *found is set.
 * Otherwise all of it, except an end that could be the beginning of a stop string. Text before `from` is shown already.
 */
size_t tt_stops_visible(const struct tt_stops *s, const char *text, size_t from, size_t n, bool *found);

#endif
