/* Cross-entropy around a product that stores exponentials (TT_WITH_EXP): before it the logits of the targets, after it
 * the losses and the rest of the gradient. */
#include "backend/gpu/rows.h"
#include "backend/gpu/tokens.h"

/* ---- a team per row: the row of x times the target's row of w ---- */

template <typename T, int LANES, int KEEP>
GPU_KERNEL GPU_BOUNDS(row_team<LANES>::threads) target_logit(struct tt_target_logit_args a, bool together)
{
    typedef row_team<LANES> team;
    int64_t r = team::row();
    if (r >= a.rows) return;
    int32_t target = target_at(step_tokens(a.tokens, a.state, a.slot_stride), a.first + r, a.S);
    const T *x = (const T *)a.x + r * a.cols, *w = (const T *)a.w + (target < 0 ? 0 : target) * a.cols;
    row_span span = row_span_of(x, (int)a.cols, together);
    row_chunk<T, LANES, KEEP> xs, ws;
    float sum = 0;
    GPU_UNROLL_BY(1)
    for (int e = team::lane(); e < span.edges; e += LANES) {
        int at = row_edge<T>(span, e);
        sum += gpu_to_float(x[at]) * gpu_to_float(w[at]);
    }
    GPU_UNROLL_BY(1)
    for (int c = 0; c < xs.count(span); c++) {
        xs.load(x, span, c);
        ws.load(w, span, c);
        GPU_UNROLL
        for (int k = 0; k < KEEP; k++) {
            if (xs.vector(c, k) >= span.vectors) continue;
            gpu_vec<T> p = gpu_vec_from<T>(xs.b[k]), q = gpu_vec_from<T>(ws.b[k]);
            GPU_UNROLL
            for (int i = 0; i < gpu_vec<T>::n; i++) sum += p.v[i] * q.v[i];
        }
    }
    sum = team::sum(sum);
    if (team::lane() == 0) a.logits[r] = target < 0 ? GPU_INFINITY : sum;
}

gpu_error tt_gpu_target_logit(const struct tt_target_logit_args *a, gpu_stream s)
{
    bool together = gpu_aligned_rows(a->x, a->cols, tt_dtype_size(a->dtype)) && gpu_aligned(a->w);
    return GPU_DISPATCH(a->dtype, T, ROWS_LAUNCH_AS(target_logit, T, GPU_GROUP, 4, a->rows, s, *a, together));
}

/* ---- a block has SUMS_ROWS rows; SUMS_SLICES threads of a row sum every SUMS_SLICES-th part each ---- */

enum { SUMS_ROWS = 32, SUMS_SLICES = 8 };

template <typename T> GPU_KERNEL GPU_BOUNDS(SUMS_ROWS *SUMS_SLICES) loss_of_sums(struct tt_loss_of_sums_args a)
{
    GPU_SHARED float slices[SUMS_SLICES][SUMS_ROWS];
    int slot = gpu_thread() % SUMS_ROWS, slice = gpu_thread() / SUMS_ROWS;
    int64_t r = gpu_block_x() * SUMS_ROWS + slot;
    int parts = r < a.rows ? (int)a.parts : 0;
    const float *from = a.sums + r;
    float sum = 0;
    GPU_UNROLL_BY(8)
    for (int p = slice; p < parts; p += SUMS_SLICES) sum += from[p * a.rows];
    slices[slice][slot] = sum;
    gpu_block_sync();
    if (slice > 0 || r >= a.rows) return;
    GPU_UNROLL
    for (int i = 1; i < SUMS_SLICES; i++) sum += slices[i][slot];
    int32_t target = target_at(step_tokens(a.tokens, a.state, a.slot_stride), a.first + r, a.S);
    a.losses[r] = target < 0 ? TT_NO_LOSS : gpu_log(sum);
    a.scale[r] = target < 0 ? 0.0f : gpu_divide(a.factor * (a.state ? a.state->loss_scale : 1.0f), sum);
    if (target >= 0) ((T *)a.x)[r * a.cols + target] = gpu_from_float<T>(1.0f - sum);
}

gpu_error tt_gpu_loss_of_sums(const struct tt_loss_of_sums_args *a, gpu_stream s)
{
    gpu_grid grid = gpu_grid_of(gpu_divide_up(a->rows, SUMS_ROWS));
    return GPU_DISPATCH(a->dtype, T, GPU_LAUNCH(loss_of_sums<T>, grid, SUMS_ROWS * SUMS_SLICES, 0, s, *a));
}
