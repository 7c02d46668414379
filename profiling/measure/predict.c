#include "profiling/measure/predict.h"

/* What runs on the matrix units; the rest runs on the vector units. */
static bool multiplies_matrices(const struct tt_op *op)
{
    if (op->kind != TT_OP_KERNEL) return op->kind == TT_OP_GEMM;
    return op->kernel == TT_K_flash || op->kernel == TT_K_flash_backward;
}

double tt_predict_op(const struct tt_op *op, enum tt_precision precision, const struct tt_chip *chip, bool *by_memory)
{
    double rate = multiplies_matrices(op) ? chip->matrix[precision] : chip->vector;
    double compute = tt_op_flops(op) / rate, memory = tt_op_bytes(op) / chip->bandwidth;
    *by_memory = memory > compute;
    return *by_memory ? memory : compute;
}

struct tt_prediction tt_predict(const struct tt_plan *plan, enum tt_precision precision, const struct tt_chip *chip)
{
    struct tt_prediction p = {.chip = chip};
    for (int i = 0; i < plan->count; i++) {
        const struct tt_op *op = &plan->ops[i];
        bool by_memory;
        double seconds = tt_predict_op(op, precision, chip, &by_memory);
        p.seconds += seconds;
        p.group[op->group] += seconds;
        p.phase[op->phase] += seconds;
        if (by_memory) p.memory_seconds += seconds;
    }
    return p;
}
