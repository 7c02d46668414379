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
    TT_TOKENS_FED,   /* the next of the data, gathered ahead */
    TT_TOKENS_KEPT,  /* the first of the data, in every slot for good: for the step alone */
    TT_TOKENS_GIVEN, /* by tt_run_give before each step */
};

struct tt_run {
    const struct tt_config *config;
    const struct tt_params *params;
    struct tt_engine *engine;        /* allocated; weights and state in place */
    const struct tt_plan *step_plan; /* bound */
    /* A step that leaves its update to the next one, and that update; bound. NULL: all run step_plan. */
    const struct tt_plan *late_plan, *update_plan;
    const struct tt_plan *eval_plan; /* NULL: it does not validate */
    /* Where steps do not all run step_plan: the plan of that step (from 1), bound and good until the next call; *out
     * stays NULL for step_plan. *renewed: it is another one than before. NULL: all run step_plan. */
    tt_status (*plan_of)(void *user, int64_t step, const struct tt_plan **out, bool *renewed);
    void *plan_user;
    struct tt_data *data;            /* NULL: all tokens are given */
    const struct tt_tokenizer *tokenizer; /* without data: what a checkpoint is saved with, or NULL */
    struct tt_job *job;              /* the other ranks, which do the same; NULL: there are none */
    struct tt_backend *backend;      /* where steps go when the engine's is a recorder around it; NULL: the engine's */
    bool graph;                      /* capture the step where the backend can */
    bool validates;                  /* the caller validates, so that no guest has to */
    struct tt_progress progress;     /* where it is */

    /* set by tt_run_start */
    enum tt_tokens tokens;
    struct tt_stepper stepper, between; /* of step_plan, or of late_plan where there is one; of other plans */
    struct tt_late late;
    bool reduced;                       /* the last step ran another plan and lacks some gradients */
    struct tt_feed feed;
    struct tt_guest guest;
    double data_seconds; /* that the host took to get the last step's batch under way */
    bool starved;        /* the last step failed because its batch could not be had */
    bool together;       /* what failed last failed on all ranks */
};

/* The fields before `tokens` are set. Only a run that is fed has guests. Data whose tokens are kept may be closed
 * afterwards. */
tt_status tt_run_start(struct tt_run *r, enum tt_tokens tokens);

/* Enqueues the next step. */
tt_status tt_run_step(struct tt_run *r);
/* The same by another stepper of step_plan, for instance on a recorder. */
tt_status tt_run_step_by(struct tt_run *r, struct tt_stepper *s);

/* The tokens of the next step: rows x (seq-len + 1) of them. NULL: the samples that this step would have been fed. */
tt_status tt_run_give(struct tt_run *r, const int32_t *tokens);

int64_t tt_run_rows(const struct tt_run *r); /* sequences in a step of this rank */

/* The loss of whole batches of the validation data, which are divided among the ranks. */
tt_status tt_run_evaluate(struct tt_run *r, struct tt_evaluation *out);

/* With all ranks, and with the same outcome on each: a checkpoint in `dir` of the run after that step, which is the
 * last one whose update was applied. `config` is its configuration as text, `folder` what paths in it are relative
 * to; both may be NULL. `timed`: by the clock. */
tt_status tt_run_save(struct tt_run *r, const char *dir, int64_t step, const char *config, const char *folder,
                      bool timed);

/* Also after a failure, and when it was never started. The session and the data are the caller's. */
void tt_run_close(struct tt_run *r);

#endif
