#include "core/base/stops.h"

#include <string.h>

/* The first place from which on the text is this string, or the beginning of it; n: there is none. */
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

/* A string that may have begun before another one is whole decides later: its place comes first. */
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
