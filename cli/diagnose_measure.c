/* The measurements of tt diagnose. Nothing is written anywhere. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/diagnose.h"
#include "core/base/clock.h"
#include "core/base/load.h"
#include "core/base/stats.h"
#include "core/train/eta.h"
#include "core/train/evaluate.h"
#include "core/train/feed.h"
#include "core/train/usage.h"

/* ---- sizes ---- */

static double free_space(const char *out)
{
    char path[1100];
    struct statvfs disk;
    snprintf(path, sizeof path, "%s", out);
    while (statvfs(path, &disk)) { /* the folder is made later: the nearest that exists */
        char *slash = strrchr(path, '/');
        if (slash == path || !strcmp(path, ".")) return -1;
        if (slash)
            *slash = 0;
        else
            strcpy(path, ".");
    }
    return (double)disk.f_bavail * (double)disk.f_frsize;
}

static void measure_disk(struct tt_diagnosis *d)
{
    const struct tt_config *c = d->c;
    d->checkpoint_bytes = 12 * (double)d->parameters; /* weights and two moments, in fp32 */
    double saves = c->save_interval > 0 ? (double)(c->num_steps / c->save_interval + 1) : 1;
    if (c->save_epochs > 0) saves += floor(d->epochs / (double)c->save_epochs);
    double kept = c->keep > 0 && (double)c->keep < saves ? (double)c->keep : saves;
    d->disk_need = d->checkpoint_bytes * (kept + (saves > kept)); /* an old one goes when the new one is there */
    d->disk_free = c->out[0] ? free_space(c->out) : -1;
}

tt_status tt_diagnose_sizes(struct tt_diagnosis *d)
{
    const struct tt_config *c = d->c;
    struct tt_session s;
    struct rlimit limit;
    tt_status st = tt_session_plan(&s, &d->backend, c, TT_USE_TRAIN | TT_USE_EVAL);
    if (!st) {
        d->need = (double)tt_engine_total(&s.engine);
        d->parameters = tt_model_param_count(s.model);
        tt_model_note(s.model, d->note);
        tt_fp8_note(s.model, d->note_fp8);
        double tokens = (double)(c->batch_size * (c->seq_len + 1)) * sizeof(int32_t);
        d->pinned = tokens * (double)(c->grad_accum * TT_FEED_BUFFERS + 1) + (double)s.engine.bytes[TT_X_RING];
    }
    tt_session_close(&s);
    TT_TRY(st);
    d->room = (double)d->device.memory_free / tt_diagnose_sharing(d);
    d->pinned_limit =
        getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY ? INFINITY : (double)limit.rlim_cur;
    double each = (double)tt_data_samples(d->data, TT_TRAIN),
           wanted = (double)c->num_steps * (double)tt_step_rows(c);
    d->epochs = each > 0 ? wanted / each : 0;
    measure_disk(d);
    d->load = tt_machine_load();
    d->others = tt_usage_others(&d->backend);
    return TT_OK;
}

/* ---- steps ---- */

static tt_status one_step(struct tt_diagnosis *d, struct tt_run *run, double *seconds)
{
    double start = tt_seconds();
    TT_TRY(tt_run_step(run));
    TT_TRY(d->backend.ops->stream_sync(d->backend.self, NULL));
    *seconds = tt_seconds() - start;
    return TT_OK;
}

/* All ranks must run the same number of steps, so rank 0 decides. */
static tt_status goes_on(struct tt_diagnosis *d, bool *more) { return tt_job_share(d->member.job, more, sizeof *more); }

/* The first steps set libraries up and are captured; then as many as fit the time, at least two. */
static tt_status run_steps(struct tt_diagnosis *d, struct tt_run *run, int most, double seconds, struct tt_timing *out)
{
    enum { WARM = 2, MOST = 64 };
    double times[MOST], start = 0, ignored;
    if (most > MOST) most = MOST;
    for (int i = 0; i < WARM; i++) TT_TRY(one_step(d, run, &ignored));
    struct tt_turns before = tt_turns_now();
    start = tt_seconds();
    for (out->steps = 0; out->steps < most; out->steps++) {
        bool more = out->steps < 2 || tt_seconds() - start < seconds;
        TT_TRY(goes_on(d, &more));
        if (!more) break;
        TT_TRY(one_step(d, run, &times[out->steps]));
    }
    out->waited = tt_waited_since(&before);
    out->median = tt_quantile(times, out->steps, 0.5);
    out->slow = tt_quantile(times, out->steps, 0.95);
    return TT_OK;
}

static tt_status time_session(struct tt_diagnosis *d, struct tt_session *s, const struct tt_config *c, int most,
                              double seconds, struct tt_timing *out)
{
    struct tt_run run;
    tt_status st = tt_session_try(s, &d->backend, c, d->data, &run);
    out->memory = (double)tt_engine_total(&s->engine);
    if (!st) st = run_steps(d, &run, most, seconds, out);
    tt_run_close(&run);
    TT_TRY(st);
    out->tokens_per_second = (double)(tt_step_rows(c) * c->seq_len) / out->median;
    return TT_OK;
}

tt_status tt_time_steps(struct tt_diagnosis *d, const struct tt_config *c, int most, double seconds,
                        struct tt_timing *out)
{
    struct tt_session s = {0};
    *out = (struct tt_timing){0};
    tt_status st = time_session(d, &s, c, most, seconds, out);
    tt_session_close(&s);
    return st;
}

/* ---- data and validation ---- */

