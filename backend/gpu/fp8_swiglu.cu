/* SwiGLU with 8-bit results, which are stored in no other form. Forward makes the codes of h. Backward makes the codes
 * of the gradients of gate and up, as they are and transposed, and of h, transposed. A thread keeps the codes of its
 * patches, and the three matrices use one square of shared memory after the other. */
#include <math.h>

#include "backend/gpu/activation.h"
#include "backend/gpu/fp8_tile.h"
#include "backend/gpu/map.h"

/* ---- forward ---- */

template <typename T> struct glu_context {
    map_amax<T> most;
    float inverse;
};
template <typename T> GPU_DEVICE void map_end(const glu_context<T> &c) { map_end(c.most); }

template <typename T, enum tt_dtype TO> struct fp8_swiglu_op {
    typedef T type;
    typedef glu_context<T> context;
    static constexpr int unroll = 2, N = gpu_vec<T>::n;
    struct in {
        gpu_bytes16 gate, up;
    };
    const T *gu;
    const float *scale;
    float *amax;
    uint8_t *h;
    int64_t F;

    GPU_MEMBER context begin(bool &) const { return {{amax, 0}, tt_fp8_inverse(*scale)}; }
    GPU_MEMBER in load(int64_t r, int64_t c) const
    {
        const T *gate = gu + r * 2 * F + c;
        return {gpu_load16(gate), gpu_load16(gate + F)};
    }
    GPU_MEMBER void store(int64_t r, int64_t c, const in &v, context &k) const
    {
        gpu_vec<T> gate = gpu_vec_from<T>(v.gate), up = gpu_vec_from<T>(v.up);
        GPU_UNROLL
        for (int i = 0; i < N; i++) up.v[i] = gpu_to_float(gpu_from_float<T>(swiglu<T>(gate.v[i], up.v[i])));
        k.most.most = gpu_most(k.most.most, up);
        uint32_t words[N / 4], *out = (uint32_t *)(h + r * F + c);
        GPU_UNROLL
        for (int w = 0; w < N / 4; w++) words[w] = gpu_fp8_codes4<TO>(up.v + 4 * w, k.inverse);
        if constexpr (N == 8)
            *(gpu_bytes8 *)out = gpu_bytes8{{words[0], words[1]}};
        else
            *out = words[0];
    }
    GPU_MEMBER void one(int64_t r, int64_t c, context &k) const
    {
        const T *gate = gu + r * 2 * F + c;
        float x = gpu_to_float(gpu_from_float<T>(swiglu<T>(gpu_to_float(gate[0]), gpu_to_float(gate[F]))));
        h[r * F + c] = tt_fp8_code(x, k.inverse, TO);
        k.most.most = gpu_most(k.most.most, x);
    }
};

template <typename T, enum tt_dtype TO> static gpu_error forward_to(const struct tt_fp8_swiglu_args *a, gpu_stream s)
{
    fp8_swiglu_op<T, TO> op = {(const T *)a->gu, a->scale, a->amax, a->h, a->F};
    return map_launch(op, a->rows, a->F, gpu_aligned(a->gu) && gpu_aligned(a->h), s);
}

gpu_error tt_gpu_fp8_swiglu(const struct tt_fp8_swiglu_args *a, gpu_stream s)
{
    if (a->to == TT_E4M3) return GPU_DISPATCH(a->dtype, T, (forward_to<T, TT_E4M3>(a, s)));
    return GPU_DISPATCH(a->dtype, T, (forward_to<T, TT_E4M3_FNUZ>(a, s)));
}

/* ---- backward ---- */

enum { GATE, UP, HIDDEN, RESULTS };

struct glu_codes {
    uint32_t words[RESULTS][PATCH][2];
};

/* The codes of x after rounding to T, as if it had been stored. x is rounded in place. */
template <typename T, enum tt_dtype TO> GPU_DEVICE void pack_row(uint32_t *codes, float *x, float inverse)
{
    GPU_UNROLL
    for (int i = 0; i < WIDTH; i++) x[i] = gpu_to_float(gpu_from_float<T>(x[i]));
    GPU_UNROLL
    for (int w = 0; w < 2; w++) codes[w] = gpu_fp8_codes4<TO>(x + 4 * w, inverse);
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

/* A patch at (r0, c0) of the hidden values. The codes of dgu that are not transposed go to memory at once. */
template <typename T, enum tt_dtype TO, enum tt_dtype TO_H>
GPU_DEVICE void glu_patch(const struct tt_fp8_swiglu_backward_args &a, int64_t r0, int64_t c0, float inverse,
                          float inverse_h, glu_codes &codes, float &most)
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
        for (int i = 0; i < WIDTH; i++) {
            swiglu_back<T>(gate[i], up[i], dh[i]);
            most = gpu_max(gpu_max(most, fabsf(gate[i])), fabsf(up[i]));
        }
        pack_row<T, TO_H>(codes.words[HIDDEN][r], dh, inverse_h);
        pack_row<T, TO>(codes.words[GATE][r], gate, inverse);
        pack_row<T, TO>(codes.words[UP][r], up, inverse);
        store_row(a.dgu + line, codes.words[GATE][r], true, WIDTH);
        store_row(a.dgu + line + a.F, codes.words[UP][r], true, WIDTH);
    }
}

/* Blocks per multiprocessor. With two, fp16, which no model has beside 8-bit factors, lacks one register on sm_90a. */
template <typename T> constexpr int GLU_BLOCKS = 2;
template <> constexpr int GLU_BLOCKS<gpu_half> = 1;

template <typename T, enum tt_dtype TO, enum tt_dtype TO_H>
GPU_KERNEL GPU_BOUNDS_MIN(FP8_THREADS, GLU_BLOCKS<T>) fp8_swiglu_backward(struct tt_fp8_swiglu_backward_args a)
{
    GPU_SHARED uint32_t square[SIDE * COLUMN_WORDS];
    int64_t across = gpu_divide_up(a.F, SIDE);
    int64_t row = gpu_block_x() / across * SIDE, col = gpu_block_x() % across * SIDE;
    float scale = a.partial ? tt_fp8_scale(*a.partial, TO) : *a.scale, inverse = tt_fp8_inverse(scale);
    float inverse_h = tt_fp8_inverse(*a.h_scale);
    float most = 0;
    if (a.partial && gpu_block_x() == 0 && gpu_thread() == 0) *a.new_scale = scale;
    glu_codes codes[PATCHES] = {};
    GPU_UNROLL
    for (int i = 0; i < PATCHES; i++) {
        place at = place_of(i * FP8_THREADS + gpu_thread());
        glu_patch<T, TO, TO_H>(a, row + at.row, col + at.col, inverse, inverse_h, codes[i], most);
    }
    if (a.amax) gpu_block_amax<T, FP8_THREADS>(a.amax, gpu_float_bits(most));
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
