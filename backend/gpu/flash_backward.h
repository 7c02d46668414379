/* Causal attention without S×S, backward, on matrix tiles.
 *
 * P = exp(scale·Q·K^T - lse) is recomputed, then dP = dO·V^T, dS = P·(dP - delta), and from them dV = P^T·dO,
 * dK = scale·dS^T·Q, dQ = scale·dS·K. There are two kernels, instances of one template; a block of the first owns rows
 * of keys, a block of the second owns rows of queries:
 *
 *              owns ROWS of   streams COLS of           scores     dP         adds up
 *   keys       x = k, y = v   u = q, w = dout, G heads  S^T = x·u^T  dP^T = y·w^T  dK += dS^T·u, dV += P^T·w
 *   queries    x = q, y = dout  u = k, w = v            S = x·u^T    dP = y·w^T    dQ += dS·u
 *
 * Only the owner of a row writes it, and adds in a fixed order: no atomics, the same bits in every run. Scores stay in
 * registers: the layout of one product's result is that of the next one's operand.
 *
 * Keys stream queries only up to the end of the last of their documents, and queries stream keys only
 * from the start of the first of theirs. */
#ifndef TT_GPU_FLASH_BACKWARD_H
#define TT_GPU_FLASH_BACKWARD_H

#include "backend/gpu/flash_tiles.h"

/* The template parameters of a kernel. P_SUM: it computes dV; DS_SUM: it computes dK or dQ. With large heads, registers
 * do not suffice for dV and dK together. */
template <typename Shape, bool KEYS_, bool P_SUM_, bool DS_SUM_> struct flash_side : Shape {
    static constexpr bool KEYS = KEYS_, P_SUM = P_SUM_, DS_SUM = DS_SUM_;
    static constexpr int TILES = Shape::STEP / 16, BUFFERS = 2 * Shape::STAGES * Shape::COLS;
    static constexpr int TILE_ROWS = !Shape::HOLD ? 2 * Shape::ROWS + BUFFERS
                                     : BUFFERS > Shape::ROWS ? BUFFERS
                                                             : Shape::ROWS;
    static constexpr size_t bytes = (size_t)TILE_ROWS * Shape::LD * sizeof(typename Shape::T) +
                                    (size_t)2 * Shape::STAGES * Shape::COLS * sizeof(float);
};

/* The accumulators of a wave. */
template <int M, int DP> struct flash_sums {
    gpu_tile_c p[M][DP / 16], ds[M][DP / 16];
};

/* lse·log2(e) and delta of the queries: for a lane's own rows in registers, for streamed queries in shared memory. */
template <int M> struct flash_stats {
    float lse[M][GPU_TILE_ROWS], delta[M][GPU_TILE_ROWS];
    const float *col_lse, *col_delta;
};

/* f(column, place, x&) for each element of the tiles of a wave; place = of(the element's row). */
template <typename C, int M, typename G, typename F>
GPU_DEVICE void flash_each_place(gpu_tile_c (&x)[M][C::TILES], G of, F f)
{
    GPU_UNROLL
    for (int m = 0; m < M; m++) {
        int place[GPU_TILE_ROWS];
        GPU_UNROLL
        for (int r = 0; r < GPU_TILE_ROWS; r++) place[r] = of(m * 16 + gpu_tile_row_of(r));
        GPU_UNROLL
        for (int n = 0; n < C::TILES; n++)
            gpu_tile_each_slot(x[m][n], [&](int r, int, int j, float &v) { f(n * 16 + j, place[r], v); });
    }
}

/* Sets x to `hidden` where query and key are in different documents. */
template <typename C, int M>
GPU_DEVICE void flash_part(gpu_tile_c (&x)[M][C::TILES], int col, const flash_bounds<C> &bounds, float hidden)
{
    flash_each_place<C, M>(
        x, [&](int i) { return bounds.each.bound(i) - col; },
        [&](int j, int bound, float &v) { v = (C::KEYS ? j >= bound : j < bound) ? hidden : v; });
}

/* Sets the elements to 0 where the first query of a document meets the key at its own position. */
template <typename C, int M>
GPU_DEVICE void flash_alone(gpu_tile_c (&x)[M][C::TILES], int row, int col, const flash_bounds<C> &bounds)
{
    flash_each_place<C, M>(
        x, [&](int i) { return bounds.each.start(i) == row + i ? row + i - col : -1; },
        [&](int j, int own, float &v) { v = j == own ? 0.0f : v; });
}

