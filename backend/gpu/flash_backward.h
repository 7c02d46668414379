/* Causal attention without S×S, backward, 16-bit types on matrix tiles.
 *
 * P = exp(scale·Q·K^T - lse) is computed again, then dP = dO·V^T, dS = P·(dP - delta), and from them
 * dV = P^T·dO, dK = scale·dS^T·Q, dQ = scale·dS·K. Two kernels, which are one template seen from two sides:
 *
 *              owns ROWS of   streams COLS of           scores     dP         adds up
 *   keys       x = k, y = v   u = q, w = dout, G heads  S^T = x·u^T  dP^T = y·w^T  dK += dS^T·u, dV += P^T·w
 *   queries    x = q, y = dout  u = k, w = v            S = x·u^T    dP = y·w^T    dQ += dS·u
 *
 * Whoever owns rows writes them alone and adds in a fixed order: no atomics, the same bits in every run. Scores are in
 * registers only: they leave one product in the layout in which they enter the next. */
#ifndef TT_GPU_FLASH_BACKWARD_H
#define TT_GPU_FLASH_BACKWARD_H

#include "backend/gpu/flash.h"
#include "gpu_mma.h"

/* What a kernel is compiled for. P_SUM: dV is wanted; DS_SUM: dK or dQ is (with large heads not both fit). */
template <typename T_, int DP_, int ROWS_, int COLS_, int THREADS_, int STAGES_, bool KEYS_, bool P_SUM_, bool DS_SUM_>
struct flash_side {
    typedef T_ T;
    static constexpr int DP = DP_, ROWS = ROWS_, COLS = COLS_, THREADS = THREADS_, STAGES = STAGES_;
    static constexpr bool KEYS = KEYS_, P_SUM = P_SUM_, DS_SUM = DS_SUM_;
    static constexpr int LD = DP + 16 / (int)sizeof(T);
    static constexpr int STEP = COLS < 32 ? COLS : 32; /* columns whose scores a wave has in registers at once */
    static constexpr size_t bytes =
        (size_t)(2 * ROWS + 2 * STAGES * COLS) * LD * sizeof(T) + (size_t)2 * STAGES * COLS * sizeof(float);
};

/* The sums of a wave's rows. */
template <int M, int DP> struct flash_sums {
    gpu_tile_c p[M][DP / 16], ds[M][DP / 16];
};

/* s = x·u^T for STEP columns. */
template <typename C, int M>
GPU_DEVICE void flash_product(gpu_tile_c (&s)[M][C::STEP / 16], const typename C::T *x, const typename C::T *u)
{
    GPU_UNROLL
    for (int m = 0; m < M; m++)
        GPU_UNROLL
        for (int n = 0; n < C::STEP / 16; n++) gpu_tile_fill(s[m][n], 0.0f);
    GPU_UNROLL
    for (int d = 0; d < C::DP; d += 16) {
        gpu_tile_a<typename C::T> a[M];
        GPU_UNROLL
        for (int m = 0; m < M; m++) gpu_tile_load(a[m], x + m * 16 * C::LD + d, C::LD);
        GPU_UNROLL
        for (int n = 0; n < C::STEP / 16; n++) {
            gpu_tile_b<typename C::T> b;
            gpu_tile_load_transposed(b, u + n * 16 * C::LD + d, C::LD);
            GPU_UNROLL
            for (int m = 0; m < M; m++) gpu_tile_mma(s[m][n], a[m], b);
        }
    }
}

/* sum += s·w, s rounded. */
template <typename C, int M>
GPU_DEVICE void flash_accumulate(gpu_tile_c (&sum)[M][C::DP / 16], const gpu_tile_c (&s)[M][C::STEP / 16],
                                 const typename C::T *w)
{
    GPU_UNROLL
    for (int n = 0; n < C::STEP / 16; n++) {
        gpu_tile_a<typename C::T> a[M];
        GPU_UNROLL
        for (int m = 0; m < M; m++) gpu_tile_round(a[m], s[m][n]);
        GPU_UNROLL
        for (int d = 0; d < C::DP / 16; d++) {
            gpu_tile_b<typename C::T> b;
            gpu_tile_load(b, w + n * 16 * C::LD + d * 16, C::LD);
            GPU_UNROLL
            for (int m = 0; m < M; m++) gpu_tile_mma(sum[m][d], a[m], b);
        }
    }
}

