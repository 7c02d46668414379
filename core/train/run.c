#include "core/train/run.h"

#include <stdlib.h>

#include "core/base/clock.h"
#include "core/checkpoint/save.h"

int64_t tt_run_rows(const struct tt_run *r) { return r->config->batch_size * r->config->grad_accum; }

static size_t batch_bytes(const struct tt_run *r)
{
    return (size_t)(tt_run_rows(r) * (r->config->seq_len + 1)) * sizeof(int32_t);
}

/* ---- tokens ---- */

static tt_status feed(struct tt_run *r)
{
    const struct tt_config *c = r->config;
    r->engine->no_prefetch = c->prefetch == TT_SWITCH_OFF;
    struct tt_visit visit = {.config = c, .params = r->params, .engine = r->engine, .backend = r->stepper.backend,
                             .eval_plan = r->validates ? NULL : r->eval_plan, .data = r->data};
    TT_TRY(tt_guest_open(&r->guest, &visit));
    r->stepper.after = tt_guest_step;
    r->stepper.user = &r->guest;
    r->between.after = r->stepper.after;
    r->between.user = r->stepper.user;
    int64_t rows = tt_run_rows(r);
    struct tt_feed_rows which = {.rows = rows, .stride = tt_step_rows(c), .seq_len = c->seq_len,
                                 .position = r->progress.position + (uint64_t)(c->rank * rows)};
    return tt_feed_open(&r->feed, r->engine, r->data, &which, r->progress.step);
}

/* Puts this rank's part of the samples from `position` on into a slot on the device. */
static tt_status gather(struct tt_run *r, uint64_t position, int slot, int32_t *tokens)
{
    int64_t width = r->config->seq_len + 1;
    position += (uint64_t)(r->config->rank * tt_run_rows(r));
    for (int64_t i = 0; i < tt_run_rows(r); i++)
        TT_TRY(tt_data_sample(r->data, TT_TRAIN, position + (uint64_t)i, tokens + i * width));
    return tt_engine_upload(r->engine, TT_X_TOKENS, (size_t)slot * batch_bytes(r), tokens, batch_bytes(r));
}

static tt_status gather_slots(struct tt_run *r, uint64_t position, int slot, int slots)
{
    int32_t *tokens = malloc(batch_bytes(r));
    if (!tokens) return tt_no_memory("the tokens of a step");
    tt_status st = TT_OK;
    for (int i = 0; i < slots && !st; i++, position += (uint64_t)tt_step_rows(r->config))
        st = gather(r, position, slot + i, tokens);
    free(tokens);
    return st;
}

tt_status tt_run_give(struct tt_run *r, const int32_t *tokens)
{
    int slot = (int)(r->progress.step % TT_TOKEN_SLOTS);
    if (tokens) return tt_engine_upload(r->engine, TT_X_TOKENS, (size_t)slot * batch_bytes(r), tokens, batch_bytes(r));
    return gather_slots(r, r->progress.position, slot, 1);
}

/* ---- steps ---- */

tt_status tt_run_start(struct tt_run *r, enum tt_tokens tokens)
{
    r->tokens = tokens;
    r->stepper = (struct tt_stepper){.backend = r->backend ? r->backend : r->engine->backend,
                                     .plan = r->late_plan ? r->late_plan : r->step_plan, .graph_wanted = r->graph};
    r->late = (struct tt_late){.backend = r->stepper.backend, .update = r->update_plan};
    r->engine->late = r->late_plan ? &r->late : NULL;
    r->between = (struct tt_stepper){.backend = r->stepper.backend, .graph_wanted = r->graph};
    if (tokens == TT_TOKENS_FED) return feed(r);
    return tokens == TT_TOKENS_KEPT ? gather_slots(r, 0, 0, TT_TOKEN_SLOTS) : TT_OK;
}

/* A step that makes its own update does so after the update that the step before has left. */
static tt_status step(struct tt_run *r, struct tt_stepper *s)
{
    if (!r->late_plan) return tt_step(s);
    if (s->plan != r->late_plan) TT_TRY(tt_engine_settle(r->engine));
    r->late.due = s->plan == r->late_plan;
    return tt_step(s);
}

static tt_status fed_step(struct tt_run *r, struct tt_stepper *s)
{
    double start = tt_seconds();
    tt_status st = tt_feed_begin(&r->feed);
    r->starved = st != TT_OK;
    TT_TRY(st);
    r->data_seconds = tt_seconds() - start;
    TT_TRY(step(r, s));
    return tt_feed_end(&r->feed);
}

tt_status tt_run_step_by(struct tt_run *r, struct tt_stepper *s)
{
    if (!s->warm) tt_job_busy(r->job); /* a first step may time GEMM algorithms, on one rank longer than on another */
    TT_TRY(r->tokens == TT_TOKENS_FED ? fed_step(r, s) : step(r, s));
    tt_progress_to(&r->progress, r->progress.step + 1, tt_step_rows(r->config));
    tt_job_alive(r->job, r->progress.step);
    return TT_OK;
}

tt_status tt_run_step(struct tt_run *r)
{
    const struct tt_plan *plan = NULL;
    bool renewed = false;
    if (r->plan_of) TT_TRY(r->plan_of(r->plan_user, r->progress.step + 1, &plan, &renewed));
    if (plan && renewed) tt_stepper_replan(&r->between, plan);
    r->reduced = plan != NULL;
    return tt_run_step_by(r, plan ? &r->between : &r->stepper);
}

/* ---- the rest ---- */

tt_status tt_run_evaluate(struct tt_run *r, struct tt_evaluation *out)
{
    return tt_evaluate(r->engine, r->eval_plan, r->config, r->data, r->job, out);
}

tt_status tt_run_save(struct tt_run *r, const char *dir, int64_t step, const char *config, const char *folder,
                      bool timed)
{
    TT_TRY(tt_save_progress(r->engine, step, tt_step_rows(r->config), &r->progress));
    struct tt_checkpoint c = {.progress = r->progress, .config = config, .folder = folder, .params = r->params,
                              .tokenizer = r->data ? tt_data_tokenizer(r->data) : r->tokenizer, .job = r->job,
                              .timed = timed};
    tt_job_busy(r->job);
    return tt_save(r->engine, dir, &c, r->config->keep);
}

void tt_run_close(struct tt_run *r)
{
    /* A failure here is not reported: the next use of the device fails too. */
    if (r->late_plan && r->stepper.plan) tt_status_free(tt_engine_settle(r->engine));
    if (r->engine) r->engine->late = NULL;
    tt_feed_close(&r->feed);
    tt_guest_close(&r->guest);
    if (r->between.plan) tt_stepper_close(&r->between);
    if (r->stepper.plan) tt_stepper_close(&r->stepper);
}
