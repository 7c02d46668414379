/* checkpoint.json: what a checkpoint contains, and the check that its files are still intact. */
#ifndef TT_MANIFEST_H
#define TT_MANIFEST_H

#include <stdint.h>

#include "core/base/status.h"
#include "core/checkpoint/checkpoint.h"

struct tt_manifest_file {
    char name[64];
    uint64_t size;
    uint32_t crc;
};

struct tt_manifest {
    struct tt_progress progress;
    char *config; /* malloc'd by read */
    char *folder; /* relative paths in config start there; NULL: unknown. malloc'd by read */
    bool timed;   /* saved by the clock: the next checkpoint replaces it, also that of a run which resumes from it */
    struct tt_manifest_file files[8];
    int n;
};

/* `folder` is the checkpoint. read() verifies the manifest's own checksum. Read and check return TT_DAMAGED when the
 * bytes are not those that were written, and another error when they cannot be read. */
tt_status tt_manifest_write(const char *folder, const struct tt_manifest *m);
tt_status tt_manifest_read(const char *folder, struct tt_manifest *m);
void tt_manifest_free(struct tt_manifest *m);

const struct tt_manifest_file *tt_manifest_find(const struct tt_manifest *m, const char *name); /* NULL when absent */

/* Checks that all files exist and have the right size. Reads no data. */
tt_status tt_manifest_check_sizes(const char *folder, const struct tt_manifest *m);
/* Checks size and CRC-32 of one file. */
tt_status tt_manifest_check_file(const char *folder, const struct tt_manifest_file *f);

/* Size and CRC-32 of a file, read in pieces. */
tt_status tt_manifest_measure(const char *path, uint64_t *size, uint32_t *crc);

#endif
