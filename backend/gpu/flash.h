/* Shared by the flash attention kernels.
 *
 * A tile is ROWS rows of one head in shared memory. Its rows are padded twice: with zeros from D to DP, one of the head
 * sizes that kernels are compiled for; and by 16 bytes, so that eight rows at the same column are in different banks.
 * Rows beyond the end of the sequence are zero too. */
#ifndef TT_GPU_FLASH_H
#define TT_GPU_FLASH_H

#include "backend/gpu/amax.h"
#include "backend/gpu/fp8.h"

#define FLASH_NO_UNROLL _Pragma("unroll 1")
#define FLASH_UNROLL_TWICE _Pragma("unroll 2")

#define FLASH_LOG2E 1.4426950408889634f
#define FLASH_LN2 0.6931471805599453f

enum {
    FLASH_UNSUPPORTED = 1, /* cudaErrorInvalidValue, hipErrorInvalidValue */
    FLASH_D_MAX = TT_GPU_FLASH_HEAD,
};

/* The variants of tt_gpu_flash and tt_gpu_flash_backward; in files of their own, because they take long to compile. */
gpu_error flash_f32(const struct tt_flash_args *a, gpu_stream s);
gpu_error flash_tf32(const struct tt_flash_args *a, gpu_stream s); /* fp32 if matrix tiles do not take floats */
gpu_error flash_backward_f32(const struct tt_flash_backward_args *a, gpu_stream s); /* these four need delta */
gpu_error flash_backward_tf32(const struct tt_flash_backward_args *a, gpu_stream s);
gpu_error flash_backward_bf16(const struct tt_flash_backward_args *a, gpu_stream s);
gpu_error flash_backward_f16(const struct tt_flash_backward_args *a, gpu_stream s);
/* delta: the row sums of do·o. The first kernel of every backward pass. */
gpu_error flash_backward_delta(const struct tt_flash_backward_args *a, gpu_stream s);

/* ---- host ---- */

static inline bool flash_supported(int64_t S, int64_t heads, int64_t kv_heads, int64_t D)
{
    return D >= 2 && D <= FLASH_D_MAX && D % 2 == 0 && S <= INT32_MAX / 2 && kv_heads > 0 && heads % kv_heads == 0;
}

/* Whether rows of D elements can be copied 16 bytes at a time: rows at p with stride ld, and each head in them. */
static inline bool flash_wide(const void *p, int64_t ld, int64_t D, size_t size)
{
    return gpu_aligned_rows(p, ld, size) && (size_t)D * size % 16 == 0;
}

/* ---- device ---- */

template <typename T> GPU_BOTH constexpr int flash_ld(int DP) { return DP + 16 / (int)sizeof(T); }

/* The shift that is subtracted from the scores of a row, given its maximum so far; 0 while it has seen no key of its
 * document. */
GPU_DEVICE float flash_shift(float top, float c) { return top == -GPU_INFINITY ? 0.0f : top * c; }

/* ---- documents: which keys a query sees, and which queries see a key ----
 *
 * The bound of a row is the start of its document if it is a query, and the end if it is a key. Without documents there
 * is a single one, from 0 to S. Rows beyond the end of the sequence count as its last row. */
GPU_DEVICE int flash_bound(const int32_t *of, int without, int64_t b, int S, int row)
{
    return of ? of[b * S + (row < S ? row : S - 1)] : without;
}

/* The bounds of a block's rows, and the starts of their documents, are in the padding of the rows' tile. */
template <typename T, int DP> struct flash_padding {
    T *tile;
    GPU_MEMBER int32_t *of(int row) const { return (int32_t *)(tile + row * flash_ld<T>(DP) + DP); }
    GPU_MEMBER int bound(int row) const { return of(row)[0]; }
    GPU_MEMBER int start(int row) const { return of(row)[1]; }
    /* By the whole block, for `rows` rows from `first` on; the caller synchronises it. */
    GPU_MEMBER void put(int rows, const int32_t *bounds, int without, const int32_t *starts, int64_t b, int S,
                        int first) const
    {
        for (int r = gpu_thread(); r < rows; r += gpu_threads()) {
            of(r)[0] = flash_bound(bounds, without, b, S, first + r);
            of(r)[1] = flash_bound(starts, 0, b, S, first + r);
        }
    }
};

