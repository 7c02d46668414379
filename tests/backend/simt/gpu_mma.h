/* Matrix tiles on the SIMT machine: C[16,16] += A[16,16] · B[16,16], one wave per tile. T is a 16-bit type, or float
 * rounded to tf32; C is float. A kernel must not depend on which lane holds which element, so there are three layouts,
 * those of the instructions of three chips:
 *
 *   v_mfma_f32_16x16x16  waves of 64; part = lane / 16
 *                        A  row lane % 16, k = 4·part + i            C  rows 4·part + i, column lane % 16
 *                        B  column lane % 16, the same k
 *   v_wmma_f32_16x16x16  waves of 32; part = lane / 16
 *                        A  row lane % 16, all k, in both parts      C  rows 2·i + part, column lane % 16
 *                        B  column lane % 16, likewise
 *   mma.m16n8k16         waves of 32 with SIMT_BACKGROUND; g = lane / 4, t = lane % 4; pairs of neighbours
 *                        A  rows g, g+8, k from 2t, 2t+8             C  rows g, g+8, columns from 2t, 2t+8
 *                        B  k from 2t, 2t+8, columns g, g+8 */
#ifndef TT_GPU_MMA_H
#define TT_GPU_MMA_H

#include "backend/gpu/gpu.h"

struct simt_at {
    int row, col;
};

#if GPU_WAVE == 64
enum { SIMT_TILE_K = 4, GPU_TILE_ROWS = 4, SIMT_TILE_SHARERS = 16 };
GPU_DEVICE simt_at simt_a_at(int lane, int i) { return {lane % 16, lane / 16 * 4 + i}; }
GPU_DEVICE simt_at simt_b_at(int lane, int i) { return {lane / 16 * 4 + i, lane % 16}; }
GPU_DEVICE simt_at simt_c_at(int lane, int i) { return {lane / 16 * 4 + i, lane % 16}; }
GPU_DEVICE int simt_slot_of(int i) { return i; }
#elif defined SIMT_BACKGROUND
enum { SIMT_TILE_K = 8, GPU_TILE_ROWS = 2, SIMT_TILE_SHARERS = 4 };
GPU_DEVICE simt_at simt_a_at(int lane, int i) { return {lane / 4 + i / 2 % 2 * 8, lane % 4 * 2 + i / 4 * 8 + i % 2}; }
GPU_DEVICE simt_at simt_b_at(int lane, int i) { return {lane % 4 * 2 + i / 2 % 2 * 8 + i % 2, lane / 4 + i / 4 * 8}; }
GPU_DEVICE simt_at simt_c_at(int lane, int i) { return {lane / 4 + i / 2 % 2 * 8, lane % 4 * 2 + i / 4 * 8 + i % 2}; }
GPU_DEVICE int simt_slot_of(int i) { return i / 2 % 2; }
#else
enum { SIMT_TILE_K = 16, GPU_TILE_ROWS = 8, SIMT_TILE_SHARERS = 16 };
GPU_DEVICE simt_at simt_a_at(int lane, int i) { return {lane % 16, i}; }
GPU_DEVICE simt_at simt_b_at(int lane, int i) { return {i, lane % 16}; }
GPU_DEVICE simt_at simt_c_at(int lane, int i) { return {2 * i + lane / 16, lane % 16}; }
GPU_DEVICE int simt_slot_of(int i) { return i; }
#endif
enum { SIMT_TILE_C = 256 / GPU_WAVE }; /* elements of C in a lane; of A and B: SIMT_TILE_K */

template <typename T> struct gpu_tile_a {
    T v[SIMT_TILE_K];
};
template <typename T> struct gpu_tile_b {
    T v[SIMT_TILE_K];
};
struct gpu_tile_c {
    float v[SIMT_TILE_C];
};

/* ---- between tiles and shared memory ---- */

