#include "core/config/batch.h"

static bool is_of_checkpoint(struct tt_options *o, const char *name)
{
    const struct tt_option *row = tt_schema_find(o->schema, o->command, name);
    return row && *tt_option_source(o, row) == TT_FROM_CHECKPOINT;
}

static tt_status no_multiple(int64_t global, const char *of, int64_t unit)
{
    return tt_fail(TT_USAGE, "the --global-batch of %lld (a resumed run keeps its own) is no multiple of %s = "
                   "%lld; give another --global-batch", (long long)global, of, (long long)unit);
}

/* A run that resumes with another number of ranks keeps its global batch. `each` is the share of a rank: it is divided
 * into the largest batches that are not larger than the old ones. */
static void divide_anew(struct tt_config *c, int64_t each)
{
    int64_t most = c->batch_size;
    for (c->grad_accum = 1; each % c->grad_accum || each / c->grad_accum > most;) c->grad_accum++;
    c->batch_size = each / c->grad_accum;
}

tt_status tt_batch_fit(struct tt_options *o)
{
    struct tt_config *c = &o->c;
    int64_t global = c->global_batch, ranks = c->ranks > 1 ? c->ranks : 1;
    bool batch = tt_option_given(o, "batch-size"), accum = tt_option_given(o, "grad-accum");
    bool goes_on = !batch && !accum && is_of_checkpoint(o, "batch-size");
    if (!global && goes_on && ranks > 1) global = c->batch_size * c->grad_accum;
    if (global % ranks) return no_multiple(global, "ranks", ranks);
    if (global && goes_on) {
        divide_anew(c, global / ranks);
    } else if (global && batch && !accum) {
        if (global % (c->batch_size * ranks)) return no_multiple(global, "batch-size x ranks", c->batch_size * ranks);
        c->grad_accum = global / (c->batch_size * ranks);
    } else if (global && !batch) {
        if (global % (c->grad_accum * ranks)) return no_multiple(global, "grad-accum x ranks", c->grad_accum * ranks);
        c->batch_size = global / (c->grad_accum * ranks);
    } else if (global && global != tt_step_rows(c)) {
        return tt_fail(TT_USAGE, "--global-batch %lld, but batch-size x grad-accum x ranks = %lld x %lld x %lld; leave "
                       "one of them out", (long long)global, (long long)c->batch_size, (long long)c->grad_accum,
                       (long long)ranks);
    }
    if (ranks > 1) c->global_batch = tt_step_rows(c);
    return TT_OK;
}
