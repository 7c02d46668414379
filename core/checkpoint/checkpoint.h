/* A checkpoint is a folder step-00000100 with
 *   model.safetensors   the weights, under the names of the parameter table
 *   state.safetensors   AdamW's moments, as m.<name> and v.<name>
 *   updates.safetensors with --update top-k: for each group of weights, how often and when last it was chosen; in the
 *                       last row, the number of choices and the step of the latest
 *   scales.safetensors  with --fp8-scaling delayed: the scales of 8-bit factors, and the magnitudes they come from
 *   tokenizer.json      when the data has one
 *   checkpoint.json     step, position in the data, configuration, whether the clock saved it, size and CRC-32 of each
 *                       file, and its own CRC-32
 * It is written as step-00000100.tmp, synced, and renamed, so a folder with the final name is complete. The same state
 * gives the same bytes. */
#ifndef TT_CHECKPOINT_H
#define TT_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/data/tokenizers/tokenizer.h"
#include "core/job/job.h"
#include "core/plan/plan.h"

/* One tensor of the parameter arena. */
struct tt_param {
    char name[96];         /* "layers.0.attention.wq.weight" */
    int64_t shape[2];      /* vectors have shape[1] == 0 */
    int64_t offset, count; /* in floats from the start of the arena */
    int layer;         /* -1: outside of the layers */
    int group;         /* the group of its first group_rows rows; the next ones belong to the next group, and so on */
    int64_t group_rows;
};

/* The groups of weights that a step with --update top-k chooses from. */
struct tt_groups {
    int count;     /* 0: every step changes all weights */
    int chosen;    /* in each step */
    int layers;
    int *layer;    /* of each group; -1: outside of the layers */
    int64_t *size; /* weights of each */
};

/* A contiguous piece of the arena whose gradients are complete at the same time. Gradients are reduced and arrays are
 * sharded bucket by bucket. The buckets cover the arena, and each divides evenly among the ranks. */
struct tt_bucket {
    int64_t offset, count;
};

struct tt_params {
    struct tt_param *items;
    int n;
    int64_t total;     /* floats in the arena, padding included */
    int64_t decay_end; /* matrices are below this offset (weight decay), norm weights above (none) */
    struct tt_bucket *buckets;
    int bucket_count;
    int rank, ranks;
    enum tt_dtype moments; /* how the device stores the moments: fp32 or bf16 */
    struct tt_groups groups;
    bool sharded[TT_EXTERNAL_COUNT]; /* of such an array a rank has only its part of each bucket, concatenated */
};

/* What a run needs besides the tensors to resume bit for bit. */
struct tt_progress {
    int64_t step;      /* steps done */
    int64_t skipped;   /* of these, steps without an update */
    uint64_t position; /* samples taken from the training data */
    uint64_t seed;
    double best_val;             /* +inf before the first validation */
    int64_t best_step, bad_vals; /* for early stopping */
    float loss_scale;            /* of the next step; 0: none yet */
    int64_t good_steps;          /* since the loss scale last changed */
    uint64_t data_mark;          /* tt_data_mark of the data; 0: unknown */
    int64_t data_end;            /* the token that ends documents in the data, plus 1; 0: none does, or unknown */
};

struct tt_checkpoint {
    struct tt_progress progress;
    const char *config; /* YAML as --print-config writes it; load mallocs it, the caller frees it */
    const char *folder; /* paths in config are relative to it; or NULL. Not loaded: tt_checkpoint_folder */
    const struct tt_tokenizer *tokenizer; /* or NULL; not loaded */
    const struct tt_params *params;
    float *w, *m, *v;   /* host copies of the arenas; m, v may be NULL on load: weights only */
    bool parts[3];      /* on save, for w, m and v: it has only this rank's part of each bucket, one after the other */
    struct tt_update_group *updates; /* the choices of groups so far, groups.count + 1 of them; or NULL */
    float *scales; /* of 8-bit factors and their history, TT_FP8_APART + TT_FP8_HISTORY times scale_count; or NULL */
    int64_t scale_count;
    bool timed; /* on save: it is saved by the clock, so it is kept only until the next one */
    bool scales_found; /* on load: the checkpoint has them */
    struct tt_job *job; /* on save: the ranks that save together, each its parts of sharded arrays; NULL: this process
                           alone */
};

/* Saves as <dir>/step-<step>, then removes leftovers of crashes and all but the `keep` newest complete checkpoints
 * (keep <= 0: keeps all). If a removal fails, the next save tries again. On error, existing checkpoints stay as they
 * were. A checkpoint of the same step is replaced only when the new one is complete. Called by all ranks of the job;
 * all get the same status. The bytes do not depend on the number of ranks. */
tt_status tt_checkpoint_save(const char *dir, const struct tt_checkpoint *c, int64_t keep);

/* Removes the checkpoint of that step, if there is one. A crash leaves all of it or nothing. */
void tt_checkpoint_remove(const char *dir, int64_t step);

/* For a run that resumes from `step`: whether that checkpoint was saved by the clock. Also removes older ones that
 * were: one is left if the process is killed after saving a checkpoint and before removing the one before it. */
bool tt_checkpoint_continue_timed(const char *dir, int64_t step);

/* Finds the newest (by step) undamaged checkpoint in dir. *path is malloc'd, or NULL when there is none. TT_DAMAGED
 * when all are damaged. `warn` is called with one line for each damaged one that is skipped. If one cannot be read (no
 * permission, no memory, a failing disk), that is an error, since it may well be undamaged. */
tt_status tt_checkpoint_find(const char *dir, void (*warn)(const char *line, void *arg), void *arg, char **path);

/* Renames damaged checkpoints of steps after `after`, from which a run is about to resume, so that saving neither
 * counts nor removes them. `warn` is called with one line for each. */
void tt_checkpoint_set_aside(const char *dir, int64_t after, void (*warn)(const char *line, void *arg), void *arg);

/* Reads only progress and configuration; `path` is a checkpoint folder. */
tt_status tt_checkpoint_peek(const char *path, struct tt_progress *progress, char **config);

/* The folder in which the run was started, malloc'd; NULL when unknown. */
tt_status tt_checkpoint_folder(const char *path, char **folder);

/* Fills w (and m, v if not NULL) for c->params, and progress and config. For a sharded array it fills only this rank's
 * parts, at their places in the whole arena. Checks names, shapes, sizes and, on rank 0, checksums before it writes to
 * the arenas; the padding between tensors becomes 0. If m and v are NULL, it does not read state.safetensors. If there
 * is no updates.safetensors, `updates` says that all groups were chosen in every update. If there is no
 * scales.safetensors, it leaves `scales` alone. */
tt_status tt_checkpoint_load(const char *path, struct tt_checkpoint *c);

#endif
