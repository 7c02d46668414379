/* Token lookup: row t of y is the row of the weight for token t. */
#include "backend/gpu/map.h"
#include "backend/gpu/tokens.h"

template <typename T> struct embedding_op {
    typedef T type;
    typedef const int32_t *context; /* this step's tokens */
    typedef gpu_bytes16 in;
    static constexpr int unroll = 4;
    struct tt_embedding_args a;

    GPU_MEMBER const T *from(int64_t t, context base) const
    {
        return (const T *)a.weight + token_at(base, t, a.S) * a.C;
    }
    GPU_MEMBER context begin(bool &) const { return step_tokens(a.tokens, a.state, a.slot_stride); }
    GPU_MEMBER in load(int64_t t, int64_t c) const
    {
        return gpu_load16(from(t, step_tokens(a.tokens, a.state, a.slot_stride)) + c);
    }
    GPU_MEMBER void store(int64_t t, int64_t c, in v, context) const { gpu_store16((T *)a.y + t * a.C + c, v); }
    GPU_MEMBER void one(int64_t t, int64_t c, context base) const { ((T *)a.y)[t * a.C + c] = from(t, base)[c]; }
};

gpu_error tt_gpu_embedding(const struct tt_embedding_args *a, gpu_stream s)
{
    bool aligned = gpu_aligned(a->weight) && gpu_aligned(a->y);
    return GPU_DISPATCH(a->dtype, T, map_launch(embedding_op<T>{*a}, a->T, a->C, aligned, s));
}
