#include "core/train/sample.h"

#include <math.h>
#include <stdlib.h>

static int more_probable_first(const void *x, const void *y)
{
    const struct tt_candidate *a = x, *b = y;
    if (a->p != b->p) return a->p < b->p ? 1 : -1;
    return a->token < b->token ? -1 : a->token > b->token;
}

static int32_t largest(const float *logits, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    return (int32_t)best;
}

/* How many of the sorted candidates may be drawn. */
static int64_t cut(const struct tt_candidate *c, int64_t n, const struct tt_sampling *how, double total)
{
    if (how->top_k > 0 && how->top_k < n) {
        n = how->top_k;
        total = 0;
        for (int64_t i = 0; i < n; i++) total += c[i].p;
    }
    if (how->top_p >= 1) return n;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += c[i].p;
        if (sum >= how->top_p * total) return i + 1;
    }
    return n;
}

int32_t tt_sample(const float *logits, int64_t n, const struct tt_sampling *how, double u, struct tt_candidate *scratch)
{
    int32_t top = largest(logits, n);
    if (how->temperature <= 0) return top;
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        double p = exp(((double)logits[i] - (double)logits[top]) / how->temperature);
        scratch[i] = (struct tt_candidate){p, (int32_t)i};
        total += p;
    }
    int64_t count = n;
    if (how->top_k > 0 || how->top_p < 1) {
        qsort(scratch, (size_t)n, sizeof *scratch, more_probable_first);
        count = cut(scratch, n, how, total);
        total = 0;
        for (int64_t i = 0; i < count; i++) total += scratch[i].p;
    }
    double at = u * total;
    for (int64_t i = 0; i < count; i++) {
        at -= scratch[i].p;
        if (at < 0) return scratch[i].token;
    }
    return top;
}
