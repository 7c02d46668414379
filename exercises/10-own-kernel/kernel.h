/* Residual and RMSNorm, the forward pass: what a transformer does before attention and before the feed-forward part.
 *
 *     sum[r, c] = x[r, c] + delta[r, c]
 *     rstd[r]   = 1 / sqrt(mean over c of sum[r, c]^2 + eps)
 *     y[r, c]   = sum[r, c] * rstd[r] * weight[c]
 *
 * All matrices are (rows, cols), row by row, and do not overlap. `scratch` has room for rows * cols floats, for a
 * kernel that needs it.
 *
 * With --own-kernel, tt calls residual_norm() of that library from several threads at the same time, each with some of
 * the rows. So it must not keep anything in static variables. */
#ifndef KERNEL_H
#define KERNEL_H

struct residual_norm {
    const float *x, *delta; /* (rows, cols) */
    const float *weight;    /* (cols) */
    float *sum, *y;         /* (rows, cols) */
    float *rstd;            /* (rows) */
    float *scratch;         /* (rows, cols) */
    long rows, cols;
    float eps;
};

void residual_norm(const struct residual_norm *a);

#endif
