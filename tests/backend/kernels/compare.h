/* Compares a kernel's results with a reference, and a reference with finite differences. */
#ifndef TT_TEST_COMPARE_H
#define TT_TEST_COMPARE_H

#include <float.h>

#include "backend/kernel_info.h"
#include "core/base/fp8.h"
#include "tests/backend/kernels/tensor.h"

/* Not every error is as large as the worst: the norm of all errors may be this share of the norm of the tolerances. */
#define NORM_SHARE 0.5

/* With fewer elements than this, the norm says no more than the worst element. */
enum { FEW = 32 };

struct difference {
    int64_t worst;      /* the element with the largest ratio */
    double ratio;       /* error over tolerance; infinite if only one value is finite */
    double error, size; /* Euclidean norms of the error and of the reference */
};

static inline struct difference compare(const double *got, const double *want, int64_t n, double rel, double abs)
{
    struct difference d = {0};
    for (int64_t i = 0; i < n; i++) {
        if (isinf(got[i]) && isinf(want[i]) && (got[i] > 0) == (want[i] > 0)) continue;
        double error = fabs(got[i] - want[i]), limit = abs + rel * fabs(want[i]);
        double ratio = error == 0 ? 0 : error <= DBL_MAX ? error / (limit + DBL_MIN) : (double)INFINITY;
        if (ratio > d.ratio) d.worst = i, d.ratio = ratio;
        d.error += error * error;
        d.size += want[i] * want[i];
    }
    d.error = sqrt(d.error);
    d.size = sqrt(d.size);
    return d;
}

/* The unit roundoff of a number format. */
static inline double roundoff(int type)
{
    return type == TT_BF16 ? 0x1p-8 : type == TT_F16 ? 0x1p-11 : 0x1p-24;
}

/* Every element is within abs + rel·|want|, and the norm of the errors within half of what that allows. A 16-bit output
 * may also be off by its own rounding. */
static inline void close_to(const struct tensor *t, double *want, double rel, double abs)
{
    int64_t n = t->rows * t->cols;
    for (int64_t i = 0; i < n && t->type == TT_F16; i++) /* what rounds beyond the largest fp16 number is infinite */
        if (fabs(want[i]) >= 65520) want[i] = copysign((double)INFINITY, want[i]);
    if (t->type == TT_BF16 || t->type == TT_F16) rel += 2 * roundoff(t->type), abs += roundoff(t->type) * 0x1p-6;
    struct difference d = compare(t->v, want, n, rel, abs);
    double allowed = NORM_SHARE * (rel * d.size + abs * sqrt((double)n));
    CHECK(d.ratio <= 1 && (n < FEW || d.error <= allowed),
          "%s [%s]: %s[%" PRId64 ",%" PRId64 "] is %.9g, should be %.9g (%.3g of the tolerance); "
          "normalised error %.3g, allowed %.3g",
          tt_kernel_name(kt.kernel), kt.label, t->name, d.worst / t->cols, d.worst % t->cols, t->v[d.worst],
          want[d.worst], d.ratio, d.error / (d.size + DBL_MIN), allowed / (d.size + DBL_MIN));
}

/* Every element is within its own bound `most`, the largest rounding error, and the norm of the errors within half of
 * the norm of the bounds. A 16-bit output may also be off by its own rounding. */
static inline void within(const struct tensor *t, const double *want, const double *most)
{
    int64_t n = t->rows * t->cols, worst = 0;
    double ratio = 0, errors = 0, bounds = 0, step = t->type == TT_F16 ? 0x1p-24 : 1e-30;
    for (int64_t i = 0; i < n; i++) {
        bool beyond = t->type == TT_F16 && fabs(want[i]) + most[i] >= 65504; /* infinite or not: both are right */
        if (beyond && (isinf(t->v[i]) || fabs(t->v[i]) > 60000) && (t->v[i] > 0) == (want[i] > 0)) continue;
        double bound = most[i] + step + (t->type == TT_F32 ? 1 : 2) * roundoff(t->type) * fabs(want[i]);
        double error = fabs(t->v[i] - want[i]), of = error <= DBL_MAX ? error / bound : (double)INFINITY;
        if (of > ratio) worst = i, ratio = of;
        errors += error * error;
        bounds += bound * bound;
    }
    CHECK(ratio <= 1 && (n < FEW || sqrt(errors) <= NORM_SHARE * sqrt(bounds)),
          "%s [%s]: %s[%" PRId64 ",%" PRId64 "] is %.9g, should be %.9g (%.3g of the bound); norm of errors "
          "%.3g of that of bounds", tt_kernel_name(kt.kernel), kt.label, t->name, worst / t->cols, worst % t->cols,
          t->v[worst], want[worst], ratio, sqrt(errors) / (sqrt(bounds) + DBL_MIN));
}

