/* A model as a GGUF file, the format of llama.cpp. llama.cpp's LLaMA rotates pairs of neighbours, as tt does, so the
 * rows of Wq and Wk stay as they are; for transformers they are reordered (hf.h). With --qk-norm the model is a Qwen3,
 * whose rows have the order of transformers in llama.cpp too. */
#ifndef TT_GGUF_MODEL_H
#define TT_GGUF_MODEL_H

#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/gguf.h"
#include "core/config/config.h"
#include "core/data/tokenizers/tokenizer.h"

struct tt_gguf_export {
    const struct tt_config *config;
    const struct tt_params *params;
    float *weights;                       /* the arena; the export may reorder rows in place */
    const struct tt_tokenizer *tokenizer; /* or NULL */
    bool nearest_split;                   /* see tt_gguf_tokenizer_put */
    const char *type;                     /* of the matrices: "F32", "F16", "BF16" or "Q8_0" */
};

/* Writes a new file. A tokenizer that llama.cpp would not reproduce is left out, and `*left_out` is set; `note` says
 * so, and what else differs. Vectors are F32, as llama.cpp needs them. With Q8_0, a matrix whose rows are not whole
 * blocks is F16. */
tt_status tt_gguf_export(const char *path, const struct tt_gguf_export *x, bool *left_out, struct tt_text *note);

/* Reads the shape of the model into `c`. Refuses models that tt does not have. */
tt_status tt_gguf_import_config(const struct tt_gguf *g, const char *path, struct tt_config *c);

/* Reads the weights into a malloc'd arena. Names, shapes and types are checked before memory is allocated. */
tt_status tt_gguf_import_weights(const struct tt_gguf *g, const char *path, const struct tt_config *c,
                                 const struct tt_params *params, float **weights);

#endif
