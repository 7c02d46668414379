/* A model as Hugging Face's transformers keeps it: a folder with config.json, model.safetensors (or shards and an
 * index) and the tokenizer's files.
 *
 * Two things differ from a checkpoint: the names of the tensors, and the order of the rows of Wq and Wk. RoPE turns
 * pairs of numbers; here a pair is two neighbours (0,1), (2,3), …, there it is (0, D/2), (1, D/2 + 1), …. */
#ifndef TT_HF_H
#define TT_HF_H

#include "core/checkpoint/checkpoint.h"
#include "core/config/config.h"
#include "core/data/tokenizers/tokenizer.h"

struct tt_hf_export {
    const struct tt_config *config;
    const struct tt_params *params;
    float *weights;                       /* the arena; it is changed */
    const struct tt_tokenizer *tokenizer; /* or NULL */
    enum tt_dtype type;                   /* how weights are stored */
};

/* Writes the folder, which may not exist yet or is empty: all of it, or nothing. `note`, when not NULL, gets a line
 * when the tokenizer cannot be expressed there and was left out (else stays empty). */
tt_status tt_hf_export(const char *dir, const struct tt_hf_export *x, struct tt_text *note);

/* The shape alone; see tt_hf_config_read. */
tt_status tt_hf_import_config(const char *dir, struct tt_config *c);

/* The weights as an arena of that shape, malloc'd. Names, shapes and types are checked against the files before memory
 * is taken, so a config.json that promises more than there is costs nothing. */
tt_status tt_hf_import_weights(const char *dir, const struct tt_config *c, const struct tt_params *params,
                               float **weights);

/* The tokenizer when there is one that this program can be; else NULL, and `note` says why. */
tt_status tt_hf_import_tokenizer(const char *dir, struct tt_tokenizer **out, struct tt_text *note);

/* The rows of one matrix of `heads` heads (heads·D, columns), in place, from pairs to halves or back. */
tt_status tt_hf_turn_rows(float *w, int64_t heads, int64_t D, int64_t columns, bool to_halves);

#endif
