/* SIMD vectors of the width of this instruction set, and functions on rows that the kernels use. Sums use several
 * accumulators in an order fixed at compile time. */
#ifndef TT_CPU_SIMD_H
#define TT_CPU_SIMD_H

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
enum { LANES = VECTOR_BYTES / 4 };

typedef float vec __attribute__((vector_size(VECTOR_BYTES)));
typedef uint32_t bits __attribute__((vector_size(VECTOR_BYTES)));
typedef float vec_unaligned __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline, unused))

INLINE vec load(const float *p) { return *(const vec_unaligned *)p; }
INLINE void store(float *p, vec v) { *(vec_unaligned *)p = v; }

/* The maximum in each lane. The result for NaN differs between instruction sets; callers must not depend on it. */
INLINE vec larger_of(vec a, vec b)
{
#if defined(__aarch64__)
    return vmaxnmq_f32(a, b);
#elif defined(__AVX512F__)
    return _mm512_max_ps(a, b);
#elif defined(__AVX__)
    return _mm256_max_ps(a, b);
#elif defined(__SSE2__)
    return _mm_max_ps(a, b);
#else
    bits greater = (bits)(a > b);
    return (vec)((greater & (bits)a) | (~greater & (bits)b));
#endif
}

INLINE float lanes_sum(vec v)
{
    float s[LANES];
    store(s, v);
    for (int w = LANES / 2; w; w /= 2)
        for (int i = 0; i < w; i++) s[i] += s[i + w];
    return s[0];
}

/* e^x = 2^n · e^r with x = n·ln2 + r: e^r by a minimax polynomial, without branches, to 1 ulp. Adding 1.5·2^23 leaves
 * n, rounded to nearest, in the low bits of the sum. The macros work on floats and vectors. */
#define EXP_ROUND 12582912.0f
#define EXP_REST(x, n) ((x - n * 0.693359375f) + n * 2.12194440e-4f)
#define EXP_POLYNOMIAL(r)                                                                          \
    ((((((1.383679337e-3f * r + 8.374856785e-3f) * r + 4.166822881e-2f) * r + 1.666641980e-1f) * r + \
       4.999999106e-1f) * r + 1.0f) * r + 1.0f)

union float_bits {
    float f;
    uint32_t u;
};

/* For x <= 88, which is enough for softmax and sigmoid: n is added to the exponent bits. Below x = -86.5, where the
 * result would be subnormal, it is 0. NaN stays NaN. */
INLINE float exp_most(float x)
{
    union float_bits t = {x * 1.44269504f + EXP_ROUND}, p;
    float n = t.f - EXP_ROUND, r = EXP_REST(x, n);
    p.f = EXP_POLYNOMIAL(r);
    p.u += t.u << 23;
    return x < -86.5f ? 0.0f : p.f;
}

INLINE vec exp_most_vec(vec x)
{
    vec t = x * 1.44269504f + EXP_ROUND, n = t - EXP_ROUND, r = EXP_REST(x, n), p = EXP_POLYNOMIAL(r);
    return (vec)(((bits)p + ((bits)t << 23)) & ~(bits)(x < -86.5f));
}

/* For any x, from subnormal results to infinity; so 2^n is applied as two factors. NaN stays NaN. */
INLINE float exp_any(float x)
{
    x = -104.0f > x ? -104.0f : x; /* e^-104 rounds to 0 */
    x = 89.0f < x ? 89.0f : x;     /* e^89 overflows to infinity */
    union float_bits t = {x * 1.44269504f + EXP_ROUND}, zero = {EXP_ROUND}, s1, s2;
    float n = t.f - EXP_ROUND, r = EXP_REST(x, n);
    uint32_t k = t.u - zero.u, half = (uint32_t)((int32_t)k >> 1);
    s1.u = (half + 127u) << 23;
    s2.u = (k - half + 127u) << 23;
    return EXP_POLYNOMIAL(r) * s1.f * s2.f;
}

/* May return a number for NaN; callers multiply by x, which makes it NaN again. */
INLINE float sigmoid(float x) { return 1.0f / (1.0f + exp_most(x > -88.0f ? -x : 88.0f)); }
INLINE vec sigmoid_vec(vec x) { return 1.0f / (1.0f + exp_most_vec(-larger_of(x, (vec){0} - 88.0f))); }

/* LOOP(n, BODY) runs BODY(type, get, put, sigmoid) for i in 0..n-1, first in vectors and then one by one, so that a
 * formula is written only once. */
#define GET_ONE(p) (*(p))
#define PUT_ONE(p, value) (*(p) = (value))
#define LOOP(n, BODY)                                                                              \
    do {                                                                                           \
        int64_t i = 0;                                                                             \
        for (; i + LANES <= (n); i += LANES) BODY(vec, load, store, sigmoid_vec)                   \
        for (; i < (n); i++) BODY(float, GET_ONE, PUT_ONE, sigmoid)                                \
    } while (0)

/* Long sums are accumulated in double every SUM_RUN elements. */
enum { SUM_RUN = 2048 };

#define SUM_OVER(n, vector_term, scalar_term)                                                      \
    double total = 0;                                                                              \
    for (int64_t from = 0; from < (n); from += SUM_RUN) {                                          \
        int64_t to = smaller((n), from + SUM_RUN), i = from;                                       \
        vec s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};                                                \
        for (; i + 4 * LANES <= to; i += 4 * LANES) {                                              \
            s0 += vector_term(i);                                                                  \
            s1 += vector_term(i + LANES);                                                          \
            s2 += vector_term(i + 2 * LANES);                                                      \
            s3 += vector_term(i + 3 * LANES);                                                      \
        }                                                                                          \
        float s = lanes_sum((s0 + s1) + (s2 + s3));                                                \
        for (; i < to; i++) s += scalar_term(i);                                                   \
        total += s;                                                                                \
    }                                                                                              \
    return total;

