/* A run: a model on a device, its data, and one step after another. The trainer, the library, the profiler, the
 * benchmark, the diagnosis and the audit all run their steps through it. tt_session_run (model/session.h) makes one of
 * a model. */
#ifndef TT_RUN_H
#define TT_RUN_H

#include "core/checkpoint/checkpoint.h"
#include "core/job/job.h"
#include "core/plan/step.h"
#include "core/train/evaluate.h"
#include "core/train/feed.h"
#include "core/train/guest.h"

enum tt_tokens {
    TT_TOKENS_FED,   /* the next samples of the data, gathered ahead */
    TT_TOKENS_KEPT,  /* the first samples of the data, which stay in the slots: steps without loading */
    TT_TOKENS_GIVEN, /* the caller gives them before each step, with tt_run_give */
};

struct tt_run {
    const struct tt_config *config;
    const struct tt_params *params;
    struct tt_engine *engine;        /* allocated; weights and state in place */
    const struct tt_plan *step_plan; /* bound */
    /* A step that leaves its update to the next one, and that update; bound. NULL: all run step_plan. */
    const struct tt_plan *late_plan, *update_plan;
    const struct tt_plan *eval_plan; /* NULL: it does not validate */
    /* If not all steps run step_plan: gives the plan of a step (from 1), bound and valid until the next call. *out
     * stays NULL for step_plan. *renewed: it is another plan than before. plan_of is NULL if all steps run step_plan.
     */
    tt_status (*plan_of)(void *user, int64_t step, const struct tt_plan **out, bool *renewed);
    void *plan_user;
    struct tt_data *data;            /* NULL: all tokens are given */
    const struct tt_tokenizer *tokenizer; /* without data: what a checkpoint is saved with, or NULL */
    struct tt_job *job;              /* the other ranks, which do the same; NULL: there are none */
    struct tt_backend *backend;      /* runs the steps if the engine's is a recorder around it; NULL: the engine's */
    bool graph;                      /* capture the step if the backend can */
    bool validates;                  /* the caller validates, so that no guest has to */
    struct tt_progress progress;     /* how far it is */

    /* set by tt_run_start */
    enum tt_tokens tokens;
    struct tt_stepper stepper, between; /* for step_plan, or late_plan if there is one; for the plans of plan_of */
    struct tt_late late;
    bool reduced;                       /* the last step ran another plan and lacks some gradients */
    struct tt_feed feed;
    struct tt_guest guest;
    double data_seconds; /* host time to get the last step's batch and enqueue its copy */
    bool starved;        /* the last step failed because its batch could not be loaded */
    bool together;       /* the last failure was one of all ranks */
};

/* Starts a run. The fields before `tokens` must be set. Only a run with TT_TOKENS_FED has guests. With TT_TOKENS_KEPT,
 * the data may be closed afterwards. */
tt_status tt_run_start(struct tt_run *r, enum tt_tokens tokens);

/* Enqueues the next step. */
tt_status tt_run_step(struct tt_run *r);
/* The same with another stepper of step_plan, for instance on a recorder. */
tt_status tt_run_step_by(struct tt_run *r, struct tt_stepper *s);

/* Gives the tokens of the next step: rows x (seq-len + 1) of them. NULL: those that TT_TOKENS_FED would feed. */
tt_status tt_run_give(struct tt_run *r, const int32_t *tokens);

int64_t tt_run_rows(const struct tt_run *r); /* sequences in a step of this rank */

/* The loss of whole batches of the validation data, which are divided among the ranks. */
tt_status tt_run_evaluate(struct tt_run *r, struct tt_evaluation *out);

/* Saves a checkpoint in `dir` of the run after `step`, which is the last step whose update was applied. Called by all
 * ranks; the outcome is the same on each. `config` is its configuration as text, and `folder` what paths in it are
 * relative to; both may be NULL. `timed`: it is saved by the clock. */
tt_status tt_run_save(struct tt_run *r, const char *dir, int64_t step, const char *config, const char *folder,
                      bool timed);

/* Closes a run, also after a failure, or if it was never started. The session and the data are the caller's to close.
 */
void tt_run_close(struct tt_run *r);

#endif
