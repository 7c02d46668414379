/* What a device can do at best, measured: the rate of a large matrix product on random numbers, and of a large copy. */
#ifndef TT_CEILING_H
#define TT_CEILING_H

#include "backend/backend.h"

/* FLOP/s, the best of a few. Takes a second or less and up to half a gigabyte. */
tt_status tt_measure_gemm(struct tt_backend *b, enum tt_dtype type, double *flops_per_second);

/* Bytes/s of a copy within the device's memory, each byte counted as read and as written; the best of a few. */
tt_status tt_measure_copy(struct tt_backend *b, double *bytes_per_second);

struct tt_ceilings {
    double flops, bandwidth; /* measured */
    char measured[32];       /* when: 2025-01-31T12:00:00Z; "" where an older file does not tell */
    bool kept;               /* they come from the file: another day's load may have been another */
};

/* Both, from the file of earlier measurements when it has this device, library and precision; else measured, and kept
 * there. A file that cannot be read or written costs only the time. cache: NULL for none. AGAIN: measured all the same;
 * RAISE: so too, but what the file has stays where it is higher, since a busy machine measures too little, never too
 * much. */
enum tt_ceilings_how { TT_CEILINGS_KEPT, TT_CEILINGS_AGAIN, TT_CEILINGS_RAISE };
tt_status tt_ceilings_find(struct tt_backend *b, enum tt_precision precision, const char *cache,
                           enum tt_ceilings_how how, struct tt_ceilings *out);

#endif