INLINE double row_sum(const float *x, int64_t n)
{
#define VECTOR(i) load(x + (i))
#define SCALAR(i) x[i]
    SUM_OVER(n, VECTOR, SCALAR)
#undef VECTOR
#undef SCALAR
}

INLINE double row_dot(const float *x, const float *y, int64_t n)
{
#define VECTOR(i) (load(x + (i)) * load(y + (i)))
#define SCALAR(i) x[i] * y[i]
    SUM_OVER(n, VECTOR, SCALAR)
#undef VECTOR
#undef SCALAR
}

INLINE double row_dot3(const float *x, const float *y, const float *z, int64_t n)
{
#define VECTOR(i) (load(x + (i)) * load(y + (i)) * load(z + (i)))
#define SCALAR(i) x[i] * y[i] * z[i]
    SUM_OVER(n, VECTOR, SCALAR)
#undef VECTOR
#undef SCALAR
}

/* May ignore NaN; the sum that follows becomes NaN. */
INLINE float row_max(const float *x, int64_t n)
{
    vec none = (vec){0} - INFINITY, m0 = none, m1 = none, m2 = none, m3 = none;
    float lanes[LANES], m = -INFINITY;
    int64_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        m0 = larger_of(load(x + i), m0);
        m1 = larger_of(load(x + i + LANES), m1);
        m2 = larger_of(load(x + i + 2 * LANES), m2);
        m3 = larger_of(load(x + i + 3 * LANES), m3);
    }
    store(lanes, larger_of(larger_of(m0, m1), larger_of(m2, m3)));
    for (int l = 0; l < LANES; l++) m = lanes[l] > m ? lanes[l] : m;
    for (; i < n; i++) m = x[i] > m ? x[i] : m;
    return m;
}

/* The sum of e^(factor·(x - shift)); shift is the maximum of x, factor is positive. out gets the terms; it may be NULL
 * or x. */
INLINE double row_exp(float *out, const float *x, int64_t n, float shift, float factor)
{
    double total = 0;
    for (int64_t from = 0; from < n; from += SUM_RUN) {
        int64_t to = smaller(n, from + SUM_RUN), i = from;
        vec s0 = {0}, s1 = {0};
        for (; i + 2 * LANES <= to; i += 2 * LANES) {
            vec e0 = exp_most_vec(factor * (load(x + i) - shift));
            vec e1 = exp_most_vec(factor * (load(x + i + LANES) - shift));
            if (out) {
                store(out + i, e0);
                store(out + i + LANES, e1);
            }
            s0 += e0;
            s1 += e1;
        }
        float s = lanes_sum(s0 + s1);
        for (; i < to; i++) {
            float e = exp_most(factor * (x[i] - shift));
            if (out) out[i] = e;
            s += e;
        }
        total += s;
    }
    return total;
}

/* out[c,r] = factor · in[r,c] for a 4×4 block. */
INLINE void transpose_4x4(float *out, int64_t ldo, const float *in, int64_t ldi, float factor)
{
#if defined(__aarch64__)
    float32x4_t a = vld1q_f32(in), b = vld1q_f32(in + ldi), c = vld1q_f32(in + 2 * ldi), d = vld1q_f32(in + 3 * ldi);
    float32x4_t ac0 = vzip1q_f32(a, c), ac1 = vzip2q_f32(a, c), bd0 = vzip1q_f32(b, d), bd1 = vzip2q_f32(b, d);
    vst1q_f32(out, factor * vzip1q_f32(ac0, bd0));
    vst1q_f32(out + ldo, factor * vzip2q_f32(ac0, bd0));
    vst1q_f32(out + 2 * ldo, factor * vzip1q_f32(ac1, bd1));
    vst1q_f32(out + 3 * ldo, factor * vzip2q_f32(ac1, bd1));
#elif defined(__SSE2__)
    __m128 a = _mm_loadu_ps(in), b = _mm_loadu_ps(in + ldi), c = _mm_loadu_ps(in + 2 * ldi);
    __m128 d = _mm_loadu_ps(in + 3 * ldi);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(out, factor * a);
    _mm_storeu_ps(out + ldo, factor * b);
    _mm_storeu_ps(out + 2 * ldo, factor * c);
    _mm_storeu_ps(out + 3 * ldo, factor * d);
#else
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++) out[c * ldo + r] = factor * in[r * ldi + c];
#endif
}

/* out (cols, rows) = factor · in (rows, cols), transposed. */
INLINE void transpose(float *out, int64_t ldo, const float *in, int64_t ldi, int64_t rows, int64_t cols, float factor)
{
    int64_t r4 = rows / 4 * 4, c4 = cols / 4 * 4;
    for (int64_t c = 0; c < c4; c += 4)
        for (int64_t r = 0; r < r4; r += 4) transpose_4x4(out + c * ldo + r, ldo, in + r * ldi + c, ldi, factor);
    for (int64_t c = 0; c < cols; c++)
        for (int64_t r = c < c4 ? r4 : 0; r < rows; r++) out[c * ldo + r] = factor * in[r * ldi + c];
}

INLINE void row_scale(float *x, int64_t n, float factor)
{
    SIMD
    for (int64_t i = 0; i < n; i++) x[i] *= factor;
}

INLINE void row_zero(float *x, int64_t n)
{
    if (n > 0) memset(x, 0, (size_t)n * sizeof *x);
}

INLINE void row_copy(float *out, const float *x, int64_t n)
{
    if (n > 0) memcpy(out, x, (size_t)n * sizeof *x);
}

#endif
