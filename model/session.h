/* A model on a device: its plans, its memory, its weights. What train, eval, generate and bench begin with. */
#ifndef TT_SESSION_H
#define TT_SESSION_H

#include "core/checkpoint/checkpoint.h"
#include "core/plan/engine.h"
#include "core/train/run.h"
#include "model/between.h"
#include "model/model.h"

struct tt_session {
    struct tt_backend *backend;
    struct tt_model *model;
    struct tt_engine engine;
    struct tt_plan *step, *eval; /* NULL when not asked for */
    struct tt_plan *late, *update; /* a step that leaves its update to the next, and that update; NULL: no step does */
    struct tt_plan *between;     /* of a step between two choices of --update-every, not bound; NULL: there are none */
    struct tt_between interval; /* makes the plans of such steps */
    bool shares_memory;          /* with the host */
    bool new_scales;             /* --fp8-scaling delayed, and the source of the weights has no history */
};

/* With TT_USE_PREDICT the plans are not meant to run: the precision may be one that this device does not have. */
enum tt_session_use { TT_USE_TRAIN = 1, TT_USE_EVAL = 2, TT_USE_PREDICT = 4 };

/* Writes the plans and allocates; the weights are still zero. With no plan asked for, there is room for weights
 * only. */
tt_status tt_session_open(struct tt_session *s, struct tt_backend *backend, const struct tt_config *c, unsigned use);

/* Writes the plans without allocating; `engine` then says how much memory they need. */
tt_status tt_session_plan(struct tt_session *s, struct tt_backend *backend, const struct tt_config *c, unsigned use);

/* For a run that does not fit into `room` bytes: the largest batch that fits. If not even one sequence fits, the length
 * that one may have, to within a factor of two; 0: no length fits. */
struct tt_smaller {
    int64_t batch_size, seq_len;
};
tt_status tt_session_smaller(struct tt_backend *backend, const struct tt_config *c, unsigned use, double room,
                             struct tt_smaller *out);

/* Random first weights. In a session that trains, this function and the two that load also set the state of the run on
 * the device (tt_state_begin): to the beginning of a run, or with tt_session_load to where the checkpoint's run was. */
tt_status tt_session_init_weights(struct tt_session *s);
tt_status tt_session_set_weights(struct tt_session *s, const float *weights); /* the whole arena, and nothing else */
/* Loads a checkpoint folder, with the moments if the session trains. *progress: where its run was. */
tt_status tt_session_load(struct tt_session *s, const char *path, struct tt_progress *progress);
/* Loads the weights alone, for a new run: moments stay zero. */
tt_status tt_session_load_weights(struct tt_session *s, const char *path);

/* Where a run gets its weights from: `checkpoint` to resume, or `weights`, a checkpoint whose weights a new run begins
 * with. Both NULL: random weights. */
struct tt_origin {
    const char *checkpoint, *weights; /* at most one is set */
};

/* Makes the run of a session that was just opened. Weights and state are in place, and it is not started. `data` may be
 * NULL. */
tt_status tt_session_run(struct tt_session *s, const struct tt_config *c, struct tt_origin from, struct tt_data *data,
                         struct tt_run *out);

/* Opens a session and starts a new run with the same tokens in every step, to measure its steps. */
tt_status tt_session_try(struct tt_session *s, struct tt_backend *backend, const struct tt_config *c,
                         struct tt_data *data, struct tt_run *out);

void tt_session_close(struct tt_session *s);

#endif
