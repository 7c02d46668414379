/* Causal attention without S×S, forward, on matrix tiles.
 *
 * A block owns ROWS queries of one head, a wave 16·M of them. Tiles of COLS keys and values stream through shared
 * memory: while one is computed, the next is copied. Scores stay in registers: the layout of S = Q·K^T is that of P in
 * O += P·V. The lanes that hold a row keep its running maximum and sum; a new maximum rescales the sum and the output.
 * Exponentials are of base 2, with scale·log2(e) folded into the argument. The blocks with the most keys start first.
 *
 * A block begins at the tile of keys in which the document of its first query starts. */
#ifndef TT_GPU_FLASH_FORWARD_H
#define TT_GPU_FLASH_FORWARD_H

#include "backend/gpu/flash_tiles.h"

/* Shared memory: the rows of queries, reused for the output, and the buffers. If waves hold their rows in registers,
 * the buffers reuse the memory of the queries. */
template <typename C> GPU_BOTH constexpr size_t flash_bytes()
{
    constexpr int buffers = 2 * C::STAGES * C::COLS;
    return (size_t)(C::HOLD ? (buffers > C::ROWS ? buffers : C::ROWS) : C::ROWS + buffers) * C::LD *
           sizeof(typename C::T);
}

/* The state of a wave's queries. */
template <int M, int DP> struct flash_rows {
    gpu_tile_c o[M][DP / 16];
    float top[M][GPU_TILE_ROWS], sum[M][GPU_TILE_ROWS]; /* maximum of unscaled scores; this lane's part of the sum */
};

/* Scores become e^(scale·(score - maximum)); sums and outputs are rescaled to the new maximum. c = scale·log2(e). */
template <int M, int DP, int TILES>
GPU_DEVICE void flash_softmax(gpu_tile_c (&s)[M][TILES], flash_rows<M, DP> &w, float c)
{
    GPU_UNROLL
    for (int m = 0; m < M; m++) {
        float top[GPU_TILE_ROWS], shift[GPU_TILE_ROWS], factor[GPU_TILE_ROWS];
        GPU_UNROLL
        for (int r = 0; r < GPU_TILE_ROWS; r++) top[r] = w.top[m][r];
        GPU_UNROLL
        for (int n = 0; n < TILES; n++)
            gpu_tile_each_slot(s[m][n], [&](int r, int, int, float &x) { top[r] = gpu_max(top[r], x); });
        GPU_UNROLL
        for (int r = 0; r < GPU_TILE_ROWS; r++) {
            top[r] = gpu_tile_row_max(top[r]);
            shift[r] = flash_shift(top[r], c);
            factor[r] = gpu_exp2_fast(w.top[m][r] * c - shift[r]);
            w.top[m][r] = top[r];
            w.sum[m][r] *= factor[r];
        }
        GPU_UNROLL
        for (int n = 0; n < TILES; n++)
            gpu_tile_each_slot(s[m][n], [&](int r, int, int, float &x) {
                x = gpu_exp2_fast(gpu_fma(x, c, -shift[r]));
                w.sum[m][r] += x;
            });
        GPU_UNROLL
        for (int d = 0; d < DP / 16; d++)
            gpu_tile_each_slot(w.o[m][d], [&](int r, int, int, float &x) { x *= factor[r]; });
    }
}

