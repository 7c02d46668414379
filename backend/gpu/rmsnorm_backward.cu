/* RMSNorm backward: dx = (dres) + rstd·(w·dy) - x·rstd³·mean(w·dy·x), and dy·x·rstd summed over runs of rows.
 *
 * A block takes a run of rows. Its teams take the rows round-robin; the threads of a team share the columns, so a
 * thread has the same columns in each of its rows. The weight stays in registers, and so do the sums for its gradient,
 * which are added over the teams at the end. A team is so wide that a thread has one vector of a row, which needs few
 * registers: all blocks are resident, and the next row is loaded while this one is reduced. For rows much wider than a
 * block, there are no registers for the weight and the next row. */
#include "backend/gpu/amax.h"
#include "backend/gpu/rows.h"

enum { THREADS = 256 };

template <typename T, int LANES, int KEEP> struct norm_rows {
    static constexpr int N = gpu_vec<T>::n;
    gpu_bytes16 dy[KEEP], x[KEEP], dres[KEEP]; /* dres is 0 if there is none, which saves a branch per element */
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

/* Sums over each team of the block; all threads call it. One barrier suffices, because the shared words are
 * double-buffered. */
template <int LANES> struct team_sums {
    float (*parts)[THREADS / GPU_GROUP]; /* two of them */
    int parity;
    GPU_MEMBER float sum(float x)
    {
        x = gpu_group_sum<GPU_GROUP>(x);
        if constexpr (LANES > GPU_GROUP) {
            float *words = parts[parity ^= 1];
            if (gpu_thread() % GPU_GROUP == 0) words[gpu_thread() / GPU_GROUP] = x;
            gpu_block_sync();
            x = 0;
            GPU_UNROLL
            for (int g = 0; g < LANES / GPU_GROUP; g++) x += words[gpu_thread() / LANES * (LANES / GPU_GROUP) + g];
        }
        return x;
    }
};

template <typename T, int LANES, int KEEP>
GPU_KERNEL GPU_BOUNDS_MIN(THREADS, KEEP > 1 ? 2 : 4) rmsnorm_backward(struct tt_rmsnorm_backward_args a, int64_t run)
{
    typedef norm_rows<T, LANES, KEEP> rows;
    constexpr int N = rows::N, TEAMS = THREADS / LANES;
    constexpr bool ROOM = KEEP <= 2; /* registers suffice for the weight and the next row */
    GPU_SHARED float parts[2][THREADS / GPU_GROUP], sums[TEAMS > 1 ? THREADS * N : 1]; /* (TEAMS, LANES·N) */
    int team = gpu_thread() / LANES, lane = gpu_thread() % LANES, cols = (int)a.cols, vectors = cols / N;
    int64_t from = gpu_block_x() * run, to = gpu_smaller(a.rows, from + run);
    team_sums<LANES> over = {parts, 0};

    const T *weight = (const T *)a.weight + lane * N;
    gpu_bytes16 kept[KEEP];
    gpu_vec<T> dweight[KEEP];
    GPU_UNROLL
    for (int k = 0; k < KEEP; k++) {
        if (ROOM && k * LANES + lane < vectors) kept[k] = gpu_load16(weight + k * LANES * N);
        GPU_UNROLL
        for (int i = 0; i < N; i++) dweight[k].v[i] = 0;
    }

    uint32_t most = 0; /* of dx */
    rows now, next;
    if (ROOM && from + team < to) next.load(a, from + team, lane, vectors);
    for (int64_t first = from; first < to; first += TEAMS) {
        int64_t r = first + team;
        int mine = r < to ? vectors : 0; /* vectors of this team's row; 0: it has none */
        if (ROOM)
            now = next;
        else if (mine)
            now.load(a, r, lane, vectors);
        float rstd = now.rstd, dot = 0;
        GPU_UNROLL
        for (int k = 0; k < KEEP; k++) {
            if (k * LANES + lane >= mine) continue;
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
        dot = over.sum(dot);
        float back = -gpu_divide_fast(dot, (float)cols) * rstd * rstd * rstd;
        GPU_UNROLL
        for (int k = 0; k < KEEP; k++) {
            int v = k * LANES + lane;
            if (v >= mine) continue;
            gpu_vec<T> w = gpu_vec_from<T>(ROOM ? kept[k] : gpu_load16(weight + k * LANES * N));
            gpu_vec<T> dy = gpu_vec_from<T>(now.dy[k]), x = gpu_vec_from<T>(now.x[k]);
            gpu_vec<T> dx = gpu_vec_from<T>(now.dres[k]);
            GPU_UNROLL
            for (int i = 0; i < N; i++) dx.v[i] += rstd * w.v[i] * dy.v[i] + back * x.v[i];
            gpu_vec_store((T *)a.dx + r * cols + v * N, dx);
            most = gpu_most(most, dx);
        }
    }
    if (a.amax) gpu_block_amax<T, THREADS>(a.amax, most);

    float *partial = a.partial + gpu_block_x() * cols;
    float *out = TEAMS > 1 ? sums + team * LANES * N : partial;
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
            for (int k = 0; k < TEAMS; k++) sum += sums[k * LANES * N + c];
            partial[c] = sum;
        }
    }
}

/* For any number of columns and any alignment: the sums are in `partial`, each element with one thread. */
template <typename T>
GPU_KERNEL GPU_BOUNDS(THREADS) rmsnorm_backward_any(struct tt_rmsnorm_backward_args a, int64_t run)
{
    const T *w = (const T *)a.weight;
    uint32_t most = 0;
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
            d = dres ? gpu_to_float(dres[c]) + d : d;
            dx[c] = gpu_from_float<T>(d);
            most = gpu_most(most, d);
        }
    }
    if (a.amax) gpu_block_amax<T, THREADS>(a.amax, most);
}

template <typename T> static gpu_error launch(const struct tt_rmsnorm_backward_args *a, gpu_stream s)
{
    int64_t run = gpu_divide_up(a->rows, a->parts), vectors = a->cols / gpu_vec<T>::n;
    gpu_grid grid = gpu_grid_of(a->parts);
    bool aligned = gpu_aligned_rows(a->dy, a->cols, sizeof(T)) && gpu_aligned(a->x) && gpu_aligned(a->weight) &&
                   gpu_aligned(a->dx) && gpu_aligned(a->dres);
    if (!aligned || vectors > 4 * THREADS) return GPU_LAUNCH(rmsnorm_backward_any<T>, grid, THREADS, 0, s, *a, run);
    if (vectors <= 32) return GPU_LAUNCH((rmsnorm_backward<T, 32, 1>), grid, THREADS, 0, s, *a, run);
    if (vectors <= 64) return GPU_LAUNCH((rmsnorm_backward<T, 64, 1>), grid, THREADS, 0, s, *a, run);
    if (vectors <= 128) return GPU_LAUNCH((rmsnorm_backward<T, 128, 1>), grid, THREADS, 0, s, *a, run);
    if (vectors <= 256) return GPU_LAUNCH((rmsnorm_backward<T, 256, 1>), grid, THREADS, 0, s, *a, run);
    if (vectors <= 512) return GPU_LAUNCH((rmsnorm_backward<T, 256, 2>), grid, THREADS, 0, s, *a, run);
    return GPU_LAUNCH((rmsnorm_backward<T, 256, 4>), grid, THREADS, 0, s, *a, run);
}

gpu_error tt_gpu_rmsnorm_backward(const struct tt_rmsnorm_backward_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, launch<T>(a, s));
}
