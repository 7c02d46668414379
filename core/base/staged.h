/* A file or folder that is written under a temporary name beside its target and then renamed to it. A reader sees the
 * old one or the complete new one, whatever other processes write to the same target.
 *
 * The temporary one is locked while it is written. One without a lock was left by a crash, and the next process that
 * stages the same target removes it. */
#ifndef TT_STAGED_H
#define TT_STAGED_H

#include "core/base/status.h"

struct tt_staged {
    char *path, *target; /* NAME.tt-0123abcd.tmp and NAME */
    int fd;              /* holds the lock; of a file: open for writing */
};

tt_status tt_stage_file(const char *target, struct tt_staged *b);
tt_status tt_stage_folder(const char *target, struct tt_staged *b);

/* Each of these ends it. Replace and add sync it and rename it; drop removes it. A folder can replace only an empty
 * one.
 */
tt_status tt_staged_replace(struct tt_staged *b);
tt_status tt_staged_add(struct tt_staged *b); /* files only: an error if the target exists by now */
void tt_staged_drop(struct tt_staged *b);

#endif
