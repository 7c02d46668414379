/* Matrix tiles on AMD GPUs: C[16,16] += A[16,16] · B[16,16], T 16-bit, C float, in the names of backend/gpu/platform.h.
 * A wave owns a tile.
 *
 * The instructions are v_mfma_f32_16x16x16 (gfx90a, gfx942, gfx950) and v_wmma_f32_16x16x16 (gfx11, gfx12). All of them
 * take the first operand by rows and the second by columns, and give the result by columns. Here they get B^T and A^T
 * and so give C^T, which is C by rows: with line = lane % 16 and part = lane / 16,
 *   A  row line, its columns part·N .. part·N + N-1     N = 256 / wave width
 *   B  column line, its rows the same                   gfx11: all 16 columns or rows, in both parts of the wave
 *   C  row line, its columns the same                   gfx11: columns 2i + part
 * The result of one product is then an operand of the next without moves between lanes (except on gfx11), and a row is
 * in a few lanes at a distance of 16. Chips without such an instruction multiply by shuffles: correct but slow.
 *
 * Tiles are loaded from shared memory, where each row of 8 elements must start at a multiple of 16 bytes. */
#ifndef TT_HIP_GPU_MMA_H
#define TT_HIP_GPU_MMA_H

#include "gpu_platform.h"

#if defined(TT_GPU_PLAIN_TILES) /* for tests: multiply by shuffles */
#elif defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) ||                      \
    defined(__gfx950__) || defined(__gfx9_4_generic__)
#define GPU_MFMA 1
#elif defined(__GFX11__)
#define GPU_WMMA11 1
#elif defined(__GFX12__) && !defined(__gfx1250__) && !defined(__gfx1251__)
#define GPU_WMMA12 1
#endif

#ifdef GPU_WMMA11
enum { GPU_TILE_VALUES = 8, GPU_TILE_WORDS = 8 };
#else
enum { GPU_TILE_VALUES = 256 / GPU_WAVE, GPU_TILE_WORDS = GPU_TILE_VALUES / 2 };
#endif
enum { GPU_TILE_RUN = GPU_TILE_VALUES / 2 }; /* words of a lane's part of a row */

typedef float gpu_tile_floats __attribute__((ext_vector_type(GPU_TILE_VALUES)));
typedef uint32_t gpu_tile_words __attribute__((ext_vector_type(GPU_TILE_WORDS)));
typedef uint32_t gpu_tile_run __attribute__((ext_vector_type(GPU_TILE_RUN), may_alias));
typedef uint16_t gpu_tile_bits __attribute__((may_alias));

template <typename T> struct gpu_tile_a {
    gpu_tile_words w;
};
template <typename T> struct gpu_tile_b {
    gpu_tile_words w;
};
struct gpu_tile_c {
    gpu_tile_floats v;
};

GPU_DEVICE int gpu_tile_line(void) { return gpu_lane() % 16; }
GPU_DEVICE int gpu_tile_part(void) { return gpu_lane() / 16; }
GPU_DEVICE int gpu_tile_column(int i)
{
#ifdef GPU_WMMA11
    return 2 * i + gpu_tile_part();
#else
    return gpu_tile_part() * GPU_TILE_VALUES + i;
#endif
}

/* ---- loads ---- */

#ifdef GPU_WMMA11
/* The word of the lane 16 away. */
GPU_DEVICE uint32_t gpu_other_half(uint32_t x)
{
    return __builtin_amdgcn_permlanex16(x, x, 0x76543210u, 0xfedcba98u, true, false);
}
#endif

/* Loads 16 lines of 16 elements with stride ld; each lane gets its part of one line. */
GPU_DEVICE gpu_tile_words gpu_tile_lines(const void *p, int ld)
{
    const gpu_tile_bits *line = (const gpu_tile_bits *)p + gpu_tile_line() * ld;
#ifdef GPU_WMMA11
    gpu_words4 low = *(const gpu_words4 *)line, high = *(const gpu_words4 *)(line + 8);
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
#else
    return *(const gpu_tile_run *)(line + gpu_tile_part() * GPU_TILE_VALUES);
#endif
}
/* The same for lines that are columns in memory: element k of a line is at distance k·ld from its first. */
GPU_DEVICE gpu_tile_words gpu_tile_columns(const void *p, int ld)
{
    const gpu_tile_bits *first = (const gpu_tile_bits *)p + gpu_tile_part() * GPU_TILE_VALUES * ld + gpu_tile_line();
    gpu_tile_run run;
    GPU_UNROLL
    for (int i = 0; i < GPU_TILE_RUN; i++)
        run[i] = (uint32_t)first[2 * i * ld] | (uint32_t)first[(2 * i + 1) * ld] << 16;
#ifdef GPU_WMMA11
    gpu_tile_words w;
    GPU_UNROLL
    for (int i = 0; i < GPU_TILE_RUN; i++) {
        uint32_t other = gpu_other_half(run[i]);
        w[i] = gpu_tile_part() ? other : run[i];
        w[i + GPU_TILE_RUN] = gpu_tile_part() ? run[i] : other;
    }
    return w;
#else
    return run;
#endif
}