/* Equal to the last bit. */
static inline void exactly(const struct tensor *t, const double *want)
{
    int64_t n = t->rows * t->cols, i = 0;
    while (i < n && t->v[i] == want[i]) i++;
    CHECK(i == n, "%s [%s]: %s[%" PRId64 ",%" PRId64 "] is %.9g, should be exactly %.9g", tt_kernel_name(kt.kernel),
          kt.label, t->name, i / t->cols, i % t->cols, t->v[i], want[i]);
}

/* ---- `amax` of a kernel that writes a tensor (kernels_fp8.h) ---- */

/* In turn: NULL, 0, and a number larger than some tensors and smaller than others. */
static inline struct tensor *new_amax(void)
{
    static int calls;
    const double before = calls++ % 3 == 1 ? 0 : 0.5;
    return calls % 3 == 1 ? NULL : given("amax", TT_F32, 1, 1, 0, &before);
}

/* The value after a launch: the larger of `before` and the largest magnitude in x as stored; NaN if x contains one. */
static inline double largest(const struct tensor *x, double before)
{
    for (int64_t i = 0; i < x->rows * x->cols; i++)
        if (isnan(x->v[i]) || fabs(x->v[i]) > before) before = fabs(x->v[i]);
    return before;
}

static inline void amax_is_of(const struct tensor *amax, double before, const struct tensor *x)
{
    if (!amax) return;
    double want = largest(x, before);
    CHECK(isnan(want) ? isnan(amax->v[0]) : amax->v[0] == want, "%s [%s]: the largest of %s is %.9g, should be %.9g",
          tt_kernel_name(kt.kernel), kt.label, x->name, amax->v[0], want);
}

/* Exactly the codes that a cast of x as stored gives, or of x transposed. */
static inline void codes_are_of(const struct tensor *codes, const struct tensor *x, float scale, enum tt_dtype type,
                                bool transposed)
{
    for (int64_t i = 0; codes && i < x->rows * x->cols; i++) {
        int64_t at = transposed ? i % x->cols * x->rows + i / x->cols : i;
        uint8_t want = tt_fp8_code((float)x->v[i], tt_fp8_inverse(scale), type);
        if (codes->data[at] == want) continue;
        CHECK(false, "%s [%s]: code %" PRId64 " of %a in %s is %02x, should be %02x", tt_kernel_name(kt.kernel),
              kt.label, at, x->v[i], codes->name, codes->data[at], want);
        return;
    }
}

/* ---- finite differences, to check the references ---- */

typedef void (*function)(const double *x, double *y, const void *context);

static inline double slope(function f, const void *context, double *x, int64_t i, const double *dy, int64_t ny)
{
    double *plus = must(calloc((size_t)ny, sizeof *plus)), *minus = must(calloc((size_t)ny, sizeof *minus));
    double at = x[i], h = 1e-5 * (1 + fabs(at)), sum = 0;
    x[i] = at + h;
    f(x, plus, context);
    x[i] = at - h;
    f(x, minus, context);
    x[i] = at;
    for (int64_t j = 0; j < ny; j++) sum += dy[j] * (plus[j] - minus[j]) / (2 * h);
    free(plus);
    free(minus);
    return sum;
}

/* Checks that dx is the gradient that dy gives for y = f(x), in up to 64 elements of x, by central differences. */
static inline void check_gradient(const char *what, function f, const void *context, double *x, int64_t nx,
                                  const double *dy, int64_t ny, const double *dx)
{
    int64_t count = nx < 64 ? nx : 64;
    double largest = 1;
    for (int64_t i = 0; i < nx; i++) largest = fmax(largest, fabs(dx[i]));
    for (int64_t s = 0; s < count; s++) {
        int64_t i = (int64_t)tt_permute(7, 7, (uint64_t)nx, (uint64_t)s);
        double numeric = slope(f, context, x, i, dy, ny);
        CHECK(fabs(numeric - dx[i]) <= 1e-7 * largest,
              "%s [%s]: the reference's gradient %" PRId64 " is %.12g, %.12g by differences", what, kt.label, i, dx[i],
              numeric);
    }
}

#endif