/* Scores become P, dP becomes dS, for rows from `row` and columns from `col` on. Both are 0 where the query does not
 * see the key, even if dP is NaN there. The first query of a document sees only one key, so its dS is set to exactly 0,
 * instead of the rounding error of dP - delta. */
template <typename C, int M>
GPU_DEVICE void flash_probabilities(gpu_tile_c (&p)[M][C::TILES], gpu_tile_c (&ds)[M][C::TILES], int row,
                                    int col, const flash_stats<M> &q, float c, const flash_bounds<C> &bounds)
{
    bool diagonal = C::KEYS ? col < row + M * 16 - 1 : col + C::STEP - 1 > row;
    bool boundary = C::KEYS ? col + C::STEP > bounds.least : col < bounds.most;
    if (boundary) {
        flash_part<C, M>(p, col, bounds, -GPU_INFINITY);
        if (C::DS_SUM) flash_part<C, M>(ds, col, bounds, 0.0f);
    }
    GPU_UNROLL
    for (int m = 0; m < M; m++)
        GPU_UNROLL
        for (int n = 0; n < C::TILES; n++) {
            if (diagonal)
                gpu_tile_each(p[m][n], [&](int i, int j, float &x) {
                    int mine = row + m * 16 + i, other = col + n * 16 + j;
                    if (C::KEYS ? other < mine : other > mine) x = -GPU_INFINITY;
                });
            if (C::DS_SUM && diagonal)
                gpu_tile_each(ds[m][n], [&](int i, int j, float &x) {
                    int mine = row + m * 16 + i, other = col + n * 16 + j;
                    if (C::KEYS ? other < mine : other > mine) x = 0.0f;
                });
            gpu_tile_each_slot(p[m][n], [&](int r, int, int j, float &x) {
                x = gpu_exp2_fast(gpu_fma(x, c, -(C::KEYS ? q.col_lse[n * 16 + j] : q.lse[m][r])));
            });
            if (C::DS_SUM)
                gpu_tile_each_pair(ds[m][n], p[m][n], [&](int r, int, int j, float &x, float prob) {
                    x = prob * (x - (C::KEYS ? q.col_delta[n * 16 + j] : q.delta[m][r]));
                });
        }
    if (C::DS_SUM && diagonal) flash_alone<C, M>(ds, row, col, bounds);
}

/* Zeroes the accumulators; if the wave's rows are queries, loads their lse and delta, which start at `at` in (H, S). */
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
GPU_DEVICE void flash_step(flash_sums<M, C::DP> &sums, const flash_own<C> &x, const flash_own<C> &y,
                           const typename C::T *u, const typename C::T *w, int row, int col, const flash_stats<M> &q,
                           float c, const flash_bounds<C> &bounds)
{
    gpu_tile_c p[M][C::TILES], ds[M][C::TILES];
    flash_product<C, C::TILES>(p, x, u);
    if (C::DS_SUM) flash_product<C, C::TILES>(ds, y, w);
    flash_probabilities<C, M>(p, ds, row, col, q, c, bounds);
    if (C::P_SUM) flash_accumulate<C, C::TILES>(sums.p, p, w);
    if (C::DS_SUM) flash_accumulate<C, C::TILES>(sums.ds, ds, u);
}

/* Writes factor · sum to the wave's rows of the output, through the wave's own rows of a tile in shared memory. */
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
    flash_store<typename C::T, M * 16, C::DP>(out, ld, tile, count, D, wide, nullptr);
}