/* Divides by the sums and writes the wave's rows, through its own rows of the query tile in shared memory. */
template <typename T, int M, int DP>
GPU_DEVICE void flash_finish(flash_rows<M, DP> &w, T *tile, T *o, float *lse, const struct tt_flash_args &a, int count,
                             bool wide)
{
    constexpr int LD = flash_ld<T>(DP);
    float c = a.scale * FLASH_LOG2E;
    GPU_UNROLL
    for (int m = 0; m < M; m++) {
        float inverse[GPU_TILE_ROWS];
        GPU_UNROLL
        for (int r = 0; r < GPU_TILE_ROWS; r++) {
            w.sum[m][r] = gpu_tile_row_sum(w.sum[m][r]);
            inverse[r] = gpu_divide(1.0f, w.sum[m][r]);
        }
        gpu_tile_each_slot(w.o[m][0], [&](int r, int row, int col, float &) {
            if (col == 0 && m * 16 + row < count)
                lse[m * 16 + row] = w.top[m][r] * c * FLASH_LN2 + gpu_log(w.sum[m][r]);
        });
        GPU_UNROLL
        for (int d = 0; d < DP / 16; d++) {
            gpu_tile_each_slot(w.o[m][d], [&](int r, int, int, float &x) { x *= inverse[r]; });
            gpu_tile_store(tile + m * 16 * LD + d * 16, LD, w.o[m][d]);
        }
    }
    gpu_wave_sync();
    flash_store<T, M * 16, DP>(o, a.heads * a.D, tile, count, (int)a.D, wide, a.amax);
    if (a.codes) flash_codes<T, M * 16, DP>(a, o - (T *)a.o, tile, count);
}

/* The copy of a tile of keys and values, from `key` on, to a stage. */
template <typename C> struct flash_stream {
    typedef typename C::T T;
    flash_copy<T, C::COLS, C::DP, C::THREADS> k, v;
    const T *k_rows, *v_rows; /* of the sequence and head */
    int64_t ld;
    int S, D;
    bool wide;

    GPU_MEMBER void begin(T *stage, int key)
    {
        k.begin(stage, k_rows + key * ld, ld, S - key, D, wide);
        v.begin(stage + C::COLS * C::LD, v_rows + key * ld, ld, S - key, D, wide);
        gpu_copy_commit();
    }
    GPU_MEMBER void end(T *stage, int key)
    {
        k.end(stage, k_rows + key * ld, ld, S - key, D, wide);
        v.end(stage + C::COLS * C::LD, v_rows + key * ld, ld, S - key, D, wide);
        gpu_copy_wait<0>();
    }
};

/* A tile of keys and values against the wave's queries, which begin at `row`. */
template <typename C>
GPU_DEVICE void flash_tile(flash_rows<C::M, C::DP> &w, const flash_own<C> &q, const typename C::T *stage, int key,
                           int row, float c, const flash_bounds<C> &starts)
{
    constexpr int M = C::M, TILES = C::COLS / 16;
    gpu_tile_c s[M][TILES];
    flash_product<C, TILES>(s, q, stage);
    if (key + C::COLS - 1 > row) {
        GPU_UNROLL
        for (int m = 0; m < M; m++)
            GPU_UNROLL
            for (int n = 0; n < TILES; n++)
                gpu_tile_each(s[m][n], [&](int i, int j, float &x) {
                    if (key + n * 16 + j > row + m * 16 + i) x = -GPU_INFINITY;
                });
    }
    if (key < starts.most) {
        GPU_UNROLL
        for (int m = 0; m < M; m++) {
            int first[GPU_TILE_ROWS];
            GPU_UNROLL
            for (int r = 0; r < GPU_TILE_ROWS; r++) first[r] = starts.each.bound(m * 16 + gpu_tile_row_of(r)) - key;
            GPU_UNROLL
            for (int n = 0; n < TILES; n++)
                gpu_tile_each_slot(s[m][n], [&](int r, int, int j, float &x) {
                    if (n * 16 + j < first[r]) x = -GPU_INFINITY;
                });
        }
    }
    flash_softmax<M, C::DP, TILES>(s, w, c);
    flash_accumulate<C, TILES>(w.o, s, stage + C::COLS * C::LD);
}

