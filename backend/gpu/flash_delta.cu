/* delta, the row sums of do·o: the first kernel of every attention backward. It can also make the transposed codes of
 * the o that it reads. */
#include "backend/gpu/flash.h"
#include "backend/gpu/fp8_tile.h"
#include "backend/gpu/launch.h"

/* Where the sum of token t goes. */
GPU_DEVICE float &delta_of(const struct tt_flash_backward_args &a, int64_t t, int64_t h)
{
    uint32_t b = (uint32_t)t / (uint32_t)a.S;
    return a.delta[(b * a.heads + h) * a.S + (t - b * a.S)];
}

/* `lanes` neighbouring lanes, a power of two, take one row of D. o and dout are (T, H, D), delta is (B, H, S). */
template <typename T, bool WIDE>
GPU_KERNEL GPU_BOUNDS(FP8_THREADS) flash_delta(struct tt_flash_backward_args a, int64_t rows, int lanes)
{
    int64_t row = (gpu_block_x() * FP8_THREADS + gpu_thread()) / lanes;
    int lane = gpu_thread() % lanes;
    const T *o = (const T *)a.o + row * a.D, *dout = (const T *)a.dout + row * a.D;
    float sum = 0.0f;
    if (row < rows) {
        if constexpr (WIDE) {
            constexpr int N = gpu_vec<T>::n;
            for (int64_t d = lane * N; d < a.D; d += lanes * N) {
                gpu_vec<T> x = gpu_vec_load(o + d), y = gpu_vec_load(dout + d);
                GPU_UNROLL
                for (int i = 0; i < N; i++) sum = gpu_fma(x.v[i], y.v[i], sum);
            }
        } else {
            for (int64_t d = lane; d < a.D; d += lanes) sum = gpu_fma(gpu_to_float(o[d]), gpu_to_float(dout[d]), sum);
        }
    }
    for (int mask = lanes / 2; mask > 0; mask /= 2) sum += gpu_shfl_xor(sum, mask);
    if (row < rows && lane == 0) delta_of(a, row / a.heads, row % a.heads) = sum;
}

static int lanes_for(int64_t pieces)
{
    int lanes = 1;
    while (lanes < pieces && lanes < GPU_GROUP) lanes *= 2;
    return lanes;
}

template <typename T> static gpu_error delta_launch(const struct tt_flash_backward_args *a, gpu_stream s)
{
    bool wide = flash_wide(a->o, a->D, a->D, sizeof(T)) && gpu_aligned(a->dout);
    int64_t rows = a->B * a->S * a->heads, pieces = wide ? a->D * (int64_t)sizeof(T) / 16 : a->D;
    int lanes = lanes_for(pieces);
    gpu_grid grid = gpu_grid_of(gpu_divide_up(rows * lanes, FP8_THREADS));
    if (wide) return GPU_LAUNCH(flash_delta<T, true>, grid, FP8_THREADS, 0, s, *a, rows, lanes);
    return GPU_LAUNCH(flash_delta<T, false>, grid, FP8_THREADS, 0, s, *a, rows, lanes);
}

/* ---- with the codes of o ----
 *
 * A block has SIDE tokens of one head, as a square of fp8_tile.h that may be narrower. `lanes` lanes are along a row as
 * above, with the same sums in the same order; each takes WIDTH columns of PATCH tokens. */

