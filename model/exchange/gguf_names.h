/* The names that llama.cpp gives the tensors in the parameter table. */
#ifndef TT_GGUF_NAMES_H
#define TT_GGUF_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* "layers.3.attention.wq.weight" to "blk.3.attn_q.weight"; false for what llama.cpp does not have. */
bool tt_gguf_name(const char *ours, char *out, size_t size);

#endif