/* Copies `count` rows of D elements with stride ld to tile (ROWS, DP), by the whole block, in two steps: between begin
 * and end the bytes are in flight. `end` needs the memory of the tile to be free; `begin` too, unless copies are held
 * in registers (GPU_COPY_HELD). The caller waits and synchronises the block. */
template <typename T, int ROWS, int DP, int THREADS> struct flash_copy {
    static constexpr int N = 16 / (int)sizeof(T), PER_ROW = DP / N, PIECES = ROWS * PER_ROW, LD = flash_ld<T>(DP);
    static constexpr int EACH = (PIECES + THREADS - 1) / THREADS;
    static constexpr bool STRAIGHT = THREADS % PER_ROW == 0; /* all pieces of a thread are in one column */
    static constexpr int STEP = THREADS / PER_ROW;
    gpu_copy16 copies[EACH];

    GPU_MEMBER void begin(T *tile, const T *rows, int64_t ld, int count, int D, bool wide)
    {
        if (!wide && !GPU_COPY_HELD) singly(tile, rows, ld, count, D);
        if (wide) begin_some<0, EACH>(tile, rows, ld, count, D);
    }
    GPU_MEMBER void end(T *tile, const T *rows, int64_t ld, int count, int D, bool wide)
    {
        if (!wide && GPU_COPY_HELD) singly(tile, rows, ld, count, D);
        if (wide && GPU_COPY_HELD) end_some<0, EACH>(tile);
    }
    /* begin and end together, with few registers. */
    static GPU_MEMBER void load(T *tile, const T *rows, int64_t ld, int count, int D, bool wide)
    {
        if (!wide) return singly(tile, rows, ld, count, D);
        load_from<0>(tile, rows, ld, count, D);
    }

  private:
    /* f(i, row, column) for the i-th pieces of this thread from FROM to TO */
    template <int FROM, int TO, typename F> static GPU_MEMBER void pieces(F f)
    {
        GPU_UNROLL
        for (int i = FROM; i < TO; i++) {
            int piece = gpu_thread() + i * THREADS, r = STRAIGHT ? gpu_thread() / PER_ROW + i * STEP : piece / PER_ROW;
            if (PIECES % THREADS == 0 || piece < PIECES) f(i, r, (STRAIGHT ? gpu_thread() : piece) % PER_ROW * N);
        }
    }
    template <int FROM, int TO>
    GPU_MEMBER void begin_some(T *tile, const T *rows, int64_t ld, int count, int D)
    {
        if constexpr (STRAIGHT) { /* advance a pointer: computing each address would take more registers */
            int first = gpu_thread() / PER_ROW + FROM * STEP, column = gpu_thread() % PER_ROW * N;
            int left = column < D ? count - first : 0;
            tile += first * LD + column, rows += first * ld + column;
            pieces<FROM, TO>([&](int i, int, int) {
                copies[i].begin(tile + (i - FROM) * STEP * LD, rows, (i - FROM) * STEP < left);
                rows += STEP * ld;
            });
        } else {
            pieces<FROM, TO>([&](int i, int r, int x) {
                copies[i].begin(tile + r * LD + x, rows + r * ld + x, r < count && x < D);
            });
        }
    }
    template <int FROM, int TO> GPU_MEMBER void end_some(T *tile)
    {
        pieces<FROM, TO>([&](int i, int r, int x) { copies[i].end(tile + r * LD + x); });
    }
    template <int FROM> static GPU_MEMBER void load_from(T *tile, const T *rows, int64_t ld, int count, int D)
    {
        constexpr int TO = FROM + 4 < EACH ? FROM + 4 : EACH;
        flash_copy copy;
        copy.template begin_some<FROM, TO>(tile, rows, ld, count, D);
        copy.template end_some<FROM, TO>(tile);
        gpu_fetch_fence();
        if constexpr (TO < EACH) load_from<TO>(tile, rows, ld, count, D);
    }
    static GPU_MEMBER void singly(T *tile, const T *rows, int64_t ld, int count, int D)
    {
        FLASH_NO_UNROLL
        for (int i = gpu_thread(); i < ROWS * DP; i += THREADS) {
            int r = i / DP, x = i % DP;
            tile[r * LD + x] = r < count && x < D ? rows[r * ld + x] : gpu_from_float<T>(0.0f);
        }
    }
};
template <typename T, int ROWS, int DP, int THREADS>
GPU_DEVICE void flash_load(T *tile, const T *rows, int64_t ld, int count, int D, bool wide)
{
    flash_copy<T, ROWS, DP, THREADS>::load(tile, rows, ld, count, D, wide);
}

