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

enum tt_imported_table { TT_IN_KERNELS, TT_IN_COPIES, TT_IN_CALLS, TT_IN_RANGES, TT_IN_TABLES };

/* One call, copy or range, where its start is known. */
struct tt_imported_span {
    double start, end; /* seconds since the origin */
    double bytes;      /* NaN: not known */
    enum tt_imported_table table;
    int row; /* of that table */
};

struct tt_imported {
    char tool[32]; /* "nsys", "ncu", "rocprofv3", "PyTorch", "tt" */
    char device[128];
    union {
        struct {
            struct tt_tallies kernels, copies, calls, ranges;
        };
        struct tt_tallies tables[TT_IN_TABLES];
    };
    struct tt_imported_span *spans;
    size_t span_count, span_room;
    double origin; /* nanoseconds of the tool's clock; clocks count from the boot, so that their seconds have no digits
                      left */
    double steps;  /* 0: the files do not tell */
    bool cut;      /* to the measured steps */
    char scope[400]; /* which part of the recording the figures are of, in a sentence or two */
};

void tt_imported_free(struct tt_imported *r);

/* The row of that name, made when there is none. */
tt_status tt_tally_of(struct tt_tallies *t, const char *name, struct tt_tally **out);
/* One call of `seconds`. */
tt_status tt_tally_add(struct tt_tallies *t, const char *name, double seconds, struct tt_tally **out);

/* The group of that row: as told, or by the rules of names.h. */
const char *tt_tally_group(const char *name);

/* One of `table`, or of copies when it is a kernel whose name says so. Times in nanoseconds of the tool's clock; bytes
 * may be NaN. */
tt_status tt_imported_add(struct tt_imported *r, enum tt_imported_table table, const char *name, double start,
                          double length, double bytes);

/* The ranges TT_TOOL_RANGE (tools.h), in order and apart; none where the program marked none. Free `list`. */
struct tt_windows {
    struct tt_window {
        double start, end; /* seconds since the origin */
    } * list;
    size_t count;
    double origin;
};
tt_status tt_imported_windows(const struct tt_imported *r, struct tt_windows *out);

/* Whether the middle of that time, in nanoseconds of the tool's clock, lies in one of them; true where there is none.
 */
bool tt_windows_hold(const struct tt_windows *w, double start, double end);

/* Takes over what `from` has. What is there twice, as a trace and as a summary, is counted once, from the trace; what
 * ncu counted is added to the kernels of the same name. `note` gets a line on what was left out, "" when nothing. */
tt_status tt_imported_join(struct tt_imported *r, struct tt_imported *from, char *note, size_t note_size);

/* Leaves of everything what lies in the ranges TT_TOOL_RANGE, and counts the steps in them. Says in `scope` what the
 * figures are of: also when there is no such range, or when a summary cannot be cut. `steps`: as the user says, or 0.
 */
tt_status tt_imported_cut(struct tt_imported *r, double steps);

/* Per step: of `steps`, or of those the files tell of when 0, or of the whole when neither is known. */
tt_status tt_imported_profile(struct tt_imported *r, double steps, struct tt_profile *out);

#endif
