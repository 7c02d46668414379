/* Causal attention without S×S, forward, 16-bit types on matrix tiles.
 *
 * A block owns ROWS queries of one head, a wave 16·M of them. Tiles of KEYS keys and values stream through two buffers
 * of shared memory: while one is worked on, the copies of the next are under way. Scores stay in registers: S = Q·K^T
 * leaves in the layout in which P enters O += P·V. The running maximum and the sum of each query are kept by the lanes
 * that hold its row; what the sum was before a new maximum is rescaled. Exponentials are of base 2, with
 * scale·log2(e) folded into the argument. The blocks with the most keys start first. */
#include "backend/gpu/flash.h"
#include "gpu_mma.h"

template <typename T, int DP, int ROWS, int KEYS> GPU_BOTH constexpr size_t flash_bytes()
{
    return (size_t)(ROWS + 4 * KEYS) * flash_ld<T>(DP) * sizeof(T);
}

/* What a wave knows of its queries. */
template <int M, int DP> struct flash_rows {
    gpu_tile_c o[M][DP / 16];
    float top[M][GPU_TILE_ROWS], sum[M][GPU_TILE_ROWS]; /* of scores before scaling; this lane's part */
};

template <typename T, int M, int DP, int KEYS>
GPU_DEVICE void flash_scores(gpu_tile_c (&s)[M][KEYS / 16], const T *q, const T *k)
{
    constexpr int LD = flash_ld<T>(DP);
    GPU_UNROLL
    for (int m = 0; m < M; m++)
        GPU_UNROLL
        for (int n = 0; n < KEYS / 16; n++) gpu_tile_fill(s[m][n], 0.0f);
    GPU_UNROLL
    for (int d = 0; d < DP; d += 16) {
        gpu_tile_a<T> a[M];
        GPU_UNROLL
        for (int m = 0; m < M; m++) gpu_tile_load(a[m], q + m * 16 * LD + d, LD);
        GPU_UNROLL
        for (int n = 0; n < KEYS / 16; n++) {
            gpu_tile_b<T> b;
            gpu_tile_load_transposed(b, k + n * 16 * LD + d, LD);
            GPU_UNROLL
            for (int m = 0; m < M; m++) gpu_tile_mma(s[m][n], a[m], b);
        }
    }
}

/* Scores become e^(scale·(score - maximum)); sums and outputs follow the new maximum. c = scale·log2(e). */
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
            shift[r] = top[r] * c;
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

template <typename T, int M, int DP, int KEYS>
GPU_DEVICE void flash_values(flash_rows<M, DP> &w, const gpu_tile_c (&p)[M][KEYS / 16], const T *v)
{
    constexpr int LD = flash_ld<T>(DP);
    GPU_UNROLL
    for (int n = 0; n < KEYS / 16; n++) {
        gpu_tile_a<T> a[M];
        GPU_UNROLL
        for (int m = 0; m < M; m++) gpu_tile_round(a[m], p[m][n]);
        GPU_UNROLL
        for (int d = 0; d < DP / 16; d++) {
            gpu_tile_b<T> b;
            gpu_tile_load(b, v + n * 16 * LD + d * 16, LD);
            GPU_UNROLL
            for (int m = 0; m < M; m++) gpu_tile_mma(w.o[m][d], a[m], b);
        }
    }
}

/* Divides by the sums and writes the wave's rows, through its own rows of the tile of queries. */
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
    flash_store<T, M * 16, DP>(o, a.heads * a.D, tile, count, (int)a.D, wide);
}

