/* Where each weight lies in the arena. */
#ifndef TT_PARAMS_H
#define TT_PARAMS_H

#include "model/model.h"

/* First the weights of a layer, in the order of the table, where W1 is the gate, W3 up, W2 down; then the others. */
enum tt_weight {
    TT_W_Q,
    TT_W_K,
    TT_W_V,
    TT_W_O,
    TT_W_GATE,
    TT_W_UP,
    TT_W_DOWN,
    TT_W_ATTENTION_NORM,
    TT_W_FFN_NORM,
    TT_W_QKV_BIAS, /* of q, then k, then v; with --qkv-bias */
    TT_W_QK_NORM,  /* of the heads of q, then of k; with --qk-norm */
    TT_W_EMBEDDING,
    TT_W_HEAD, /* the embedding itself when tied */
    TT_W_NORM,
};

/* The parameter table of a configuration, with its buckets and groups. To be freed, also after a failure. */
tt_status tt_params_create(const struct tt_config *c, struct tt_params *p);
void tt_params_free(struct tt_params *p);
int tt_bucket_of(const struct tt_params *p, int64_t offset); /* the one with this offset of the arena */
bool tt_param_is_bias(const struct tt_param *t);
/* Where a weight begins in the arena. `layer` does not matter for weights outside of the layers. */
int64_t tt_param_offset(const struct tt_params *p, const struct tt_config *c, int layer, enum tt_weight w);

#endif
