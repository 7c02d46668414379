#include "profiling/measure/overlap.h"

static double shared(struct tt_op_time a, double from, double to)
{
    double start = a.start > from ? a.start : from, end = a.end < to ? a.end : to;
    return end > start ? end - start : 0;
}

/* How long operation `i` ran beside computation. Computation counts as continuous except where it waits for
 * communication: for its stream, or for a collective on the stream that computes. */
static double hidden(const struct tt_plan *plan, const struct tt_op_time *spans, int i)
{
    double sum = 0, until = 0;
    bool begun = false, behind = false;
    for (int k = 0; k < plan->count; k++) {
        const struct tt_op *op = &plan->ops[k];
        if (tt_op_communicates(op)) {
            behind = behind || op->stream != TT_STREAM_COMM;
            continue;
        }
        bool waited = !begun || behind || op->wait[TT_STREAM_COMM] >= 0;
        double from = waited && (!begun || spans[k].start > until) ? spans[k].start : until;
        if (spans[k].end > from) {
            sum += shared(spans[i], from, spans[k].end);
            until = spans[k].end;
        }
        begun = true;
        behind = false;
    }
    return sum;
}

void tt_exposed(const struct tt_plan *plan, const struct tt_op_time *spans, double *exposed)
{
    for (int i = 0; i < plan->count; i++) {
        double seconds = spans[i].end - spans[i].start;
        double left = tt_op_communicates(&plan->ops[i]) && seconds > 0 ? seconds - hidden(plan, spans, i) : 0;
        exposed[i] = left > 0 ? left : 0;
    }
}
