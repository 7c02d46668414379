/* Matrix tiles on the SIMT machine: C[16,16] += A[16,16] · B[16,16], T 16-bit, C float, a wave to a tile. The layouts
 * over the lanes are those of AMD's instructions, which no kernel may know, and NVIDIA's is tested on its own chips:
 *
 *   waves of 64, as v_mfma_f32_16x16x16   A  lane l: row l % 16, k from 4·(l / 16) on, 4 of them
 *                                         B  lane l: column l % 16, the same k
 *                                         C  lane l: column l % 16, rows from 4·(l / 16) on, 4 of them
 *   waves of 32, as v_wmma_f32_16x16x16   A  lane l: row l % 16, all k; lanes 16 to 31 hold the same again
 *                                         B  lane l: column l % 16, all k; likewise
 *                                         C  lane l: column l % 16, rows l / 16, l / 16 + 2, ..., 8 of them */
#ifndef TT_GPU_MMA_H
#define TT_GPU_MMA_H

#include "gpu_platform.h"

enum {
    SIMT_TILE_K = GPU_WAVE == 64 ? 4 : 16,  /* elements of A and of B that a lane holds */
    GPU_TILE_ROWS = 256 / GPU_WAVE,         /* of C, each in a row of its own */
};

GPU_DEVICE int simt_tile_across(int lane) { return lane % 16; }
GPU_DEVICE int simt_tile_k(int lane, int i) { return GPU_WAVE == 64 ? lane / 16 * 4 + i : i; }
GPU_DEVICE int simt_tile_row(int lane, int i) { return GPU_WAVE == 64 ? lane / 16 * 4 + i : lane / 16 + 2 * i; }

template <typename T> struct gpu_tile_a {
    T v[SIMT_TILE_K];
};
template <typename T> struct gpu_tile_b {
    T v[SIMT_TILE_K];
};
struct gpu_tile_c {
    float v[GPU_TILE_ROWS];
};

/* ---- between tiles and shared memory ---- */

template <typename T> GPU_DEVICE void simt_tile_aligned(const T *p, int ld)
{
    if ((uintptr_t)p % 16 || (size_t)ld * sizeof(T) % 16) simt_fault("a row of a matrix tile is not on a multiple of 16");
}

/* A[m][k] at p[m·ld + k]; transposed: at p[k·ld + m]. */
template <typename T> GPU_DEVICE void gpu_tile_load(gpu_tile_a<T> &a, const T *p, int ld)
{
    simt_tile_aligned(p, ld);
    for (int i = 0; i < SIMT_TILE_K; i++) a.v[i] = p[simt_tile_across(gpu_lane()) * ld + simt_tile_k(gpu_lane(), i)];
}
template <typename T> GPU_DEVICE void gpu_tile_load_transposed(gpu_tile_a<T> &a, const T *p, int ld)
{
    simt_tile_aligned(p, ld);
    for (int i = 0; i < SIMT_TILE_K; i++) a.v[i] = p[simt_tile_k(gpu_lane(), i) * ld + simt_tile_across(gpu_lane())];
}
/* B[k][n] at p[k·ld + n]; transposed: at p[n·ld + k]. */
template <typename T> GPU_DEVICE void gpu_tile_load(gpu_tile_b<T> &b, const T *p, int ld)
{
    simt_tile_aligned(p, ld);
    for (int i = 0; i < SIMT_TILE_K; i++) b.v[i] = p[simt_tile_k(gpu_lane(), i) * ld + simt_tile_across(gpu_lane())];
}
template <typename T> GPU_DEVICE void gpu_tile_load_transposed(gpu_tile_b<T> &b, const T *p, int ld)
{
    simt_tile_aligned(p, ld);
    for (int i = 0; i < SIMT_TILE_K; i++) b.v[i] = p[simt_tile_across(gpu_lane()) * ld + simt_tile_k(gpu_lane(), i)];
}

GPU_DEVICE void gpu_tile_fill(gpu_tile_c &c, float x)
{
    for (int i = 0; i < GPU_TILE_ROWS; i++) c.v[i] = x;
}

/* p[m·ld + n] = c rounded to T. */
template <typename T> GPU_DEVICE void gpu_tile_store(T *p, int ld, const gpu_tile_c &c)
{
    for (int i = 0; i < GPU_TILE_ROWS; i++)
        p[simt_tile_row(gpu_lane(), i) * ld + simt_tile_across(gpu_lane())] = gpu_from_float<T>(c.v[i]);
}

/* ---- the elements of a lane ---- */

GPU_DEVICE int gpu_tile_row_of(int slot) { return simt_tile_row(gpu_lane(), slot); }

