#include "core/train/loop.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/terminal.h"
#include "core/checkpoint/save.h"
#include "core/train/epochs.h"
#include "core/train/gradients.h"
#include "core/train/meter.h"
#include "core/train/stop.h"

struct loop {
    const struct tt_train *t;
    struct tt_run *r;
    const struct tt_config *c;
    struct tt_meter meter;
    struct tt_epochs epochs;
    int64_t first;    /* steps done before this run */
    int64_t saved;    /* last step that is in a checkpoint */
    int64_t timed;    /* step of the last timed checkpoint, which the next one replaces; -1: none */
    double save_time; /* when the next timed checkpoint is due */
    double val_loss;
    int64_t val_step;
    bool stop_early;
    uint32_t decided; /* by rank 0 after this step: STOP, SAVE, NOT_FINITE */
};

/* Signals, the clock and late metrics could make each rank decide at another step, so rank 0 decides for all. A signal
 * to any rank stops all: the others ask rank 0. */
enum { STOP = 1, SAVE = 2, NOT_FINITE = 4 };

/* ---- validation and early stopping ---- */

static tt_status validate(struct loop *l, int64_t step)
{
    struct tt_progress *g = &l->r->progress;
    struct tt_evaluation on;
    TT_TRY(tt_run_evaluate(l->r, &on));
    l->val_loss = on.loss;
    l->val_step = step;
    bool best = l->val_loss < g->best_val;
    if (best) {
        g->best_val = l->val_loss;
        g->best_step = step;
        g->bad_vals = 0;
    } else {
        g->bad_vals++;
    }
    TT_TRY(tt_meter_validation(&l->meter, step, l->val_loss, best));
    l->stop_early = l->c->patience > 0 && g->bad_vals >= l->c->patience;
    return TT_OK;
}

/* ---- for TensorBoard ---- */

static tt_status note_config(struct loop *l)
{
    struct tt_text text = {0};
    if (!l->meter.events || !l->t->config_text) return TT_OK;
    tt_text_printf(&text, "```\n%s```\n", l->t->config_text);
    tt_status st = tt_text_status(&text);
    if (!st) tt_events_text(l->meter.events, l->first, "config", text.s);
    tt_text_free(&text);
    return st;
}

/* The norm of every tensor's gradient before clipping, at a step where the host waits for the device anyway. A step
 * that did not compute all of them shows none. */
static tt_status note_gradients(struct loop *l, int64_t step)
{
    const struct tt_params *params = l->r->params;
    if (!l->c->tensorboard[0] || l->r->reduced) return TT_OK;
    double *norms = calloc((size_t)params->n, sizeof *norms), sum = 0;
    if (!norms) return tt_no_memory("the gradients that --tensorboard shows");
    tt_status st = tt_gradient_squares(l->r, norms);
    for (int i = 0; i < params->n; i++) sum += norms[i];
    double factor = tt_gradient_unclip(tt_meter_norm(&l->meter, step), sum);
    for (int i = 0; i < params->n; i++) norms[i] = sqrt(norms[i]) * factor;
    if (!st && l->meter.events)
        tt_events_histogram(l->meter.events, step, "gradients/norm_by_tensor", norms, params->n);
    free(norms);
    return st;
}

/* ---- checkpoints ---- */

/* Timed checkpoints, if no interval was given: a crash then loses minutes and not the whole run. */

enum { SAVE_SHARE = 50 }; /* saving takes at most this fraction (1/50) of the time */

static void set_save_time(struct loop *l, double save_seconds)
{
    l->save_time = tt_seconds() + fmax(60 * l->c->save_minutes, SAVE_SHARE * save_seconds);
}

static bool timed_save_due(const struct loop *l)
{
    bool timed = l->c->save_interval == 0 && l->c->save_epochs == 0;
    return timed && l->c->save_minutes > 0 && l->c->out[0] && tt_seconds() >= l->save_time;
}

/* A timed checkpoint is kept only until there is a newer one. */
static void remove_timed(struct loop *l, int64_t step)
{
    bool older = l->timed >= 0 && l->timed != step;
    if (older && tt_job_leads(l->r->job)) tt_checkpoint_remove(l->c->out, l->timed);
    l->timed = -1;
}

/* The device must hold the state of the run after that step. */
static tt_status save_now(struct loop *l, int64_t step, bool timed)
{
    tt_status st = tt_run_save(l->r, l->c->out, step, l->t->config_text, l->t->folder, timed);
    if (!st) {
        l->saved = step;
        remove_timed(l, step);
    }
    if (st) l->r->together = true;
    tt_status noted = tt_meter_saved(&l->meter);
    if (st)
        tt_status_free(noted);
    else
        st = noted;
    return l->saved < 0 ? st : tt_context(st, "the newest checkpoint is that of step %lld", (long long)l->saved);
}

/* ---- a loss or gradients that are not finite, with --on-nan stop ---- */

