/* The architectures of llama.cpp that tt supports, and their keys in a file. */
#ifndef TT_GGUF_KIND_H
#define TT_GGUF_KIND_H

#include "core/checkpoint/gguf.h"
#include "core/config/config.h"

struct tt_gguf_kind {
    const char *name;
    bool qk_norm;
    bool halves;     /* RoPE rotates halves of a head, as in transformers (hf.h), not neighbours */
    bool rope_freqs; /* a file may have the tensor of scaled RoPE (gguf_rope.h) */
};

/* The architecture that a model is written as: llama, with or without biases, or qwen3. An error for a model that is
 * neither. */
tt_status tt_gguf_kind_for(const struct tt_config *c, const struct tt_gguf_kind **out);

/* The architecture that a file names; `path` is for messages. */
tt_status tt_gguf_kind_of(const struct tt_gguf *g, const char *path, const struct tt_gguf_kind **out);

/* "block_count" to "qwen3.block_count" */
struct tt_gguf_key {
    char s[96];
};
struct tt_gguf_key tt_gguf_key(const struct tt_gguf_kind *kind, const char *name);

#endif
