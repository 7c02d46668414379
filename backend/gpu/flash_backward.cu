/* The launcher of the attention backward. The last kernel is RoPE's, if dq and dk are to be rotated back, or the cast
 * to codes, which rotates on the way. RoPE's kernel also finds the largest magnitude of dq and dk. Gradients that it
 * does not rotate are read once more for that, since the kernels before it have no registers to spare. */
#include "backend/gpu/flash.h"
#include "backend/gpu/launch.h"
#include "backend/gpu/map.h"
#include "backend/gpu/rotate.h"

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

static gpu_error cast(const struct tt_flash_backward_args *a, gpu_stream s)
{
    struct tt_fp8_cast_args codes = {};
    codes.dtype = a->dtype, codes.to = a->to;
    codes.x = a->dq, codes.scale = a->code_scale, codes.amax = a->amax;
    codes.out = a->codes, codes.transposed = a->transposed;
    codes.rows = a->B * a->S, codes.cols = (a->heads + 2 * a->kv_heads) * a->D, codes.ldx = a->ld;
    if (!a->cos) return tt_gpu_fp8_cast(&codes, s);
    bool wide = a->D % 8 == 0 && gpu_aligned(a->cos) && gpu_aligned(a->sin);
    struct fp8_turn turn = {a->cos, a->sin, a->S, a->D, (a->heads + a->kv_heads) * a->D, wide};
    return fp8_cast_turned_back(&codes, &turn, s);
}

static gpu_error finish(const struct tt_flash_backward_args *a, gpu_stream s)
{
    if (a->codes) return cast(a, s);
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
