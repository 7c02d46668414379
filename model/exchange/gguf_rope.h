/* Scaled RoPE in GGUF files. llama.cpp knows linear and yarn by name. For llama3 it has a tensor rope_freqs.weight
 * instead of the numbers of the scaling: what each frequency is divided by. It has no dynamic scaling. */
#ifndef TT_GGUF_ROPE_H
#define TT_GGUF_ROPE_H

#include "core/checkpoint/gguf.h"
#include "core/config/config.h"
#include "model/exchange/gguf_kind.h"

#define TT_GGUF_ROPE_FREQS "rope_freqs.weight"

/* Puts the values. `*freqs` is malloc'd, of half the size of a head, if the file needs the tensor; else NULL. Refuses
 * what llama.cpp does not compute. */
tt_status tt_gguf_rope_put(const struct tt_config *c, const struct tt_gguf_kind *kind, struct tt_gguf_writer *w,
                           float **freqs);

/* Sets c->rope_scaling; the rest of the shape is read before. Refuses what tt does not compute. */
tt_status tt_gguf_rope_get(const struct tt_gguf *g, const char *path, const struct tt_gguf_kind *kind,
                           struct tt_config *c);

#endif
