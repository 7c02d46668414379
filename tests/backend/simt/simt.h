/* A small SIMT machine on the CPU: it runs the kernels of backend/gpu as they are, one block after another, every
 * thread of a block on a stack of its own. Threads stop only where they must meet others; who of them runs first is the
 * device's order. A kernel that is right computes the same in every order; one that lacks a barrier does not.
 *
 * What a GPU would pass over in silence is a fault here: threads that wait where the others never come, a lane that
 * reads from one that takes no part, an access of 16 bytes that is not on a multiple of 16, writes beyond the shared
 * memory of a block, an index beyond a static array. Shared memory begins each block as NaN. */
#ifndef TT_SIMT_H
#define TT_SIMT_H

#include <stdint.h>

enum simt_order { SIMT_FORWARD, SIMT_REVERSE, SIMT_SHUFFLED };

/* What a gpu_stream leads to. */
struct simt_device {
    enum simt_order order;
    uint64_t random; /* state of the order */
    char fault[600]; /* empty, or what went wrong in a launch; it stays until it is read */
};

enum {
    SIMT_INVALID = 1, /* gpu_error: what the vendors call an invalid value */
    SIMT_FAULT = 2,   /* device->fault says more */
};

#ifdef __cplusplus
extern "C" {
#endif
int simt_wave_width(void);
#ifdef __cplusplus
}
#endif

#ifdef __cplusplus

#include <stddef.h>

/* ---- launching ---- */

struct simt_grid {
    unsigned x, y, z;
    explicit simt_grid(unsigned x, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

struct simt_launch_args {
    const void *kernel;
    void (*run)(void *closure); /* one thread */
    void *closure;
    simt_grid grid;
    unsigned threads;
    size_t shared_bytes;
};
int simt_launch(struct simt_device *device, const simt_launch_args &launch);
int simt_allow_shared(const void *kernel, size_t bytes);

/* ---- what a thread sees ---- */

struct simt_place {
    int thread, threads;
    unsigned block[3], blocks[3];
};
extern struct simt_place simt_here; /* of the thread that runs now */

unsigned char *simt_dynamic_shared(void);
size_t simt_dynamic_bytes(void);
uint64_t simt_block_number(void); /* of all blocks that ever ran: no two have the same */

/* Ends the launch; what the thread was about to do does not happen. */
void simt_fault(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- meeting others ----
 * A thread brings an operand, waits for the others, and goes on after `work` was done, once, on all their operands:
 * operands[lane], NULL for lanes that take no part. Who must come:
 *   GROUP       the lanes of the same GPU_GROUP that have not ended; those of the whole wave work together when they
 *               meet. Kernels deal rows to groups, and in a wave of two groups the other one may have a row less.
 *   WAVE        all lanes of the wave that have not ended
 *   FULL_WAVE   all lanes of the wave, none of which may have ended: matrix instructions
 *   BLOCK       all threads of the block that have not ended; no operands
 *   UNTIL       nobody: see simt_until */
enum simt_scope { SIMT_NONE, SIMT_GROUP, SIMT_WAVE, SIMT_FULL_WAVE, SIMT_BLOCK, SIMT_UNTIL };

typedef void (*simt_work)(void *const *operands);

struct simt_site {
    const char *file;
    int line;
};
/* Parameters of a function whose callers are sites, and the site. */
#define SIMT_CALLER const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define SIMT_SITE (simt_site{file, line})

void simt_meet(simt_scope scope, simt_site site, simt_work work, void *operand);

/* A thread waits alone until `ready` is true of its operand, which it is asked as long as other threads go on. */
typedef bool (*simt_ready)(void *operand);
void simt_until(simt_site site, simt_ready ready, void *operand);

/* c[i][j] += the sum over k of a[k][i]·b[k][j]; all 16 x 16. */
void simt_product(const float *a, const float *b, float *c);

/* ---- copies under way ---- */

bool simt_late(void); /* should what is under way arrive as late as it may, rather than at once? */
void simt_copy(void *to, const void *from, bool valid); /* 16 bytes */
void simt_copy_commit(void);
void simt_copy_wait(int newest);

#endif
#endif
