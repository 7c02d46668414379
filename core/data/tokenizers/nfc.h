/* Unicode's normal form C (NFC), to which Qwen's tokenizers first convert a text: a letter and its accents become one
 * character, if there is such a character. */
#ifndef TT_NFC_H
#define TT_NFC_H

#include "core/base/status.h"
#include "core/base/text.h"

enum { TT_NFC_GROWTH = 3 }; /* a text becomes at most this many times as long (U+1D160) */

/* Appends the normal form of n bytes to `out`. Bytes that are not UTF-8 stay as they are. */
tt_status tt_nfc(const char *text, size_t n, struct tt_text *out);
/* Whether a text is certainly in normal form: it has no character from U+0300 on. */
bool tt_nfc_is_plain(const char *text, size_t n);

#endif
