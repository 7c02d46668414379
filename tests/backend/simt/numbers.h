/* 16-bit numbers in software, rounded to nearest, ties to even. */
#ifndef TT_SIMT_NUMBERS_H
#define TT_SIMT_NUMBERS_H

#include <stdint.h>
#include <string.h>

struct gpu_bf16 {
    uint16_t bits;
};
struct gpu_half {
    uint16_t bits;
};

static inline uint32_t simt_float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline float simt_bits_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float simt_widen(float x) { return x; }
static inline float simt_widen(gpu_bf16 x) { return simt_bits_float((uint32_t)x.bits << 16); }
static inline float simt_widen(gpu_half x)
{
    uint32_t sign = (uint32_t)(x.bits & 0x8000) << 16, rest = x.bits & 0x7fffu;
    if (rest >= 0x7c00) return simt_bits_float(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    /* These bits as a float are 2^112 times too small; the factor also normalises fp16's subnormals. */
    float size = simt_bits_float(rest << 13) * 0x1p112f;
    return simt_bits_float(sign | simt_float_bits(size));
}

static inline gpu_bf16 simt_narrow(float x, gpu_bf16)
{
    uint32_t bits = simt_float_bits(x);
    if ((bits & 0x7fffffff) > 0x7f800000) return {0x7fff};
    return {(uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
static inline gpu_half simt_narrow(float x, gpu_half)
{
    uint32_t bits = simt_float_bits(x), sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) return {0x7fff};
    if (bits >= 0x477ff000) return {(uint16_t)(sign | 0x7c00)}; /* from 65520 on: infinity */
    if (bits < 0x38800000) /* below 2^-14: adding 0.5 rounds to a multiple of 2^-24 in the low bits */
        return {(uint16_t)(sign | (simt_float_bits(simt_bits_float(bits) + 0.5f) - 0x3f000000))};
    return {(uint16_t)(sign | (bits - 0x38000000 + 0xfff + (bits >> 13 & 1)) >> 13)};
}

#endif
