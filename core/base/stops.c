#include "core/base/stops.h"

#include <string.h>

/* The first place where the text contains this string, or ends with a beginning of it; n if there is none. *whole is
 * set in the first case. */
static size_t first_match(const char *stop, const char *text, size_t from, size_t n, bool *whole)
{
    size_t length = strlen(stop);
    for (size_t at = from; at < n; at++) {
        size_t rest = n - at, compared = rest < length ? rest : length;
        if (memcmp(text + at, stop, compared)) continue;
        *whole = compared == length;
        return at;
    }
    return n;
}

/* The earliest place counts, even if only the beginning of a string is there and a later one is complete: more text
 * will decide. */
size_t tt_stops_visible(const struct tt_stops *s, const char *text, size_t from, size_t n, bool *found)
{
    size_t end = n;
    *found = false;
    for (int i = 0; i < s->count; i++) {
        bool whole = false;
        size_t at = first_match(s->strings[i], text, from, n, &whole);
        if (at > end || at == n) continue;
        *found = whole || (at == end && *found);
        end = at;
    }
    return end;
}
