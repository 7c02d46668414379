/* The state of the run, which changes from step to step. */
#ifndef TT_CPU_STATE_H
#define TT_CPU_STATE_H

static float learning_rate(const struct tt_schedule *s, int64_t step)
{
    if (step <= s->warmup) return (float)(s->peak * (double)step / (double)s->warmup);
    if (s->decay == TT_DECAY_CONSTANT) return s->peak;
    if (step >= s->total) return s->floor;
    double done = (double)(step - s->warmup) / (double)(s->total - s->warmup);
    double left = s->decay == TT_DECAY_LINEAR ? 1.0 - done : 0.5 * (1.0 + cos(M_PI * done));
    return (float)(s->floor + ((double)s->peak - s->floor) * left);
}

static void k_step_begin(const struct cpu_team *team, const struct tt_step_begin_args *a)
{
    (void)team;
    struct tt_state *s = a->state;
    if (a->before) {
        *a->before = *s;
        a->before->apply = s->due;
        s->due = 0;
    }
    s->step++;
    s->slot = a->slots > 0 ? (int32_t)((s->step - 1) % a->slots) : 0;
    s->apply = 1;
    s->lr = learning_rate(&a->schedule, s->step);
    double updates = (double)(s->step - s->skipped); /* this one included */
    s->bias1 = (float)(1.0 - pow(a->beta1, updates));
    s->bias2 = (float)(1.0 - pow(a->beta2, updates));
    s->loss = s->ignored = 0;
}

static void adapt_loss_scale(struct tt_state *s, int32_t grow_after)
{
    if (!s->apply) {
        s->loss_scale = fmaxf(1.0f, s->loss_scale / 2);
        s->good = 0;
    } else if (++s->good >= grow_after) {
        s->loss_scale = fminf(TT_LOSS_SCALE_MAX, s->loss_scale * 2);
        s->good = 0;
    }
}

static void k_clip_scale(const struct cpu_team *team, const struct tt_clip_scale_args *a)
{
    (void)team;
    struct tt_state *s = a->state;
    double sum = 0;
    for (int64_t i = 0; i < a->count; i++) sum += a->partial[i];
    float more = s->ignored > 0 && a->targets > 0 ? a->targets / fmaxf(1.0f, a->targets - s->ignored) : 1.0f;
    float norm = (float)(sqrt(sum) / s->loss_scale) * more;
    s->loss *= more;
    float clip = a->max_norm > 0 && norm > a->max_norm ? a->max_norm / norm : 1.0f;
    s->grad_norm = norm;
    s->used_scale = s->loss_scale;
    bool finite = isfinite(s->loss) && isfinite(norm);
    s->overflowed = !finite && isfinite(s->loss) && a->grow_after > 0 && s->loss_scale > 1;
    s->stopped = s->stopped || (s->stops && !finite && !s->overflowed);
    s->apply = finite && !s->stopped;
    s->clip = s->apply ? clip / s->loss_scale * more : 0;
    s->due = a->late && s->apply;
    if (s->stopped) return;
    s->skipped += !s->apply;
    if (a->grow_after > 0) adapt_loss_scale(s, a->grow_after);
}

static void k_record(const struct cpu_team *team, const struct tt_record_args *a)
{
    (void)team;
    const struct tt_state *s = a->state;
    a->ring[(s->step - 1) % a->entries] = (struct tt_metrics){
        .step = s->step,
        .skipped = s->skipped,
        .ignored = (int64_t)s->ignored,
        .loss = s->loss,
        .grad_norm = s->grad_norm,
        .lr = s->lr,
        .loss_scale = s->used_scale,
        .apply = s->apply,
        .overflowed = s->overflowed,
    };
}

#endif
