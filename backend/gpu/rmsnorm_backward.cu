/* RMSNorm backward: dx = (dres) + rstd·(w·dy) - x·rstd³·mean(w·dy·x), and dy·x·rstd summed over runs of rows.
 *
 * A block takes a run. Its teams take the run's rows in turn, a row's columns over the team's threads, so that every
 * thread meets the same columns in each of its rows: the weight stays in registers, and so do the sums for the weight's
 * gradient, which are added over the teams at the end. The next row is loaded while this one is reduced. Wide rows
 * leave no registers for the weight and the next row. */
#include "backend/gpu/rows.h"

enum { THREADS = 256 };

template <typename T, int LANES, int KEEP> struct norm_rows {
    static constexpr int N = gpu_vec<T>::n, TEAMS = THREADS / LANES;
    gpu_bytes16 dy[KEEP], x[KEEP], dres[KEEP]; /* dres of zeros when there is none: it spares a choice per element */
    float rstd;

    GPU_MEMBER void load(const struct tt_rmsnorm_backward_args &a, int64_t r, int lane, int vectors)
    {
        int64_t at = r * a.cols;
        GPU_UNROLL
        for (int k = 0; k < KEEP; k++) {
            int v = k * LANES + lane;
            if (v >= vectors) continue;
            dy[k] = gpu_load16((const T *)a.dy + at + v * N);
            x[k] = gpu_load16((const T *)a.x + at + v * N);
            dres[k] = a.dres ? gpu_load16((const T *)a.dres + at + v * N) : gpu_bytes16{};
        }
        rstd = a.rstd[r];
    }
};

/* Sums over a team; a block's only team may be the block. */
template <int LANES> GPU_DEVICE float team_sum(float x)
{
    if constexpr (LANES > GPU_GROUP)
        return gpu_block_sum<LANES>(x);
    else
        return gpu_group_sum<LANES>(x);
}

template <typename T, int LANES, int KEEP>
GPU_KERNEL GPU_BOUNDS_MIN(THREADS, 2) rmsnorm_backward(struct tt_rmsnorm_backward_args a, int64_t run)
{
    typedef norm_rows<T, LANES, KEEP> rows;
    constexpr int N = rows::N, TEAMS = rows::TEAMS;
    GPU_DYNAMIC_SHARED(shared);
    float *sums = (float *)shared; /* (TEAMS, cols), with several teams */
    int team = gpu_thread() / LANES, lane = gpu_thread() % LANES, cols = (int)a.cols, vectors = cols / N;
    int64_t from = gpu_block_x() * run, to = gpu_smaller(a.rows, from + run);

    constexpr bool ROOM = KEEP <= 2; /* in the registers, for the weight and for the next row */
    const T *weight = (const T *)a.weight + lane * N;
    gpu_bytes16 kept[KEEP];
    gpu_vec<T> dweight[KEEP];
    GPU_UNROLL
    for (int k = 0; k < KEEP; k++) {
        if (ROOM && k * LANES + lane < vectors) kept[k] = gpu_load16(weight + k * LANES * N);
        GPU_UNROLL
        for (int i = 0; i < N; i++) dweight[k].v[i] = 0;
    }

    rows now, next;
    if (ROOM && from + team < to) next.load(a, from + team, lane, vectors);
    for (int64_t r = from + team; r < to; r += TEAMS) {
        if (ROOM)
            now = next;
        else
            now.load(a, r, lane, vectors);
        float rstd = now.rstd, dot = 0;
        GPU_UNROLL
        for (int k = 0; k < KEEP; k++) {
            if (k * LANES + lane >= vectors) continue;
            gpu_vec<T> w = gpu_vec_from<T>(ROOM ? kept[k] : gpu_load16(weight + k * LANES * N));
            gpu_vec<T> dy = gpu_vec_from<T>(now.dy[k]), x = gpu_vec_from<T>(now.x[k]);
            GPU_UNROLL
            for (int i = 0; i < N; i++) {
                float product = dy.v[i] * x.v[i];
                dot += w.v[i] * product;
                dweight[k].v[i] += product * rstd;
            }
        }
        if (ROOM && r + TEAMS < to) next.load(a, r + TEAMS, lane, vectors);
        dot = team_sum<LANES>(dot);
        float back = -gpu_divide_fast(dot, (float)cols) * rstd * rstd * rstd;
        GPU_UNROLL
        for (int k = 0; k < KEEP; k++) {
            int v = k * LANES + lane;
            if (v >= vectors) continue;
            gpu_vec<T> w = gpu_vec_from<T>(ROOM ? kept[k] : gpu_load16(weight + k * LANES * N));
            gpu_vec<T> dy = gpu_vec_from<T>(now.dy[k]), x = gpu_vec_from<T>(now.x[k]);
            gpu_vec<T> dx = gpu_vec_from<T>(now.dres[k]);
            GPU_UNROLL
            for (int i = 0; i < N; i++) dx.v[i] += rstd * w.v[i] * dy.v[i] + back * x.v[i];
            gpu_vec_store((T *)a.dx + r * cols + v * N, dx);
        }
    }

    float *partial = a.partial + gpu_block_x() * cols;
    float *out = TEAMS > 1 ? sums + team * cols : partial;
    GPU_UNROLL
    for (int k = 0; k < KEEP; k++) {
        int v = k * LANES + lane;
        if (v >= vectors) continue;
        GPU_UNROLL
        for (int i = 0; i < N; i++) out[v * N + i] = dweight[k].v[i];
    }
    if constexpr (TEAMS > 1) {
        gpu_block_sync();
        for (int c = gpu_thread(); c < cols; c += THREADS) {
            float sum = 0;
            GPU_UNROLL
            for (int k = 0; k < TEAMS; k++) sum += sums[k * cols + c];
            partial[c] = sum;
        }
    }
}

