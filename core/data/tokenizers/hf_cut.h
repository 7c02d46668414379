/* How byte-level tokenizers of other programs split a text into pieces. */
#ifndef TT_HF_CUT_H
#define TT_HF_CUT_H

#include <stdint.h>

#include "core/base/json.h"

enum tt_hf_pattern { TT_CUT_GPT2, TT_CUT_LLAMA3 };

struct tt_hf_cut {
    enum tt_hf_pattern pattern;
    int most_digits;    /* in a piece, with TT_CUT_LLAMA3 */
    bool single_digits; /* every digit is a piece of its own; the pattern splits the text between them */
};

/* From the pre_tokenizer of a tokenizer.json; TT_UNSUPPORTED for an unknown one. */
tt_status tt_hf_cut_read(const struct tt_json *pre, struct tt_hf_cut *out);

/* Its regular expression, as in a tokenizer.json. */
const char *tt_hf_cut_pattern(const struct tt_hf_cut *c);

/* With single_digits, the length up to the next digit, or of the digit if the text begins with one; else n. n >= 1. */
int64_t tt_hf_stretch(const struct tt_hf_cut *c, const char *text, int64_t n);
/* The length of the first piece of a stretch. n >= 1. */
int64_t tt_hf_piece(const struct tt_hf_cut *c, const char *text, int64_t n);

#endif
