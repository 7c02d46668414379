/* Your kernel. It starts as the baseline does it: six passes, five of them over the whole matrix, which hand their
 * results on through memory. The results are right. Make it one pass over the rows that never touches scratch. */
#include "kernel.h"

#include <math.h>

static void add(const float *a, const float *b, float *out, long n)
{
    for (long i = 0; i < n; i++) out[i] = a[i] + b[i];
}

static void square(const float *a, float *out, long n)
{
    for (long i = 0; i < n; i++) out[i] = a[i] * a[i];
}

static void row_sum(const float *a, float *out, long rows, long cols)
{
    for (long r = 0; r < rows; r++) {
        out[r] = 0;
        for (long c = 0; c < cols; c++) out[r] += a[r * cols + c];
    }
}

static void rsqrt_mean(float *a, long rows, long cols, float eps)
{
    for (long r = 0; r < rows; r++) a[r] = 1 / sqrtf(a[r] / (float)cols + eps);
}

static void mul_rows(const float *a, const float *by, float *out, long rows, long cols)
{
    for (long r = 0; r < rows; r++)
        for (long c = 0; c < cols; c++) out[r * cols + c] = a[r * cols + c] * by[r];
}

static void mul_cols(const float *a, const float *by, float *out, long rows, long cols)
{
    for (long r = 0; r < rows; r++)
        for (long c = 0; c < cols; c++) out[r * cols + c] = a[r * cols + c] * by[c];
}

void residual_norm(const struct residual_norm *a)
{
    long n = a->rows * a->cols;
    add(a->x, a->delta, a->sum, n);
    square(a->sum, a->scratch, n);
    row_sum(a->scratch, a->rstd, a->rows, a->cols);
    rsqrt_mean(a->rstd, a->rows, a->cols, a->eps);
    mul_rows(a->sum, a->rstd, a->scratch, a->rows, a->cols);
    mul_cols(a->scratch, a->weight, a->y, a->rows, a->cols);
}
