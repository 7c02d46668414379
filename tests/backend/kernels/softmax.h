/* Softmax of a row in fp64, for all tests that need one. */
#ifndef TT_TEST_SOFTMAX_H
#define TT_TEST_SOFTMAX_H

#include <math.h>
#include <stdint.h>

/* p = softmax(scale·x) of n elements; returns the log of the sum of exponentials. */
static inline double softmax_row(const double *x, int64_t n, double scale, double *p)
{
    double top = -(double)INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) top = fmax(top, scale * x[i]);
    for (int64_t i = 0; i < n; i++) sum += p[i] = exp(scale * x[i] - top);
    for (int64_t i = 0; i < n; i++) p[i] /= sum;
    return top + log(sum);
}

static inline void softmax_row_backward(const double *y, const double *dy, int64_t n, double scale, double *dx)
{
    double dot = 0;
    for (int64_t i = 0; i < n; i++) dot += y[i] * dy[i];
    for (int64_t i = 0; i < n; i++) dx[i] = scale * y[i] * (dy[i] - dot);
}

#endif
