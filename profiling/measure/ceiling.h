/* The roofs of a device, measured: the rate of a large matrix product on random numbers, and of a large copy or, on a
 * CPU, an update in place. */
#ifndef TT_CEILING_H
#define TT_CEILING_H

#include "backend/backend.h"
#include "core/base/load.h"
#include "core/plan/plan.h"

/* The best of several samples: other work makes them smaller, never larger. At least five are taken, and more until
 * two others come close to the best or a second is over. */
struct tt_rate {
    double best, spread; /* spread: by how much the median of the samples falls short of the best, 0 to 1 */
    struct tt_turns turns; /* during the samples alone: a library's idle threads spin for a while after a product */
};

/* FLOP/s of a large product whose factors have that type. 8-bit factors have scales and give bf16. Takes up to half a
 * gigabyte of memory. */
tt_status tt_measure_gemm(struct tt_backend *b, enum tt_dtype type, struct tt_rate *out);
/* The same by three samples of a small product, quick enough to try before each run on a CPU. The rate may be a little
 * lower. */
tt_status tt_try_gemm(struct tt_backend *b, enum tt_dtype type, struct tt_rate *out);

/* Bytes/s of a copy within the device's memory, each byte counted as read and as written; on a CPU of an update in
 * place if that is faster. */
tt_status tt_measure_copy(struct tt_backend *b, struct tt_rate *out);

struct tt_ceilings {
    double flops, bandwidth;               /* FLOP/s in the run's precision, bytes/s */
    double rest; /* in fp8: FLOP/s of products that are not in 8 bits; else as `flops` */
    double flops_spread, bandwidth_spread; /* of the latest measurement; NaN here and below: not known */
    double load;                           /* tt_machine_load when they were measured */
    double waited;                         /* fraction of the time that threads waited meanwhile; NaN: a GPU */
    char measured[32];       /* when: 2025-01-31T12:00:00Z; "" where an older file does not tell */
    bool kept;               /* read from the file: another run measured them, perhaps under another load */
    bool earlier;            /* measured now, but an earlier, higher rate of the file is kept */
};

/* Whether the device may be faster: measured on a busy machine, or from samples that differ much (bound.h). */
bool tt_ceilings_doubtful(const struct tt_ceilings *c);

/* The precision in which the compute roof of a run is measured: the run's own. A CPU widens 8-bit factors before it
 * multiplies, so its roof for fp8 is that of the rest (tt_precision_rest). */
enum tt_precision tt_roof_precision(enum tt_precision precision, const struct tt_device_info *info);
/* The published FLOP/s in that precision; 0: not known. */
double tt_roof_datasheet(enum tt_precision precision, const struct tt_device_info *info);

/* The compute roof of an operation; and of a whole plan, whose operations each run at their own roof. */
double tt_roof_of_op(const struct tt_ceilings *c, const struct tt_op *op);
double tt_roof_of_plan(const struct tt_ceilings *c, const struct tt_plan *plan);

/* Finds both roofs for this device, library and precision. `cache`: the file of earlier measurements; NULL: none. A
 * file that cannot be read or written costs only the time to measure. Without an entry there the roofs are measured and
 * stored. With one it depends on `how`:
 * - AGAIN measures, and replaces the entry.
 * - RAISE measures, but keeps a rate of the entry that is higher: a busy machine measures too little, never too much.
 * - KEPT takes the entry, but does as RAISE where it may be too low: if it is doubtful and the machine is quiet now, or
 *   if a trial copy, or on a CPU a trial product, is more than a tenth faster. */
enum tt_ceilings_how { TT_CEILINGS_KEPT, TT_CEILINGS_AGAIN, TT_CEILINGS_RAISE };
tt_status tt_ceilings_find(struct tt_backend *b, enum tt_precision precision, const char *cache,
                           enum tt_ceilings_how how, struct tt_ceilings *out);

#endif
