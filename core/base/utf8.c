#include "core/base/utf8.h"

int tt_utf8_decode(const char *p, size_t n, uint32_t *point)
{
    const unsigned char *s = (const unsigned char *)p;
    unsigned first = s[0];
    *point = first;
    if (first < 0x80) return 1;
    size_t length = first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 1, i = 1;
    /* The range of the second byte excludes overlong forms, surrogates and code points above U+10FFFF. */
    unsigned low = first == 0xe0   ? 0xa0
                   : first == 0xf0 ? 0x90
                                   : 0x80,
             high = first == 0xed   ? 0x9f
                    : first == 0xf4 ? 0x8f
                                    : 0xbf;
    uint32_t code = first & (0x7fu >> length);
    for (; i < length && i < n && s[i] >= low && s[i] <= high; i++) {
        code = code << 6 | (s[i] & 0x3fu);
        low = 0x80;
        high = 0xbf;
    }
    *point = length == 1 ? TT_UTF8_BAD : i == length ? code : i == n ? TT_UTF8_CUT : TT_UTF8_BAD;
    return (int)i;
}

int tt_utf8_encode(uint32_t point, char out[4])
{
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    int n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (int i = n - 1; i > 0; i--, point >>= 6) out[i] = (char)(0x80 | (point & 0x3f));
    out[0] = (char)(lead[n] | point);
    return n;
}

void tt_utf8_put(struct tt_text *out, uint32_t point)
{
    char bytes[4];
    tt_text_add(out, bytes, (size_t)tt_utf8_encode(point, bytes));
}

bool tt_utf8_valid(const char *s, size_t n)
{
    uint32_t point;
    for (size_t at = 0; at < n;) {
        at += (size_t)tt_utf8_decode(s + at, n - at, &point);
        if (!point || !tt_utf8_is_character(point)) return false;
    }
    return true;
}

size_t tt_utf8_count(const char *s, size_t n)
{
    uint32_t point;
    size_t count = 0;
    for (size_t at = 0; at < n; count++) at += (size_t)tt_utf8_decode(s + at, n - at, &point);
    return count;
}

size_t tt_utf8_prefix(const char *s, size_t n, int64_t most)
{
    uint32_t point;
    size_t at = 0;
    for (int64_t i = 0; at < n && i < most; i++) at += (size_t)tt_utf8_decode(s + at, n - at, &point);
    return at;
}

size_t tt_utf8_put_text(struct tt_text *out, const char *s, size_t n, bool more_follows)
{
    uint32_t point;
    size_t plain = 0, at = 0; /* s[plain..at) is valid and not yet added */
    while (at < n) {
        size_t length = (size_t)tt_utf8_decode(s + at, n - at, &point);
        if (!tt_utf8_is_character(point)) {
            tt_text_add(out, s + plain, at - plain);
            if (point == TT_UTF8_CUT && more_follows) return at;
            tt_text_puts(out, TT_UTF8_REPLACEMENT);
            plain = at + length;
        }
        at += length;
    }
    tt_text_add(out, s + plain, at - plain);
    return at;
}
