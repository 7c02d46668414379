/* config.json of a Hugging Face model: the shape of a LLaMA, written and read. */
#ifndef TT_HF_CONFIG_H
#define TT_HF_CONFIG_H

#include "core/base/json.h"
#include "core/config/config.h"

/* The shape of `c`; `type` is how the weights are stored: "float32", "bfloat16", "float16". */
void tt_hf_config_write(const struct tt_config *c, const char *type, struct tt_json_writer *w);

/* Sets the shape in `c`, seq_len to the longest sequence the model was made for. What this program does not compute
 * (scaled RoPE, biases, another activation, sliding windows, ...) is refused by name: a model that were read and
 * computed otherwise would be wrong without a word. */
tt_status tt_hf_config_read(const struct tt_json *j, struct tt_config *c);

#endif
