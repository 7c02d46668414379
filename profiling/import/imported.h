/* What was imported from another profiler, in one form for all tools: kernels and copies, calls of the host, marked
 * ranges. Importers fill one per file; several of one run are joined, and the whole becomes an imported profile. */
#ifndef TT_IMPORTED_H
#define TT_IMPORTED_H

#include <stdbool.h>
#include <stddef.h>

#include "profiling/profile.h"

struct tt_tally {
    char *name;                             /* as the tool wrote it; after a tab the group, if the tool names it */
    double count, total;                    /* calls; their seconds */
    double median;                          /* seconds of one call; NaN: take it from `times`, or unknown */
    double flops, bytes;                    /* of all calls that were counted; NaN: none was */
    double counted;                         /* the number of these calls */
    double compute_percent, memory_percent; /* of the chip's peak rates, weighted by time; NaN: unknown */
    double *times;                          /* seconds of each call, if they are known */
    size_t time_count, time_room;
};

struct tt_tallies {
    struct tt_tally *rows;
    int count;
    size_t room;
    int *slots; /* by name: index + 1, 0 = free */
    int slot_count;
    bool traced; /* it has every call, so that a summary of the same adds nothing */
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
    double origin; /* nanoseconds of the tool's clock at the first span. Spans count from here: the clock may count from
                      the boot, and seconds since then would lose digits */
    double steps;  /* 0: the files do not tell */
    bool cut;      /* it was cut to the measured steps */
    char scope[400]; /* which part of the recording the figures are of, in a sentence or two */
};

void tt_imported_free(struct tt_imported *r);

/* Finds the row of that name, or makes it. */
tt_status tt_tally_of(struct tt_tallies *t, const char *name, struct tt_tally **out);
/* Adds one call of `seconds` to the row of that name, which is made if there is none. */
tt_status tt_tally_add(struct tt_tallies *t, const char *name, double seconds, struct tt_tally **out);

/* The group of a row: as its name says after a tab, or by the rules of names.h. */
const char *tt_tally_group(const char *name);

/* Adds one call, copy or range to `table`; a kernel whose name says that it is a copy goes to the copies. Times are in
 * nanoseconds of the tool's clock; bytes may be NaN. */
tt_status tt_imported_add(struct tt_imported *r, enum tt_imported_table table, const char *name, double start,
                          double length, double bytes);

/* The ranges TT_TOOL_RANGE (tools.h), sorted and without overlap; none where the program marked none. Free `list`. */
struct tt_windows {
    struct tt_window {
        double start, end; /* seconds since the origin */
    } * list;
    size_t count;
    double origin;
};
tt_status tt_imported_windows(const struct tt_imported *r, struct tt_windows *out);

/* Whether the middle of `start` and `end`, nanoseconds of the tool's clock, lies in a window; true if there are
 * none. */
bool tt_windows_hold(const struct tt_windows *w, double start, double end);

/* Adds what `from` has. A table that is there as a trace and as a summary counts once, from the trace. What ncu counted
 * is added to the kernels of the same name. `note` gets a line on what was left out, or "". */
tt_status tt_imported_join(struct tt_imported *r, struct tt_imported *from, char *note, size_t note_size);

/* Keeps only what lies in the ranges TT_TOOL_RANGE, and counts the steps in them. `scope` then says which part of the
 * recording the figures are of, also when there is no such range or when a summary cannot be cut. `steps`: the user's
 * number of steps, or 0. */
tt_status tt_imported_cut(struct tt_imported *r, double steps);

/* Makes a profile with figures per step: divided by `steps`, if that is 0 by the number that the files tell, or by 1 if
 * neither is known. */
tt_status tt_imported_profile(struct tt_imported *r, double steps, struct tt_profile *out);

#endif
