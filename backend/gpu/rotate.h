/* RoPE: rotation of pairs of elements. */
#ifndef TT_GPU_ROTATE_H
#define TT_GPU_ROTATE_H

#include "backend/gpu/gpu.h"

/* rope.cu: rope, with the largest magnitude of q and k together (kernels_fp8.h); amax may be NULL. */
gpu_error rope_with_amax(const struct tt_rope_args *a, float *amax, gpu_stream s);

/* fp8.cu: fp8_cast to TT_E5M2 or TT_E5M2_FNUZ, which also rotates the first `cols` columns of each row, heads of D,
 * back as rope with `inverse` does. Row t is at position t % S. */
struct fp8_turn {
    const float *cos, *sin;
    int64_t S, D, cols;
    bool wide; /* eight columns are always of one head, and the tables aligned */
};
gpu_error fp8_cast_turned_back(const struct tt_fp8_cast_args *a, const struct fp8_turn *turn, gpu_stream s);

/* The entries of a cosine or sine table for the pairs of a vector: two for float; four for 16-bit types, where the
 * table must be aligned to 16 bytes. */
template <typename T> struct rotate_entries {
    float v[gpu_vec<T>::n / 2];
};
template <typename T> GPU_DEVICE rotate_entries<T> rotate_load(const float *table)
{
    rotate_entries<T> e;
    if constexpr (sizeof(T) == 4) {
        e.v[0] = table[0], e.v[1] = table[1];
    } else {
        gpu_vec<float> four = gpu_vec_load(table);
        GPU_UNROLL
        for (int i = 0; i < 4; i++) e.v[i] = four.v[i];
    }
    return e;
}

/* The fused multiply-adds are written out, so that every kernel gives a pair the same bits; a compiler would choose
 * anew in each kernel. */
GPU_DEVICE void rotate_floats(float &p, float &q, float c, float s)
{
    float x = p;
    p = gpu_fma(x, c, -(q * s));
    q = gpu_fma(x, s, q * c);
}

template <typename T> GPU_DEVICE void rotate_vector(gpu_vec<T> &v, const float *cosine, const float *sine, bool inverse)
{
    rotate_entries<T> cs = rotate_load<T>(cosine), sn = rotate_load<T>(sine);
    GPU_UNROLL
    for (int i = 0; i < gpu_vec<T>::n; i += 2)
        rotate_floats(v.v[i], v.v[i + 1], cs.v[i / 2], inverse ? -sn.v[i / 2] : sn.v[i / 2]);
}

/* One pair; `to` may be `from`. */
template <typename T> GPU_DEVICE void rotate_pair(T *to, const T *from, float c, float s, bool inverse)
{
    float p = gpu_to_float(from[0]), q = gpu_to_float(from[1]);
    rotate_floats(p, q, c, inverse ? -s : s);
    to[0] = gpu_from_float<T>(p);
    to[1] = gpu_from_float<T>(q);
}

#endif
