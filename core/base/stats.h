/* Order statistics of a few measurements. */
#ifndef TT_STATS_H
#define TT_STATS_H

/* Sorts x. q is in [0, 1]; interpolates linearly between neighbours. NaN when n < 1. */
double tt_quantile(double *x, int n, double q);

#endif
