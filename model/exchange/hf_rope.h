/* The angles of RoPE in a config.json: rope_theta, and rope_scaling or rope_parameters. */
#ifndef TT_HF_ROPE_H
#define TT_HF_ROPE_H

#include "core/base/json.h"
#include "core/config/config.h"

/* Puts rope_theta and the scaling. */
void tt_hf_rope_write(const struct tt_config *c, struct tt_json_writer *w);
/* The max_position_embeddings to write: the model's own, if it is longer than a sequence of the run. */
int64_t tt_hf_rope_longest(const struct tt_config *c);
/* Sets rope_theta and rope_scaling; seq_len must be max_position_embeddings. */
tt_status tt_hf_rope_read(const struct tt_json *j, struct tt_config *c);

/* ---- what readers of a config.json share ---- */

/* An error: config.json has this value, which tt does not support. `what` says what tt has instead. */
tt_status tt_hf_refuse(const char *key, const char *value, const char *what);
const char *tt_hf_shown(const struct tt_json *j); /* a value as text for a message */
/* The value of a key; NULL if absent or null. */
const struct tt_json *tt_hf_value(const struct tt_json *j, const char *key);

#endif