/* The copy of a streamed tile to a stage, with lse and delta of its queries. */
template <typename C> struct flash_fetch {
    typedef typename C::T T;
    flash_copy<T, C::COLS, C::DP, C::THREADS> u, w;
    float lse, delta; /* of this thread's query */

    /* f(from_u, from_w, distance of rows of w, rows) of the tile at `col` of query head `head` */
    template <typename F>
    static GPU_MEMBER void with(const struct tt_flash_backward_args &a, int head, int col, F f)
    {
        int64_t ld = C::KEYS ? a.heads * a.D : a.ld;
        int kv = head / ((int)a.heads / (int)a.kv_heads);
        int64_t at = col * a.ld + (C::KEYS ? head : kv) * a.D;
        f((const T *)(C::KEYS ? a.q : a.k) + at,
          C::KEYS ? (const T *)a.dout + (col * a.heads + head) * a.D : (const T *)a.v + at, ld, (int)a.S - col);
    }
    GPU_MEMBER void begin(T *stage, const struct tt_flash_backward_args &a, int head, int col, bool wide)
    {
        with(a, head, col, [&](const T *from_u, const T *from_w, int64_t ld, int rows) {
            u.begin(stage, from_u, a.ld, rows, (int)a.D, wide);
            w.begin(stage + C::COLS * C::LD, from_w, ld, rows, (int)a.D, wide);
        });
        gpu_copy_commit();
        begin_stats(a, head, col);
    }
    GPU_MEMBER void end(T *stage, float *stats, const struct tt_flash_backward_args &a, int head, int col, bool wide)
    {
        with(a, head, col, [&](const T *from_u, const T *from_w, int64_t ld, int rows) {
            u.end(stage, from_u, a.ld, rows, (int)a.D, wide);
            w.end(stage + C::COLS * C::LD, from_w, ld, rows, (int)a.D, wide);
        });
        end_stats(stats);
    }
    /* begin and end together, with few registers. */
    GPU_MEMBER void load(T *stage, float *stats, const struct tt_flash_backward_args &a, int head, int col, bool wide)
    {
        with(a, head, col, [&](const T *from_u, const T *from_w, int64_t ld, int rows) {
            u.load(stage, from_u, a.ld, rows, (int)a.D, wide);
            w.load(stage + C::COLS * C::LD, from_w, ld, rows, (int)a.D, wide);
        });
        gpu_copy_commit();
        begin_stats(a, head, col);
        end_stats(stats);
    }

  private:
    GPU_MEMBER void begin_stats(const struct tt_flash_backward_args &a, int head, int col)
    {
        if (!C::KEYS || gpu_thread() >= C::COLS) return;
        int64_t stat = head * a.S + col + gpu_thread();
        bool inside = gpu_thread() < (int)a.S - col; /* a query beyond the end has P = 0 */
        lse = inside ? a.lse[stat] * FLASH_LOG2E : GPU_INFINITY;
        delta = inside ? a.delta[stat] : 0.0f;
    }
    GPU_MEMBER void end_stats(float *stats) const
    {
        stats += gpu_thread();
        if (C::KEYS && gpu_thread() < C::COLS) stats[0] = lse, stats[C::COLS] = delta;
    }
};

/* Loads the wave's rows of x, and of y if DS_SUM. If they are held in registers, both come through the same tile, one
 * after the other. */
template <typename C>
GPU_DEVICE void flash_take(flash_own<C> &x, flash_own<C> &y, typename C::T *tile,
                           const struct tt_flash_backward_args &a, int h, int first, int wave_row, bool wide)
{
    typedef typename C::T T;
    int rows = (int)a.S - first, D = (int)a.D;
    int64_t at = first * a.ld + h * D, at_o = (first * a.heads + h) * D;
    T *y_tile = C::HOLD ? tile : tile + C::ROWS * C::LD;
    flash_load<T, C::ROWS, C::DP, C::THREADS>(tile, (const T *)(C::KEYS ? a.k : a.q) + at, a.ld, rows, D, wide);
    if (C::HOLD) gpu_copy_commit(), gpu_copy_wait<0>(), gpu_block_sync();
    x.take(tile + wave_row * C::LD);
    if (C::HOLD) gpu_block_sync();
    if (!C::DS_SUM) return;
    flash_load<T, C::ROWS, C::DP, C::THREADS>(y_tile, C::KEYS ? (const T *)a.v + at : (const T *)a.dout + at_o,
                                              C::KEYS ? a.ld : a.heads * a.D, rows, D, wide);
    if (C::HOLD) gpu_copy_commit(), gpu_copy_wait<0>(), gpu_block_sync();
    y.take(y_tile + wave_row * C::LD);
    if (C::HOLD) gpu_block_sync();
}

/* The arguments for sequence b alone. Sizes fit 32 bits; where the compiler knows that, they take one register each. */
template <typename T> GPU_DEVICE struct tt_flash_backward_args flash_sequence(struct tt_flash_backward_args a, int b)
{
    a.S = (uint32_t)a.S, a.D = (uint32_t)a.D, a.ld = (uint32_t)a.ld;
    a.heads = (uint32_t)a.heads, a.kv_heads = (uint32_t)a.kv_heads;
    int64_t rows = b * a.S, packed = rows * a.ld;
    a.q = (const T *)a.q + packed, a.k = (const T *)a.k + packed, a.v = (const T *)a.v + packed;
    a.dq = (T *)a.dq + packed, a.dk = (T *)a.dk + packed, a.dv = (T *)a.dv + packed;
    a.dout = (const T *)a.dout + rows * a.heads * a.D;
    a.lse += rows * a.heads, a.delta += rows * a.heads;
    return a;
}

