/* The Unicode letters (category L) and numbers (category N). */
#include "core/data/tokenizers/unicode.h"

#include <stddef.h>

struct range {
    uint32_t from, to;
};

#include "core/data/tokenizers/unicode_tables.h"

static bool within(uint32_t point, const struct range *ranges, size_t n)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (point < ranges[middle].from)
            high = middle;
        else if (point > ranges[middle].to)
            low = middle + 1;
        else
            return true;
    }
    return false;
}

bool tt_is_letter(uint32_t point) { return within(point, letters, sizeof letters / sizeof *letters); }
bool tt_is_number(uint32_t point) { return within(point, numbers, sizeof numbers / sizeof *numbers); }

bool tt_is_space(uint32_t c)
{
    if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}
