/* The launcher of the attention backward, and its first kernel: delta, the row sums of do·o. The last kernel is that of
 * RoPE, if dq and dk are to be rotated back. It takes their largest magnitude; what it does not turn is read once more
 * for its own, since the kernels between have no registers to spare. */
#include "backend/gpu/flash.h"
#include "backend/gpu/launch.h"
#include "backend/gpu/map.h"
#include "backend/gpu/rotate.h"

enum { DELTA_THREADS = 256 };

/* `lanes` neighbouring lanes, a power of two, take one row of D. o and dout are (T, H, D), delta is (B, H, S). */
template <typename T, bool WIDE>
GPU_KERNEL GPU_BOUNDS(DELTA_THREADS) flash_delta(struct tt_flash_backward_args a, int64_t rows, int lanes)
{
    int64_t row = (gpu_block_x() * DELTA_THREADS + gpu_thread()) / lanes;
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
    if (row < rows && lane == 0) {
        int64_t t = row / a.heads, h = row % a.heads, b = t / a.S;
        a.delta[(b * a.heads + h) * a.S + t % a.S] = sum;
    }
}

template <typename T> static gpu_error delta_launch(const struct tt_flash_backward_args *a, gpu_stream s)
{
    bool wide = flash_wide(a->o, a->D, a->D, sizeof(T)) && gpu_aligned(a->dout);
    int64_t rows = a->B * a->S * a->heads, pieces = wide ? a->D * (int64_t)sizeof(T) / 16 : a->D;
    int lanes = 1;
    while (lanes < pieces && lanes < GPU_GROUP) lanes *= 2;
    gpu_grid grid = gpu_grid_of(gpu_divide_up(rows * lanes, DELTA_THREADS));
    if (wide) return GPU_LAUNCH(flash_delta<T, true>, grid, DELTA_THREADS, 0, s, *a, rows, lanes);
    return GPU_LAUNCH(flash_delta<T, false>, grid, DELTA_THREADS, 0, s, *a, rows, lanes);
}

gpu_error flash_backward_delta(const struct tt_flash_backward_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, delta_launch<T>(a, s));
}

static gpu_error rotate_back(const struct tt_flash_backward_args *a, gpu_stream s)
{
    struct tt_rope_args rotation = {};
    rotation.dtype = a->dtype;
    rotation.q = a->dq, rotation.k = a->dk, rotation.cos = a->cos, rotation.sin = a->sin;
    rotation.T = a->B * a->S, rotation.S = a->S, rotation.D = a->D;
    rotation.heads = a->heads, rotation.kv_heads = a->kv_heads;
    rotation.ld = a->ld, rotation.inverse = true;
    return rope_with_amax(&rotation, a->amax, s);
}

template <typename T> struct amax_op {
    typedef T type;
    typedef map_amax<T> context;
    typedef gpu_bytes16 in;
    static constexpr int unroll = 4;
    const T *x;
    float *amax;
    int64_t ld;

    GPU_MEMBER context begin(bool &) const { return {amax, 0}; }
    GPU_MEMBER in load(int64_t r, int64_t c) const { return gpu_load16(x + r * ld + c); }
    GPU_MEMBER void store(int64_t, int64_t, const in &b, context &k) const
    {
        k.most = gpu_most(k.most, gpu_vec_from<T>(b));
    }
    GPU_MEMBER void one(int64_t r, int64_t c, context &k) const
    {
        k.most = gpu_most(k.most, gpu_to_float(x[r * ld + c]));
    }
};

template <typename T>
static gpu_error amax_launch(const struct tt_flash_backward_args *a, const void *x, int64_t heads, gpu_stream s)
{
    amax_op<T> op = {(const T *)x, a->amax, a->ld};
    return map_launch(op, a->B * a->S, heads * a->D, gpu_aligned_rows(x, a->ld, sizeof(T)), s);
}

static gpu_error amax_of(const struct tt_flash_backward_args *a, const void *x, int64_t heads, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, amax_launch<T>(a, x, heads, s));
}

static gpu_error finish(const struct tt_flash_backward_args *a, gpu_stream s)
{
    gpu_error e = a->cos ? rotate_back(a, s) : 0;
    if (e || !a->amax) return e;
    e = amax_of(a, a->dv, a->kv_heads, s);
    if (!e && !a->cos) e = amax_of(a, a->dq, a->heads, s);
    return e || a->cos ? e : amax_of(a, a->dk, a->kv_heads, s);
}

gpu_error tt_gpu_flash_backward(const struct tt_flash_backward_args *a, gpu_stream s)
{
    if (!flash_supported(a->S, a->heads, a->kv_heads, a->D)) return FLASH_UNSUPPORTED;
    gpu_error e = flash_backward_delta(a, s);
    if (e) return e;
    if (a->dtype == TT_F32)
        e = a->tf32 ? flash_backward_tf32(a, s) : flash_backward_f32(a, s);
    else
        e = a->dtype == TT_BF16 ? flash_backward_bf16(a, s) : flash_backward_f16(a, s);
    return e ? e : finish(a, s);
}