template <typename C> GPU_DEVICE void flash_gradients_block(const struct tt_flash_backward_args &all, bool wide)
{
    typedef typename C::T T;
    constexpr int LD = C::LD, ROWS = C::ROWS, COLS = C::COLS, M = C::M, STAGE = C::STAGE;
    static_assert(COLS <= C::THREADS && ROWS % COLS == 0, "a thread for each streamed row; tiles begin together");
    GPU_DYNAMIC_SHARED(shared);
    T *tile = (T *)shared, *stages = C::HOLD ? tile : tile + 2 * ROWS * LD;
    float *stats = (float *)(tile + C::TILE_ROWS * LD); /* (STAGES, 2, COLS): lse·log2(e) and delta of the queries */

    int owners = (int)(C::KEYS ? all.kv_heads : all.heads), block = (int)gpu_block_x(); /* a grid fits an int */
    int b = block / owners, h = block % owners;
    struct tt_flash_backward_args a = flash_sequence<T>(all, b);
    int S = (int)a.S, D = (int)a.D, G = C::KEYS ? (int)a.heads / (int)a.kv_heads : 1;
    int first = (int)(C::KEYS ? gpu_block_y() : (a.S - 1) / ROWS - gpu_block_y()) * ROWS; /* longest first */
    int wave_row = gpu_wave() * M * 16, row = first + wave_row;

    /* keys: stream queries from the diagonal to the end of the last document, for each head of the group; queries: keys
     * from the start of the first document to the diagonal */
    const int32_t *of = C::KEYS ? a.ends : a.starts;
    int without = C::KEYS ? S : 0;
    auto bound = [&](int r) { return flash_bound(of, without, b, S, r); };
    int begin = C::KEYS ? first : bound(first) / COLS * COLS;
    int end = C::KEYS ? bound(first + ROWS - 1) : first + ROWS < S ? first + ROWS : S;
    flash_bounds<C> bounds = {bound(row), bound(row + M * 16 - 1), {tile}};
    bounds.each.put(ROWS, of, without, a.starts, b, S, first);
    bounds.each.tile += wave_row * LD;
    int head = h * G, heads_end = head + G;
    int col = begin, stage = 0;
    flash_own<C> x, y;
    flash_take<C>(x, y, tile, a, h, first, wave_row, wide);
    flash_fetch<C> next;
    if (C::EARLY) next.begin(stages, a, head, col, wide);
    flash_stats<M> stat;
    flash_sums<M, C::DP> sums;
    flash_begin<C, M>(sums, stat, a, (int64_t)h * S, row);
    if (C::EARLY) next.end(stages, stats, a, head, col, wide);
    if (!C::EARLY) next.load(stages, stats, a, head, col, wide);
    while (head < heads_end) {
        gpu_copy_wait<0>();
        gpu_block_sync();
        int next_col = col + COLS < end ? col + COLS : begin, to = C::STAGES > 1 ? stage ^ 1 : 0;
        int next_head = next_col == begin ? head + 1 : head;
        bool more = next_head < heads_end;
        if (more && C::EARLY) next.begin(stages + to * STAGE, a, next_head, next_col, wide);
        const T *u = stages + stage * STAGE;
        FLASH_NO_UNROLL
        for (int n = 0; n < COLS; n += C::STEP) {
            bool future = C::KEYS ? col + n + C::STEP <= row : col + n >= row + M * 16; /* keys after every query */
            bool apart = C::KEYS ? col + n >= bounds.most : col + n + C::STEP <= bounds.least;
            if (future || apart) continue;
            stat.col_lse = stats + stage * 2 * COLS + n;
            stat.col_delta = stat.col_lse + COLS;
            flash_step<C, M>(sums, x, y, u + n * LD, u + (COLS + n) * LD, row, col + n, stat, a.scale * FLASH_LOG2E,
                             bounds);
        }
        if (C::STAGES == 1) gpu_block_sync();
        if (more && !C::EARLY) next.load(stages + to * STAGE, stats + to * 2 * COLS, a, next_head, next_col, wide);
        if (more && C::EARLY) next.end(stages + to * STAGE, stats + to * 2 * COLS, a, next_head, next_col, wide);
        stage = to, col = next_col, head = next_head;
    }
    gpu_block_sync();

    int rows = S - row;
    if (rows <= 0) return;
    int64_t at = row * a.ld + h * D;
    tile += wave_row * LD;
    if (C::DS_SUM) flash_emit<C, M>(sums.ds, a.scale, tile, (T *)(C::KEYS ? a.dk : a.dq) + at, a.ld, rows, D, wide);
    if (C::P_SUM) flash_emit<C, M>(sums.p, 1.0f, tile, (T *)a.dv + at, a.ld, rows, D, wide);
}

