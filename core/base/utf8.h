/* UTF-8: the only decoder and encoder of the program. Invalid bytes are grouped as the Unicode standard recommends
 * (chapter 3, "U+FFFD Substitution of Maximal Subparts"), and as Python, Rust and browsers do. */
#ifndef TT_UTF8_H
#define TT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"

#define TT_UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Values of *point when there is no character. */
enum {
    TT_UTF8_BAD = 0x110000, /* invalid UTF-8 */
    TT_UTF8_CUT,            /* the text ends inside a character */
};

/* Decodes the code point at p (n >= 1 bytes are available) and returns its length. For invalid bytes the length is that
 * of the group one U+FFFD replaces: the valid start of an incomplete character, or one byte. */
int tt_utf8_decode(const char *p, size_t n, uint32_t *point);
static inline bool tt_utf8_is_character(uint32_t point) { return point < TT_UTF8_BAD; }

/* Writes the bytes of a code point and returns how many. */
int tt_utf8_encode(uint32_t point, char out[4]);
void tt_utf8_put(struct tt_text *out, uint32_t point);

/* Whether the bytes are valid UTF-8 and contain no 0. */
bool tt_utf8_valid(const char *s, size_t n);
/* Characters in n bytes. A group of invalid bytes counts as one. */
size_t tt_utf8_count(const char *s, size_t n);

/* The length in bytes of the first `most` characters; n when there are no more. */
size_t tt_utf8_prefix(const char *s, size_t n, int64_t most);

/* Appends n bytes, with U+FFFD in place of invalid ones. With more_follows, an incomplete character at the end is left
 * for the next call. Returns how many bytes were consumed. */
size_t tt_utf8_put_text(struct tt_text *out, const char *s, size_t n, bool more_follows);

#endif
