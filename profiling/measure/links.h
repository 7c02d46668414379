/* How fast the ranks of a job communicate: each collective at a few sizes, with all ranks and in pairs, and what that
 * means for a step. All ranks call these, in the same order. */
#ifndef TT_LINKS_H
#define TT_LINKS_H

#include "core/job/job.h"
#include "core/plan/plan.h"

enum { TT_LINK_SIZES = 5, TT_LINK_ROWS = TT_COLLECTIVES * TT_LINK_SIZES, TT_MOST_PAIRED = 64 };

/* A line of the table that nccl-tests print; elements are fp32. */
struct tt_link_row {
    enum tt_collective_kind kind;
    int64_t count;
    double bytes;          /* of all parts */
    double seconds;        /* of the rank that took longest: its median */
    double algbw, busbw;   /* bytes/s: bytes / seconds; times tt_bus_factor */
};

/* Ranks `a` and `b` alone, by all_reduce. */
struct tt_link_pair {
    int a, b;
    double bytes_per_second; /* each way */
};

struct tt_links {
    int ranks;
    struct tt_link_row rows[TT_LINK_ROWS];
    int row_count;
    struct tt_link_pair slowest, fastest; /* of all pairs, when there are any */
    int pairs;                            /* that were measured */
    char no_pairs[200];                   /* why none were; "": they were */
};

/* From the bytes of all parts and the time. */
void tt_link_rates(struct tt_link_row *row, int ranks);

/* A round-robin, in which each rank meets every other once: how many rounds, and whom a rank meets; -1: nobody. */
int tt_link_rounds(int ranks);
int tt_link_partner(int ranks, int round, int rank);

/* `most` bytes at most in each collective; pairs of a round run at the same time. */
tt_status tt_links_measure(struct tt_backend *b, struct tt_job *job, double most, int repeats, struct tt_links *out);

/* How long a collective takes by the table: between two sizes in proportion, beyond the largest at its rate. */
double tt_links_seconds(const struct tt_links *l, const struct tt_collective *c);
double tt_links_plan_seconds(const struct tt_links *l, const struct tt_plan *plan);

#endif
