/* Confidence intervals for figures from a few measurements. They come from order statistics, which assume no normal
 * distribution and draw no random numbers. */
#ifndef TT_RANGE_H
#define TT_RANGE_H

#include "core/base/status.h"

/* confidence: how often an interval made this way contains the true value. 0.95 or a little more if there are enough
 * measurements. With few it is less, and the interval reaches from the smallest to the largest of them. */
struct tt_range {
    double low, high, confidence; /* NaN: nothing was measured */
};

/* The interval of the median of x. 6 values give 95 %, 3 give 75 %. */
tt_status tt_median_range(const double *x, int n, struct tt_range *out);

/* The interval of the ratio a / b, assuming that the distribution of one is that of the other times a factor
 * (Mann-Whitney). 3 values of each give 90 %, 4 give 97 %. */
tt_status tt_ratio_range(const double *a, int na, const double *b, int nb, struct tt_range *out);

#endif
