/* The Hugging Face names of the tensors in the parameter table. */
#ifndef TT_HF_NAMES_H
#define TT_HF_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* "layers.3.attention.wq.weight" to "model.layers.3.self_attn.q_proj.weight". `bare`: without "model.", as in files of
 * a model without its head. */
void tt_hf_name(const char *ours, bool bare, char *out, size_t size);

/* Whether the tensor's rows have another order in Hugging Face models, because of RoPE. */
bool tt_hf_rotary(const char *ours);

#endif
