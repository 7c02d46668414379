/* The backward pass of SwiGLU with 8-bit results: the codes of the gradient of gate and up, as it is and transposed,
 * and those of h, transposed. None of them is in memory in another form. A thread keeps the codes of its patches, and
 * the three matrices take turns in one square of shared memory. */
#include "backend/gpu/activation.h"
#include "backend/gpu/fp8_tile.h"

enum { GATE, UP, HIDDEN, RESULTS };

struct glu_codes {
    uint32_t words[RESULTS][PATCH][2];
};

/* The codes of x as it would be read from memory. */
template <typename T, enum tt_dtype TO> GPU_DEVICE void pack_row(uint32_t *codes, float *x, float inverse)
{
    GPU_UNROLL
    for (int i = 0; i < WIDTH; i++) x[i] = gpu_to_float(gpu_from_float<T>(x[i]));
    GPU_UNROLL
    for (int w = 0; w < 2; w++) codes[w] = pack4<TO>(x + 4 * w, inverse);
}

template <typename T> GPU_DEVICE void load_row(float *x, const T *p)
{
    constexpr int N = gpu_vec<T>::n;
    GPU_UNROLL
    for (int k = 0; k < WIDTH / N; k++) {
        gpu_vec<T> v = gpu_vec_load(p + k * N);
        GPU_UNROLL
        for (int i = 0; i < N; i++) x[k * N + i] = v.v[i];
    }
}

/* A patch at (r0, c0) of the hidden values; dgu's codes as they are go to memory at once. */
template <typename T, enum tt_dtype TO, enum tt_dtype TO_H>
GPU_DEVICE void glu_patch(const struct tt_fp8_swiglu_backward_args &a, int64_t r0, int64_t c0, float inverse,
                          float inverse_h, glu_codes &codes)
{
    if (r0 >= a.rows || c0 >= a.F) return;
    int64_t line = r0 * 2 * a.F + c0; /* of gate, and of its codes */
    const T *h = (const T *)a.dh + r0 * a.F + c0;
    GPU_UNROLL
    for (int r = 0; r < PATCH; r++, line += 2 * a.F, h += a.F) {
        float gate[WIDTH], up[WIDTH], dh[WIDTH];
        load_row(gate, (const T *)a.gu + line);
        load_row(up, (const T *)a.gu + line + a.F);
        load_row(dh, h);
        GPU_UNROLL
        for (int i = 0; i < WIDTH; i++) swiglu_back<T>(gate[i], up[i], dh[i]);
        pack_row<T, TO_H>(codes.words[HIDDEN][r], dh, inverse_h);
        pack_row<T, TO>(codes.words[GATE][r], gate, inverse);
        pack_row<T, TO>(codes.words[UP][r], up, inverse);
        store_row(a.dgu + line, codes.words[GATE][r], true, WIDTH);
        store_row(a.dgu + line + a.F, codes.words[UP][r], true, WIDTH);
    }
}

/* Of a multiprocessor. Two leave fp16, which no model has beside 8-bit factors, one register too few on sm_90a. */
template <typename T> constexpr int GLU_BLOCKS = 2;
template <> constexpr int GLU_BLOCKS<gpu_half> = 1;

template <typename T, enum tt_dtype TO, enum tt_dtype TO_H>
GPU_KERNEL GPU_BOUNDS_MIN(FP8_THREADS, GLU_BLOCKS<T>) fp8_swiglu_backward(struct tt_fp8_swiglu_backward_args a)
{
    GPU_SHARED uint32_t square[SIDE * COLUMN_WORDS];
    int64_t across = gpu_divide_up(a.F, SIDE);
    int64_t row = gpu_block_x() / across * SIDE, col = gpu_block_x() % across * SIDE;
    float scale = scale_of_parts(a.amax, 1, TO), inverse = tt_fp8_inverse(scale);
    float inverse_h = tt_fp8_inverse(*a.h_scale);
    if (gpu_block_x() == 0 && gpu_thread() == 0) *a.scale = scale;
    glu_codes codes[PATCHES] = {};
    GPU_UNROLL
    for (int i = 0; i < PATCHES; i++) {
        place at = place_of(i * FP8_THREADS + gpu_thread());
        glu_patch<T, TO, TO_H>(a, row + at.row, col + at.col, inverse, inverse_h, codes[i]);
    }
    GPU_UNROLL
    for (int k = 0; k < RESULTS; k++) {
        uint8_t *out = k == HIDDEN ? a.h_transposed : a.dgu_transposed + (k == UP ? a.F * a.rows : 0);
        if (k > 0) gpu_block_sync(); /* the square is free again */
        GPU_UNROLL
        for (int i = 0; i < PATCHES; i++) {
            place at = place_of(i * FP8_THREADS + gpu_thread());
            store_columns(square, at, codes[i].words[k]);
        }
        store_square(out, a.rows, a.F, square, row, col, true);
    }
}

gpu_error tt_gpu_fp8_swiglu_backward(const struct tt_fp8_swiglu_backward_args *a, gpu_stream s)
{
    gpu_grid grid = gpu_grid_of(gpu_divide_up(a->rows, SIDE) * gpu_divide_up(a->F, SIDE));
    if (a->to == TT_E5M2)
        return GPU_DISPATCH(
            a->dtype, T, GPU_LAUNCH((fp8_swiglu_backward<T, TT_E5M2, TT_E4M3>), grid, FP8_THREADS, 0, s, *a));
    return GPU_DISPATCH(
        a->dtype, T, GPU_LAUNCH((fp8_swiglu_backward<T, TT_E5M2_FNUZ, TT_E4M3_FNUZ>), grid, FP8_THREADS, 0, s, *a));
}
