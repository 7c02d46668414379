/* Writes and reads config.json of a Hugging Face model: the shape of a LLaMA. */
#ifndef TT_HF_CONFIG_H
#define TT_HF_CONFIG_H

#include "core/base/json.h"
#include "core/config/config.h"

/* Whether transformers has a model of this kind. */
tt_status tt_hf_config_check(const struct tt_config *c);

/* `type` is the dtype of the stored weights: "float32", "bfloat16", "float16"; `end` the token that ends a text, or -1.
 */
void tt_hf_config_write(const struct tt_config *c, const char *type, int64_t end, struct tt_json_writer *w);
/* Puts the token that ends a text, or null. */
void tt_hf_end_write(int64_t end, struct tt_json_writer *w);

/* Sets the shape in `c`, and the token that ends a text; seq_len becomes max_position_embeddings. A feature that tt
 * does not have (other biases than Qwen2's, another activation, sliding windows, ...) is an error that names it;
 * otherwise the results would be silently wrong. */
tt_status tt_hf_config_read(const struct tt_json *j, struct tt_config *c);

#endif
