/* Attention in float64, forward and backward, and bounds for the rounding errors of its gradients. */
#ifndef TT_TEST_ATTENTION_H
#define TT_TEST_ATTENTION_H

#include "tests/backend/kernels/documents.h"
#include "tests/backend/kernels/kernels.h"
#include "tests/backend/kernels/softmax.h"

/* T = B·S rows, each with q (H·D), k and v (KV·D each). */
struct dims {
    int64_t B, S, H, KV, D;
    double scale;
};

#define DIMS "B %" PRId64 ", S %" PRId64 ", H %" PRId64 ", KV %" PRId64 ", D %" PRId64
#define DIMS_OF(d) (d).B, (d).S, (d).H, (d).KV, (d).D

static int64_t columns(const struct dims *d) { return (d->H + 2 * d->KV) * d->D; }

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void add_scaled(double *out, double factor, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) out[i] += factor * x[i];
}

static void add_sizes(double *out, double factor, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) out[i] += factor * fabs(x[i]);
}

/* Offsets of head h in packed qkv: the query of row (b, i), and the key and value of row (b, j). */
static int64_t query(const struct dims *d, int64_t b, int64_t i, int64_t h)
{
    return (b * d->S + i) * columns(d) + h * d->D;
}

static int64_t key(const struct dims *d, int64_t b, int64_t j, int64_t h)
{
    return (b * d->S + j) * columns(d) + (d->H + h / (d->H / d->KV)) * d->D;
}

static int64_t value(const struct dims *d, int64_t b, int64_t j, int64_t h)
{
    return key(d, b, j, h) + d->KV * d->D;
}

static enum cut cut; /* how the rows of the next cases are cut into documents */

/* p[0..i] = the probabilities with which token i of head h attends to tokens 0..i; returns lse. */
static double probabilities(const struct dims *d, const double *qkv, int64_t b, int64_t h, int64_t i, double *p)
{
    int64_t first = document_start(cut, b, i);
    for (int64_t j = 0; j < first; j++) p[j] = 0;
    for (int64_t j = first; j <= i; j++) p[j] = dot(qkv + query(d, b, i, h), qkv + key(d, b, j, h), d->D);
    return softmax_row(p + first, i + 1 - first, d->scale, p + first);
}

/* With `sizes`, o sums the magnitudes of the terms instead of the terms. */
static void attend_sizes(const struct dims *d, const double *qkv, double *o, double *lse, bool sizes)
{
    double *p = must(calloc((size_t)d->S, sizeof *p));
    memset(o, 0, (size_t)(d->B * d->S * d->H * d->D) * sizeof *o);
    for (int64_t n = 0; n < d->B * d->H * d->S; n++) {
        int64_t b = n / d->S / d->H, h = n / d->S % d->H, i = n % d->S;
        double sum = probabilities(d, qkv, b, h, i, p);
        if (lse) lse[n] = sum;
        for (int64_t j = 0; j <= i; j++)
            (sizes ? add_sizes : add_scaled)(o + ((b * d->S + i) * d->H + h) * d->D, p[j], qkv + value(d, b, j, h),
                                             d->D);
    }
    free(p);
}

static void attend(const struct dims *d, const double *qkv, double *o, double *lse)
{
    attend_sizes(d, qkv, o, lse, false);
}

static void attend_packed(const double *qkv, double *o, const void *context) { attend(context, qkv, o, NULL); }

/* Rounding errors: of probabilities and dS, a relative part and an absolute one (`least`); of o, relative; of sums of
 * products, relative to the sum of the magnitudes. */
struct rounding {
    double relative, least, o, sums;
};

static double dot_sizes(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += fabs(a[i] * b[i]);
    return sum;
}

/* Adds to `most` the largest rounding error of the gradients through query i of head h, with probabilities p and scaled
 * dS in ds. Both carry errors, and so do the products with them; delta carries the rounding error of o. */
static void attend_backward_errors(const struct dims *d, const double *qkv, int64_t b, int64_t h, int64_t i,
                                   const double *dy, const double *p, const double *ds, struct rounding r, double *most)
{
    double delta = 0, sizes = 0;
    for (int64_t c = 0; c < d->D; c++) {
        double o = 0;
        for (int64_t j = 0; j <= i; j++) o += p[j] * qkv[value(d, b, j, h) + c];
        delta += r.o * fabs(o * dy[c]);
        sizes += fabs(o * dy[c]);
    }
    for (int64_t j = 0; j <= i; j++) {
        double sum = r.sums * (sizes + dot_sizes(dy, qkv + value(d, b, j, h), d->D));
        double off = r.relative * fabs(ds[j]) + d->scale * (p[j] * (1 + r.relative) * (delta + sum) + r.least);
        add_sizes(most + value(d, b, j, h), r.relative * p[j] + r.least, dy, d->D);
        add_sizes(most + query(d, b, i, h), off, qkv + key(d, b, j, h), d->D);
        add_sizes(most + key(d, b, j, h), off, qkv + query(d, b, i, h), d->D);
    }
}

/* The gradients; if `most` is given, also the bounds of their rounding errors. */
static void attend_backward(const struct dims *d, const double *qkv, const double *dout, double *dqkv,
                            struct rounding r, double *most)
{
    double *p = must(calloc((size_t)d->S, sizeof *p)), *dp = must(calloc((size_t)d->S, sizeof *dp));
    for (int64_t n = 0; n < d->B * d->H * d->S; n++) {
        int64_t b = n / d->S / d->H, h = n / d->S % d->H, i = n % d->S;
        const double *dy = dout + ((b * d->S + i) * d->H + h) * d->D;
        probabilities(d, qkv, b, h, i, p);
        for (int64_t j = 0; j <= i; j++) {
            dp[j] = dot(dy, qkv + value(d, b, j, h), d->D);
            add_scaled(dqkv + value(d, b, j, h), p[j], dy, d->D);
        }
        softmax_row_backward(p, dp, i + 1, d->scale, dp);
        for (int64_t j = 0; j <= i; j++) {
            add_scaled(dqkv + query(d, b, i, h), dp[j], qkv + key(d, b, j, h), d->D);
            add_scaled(dqkv + key(d, b, j, h), dp[j], qkv + query(d, b, i, h), d->D);
        }
        if (most) attend_backward_errors(d, qkv, b, h, i, dy, p, dp, r, most);
    }
    free(p);
    free(dp);
}

#endif
