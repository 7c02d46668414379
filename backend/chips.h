/* GPUs by what their vendors publish: rates, memory, the link to the other GPUs of a node. Nothing here is measured. */
#ifndef TT_CHIPS_H
#define TT_CHIPS_H

#include <stdbool.h>

#include "core/base/types.h"

struct tt_chip_link {
    const char *name; /* NULL: not known */
    double bandwidth; /* bytes/s in each direction, of one GPU to all the others in its node */
};

struct tt_chip {
    const char *words;            /* that a device of this kind has in its name */
    const char *arch;             /* sm_90, gfx942 */
    double matrix[TT_PRECISIONS]; /* FLOP/s, dense, fp32 sums; tf32 is the rate of fp32 where there is none */
    double vector;                /* FLOP/s of fp32 outside the matrix units */
    double bandwidth;             /* bytes/s */
    double memory;                /* bytes */
    int units, wave;              /* CUs or SMs; threads in lockstep */
    int shared_kib;               /* LDS or shared memory of a block */
    bool partitioned;             /* a driver can show parts of it, or another card, under its name */
    struct tt_chip_link link;
    const char *name;  /* as on the command line; NULL: not offered there */
    const char *title; /* of one with a name; says what part of the card one device is */
};

extern const char *const tt_chip_names[]; /* those of the command line, NULL at the end */

/* By that name, or with RTX or RX before it; NULL: none. */
const struct tt_chip *tt_chip_find(const char *name);

/* The chip of the device with this name ("NVIDIA H200", "AMD Instinct MI300X") and so many compute units (0: all of
 * them); NULL when it is not known, or is a part of one. */
const struct tt_chip *tt_chip_of(const char *device, int units);

#endif
