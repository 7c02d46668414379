#include "core/train/meter.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/terminal.h"
#include "core/train/meter_parts.h"
#include "core/train/state.h"

int64_t tt_meter_step_tokens(const struct tt_meter *m) { return tt_step_rows(m->config) * m->config->seq_len; }

static int64_t ring_entries(const struct tt_meter *m)
{
    return (int64_t)(m->engine->bytes[TT_X_RING] / sizeof(struct tt_metrics));
}

/* Often enough that the device overwrites no entry of the ring before it was fetched. */
static int64_t fetch_interval(const struct tt_meter *m)
{
    int64_t most = ring_entries(m) / 4;
    return m->config->log_interval > 0 && m->config->log_interval < most ? m->config->log_interval : most;
}

tt_status tt_meter_open(struct tt_meter *m, struct tt_engine *e, const struct tt_config *c,
                        const struct tt_params *params, const struct tt_epochs *epochs)
{
    int64_t first = epochs->first;
    *m = (struct tt_meter){.config = c, .epochs = epochs, .engine = e, .first = first, .seen = first,
                           .last_log.step = first, .loss = NAN};
    struct tt_backend *b = e->backend;
    TT_TRY(b->ops->host_alloc(b->self, e->bytes[TT_X_RING], (void **)&m->ring));
    TT_TRY(b->ops->event_create(b->self, &m->ready));
    TT_TRY(tt_step_clock_open(&m->clock, b, 2 * fetch_interval(m), first));
    TT_TRY(tt_choices_open(&m->choices, e, params));
    m->quiet = c->quiet || c->rank;
    m->terminal = !m->quiet && tt_is_terminal(stderr);
    m->start = tt_seconds();
    tt_eta_start(&m->eta, m->start);
    if (!c->rank) tt_usage_open(&m->usage, b, m->start);
    return tt_meter_files_open(m);
}

/* ---- the time of steps ---- */

static tt_status note_step(struct tt_meter *m, int64_t step)
{
    tt_eta_step(&m->eta, tt_seconds());
    return tt_step_clock_mark(&m->clock, step);
}

/* Waits for the device. The time that it still needs after the last step was enqueued belongs to the steps. */
static tt_status note_wait(struct tt_meter *m)
{
    struct tt_backend *b = m->engine->backend;
    TT_TRY(b->ops->stream_sync(b->self, NULL));
    tt_eta_wait(&m->eta, tt_seconds());
    return TT_OK;
}

/* All steps before the pause have been shown, so that their times are known. */
static tt_status note_pause(struct tt_meter *m, enum tt_pause what)
{
    tt_eta_pause(&m->eta, what, tt_seconds());
    return tt_step_clock_mark(&m->clock, m->seen);
}

double tt_meter_speed(const struct tt_meter *m, int64_t step)
{
    double seconds = tt_seconds() - m->start;
    return seconds > 0 ? (double)((step - m->first) * tt_meter_step_tokens(m)) / seconds : 0;
}

/* ---- metrics from the device ---- */

bool tt_meter_stops(const struct tt_meter *m) { return m->bad_step && m->config->on_nan == TT_NAN_STOP; }

static void note_bad(struct tt_meter *m, const struct tt_metrics *e)
{
    if (e->overflowed) return;
    if (!m->bad_step) m->bad_step = e->step;
    if (m->config->on_nan != TT_NAN_SKIP || m->warned) return;
    m->warned = true;
    tt_meter_clear(m);
    tt_say("step %lld: loss or gradients are not finite; the update was skipped (further ones are counted)",
           (long long)e->step);
}

static void end_log_interval(struct tt_meter *m, const struct tt_metrics *e)
{
    double busy = tt_eta_busy(&m->eta, tt_seconds()), seconds = busy - m->last_log.busy;
    if (seconds > 0) m->recent = (double)((e->step - m->last_log.step) * tt_meter_step_tokens(m)) / seconds;
    m->last_log.busy = busy;
    m->last_log.step = e->step;
    m->last_log.ended = m->eta.steps;
    m->loss = tt_mean_of(&m->sum);
    m->sum = (struct tt_mean){0};
    tt_meter_print_log(m, e);
}

void tt_mean_add(struct tt_mean *mean, double loss, double weight)
{
    if (weight <= 0) return;
    mean->sum += weight * loss;
    mean->weight += weight;
}

double tt_mean_of(const struct tt_mean *mean) { return mean->weight > 0 ? mean->sum / mean->weight : (double)NAN; }

