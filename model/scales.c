#include "model/scales.h"

#include <stdlib.h>
#include <string.h>

#include "backend/kernels.h"
#include "core/base/fp8.h"

static int64_t products(const struct tt_config *c) { return 4 * c->num_layers + 1; }

int64_t tt_scales_count(const struct tt_config *c) { return TT_FACTORS * products(c); }

int64_t tt_scales_index(const struct tt_config *c, int layer, enum tt_weight first, enum tt_factor factor)
{
    int64_t of_layer = first == TT_W_Q ? 0 : first == TT_W_O ? 1 : first == TT_W_GATE ? 2 : 3;
    return factor * products(c) + (first == TT_W_HEAD ? products(c) - 1 : 4 * layer + of_layer);
}

int64_t tt_scales_floats(const struct tt_model *m)
{
    return (TT_FP8_APART + TT_FP8_HISTORY + m->params.ranks) * tt_scales_count(&m->config);
}

/* A largest magnitude that hardly any tensor exceeds, not even in a trained model; numbers beyond it are clipped. It
 * may be far too large, since E4M3 has 17 powers of two below it and E5M2 32. Inputs of products are results of norms
 * and of the operations after them. Every gradient comes from those of the logits, which are at most 1 over the tokens
 * of a step. */
static float estimate(const struct tt_model *m, enum tt_factor factor)
{
    const struct tt_config *c = &m->config;
    float tokens = (float)(c->batch_size * c->seq_len * c->grad_accum * m->params.ranks);
    return factor == TT_FACTOR_INPUT ? 256 : factor == TT_FACTOR_WEIGHTS ? 8 : 16 / tokens;
}

tt_status tt_scales_begin(const struct tt_model *m, struct tt_engine *e, const float *kept)
{
    int64_t n = tt_scales_count(&m->config);
    if (!e->bytes[TT_X_SCALES]) return TT_OK;
    float *scales = calloc((size_t)tt_scales_floats(m), sizeof *scales);
    if (!scales) return tt_no_memory("the scales of 8-bit factors");
    for (int64_t i = 0; i < n; i++) {
        enum tt_factor factor = (enum tt_factor)(i / products(&m->config));
        enum tt_dtype type = factor == TT_FACTOR_GRADIENT ? tt_fp8_e5m2(m->fp8_fnuz) : tt_fp8_e4m3(m->fp8_fnuz);
        scales[i * TT_FP8_APART] = tt_fp8_next_scale(estimate(m, factor), 1, type);
    }
    if (kept) memcpy(scales, kept, (size_t)((TT_FP8_APART + TT_FP8_HISTORY) * n) * sizeof *scales);
    tt_status st = tt_engine_upload(e, TT_X_SCALES, 0, scales, (size_t)tt_scales_floats(m) * sizeof *scales);
    free(scales);
    return st;
}