/* lse·log2(e) and delta of the queries: of this lane's rows, or of the streamed columns, in shared memory. */
template <int M> struct flash_stats {
    float lse[M][GPU_TILE_ROWS], delta[M][GPU_TILE_ROWS];
    const float *col_lse, *col_delta;
};

/* Scores of rows from `row` and columns from `col` become P, dP becomes dS; both are 0 where a key is in the future. */
template <typename C, int M>
GPU_DEVICE void flash_probabilities(gpu_tile_c (&p)[M][C::STEP / 16], gpu_tile_c (&ds)[M][C::STEP / 16], int row,
                                    int col, const flash_stats<M> &q, float c)
{
    bool diagonal = C::KEYS ? col < row + M * 16 - 1 : col + C::STEP - 1 > row;
    GPU_UNROLL
    for (int m = 0; m < M; m++)
        GPU_UNROLL
        for (int n = 0; n < C::STEP / 16; n++) {
            if (diagonal)
                gpu_tile_each(p[m][n], [&](int i, int j, float &x) {
                    int mine = row + m * 16 + i, other = col + n * 16 + j;
                    if (C::KEYS ? other < mine : other > mine) x = -GPU_INFINITY;
                });
            gpu_tile_each_slot(p[m][n], [&](int r, int, int j, float &x) {
                x = gpu_exp2_fast(gpu_fma(x, c, -(C::KEYS ? q.col_lse[n * 16 + j] : q.lse[m][r])));
            });
            if (C::DS_SUM)
                gpu_tile_each_pair(ds[m][n], p[m][n], [&](int r, int, int j, float &x, float prob) {
                    x = prob * (x - (C::KEYS ? q.col_delta[n * 16 + j] : q.delta[m][r]));
                });
        }
}

/* Sums of 0; lse and delta of the wave's rows, if these are queries, from the row `at` of (B, H, S) on. */
template <typename C, int M>
GPU_DEVICE void flash_begin(flash_sums<M, C::DP> &sums, flash_stats<M> &q, const struct tt_flash_backward_args &a,
                            int64_t at, int row)
{
    GPU_UNROLL
    for (int m = 0; m < M; m++) {
        GPU_UNROLL
        for (int r = 0; !C::KEYS && r < GPU_TILE_ROWS; r++) {
            int i = row + m * 16 + gpu_tile_row_of(r);
            q.lse[m][r] = i < a.S ? a.lse[at + i] * FLASH_LOG2E : GPU_INFINITY;
            q.delta[m][r] = i < a.S ? a.delta[at + i] : 0.0f;
        }
        GPU_UNROLL
        for (int d = 0; d < C::DP / 16; d++) gpu_tile_fill(sums.p[m][d], 0.0f), gpu_tile_fill(sums.ds[m][d], 0.0f);
    }
}

/* STEP streamed columns against the wave's rows. */
template <typename C, int M>
GPU_DEVICE void flash_step(flash_sums<M, C::DP> &sums, const typename C::T *x, const typename C::T *y,
                           const typename C::T *u, const typename C::T *w, int row, int col, const flash_stats<M> &q,
                           float c)
{
    gpu_tile_c p[M][C::STEP / 16], ds[M][C::STEP / 16];
    flash_product<C, M>(p, x, u);
    if (C::DS_SUM) flash_product<C, M>(ds, y, w);
    flash_probabilities<C, M>(p, ds, row, col, q, c);
    if (C::P_SUM) flash_accumulate<C, M>(sums.p, p, w);
    if (C::DS_SUM) flash_accumulate<C, M>(sums.ds, ds, u);
}

/* `factor` times the sums, to the wave's rows of the output, through its own rows of a tile. */
template <typename C, int M>
GPU_DEVICE void flash_emit(gpu_tile_c (&sum)[M][C::DP / 16], float factor, typename C::T *tile, typename C::T *out,
                           int64_t ld, int count, int D, bool wide)
{
    gpu_wave_sync();
    GPU_UNROLL
    for (int m = 0; m < M; m++)
        GPU_UNROLL
        for (int d = 0; d < C::DP / 16; d++) {
            gpu_tile_each(sum[m][d], [&](int, int, float &x) { x *= factor; });
            gpu_tile_store(tile + m * 16 * C::LD + d * 16, C::LD, sum[m][d]);
        }
    gpu_wave_sync();
    flash_store<typename C::T, M * 16, C::DP>(out, ld, tile, count, D, wide);
}

/* The streamed tile at `col` of query head `head`, to a stage; lse and delta of its queries stay in a register of the
 * threads that will put them beside it. */
