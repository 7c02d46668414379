/* Tokenizers in GGUF files, as llama.cpp reads them: tokenizer.ggml.model "gpt2", a byte-level BPE. Its tokens are
 * spelled in GPT-2's alphabet of bytes (hf_pieces.h), and a name stands for the way it splits a text into pieces. */
#ifndef TT_GGUF_TOKENIZER_H
#define TT_GGUF_TOKENIZER_H

#include "core/checkpoint/gguf.h"
#include "core/data/tokenizers/tokenizer.h"

/* Puts the tokenizer of a model with `rows` tokens; rows that it does not use become unused tokens. `end` is the token
 * that ends a text, or -1. TT_UNSUPPORTED, with the reason, for a tokenizer that llama.cpp would not reproduce; then
 * nothing was put. `nearest` allows tt's own bpe, for which llama.cpp gives other tokens for some texts. */
tt_status tt_gguf_tokenizer_put(const struct tt_tokenizer *t, int64_t rows, int64_t end, bool nearest,
                                struct tt_gguf_writer *w);

/* The tokenizer, or NULL if there is none that tt supports; then `note` says why. */
tt_status tt_gguf_tokenizer_get(const struct tt_gguf *g, struct tt_tokenizer **out, struct tt_text *note);

/* llama.cpp's name for a way to split text, NULL if it has none; and the way that a name stands for, false if it is not
 * known. */
struct tt_hf_cut;
const char *tt_gguf_pre_name(const struct tt_hf_cut *cut, bool whole_first);
bool tt_gguf_pre_find(const char *name, struct tt_hf_cut *cut, bool *whole_first);

/* The key under which tt keeps the kind of a tokenizer of its own, to read it back as it was. */
#define TT_GGUF_KIND "tinytransformer.tokenizer.kind"

/* The keys of the tokens that end a text: llama.cpp has three. */
enum { TT_GGUF_ENDS = 3 };
extern const char *const tt_gguf_ends[TT_GGUF_ENDS];

/* token_type of a token */
enum { TT_TOKEN_NORMAL = 1, TT_TOKEN_CONTROL = 3, TT_TOKEN_USER = 4, TT_TOKEN_UNUSED = 5 };

#endif
