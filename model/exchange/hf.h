/* A model in the format of Hugging Face transformers: a folder with config.json, model.safetensors (or shards and an
 * index) and the tokenizer's files.
 *
 * It is a LLaMA, with --qkv-bias a Qwen2, with --qk-norm a Qwen3. Two things differ from a checkpoint: the names of the
 * tensors, and the order of the rows of Wq and Wk, and of their biases and norms. RoPE rotates pairs of elements: here
 * neighbours (0,1), (2,3), …, in transformers (0, D/2), (1, D/2 + 1), …. */
#ifndef TT_HF_H
#define TT_HF_H

#include "core/checkpoint/checkpoint.h"
#include "core/config/config.h"
#include "core/data/tokenizers/tokenizer.h"

struct tt_hf_export {
    const struct tt_config *config;
    const struct tt_params *params;
    float *weights;                       /* the arena; the export reorders rows in place */
    const struct tt_tokenizer *tokenizer; /* or NULL */
    enum tt_dtype type;                   /* how weights are stored */
};

/* Writes the folder atomically. It must be new or empty. If the tokenizer cannot be expressed as a tokenizer.json, it
 * is left out, and `note` (if not NULL) gets a line that says so. */
tt_status tt_hf_export(const char *dir, const struct tt_hf_export *x, struct tt_text *note);

/* Reads only the shape and which tokens end a text; see tt_hf_config_read. */
tt_status tt_hf_import_config(const char *dir, struct tt_config *c);

/* Reads the weights into a malloc'd arena. Names, shapes and types are checked against the files before memory is
 * allocated, so a config.json with wrong sizes cannot demand much memory. */
tt_status tt_hf_import_weights(const char *dir, const struct tt_config *c, const struct tt_params *params,
                               float **weights);

/* The tokenizer, or NULL if there is none that tt supports; then `note` says why. `end` is the token that ends a text
 * by config.json, or -1. */
tt_status tt_hf_import_tokenizer(const char *dir, int64_t end, struct tt_tokenizer **out, struct tt_text *note);

/* Reorders the rows of a matrix (heads·D, columns) in place: from RoPE pairs of neighbours to pairs of halves, or
 * back. */
tt_status tt_hf_permute_rows(float *w, int64_t heads, int64_t D, int64_t columns, bool to_halves);
/* The same for a tensor of heads of D. */
tt_status tt_hf_permute(float *w, const struct tt_param *p, int64_t D, bool to_halves);

#endif
