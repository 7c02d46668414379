/* How fast the ranks of a job communicate: each collective at a few sizes among all ranks, then pairs of ranks, and how
 * long the collectives of a step take by that. All ranks call tt_links_measure together. */
#ifndef TT_LINKS_H
#define TT_LINKS_H

#include "core/job/job.h"
#include "core/plan/plan.h"

enum { TT_LINK_SIZES = 5, TT_LINK_ROWS = TT_COLLECTIVES * TT_LINK_SIZES, TT_MOST_PAIRED = 64 };

/* A line of the table that nccl-tests print; elements are fp32. */
struct tt_link_row {
    enum tt_collective_kind kind;
    int64_t count;
    double bytes;          /* over all ranks' parts */
    double seconds;        /* the median of the rank that took longest */
    double algbw, busbw;   /* bytes/s: bytes / seconds; times tt_bus_factor */
};

/* Ranks `a` and `b` alone, measured by all_reduce. */
struct tt_link_pair {
    int a, b;
    double bytes_per_second; /* each way */
};

struct tt_links {
    int ranks;
    struct tt_link_row rows[TT_LINK_ROWS];
    int row_count;
    struct tt_link_pair slowest, fastest; /* of all pairs, if any were measured */
    int pairs;                            /* how many were measured */
    char no_pairs[200];                   /* why no pairs were measured; else "" */
};

/* Sets algbw and busbw from bytes and seconds. */
void tt_link_rates(struct tt_link_row *row, int ranks);

/* Round-robin pairing, in which each rank meets every other once: the number of rounds, and the partner of a rank in a
 * round (-1: none). */
int tt_link_rounds(int ranks);
int tt_link_partner(int ranks, int round, int rank);

/* Measures collectives of at most `most` bytes, each as the median of `repeats`. The pairs of a round run at the same
 * time. */
tt_status tt_links_measure(struct tt_backend *b, struct tt_job *job, double most, int repeats, struct tt_links *out);

/* How long a collective takes by the table: interpolated between two sizes, beyond the largest at its rate. The second:
 * all collectives of a plan, one after the other. */
double tt_links_seconds(const struct tt_links *l, const struct tt_collective *c);
double tt_links_plan_seconds(const struct tt_links *l, const struct tt_plan *plan);

#endif