template <typename C>
GPU_DEVICE void flash_fetch(typename C::T *u, const struct tt_flash_backward_args &a, int64_t b, int64_t head, int col,
                            float &lse, float &delta, bool wide)
{
    typedef typename C::T T;
    int64_t row = b * a.S + col, ld = C::KEYS ? a.heads * a.D : a.ld;
    int64_t kv = head / (a.heads / a.kv_heads), at = row * a.ld + (C::KEYS ? head : kv) * a.D;
    const T *from_u = (const T *)(C::KEYS ? a.q : a.k) + at;
    const T *from_w = C::KEYS ? (const T *)a.dout + (row * a.heads + head) * a.D : (const T *)a.v + at;
    int rows = (int)a.S - col, D = (int)a.D;
    flash_load<T, C::COLS, C::DP, C::THREADS>(u, from_u, a.ld, rows, D, wide);
    flash_load<T, C::COLS, C::DP, C::THREADS>(u + C::COLS * C::LD, from_w, ld, rows, D, wide);
    gpu_copy_commit();
    if (C::KEYS && gpu_thread() < C::COLS) {
        int64_t stat = (b * a.heads + head) * a.S + col + gpu_thread();
        bool inside = gpu_thread() < rows; /* a query beyond the end has P = 0 */
        lse = inside ? a.lse[stat] * FLASH_LOG2E : GPU_INFINITY;
        delta = inside ? a.delta[stat] : 0.0f;
    }
}

template <typename C>
GPU_KERNEL GPU_BOUNDS_MIN(C::THREADS, 256 / C::THREADS) flash_gradients(struct tt_flash_backward_args a, bool wide)
{
    typedef typename C::T T;
    constexpr int LD = C::LD, ROWS = C::ROWS, COLS = C::COLS;
    constexpr int M = ROWS / 16 / (C::THREADS / GPU_WAVE), STAGE = 2 * COLS * LD;
    static_assert(COLS <= C::THREADS && ROWS % COLS == 0, "a thread for each streamed row; tiles begin together");
    GPU_DYNAMIC_SHARED(shared);
    T *x = (T *)shared, *y = x + ROWS * LD, *stages = y + ROWS * LD;
    float *stats = (float *)(stages + C::STAGES * STAGE); /* (STAGES, 2, COLS): lse·log2(e) and delta of the queries */

    int S = (int)a.S, D = (int)a.D, G = C::KEYS ? (int)(a.heads / a.kv_heads) : 1;
    int64_t owners = C::KEYS ? a.kv_heads : a.heads, b = gpu_block_x() / owners, h = gpu_block_x() % owners;
    int first = (int)(C::KEYS ? gpu_block_y() : (a.S - 1) / ROWS - gpu_block_y()) * ROWS; /* the longest first */
    int wave_row = gpu_wave() * M * 16, row = first + wave_row;

    /* the streamed tiles: from the diagonal to the end, for each head of the group; or from 0 to the diagonal */
    int begin = C::KEYS ? first : 0, end = C::KEYS || first + ROWS > S ? S : first + ROWS;
    int64_t head = h * G, heads_end = head + G;
    int col = begin, stage = 0;
    float lse, delta;
    auto fetch = [&](int to, int64_t of_head, int at) {
        flash_fetch<C>(stages + to * STAGE, a, b, of_head, at, lse, delta, wide);
    };
    auto put_stats = [&](int to) {
        float *p = stats + to * 2 * COLS + gpu_thread();
        if (C::KEYS && gpu_thread() < COLS) p[0] = lse, p[COLS] = delta;
    };

    int64_t at = (b * S + first) * a.ld + h * D, at_o = ((b * S + first) * a.heads + h) * D;
    flash_load<T, ROWS, C::DP, C::THREADS>(x, (const T *)(C::KEYS ? a.k : a.q) + at, a.ld, S - first, D, wide);
    if (C::DS_SUM)
        flash_load<T, ROWS, C::DP, C::THREADS>(y, C::KEYS ? (const T *)a.v + at : (const T *)a.dout + at_o,
                                               C::KEYS ? a.ld : a.heads * a.D, S - first, D, wide);
    flash_stats<M> stat;
    flash_sums<M, C::DP> sums;
    flash_begin<C, M>(sums, stat, a, (b * a.heads + h) * S, row);
    if (C::STAGES > 1) fetch(0, head, col), put_stats(0);
    while (head < heads_end) {
        if (C::STAGES == 1) fetch(0, head, col), put_stats(0);
        gpu_copy_wait<0>();
        gpu_block_sync();
        int next_col = col + COLS < end ? col + COLS : begin;
        int64_t next_head = next_col == begin ? head + 1 : head;
        bool more = C::STAGES > 1 && next_head < heads_end;
        if (more) fetch(stage ^ 1, next_head, next_col);
        const T *u = stages + stage * STAGE;
        FLASH_NO_UNROLL
        for (int n = 0; n < COLS; n += C::STEP) {
            bool future = C::KEYS ? col + n + C::STEP <= row : col + n >= row + M * 16; /* for every query, every key */
            if (future) continue;
            stat.col_lse = stats + stage * 2 * COLS + n;
            stat.col_delta = stat.col_lse + COLS;
            flash_step<C, M>(sums, x + wave_row * LD, y + wave_row * LD, u + n * LD, u + (COLS + n) * LD, row, col + n,
                             stat, a.scale * FLASH_LOG2E);
        }
        if (more) put_stats(stage ^ 1);
        if (C::STAGES == 1) gpu_block_sync();
        if (C::STAGES > 1) stage ^= 1;
        col = next_col, head = next_head;
    }
    gpu_block_sync();

    int rows = S - row;
    if (rows <= 0) return;
    at += wave_row * a.ld;
    T *tile = x + wave_row * LD;
    if (C::DS_SUM) flash_emit<C, M>(sums.ds, a.scale, tile, (T *)(C::KEYS ? a.dk : a.dq) + at, a.ld, rows, D, wide);
    if (C::P_SUM) flash_emit<C, M>(sums.p, 1.0f, tile, (T *)a.dv + at, a.ld, rows, D, wide);
}