static tt_status show(struct tt_meter *m, int64_t upto)
{
    for (; m->seen < upto && !tt_meter_stops(m); m->seen++) {
        const struct tt_metrics *e = &m->ring[m->seen % ring_entries(m)];
        TT_TRY(tt_step_clock_read(&m->clock, m->seen + 1, &m->seconds));
        if (e->apply)
            tt_mean_add(&m->sum, (double)e->loss, tt_counted_part(m->config, e->ignored));
        else
            note_bad(m, e);
        m->scale = (double)e->loss_scale;
        m->skipped = e->skipped;
        int64_t interval = m->config->log_interval;
        if ((interval > 0 && e->step % interval == 0) || e->step == m->config->num_steps) end_log_interval(m, e);
        tt_meter_files_step(m, e);
        tt_meter_count_epoch(m, e);
    }
    tt_meter_files_flush(m);
    return TT_OK;
}

static tt_status ask(struct tt_meter *m, int64_t step)
{
    struct tt_backend *b = m->engine->backend;
    TT_TRY(b->ops->copy(b->self, m->ring, m->engine->externals[TT_X_RING], m->engine->bytes[TT_X_RING], TT_TO_HOST,
                        NULL));
    TT_TRY(tt_choices_ask(&m->choices));
    TT_TRY(b->ops->event_record(b->self, m->ready, NULL));
    m->asked = true;
    m->asked_step = step;
    return TT_OK;
}

static tt_status collect(struct tt_meter *m, bool wait)
{
    struct tt_backend *b = m->engine->backend;
    bool done = true;
    if (!m->asked) return TT_OK;
    if (wait)
        TT_TRY(b->ops->event_sync(b->self, m->ready));
    else
        TT_TRY(b->ops->event_query(b->self, m->ready, &done));
    if (!done) return TT_OK;
    m->asked = false;
    return show(m, m->asked_step);
}

/* The progress line, with the losses that have arrived since the last log line. */
static tt_status paint(struct tt_meter *m, int64_t step)
{
    if (!tt_meter_print_due(m)) return TT_OK;
    if (!m->asked) {
        TT_TRY(ask(m, step));
        TT_TRY(collect(m, false));
    }
    tt_meter_print_progress(m, step);
    return TT_OK;
}

tt_status tt_meter_step(struct tt_meter *m, int64_t step)
{
    TT_TRY(note_step(m, step));
    TT_TRY(collect(m, false));
    if (step % fetch_interval(m) == 0 || step - m->seen >= ring_entries(m) / 2) {
        TT_TRY(collect(m, true)); /* only if the device is a whole interval behind */
        TT_TRY(ask(m, step));
        TT_TRY(collect(m, false));
    }
    tt_usage_ask(&m->usage, m->eta.last);
    return paint(m, step);
}

tt_status tt_meter_finish(struct tt_meter *m, int64_t step)
{
    TT_TRY(note_wait(m));
    TT_TRY(collect(m, true));
    TT_TRY(ask(m, step));
    TT_TRY(collect(m, true));
    if (isnan(m->loss)) m->loss = tt_mean_of(&m->sum);
    tt_eta_wait(&m->eta, tt_seconds());
    tt_usage_ask(&m->usage, m->eta.last);
    return TT_OK;
}

tt_status tt_meter_saved(struct tt_meter *m) { return note_pause(m, TT_PAUSE_SAVE); }

tt_status tt_meter_validation(struct tt_meter *m, int64_t step, double loss, bool best)
{
    TT_TRY(note_pause(m, TT_PAUSE_VALIDATION));
    tt_meter_files_validation(m, step, loss);
    tt_meter_print_validation(m, step, loss, best);
    return TT_OK;
}

double tt_meter_norm(const struct tt_meter *m, int64_t step)
{
    return (double)m->ring[(step - 1) % ring_entries(m)].grad_norm;
}

tt_status tt_meter_close(struct tt_meter *m)
{
    if (!m->engine) return TT_OK;
    struct tt_backend *b = m->engine->backend;
    tt_meter_clear(m);
    tt_metrics_file_close(&m->file);
    if (m->ready) b->ops->event_destroy(b->self, m->ready);
    if (m->ring) b->ops->host_free(b->self, m->ring);
    tt_step_clock_close(&m->clock);
    tt_choices_close(&m->choices);
    m->engine = NULL;
    return tt_events_close(m->events);
}