/* Any number of columns, from anywhere: the sums live in `partial`, each element with one thread. */
template <typename T>
GPU_KERNEL GPU_BOUNDS(THREADS) rmsnorm_backward_any(struct tt_rmsnorm_backward_args a, int64_t run)
{
    const T *w = (const T *)a.weight;
    float *partial = a.partial + gpu_block_x() * a.cols;
    int64_t from = gpu_block_x() * run, to = gpu_smaller(a.rows, from + run);
    for (int64_t c = gpu_thread(); c < a.cols; c += THREADS) partial[c] = 0;
    for (int64_t r = from; r < to; r++) {
        const T *dy = (const T *)a.dy + r * a.cols, *x = (const T *)a.x + r * a.cols;
        const T *dres = a.dres ? (const T *)a.dres + r * a.cols : NULL;
        T *dx = (T *)a.dx + r * a.cols;
        float rstd = a.rstd[r], dot = 0;
        for (int64_t c = gpu_thread(); c < a.cols; c += THREADS)
            dot += gpu_to_float(w[c]) * (gpu_to_float(dy[c]) * gpu_to_float(x[c]));
        dot = gpu_block_sum<THREADS>(dot);
        float back = -gpu_divide_fast(dot, (float)a.cols) * rstd * rstd * rstd;
        for (int64_t c = gpu_thread(); c < a.cols; c += THREADS) {
            float d = gpu_to_float(dy[c]), v = gpu_to_float(x[c]);
            partial[c] += d * v * rstd;
            d = rstd * gpu_to_float(w[c]) * d + back * v;
            dx[c] = gpu_from_float<T>(dres ? gpu_to_float(dres[c]) + d : d);
        }
    }
}

template <typename T, int LANES, int KEEP>
static gpu_error launch_as(const struct tt_rmsnorm_backward_args *a, int64_t run, gpu_stream s)
{
    size_t shared = LANES < THREADS ? (size_t)(THREADS / LANES * a->cols) * sizeof(float) : 0;
    return GPU_LAUNCH(rmsnorm_backward<T, LANES, KEEP>, gpu_grid_of(a->parts), THREADS, shared, s, *a, run);
}

template <typename T> static gpu_error launch(const struct tt_rmsnorm_backward_args *a, gpu_stream s)
{
    int64_t run = gpu_divide_up(a->rows, a->parts), vectors = a->cols / gpu_vec<T>::n;
    bool aligned = gpu_aligned_rows(a->dy, a->cols, sizeof(T)) && gpu_aligned(a->x) && gpu_aligned(a->weight) &&
                   gpu_aligned(a->dx) && gpu_aligned(a->dres);
    if (aligned && vectors <= GPU_GROUP) return launch_as<T, GPU_GROUP, 1>(a, run, s);
    if (aligned && vectors <= 2 * GPU_GROUP) return launch_as<T, GPU_GROUP, 2>(a, run, s);
    if (aligned && vectors <= 4 * GPU_GROUP) return launch_as<T, GPU_GROUP, 4>(a, run, s);
    if (aligned && vectors <= THREADS) return launch_as<T, THREADS, 1>(a, run, s);
    if (aligned && vectors <= 2 * THREADS) return launch_as<T, THREADS, 2>(a, run, s);
    if (aligned && vectors <= 4 * THREADS) return launch_as<T, THREADS, 4>(a, run, s);
    return GPU_LAUNCH(rmsnorm_backward_any<T>, gpu_grid_of(a->parts), THREADS, 0, s, *a, run);
}

gpu_error tt_gpu_rmsnorm_backward(const struct tt_rmsnorm_backward_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, launch<T>(a, s));
}