template <typename F> GPU_DEVICE void gpu_tile_each(gpu_tile_c &c, F f)
{
    for (int i = 0; i < GPU_TILE_ROWS; i++) f(gpu_tile_row_of(i), simt_tile_across(gpu_lane()), c.v[i]);
}
template <typename F> GPU_DEVICE void gpu_tile_each_slot(gpu_tile_c &c, F f)
{
    for (int i = 0; i < GPU_TILE_ROWS; i++) f(i, gpu_tile_row_of(i), simt_tile_across(gpu_lane()), c.v[i]);
}
template <typename F> GPU_DEVICE void gpu_tile_each_pair(gpu_tile_c &x, const gpu_tile_c &y, F f)
{
    for (int i = 0; i < GPU_TILE_ROWS; i++) f(i, gpu_tile_row_of(i), simt_tile_across(gpu_lane()), x.v[i], y.v[i]);
}

/* Over the 16 lanes that share a row. */
GPU_DEVICE float gpu_tile_row_max(float x)
{
    for (int mask = 1; mask < 16; mask *= 2) x = gpu_max(x, gpu_shfl_xor(x, mask));
    return x;
}
GPU_DEVICE float gpu_tile_row_sum(float x)
{
    for (int mask = 1; mask < 16; mask *= 2) x += gpu_shfl_xor(x, mask);
    return x;
}

/* ---- whole tiles: what a wave's lanes brought, put together ---- */

template <typename T> struct simt_tiles {
    const gpu_tile_a<T> *a;
    const gpu_tile_b<T> *b;
    gpu_tile_c *c;
};

template <typename T> GPU_DEVICE void simt_multiply(void *const *operands)
{
    float matrices[3 * 256], *a = matrices, *b = a + 256, *c = b + 256; /* a[k][m], b[k][n], c[m][n] */
    for (int lane = 0; lane < GPU_WAVE; lane++) {
        const simt_tiles<T> *t = (const simt_tiles<T> *)operands[lane];
        const T *av = t->a->v, *bv = t->b->v;
        for (int i = 0; i < SIMT_TILE_K; i++) {
            float x = gpu_to_float(av[i]), y = gpu_to_float(bv[i]);
            int at = simt_tile_k(lane, i) * 16 + simt_tile_across(lane);
            if (SIMT_TILE_K == 16 && lane >= 16 && (memcmp(a + at, &x, 4) || memcmp(b + at, &y, 4)))
                return simt_fault("the two halves of a wave hold different operands of a matrix instruction");
            a[at] = x;
            b[at] = y;
        }
    }
    memset(c, 0, 256 * sizeof *c);
    simt_product(a, b, c);
    for (int lane = 0; lane < GPU_WAVE; lane++) {
        float *v = ((const simt_tiles<T> *)operands[lane])->c->v;
        for (int i = 0; i < GPU_TILE_ROWS; i++) v[i] += c[simt_tile_row(lane, i) * 16 + simt_tile_across(lane)];
    }
}
template <typename T>
GPU_DEVICE void gpu_tile_mma(gpu_tile_c &c, const gpu_tile_a<T> &a, const gpu_tile_b<T> &b, SIMT_CALLER)
{
    simt_tiles<T> t = {&a, &b, &c};
    simt_meet(SIMT_FULL_WAVE, SIMT_SITE, simt_multiply<T>, &t);
}

/* To (k, across) of A or B from an element of C: (across, k) for A, which has m across and k along; the same for B
 * transposed, which has n across. */
template <typename T> struct simt_rounding {
    const gpu_tile_c *c;
    T *v;
};
template <typename T> GPU_DEVICE void simt_round(void *const *operands)
{
    float c[16][16];
    for (int lane = 0; lane < GPU_WAVE; lane++)
        for (int i = 0; i < GPU_TILE_ROWS; i++)
            c[simt_tile_row(lane, i)][simt_tile_across(lane)] = ((const simt_rounding<T> *)operands[lane])->c->v[i];
    for (int lane = 0; lane < GPU_WAVE; lane++)
        for (int i = 0; i < SIMT_TILE_K; i++)
            ((const simt_rounding<T> *)operands[lane])->v[i] =
                gpu_from_float<T>(c[simt_tile_across(lane)][simt_tile_k(lane, i)]);
}
/* a = c rounded to T. */
template <typename T> GPU_DEVICE void gpu_tile_round(gpu_tile_a<T> &a, const gpu_tile_c &c, SIMT_CALLER)
{
    simt_rounding<T> r = {&c, a.v};
    simt_meet(SIMT_FULL_WAVE, SIMT_SITE, simt_round<T>, &r);
}
/* b = the transpose of c, rounded to T. */
template <typename T>
GPU_DEVICE void gpu_tile_round_transposed(gpu_tile_b<T> &b, const gpu_tile_c &c, SIMT_CALLER)
{
    simt_rounding<T> r = {&c, b.v};
    simt_meet(SIMT_FULL_WAVE, SIMT_SITE, simt_round<T>, &r);
}

#endif
