/* What a tokenizer of another program says beside its tokens: tokenizer_config.json (the names of the tokens that begin
 * and end a text, the chat template) and the post-processor, which puts a token before a text.
 *
 * Checkpoints keep the former in their tokenizer.json, under the key "tokenizer_config". */
#ifndef TT_HF_ABOUT_H
#define TT_HF_ABOUT_H

#include "core/base/json.h"
#include "core/data/tokenizers/hf_bpe.h"

#define TT_HF_ABOUT "tokenizer_config"

/* A copy of the tokenizer.json `j` with what tokenizer_config.json and chat_template.jinja of the folder say, unless it
 * has that already. `end` is the id of the token that ends a text, for a tokenizer_config.json that names none; -1: not
 * known. *out is NULL where there is nothing to add: also where tt wrote the tokenizer_config.json because there was
 * none. */
tt_status tt_hf_about_join(const char *dir, const struct tt_json *j, int64_t end, struct tt_json **out);

/* Fills about, begin, bos, eos, pad and puts_more of `b`, whose tokens are read. */
tt_status tt_hf_about_read(const struct tt_json *j, struct tt_hf_bpe *b);

/* The token that begins a text: the one that is put before it, else the bos_token; -1: none. */
static inline int32_t tt_hf_begin(const struct tt_hf_bpe *b) { return b->begin >= 0 ? b->begin : b->bos; }

/* Puts the fields of a tokenizer_config.json; those of tt where the tokenizer came without one, or `b` is NULL. */
tt_status tt_hf_about_put(const struct tt_hf_bpe *b, struct tt_json_writer *w);
/* Appends the chat template, the default one of several; nothing where there is none. */
tt_status tt_hf_chat_template(const struct tt_hf_bpe *b, struct tt_text *out);

#endif