static tt_status measure_data(struct tt_diagnosis *d)
{
    const struct tt_config *c = d->c;
    int32_t *tokens = malloc((size_t)(c->seq_len + 1) * sizeof *tokens);
    if (!tokens) return tt_no_memory("a sequence of %lld tokens", (long long)c->seq_len);
    double start = tt_seconds(), seconds = 0;
    uint64_t samples = 0;
    tt_status st = TT_OK;
    for (; !st && (samples < 4 || seconds < 0.2); seconds = tt_seconds() - start)
        st = tt_data_sample(d->data, TT_TRAIN, samples++, tokens);
    free(tokens);
    d->data_seconds = seconds / (double)samples * (double)(c->batch_size * c->grad_accum);
    return st;
}

static tt_status measure_validation(struct tt_diagnosis *d)
{
    struct tt_session s = {0};
    struct tt_config *c = &d->trial;
    *c = *d->c;
    struct tt_evaluation on;
    int64_t wanted = tt_validation_batches(c), there = tt_data_samples(d->data, TT_VAL) / c->batch_size;
    if (there > 0 && there < wanted) wanted = there;
    if (c->val_interval == 0) return TT_OK;
    c->val_batches = 2 * (c->ranks > 1 ? c->ranks : 1);
    c->global_batch = 0;
    tt_status st = tt_session_open(&s, &d->backend, c, TT_USE_EVAL);
    if (!st) st = tt_session_init_weights(&s);
    if (!st) st = tt_evaluate(&s.engine, s.eval, c, d->data, d->member.job, &on); /* warm-up */
    double start = tt_seconds();
    if (!st) st = tt_evaluate(&s.engine, s.eval, c, d->data, d->member.job, &on);
    if (!st) d->validation_seconds = (tt_seconds() - start) / (double)on.batches * (double)wanted;
    tt_session_close(&s);
    return st;
}

tt_status tt_diagnose_speed(struct tt_diagnosis *d)
{
    const struct tt_config *c = d->c;
    TT_TRY(tt_time_steps(d, c, d->own->quick ? 3 : 20, d->own->quick ? 0.5 : 3, &d->step));
    TT_TRY(measure_data(d));
    TT_TRY(measure_validation(d));
    int64_t validations = tt_eta_times(d->done, c->num_steps, c->val_interval);
    double each = fmax(d->step.median, d->data_seconds); /* they overlap; the slower one counts */
    d->step_time = each * (double)(c->num_steps - d->done);
    d->validation_time = d->validation_seconds * (double)validations;
    d->total_time = d->step_time + d->validation_time;
    return TT_OK;
}

/* ---- other batch sizes ---- */

static tt_status sweep_one(struct tt_diagnosis *d, struct tt_sweep_row *row)
{
    struct tt_config *c = &d->trial;
    struct tt_session s = {0};
    *c = *d->c;
    c->batch_size = row->batch_size;
    tt_status st = tt_config_check(c);
    if (!st) st = tt_session_plan(&s, &d->backend, c, TT_USE_TRAIN | TT_USE_EVAL);
    row->t.memory = st ? 0 : (double)tt_engine_total(&s.engine);
    row->fits = !st && row->t.memory < 0.9 * d->room;
    tt_session_close(&s);
    tt_status_free(st); /* a size that is not possible is a row that does not fit */
    return row->fits ? tt_time_steps(d, c, 10, 1.5, &row->t) : TT_OK;
}

double tt_diagnose_slowed(const struct tt_diagnosis *d, const struct tt_timing *t)
{
    int threads = tt_threads_of(d->device.shares_memory ? "cpu" : tt_backend_name(), d->device.name);
    int ranks = d->device.shares_memory && d->member.job && d->c->ranks > 1 ? (int)d->c->ranks : 1;
    return tt_slowed(d->load, t->waited, threads * ranks);
}

/* Tokens/s that row i may have reached alone on the machine. */
static double fastest(const struct tt_diagnosis *d, int i)
{
    return d->rows[i].t.tokens_per_second * tt_diagnose_slowed(d, &d->rows[i].t);
}

/* Whether a row is within 5 % of the best, even if other programs slowed all other rows as much as they may have. */
static bool is_sweet(const struct tt_diagnosis *d, int row)
{
    for (int i = 0; i < d->row_count; i++)
        if (i != row && d->rows[i].fits && d->rows[row].t.tokens_per_second < 0.95 * fastest(d, i)) return false;
    return true;
}

void tt_diagnose_sweet_spot(struct tt_diagnosis *d)
{
    double best = 0;
    int first = -1; /* the smallest that may be it */
    for (int i = 0; i < d->row_count; i++) best = fmax(best, d->rows[i].t.tokens_per_second);
    for (int i = d->row_count; i-- > 0;)
        if (d->rows[i].fits && fastest(d, i) >= 0.95 * best) first = i;
    d->sweet = first >= 0 && is_sweet(d, first) ? first : -1;
}

tt_status tt_diagnose_sweep(struct tt_diagnosis *d)
{
    d->sweet = -1;
    if (d->own->quick || d->member.job) return TT_OK; /* what fits one rank might not fit another */
    for (int64_t quarters = 1; quarters <= 16; quarters *= 2) {
        int64_t batch = d->c->batch_size * quarters / 4;
        if (batch < 1 || batch > 65536) continue;
        struct tt_sweep_row *row = &d->rows[d->row_count++];
        *row = (struct tt_sweep_row){.batch_size = batch, .fits = true, .t = d->step};
        if (quarters != 4) TT_TRY(sweep_one(d, row));
    }
    tt_diagnose_sweet_spot(d);
    return TT_OK;
}
