/* Tokenizers as the tokenizer.json of Hugging Face tokenizers; both give the same tokens for every text. */
#ifndef TT_HF_TOKENIZER_H
#define TT_HF_TOKENIZER_H

#include "core/base/json.h"
#include "core/data/tokenizers/tokenizer.h"

/* The token that ends documents is the byte or the character 0 in tt, and in a tokenizer.json a special token with this
 * spelling. If a text contains this spelling, it becomes that token there, and bytes or characters in tt. */
#define TT_END_OF_TEXT "<|endoftext|>"

/* The token of `t` that gets that spelling; -1: none. A bpe that learnt merges with the byte 0 has none. */
int32_t tt_hf_special_end(const struct tt_tokenizer *t);
/* Writes an added token, with all fields that Hugging Face tokenizers demands. */
void tt_hf_put_added(struct tt_json_writer *w, int64_t id, const char *content, size_t n, bool special);

/* Writes a tokenizer. TT_UNSUPPORTED, with the reason, for one that a tokenizer.json cannot express: two tokens of the
 * same spelling, or words that end in punctuation. */
tt_status tt_hf_tokenizer_write(const struct tt_tokenizer *t, struct tt_json_writer *w);
/* The same with `special_end`, or -1, in place of tt_hf_special_end. */
tt_status tt_hf_tokenizer_write_as(const struct tt_tokenizer *t, int32_t special_end, struct tt_json_writer *w);

/* Reads a tokenizer that tt_hf_tokenizer_write could have written, or a byte-level BPE of another program.
 * TT_UNSUPPORTED, with the reason, for any other. */
tt_status tt_hf_tokenizer_read(const struct tt_json *j, struct tt_tokenizer **out);

#endif
