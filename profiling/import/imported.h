/* What was imported from another profiler, whatever the tool: kernels and copies, calls of the host, marked ranges.
 * Importers fill one per file; several of one run are joined, and the whole becomes an imported profile. */
#ifndef TT_IMPORTED_H
#define TT_IMPORTED_H

#include <stdbool.h>
#include <stddef.h>

#include "profiling/profile.h"

struct tt_tally {
    char *name;                             /* as the tool wrote it; after a tab the group, where the tool tells */
    double count, total;                    /* seconds */
    double median;                          /* of one; NaN: from `times`, or unknown */
    double flops, bytes;                    /* of all that were counted; NaN: not counted */
    double counted;                         /* for how many flops and bytes stand */
    double compute_percent, memory_percent; /* of the chip's speed of light, weighted by time; NaN: unknown */
    double *times;
    size_t time_count, time_room;
};

struct tt_tallies {
    struct tt_tally *rows;
    int count;
    size_t room;
    int *slots; /* by name: index + 1, 0 = free */
    int slot_count;
    bool traced; /* every call was seen, so that a summary of the same adds nothing */
};

struct tt_interval {
    double start, end; /* seconds since the origin */
    int kernel;        /* index into kernels, or -1 - index into copies */
};

struct tt_imported {
    char tool[32]; /* "nsys", "ncu", "rocprofv3", "PyTorch", "tt" */
    char device[128];
    struct tt_tallies kernels, copies, calls, ranges;
    struct tt_interval *busy; /* of kernels and copies, where start and end are known */
    size_t busy_count, busy_room;
    double origin; /* nanoseconds of the tool's clock; clocks count from the boot, so that their seconds have no digits
                      left */
    double steps;  /* 0: the file does not tell */
};

void tt_imported_free(struct tt_imported *r);

/* The row of that name, made when there is none. */
tt_status tt_tally_of(struct tt_tallies *t, const char *name, struct tt_tally **out);
/* One call of `seconds`. */
tt_status tt_tally_add(struct tt_tallies *t, const char *name, double seconds, struct tt_tally **out);

/* The group of that row: as told, or by the rules of names.h. */
const char *tt_tally_group(const char *name);

/* A kernel, or a copy when its name says so, in nanoseconds of the tool's clock; out may be NULL. */
tt_status tt_imported_span(struct tt_imported *r, const char *name, double start, double length,
                           struct tt_tally **out);

/* Takes over what `from` has. What is there twice, as a trace and as a summary, is counted once, from the trace; what
 * ncu counted is added to the kernels of the same name. `note` gets a line on what was left out, "" when nothing. */
tt_status tt_imported_join(struct tt_imported *r, struct tt_imported *from, char *note, size_t note_size);

/* Per step: of `steps`, or of those the files tell of when 0, or of the whole when neither is known. */
tt_status tt_imported_profile(struct tt_imported *r, double steps, struct tt_profile *out);

#endif
