/* Counter-based random numbers: a value depends only on (key, stream, index), not on earlier draws, so results do not
 * change with the number of threads, the order of draws or a resume. */
#ifndef TT_RNG_H
#define TT_RNG_H

#include <stdint.h>

/* 64 random bits. */
uint64_t tt_random(uint64_t key, uint64_t stream, uint64_t index);

double tt_uniform(uint64_t key, uint64_t stream, uint64_t index); /* [0, 1) */
double tt_normal(uint64_t key, uint64_t stream, uint64_t index);  /* N(0, 1) */

/* The i-th element of a random permutation of 0..n-1 (n >= 1), without storing it. */
uint64_t tt_permute(uint64_t key, uint64_t stream, uint64_t n, uint64_t i);

#endif