template <typename T, enum tt_dtype TO>
GPU_DEVICE void delta_patch(const struct tt_flash_backward_args &a, int64_t t, int64_t h, int lanes, place at,
                            float inverse, uint32_t *square)
{
    int64_t first = t + at.row, rows = a.B * a.S - first, ld = a.heads * a.D, from = first * ld + h * a.D + at.col;
    bool inside = rows > 0 && at.col < a.D;
    patch o, dout;
    float sum[PATCH] = {};
    if (inside) {
        uint32_t words[PATCH][2];
        load_vectors(o, (const T *)a.o + from, ld);
        load_vectors(dout, (const T *)a.dout + from, ld);
        GPU_UNROLL
        for (int r = 0; r < PATCH; r++) {
            GPU_UNROLL
            for (int i = 0; i < WIDTH; i++) sum[r] = gpu_fma(o.v[r][i], dout.v[r][i], sum[r]);
            GPU_UNROLL
            for (int w = 0; w < 2; w++) words[r][w] = gpu_fp8_codes4<TO>(o.v[r] + 4 * w, inverse);
        }
        store_columns(square, at, words);
    }
    GPU_UNROLL
    for (int r = 0; r < PATCH; r++) {
        for (int mask = lanes / 2; mask > 0; mask /= 2) sum[r] += gpu_shfl_xor(sum[r], mask);
        if (inside && at.col == 0) delta_of(a, first + r, h) = sum[r];
    }
}

template <typename T, enum tt_dtype TO>
GPU_KERNEL GPU_BOUNDS_MIN(FP8_THREADS, 3) flash_delta_codes(struct tt_flash_backward_args a, int lanes)
{
    GPU_SHARED uint32_t square[SIDE * COLUMN_WORDS];
    int64_t t = gpu_block_x() / a.heads * SIDE, h = gpu_block_x() % a.heads, tokens = a.B * a.S;
    float inverse = tt_fp8_inverse(*a.o_scale);
    for (int row = gpu_thread() / lanes * PATCH; row < SIDE; row += FP8_THREADS / lanes * PATCH)
        delta_patch<T, TO>(a, t, h, lanes, {row, gpu_thread() % lanes * WIDTH}, inverse, square);
    gpu_block_sync();
    uint8_t *codes = a.o_codes + h * a.D * tokens;
    for (int i = gpu_thread(); i < a.D * (SIDE / CHUNK); i += FP8_THREADS)
        store_chunk(codes, tokens, a.D, square, t, 0, i, true);
}

template <typename T> static gpu_error delta_codes_launch(const struct tt_flash_backward_args *a, gpu_stream s)
{
    gpu_grid grid = gpu_grid_of(gpu_divide_up(a->B * a->S, SIDE) * a->heads);
    int lanes = lanes_for(a->D / WIDTH);
    if (a->o_to == TT_E4M3) return GPU_LAUNCH((flash_delta_codes<T, TT_E4M3>), grid, FP8_THREADS, 0, s, *a, lanes);
    return GPU_LAUNCH((flash_delta_codes<T, TT_E4M3_FNUZ>), grid, FP8_THREADS, 0, s, *a, lanes);
}

/* Whether a square can take these: 16-bit numbers, aligned vectors of WIDTH, heads no wider than the square, and whole
 * chunks of tokens. */
static bool fits_square(const struct tt_flash_backward_args *a)
{
    return a->dtype != TT_F32 && a->D <= SIDE && flash_wide(a->o, a->D, a->D, 2) && gpu_aligned(a->dout) &&
           a->B * a->S % CHUNK == 0 && gpu_aligned(a->o_codes);
}

gpu_error flash_backward_delta(const struct tt_flash_backward_args *a, gpu_stream s)
{
    if (a->o_codes && fits_square(a))
        return a->dtype == TT_BF16 ? delta_codes_launch<gpu_bf16>(a, s) : delta_codes_launch<gpu_half>(a, s);
    gpu_error e = GPU_DISPATCH(a->dtype, T, delta_launch<T>(a, s));
    if (e || !a->o_codes) return e;
    struct tt_fp8_cast_args codes = {};
    codes.dtype = a->dtype, codes.to = a->o_to;
    codes.x = a->o, codes.scale = a->o_scale, codes.transposed = a->o_codes;
    codes.rows = a->B * a->S, codes.cols = codes.ldx = a->heads * a->D;
    return tt_gpu_fp8_cast(&codes, s);
}
