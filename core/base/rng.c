#include "core/base/rng.h"

#include <math.h>

/* The finaliser of SplitMix64: every input bit reaches every output bit. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t tt_random(uint64_t key, uint64_t stream, uint64_t index)
{
    uint64_t h = mix(key + 0x9e3779b97f4a7c15u);
    h = mix(h ^ (stream + 0xd1b54a32d192ed03u));
    return mix(h + index * 0x9e3779b97f4a7c15u);
}

double tt_uniform(uint64_t key, uint64_t stream, uint64_t index)
{
    return (double)(tt_random(key, stream, index) >> 11) * 0x1p-53;
}

/* Box-Muller; only the cosine is used, so that each index gives one value. */
double tt_normal(uint64_t key, uint64_t stream, uint64_t index)
{
    double u = 1.0 - tt_uniform(key, stream, 2 * index);
    double v = tt_uniform(key, stream, 2 * index + 1);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

/* A Feistel network permutes the range up to the next power of four; it is applied until the result is below n. */
uint64_t tt_permute(uint64_t key, uint64_t stream, uint64_t n, uint64_t i)
{
    int half = 1;
    while (half < 32 && (uint64_t)1 << 2 * half < n) half++;
    uint64_t mask = ((uint64_t)1 << half) - 1;
    do {
        uint64_t left = i >> half, right = i & mask;
        for (uint64_t round = 0; round < 4; round++) {
            uint64_t next = left ^ (tt_random(key, stream * 4 + round, right) & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= n);
    return i;
}
