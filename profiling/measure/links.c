#include "profiling/measure/links.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/kernel_info.h"
#include "core/base/stats.h"

enum { BATCH = 4, MOST_REPEATS = 32, PAIR_BYTES = 4 << 20 };
static const double sizes[TT_LINK_SIZES] = {4 << 10, 64 << 10, 1 << 20, 16 << 20, 128 << 20};

/* ---- one collective ---- */

struct bench {
    struct tt_backend *b;
    struct tt_job *job;
    void *buffer;
    tt_stream stream;
    tt_event from, to;
    int repeats, rank, ranks; /* of the group that communicates */
};

static tt_status open_bench(struct bench *m, size_t bytes)
{
    struct tt_backend *b = m->b;
    TT_TRY(b->ops->alloc(b->self, bytes, &m->buffer));
    TT_TRY(b->ops->fill(b->self, m->buffer, 0, bytes, NULL));
    TT_TRY(b->ops->stream_sync(b->self, NULL));
    TT_TRY(b->ops->stream_create(b->self, &m->stream));
    TT_TRY(b->ops->event_create(b->self, &m->from));
    return b->ops->event_create(b->self, &m->to);
}

static void close_bench(struct bench *m)
{
    struct tt_backend *b = m->b;
    if (m->from) b->ops->event_destroy(b->self, m->from);
    if (m->to) b->ops->event_destroy(b->self, m->to);
    if (m->stream) b->ops->stream_destroy(b->self, m->stream);
    if (m->buffer) b->ops->free(b->self, m->buffer);
}

/* A collective in place: this rank's part lies in the same buffer. */
static struct tt_collective in_place(const struct bench *m, enum tt_collective_kind kind, int64_t count)
{
    char *all = m->buffer, *part = all + (size_t)(count / m->ranks) * sizeof(float) * (size_t)m->rank;
    return (struct tt_collective){kind, kind == TT_ALL_GATHER ? part : all, kind == TT_REDUCE_SCATTER ? part : all,
                                  count, TT_F32, m->ranks};
}

static tt_status run_batch(struct bench *m, const struct tt_collective *c, double *seconds)
{
    const struct tt_backend_ops *ops = m->b->ops;
    void *self = m->b->self;
    TT_TRY(ops->event_record(self, m->from, m->stream));
    for (int i = 0; i < BATCH; i++) TT_TRY(ops->collective(self, c, m->stream));
    TT_TRY(ops->event_record(self, m->to, m->stream));
    TT_TRY(ops->event_elapsed(self, m->from, m->to, seconds));
    *seconds /= BATCH;
    return TT_OK;
}

/* The first batch does not count: it sets connections up, and lets the ranks begin together. */
static tt_status time_collective(struct bench *m, enum tt_collective_kind kind, int64_t count, double *median)
{
    double seconds[MOST_REPEATS], ignored;
    struct tt_collective c = in_place(m, kind, count);
    TT_TRY(run_batch(m, &c, &ignored));
    for (int i = 0; i < m->repeats; i++) TT_TRY(run_batch(m, &c, &seconds[i]));
    *median = tt_quantile(seconds, m->repeats, 0.5);
    return TT_OK;
}

/* ---- the table ---- */

void tt_link_rates(struct tt_link_row *row, int ranks)
{
    row->algbw = row->seconds > 0 ? row->bytes / row->seconds : NAN;
    row->busbw = row->algbw * tt_bus_factor(row->kind, ranks);
}

static tt_status measure_row(struct bench *m, struct tt_link_row *row, double *all)
{
    double mine;
    TT_TRY(time_collective(m, row->kind, row->count, &mine));
    TT_TRY(tt_job_gather(m->job, &mine, sizeof mine, all));
    for (int r = 0; r < m->ranks; r++) row->seconds = fmax(row->seconds, all[r]);
    tt_link_rates(row, m->ranks);
    return TT_OK;
}

static tt_status measure_table(struct bench *m, double most, double *all, struct tt_links *out)
{
    for (int kind = 0; kind < TT_COLLECTIVES; kind++)
        for (int i = 0; i < TT_LINK_SIZES && sizes[i] <= most; i++) {
            struct tt_link_row *row = &out->rows[out->row_count++];
            int64_t count = (int64_t)(sizes[i] / sizeof(float));
            count -= count % m->ranks;
            *row = (struct tt_link_row){.kind = (enum tt_collective_kind)kind, .count = count,
                                        .bytes = (double)count * sizeof(float)};
            TT_TRY(measure_row(m, row, all));
        }
    return TT_OK;
}

/* ---- pairs ---- */

/* The circle method: one rank stays and the others move on by one place. With an odd number, an empty place stays. */
int tt_link_rounds(int ranks) { return ranks % 2 ? ranks : ranks - 1; }

