/* How much of a step's communication is exposed: for operations with known times, and in profiles over links of known
 * speed, with one rank that simulates one of two. */
#include "backend/link.h"
#include "profiling/measure/overlap.h"
#include "tests/profiling/profile_fixture.h"

/* ---- known times ---- */

static struct tt_op op_on(enum tt_plan_stream stream, int wait)
{
    return (struct tt_op){.stream = stream, .wait = {-1, -1, wait}, .signal = -1};
}

static void known_times(void)
{
    /* computes; sent beside the next one; which ends before the sending; waits for it; sent when all is done */
    struct tt_op ops[] = {op_on(TT_STREAM_MAIN, -1), op_on(TT_STREAM_COMM, -1), op_on(TT_STREAM_MAIN, -1),
                          op_on(TT_STREAM_MAIN, 0), op_on(TT_STREAM_COMM, -1)};
    struct tt_op_time spans[] = {{0, 1}, {1, 3}, {1.5, 2}, {3.25, 4}, {4, 4.5}};
    struct tt_plan plan = {.ops = ops, .count = 5};
    double exposed[5];
    tt_exposed(&plan, spans, exposed);
    CHECK(exposed[0] == 0 && exposed[2] == 0 && exposed[3] == 0);
    CHECK(exposed[1] == 1, "%g: from 2, where computing ends, to 3", exposed[1]);
    CHECK(exposed[4] == 0.5, "%g: nothing computes any more", exposed[4]);
}

static void begins_and_ends(void)
{
    /* sent before anything computes; waits for that; and one that is sent within the first */
    struct tt_op ops[] = {op_on(TT_STREAM_COMM, -1), op_on(TT_STREAM_MAIN, 0), op_on(TT_STREAM_COMM, -1),
                          op_on(TT_STREAM_SIDE, 1)};
    struct tt_op_time spans[] = {{0, 2}, {2, 5}, {2, 4}, {5, 6}};
    struct tt_plan plan = {.ops = ops, .count = 4};
    double exposed[4];
    tt_exposed(&plan, spans, exposed);
    CHECK(exposed[0] == 2, "%g", exposed[0]);
    CHECK(exposed[2] == 0, "%g", exposed[2]);
}

/* A sum on the kernels' stream is not hidden, neither by the kernel before nor by the one after it. */
static void on_the_stream_of_kernels(void)
{
    struct tt_op ops[] = {op_on(TT_STREAM_MAIN, -1), op_on(TT_STREAM_MAIN, -1), op_on(TT_STREAM_MAIN, -1)};
    struct tt_op_time spans[] = {{0, 1}, {1, 3}, {3, 4}};
    struct tt_plan plan = {.ops = ops, .count = 3};
    double exposed[3];
    ops[1].kind = TT_OP_COLLECTIVE;
    tt_exposed(&plan, spans, exposed);
    CHECK(exposed[0] == 0 && exposed[1] == 2 && exposed[2] == 0, "%g of 2", exposed[1]);
}

/* ---- known links ---- */

static double link_rate;

static void profile_over(double bytes_per_second, enum tt_sharding shard, struct tt_profile *p)
{
    struct tt_link link;
    struct tt_backend linked;
    struct tt_config c = tiny_config();
    c.ranks = 2, c.shard = shard;
    struct tt_profile_options o = options_for(&c);
    link_rate = bytes_per_second;
    CHECK_OK(tt_link_open(&link, &backend, 2, bytes_per_second, 0, &linked));
    o.backend = &linked;
    o.steps = 2;
    CHECK_OK(tt_profile_measure(&o, p));
}

static double group_seconds(const struct tt_profile *p, const char *name)
{
    for (int i = 0; i < p->groups_count; i++)
        if (!strcmp(p->groups[i].name, name)) return p->groups[i].seconds;
    return NAN;
}