/* v[i] = p[row·ld + col], or p[col·ld + row], for the elements of this lane. */
template <typename T> GPU_DEVICE void simt_tile_load(T *v, simt_at (*at)(int, int), const T *p, int ld, bool transposed)
{
    if ((uintptr_t)p % 16 || (size_t)ld * sizeof(T) % 16)
        simt_fault("a row of a matrix tile is not on a multiple of 16 bytes");
    for (int i = 0; i < SIMT_TILE_K; i++) {
        simt_at e = at(gpu_lane(), i);
        v[i] = transposed ? p[e.col * ld + e.row] : p[e.row * ld + e.col];
    }
}
/* A[m][k] at p[m·ld + k]; transposed: at p[k·ld + m]. */
template <typename T> GPU_DEVICE void gpu_tile_load(gpu_tile_a<T> &a, const T *p, int ld)
{
    simt_tile_load(a.v, simt_a_at, p, ld, false);
}
template <typename T> GPU_DEVICE void gpu_tile_load_transposed(gpu_tile_a<T> &a, const T *p, int ld)
{
    simt_tile_load(a.v, simt_a_at, p, ld, true);
}
/* B[k][n] at p[k·ld + n]; transposed: at p[n·ld + k]. */
template <typename T> GPU_DEVICE void gpu_tile_load(gpu_tile_b<T> &b, const T *p, int ld)
{
    simt_tile_load(b.v, simt_b_at, p, ld, false);
}
template <typename T> GPU_DEVICE void gpu_tile_load_transposed(gpu_tile_b<T> &b, const T *p, int ld)
{
    simt_tile_load(b.v, simt_b_at, p, ld, true);
}

GPU_DEVICE void gpu_tile_fill(gpu_tile_c &c, float x)
{
    for (int i = 0; i < SIMT_TILE_C; i++) c.v[i] = x;
}

/* p[m·ld + n] = c rounded to T. */
template <typename T> GPU_DEVICE void gpu_tile_store(T *p, int ld, const gpu_tile_c &c)
{
    for (int i = 0; i < SIMT_TILE_C; i++) {
        simt_at e = simt_c_at(gpu_lane(), i);
        p[e.row * ld + e.col] = gpu_from_float<T>(c.v[i]);
    }
}

/* ---- the elements in a lane ---- */

GPU_DEVICE int gpu_tile_row_of(int slot)
{
    int i = 0;
    while (simt_slot_of(i) != slot) i++;
    return simt_c_at(gpu_lane(), i).row;
}
template <typename F> GPU_DEVICE void gpu_tile_each_pair(gpu_tile_c &x, const gpu_tile_c &y, F f)
{
    for (int i = 0; i < SIMT_TILE_C; i++) {
        simt_at e = simt_c_at(gpu_lane(), i);
        f(simt_slot_of(i), e.row, e.col, x.v[i], y.v[i]);
    }
}
template <typename F> GPU_DEVICE void gpu_tile_each_slot(gpu_tile_c &c, F f)
{
    gpu_tile_each_pair(c, c, [&](int slot, int row, int col, float &x, float) { f(slot, row, col, x); });
}
template <typename F> GPU_DEVICE void gpu_tile_each(gpu_tile_c &c, F f)
{
    gpu_tile_each_pair(c, c, [&](int, int row, int col, float &x, float) { f(row, col, x); });
}

/* Over the lanes that share a row; they are neighbours. */
GPU_DEVICE float gpu_tile_row_max(float x) { return gpu_group_max<SIMT_TILE_SHARERS>(x); }
GPU_DEVICE float gpu_tile_row_sum(float x) { return gpu_group_sum<SIMT_TILE_SHARERS>(x); }

/* ---- whole tiles, put together from the operands of a wave's lanes ---- */

template <typename T> struct simt_tiles {
    const gpu_tile_a<T> *a;
    const gpu_tile_b<T> *b;
    gpu_tile_c *c;
};

/* Stores a lane's element at its position. Lanes that hold the same element must agree on its value. */
GPU_DEVICE void simt_gather(float *matrix, uint64_t *placed, int at, float x)
{
    uint64_t bit = (uint64_t)1 << at % 64;
    if ((placed[at / 64] & bit) && memcmp(matrix + at, &x, sizeof x))
        return simt_fault("two lanes hold different values of one operand of a matrix instruction");
    placed[at / 64] |= bit;
    matrix[at] = x;
}

