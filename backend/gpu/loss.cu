/* Cross-entropy, in steps and fused. The fused kernel reads a row of logits once if it fits into the registers of a
 * block, and overwrites it with the gradient; what does not fit is read a second time, from the cache. */
#include "backend/gpu/amax.h"
#include "backend/gpu/rows.h"
#include "backend/gpu/tokens.h"

/* ---- in steps ---- */

template <typename T, int LANES, int KEEP>
GPU_KERNEL GPU_BOUNDS(row_team<LANES>::threads) row_logsumexp(struct tt_row_logsumexp_args a)
{
    typedef row_team<LANES> team;
    int64_t r = team::row();
    if (r >= a.rows) return;
    const T *x = (const T *)a.x + r * a.cols;
    row_span span = row_span_of(x, (int)a.cols, true);
    row_chunk<T, LANES, KEEP> chunk;
    row_softmax stats = row_exp_sum(x, span, chunk, row_factor<T>(1.0f));
    if (team::lane() == 0) a.lse[r] = gpu_fma(stats.top, row_unit<T>(), gpu_log(stats.sum));
}

gpu_error tt_gpu_row_logsumexp(const struct tt_row_logsumexp_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, ROWS_LAUNCH(row_logsumexp, T, a->rows, a->cols, s, *a));
}

enum { THREADS = 256 };

template <typename T> GPU_KERNEL GPU_BOUNDS(THREADS) gather_nll(struct tt_gather_nll_args a)
{
    int64_t r = gpu_block_x() * THREADS + gpu_thread();
    if (r >= a.rows) return;
    int32_t target = target_at(step_tokens(a.tokens, a.state, a.slot_stride), a.first + r, a.S);
    a.losses[r] = target < 0 ? TT_NO_LOSS : -gpu_to_float(((const T *)a.x)[r * a.cols + target]);
}

gpu_error tt_gpu_gather_nll(const struct tt_gather_nll_args *a, gpu_stream s)
{
    gpu_grid grid = gpu_grid_of(gpu_divide_up(a->rows, THREADS));
    return GPU_DISPATCH(a->dtype, T, GPU_LAUNCH(gather_nll<T>, grid, THREADS, 0, s, *a));
}

template <typename T> GPU_KERNEL GPU_BOUNDS(THREADS) sub_target(struct tt_sub_target_args a)
{
    int64_t r = gpu_block_x() * THREADS + gpu_thread();
    if (r >= a.rows) return;
    int32_t target = target_at(step_tokens(a.tokens, a.state, a.slot_stride), a.first + r, a.S);
    T *x = (T *)a.x + r * a.cols;
    if (target >= 0) x[target] = gpu_from_float<T>(gpu_to_float(x[target]) - 1.0f);
    for (int64_t i = 0; target < 0 && i < a.cols; i++) x[i] = gpu_from_float<T>(0.0f);
}

gpu_error tt_gpu_sub_target(const struct tt_sub_target_args *a, gpu_stream s)
{
    gpu_grid grid = gpu_grid_of(gpu_divide_up(a->rows, THREADS));
    return GPU_DISPATCH(a->dtype, T, GPU_LAUNCH(sub_target<T>, grid, THREADS, 0, s, *a));
}

/* ---- fused ---- */

template <typename T, int LANES, int KEEP>
GPU_KERNEL GPU_BOUNDS_MIN(row_team<LANES>::threads, 1024 / row_team<LANES>::threads)
    cross_entropy(struct tt_cross_entropy_args a)
{
    typedef row_team<LANES> team;
    int64_t r = team::row();
    if (r >= a.rows) return;
    T *x = (T *)a.x + r * a.ldx;
    row_span span = row_span_of(x, (int)a.cols, true);
    row_chunk<T, LANES, KEEP> chunk;
    int32_t target = target_at(step_tokens(a.tokens, a.state, a.slot_stride), a.first + r, a.S);
    if (target < 0) { /* the same for all threads of the row, and team::sync() is of the row */
        if (team::lane() == 0) a.losses[r] = TT_NO_LOSS;
        for (int64_t i = team::lane(); a.grad && i < a.cols; i += LANES) x[i] = gpu_from_float<T>(0.0f);
        return;
    }
    float factor = row_factor<T>(1.0f), wanted = gpu_to_float(x[target]);
    row_softmax stats = row_exp_sum(x, span, chunk, factor);
    float below = gpu_fma(factor, wanted, -stats.top), top = stats.top;
    if (team::lane() == 0) a.losses[r] = gpu_fma(-row_unit<T>(), below, gpu_log(stats.sum));
    if (!a.grad) return;

    float weight = a.factor * (a.state ? a.state->loss_scale : 1.0f), part = gpu_divide_fast(weight, stats.sum);
    team::sync(); /* every thread has read x[target] */
    row_replace(x, span, chunk, [=](float v) { return row_exp<T>(factor, v, top) * part; });
    team::sync();
    if (team::lane() > 0) return;
    float gradient = row_power<T>(below) * part - weight;
    x[target] = gpu_from_float<T>(gradient);
    if (a.amax) gpu_raise_amax<T>(a.amax, gpu_magnitude(gradient));
}

template <typename T> static gpu_error cross_entropy_rows(const struct tt_cross_entropy_args *a, gpu_stream s)
{
    if (a->cols <= 256 * 4 * gpu_vec<T>::n) return ROWS_LAUNCH(cross_entropy, T, a->rows, a->cols, s, *a);
    return ROWS_LAUNCH_AS(cross_entropy, T, 512, 8, a->rows, s, *a);
}

gpu_error tt_gpu_cross_entropy(const struct tt_cross_entropy_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, cross_entropy_rows<T>(a, s));
}

/* ---- the mean: one block, in a fixed order ---- */

enum { SUM_THREADS = 1024 };

GPU_KERNEL GPU_BOUNDS(SUM_THREADS) loss_sum(struct tt_loss_sum_args a)
{
    double sum = 0, ignored = 0;
    GPU_UNROLL_BY(8)
    for (int64_t i = gpu_thread(); i < a.n; i += SUM_THREADS) {
        bool counts = a.losses[i] != TT_NO_LOSS;
        sum += counts ? a.losses[i] : 0.0f;
        ignored += !counts;
    }
    sum = gpu_block_sum<SUM_THREADS>(sum);
    ignored = gpu_block_sum<SUM_THREADS>(ignored);
    if (gpu_thread() > 0) return;
    *a.out += (float)(a.factor * sum);
    *a.ignored += (float)ignored;
}

gpu_error tt_gpu_loss_sum(const struct tt_loss_sum_args *a, gpu_stream s)
{
    return GPU_LAUNCH(loss_sum, gpu_grid_of(1), SUM_THREADS, 0, s, *a);
}
