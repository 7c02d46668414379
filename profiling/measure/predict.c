#include "profiling/measure/predict.h"

#include <stdlib.h>

#include "core/base/fp8.h"

/* What runs on the matrix units; the rest runs on the vector units. */
static bool multiplies_matrices(const struct tt_op *op)
{
    if (op->kind != TT_OP_KERNEL) return op->kind == TT_OP_GEMM;
    return op->kernel == TT_K_flash || op->kernel == TT_K_flash_backward;
}

double tt_predict_op(const struct tt_op *op, enum tt_precision precision, const struct tt_chip *chip, bool *by_memory)
{
    if (precision == TT_PREC_FP8 && !(op->kind == TT_OP_GEMM && tt_is_fp8(op->args.gemm.type_a)))
        precision = TT_PREC_BF16;
    double rate = multiplies_matrices(op) ? chip->matrix[precision] : chip->vector;
    double compute = tt_op_flops(op) / rate, memory = tt_op_bytes(op) / chip->bandwidth;
    *by_memory = memory > compute;
    return *by_memory ? memory : compute;
}

/* ---- two clocks ---- */

enum { COMPUTE, COMMUNICATE, CLOCKS };

struct walk {
    double now[CLOCKS], busy[CLOCKS];
    double *given; /* when each signal of the plan was given */
};

static void take(struct walk *w, const struct tt_op *op, double seconds)
{
    int clock = op->stream == TT_STREAM_COMM ? COMMUNICATE : COMPUTE;
    int use = tt_op_communicates(op) ? COMMUNICATE : COMPUTE; /* a collective may keep the kernels' stream waiting */
    for (int s = 0; s < TT_STREAMS; s++)
        if (op->wait[s] >= 0 && w->given[op->wait[s]] > w->now[clock]) w->now[clock] = w->given[op->wait[s]];
    w->now[clock] += seconds;
    w->busy[use] += seconds;
    if (op->signal >= 0) w->given[op->signal] = w->now[clock];
}

static double on_ring(const struct tt_collective *c, struct tt_ring ring)
{
    return tt_collective_sent(c) / ring.bytes_per_second + tt_collective_messages(c) * ring.seconds_latency;
}

tt_status tt_predict(const struct tt_plan *plan, enum tt_precision precision, const struct tt_chip *chip,
                     struct tt_ring ring, struct tt_prediction *out)
{
    struct walk w = {.given = calloc((size_t)plan->signals + 1, sizeof *w.given)};
    if (!w.given) return tt_no_memory("a prediction");
    *out = (struct tt_prediction){.chip = chip};
    for (int i = 0; i < plan->count; i++) {
        const struct tt_op *op = &plan->ops[i];
        bool together = op->kind == TT_OP_COLLECTIVE, by_memory = false;
        double seconds = together ? on_ring(&op->args.collective, ring)
                                  : tt_predict_op(op, precision, chip, &by_memory);
        take(&w, op, seconds);
        out->group[op->group] += seconds;
        out->phase[op->phase] += seconds;
        if (by_memory) out->memory_seconds += seconds;
    }
    out->seconds = w.now[COMPUTE] > w.now[COMMUNICATE] ? w.now[COMPUTE] : w.now[COMMUNICATE];
    out->communication = w.busy[COMMUNICATE];
    out->exposed = out->seconds - w.busy[COMPUTE];
    free(w.given);
    return TT_OK;
}
