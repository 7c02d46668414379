/* How far a figure from a few measurements can be trusted: ranges from order statistics, which assume no bell curve and
 * draw no random numbers. */
#ifndef TT_RANGE_H
#define TT_RANGE_H

#include "core/base/status.h"

/* confidence: how often a range made so holds the true value, 0.95 or a little more where there are enough
 * measurements; with few of them less, and then the range is as wide as they are. */
struct tt_range {
    double low, high, confidence; /* NaN: nothing was measured */
};

/* Of the median of x. 6 values give 95 %, 3 give 75 %. */
tt_status tt_median_range(const double *x, int n, struct tt_range *out);

/* Of how many times as large a is as b, where one is the other times a factor (Mann-Whitney). 3 values of each give
 * 90 %, 4 give 97 %. */
tt_status tt_ratio_range(const double *a, int na, const double *b, int nb, struct tt_range *out);

#endif
