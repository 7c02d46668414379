/* Scaled RoPE in GGUF files. llama.cpp knows linear and yarn by name. For llama3 a file has no numbers but a tensor,
 * rope_freqs.weight: what each frequency is divided by. llama.cpp has no dynamic scaling. */
#ifndef TT_GGUF_ROPE_H
#define TT_GGUF_ROPE_H

#include "core/checkpoint/gguf.h"
#include "core/config/config.h"
#include "model/exchange/gguf_kind.h"

#define TT_GGUF_ROPE_FREQS "rope_freqs.weight"

/* Puts the values of c's scaling. `*freqs` is the tensor if the file needs it, malloc'd, half the size of a head; else
 * NULL. Refuses what llama.cpp does not compute. */
tt_status tt_gguf_rope_put(const struct tt_config *c, const struct tt_gguf_kind *kind, struct tt_gguf_writer *w,
                           float **freqs);

/* Sets c->rope_scaling; the rest of the shape must be there. Refuses what tt does not compute. */
tt_status tt_gguf_rope_get(const struct tt_gguf *g, const char *path, const struct tt_gguf_kind *kind,
                           struct tt_config *c);

#endif
