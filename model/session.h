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
    struct tt_plan *late, *update; /* a step that leaves its update to the next, and that update; NULL: none does */
    struct tt_plan *between;     /* of a step between two choices of --update-every, not bound; NULL: there are none */
    struct tt_between interval; /* such steps */
    bool shares_memory;          /* with the host */
    bool new_scales;             /* delayed ones, of which what its weights come from has no history */
};

/* With TT_USE_PREDICT the plans are not meant to run: the precision may be one that this device does not have. */
enum tt_session_use { TT_USE_TRAIN = 1, TT_USE_EVAL = 2, TT_USE_PREDICT = 4 };

/* Writes the plans and allocates; the weights are still zero. With no plan asked for, there is room for weights
 * only. */
tt_status tt_session_open(struct tt_session *s, struct tt_backend *backend, const struct tt_config *c, unsigned use);

/* Writes the plans without allocating; `engine` then says how much memory they need. */
tt_status tt_session_plan(struct tt_session *s, struct tt_backend *backend, const struct tt_config *c, unsigned use);

/* For a run that does not fit into `room` bytes, the largest batch that does. Where not even one sequence fits, how
 * long one may be, to within a factor of two; 0: no length fits. */
struct tt_smaller {
    int64_t batch_size, seq_len;
};
tt_status tt_session_smaller(struct tt_backend *backend, const struct tt_config *c, unsigned use, double room,
                             struct tt_smaller *out);

/* A session that trains is then at the beginning of a run, or, after tt_session_load, where the checkpoint's run was:
 * what the device knows of it (tt_state_begin) is in place too. */
tt_status tt_session_init_weights(struct tt_session *s);
tt_status tt_session_set_weights(struct tt_session *s, const float *weights); /* the whole arena, and nothing else */
/* From a checkpoint folder; the moments too when the session trains. */
tt_status tt_session_load(struct tt_session *s, const char *path, struct tt_progress *progress);
/* The weights alone, to begin anew with: moments stay zero. */
tt_status tt_session_load_weights(struct tt_session *s, const char *path);

/* Where a run gets its weights from: a checkpoint to go on from, or one whose weights it begins with, or at random. */
struct tt_origin {
    const char *checkpoint, *weights; /* NULL: not from there */
};

/* The run of a session that was just opened: weights and state in place, not started. `data` may be NULL. */
tt_status tt_session_run(struct tt_session *s, const struct tt_config *c, struct tt_origin from, struct tt_data *data,
                         struct tt_run *out);

/* Opens and starts a new run that uses the same tokens in every step: for measuring its steps. */
tt_status tt_session_try(struct tt_session *s, struct tt_backend *backend, const struct tt_config *c,
                         struct tt_data *data, struct tt_run *out);

void tt_session_close(struct tt_session *s);

#endif
