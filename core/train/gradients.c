#include "core/train/gradients.h"

#include <math.h>
#include <stdlib.h>

#include "core/checkpoint/arena.h"

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* The squares of a tensor's floats that lie in [from, to) of the arena. */
static double squares_in(const struct tt_param *t, const float *g, int64_t from, int64_t to)
{
    double sum = 0;
    to = smaller(to, t->offset + t->count);
    for (int64_t i = larger(from, t->offset); i < to; i++) sum += (double)g[i] * (double)g[i];
    return sum;
}

/* If the optimiser is sharded, each rank has the gradients summed over all ranks only for its own parts. */
static double my_squares(const struct tt_params *p, const struct tt_param *t, const float *g)
{
    if (!p->sharded[TT_X_MOMENT1]) return squares_in(t, g, 0, p->total);
    double sum = 0;
    for (int b = 0; b < p->bucket_count; b++) {
        struct tt_part part = tt_part_of(p, b);
        sum += squares_in(t, g, part.begin, part.begin + part.count);
    }
    return sum;
}

/* Sums the parts of all ranks, in the order of the ranks. */
static tt_status add_up(struct tt_job *job, double *squares, int n)
{
    int ranks = tt_job_ranks(job);
    double *all = malloc((size_t)(ranks * n) * sizeof *all);
    tt_status st = all ? TT_OK : tt_no_memory("the norms of the gradients");
    st = tt_job_agree(job, st);
    if (!st) st = tt_job_gather(job, squares, (size_t)n * sizeof *squares, all);
    for (int i = 0; i < n && !st; i++) {
        squares[i] = 0;
        for (int r = 0; r < ranks; r++) squares[i] += all[r * n + i];
    }
    free(all);
    return st;
}

tt_status tt_gradient_squares(struct tt_run *r, double *squares)
{
    const struct tt_params *p = r->params;
    float *g = malloc((size_t)p->total * sizeof *g);
    tt_status st = g ? tt_arena_download(r->engine, p, TT_X_GRADS, sizeof *g, g)
                     : tt_no_memory("the gradients that --tensorboard shows");
    for (int i = 0; i < p->n && !st; i++) squares[i] = my_squares(p, &p->items[i], g);
    free(g);
    st = tt_job_agree(r->job, st);
    return !st && p->sharded[TT_X_MOMENT1] ? add_up(r->job, squares, p->n) : st;
}

double tt_gradient_unclip(double recorded, double squares)
{
    double factor = recorded / sqrt(squares);
    return isfinite(factor) ? factor : 1;
}
