/* A GPU's runtime and matrix library that compute nothing, fail when they are told to, and count what is not given
 * back. With one the host code of a GPU backend runs where there is no GPU, through every failure of every call. Errors
 * are numbers of the vendor's. */
#ifndef TT_TEST_FAKE_H
#define TT_TEST_FAKE_H

#include <stdbool.h>
#include <stddef.h>

enum { FAKE_DEVICES = 4, FAKE_PRODUCTS = 64 };

struct fake_product {
    const void *handle, *workspace, *stream; /* NULL for what the library was not given */
};

struct fake_collective {
    const void *from, *to;
    size_t count;
    int type; /* of the vendor's */
    const void *stream;
};

struct fake {
    int devices;         /* that are there */
    int driver, runtime; /* versions, such as 13000 */
    int count;           /* what counting the devices answers */
    const char *fails;   /* the call that fails from its fails_from-th time on; NULL: none does */
    int fails_from;      /* 1: at once */
    long fail_at;        /* the call, by number, that fails once; 0: none does */
    int error;           /* with which they fail; a call of the matrix library fails in its own way */
    const char *chip;    /* its name, where the runtime gives one */

    long calls;         /* that could have failed */
    const char *failed; /* the name of the call that did; NULL: none has */
    int seen;           /* calls of `fails` */
    long live;          /* allocations, streams, events, graphs, handles, descriptors */
    bool capturing;
    long made_in_capture;                        /* allocations and handles of the matrix library */
    bool used[FAKE_DEVICES];                     /* which devices did some work, by any thread */
    struct fake_product products[FAKE_PRODUCTS]; /* the last ones, in turn */
    int multiplied;
    struct fake_collective collective; /* the last one */
    const char *last_words;            /* of the library of collectives, about its last failure; NULL: none */
};

extern struct fake fake;

/* As after a start: two GPUs, nothing fails, nothing is counted. */
void fake_reset(void);

#endif