static const char *resume_command(const struct loop *l) { return l->t->command ? l->t->command : "--resume auto"; }

static tt_status first_step_bad(void)
{
    return tt_fail(TT_FAILED, "step 1: loss or gradients are not finite; its update was not applied. It is the first "
                              "step of this run, so look at what it began with: weights (tt eval), --init-std, "
                              "--precision");
}

/* Metrics come late, so the loop is some steps further by now. The device has changed nothing since the bad step
 * (tt_clip_scale_args), so it still holds the state after the last good step. If the run was resumed at that very step
 * from another folder, a checkpoint is written here too, so that the command in the message works. */
static tt_status stop_before_bad(struct loop *l)
{
    long long bad = (long long)l->meter.bad_step;
    char path[1100];
    l->r->together = true;
    if (bad == 1) return first_step_bad();
    if (!l->c->out[0])
        return tt_fail(TT_FAILED, "step %lld: loss or gradients are not finite; its update was not applied, and "
                                  "nothing is saved, since there is no --out. Lower --learning-rate, or go past such "
                                  "steps with --on-nan skip", bad);
    snprintf(path, sizeof path, "%s/step-%08lld", l->c->out, bad - 1);
    bool there = tt_is_dir(path);
    TT_TRY(tt_job_share(l->r->job, &there, sizeof there));
    if (!there)
        TT_TRY(tt_context(save_now(l, bad - 1, false),
                          "step %lld: loss or gradients are not finite, and the state before it cannot be saved", bad));
    return tt_fail(TT_FAILED, "step %lld: loss or gradients are not finite; its update was not applied, and the "
                              "state before it is saved as %s. Lower --learning-rate, or go past such steps: %s "
                              "--on-nan skip", bad, path, resume_command(l));
}

/* ---- checkpoints during the run and at its end ---- */

/* Waits for all metrics first: they say whether the weights are finite. */
static tt_status save(struct loop *l, int64_t step, bool timed)
{
    if (!l->c->out[0] || l->saved == step) return TT_OK;
    TT_TRY(tt_meter_finish(&l->meter, step));
    return tt_meter_stops(&l->meter) ? stop_before_bad(l) : save_now(l, step, timed);
}

/* If a checkpoint cannot be saved before the end, training continues and tries again at the next one: stopping would
 * lose the steps since the last checkpoint for certain. */
static tt_status save_or_go_on(struct loop *l, int64_t step, bool timed)
{
    tt_status st = save(l, step, timed);
    if (!st || tt_meter_stops(&l->meter)) return st;
    tt_meter_clear(&l->meter);
    l->r->together = false;
    tt_say("%s; training continues and tries again at the next checkpoint", st->text);
    tt_status_free(st);
    return TT_OK;
}

static tt_status save_timed(struct loop *l, int64_t step)
{
    double begun = tt_seconds();
    TT_TRY(save_or_go_on(l, step, true));
    if (l->saved == step) l->timed = step;
    set_save_time(l, tt_seconds() - begun);
    return TT_OK;
}

/* Reading data failed, but the steps before are good. The other ranks of a job do not know of it and cannot save with
 * this one: they end when it does, and the run resumes from its last checkpoint. */
static tt_status save_and_fail(struct loop *l, int64_t step, tt_status why)
{
    if (!l->c->out[0] || step == l->first || l->r->job) return why;
    tt_status st = save(l, step, false);
    if (tt_meter_stops(&l->meter)) {
        tt_status_free(why);
        return st;
    }
    bool saved = !st;
    tt_status_free(st);
    return saved ? tt_context(why, "stopped after step %lld, which is saved", (long long)step) : why;
}

/* ---- the loop ---- */

static bool due(int64_t step, int64_t interval) { return interval > 0 && step % interval == 0; }

static bool save_due(const struct loop *l, int64_t step)
{
    return due(step, l->c->save_interval) || tt_epochs_times(&l->epochs, step, step, l->c->save_epochs) > 0;
}

/* What this host sees; rank 0 sends its own view to all ranks. */
static tt_status decide(struct loop *l, int64_t step)
{
    if (tt_stop_signal()) tt_job_ask(l->r->job, STOP);
    l->decided = (tt_stop_signal() ? STOP : 0) | (timed_save_due(l) ? SAVE : 0) |
                 (tt_meter_stops(&l->meter) ? NOT_FINITE : 0);
    return tt_job_decide(l->r->job, step, &l->decided);
}

/* Without other ranks, a signal that came after the decision counts too. */
static bool is_stopped(const struct loop *l) { return l->decided & STOP || (!l->r->job && tt_stop_signal()); }

