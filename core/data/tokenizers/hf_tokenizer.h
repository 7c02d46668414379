/* Tokenizers as the tokenizer.json of Hugging Face tokenizers; both give the same tokens for every text. */
#ifndef TT_HF_TOKENIZER_H
#define TT_HF_TOKENIZER_H

#include "core/base/json.h"
#include "core/data/tokenizers/tokenizer.h"

/* Character 0 of "chars" there, which a tokenizer.json cannot spell: a special token. A text with this spelling in it
 * becomes that token there, and characters here. */
#define TT_END_OF_TEXT "<|endoftext|>"

/* TT_UNSUPPORTED, with the reason, for one that a tokenizer.json cannot express: two tokens of the same spelling, or
 * words that end in punctuation. */
tt_status tt_hf_tokenizer_write(const struct tt_tokenizer *t, struct tt_json_writer *w);

/* One that tt_hf_tokenizer_write could have written, or a byte-level BPE of another program. TT_UNSUPPORTED, with the
 * reason, for any other. */
tt_status tt_hf_tokenizer_read(const struct tt_json *j, struct tt_tokenizer **out);

#endif