/* A[m][k] at p[m·ld + k]; transposed: at p[k·ld + m]. */
template <typename T> GPU_DEVICE void gpu_tile_load(gpu_tile_a<T> &a, const T *p, int ld)
{
    a.w = gpu_tile_lines(p, ld);
}
template <typename T> GPU_DEVICE void gpu_tile_load_transposed(gpu_tile_a<T> &a, const T *p, int ld)
{
    a.w = gpu_tile_columns(p, ld);
}
/* B[k][n] at p[k·ld + n]; transposed: at p[n·ld + k]. */
template <typename T> GPU_DEVICE void gpu_tile_load(gpu_tile_b<T> &b, const T *p, int ld)
{
    b.w = gpu_tile_columns(p, ld);
}
template <typename T> GPU_DEVICE void gpu_tile_load_transposed(gpu_tile_b<T> &b, const T *p, int ld)
{
    b.w = gpu_tile_lines(p, ld);
}

GPU_DEVICE void gpu_tile_fill(gpu_tile_c &c, float x) { c.v = x; }

/* ---- products ---- */

#if defined(GPU_MFMA) || defined(GPU_WMMA11) || defined(GPU_WMMA12)
typedef int16_t gpu_tile_shorts __attribute__((ext_vector_type(2 * GPU_TILE_WORDS))); /* the builtins' bf16 operand */
typedef gpu_half gpu_tile_halves __attribute__((ext_vector_type(2 * GPU_TILE_WORDS)));
#if defined(GPU_MFMA)
#define GPU_MMA_BF16(x, y, z) __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x, y, z, 0, 0, 0)
#define GPU_MMA_F16(x, y, z) __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, z, 0, 0, 0)
#elif defined(GPU_WMMA11)
#define GPU_MMA_BF16(x, y, z) __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(x, y, z)
#define GPU_MMA_F16(x, y, z) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(x, y, z)
#else
#define GPU_MMA_BF16(x, y, z) __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(x, y, z)
#define GPU_MMA_F16(x, y, z) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(x, y, z)
#endif

GPU_DEVICE gpu_tile_floats gpu_tile_multiply(gpu_tile_words a, gpu_tile_words b, gpu_tile_floats c, gpu_bf16)
{
    return GPU_MMA_BF16(__builtin_bit_cast(gpu_tile_shorts, b), __builtin_bit_cast(gpu_tile_shorts, a), c);
}
GPU_DEVICE gpu_tile_floats gpu_tile_multiply(gpu_tile_words a, gpu_tile_words b, gpu_tile_floats c, gpu_half)
{
    return GPU_MMA_F16(__builtin_bit_cast(gpu_tile_halves, b), __builtin_bit_cast(gpu_tile_halves, a), c);
}
#else
/* By shuffles: every lane gets its row of A, and the columns of B that its part of C needs. */
template <typename T>
GPU_DEVICE gpu_tile_floats gpu_tile_multiply(gpu_tile_words a, gpu_tile_words b, gpu_tile_floats c, T)
{
    GPU_UNROLL_BY(1)
    for (int part = 0; part < GPU_WAVE / 16; part++)
        GPU_UNROLL
        for (int w = 0; w < GPU_TILE_WORDS; w++) {
            float a0, a1, b0, b1;
            gpu_unpack2<T>(gpu_shfl(a[w], part * 16 + gpu_tile_line()), a0, a1);
            GPU_UNROLL
            for (int i = 0; i < GPU_TILE_VALUES; i++) {
                gpu_unpack2<T>(gpu_shfl(b[w], part * 16 + gpu_tile_column(i)), b0, b1);
                c[i] = gpu_fma(a1, b1, gpu_fma(a0, b0, c[i]));
            }
        }
    return c;
}
#endif

/* c += a·b */
template <typename T> GPU_DEVICE void gpu_tile_mma(gpu_tile_c &c, const gpu_tile_a<T> &a, const gpu_tile_b<T> &b)
{
    c.v = gpu_tile_multiply(a.w, b.w, c.v, T());
}

