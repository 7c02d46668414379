/* How byte-level tokenizers of other programs cut a text into pieces. */
#ifndef TT_HF_CUT_H
#define TT_HF_CUT_H

#include <stdint.h>

#include "core/base/json.h"

enum tt_hf_pattern { TT_CUT_GPT2, TT_CUT_LLAMA3 };

struct tt_hf_cut {
    enum tt_hf_pattern pattern;
    int most_digits;    /* of a piece, with TT_CUT_LLAMA3 */
    bool single_digits; /* every digit is cut out before the pattern is used */
};

/* From the pre_tokenizer of a tokenizer.json; TT_UNSUPPORTED, with the reason, for one that is not known here. */
tt_status tt_hf_cut_read(const struct tt_json *pre, struct tt_hf_cut *out);

/* How far the text goes before or at a digit that stands alone: n where digits do not. n >= 1. */
int64_t tt_hf_stretch(const struct tt_hf_cut *c, const char *text, int64_t n);
/* Length of the piece that a stretch begins with. n >= 1. */
int64_t tt_hf_piece(const struct tt_hf_cut *c, const char *text, int64_t n);

#endif
