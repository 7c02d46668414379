/* Parallel loops. Results must not depend on the number of threads, so work is always cut into the same pieces, and
 * each piece is computed by one thread in a fixed order. Small work stays on one thread, because waking the others
 * costs more than a few thousand elements. */
#ifndef TT_CPU_PARALLEL_H
#define TT_CPU_PARALLEL_H

#ifdef _OPENMP
#include <omp.h>
#endif

enum {
    SERIAL_BELOW = 16384, /* elements */
    BLOCK = 4096,         /* elements of a piece of a flat array; fits into L1 */
    COLUMNS = 64,         /* columns of a piece of a column sum */
};

static inline int threads_for(const struct cpu_team *team, int64_t elements)
{
    return elements < SERIAL_BELOW ? 1 : team->threads;
}

#define PRAGMA(text) _Pragma(#text)
#ifdef _OPENMP
#define PARALLEL_FOR(team, work) PRAGMA(omp parallel for schedule(static) num_threads(threads_for(team, work)))
/* for pieces of unequal cost */
#define PARALLEL_FOR_UNEVEN(team, work) \
    PRAGMA(omp parallel for schedule(dynamic) num_threads(threads_for(team, work)))
static inline int thread_index(void) { return omp_get_thread_num(); }
#else
#define PARALLEL_FOR(team, work) (void)threads_for(team, work);
#define PARALLEL_FOR_UNEVEN(team, work) (void)threads_for(team, work);
static inline int thread_index(void) { return 0; }
#endif
#define SIMD PRAGMA(omp simd)
#define SIMD_SUM(variable) PRAGMA(omp simd reduction(+ : variable))

static inline float *thread_scratch(const struct cpu_team *team)
{
    return team->scratch + (size_t)thread_index() * team->scratch_floats;
}

static inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t round_up(int64_t a, int64_t b) { return divide_up(a, b) * b; }

/* Pieces of a matrix that are contiguous in every operand: blocks of the flat array if no operand has padding, else
 * rows. */
struct pieces {
    int64_t count, total, cols;
    bool flat;
};

static inline struct pieces pieces_of(int64_t rows, int64_t cols, bool flat)
{
    int64_t total = rows * cols;
    return (struct pieces){flat ? divide_up(total, BLOCK) : rows, total, cols, flat};
}

static inline int64_t piece_start(struct pieces s, int64_t i, int64_t ld) { return i * (s.flat ? BLOCK : ld); }
static inline int64_t piece_length(struct pieces s, int64_t i)
{
    return s.flat ? smaller(BLOCK, s.total - i * BLOCK) : s.cols;
}

#endif
