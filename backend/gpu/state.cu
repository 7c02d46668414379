/* The state of the run, which changes from step to step. One block each; only a few hundred bytes are moved. */
#include "backend/gpu/gpu.h"

#include <math.h>

GPU_DEVICE float learning_rate(const struct tt_schedule &s, int64_t step)
{
    if (step <= s.warmup) return (float)(s.peak * (double)step / (double)s.warmup);
    if (s.decay == TT_DECAY_CONSTANT) return s.peak;
    if (step >= s.total) return s.floor;
    double done = (double)(step - s.warmup) / (double)(s.total - s.warmup);
    double left = s.decay == TT_DECAY_LINEAR ? 1.0 - done : 0.5 * (1.0 + cospi(done));
    return (float)(s.floor + ((double)s.peak - s.floor) * left);
}

GPU_KERNEL step_begin(struct tt_step_begin_args a)
{
    struct tt_state *s = a.state;
    if (a.before) {
        *a.before = *s;
        a.before->apply = s->due;
        s->due = 0;
    }
    int64_t step = s->step + 1;
    s->step = step;
    s->slot = a.slots > 0 ? (int32_t)((step - 1) % a.slots) : 0;
    s->apply = 1;
    s->lr = learning_rate(a.schedule, step);
    double updates = (double)(step - s->skipped); /* this one included */
    s->bias1 = (float)(1.0 - pow((double)a.beta1, updates));
    s->bias2 = (float)(1.0 - pow((double)a.beta2, updates));
    s->loss = s->ignored = 0;
}

gpu_error tt_gpu_step_begin(const struct tt_step_begin_args *a, gpu_stream s)
{
    return GPU_LAUNCH(step_begin, gpu_grid_of(1), 1, 0, s, *a);
}

GPU_DEVICE void adapt_loss_scale(struct tt_state *s, int32_t grow_after)
{
    if (!s->apply) {
        s->loss_scale = gpu_max(1.0f, s->loss_scale / 2);
        s->good = 0;
    } else if (++s->good >= grow_after) {
        s->loss_scale = gpu_min(TT_LOSS_SCALE_MAX, s->loss_scale * 2);
        s->good = 0;
    }
}

enum { CLIP_THREADS = 256 };

GPU_KERNEL GPU_BOUNDS(CLIP_THREADS) clip_scale(struct tt_clip_scale_args a)
{
    double sum = 0;
    for (int64_t i = gpu_thread(); i < a.count; i += CLIP_THREADS) sum += a.partial[i];
    sum = gpu_block_sum<CLIP_THREADS>(sum);
    if (gpu_thread() > 0) return;
    struct tt_state *s = a.state;
    float more = s->ignored > 0 && a.targets > 0 ? a.targets / gpu_max(1.0f, a.targets - s->ignored) : 1.0f;
    float norm = (float)(sqrt(sum) / s->loss_scale) * more;
    s->loss *= more;
    float clip = a.max_norm > 0 && norm > a.max_norm ? a.max_norm / norm : 1.0f;
    s->grad_norm = norm;
    s->used_scale = s->loss_scale;
    bool finite = gpu_finite(s->loss) && gpu_finite(norm);
    s->overflowed = !finite && gpu_finite(s->loss) && a.grow_after > 0 && s->loss_scale > 1;
    s->stopped = s->stopped || (s->stops && !finite && !s->overflowed);
    s->apply = finite && !s->stopped;
    s->clip = s->apply ? clip / s->loss_scale * more : 0;
    s->due = a.late && s->apply;
    if (s->stopped) return;
    s->skipped += !s->apply;
    if (a.grow_after > 0) adapt_loss_scale(s, a.grow_after);
}

gpu_error tt_gpu_clip_scale(const struct tt_clip_scale_args *a, gpu_stream s)
{
    return GPU_LAUNCH(clip_scale, gpu_grid_of(1), CLIP_THREADS, 0, s, *a);
}

GPU_KERNEL record(struct tt_record_args a)
{
    const struct tt_state *s = a.state;
    struct tt_metrics m;
    m.step = s->step;
    m.skipped = s->skipped;
    m.ignored = (int64_t)s->ignored;
    m.loss = s->loss;
    m.grad_norm = s->grad_norm;
    m.lr = s->lr;
    m.loss_scale = s->used_scale;
    m.apply = s->apply;
    m.overflowed = s->overflowed;
    a.ring[(s->step - 1) % a.entries] = m;
}

gpu_error tt_gpu_record(const struct tt_record_args *a, gpu_stream s)
{
    return GPU_LAUNCH(record, gpu_grid_of(1), 1, 0, s, *a);
}
