/* The rows of tt bench, and how they are shown. */
#ifndef TT_CLI_BENCH_ROWS_H
#define TT_CLI_BENCH_ROWS_H

#include "cli/bench.h"
#include "core/base/load.h"
#include "profiling/measure/ceiling.h"
#include "profiling/measure/steps.h"

struct tt_bench_row {
    char size[32], version[16];
    double median, p95, fastest; /* seconds */
    double samples, tokens;      /* of a step */
    double flops;                /* of a step, as the model counts them */
    struct tt_config config;     /* as it ran */
    double *times;               /* of the steps, `repeats` of them */
    double memory;               /* peak bytes through the backend */
    int operations;
    int64_t refused_head; /* head size that made the fused attention run instead of flash; 0: flash was not refused */
};

struct tt_bench {
    const struct tt_options *o;
    const struct tt_bench_options *own;
    struct tt_options trial; /* those of one size and version */
    struct tt_backend backend;
    struct tt_step_times steps;
    double *times; /* of all rows */
    struct tt_bench_row *rows;
    int count;
    struct tt_ceilings ceilings;
    enum tt_precision roof; /* the precision of ceiling and datasheet */
    double datasheet; /* FLOP/s of a matrix product, published; 0 = unknown */
    double load;      /* of the machine before it began */
    int others;       /* other programs that had the device open, before or after */
    struct tt_turns turns; /* of the steps that were timed */
};

/* ---- bench_print.c ---- */

void tt_bench_print_header(const struct tt_bench *b);
void tt_bench_print_row(const struct tt_bench *b, const struct tt_bench_row *r);
/* With --json on stdout, with --profile-dir as bench.json. */
tt_status tt_bench_write_json(const struct tt_bench *b);

#endif
