/* A CUDA runtime and a cuBLASLt that compute nothing, fail when they are told to, and count what is not given back. With
 * it the host code of the CUDA backend runs where there is no GPU, through every failure of every call. */
#ifndef TT_TEST_FAKE_RUNTIME_H
#define TT_TEST_FAKE_RUNTIME_H

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>

enum { FAKE_DEVICES = 4 };

struct fake {
    int devices;         /* that are there */
    int driver, runtime; /* versions, such as 13000 */
    cudaError_t count;   /* what cudaGetDeviceCount answers */
    const char *fails;   /* the call that fails from its fails_from-th time on; NULL: none does */
    int fails_from;      /* 1: at once */
    long fail_at;        /* the call, by number, that fails once; 0: none does */
    cudaError_t error;   /* with which they fail; a call of cuBLASLt fails in its own way */

    long calls;          /* that could have failed */
    const char *failed;  /* the name of the call that did; NULL: none has */
    int seen;            /* calls of `fails` */
    long live;           /* allocations, streams, events, graphs, descriptors */
    bool capturing;
    bool used[FAKE_DEVICES]; /* which devices did some work, by any thread */
};

extern struct fake fake;

/* As after a start: two GPUs, nothing fails, nothing is counted. */
void fake_reset(void);

#endif
