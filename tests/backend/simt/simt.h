/* A small SIMT machine on the CPU. It runs the kernels of backend/gpu unchanged, one block after another, every thread
 * of a block on its own stack. Threads stop only where they must wait for others; the device's order decides who runs
 * first. A correct kernel computes the same in every order; one that lacks a barrier does not.
 *
 * Errors that a GPU would ignore are faults here: threads that wait where the others never come, a lane that reads from
 * one that takes no part, a 16-byte access that is not aligned to 16, writes outside a block's shared memory, an index
 * outside a static array. Shared memory begins each block as NaN. */
#ifndef TT_SIMT_H
#define TT_SIMT_H

#include <stdint.h>

enum simt_order { SIMT_FORWARD, SIMT_REVERSE, SIMT_SHUFFLED };

/* What a gpu_stream points to. */
struct simt_device {
    enum simt_order order;
    uint64_t random; /* state of the shuffling */
    char fault[600]; /* empty, or the error of a launch; stays until it is read */
};

enum {
    SIMT_INVALID = 1, /* a gpu_error: "invalid value", as vendors call it */
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
extern struct simt_place simt_here; /* of the running thread */

unsigned char *simt_dynamic_shared(void);
size_t simt_dynamic_bytes(void);
uint64_t simt_block_number(void); /* unique among all blocks that ever ran */

/* Ends the launch; the thread does not continue. */
void simt_fault(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- waiting for others ----
 * A thread brings an operand, waits for the others, and continues after `work` was called once with everybody's
 * operands: operands[lane], NULL for lanes that take no part. The scope says who must come:
 *   GROUP       the lanes of the same GPU_GROUP that have not ended. If the whole wave meets, it does `work` together.
 *               Kernels distribute rows to groups, so in a wave of two groups one may have a row less.
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
/* Parameters that capture the caller's source line, and the site made of them. */
#define SIMT_CALLER const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define SIMT_SITE (simt_site{file, line})

void simt_meet(simt_scope scope, simt_site site, simt_work work, void *operand);

/* A thread waits alone until `ready` returns true. It is called again as long as other threads make progress. */
typedef bool (*simt_ready)(void *operand);
void simt_until(simt_site site, simt_ready ready, void *operand);

/* c[i][j] += sum over k of a[k][i]·b[k][j]; all 16 x 16. */
void simt_product(const float *a, const float *b, float *c);

/* ---- pending copies ---- */

bool simt_late(void); /* should pending copies arrive as late as allowed, rather than at once? */
void simt_copy(void *to, const void *from, bool valid); /* 16 bytes */
void simt_copy_commit(void);
void simt_copy_wait(int newest);

#endif
#endif
