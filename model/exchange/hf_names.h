/* What a tensor of the parameter table is called in a Hugging Face model. */
#ifndef TT_HF_NAMES_H
#define TT_HF_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* "layers.3.attention.wq.weight" to "model.layers.3.self_attn.q_proj.weight"; `bare`: without "model.", as the model
 * without its head is kept. */
void tt_hf_name(const char *ours, bool bare, char *out, size_t size);

/* Whose rows RoPE has to find in another order there: 'q' and 'k'; 0 for a tensor that is the same. */
char tt_hf_rotary(const char *ours);

#endif
