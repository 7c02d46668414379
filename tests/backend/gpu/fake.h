/* A fake GPU runtime and matrix library. They compute nothing, fail on request, and count what is not freed. They run
 * the host code of a GPU backend without a GPU, through every failure of every call. Error codes are the vendor's. */
#ifndef TT_TEST_FAKE_H
#define TT_TEST_FAKE_H

#include <stdbool.h>
#include <stddef.h>

enum { FAKE_DEVICES = 4, FAKE_PRODUCTS = 64 };

struct fake_product {
    const void *handle, *workspace, *stream; /* NULL: not given to the library */
};

struct fake_collective {
    const void *from, *to;
    size_t count;
    int type; /* the vendor's code */
    const void *stream;
};

struct fake {
    int devices;         /* number of devices */
    int driver, runtime; /* versions, such as 13000 */
    int count;           /* the result of counting the devices */
    const char *fails;   /* name of the call that fails from its fails_from-th time on; NULL: none */
    int fails_from;      /* 1: from the first time on */
    long fail_at;        /* number of the call that fails once; 0: none */
    int error;           /* the error of a failing call; the matrix library has its own */
    const char *chip;    /* its name, if the runtime reports one */

    long calls;         /* calls so far that could have failed */
    const char *failed; /* name of the call that failed; NULL: none */
    int seen;           /* times that `fails` was called */
    long live;          /* live allocations, streams, events, graphs, handles, descriptors */
    bool capturing;
    long made_in_capture;                        /* allocations and library handles */
    bool used[FAKE_DEVICES];                     /* devices that did some work, in any thread */
    struct fake_product products[FAKE_PRODUCTS]; /* the last ones, as a ring */
    int multiplied;
    struct fake_collective collective; /* the last one */
    const char *last_words;            /* what the collectives library says of its last failure; NULL: nothing */
};

extern struct fake fake;

/* The state after a start: two GPUs, no failures, all counts 0. */
void fake_reset(void);

#endif
