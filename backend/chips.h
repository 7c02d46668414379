/* Published specifications of GPUs: peak rates, memory, links to the other GPUs of a node. Nothing here is measured. */
#ifndef TT_CHIPS_H
#define TT_CHIPS_H

#include <stdbool.h>

#include "core/base/types.h"

struct tt_chip_link {
    const char *name; /* NULL: not known */
    double bandwidth; /* bytes/s in each direction, of one GPU to all the others in its node */
};

struct tt_chip {
    const char *words;            /* the device name contains them */
    const char *arch;             /* sm_90, gfx942 */
    double matrix[TT_PRECISIONS]; /* dense FLOP/s with fp32 accumulation; without tf32 units, tf32 = fp32 */
    double vector;                /* FLOP/s of fp32 outside the matrix units */
    double bandwidth;             /* bytes/s */
    double memory;                /* bytes */
    int units, wave;              /* CUs or SMs; threads of a warp or wavefront */
    int shared_kib;               /* shared memory (LDS) of a block */
    bool partitioned;             /* a driver may show a part of it, or another card, under this name */
    struct tt_chip_link link;
    const char *name;  /* on the command line; NULL: not offered there */
    const char *title; /* if it has a name: the name to print, with the part of the card that a device is */
};

extern const char *const tt_chip_names[]; /* the names of the command line, NULL at the end */

/* The chip with that command-line name, which may have RTX or RX before it; NULL: none. */
const struct tt_chip *tt_chip_find(const char *name);

/* The chip of a device by its name ("NVIDIA H200", "AMD Instinct MI300X") and its number of compute units (0: not
 * checked). NULL if it is unknown or only a partition of a chip. */
const struct tt_chip *tt_chip_of(const char *device, int units);

/* Whether the GEMM library of that chip multiplies 8-bit numbers with a scale per row: cuBLASLt only on sm_90,
 * hipBLASLt wherever there are 8-bit products. */
bool tt_chip_fp8_rows(const struct tt_chip *chip);

#endif