template <typename C> GPU_DEVICE void flash_forward_block(const struct tt_flash_args &a, bool wide)
{
    typedef typename C::T T;
    constexpr int LD = C::LD, M = C::M, ROWS = C::ROWS, COLS = C::COLS;
    static_assert(C::EARLY, "the next tile is copied during this one");
    GPU_DYNAMIC_SHARED(shared);
    T *queries = (T *)shared, *stages = C::HOLD ? queries : queries + ROWS * LD;

    int S = (int)a.S, D = (int)a.D, first = (int)((a.S - 1) / ROWS - gpu_block_y()) * ROWS;
    int heads = (int)a.heads, b = (int)gpu_block_x() / heads, h = (int)gpu_block_x() % heads; /* a grid fits an int */
    int64_t kv_rows = (int64_t)b * S * a.ld + h / (heads / (int)a.kv_heads) * D;
    int end = first + ROWS < S ? first + ROWS : S;
    flash_stream<C> next;
    next.k_rows = (const T *)a.k + kv_rows, next.v_rows = (const T *)a.v + kv_rows;
    next.ld = a.ld, next.S = S, next.D = D, next.wide = wide;

    const T *q_rows = (const T *)a.q + ((int64_t)b * S + first) * a.ld + h * D;
    flash_load<T, ROWS, C::DP, C::THREADS>(queries, q_rows, a.ld, S - first, D, wide);
    int wave_row = gpu_wave() * M * 16, row = first + wave_row;
    flash_own<C> q;
    if (C::HOLD) gpu_copy_commit(), gpu_copy_wait<0>(), gpu_block_sync();
    q.take(queries + wave_row * LD);
    if (C::HOLD) gpu_block_sync();
    auto start = [&](int query) { return flash_bound(a.starts, 0, b, S, query); };
    flash_bounds<C> starts = {start(row), start(row + M * 16 - 1), {queries}};
    starts.each.put(ROWS, a.starts, 0, a.starts, b, S, first);
    starts.each.tile += wave_row * LD;
    int begin = start(first) / COLS * COLS;
    next.begin(stages, begin);
    float c = a.scale * FLASH_LOG2E;
    flash_rows<M, C::DP> w;
    GPU_UNROLL
    for (int m = 0; m < M; m++) {
        GPU_UNROLL
        for (int r = 0; r < GPU_TILE_ROWS; r++) w.top[m][r] = -GPU_INFINITY, w.sum[m][r] = 0.0f;
        GPU_UNROLL
        for (int d = 0; d < C::DP / 16; d++) gpu_tile_fill(w.o[m][d], 0.0f);
    }
    next.end(stages, begin);
    gpu_block_sync();

    for (int key = begin, now = 0; key < end; key += COLS) {
        bool more = key + COLS < end;
        const T *stage = stages + now * C::STAGE;
        now = C::STAGES > 1 ? now ^ 1 : 0;
        T *next_stage = stages + now * C::STAGE;
        if (more) next.begin(next_stage, key + COLS);
        bool before = key + COLS <= starts.least; /* every document of the rows */
        if (key < row + M * 16 && !before)
            flash_tile<C>(w, q, stage, key, row, c, starts);
        if (C::STAGES == 1) gpu_block_sync();
        if (more) next.end(next_stage, key + COLS);
        gpu_block_sync();
    }
    int count = S - row;
    if (count <= 0) return;
    flash_finish<T, M, C::DP>(w, queries + wave_row * LD, (T *)a.o + (((int64_t)b * S + row) * heads + h) * D,
                              a.lse + gpu_block_x() * S + row, a, count, wide);
}

template <typename C>
GPU_KERNEL GPU_BOUNDS_MIN(C::THREADS, C::BLOCKS) flash_forward(struct tt_flash_args a, bool wide)
{
    if constexpr (C::WAVE == GPU_WAVE) flash_forward_block<C>(a, wide);
}

template <typename C> static gpu_error flash_launch(const struct tt_flash_args *a, gpu_stream s)
{
    bool wide = flash_wide(a->q, a->ld, a->D, sizeof(typename C::T)) && gpu_aligned(a->k) && gpu_aligned(a->v) &&
                gpu_aligned(a->o);
    size_t bytes = flash_bytes<C>();
    gpu_error e = gpu_allow_shared(flash_forward<C>, bytes);
    gpu_grid grid((unsigned)(a->B * a->heads), (unsigned)gpu_divide_up(a->S, C::ROWS));
    return e ? e : GPU_LAUNCH(flash_forward<C>, grid, C::THREADS, bytes, s, *a, wide);
}

#endif
