/* UTF-8: the one decoder and the one encoder of the program. Bytes that are not UTF-8 are cut as the Unicode standard
 * recommends (chapter 3, "U+FFFD Substitution of Maximal Subparts"), which Python, Rust and browsers follow. */
#ifndef TT_UTF8_H
#define TT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"

#define TT_UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* What stands in *point where there is no character. */
enum {
    TT_UTF8_BAD = 0x110000, /* no UTF-8, whatever follows */
    TT_UTF8_CUT,            /* the beginning of a character, and no more bytes */
};

/* The code point at p, and how many bytes it has; n >= 1 bytes are there. Bytes that are not a character are as many as
 * one U+FFFD stands for: the beginning of a character that does not go on, or one byte. */
int tt_utf8_decode(const char *p, size_t n, uint32_t *point);
static inline bool tt_utf8_is_character(uint32_t point) { return point < TT_UTF8_BAD; }

/* The bytes of a code point into out; returns how many. */
int tt_utf8_encode(uint32_t point, char out[4]);
void tt_utf8_put(struct tt_text *out, uint32_t point);

/* Whether the bytes are valid UTF-8 (without 0). */
bool tt_utf8_valid(const char *s, size_t n);
/* Characters in n bytes, each U+FFFD counted as one. */
size_t tt_utf8_count(const char *s, size_t n);

/* Bytes of the first `most` of them; n when there are no more. */
size_t tt_utf8_prefix(const char *s, size_t n, int64_t most);

/* Appends n bytes, with U+FFFD for what is not UTF-8. Where more bytes follow later, a character that is cut at the end
 * waits for them. Returns how many bytes were taken. */
size_t tt_utf8_put_text(struct tt_text *out, const char *s, size_t n, bool more_follows);

#endif
