#include "core/base/range.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/stats.h"

static const double wanted = 0.95;

static const struct tt_range unknown = {NAN, NAN, NAN};

/* From the smallest to the largest value, without the `cut` smallest and the `cut` largest. */
static struct tt_range between(double *x, int n, int cut, double confidence)
{
    tt_quantile(x, n, 0.5); /* sorts */
    return (struct tt_range){x[cut], x[n - 1 - cut], confidence};
}

/* ---- the median ---- */

/* Each value lies above the true median as often as below it. */
static int median_cut(int n, double *confidence)
{
    double below = pow(0.5, n), tail = below;
    int cut = 0;
    *confidence = 1 - 2 * tail;
    for (int k = 1; k < n / 2; k++) {
        below *= (double)(n - k + 1) / k;
        tail += below;
        if (1 - 2 * tail < wanted) break;
        *confidence = 1 - 2 * tail;
        cut = k;
    }
    return cut;
}

tt_status tt_median_range(const double *x, int n, struct tt_range *out)
{
    enum { MOST = 1000 }; /* 0.5 to a much larger power underflows */
    int every = 1 + (n - 1) / MOST, m = 0;
    *out = unknown;
    if (n < 1) return TT_OK;
    double *room = malloc((size_t)n * sizeof *room);
    if (!room) return tt_no_memory("an interval");
    for (int i = 0; i < n; i += every) room[m++] = x[i];
    double confidence;
    int cut = median_cut(m, &confidence);
    *out = between(room, m, cut, confidence);
    free(room);
    return TT_OK;
}

/* ---- the ratio ---- */

enum { EXACT = 10, LARGEST = 500 };

/* ways[u]: how many orders of na and nb equal things have u pairs the wrong way round. These are the coefficients of
 * the product of (1 - x^(nb + i)) / (1 - x^i) for i from 1 to na. */
static void count_orders(int na, int nb, double ways[EXACT * LARGEST + 1])
{
    int top = na * nb;
    memset(ways, 0, (EXACT * LARGEST + 1) * sizeof *ways);
    ways[0] = 1;
    for (int i = 1; i <= na; i++) {
        for (int u = top; u >= nb + i; u--) ways[u] -= ways[u - nb - i];
        for (int u = i; u <= top; u++) ways[u] += ways[u - i];
    }
}

static int exact_cut(int na, int nb, double *confidence)
{
    double ways[EXACT * LARGEST + 1], all = 0, tail;
    int cut = 0;
    count_orders(na < nb ? na : nb, na < nb ? nb : na, ways);
    for (int u = 0; u <= na * nb; u++) all += ways[u];
    tail = ways[0] / all;
    *confidence = 1 - 2 * tail;
    for (int u = 1; u < na * nb / 2; u++) {
        tail += ways[u] / all;
        if (1 - 2 * tail < wanted) break;
        *confidence = 1 - 2 * tail;
        cut = u;
    }
    return cut;
}

/* With many values of both, u is nearly normally distributed; with many of one and few of the other it is not. */
static int normal_cut(int na, int nb, double *confidence)
{
    double a = na, b = nb;
    *confidence = wanted;
    return (int)fmax(0, floor(a * b / 2 - 1.96 * sqrt(a * b * (a + b + 1) / 12)));
}

/* Of very many values takes every second, third, ...: evenly in time, so that they stay a fair sample. */
static int thin(const double *x, int n, double *out)
{
    int every = 1 + (n - 1) / LARGEST, m = 0;
    for (int i = 0; i < n; i += every) out[m++] = x[i];
    return m;
}

tt_status tt_ratio_range(const double *a, int na, const double *b, int nb, struct tt_range *out)
{
    double confidence, few_a[LARGEST], few_b[LARGEST];
    *out = unknown;
    if (na < 1 || nb < 1) return TT_OK;
    na = thin(a, na, few_a);
    nb = thin(b, nb, few_b);
    double *ratios = malloc((size_t)na * (size_t)nb * sizeof *ratios);
    if (!ratios) return tt_no_memory("an interval");
    for (int i = 0; i < na; i++)
        for (int k = 0; k < nb; k++) ratios[i * nb + k] = few_a[i] / few_b[k];
    int cut = na <= EXACT || nb <= EXACT ? exact_cut(na, nb, &confidence) : normal_cut(na, nb, &confidence);
    *out = between(ratios, na * nb, cut, confidence);
    free(ratios);
    return TT_OK;
}