template <typename C> static gpu_error flash_gradients_launch(const struct tt_flash_backward_args *a, gpu_stream s)
{
    size_t size = sizeof(typename C::T);
    bool wide = flash_wide(a->q, a->ld, a->D, size) && gpu_aligned(a->k) && gpu_aligned(a->v) && gpu_aligned(a->dout) &&
                gpu_aligned(a->dq) && gpu_aligned(a->dk) && gpu_aligned(a->dv);
    gpu_grid grid((unsigned)(a->B * (C::KEYS ? a->kv_heads : a->heads)), (unsigned)gpu_divide_up(a->S, C::ROWS));
    gpu_error e = gpu_allow_shared(flash_gradients<C>, C::bytes);
    return e ? e : GPU_LAUNCH(flash_gradients<C>, grid, C::THREADS, C::bytes, s, *a, wide);
}

/* dK and dV, then dQ, of one tile configuration. */
template <typename T, int DP, int ROWS, int COLS, int THREADS, int STAGES>
static gpu_error flash_gradients_both(const struct tt_flash_backward_args *a, gpu_stream s)
{
    gpu_error e;
    if constexpr (DP > 128) {
        e = flash_gradients_launch<flash_side<T, DP, ROWS, COLS, THREADS, STAGES, true, true, false>>(a, s);
        if (!e) e = flash_gradients_launch<flash_side<T, DP, ROWS, COLS, THREADS, STAGES, true, false, true>>(a, s);
    } else {
        e = flash_gradients_launch<flash_side<T, DP, ROWS, COLS, THREADS, STAGES, true, true, true>>(a, s);
    }
    return e ? e : flash_gradients_launch<flash_side<T, DP, ROWS, COLS, THREADS, STAGES, false, false, true>>(a, s);
}

/* The second configuration of a size is for chips with less shared memory than the first asks for. */
template <typename T> static gpu_error flash_backward_tiles(const struct tt_flash_backward_args *a, gpu_stream s)
{
    size_t limit = (size_t)gpu_shared_limit();
    if (a->D <= 32) return flash_gradients_both<T, 32, 64, 64, 128, 2>(a, s);
    if (a->D <= 64) return flash_gradients_both<T, 64, 64, 64, 128, 2>(a, s);
    if (a->D <= 96) return flash_gradients_both<T, 96, 64, 32, 128, 2>(a, s);
    if (a->D <= 128)
        return limit >= (72 << 10) ? flash_gradients_both<T, 128, 64, 32, 128, 2>(a, s)
                                   : flash_gradients_both<T, 128, 64, 16, 128, 2>(a, s);
    return limit >= (136 << 10) ? flash_gradients_both<T, 256, 64, 32, 128, 2>(a, s)
                                : flash_gradients_both<T, 256, 32, 16, 64, 1>(a, s);
}

#endif