int tt_link_partner(int ranks, int round, int rank)
{
    int places = ranks + ranks % 2, ring = places - 1, partner;
    if (rank == places - 1) /* this one stays: it meets the rank that would meet itself */
        partner = (round * (places / 2)) % ring;
    else
        partner = ((round - rank) % ring + ring) % ring;
    if (partner == rank) partner = places - 1;
    return partner < ranks ? partner : -1;
}

static void keep_pair(struct tt_links *out, int a, int b, double seconds)
{
    struct tt_link_pair pair = {a, b, PAIR_BYTES * tt_bus_factor(TT_ALL_REDUCE, 2) / seconds};
    if (!out->pairs || pair.bytes_per_second < out->slowest.bytes_per_second) out->slowest = pair;
    if (!out->pairs || pair.bytes_per_second > out->fastest.bytes_per_second) out->fastest = pair;
    out->pairs++;
}

static tt_status play_round(struct bench *m, int round, double *all, struct tt_links *out)
{
    int me = tt_job_rank(m->job), other = tt_link_partner(out->ranks, round, me);
    double mine = 0;
    TT_TRY(m->b->ops->split(m->b->self, other < 0 || me < other ? me : other));
    struct bench two = *m;
    two.ranks = 2;
    two.rank = me > other;
    if (other >= 0) TT_TRY(time_collective(&two, TT_ALL_REDUCE, PAIR_BYTES / sizeof(float), &mine));
    TT_TRY(tt_job_gather(m->job, &mine, sizeof mine, all));
    for (int a = 0; a < out->ranks; a++) {
        int b = tt_link_partner(out->ranks, round, a);
        if (a < b) keep_pair(out, a, b, fmax(all[a], all[b]));
    }
    return TT_OK;
}

/* All ranks have the same library, so all give the same answer. */
static tt_status measure_pairs(struct bench *m, double *all, struct tt_links *out)
{
    const struct tt_backend *b = m->b;
    tt_status st = TT_OK;
    if (out->ranks > TT_MOST_PAIRED)
        st = tt_fail(TT_UNSUPPORTED, "pairs of more than %d ranks take too long", TT_MOST_PAIRED);
    else if (!b->ops->split)
        st = tt_fail(TT_UNSUPPORTED, "the communication library of this backend cannot split a communicator");
    for (int round = 0; round < tt_link_rounds(out->ranks) && !st; round++) st = play_round(m, round, all, out);
    if (!st) return b->ops->split(b->self, -1);
    if (st->code != TT_UNSUPPORTED || out->pairs) return st;
    snprintf(out->no_pairs, sizeof out->no_pairs, "%.199s", st->text);
    tt_status_free(st);
    return TT_OK;
}

tt_status tt_links_measure(struct tt_backend *b, struct tt_job *job, double most, int repeats, struct tt_links *out)
{
    int ranks = tt_job_ranks(job);
    struct bench m = {.b = b, .job = job, .rank = tt_job_rank(job), .ranks = ranks,
                      .repeats = repeats < MOST_REPEATS ? repeats : MOST_REPEATS};
    double *all = calloc((size_t)ranks, sizeof *all);
    *out = (struct tt_links){.ranks = ranks};
    tt_status st = all ? open_bench(&m, (size_t)fmax(most, PAIR_BYTES)) : tt_no_memory("the times of %d ranks", ranks);
    st = tt_job_agree(job, st);
    tt_job_busy(job);
    if (!st) st = measure_table(&m, most, all, out);
    if (!st) st = measure_pairs(&m, all, out);
    close_bench(&m);
    free(all);
    return st;
}

/* ---- what a step would take ---- */

double tt_links_seconds(const struct tt_links *l, const struct tt_collective *c)
{
    const struct tt_link_row *below = NULL, *above = NULL;
    double bytes = (double)c->count * (double)tt_dtype_size(c->type);
    for (int i = 0; i < l->row_count; i++) {
        const struct tt_link_row *row = &l->rows[i];
        if (row->kind != c->kind) continue;
        if (row->bytes <= bytes) below = row;
        if (row->bytes > bytes && !above) above = row;
    }
    if (!below) return above ? above->seconds : NAN; /* a small one is bound by latency */
    if (!above) return below->seconds * bytes / below->bytes;
    double part = (bytes - below->bytes) / (above->bytes - below->bytes);
    return below->seconds + part * (above->seconds - below->seconds);
}

double tt_links_plan_seconds(const struct tt_links *l, const struct tt_plan *plan)
{
    double sum = 0;
    for (int i = 0; i < plan->count; i++)
        if (plan->ops[i].kind == TT_OP_COLLECTIVE) sum += tt_links_seconds(l, &plan->ops[i].args.collective);
    return sum;
}