template <typename T, int DP, int ROWS, int KEYS, int THREADS>
GPU_KERNEL GPU_BOUNDS_MIN(THREADS, 256 / THREADS) flash_forward(struct tt_flash_args a, bool wide)
{
    constexpr int LD = flash_ld<T>(DP), M = ROWS / 16 / (THREADS / GPU_WAVE), TILES = KEYS / 16;
    GPU_DYNAMIC_SHARED(shared);
    T *queries = (T *)shared, *stages = queries + ROWS * LD;

    int S = (int)a.S, D = (int)a.D, first = (int)((a.S - 1) / ROWS - gpu_block_y()) * ROWS;
    int64_t b = gpu_block_x() / a.heads, h = gpu_block_x() % a.heads, kv = h / (a.heads / a.kv_heads);
    int64_t kv_rows = b * S * a.ld + kv * D;
    int tiles = ((first + ROWS < S ? first + ROWS : S) + KEYS - 1) / KEYS;
    auto fetch = [&](int t) {
        T *to = stages + t % 2 * 2 * KEYS * LD;
        int64_t at = kv_rows + (int64_t)t * KEYS * a.ld;
        flash_load<T, KEYS, DP, THREADS>(to, (const T *)a.k + at, a.ld, S - t * KEYS, D, wide);
        flash_load<T, KEYS, DP, THREADS>(to + KEYS * LD, (const T *)a.v + at, a.ld, S - t * KEYS, D, wide);
        gpu_copy_commit();
    };

    const T *q_rows = (const T *)a.q + (b * S + first) * a.ld + h * D;
    flash_load<T, ROWS, DP, THREADS>(queries, q_rows, a.ld, S - first, D, wide);
    fetch(0);
    int wave_row = gpu_wave() * M * 16, row = first + wave_row;
    T *q = queries + wave_row * LD;
    float c = a.scale * FLASH_LOG2E;
    flash_rows<M, DP> w;
    GPU_UNROLL
    for (int m = 0; m < M; m++) {
        GPU_UNROLL
        for (int r = 0; r < GPU_TILE_ROWS; r++) w.top[m][r] = -GPU_INFINITY, w.sum[m][r] = 0.0f;
        GPU_UNROLL
        for (int d = 0; d < DP / 16; d++) gpu_tile_fill(w.o[m][d], 0.0f);
    }
    gpu_copy_wait<0>();
    gpu_block_sync();

    for (int t = 0; t < tiles; t++) {
        if (t + 1 < tiles) fetch(t + 1);
        int key = t * KEYS;
        const T *stage = stages + t % 2 * 2 * KEYS * LD;
        if (key < row + M * 16) { /* the first tile is seen by every row: no maximum stays infinite */
            gpu_tile_c s[M][TILES];
            flash_scores<T, M, DP, KEYS>(s, q, stage);
            if (key + KEYS - 1 > row) {
                GPU_UNROLL
                for (int m = 0; m < M; m++)
                    GPU_UNROLL
                    for (int n = 0; n < TILES; n++)
                        gpu_tile_each(s[m][n], [&](int i, int j, float &x) {
                            if (key + n * 16 + j > row + m * 16 + i) x = -GPU_INFINITY;
                        });
            }
            flash_softmax<M, DP, TILES>(s, w, c);
            flash_values<T, M, DP, KEYS>(w, s, stage + KEYS * LD);
        }
        gpu_copy_wait<0>();
        gpu_block_sync();
    }
    int count = S - row;
    if (count <= 0) return;
    flash_finish<T, M, DP>(w, q, (T *)a.o + ((b * S + row) * a.heads + h) * D, a.lse + (b * a.heads + h) * S + row, a,
                           count, wide);
}

template <typename T, int DP, int ROWS, int KEYS, int THREADS>
static gpu_error flash_launch(const struct tt_flash_args *a, gpu_stream s)
{
    bool wide = flash_wide(a->q, a->ld, a->D, sizeof(T)) && gpu_aligned(a->k) && gpu_aligned(a->v) && gpu_aligned(a->o);
    size_t bytes = flash_bytes<T, DP, ROWS, KEYS>();
    gpu_error e = gpu_allow_shared(flash_forward<T, DP, ROWS, KEYS, THREADS>, bytes);
    gpu_grid grid((unsigned)(a->B * a->heads), (unsigned)gpu_divide_up(a->S, ROWS));
    return e ? e : GPU_LAUNCH(flash_forward<T, DP, ROWS, KEYS, THREADS>, grid, THREADS, bytes, s, *a, wide);
}

/* Tile sizes fill the registers; the second of a size is for chips with 64 KiB of shared memory. */
template <typename T> static gpu_error flash_choose(const struct tt_flash_args *a, gpu_stream s)
{
    size_t limit = (size_t)gpu_shared_limit();
    if (a->D <= 32) return flash_launch<T, 32, 128, 64, 128>(a, s);
    if (a->D <= 64) return flash_launch<T, 64, 128, 64, 128>(a, s);
    if (a->D <= 96) return flash_launch<T, 96, 128, 32, 128>(a, s);
    if (a->D <= 128)
        return flash_bytes<T, 128, 128, 32>() <= limit ? flash_launch<T, 128, 128, 32, 128>(a, s)
                                                       : flash_launch<T, 128, 64, 32, 128>(a, s);
    return flash_bytes<T, 256, 64, 32>() <= limit ? flash_launch<T, 256, 64, 32, 128>(a, s)
                                                  : flash_launch<T, 256, 32, 16, 64>(a, s);
}

gpu_error tt_gpu_flash(const struct tt_flash_args *a, gpu_stream s)
{
    if (!flash_supported(a->S, a->heads, a->kv_heads, a->D)) return FLASH_UNSUPPORTED;
    if (a->dtype == TT_F32) return flash_f32(a, s);
    return a->dtype == TT_BF16 ? flash_choose<gpu_bf16>(a, s) : flash_choose<gpu_half>(a, s);
}
