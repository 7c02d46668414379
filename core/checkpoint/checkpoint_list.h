/* The checkpoint folders of a run, by their names: shared by saving and finding. */
#ifndef TT_CHECKPOINT_LIST_H
#define TT_CHECKPOINT_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"

enum tt_checkpoint_kind { TT_CHECKPOINT_COMPLETE, TT_CHECKPOINT_OLD, TT_CHECKPOINT_TMP, TT_CHECKPOINT_KINDS };

struct tt_checkpoint_entry {
    int64_t step;
    enum tt_checkpoint_kind kind;
};

struct tt_checkpoint_list {
    struct tt_checkpoint_entry *items; /* free it */
    int n;
    size_t room;
};

/* <dir>/step-<step> with the suffix of its kind, malloc'd; NULL when there is no memory. */
char *tt_checkpoint_path(const char *dir, int64_t step, enum tt_checkpoint_kind kind);

/* Lists the checkpoint folders in dir: the newest first, and for one step the complete one first. Empty if dir does not
 * exist. */
tt_status tt_checkpoint_list(const char *dir, struct tt_checkpoint_list *l);

#endif