static tt_status after_step(struct loop *l, int64_t step)
{
    bool last = step == l->c->num_steps;
    TT_TRY(tt_meter_step(&l->meter, step));
    TT_TRY(decide(l, step));
    if (l->decided & NOT_FINITE) {
        TT_TRY(tt_meter_finish(&l->meter, step)); /* on other ranks than 0 the metrics may not have arrived yet */
        return stop_before_bad(l);
    }
    if (l->c->val_interval > 0 && (due(step, l->c->val_interval) || last)) {
        TT_TRY(tt_meter_finish(&l->meter, step));
        if (tt_meter_stops(&l->meter)) return stop_before_bad(l);
        TT_TRY(note_gradients(l, step));
        tt_status st = validate(l, step);
        if (st) return save_and_fail(l, step, st);
    }
    if (!last && save_due(l, step)) TT_TRY(save_or_go_on(l, step, false));
    return !last && l->decided & SAVE ? save_timed(l, step) : TT_OK;
}

static tt_status run_loop(struct loop *l, int64_t *step)
{
    while (*step < l->c->num_steps) {
        tt_status st = tt_run_step(l->r);
        if (st) return l->r->starved ? save_and_fail(l, *step, st) : st;
        ++*step;
        TT_TRY(after_step(l, *step));
        if (is_stopped(l) || l->stop_early) break;
    }
    TT_TRY(tt_meter_finish(&l->meter, *step));
    if (tt_meter_stops(&l->meter)) return stop_before_bad(l);
    if (l->c->val_interval <= 0) TT_TRY(note_gradients(l, *step));
    return save(l, *step, false);
}

static tt_status open_loop(struct loop *l)
{
    const struct tt_config *c = l->c;
    int32_t stops = c->on_nan == TT_NAN_STOP;
    TT_TRY(tt_engine_upload(l->r->engine, TT_X_STATE, offsetof(struct tt_state, stops), &stops, sizeof stops));
    TT_TRY(tt_meter_open(&l->meter, l->r->engine, c, l->r->params, &l->epochs));
    l->meter.feed = &l->r->feed;
    TT_TRY(note_config(l));
    l->r->validates = true;
    return tt_run_start(l->r, TT_TOKENS_FED);
}

static tt_status interrupted(const struct loop *l, int64_t step)
{
    int number = tt_stop_signal();
    const char *kept = l->c->out[0] ? "saved" : "nothing was saved, since there is no --out";
    bool passed_on = l->r->job && number == SIGUSR1; /* by the process that started the ranks */
    const char *what = !number ? "a signal to another rank" : passed_on ? "a signal" : strsignal(number);
    return tt_fail(TT_INTERRUPTED, "stopped by %s after step %lld of %lld; %s%s%s", what, (long long)step,
                   (long long)l->c->num_steps, kept, l->c->out[0] ? ". Go on with: " : "",
                   l->c->out[0] ? resume_command(l) : "");
}

tt_status tt_train_run(const struct tt_train *t, struct tt_train_result *result)
{
    struct tt_run *r = t->run;
    struct loop l = {.t = t, .r = r, .c = r->config, .first = r->progress.step, .val_loss = NAN};
    int64_t step = l.first;
    l.epochs = tt_epochs_of(l.c, r->data, &r->progress);
    l.saved = l.first > 0 ? l.first : -1;
    bool goes_on = l.first > 0 && l.c->out[0] && tt_job_leads(r->job);
    l.timed = goes_on && tt_checkpoint_continue_timed(l.c->out, l.first) ? l.first : -1;
    set_save_time(&l, 0);
    tt_stop_catch();
    double start = tt_seconds();
    tt_status st = open_loop(&l);
    if (!st) st = run_loop(&l, &step);
    if (tt_meter_stops(&l.meter)) step = l.meter.bad_step - 1; /* later steps changed nothing */
    double seconds = tt_seconds() - start;
    tt_usage_end(&l.meter.usage, start + seconds);
    *result = (struct tt_train_result){.epochs = tt_epochs_at(&l.epochs, step),
                                       .epochs_here = tt_epochs_at(&l.epochs, step) - tt_epochs_at(&l.epochs, l.first),
                                       .loss = l.meter.loss, .val_loss = l.val_loss, .val_step = l.val_step,
                                       .seconds = seconds,
                                       .tokens_per_second = tt_meter_speed(&l.meter, step), .steps = step - l.first,
                                       .skipped = l.meter.skipped, .device_utilisation = tt_usage_mean(&l.meter.usage),
                                       .device_others = l.meter.usage.others,
                                       .data_seconds = tt_feed_waited(&r->feed), .early_stop = l.stop_early,
                                       .validation_seconds = l.meter.eta.pauses[TT_PAUSE_VALIDATION].seconds,
                                       .saving_seconds = l.meter.eta.pauses[TT_PAUSE_SAVE].seconds};
    if (!st) st = tt_meter_status(&l.meter);
    tt_status closed = tt_meter_close(&l.meter);
    tt_run_close(r);
    if (st)
        tt_status_free(closed);
    else
        st = closed;
    tt_progress_to(&r->progress, step, tt_step_rows(l.c));
    if (!st && is_stopped(&l) && step < l.c->num_steps) st = interrupted(&l, step);
    tt_stop_restore();
    return st;
}