static void check_sums(const struct tt_profile *p)
{
    double seconds = 0, hidden = 0, exposed = 0, sent = 0, groups = 0;
    for (int i = 0; i < p->collectives_count; i++) {
        const struct tt_profile_collective *c = &p->collectives[i];
        CHECK(c->hidden >= 0 && c->exposed >= 0 && near(c->hidden + c->exposed, c->seconds), "%s", c->name);
        bool reduces = !strcmp(c->name, "all_reduce"); /* twice (n-1)/n of the bytes; the others once */
        CHECK(near(c->bus_bandwidth, c->algorithm_bandwidth * (reduces ? 1 : 0.5)), "%s", c->name);
        CHECK(near(c->sent_bytes, (double)c->count * c->bytes * (reduces ? 1 : 0.5)), "%s", c->name);
        seconds += c->seconds, hidden += c->hidden, exposed += c->exposed, sent += c->sent_bytes;
    }
    const struct tt_profile_job *j = &p->job;
    CHECK(near(seconds, j->communication) && near(hidden, j->hidden) && near(exposed, j->exposed));
    CHECK(near(sent, j->sent_bytes) && near(exposed, group_seconds(p, "communication")));
    for (int i = 0; i < p->groups_count; i++)
        if (strcmp(p->groups[i].name, "copies") && strcmp(p->groups[i].name, "gaps")) groups += p->groups[i].seconds;
    CHECK(near(groups, p->step.kernel_seconds));
}

/* A tenth of a second or more per step: the kernels of this model cannot hide that. */
static void slow_links_are_exposed(void)
{
    for (int shard = TT_SHARD_NONE; shard <= TT_SHARD_WEIGHTS; shard += TT_SHARD_WEIGHTS) {
        struct tt_profile p;
        profile_over(2e6, (enum tt_sharding)shard, &p);
        double least = p.job.sent_bytes / link_rate;
        check_sums(&p);
        CHECK(least > 0.05 && p.job.communication > 0.99 * least, "%g s for %g", p.job.communication, least);
        CHECK(p.job.exposed > 0.5 * least, "%g of %g s", p.job.exposed, least);
        CHECK(p.step.seconds > p.job.exposed * 0.9, "a step of %g s", p.step.seconds);
        CHECK((p.gradients_count > 0) == (shard == TT_SHARD_NONE)); /* with sharded gradients a rank has parts only */
        tt_profile_free(&p);
    }
}

static void of_one_rank_nothing(void)
{
    struct tt_profile p;
    struct tt_config c = tiny_config();
    char path[300], *text;
    size_t size;
    measure(&c, &p);
    CHECK(!p.job.ranks && !p.collectives_count && !p.ranks_count && !p.rank_events_count);
    snprintf(path, sizeof path, "%s/profile.json", dir);
    CHECK_OK(tt_profile_write_json(&p, path));
    CHECK_OK(tt_file_read(path, 1 << 24, &text, &size));
    CHECK(!strstr(text, "\"job\"") && !strstr(text, "\"ranks\"") && !strstr(text, "\"collectives\""));
    free(text);
    tt_profile_free(&p);
}

static void comes_back_from_json(void)
{
    struct tt_profile p, back;
    char path[300];
    profile_over(1e12, TT_SHARD_OPTIMIZER, &p);
    snprintf(path, sizeof path, "%s/profile.json", dir);
    CHECK_OK(tt_profile_write_json(&p, path));
    CHECK_OK(tt_profile_read(path, &back));
    CHECK(back.job.ranks == 2 && near(back.job.exposed, p.job.exposed) && !strcmp(back.job.shard, "optimizer"));
    CHECK(back.collectives_count == p.collectives_count && back.ranks_count == 1);
    CHECK(near(back.collectives[0].bus_bandwidth, p.collectives[0].bus_bandwidth));
    tt_profile_free(&back);
    tt_profile_free(&p);
}

int main(void)
{
    TEST(known_times);
    TEST(begins_and_ends);
    TEST(on_the_stream_of_kernels);
    OPEN_OR_SKIP(begin_profiles());
    TEST(of_one_rank_nothing);
    if (backend.ops->delay) { /* links are simulated on the CPU only */
        TEST(slow_links_are_exposed);
        TEST(comes_back_from_json);
    }
    return end_profiles();
}
