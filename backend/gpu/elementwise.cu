/* Single operations, one kernel each, as an eager framework runs them. Each reads its operands once and writes its
 * result once. */
#include "backend/gpu/activation.h"
#include "backend/gpu/map.h"

struct always {
    GPU_MEMBER bool begin() { return true; }
};
struct f_add : always {
    GPU_MEMBER float operator()(const float *x) const { return x[0] + x[1]; }
};
struct f_mul : always {
    GPU_MEMBER float operator()(const float *x) const { return x[0] * x[1]; }
};
struct f_square : always {
    GPU_MEMBER float operator()(const float *x) const { return x[0] * x[0]; }
};
struct f_exp : always {
    GPU_MEMBER float operator()(const float *x) const { return gpu_exp(x[0]); }
};
template <typename T> struct f_silu : always {
    GPU_MEMBER float operator()(const float *x) const { return x[0] * sigmoid<T>(x[0]); }
};
template <typename T> struct f_silu_backward : always {
    GPU_MEMBER float operator()(const float *x) const { return x[1] * silu_slope(x[0], sigmoid<T>(x[0])); }
};
struct f_scale {
    const struct tt_state *state;
    float factor;
    GPU_MEMBER bool begin()
    {
        if (state) factor *= state->loss_scale;
        return true;
    }
    GPU_MEMBER float operator()(const float *x) const { return x[0] * factor; }
};
struct f_rsqrt : always {
    float eps;
    GPU_MEMBER float operator()(const float *x) const { return gpu_divide(1.0f, gpu_sqrt(x[0] + eps)); }
};
struct f_rsqrt_backward : always {
    float factor; /* -1/cols */
    GPU_MEMBER float operator()(const float *x) const { return factor * x[0] * (x[1] * x[1] * x[1]); }
};

template <typename T, typename F>
static gpu_error unary(const void *x, int64_t ldx, void *out, int64_t ldo, int64_t rows, int64_t cols, F f,
                       gpu_stream s)
{
    map_function<T, 1, F> op = {{(const T *)x}, (T *)out, {ldx}, ldo, f};
    return map_launch_function(op, rows, cols, s);
}
template <typename T, typename F>
static gpu_error binary(const void *x, int64_t ldx, const void *y, int64_t ldy, void *out, int64_t ldo, int64_t rows,
                        int64_t cols, F f, gpu_stream s)
{
    map_function<T, 2, F> op = {{(const T *)x, (const T *)y}, (T *)out, {ldx, ldy}, ldo, f};
    return map_launch_function(op, rows, cols, s);
}

gpu_error tt_gpu_add(const struct tt_add_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T,
                        binary<T>(a->x, a->ldx, a->y, a->ldy, a->out, a->ldo, a->rows, a->cols, f_add(), s));
}
gpu_error tt_gpu_mul(const struct tt_mul_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T,
                        binary<T>(a->x, a->ldx, a->y, a->ldy, a->out, a->ldo, a->rows, a->cols, f_mul(), s));
}
gpu_error tt_gpu_silu(const struct tt_silu_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, unary<T>(a->x, a->ldx, a->out, a->ldo, a->rows, a->cols, f_silu<T>(), s));
}
gpu_error tt_gpu_silu_backward(const struct tt_silu_backward_args *a, gpu_stream s)
{
    return GPU_DISPATCH(
        a->dtype, T,
        binary<T>(a->x, a->ldx, a->dy, a->lddy, a->dx, a->lddx, a->rows, a->cols, f_silu_backward<T>(), s));
}
gpu_error tt_gpu_square(const struct tt_square_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, unary<T>(a->x, a->n, a->out, a->n, 1, a->n, f_square(), s));
}
gpu_error tt_gpu_exp(const struct tt_exp_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, unary<T>(a->x, a->n, a->x, a->n, 1, a->n, f_exp(), s));
}
gpu_error tt_gpu_scale(const struct tt_scale_args *a, gpu_stream s)
{
    f_scale f = {a->state, a->factor};
    return GPU_DISPATCH(a->dtype, T, unary<T>(a->x, a->n, a->x, a->n, 1, a->n, f, s));
}
gpu_error tt_gpu_rsqrt(const struct tt_rsqrt_args *a, gpu_stream s)
{
    f_rsqrt f;
    f.eps = a->eps;
    return unary<float>(a->mean, a->n, a->rstd, a->n, 1, a->n, f, s);
}
gpu_error tt_gpu_rsqrt_backward(const struct tt_rsqrt_backward_args *a, gpu_stream s)
{
    f_rsqrt_backward f;
    f.factor = -1.0f / (float)a->cols;
    return binary<float>(a->drstd, a->n, a->rstd, a->n, a->coef, a->n, 1, a->n, f, s);
}

/* ---- input and output of different types ---- */

/* Reads N floats, writes 16 bytes of T. */
template <typename T> struct cast_op {
    typedef T type;
    typedef map_nothing context;
    static constexpr int unroll = 4, loads = gpu_vec<T>::n / 4;
    struct in {
        gpu_bytes16 b[loads];
    };
    const float *x;
    T *out;

    GPU_MEMBER context begin(bool &) const { return context(); }
    GPU_MEMBER in load(int64_t, int64_t c) const
    {
        in v;
        GPU_UNROLL
        for (int k = 0; k < loads; k++) v.b[k] = gpu_load16(x + c + 4 * k);
        return v;
    }
    GPU_MEMBER void store(int64_t, int64_t c, const in &v, context) const
    {
        gpu_vec<T> y;
        GPU_UNROLL
        for (int i = 0; i < gpu_vec<T>::n; i++) y.v[i] = gpu_bits_float(v.b[i / 4].w[i % 4]);
        gpu_vec_store(out + c, y);
    }
    GPU_MEMBER void one(int64_t, int64_t c, context) const { out[c] = gpu_from_float<T>(x[c]); }
};

gpu_error tt_gpu_cast(const struct tt_cast_args *a, gpu_stream s)
{
    bool aligned = gpu_aligned(a->x) && gpu_aligned(a->out);
    return GPU_DISPATCH(a->dtype, T, map_launch_flat(cast_op<T>{a->x, (T *)a->out}, a->n, a->out, aligned, s));
}

struct zero_op {
    typedef float type;
    typedef map_nothing context;
    typedef map_nothing in;
    static constexpr int unroll = 4;
    float *x;

    GPU_MEMBER context begin(bool &) const { return context(); }
    GPU_MEMBER in load(int64_t, int64_t) const { return in(); }
    GPU_MEMBER void store(int64_t, int64_t c, in, context) const { gpu_store16(x + c, gpu_bytes16{{0, 0, 0, 0}}); }
    GPU_MEMBER void one(int64_t, int64_t c, context) const { x[c] = 0; }
};

gpu_error tt_gpu_zero(const struct tt_zero_args *a, gpu_stream s)
{
    return map_launch_flat(zero_op{a->x}, a->n, a->x, true, s);
}
