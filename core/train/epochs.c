#include "core/train/epochs.h"

#include <inttypes.h>
#include <stdlib.h>

struct tt_epochs tt_epochs_of(const struct tt_config *c, const struct tt_data *data, const struct tt_progress *begin)
{
    return (struct tt_epochs){.samples = data ? tt_data_samples(data, TT_TRAIN) : 0,
                              .rows = tt_step_rows(c),
                              .first = begin->step,
                              .position = begin->position};
}

static int64_t position_after(const struct tt_epochs *e, int64_t step)
{
    return (int64_t)e->position + (step - e->first) * e->rows;
}

double tt_epochs_at(const struct tt_epochs *e, int64_t step)
{
    return e->samples ? (double)position_after(e, step) / (double)e->samples : 0;
}

int64_t tt_epochs_done(const struct tt_epochs *e, int64_t step)
{
    return e->samples ? position_after(e, step) / e->samples : 0;
}

int64_t tt_epochs_times(const struct tt_epochs *e, int64_t from, int64_t to, int64_t every)
{
    return every > 0 ? tt_epochs_done(e, to) / every - tt_epochs_done(e, from - 1) / every : 0;
}

/* ---- --epochs ---- */

static int source_of(struct tt_options *o, const char *name)
{
    return *tt_option_source(o, tt_schema_find_any(o->schema, o->command, name));
}

static tt_status check_end(const struct tt_config *c, const struct tt_data *data)
{
    const char *option = c->epochs ? "epochs" : "save-epochs";
    if (tt_data_samples(data, TT_TRAIN) || (!c->epochs && !c->save_epochs)) return TT_OK;
    return tt_fail(TT_USAGE, "--%s counts times through the data, but --data %s never ends; give %s, or files with "
                             "--data",
                   option, c->data, c->epochs ? "--num-steps" : "--save-interval");
}

static tt_status count_steps(struct tt_config *c, const struct tt_epochs *e)
{
    const int64_t most = (int64_t)1 << 31;
    int64_t samples, steps;
    if (__builtin_mul_overflow(c->epochs, e->samples, &samples)) samples = INT64_MAX;
    int64_t left = samples > (int64_t)e->position ? samples - (int64_t)e->position : 0;
    steps = e->first + left / e->rows + (left % e->rows > 0);
    if (steps > most)
        return tt_fail(TT_USAGE,
                       "--epochs %" PRId64 " of %" PRId64 " sequences are %" PRId64 " steps, more than %" PRId64
                       "; make it smaller",
                       c->epochs, e->samples, steps, most);
    c->num_steps = steps;
    return TT_OK;
}

static tt_status peek(const char *checkpoint, struct tt_progress *out)
{
    char *config = NULL;
    *out = (struct tt_progress){0};
    if (!checkpoint) return TT_OK;
    tt_status st = tt_checkpoint_peek(checkpoint, out, &config);
    free(config);
    return st;
}

tt_status tt_take_epochs(struct tt_options *o, const struct tt_data *data, const char *checkpoint)
{
    struct tt_config *c = &o->c;
    int by_steps = source_of(o, "num-steps"), by_epochs = source_of(o, "epochs");
    struct tt_progress begin;
    if (c->epochs && by_steps == by_epochs && by_steps >= TT_FROM_FILE)
        return tt_fail(TT_USAGE, "--epochs and --num-steps both say how long the run is; give one of them");
    if (by_steps > by_epochs && by_steps >= TT_FROM_CHECKPOINT) c->epochs = 0;
    TT_TRY(check_end(c, data));
    if (!c->epochs) return TT_OK;
    TT_TRY(peek(checkpoint, &begin));
    struct tt_epochs e = tt_epochs_of(c, data, &begin);
    TT_TRY(count_steps(c, &e));
    tt_options_fit_warmup(o);
    return TT_OK;
}
