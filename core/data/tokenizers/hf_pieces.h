/* The characters that stand for bytes in byte-level tokenizers since GPT-2, and how the kinds of tokenizers cut a text
 * into pieces, as a tokenizer.json says it. */
#ifndef TT_HF_PIECES_H
#define TT_HF_PIECES_H

#include "core/base/json.h"
#include "core/data/tokenizers/tokenizer_kinds.h"

/* A printable byte of Latin-1 is itself, the others are the characters from U+0100 on, in their order. */
void tt_hf_put_byte(struct tt_text *out, unsigned char byte);

void tt_hf_put_byte_level(struct tt_json_writer *w, const char *key);
void tt_hf_put_pre_tokenizer(struct tt_json_writer *w, const char *key, enum tt_tokenizer_kind kind);

#endif