/* ---- elements ---- */

/* f(row, col, value&) for each element that this lane holds. */
template <typename F> GPU_DEVICE void gpu_tile_each(gpu_tile_c &c, F f)
{
    GPU_UNROLL
    for (int i = 0; i < GPU_TILE_VALUES; i++) {
        float x = c.v[i];
        f(gpu_tile_line(), gpu_tile_column(i), x);
        c.v[i] = x;
    }
}

/* A lane's elements are in GPU_TILE_ROWS rows of the tile; row_of(s) is the row of slot s. each_slot is `each` with the
 * slot as first argument, so that a value per row (a maximum, a sum, a scale) is an array indexed by slot. */
enum { GPU_TILE_ROWS = 1 };
GPU_DEVICE int gpu_tile_row_of(int) { return gpu_tile_line(); }
template <typename F> GPU_DEVICE void gpu_tile_each_slot(gpu_tile_c &c, F f)
{
    gpu_tile_each(c, [&](int row, int col, float &x) { f(0, row, col, x); });
}
/* f(slot, row, col, x&, y) for each element that this lane holds of two tiles. */
template <typename F> GPU_DEVICE void gpu_tile_each_pair(gpu_tile_c &x, const gpu_tile_c &y, F f)
{
    GPU_UNROLL
    for (int i = 0; i < GPU_TILE_VALUES; i++) {
        float value = x.v[i];
        f(0, gpu_tile_line(), gpu_tile_column(i), value, y.v[i]);
        x.v[i] = value;
    }
}

/* Reductions over the lanes that share a row; each of them gets the result. */
GPU_DEVICE float gpu_tile_row_max(float x)
{
    GPU_UNROLL
    for (int mask = 16; mask < GPU_WAVE; mask *= 2) x = gpu_max(x, gpu_shfl_xor(x, mask));
    return x;
}
GPU_DEVICE float gpu_tile_row_sum(float x)
{
    GPU_UNROLL
    for (int mask = 16; mask < GPU_WAVE; mask *= 2) x += gpu_shfl_xor(x, mask);
    return x;
}

/* ---- rounding ---- */

/* The rows of c, rounded to T, in the layout of an operand. */
template <typename T> GPU_DEVICE gpu_tile_words gpu_tile_rounded(const gpu_tile_c &c)
{
    gpu_tile_run own;
    GPU_UNROLL
    for (int i = 0; i < GPU_TILE_RUN; i++) own[i] = gpu_pack2<T>(c.v[2 * i], c.v[2 * i + 1]);
#ifdef GPU_WMMA11
    /* A part has every second column, so the columns of both parts are interleaved. Selectors name bytes; 0 to 3 are
     * those of `own`. */
    uint32_t even = gpu_tile_part() ? 0x01000504u : 0x05040100u, odd = gpu_tile_part() ? 0x03020706u : 0x07060302u;
    gpu_tile_words w;
    GPU_UNROLL
    for (int i = 0; i < GPU_TILE_RUN; i++) {
        uint32_t other = gpu_other_half(own[i]);
        w[2 * i] = __builtin_amdgcn_perm(other, own[i], even);
        w[2 * i + 1] = __builtin_amdgcn_perm(other, own[i], odd);
    }
    return w;
#else
    return own;
#endif
}

/* a = c rounded to T: the result of one product becomes an operand of the next. */
template <typename T> GPU_DEVICE void gpu_tile_round(gpu_tile_a<T> &a, const gpu_tile_c &c)
{
    a.w = gpu_tile_rounded<T>(c);
}
/* b = the transpose of c, rounded to T. */
template <typename T> GPU_DEVICE void gpu_tile_round_transposed(gpu_tile_b<T> &b, const gpu_tile_c &c)
{
    b.w = gpu_tile_rounded<T>(c);
}

/* p[m·ld + n] = c rounded to T, in shared memory. */
template <typename T> GPU_DEVICE void gpu_tile_store(T *p, int ld, const gpu_tile_c &c)
{
    gpu_tile_words w = gpu_tile_rounded<T>(c);
    T *to = p + gpu_tile_line() * ld + gpu_tile_part() * GPU_TILE_VALUES;
#ifdef GPU_WMMA11
    gpu_words4 low = {w[0], w[1], w[2], w[3]}, high = {w[4], w[5], w[6], w[7]};
    *(gpu_words4 *)to = gpu_tile_part() ? high : low;
#else
    *(gpu_tile_run *)to = w;
#endif
}

#endif
