/* A checkpoint is a folder step-00000100 with
 *   model.safetensors   the weights, under the names of the parameter table
 *   state.safetensors   AdamW's moments, as m.<name> and v.<name>
 *   updates.safetensors with --update top-k: how often and when last each group of weights was chosen, and the choices
 *                       themselves in the last row
 *   tokenizer.json      when the data has one
 *   checkpoint.json     step, position in the data, configuration, and size and CRC-32 of each of the files, then its
 *                       own CRC-32
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
    char name[96];     /* "layers.0.attention.wq.weight" */
    int64_t shape[2];  /* vectors have shape[1] == 0 */
    int64_t offset, count; /* in floats from the start of the arena */
    int layer;         /* -1: outside of the layers */
    int group;         /* that its first rows belong to; each further group_rows rows to the next */
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

/* A piece of the arena whose gradients are complete at the same time: ranks sum them up, and divide what they divide,
 * bucket by bucket. All buckets together are the arena, and each has a part of the same size for every rank. */
struct tt_bucket {
    int64_t offset, count;
};

struct tt_params {
    struct tt_param *items;
    int n;
    int64_t total;     /* floats in the arena, padding included */
    int64_t decay_end; /* matrices lie below, norm weights above */
    struct tt_bucket *buckets;
    int bucket_count;
    int rank, ranks;
    struct tt_groups groups;
    bool sharded[TT_EXTERNAL_COUNT]; /* of such arrays this rank has its parts alone, one behind the other */
};

/* What a run needs beside the tensors to go on with the same bits. */
struct tt_progress {
    int64_t step;      /* steps done */
    int64_t skipped;   /* of them, steps that changed nothing */
    uint64_t position; /* samples taken from the training data */
    uint64_t seed;
    double best_val;   /* +inf before the first validation */
    int64_t best_step, bad_vals; /* for early stopping */
    float loss_scale;  /* of the next step; 0: none yet */
    int64_t good_steps; /* since it last changed */
    uint64_t data_mark; /* tt_data_mark of the data; 0: not known */
};

struct tt_checkpoint {
    struct tt_progress progress;
    const char *config; /* YAML as --print-config writes it; on load malloc'd, free it */
    const char *folder; /* against which paths in config are meant; or NULL. Not loaded: tt_checkpoint_folder */
    const struct tt_tokenizer *tokenizer; /* or NULL; not loaded */
    const struct tt_params *params;
    float *w, *m, *v; /* host copies of the arenas; m, v may be NULL on load: weights only */
    struct tt_update_group *updates; /* what groups of weights have seen, groups.count + 1 of them; or NULL */
    struct tt_job *job; /* on save, the ranks that do it together; NULL: this process alone. A rank's own parts are what
                           it has of arrays that are sharded */
};

/* All ranks of the job call it, and all get the same answer; what it writes does not depend on how many there are.
 * Saves as <dir>/step-<step>, then removes all but the `keep` newest complete ones (keep <= 0: none removed) and what
 * crashes left behind; failing to remove them is not an error, the next save tries again. On error nothing that was
 * there before is touched. One of the same step is replaced, and remains until the new one is in place. */
tt_status tt_checkpoint_save(const char *dir, const struct tt_checkpoint *c, int64_t keep);

/* The checkpoint of that step, if there is one; after a crash in between there is either all of it or nothing. */
void tt_checkpoint_remove(const char *dir, int64_t step);

/* The newest (by step) undamaged checkpoint in dir: its path, malloc'd; NULL (and TT_OK) when there is none at all;
 * TT_DAMAGED when there are only damaged ones. `warn` is called with one line for each damaged one that is skipped. One
 * that cannot be read (no permission, memory or files, a failing disk) is not damaged, but an error. */
tt_status tt_checkpoint_find(const char *dir, void (*warn)(const char *line, void *arg), void *arg, char **path);

/* Gives the damaged ones of steps after `after`, where a run is about to go on, another name: saving neither counts nor
 * removes them. `warn` is called with one line for each. */
void tt_checkpoint_set_aside(const char *dir, int64_t after, void (*warn)(const char *line, void *arg), void *arg);

/* Progress and configuration alone (path: a checkpoint folder). */
tt_status tt_checkpoint_peek(const char *path, struct tt_progress *progress, char **config);

/* The folder in which the run was started, malloc'd; NULL when it is not known. */
tt_status tt_checkpoint_folder(const char *path, char **folder);

/* Fills w (and m, v when given) for c->params, and progress and config. Names, shapes, sizes and checksums are checked
 * before anything is written into the arenas; floats between the tensors become 0. For weights only, state.safetensors
 * is not read. Without updates.safetensors, `updates` becomes that of groups which were all chosen in every update. */
tt_status tt_checkpoint_load(const char *path, struct tt_checkpoint *c);

#endif
