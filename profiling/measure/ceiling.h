/* What a device can do at best, measured: the rate of a large matrix product on random numbers, and of a large copy. */
#ifndef TT_CEILING_H
#define TT_CEILING_H

#include "backend/backend.h"
#include "core/base/load.h"
#include "core/plan/plan.h"

/* The best of several samples: other work makes them smaller, never larger. At least five are taken, and more until
 * two others come close to the best or a second is over. */
struct tt_rate {
    double best, spread; /* spread: by how much the median of the samples falls short of the best, 0 to 1 */
    struct tt_turns turns; /* of the samples alone: a library's idle threads spin for a while after its last product */
};

/* FLOP/s, of factors of that type; of 8-bit ones with scales, into bf16. Takes up to half a gigabyte. */
tt_status tt_measure_gemm(struct tt_backend *b, enum tt_dtype type, struct tt_rate *out);
/* Three samples of a product quick enough to try before each run of a CPU; its rate may be a little lower. */
tt_status tt_try_gemm(struct tt_backend *b, enum tt_dtype type, struct tt_rate *out);

/* Bytes/s of a copy within the device's memory, each byte counted as read and as written. */
tt_status tt_measure_copy(struct tt_backend *b, struct tt_rate *out);

struct tt_ceilings {
    double flops, bandwidth;               /* measured, of the run's precision */
    double rest; /* FLOP/s of what is not multiplied in 8 bits, in fp8; else as `flops` */
    double flops_spread, bandwidth_spread; /* of the latest measurement; NaN here and below: not known */
    double load;                           /* of the machine then, as tt_machine_load says */
    double waited;                         /* what part of their time threads waited then; NaN: of a device */
    char measured[32];       /* when: 2025-01-31T12:00:00Z; "" where an older file does not tell */
    bool kept;               /* they come from the file, and the load may have been different then */
    bool earlier;            /* not kept, but an earlier measurement was faster, and its rate is */
};

/* Measured on a busy machine, or from samples that differ much: the device may be faster. */
bool tt_ceilings_doubtful(const struct tt_ceilings *c);

/* What the roof of a run is measured in: its precision. A CPU widens 8-bit factors and multiplies as ever, so there it
 * is that of the rest. */
enum tt_precision tt_roof_precision(enum tt_precision precision, const struct tt_device_info *info);
/* The published FLOP/s of it; 0: not known. */
double tt_roof_datasheet(enum tt_precision precision, const struct tt_device_info *info);

/* The compute roof of an operation, and of all of a plan: as if each ran at its own. */
double tt_roof_of_op(const struct tt_ceilings *c, const struct tt_op *op);
double tt_roof_of_plan(const struct tt_ceilings *c, const struct tt_plan *plan);

/* Both, from the file of earlier measurements when it has this device, library and precision; else measured, and kept
 * there. A file that cannot be read or written costs only the time. cache: NULL for none. AGAIN measures in any case.
 * RAISE measures too, but keeps what the file has where it is higher, since a busy machine measures too little, never
 * too much. KEPT raises as well when the kept rates are doubtful and the machine is quiet now, or when a trial copy,
 * or on a CPU a trial product, is much faster than they are. */
enum tt_ceilings_how { TT_CEILINGS_KEPT, TT_CEILINGS_AGAIN, TT_CEILINGS_RAISE };
tt_status tt_ceilings_find(struct tt_backend *b, enum tt_precision precision, const char *cache,
                           enum tt_ceilings_how how, struct tt_ceilings *out);

#endif
