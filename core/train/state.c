#include "core/train/state.h"

static const float first_scale = 0x1p16f;

bool tt_scales_loss(enum tt_precision precision) { return precision == TT_PREC_FP16; }

struct tt_state tt_state_begin(enum tt_precision precision, const struct tt_progress *progress)
{
    static const struct tt_progress none = {0};
    const struct tt_progress *p = progress ? progress : &none;
    struct tt_state state = {.step = p->step, .skipped = p->skipped, .loss_scale = 1};
    if (!tt_scales_loss(precision)) return state;
    bool known = p->loss_scale >= 1 && p->loss_scale <= TT_LOSS_SCALE_MAX;
    state.loss_scale = known ? p->loss_scale : first_scale;
    state.good = known && p->good_steps > 0 && p->good_steps < INT32_MAX ? (int32_t)p->good_steps : 0;
    return state;
}

double tt_counted_part(const struct tt_config *c, int64_t ignored)
{
    int64_t targets = tt_step_rows(c) * c->seq_len;
    return ignored < targets ? 1 - (double)ignored / (double)targets : 0;
}
