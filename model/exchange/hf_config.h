/* Writes and reads config.json of a Hugging Face model: the shape of a LLaMA. */
#ifndef TT_HF_CONFIG_H
#define TT_HF_CONFIG_H

#include "core/base/json.h"
#include "core/config/config.h"
#include "core/data/tokenizers/tokenizer.h"

/* An error if transformers has no model of this kind. */
tt_status tt_hf_config_check(const struct tt_config *c);

/* `type` is the dtype of the stored weights: "float32", "bfloat16", "float16"; `t` the tokenizer, or NULL. */
void tt_hf_config_write(const struct tt_config *c, const char *type, const struct tt_tokenizer *t,
                        struct tt_json_writer *w);
/* Puts the token that ends a text, a list of several, or null. */
void tt_hf_ends_write(const struct tt_config *c, const struct tt_tokenizer *t, struct tt_json_writer *w);
/* Takes the tokens that end a text from config.json or generation_config.json, beside those that `c` has. */
void tt_hf_ends_read(const struct tt_json *j, struct tt_config *c);

/* Sets the shape in `c`, and the tokens that end a text; seq_len becomes max_position_embeddings. A feature that tt
 * does not have (other biases than Qwen2's, another activation, sliding windows, ...) is an error that names it;
 * otherwise the results would be silently wrong. */
tt_status tt_hf_config_read(const struct tt_json *j, struct tt_config *c);

#endif