/* `amax` of the first `count` rows of a tile, by one wave. */
template <typename T, int ROWS, int DP>
GPU_DEVICE void flash_amax(float *amax, const T *tile, int count, int D)
{
    constexpr int N = gpu_vec<T>::n, PER_ROW = DP / N, LD = flash_ld<T>(DP);
    uint32_t most = 0;
    FLASH_NO_UNROLL
    for (int piece = gpu_lane(); piece < ROWS * PER_ROW; piece += GPU_WAVE) {
        int r = piece / PER_ROW, x = piece % PER_ROW * N;
        gpu_vec<T> v = gpu_vec_load(tile + r * LD + x);
        GPU_UNROLL
        for (int i = 0; i < N; i++)
            if (r < count && x + i < D) most = gpu_most(most, v.v[i]);
    }
    gpu_wave_amax<T>(amax, most);
}

/* Copies `count` rows of D elements from a tile to rows with stride ld, by one wave. amax: of these, or NULL. */
template <typename T, int ROWS, int DP>
GPU_DEVICE void flash_store(T *rows, int64_t ld, const T *tile, int count, int D, bool wide, float *amax)
{
    constexpr int N = 16 / (int)sizeof(T), PER_ROW = DP / N, LD = flash_ld<T>(DP);
    if (amax) flash_amax<T, ROWS, DP>(amax, tile, count, D);
    if (wide) {
        for (int piece = gpu_lane(); piece < ROWS * PER_ROW; piece += GPU_WAVE) {
            int r = piece / PER_ROW, x = piece % PER_ROW * N;
            if (r < count && x < D) gpu_store16(rows + r * ld + x, gpu_load16(tile + r * LD + x));
        }
        return;
    }
    FLASH_NO_UNROLL
    for (int i = gpu_lane(); i < ROWS * DP; i += GPU_WAVE) {
        int r = i / DP, x = i % DP;
        if (r < count && x < D) rows[r * ld + x] = tile[r * LD + x];
    }
}


/* ---- 8-bit codes of o, as fp8_cast makes them ---- */

/* The codes of two neighbouring numbers. Head sizes are even, so no pair is split. */
GPU_DEVICE void flash_code_pair(const struct tt_flash_args &a, int64_t at, float x, float y, float inverse)
{
    const float v[2] = {x, y};
    *(uint16_t *)(a.codes + at) = (uint16_t)(a.to == TT_E4M3 ? gpu_fp8_codes2<TT_E4M3>(v, inverse)
                                                             : gpu_fp8_codes2<TT_E4M3_FNUZ>(v, inverse));
}

/* The codes of the first `count` rows of a tile, by one wave; `at`: where the first row begins in o. */
template <typename T, int ROWS, int DP>
GPU_DEVICE void flash_codes(const struct tt_flash_args &a, int64_t at, const T *tile, int count)
{
    constexpr int PAIRS = DP / 2, LD = flash_ld<T>(DP);
    float inverse = tt_fp8_inverse(*a.code_scale);
    FLASH_NO_UNROLL
    for (int i = gpu_lane(); i < ROWS * PAIRS; i += GPU_WAVE) {
        int r = i / PAIRS, x = i % PAIRS * 2;
        const T *pair = tile + r * LD + x;
        if (r < count && x < a.D)
            flash_code_pair(a, at + r * a.heads * a.D + x, gpu_to_float(pair[0]), gpu_to_float(pair[1]), inverse);
    }
}

#endif
