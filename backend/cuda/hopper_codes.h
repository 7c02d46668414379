/* 8-bit codes of a warp's 16 rows of a product's result, as they are and transposed, without shared memory.
 *
 * A lane has a word of four codes for every eight columns: of rows g and g + 8, columns 2·t and 2·t + 1 of the eight,
 * where g = lane / 4 and t = lane % 4. Four lanes of a row exchange their words for rows of codes, eight lanes of a
 * column for columns. */
#ifndef TT_CUDA_HOPPER_CODES_H
#define TT_CUDA_HOPPER_CODES_H

#include "backend/cuda/hopper.h"
#include "backend/gpu/fp8.h"

/* The codes of what hopper_store stores of c. */
template <typename T, int D, enum tt_dtype TO>
GPU_DEVICE void hopper_codes(uint32_t (&words)[D / 8], const float (&c)[D / 2], const float (&factor)[2], float scale)
{
    float inverse = tt_fp8_inverse(scale);
    GPU_UNROLL
    for (int j = 0; j < D / 8; j++) {
        float v[4];
        GPU_UNROLL
        for (int i = 0; i < 4; i++) v[i] = gpu_to_float(gpu_from_float<T>(c[4 * j + i] * factor[i / 2]));
        words[j] = gpu_fp8_codes4<TO>(v, inverse);
    }
}

/* The lower halves of two words, or the upper ones. */
GPU_DEVICE uint32_t hopper_halves(uint32_t a, uint32_t b, bool upper)
{
    return upper ? a >> 16 | (b & 0xffff0000) : (a & 0xffff) | b << 16;
}

/* Stores them to rows of `out` with stride ld, the first `count` of 16. */
template <int D> GPU_DEVICE void hopper_store_codes(uint8_t *out, int64_t ld, const uint32_t (&words)[D / 8], int count)
{
    int g = gpu_lane() / 4, t = gpu_lane() % 4;
    GPU_UNROLL
    for (int j = 0; j < D / 8; j += 4) {
        uint32_t x[4] = {words[j], words[j + 1], words[j + 2], words[j + 3]};
        hopper_transpose4(x);
        GPU_UNROLL
        for (int r = 0; r < 2; r++)
            if (g + 8 * r < count)
                *(gpu_bytes8 *)(out + (g + 8 * r) * ld + 8 * (j + t)) =
                    gpu_bytes8{{hopper_halves(x[0], x[1], r), hopper_halves(x[2], x[3], r)}};
    }
}

/* Transposes an 8x8 matrix over the eight lanes of a column: that of row g has column g before and row g after. */
GPU_DEVICE void hopper_transpose8(uint32_t (&x)[8])
{
    GPU_UNROLL
    for (int step = 1; step < 8; step *= 2) {
        bool upper = gpu_lane() / 4 & step;
        GPU_UNROLL
        for (int i = 0; i < 8; i++) {
            if (i & step) continue;
            uint32_t other = gpu_shfl_xor(upper ? x[i] : x[i | step], 4 * step);
            if (upper)
                x[i] = other;
            else
                x[i | step] = other;
        }
    }
}

/* Byte `of` of four words. */
GPU_DEVICE uint32_t hopper_bytes(const uint32_t *x, int of)
{
    uint32_t w = 0;
    GPU_UNROLL
    for (int i = 0; i < 4; i++) w |= (x[i] >> 8 * of & 0xff) << 8 * i;
    return w;
}

/* Stores them transposed: column c to `out` + c·ld. `wide`: 16 bytes at a time, all or none of the rows. */
template <int D>
GPU_DEVICE void hopper_store_transposed(uint8_t *out, int64_t ld, const uint32_t (&words)[D / 8], int count, bool wide)
{
    GPU_UNROLL
    for (int j = 0; j < D / 8; j += 8) {
        uint32_t x[8];
        GPU_UNROLL
        for (int i = 0; i < 8; i++) x[i] = words[j + i];
        hopper_transpose8(x);
        GPU_UNROLL
        for (int c = 0; c < 2; c++) {
            gpu_bytes16 rows = {{hopper_bytes(x, c), hopper_bytes(x + 4, c), hopper_bytes(x, 2 + c),
                                 hopper_bytes(x + 4, 2 + c)}};
            uint8_t *to = out + (8 * (j + gpu_lane() / 4) + gpu_lane() % 4 * 2 + c) * ld;
            if (wide && count > 0) gpu_store16(to, rows);
            GPU_UNROLL
            for (int r = 0; r < 16; r++)
                if (!wide && r < count) to[r] = (uint8_t)(rows.w[r / 4] >> r % 4 * 8);
        }
    }
}

#endif
