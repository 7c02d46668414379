/* Order statistics of a few measurements. */
#ifndef TT_STATS_H
#define TT_STATS_H

/* Sorts x; q in [0, 1], linear between neighbours. */
double tt_quantile(double *x, int n, double q);

#endif
