/* Further functions of matrix tiles that only attention needs, for the same lane layout as in gpu_platform.h
 * (mma.m16n8k16: v[h][0..1] is row g, v[h][2..3] row g+8, columns 8h+2t and 8h+2t+1; g = lane / 4, t = lane % 4). */
#ifndef TT_GPU_MMA_H
#define TT_GPU_MMA_H

#include "gpu_platform.h"

/* p[m·ld + n] = c rounded to T, in shared memory; p and ld are even. */
template <typename T> GPU_DEVICE void gpu_tile_store(T *p, int ld, const gpu_tile_c &c)
{
    p += gpu_lane() / 4 * ld + gpu_lane() % 4 * 2;
    GPU_UNROLL
    for (int h = 0; h < 2; h++) {
        *(uint32_t *)(p + 8 * h) = gpu_pack2<T>(c.v[h][0], c.v[h][1]);
        *(uint32_t *)(p + 8 * h + 8 * ld) = gpu_pack2<T>(c.v[h][2], c.v[h][3]);
    }
}

GPU_DEVICE void gpu_tile_store(float *p, int ld, const gpu_tile_c &c)
{
    p += gpu_lane() / 4 * ld + gpu_lane() % 4 * 2;
    GPU_UNROLL
    for (int h = 0; h < 2; h++) {
        *(float2 *)(p + 8 * h) = make_float2(c.v[h][0], c.v[h][1]);
        *(float2 *)(p + 8 * h + 8 * ld) = make_float2(c.v[h][2], c.v[h][3]);
    }
}

/* f(slot, row, col, x&, y) for each element that this lane holds of two tiles. */
template <typename F> GPU_DEVICE void gpu_tile_each_pair(gpu_tile_c &x, const gpu_tile_c &y, F f)
{
    int t = gpu_lane() % 4;
    GPU_UNROLL
    for (int i = 0; i < 8; i++)
        f(i % 4 / 2, gpu_tile_row_of(i % 4 / 2), i / 4 * 8 + 2 * t + i % 2, x.v[i / 4][i % 4], y.v[i / 4][i % 4]);
}

#endif
