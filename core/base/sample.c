#include "core/base/sample.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static int32_t largest(const float *logits, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    return (int32_t)best;
}

/* The bits of a float, changed so that as integers they sort like the floats; -0 becomes 0. */
static uint32_t key_of(float x)
{
    uint32_t bits;
    x += 0.0f;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

static uint64_t weigh(const float *logits, int64_t n, double temperature, struct tt_candidate *c)
{
    float top = logits[largest(logits, n)], factor = (float)(1 / temperature);
    uint64_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        float p = expf((logits[i] - top) * factor);
        c[i] = (struct tt_candidate){(uint32_t)(p * (float)(1 << TT_WEIGHT_BITS)), key_of(logits[i])};
        total += c[i].weight;
    }
    return total;
}

/* Which candidates may be drawn: those with a larger key, and the first `ties` with this key. */
struct threshold {
    uint32_t key;
    uint64_t ties;
};

/* The candidates with the largest keys whose measures (1 each, or their weights) together reach `target`. The smallest
 * key among them is found 8 bits at a time, from the sums of the measures for each value of those bits. */
static struct threshold reach(const struct tt_candidate *c, int64_t n, uint64_t target, bool by_weight)
{
    uint32_t prefix = 0, weight = 1;
    for (int shift = 24; shift >= 0; shift -= 8) {
        uint64_t sums[256] = {0};
        for (int64_t i = 0; i < n; i++) {
            if (shift < 24 && c[i].key >> (shift + 8) != prefix) continue;
            sums[c[i].key >> shift & 255] += by_weight ? c[i].weight : 1;
        }
        int bin = 255;
        while (bin > 0 && sums[bin] < target) target -= sums[bin--];
        prefix = prefix << 8 | (uint32_t)bin;
    }
    for (int64_t i = 0; by_weight && i < n; i++)
        if (c[i].key == prefix) weight = c[i].weight;
    return (struct threshold){prefix, weight ? (target + weight - 1) / weight : 0};
}

/* Candidates beyond the threshold lose their weight. Returns the sum of the others. */
static uint64_t cut(struct tt_candidate *c, int64_t n, struct threshold t)
{
    uint64_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        bool tie = c[i].key == t.key;
        if (c[i].key < t.key || (tie && !t.ties)) c[i].weight = 0;
        if (tie && t.ties) t.ties--;
        total += c[i].weight;
    }
    return total;
}

int32_t tt_sample(const float *logits, int64_t n, const struct tt_sampling *how, double u, struct tt_candidate *scratch)
{
    if (how->temperature <= 0) return largest(logits, n);
    uint64_t total = weigh(logits, n, how->temperature, scratch);
    if (how->top_k > 0 && how->top_k < n) total = cut(scratch, n, reach(scratch, n, (uint64_t)how->top_k, false));
    if (how->top_p < 1) {
        uint64_t target = (uint64_t)ceil(how->top_p * (double)total);
        total = cut(scratch, n, reach(scratch, n, target ? target : 1, true));
    }
    uint64_t draw = (uint64_t)(u * 0x1p32), at = (total >> 32) * draw + ((total & 0xffffffffu) * draw >> 32);
    for (int64_t i = 0; i < n; i++) {
        if (at < scratch[i].weight) return (int32_t)i;
        at -= scratch[i].weight;
    }
    return largest(logits, n);
}

void tt_penalise(float *logits, int64_t n, const uint32_t *seen, double penalty)
{
    float p = (float)penalty;
    for (int64_t i = 0; i < n; i++)
        if (seen[i / 32] >> i % 32 & 1) logits[i] = logits[i] > 0 ? logits[i] / p : logits[i] * p;
}
