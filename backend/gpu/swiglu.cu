/* SwiGLU: rows of gate (F) then up (F). A thread has the same columns of gate, up and h, so the backward pass can work
 * in place. */
#include "backend/gpu/activation.h"
#include "backend/gpu/map.h"

template <typename T> struct swiglu_op {
    typedef T type;
    typedef map_amax<T> context;
    static constexpr int unroll = 2;
    struct in {
        gpu_bytes16 gate, up;
    };
    const T *gu;
    T *h;
    float *amax; /* or NULL */
    int64_t F;

    GPU_MEMBER context begin(bool &) const { return {amax, 0}; }
    GPU_MEMBER in load(int64_t r, int64_t c) const
    {
        const T *gate = gu + r * 2 * F + c;
        return {gpu_load16(gate), gpu_load16(gate + F)};
    }
    GPU_MEMBER void store(int64_t r, int64_t c, const in &v, context &most) const
    {
        gpu_vec<T> gate = gpu_vec_from<T>(v.gate), up = gpu_vec_from<T>(v.up);
        GPU_UNROLL
        for (int i = 0; i < gpu_vec<T>::n; i++) up.v[i] = swiglu<T>(gate.v[i], up.v[i]);
        gpu_vec_store(h + r * F + c, up);
        most.most = gpu_most(most.most, up);
    }
    GPU_MEMBER void one(int64_t r, int64_t c, context &most) const
    {
        const T *gate = gu + r * 2 * F + c;
        float x = swiglu<T>(gpu_to_float(gate[0]), gpu_to_float(gate[F]));
        h[r * F + c] = gpu_from_float<T>(x);
        most.most = gpu_most(most.most, x);
    }
};

template <typename T> static gpu_error launch_swiglu(const struct tt_swiglu_args *a, gpu_stream s)
{
    swiglu_op<T> op = {(const T *)a->gu, (T *)a->h, a->amax, a->F};
    return map_launch(op, a->rows, a->F, gpu_aligned(a->gu) && gpu_aligned(a->h), s);
}

gpu_error tt_gpu_swiglu(const struct tt_swiglu_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, launch_swiglu<T>(a, s));
}

template <typename T> struct swiglu_backward_op {
    typedef T type;
    typedef map_amax<T> context;
    static constexpr int unroll = 2;
    struct in {
        gpu_bytes16 gate, up, dh;
    };
    const T *gu, *dh;
    T *dgu, *h; /* may be gu and dh; or NULL */
    float *amax; /* of dgu, or NULL */
    int64_t F;

    GPU_MEMBER context begin(bool &) const { return {amax, 0}; }
    GPU_MEMBER in load(int64_t r, int64_t c) const
    {
        const T *gate = gu + r * 2 * F + c;
        return {gpu_load16(gate), gpu_load16(gate + F), gpu_load16(dh + r * F + c)};
    }
    GPU_MEMBER void store(int64_t r, int64_t c, const in &v, context &most) const
    {
        gpu_vec<T> gate = gpu_vec_from<T>(v.gate), up = gpu_vec_from<T>(v.up), d = gpu_vec_from<T>(v.dh);
        GPU_UNROLL
        for (int i = 0; i < gpu_vec<T>::n; i++) swiglu_back<T>(gate.v[i], up.v[i], d.v[i]);
        T *dgate = dgu + r * 2 * F + c;
        if (dgu) gpu_vec_store(dgate, gate);
        if (dgu) gpu_vec_store(dgate + F, up);
        if (h) gpu_vec_store(h + r * F + c, d);
        most.most = gpu_most(gpu_most(most.most, gate), up);
    }
    GPU_MEMBER void one(int64_t r, int64_t c, context &most) const
    {
        int64_t at = r * 2 * F + c;
        float gate = gpu_to_float(gu[at]), up = gpu_to_float(gu[at + F]), d = gpu_to_float(dh[r * F + c]);
        swiglu_back<T>(gate, up, d);
        if (dgu) dgu[at] = gpu_from_float<T>(gate);
        if (dgu) dgu[at + F] = gpu_from_float<T>(up);
        if (h) h[r * F + c] = gpu_from_float<T>(d);
        most.most = gpu_most(gpu_most(most.most, gate), up);
    }
};

template <typename T> static gpu_error swiglu_backward(const struct tt_swiglu_backward_args *a, gpu_stream s)
{
    swiglu_backward_op<T> op = {(const T *)a->gu, (const T *)a->dh, (T *)a->dgu, (T *)a->h, a->amax, a->F};
    bool aligned = gpu_aligned(a->gu) && gpu_aligned(a->dh) && gpu_aligned(a->dgu) && gpu_aligned(a->h);
    return map_launch(op, a->rows, a->F, aligned, s);
}

gpu_error tt_gpu_swiglu_backward(const struct tt_swiglu_backward_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, swiglu_backward<T>(a, s));
}
