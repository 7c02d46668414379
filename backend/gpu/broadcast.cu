/* Operations of a matrix and a vector, with one element per row or per column. */
#include "backend/gpu/map.h"

/* out[r,c] = x[r,c]·s[r], or x[r,c] - s[r]. The matrix is treated as flat, so a vector may begin in one row and end in
 * the next. Rows are at least one vector long. */
template <typename T, bool SUBTRACT> struct by_row_op {
    typedef T type;
    struct context {
        int64_t row, start; /* row of the block's first element; index of the start of that row */
    };
    typedef gpu_bytes16 in;
    static constexpr int unroll = 4;
    const T *x;
    const float *s;
    T *out;
    int64_t rows, cols;

    static GPU_MEMBER float with(float x, float s) { return SUBTRACT ? x - s : x * s; }
    GPU_MEMBER context begin(bool &) const
    {
        int64_t row = gpu_block_x() * (MAP_THREADS * unroll * gpu_vec<T>::n) / cols;
        return {row, row * cols};
    }
    GPU_MEMBER in load(int64_t, int64_t i) const { return gpu_load16(x + i); }
    GPU_MEMBER void store(int64_t, int64_t i, in b, const context &block) const
    {
        int64_t r = block.row + (uint32_t)(i - block.start) / (uint32_t)cols; /* 32-bit: an offset within a block */
        int64_t left = (r + 1) * cols - i; /* elements up to the end of row r */
        float here = s[r], next = left < gpu_vec<T>::n && r + 1 < rows ? s[r + 1] : 0.0f;
        gpu_vec<T> v = gpu_vec_from<T>(b);
        GPU_UNROLL
        for (int k = 0; k < gpu_vec<T>::n; k++) v.v[k] = with(v.v[k], k < left ? here : next);
        gpu_vec_store(out + i, v);
    }
    GPU_MEMBER void one(int64_t, int64_t i, const context &) const
    {
        out[i] = gpu_from_float<T>(with(gpu_to_float(x[i]), s[i / cols]));
    }
};

template <typename T, bool SUBTRACT>
static gpu_error by_row(const void *x, const float *s, void *out, int64_t rows, int64_t cols, gpu_stream stream)
{
    by_row_op<T, SUBTRACT> op = {(const T *)x, s, (T *)out, rows, cols};
    bool vectors = map_together(x, out) && cols >= gpu_vec<T>::n;
    return map_launch_flat(op, rows * cols, out, vectors, stream);
}

gpu_error tt_gpu_mul_rows(const struct tt_mul_rows_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, by_row<T, false>(a->x, a->s, a->out, a->rows, a->cols, s));
}
gpu_error tt_gpu_sub_rows(const struct tt_sub_rows_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, by_row<T, true>(a->x, a->s, a->x, a->rows, a->cols, s));
}

struct f_mul_column {
    GPU_MEMBER bool begin() { return true; }
    GPU_MEMBER float operator()(const float *x) const { return x[0] * x[1]; }
};
struct f_add_column {
    GPU_MEMBER bool begin() { return true; }
    GPU_MEMBER float operator()(const float *x) const { return x[0] + x[1]; }
};

/* w is passed as a matrix with a row stride of 0. */
template <typename T, typename F, typename Args> static gpu_error by_column(const Args *a, gpu_stream s)
{
    map_function<T, 2, F> op = {{(const T *)a->x, (const T *)a->w}, (T *)a->out, {a->cols, 0}, a->cols, F()};
    return map_launch_function(op, a->rows, a->cols, s);
}

gpu_error tt_gpu_mul_cols(const struct tt_mul_cols_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, (by_column<T, f_mul_column>(a, s)));
}
gpu_error tt_gpu_add_cols(const struct tt_add_cols_args *a, gpu_stream s)
{
    return GPU_DISPATCH(a->dtype, T, (by_column<T, f_add_column>(a, s)));
}
