/* A file or folder that is written under a name of its own, beside the final one, and then takes its place: a reader
 * finds the old one or the whole new one, whatever other processes write to the same name meanwhile.
 *
 * It is locked until then. So what a crash left behind is known by its lock being free, and whoever writes to the same
 * name next removes it. */
#ifndef TT_BESIDE_H
#define TT_BESIDE_H

#include "core/base/status.h"

struct tt_beside {
    char *path, *target; /* NAME.tt-0123abcd.tmp and NAME */
    int fd;              /* of a file: to write to */
};

tt_status tt_beside_file(const char *target, struct tt_beside *b);
tt_status tt_beside_folder(const char *target, struct tt_beside *b);

/* Each of them ends it: synced and in place, or removed. A folder replaces an empty one only. */
tt_status tt_beside_replace(struct tt_beside *b);
tt_status tt_beside_add(struct tt_beside *b); /* a file that replaces nothing: an error when there is one meanwhile */
void tt_beside_drop(struct tt_beside *b);

#endif
