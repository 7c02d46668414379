/* What a tokenizer of another program has besides its tokens: tokenizer_config.json (the names of the tokens that begin
 * and end a text, the chat template) and the post-processor, which puts a token before a text.
 *
 * Checkpoints keep tokenizer_config.json inside their tokenizer.json, under the key "tokenizer_config". */
#ifndef TT_HF_ABOUT_H
#define TT_HF_ABOUT_H

#include "core/base/json.h"
#include "core/data/tokenizers/hf_bpe.h"

#define TT_HF_ABOUT "tokenizer_config"

/* Makes a copy of the tokenizer.json `j` that also has what tokenizer_config.json and chat_template.jinja of the folder
 * say. `end` is the id of the token that ends a text, which is added if tokenizer_config.json names none; -1: not
 * known. *out is NULL if there is nothing to add: `j` has a tokenizer_config already, the files do not exist, or tt
 * itself wrote the tokenizer_config.json because there was none. */
tt_status tt_hf_about_join(const char *dir, const struct tt_json *j, int64_t end, struct tt_json **out);

/* Fills about, begin, bos, eos, pad and puts_more of `b`. Its tokens must have been read. */
tt_status tt_hf_about_read(const struct tt_json *j, struct tt_hf_bpe *b);

/* The token that begins a text: the one that is put before it, else the bos_token; -1: none. */
static inline int32_t tt_hf_begin(const struct tt_hf_bpe *b) { return b->begin >= 0 ? b->begin : b->bos; }

/* Writes the fields of a tokenizer_config.json: tt's own if the tokenizer came without one, or if `b` is NULL. */
tt_status tt_hf_about_put(const struct tt_hf_bpe *b, struct tt_json_writer *w);
/* Appends the chat template, the default one of several; nothing if there is none. */
tt_status tt_hf_chat_template(const struct tt_hf_bpe *b, struct tt_text *out);

#endif
