/* Pairs of numbers turned by an angle. */
#ifndef TT_GPU_TURN_H
#define TT_GPU_TURN_H

#include "backend/gpu/gpu.h"

/* The pairs of a vector by one entry of the tables each; cos and sin are as aligned as the vector is long. */
template <typename T> GPU_DEVICE void turn_vector(gpu_vec<T> &v, const float *cosine, const float *sine, bool inverse)
{
    GPU_UNROLL
    for (int i = 0; i < gpu_vec<T>::n; i += 2) {
        float p = v.v[i], q = v.v[i + 1], c = cosine[i / 2], s = inverse ? -sine[i / 2] : sine[i / 2];
        v.v[i] = p * c - q * s;
        v.v[i + 1] = p * s + q * c;
    }
}

/* One pair; `to` may be `from`. */
template <typename T> GPU_DEVICE void turn_pair(T *to, const T *from, float c, float s, bool inverse)
{
    float p = gpu_to_float(from[0]), q = gpu_to_float(from[1]);
    if (inverse) s = -s;
    to[0] = gpu_from_float<T>(p * c - q * s);
    to[1] = gpu_from_float<T>(p * s + q * c);
}

#endif
