/* Chips by their published rates, for predictions on paper. */
#ifndef TT_CHIPS_H
#define TT_CHIPS_H

#include "backend/backend.h"

struct tt_chip {
    const char *name;             /* as on the command line */
    const char *title;            /* with what part of it one device is */
    const char *words;            /* that a device of this kind has in its name */
    double matrix[TT_PRECISIONS]; /* FLOP/s, dense; tf32 is fp32's rate where the chip has no such arithmetic */
    double vector;                /* FLOP/s of fp32 outside the matrix units */
    double bandwidth;             /* bytes/s */
    double memory;                /* bytes */
    int units, wave;              /* CUs or SMs; threads in lockstep */
    int shared_kib;               /* LDS or shared memory of a block */
};

extern const struct tt_chip tt_chips[];
extern const int tt_chip_count;
extern const char *const tt_chip_names[]; /* NULL at the end */

const struct tt_chip *tt_chip_find(const char *name);            /* NULL: none of that name */
bool tt_chip_is(const struct tt_chip *chip, const char *device); /* whether a device of that name is such a chip */

#endif