template <typename C>
GPU_KERNEL GPU_BOUNDS_MIN(C::THREADS, C::BLOCKS) flash_gradients(struct tt_flash_backward_args a, bool wide)
{
    if constexpr (C::WAVE == GPU_WAVE) flash_gradients_block<C>(a, wide);
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

/* dK and dV, by one kernel or by two, then dQ. */
template <typename Shape, bool APART = false>
static gpu_error flash_gradients_both(const struct tt_flash_backward_args *a, gpu_stream s)
{
    gpu_error e;
    if constexpr (APART) {
        e = flash_gradients_launch<flash_side<Shape, true, true, false>>(a, s);
        if (!e) e = flash_gradients_launch<flash_side<Shape, true, false, true>>(a, s);
    } else {
        e = flash_gradients_launch<flash_side<Shape, true, true, true>>(a, s);
    }
    return e ? e : flash_gradients_launch<flash_side<Shape, false, false, true>>(a, s);
}

/* ---- shapes, as in flash.cu ---- */

template <typename T> static gpu_error flash_backward_by_64(const struct tt_flash_backward_args *a, gpu_stream s)
{
    if (a->D <= 32) return flash_gradients_both<flash_registers<T, 32, 64, 128, 64, 256, true, 2>>(a, s);
    if (a->D <= 64) return flash_gradients_both<flash_registers<T, 64, 64, 128, 64, 256, true, 2>>(a, s);
    if (a->D <= 96) return flash_gradients_both<flash_registers<T, 96, 64, 128, 64, 256, true, 1>>(a, s);
    if (a->D <= 128) return flash_gradients_both<flash_registers<T, 128, 64, 64, 32, 256, true, 2>>(a, s);
    return flash_gradients_both<flash_registers<T, 256, 64, 32, 16, 128, true, 2>>(a, s);
}
template <typename T> static gpu_error flash_backward_by_32(const struct tt_flash_backward_args *a, gpu_stream s)
{
    if (a->D <= 32) return flash_gradients_both<flash_registers<T, 32, 32, 64, 64, 128, false, 2>>(a, s);
    if (a->D <= 64) return flash_gradients_both<flash_registers<T, 64, 32, 64, 32, 128, false, 2>>(a, s);
    if (a->D <= 96) return flash_gradients_both<flash_registers<T, 96, 32, 64, 16, 128, false, 2>>(a, s);
    if (a->D <= 128) return flash_gradients_both<flash_registers<T, 128, 32, 64, 16, 128, false, 2>>(a, s);
    return flash_gradients_both<flash_shape<T, 256, 32, 32, 16, 64, 1, false, false, 4, 16>, true>(a, s);
}
template <typename T>
static gpu_error flash_backward_by_background(const struct tt_flash_backward_args *a, gpu_stream s)
{
    size_t limit = (size_t)gpu_shared_limit();
    if (a->D <= 32) return flash_gradients_both<flash_background<T, 32, 64, 64>>(a, s);
    if (a->D <= 64) return flash_gradients_both<flash_background<T, 64, 64, 64>>(a, s);
    if (a->D <= 96) return flash_gradients_both<flash_background<T, 96, 64, 32>>(a, s);
    if (a->D <= 128)
        return limit >= (72 << 10) ? flash_gradients_both<flash_background<T, 128, 64, 32>>(a, s)
                                   : flash_gradients_both<flash_background<T, 128, 64, 16>>(a, s);
    return limit >= (136 << 10)
               ? flash_gradients_both<flash_background<T, 256, 64, 32>, true>(a, s)
               : flash_gradients_both<flash_shape<T, 256, GPU_GROUP, 32, 16, 64, 1, false, false, 4>, true>(a, s);
}

template <typename T> static gpu_error flash_backward_tiles(const struct tt_flash_backward_args *a, gpu_stream s)
{
    if constexpr (GPU_COPY_HELD)
        return gpu_wave_width() > GPU_GROUP ? flash_backward_by_64<T>(a, s) : flash_backward_by_32<T>(a, s);
    else
        return flash_backward_by_background<T>(a, s);
}

#endif