/* A factor as the instruction sees it: floats are rounded to tf32. */
template <typename T> GPU_DEVICE float simt_factor(T x) { return gpu_to_float(x); }
GPU_DEVICE float simt_factor(float x)
{
    uint32_t bits;
    if (x != x) return x;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0x1000) & ~0x1fffu;
    memcpy(&x, &bits, sizeof x);
    return x;
}

template <typename T> GPU_DEVICE void simt_multiply(void *const *operands)
{
    float matrices[3 * 256], *a = matrices, *b = a + 256, *c = b + 256; /* a[k][m], b[k][n], c[m][n] */
    uint64_t placed[8] = {0};
    for (int lane = 0; lane < GPU_WAVE; lane++) {
        const simt_tiles<T> *t = (const simt_tiles<T> *)operands[lane];
        const T *av = t->a->v, *bv = t->b->v;
        for (int i = 0; i < SIMT_TILE_K; i++) {
            simt_at x = simt_a_at(lane, i), y = simt_b_at(lane, i);
            simt_gather(a, placed, x.col * 16 + x.row, simt_factor(av[i]));
            simt_gather(b, placed + 4, y.row * 16 + y.col, simt_factor(bv[i]));
        }
    }
    memset(c, 0, 256 * sizeof *c);
    simt_product(a, b, c);
    for (int lane = 0; lane < GPU_WAVE; lane++) {
        float *v = ((const simt_tiles<T> *)operands[lane])->c->v;
        for (int i = 0; i < SIMT_TILE_C; i++) {
            simt_at e = simt_c_at(lane, i);
            v[i] += c[e.row * 16 + e.col];
        }
    }
}
template <typename T>
GPU_DEVICE void gpu_tile_mma(gpu_tile_c &c, const gpu_tile_a<T> &a, const gpu_tile_b<T> &b, SIMT_CALLER)
{
    simt_tiles<T> t = {&a, &b, &c};
    simt_meet(SIMT_FULL_WAVE, SIMT_SITE, simt_multiply<T>, &t);
}

template <typename T> struct simt_rounding {
    const gpu_tile_c *c;
    T *v;
    simt_at (*at)(int, int); /* the layout of v */
    bool transposed;
};
template <typename T> GPU_DEVICE void simt_round(void *const *operands)
{
    float c[16][16];
    for (int lane = 0; lane < GPU_WAVE; lane++)
        for (int i = 0; i < SIMT_TILE_C; i++) {
            simt_at e = simt_c_at(lane, i);
            c[e.row][e.col] = ((const simt_rounding<T> *)operands[lane])->c->v[i];
        }
    for (int lane = 0; lane < GPU_WAVE; lane++) {
        const simt_rounding<T> *r = (const simt_rounding<T> *)operands[lane];
        for (int i = 0; i < SIMT_TILE_K; i++) {
            simt_at e = r->at(lane, i);
            r->v[i] = gpu_from_float<T>(r->transposed ? c[e.col][e.row] : c[e.row][e.col]);
        }
    }
}
/* a = c rounded to T. */
template <typename T> GPU_DEVICE void gpu_tile_round(gpu_tile_a<T> &a, const gpu_tile_c &c, SIMT_CALLER)
{
    simt_rounding<T> r = {&c, a.v, simt_a_at, false};
    simt_meet(SIMT_FULL_WAVE, SIMT_SITE, simt_round<T>, &r);
}
/* b = the transpose of c, rounded to T. */
template <typename T> GPU_DEVICE void gpu_tile_round_transposed(gpu_tile_b<T> &b, const gpu_tile_c &c, SIMT_CALLER)
{
    simt_rounding<T> r = {&c, b.v, simt_b_at, true};
    simt_meet(SIMT_FULL_WAVE, SIMT_SITE, simt_round<T>, &r);
}

#endif
