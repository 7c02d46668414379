/* The GPT-2 alphabet of characters that stand for bytes, and the pre_tokenizer of a tokenizer.json that splits a text
 * as each kind of tokenizer does. */
#ifndef TT_HF_PIECES_H
#define TT_HF_PIECES_H

#include "core/base/json.h"
#include "core/data/tokenizers/hf_cut.h"
#include "core/data/tokenizers/tokenizer_kinds.h"

/* A printable Latin-1 byte stands for itself; the other bytes are mapped in order to U+0100 and following. */
void tt_hf_put_byte(struct tt_text *out, unsigned char byte);
int tt_hf_byte_of(uint32_t point); /* the byte that a character stands for; -1: none */

/* Writes a ByteLevel step, which does not split. */
void tt_hf_put_byte_level(struct tt_json_writer *w, const char *key);
/* Writes the pre_tokenizer that splits as this kind of tokenizer does. */
void tt_hf_put_pre_tokenizer(struct tt_json_writer *w, const char *key, enum tt_tokenizer_kind kind);
/* Writes the pre_tokenizer of another program that splits in this way; tt_hf_cut_read reads it back. */
void tt_hf_put_cut(struct tt_json_writer *w, const char *key, const struct tt_hf_cut *cut);

#endif
