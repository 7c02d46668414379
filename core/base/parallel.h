/* Work of the host on several threads. */
#ifndef TT_PARALLEL_H
#define TT_PARALLEL_H

#include <stdint.h>

/* Does the items [from, to) of the work. */
typedef void (*tt_part)(void *context, int64_t from, int64_t to);

/* Runs `part` over [0, n) on up to `threads` threads, this one included, in parts of at least `least` items. Returns
 * when all is done. 0 threads: as many as OMP_NUM_THREADS says, else as many as there are cores for this process
 * (tt_cores). If a thread cannot be started, the calling one does its part. */
void tt_parallel(int threads, int64_t n, int64_t least, tt_part part, void *context);

#endif
