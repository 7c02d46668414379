/* Steps of 8 to 1024 ranks in slow motion. One rank simulates one of them, on a device on which a product takes the
 * time of its FLOPs at a given rate, and a collective takes the time of its bytes and messages in a ring of given
 * links. Products and collectives are only waits and nothing else is computed, so a busy machine measures the same as a
 * quiet one. The measured times must equal what tt_predict computes from the same figures. */
#include <time.h>

#include "core/base/clock.h"
#include "core/base/stats.h"
#include "profiling/measure/cluster.h"
#include "profiling/measure/predict.h"
#include "profiling/measure/shards.h"
#include "tests/profiling/paced_fixture.h"

enum { REPEATS = 3 };
static const double within = 0.1;

/* ---- a device in slow motion ---- */

struct slow {
    struct tt_relay relay; /* first member: `self` of the calls points to it */
    double flops_per_second;
    double until; /* when the launched work is done */
};

static void sleep_for(double seconds)
{
    struct timespec left = {(time_t)seconds, (long)(1e9 * (seconds - floor(seconds)))};
    while (nanosleep(&left, &left)) {}
}

/* On the CPU, computing is done when the call returns. A wait that ended late shortens the next one; a product after a
 * pause begins when it is launched. */
static tt_status slow_gemm(void *self, const struct tt_gemm *g, tt_stream s)
{
    struct slow *d = self;
    (void)s;
    double now = tt_seconds(), late = 5e-3;
    if (d->until < now - late) d->until = now;
    d->until += 2.0 * (double)g->m * (double)g->n * (double)g->k * (double)g->batch / d->flops_per_second;
    if (d->until > now) sleep_for(d->until - now);
    return TT_OK;
}

static tt_status no_time(void *self, enum tt_kernel kernel, const void *args, tt_stream s)
{
    return (void)self, (void)kernel, (void)args, (void)s, TT_OK;
}

/* ---- one step, measured and predicted ---- */

struct slow_rank {
    struct paced paced;
    struct tt_backend device;
    struct slow slow;
};

static struct tt_config config_of(int ranks, enum tt_sharding shard)
{
    struct tt_config c = several_buckets(ranks);
    c.shard = shard;
    return c;
}

/* With this rate a step of one rank alone takes about 0.2 s, whatever its batch. */
static double flops_per_second(const struct tt_config *c) { return 7e9 * (double)c->batch_size; }

static void open_slow(struct slow_rank *p, const struct tt_config *c, struct tt_ring ring)
{
    CHECK_OK(tt_backend_open(&(struct tt_backend_options){.threads = 1}, &p->paced.real));
    p->device = tt_relay_open(&p->slow.relay, &p->paced.real);
    p->slow.flops_per_second = flops_per_second(c);
    p->slow.relay.ops.gemm = slow_gemm;
    p->slow.relay.ops.launch = no_time;
    open_paced(&p->paced, c, &p->device, ring.bytes_per_second, ring.seconds_latency, 0, REPEATS);
}

/* On a shared machine a try may be late, but never early: the best of many tries, until it equals the prediction. */
static double least(struct paced *p, double paper)
{
    double best = INFINITY;
    for (int i = 0; i < 25 && best > (1 + within / 2) * paper; i++) {
        CHECK_OK(tt_step_times_take(&p->steps, &p->backend, &p->run));
        best = fmin(best, tt_quantile(p->steps.seconds, REPEATS, 0.5));
    }
    return best;
}

/* The medians of normal training steps, and of steps with everything on one stream. */
static void measure(const struct tt_config *c, struct tt_ring ring, double *beside, double *one_stream,
                    struct tt_prediction *paper)
{
    struct slow_rank *rank = calloc(1, sizeof *rank);
    struct paced *p = &rank->paced;
    struct tt_chip chip = {.name = "slow", .matrix = {flops_per_second(c)}, .vector = 1e30, .bandwidth = 1e30};
    open_slow(rank, c, ring);
    struct tt_plan *plan = p->session.step;
    CHECK_OK(tt_predict(plan, TT_FP32, &chip, ring, paper));
    *beside = least(p, paper->seconds);
    for (int i = 0; i < plan->count; i++) plan->ops[i].stream = TT_STREAM_MAIN;
    if (one_stream) *one_stream = least(p, paper->seconds - paper->exposed + paper->communication);
    close_paced(p);
    free(rank);
}

static bool agree(double measured, double paper) { return fabs(measured / paper - 1) < within; }

/* ---- tests ---- */

static double compute; /* seconds of one rank alone */

static void one_rank(void)
{
    struct tt_config c = config_of(1, TT_SHARD_NONE);
    struct tt_prediction p;
    double step;
    measure(&c, (struct tt_ring){1e9, 0}, &step, NULL, &p);
    compute = p.seconds;
    CHECK(p.communication == 0 && agree(step, compute), "%g s, on paper %g", step, compute);
}

/* Links on which communication takes a given part of one rank's compute time, a quarter of it as latency. */
static struct tt_ring ring_for(const struct tt_config *c, double part)
{
    struct tt_backend b;
    struct tt_shard_cost cost;
    CHECK_OK(tt_backend_open(NULL, &b));
    CHECK_OK(tt_shard_cost_of(&b, c, c->shard, &cost));
    tt_backend_close(&b);
    double messages = cost.collectives * 1.5 * (double)(c->ranks - 1); /* 2 for an all-reduce, 1 for the others */
    return (struct tt_ring){cost.sent / (0.75 * part * compute), 0.25 * part * compute / messages};
}

/* The hidden part is the difference between a normal step and one on a single stream. */
static void check_case(const struct tt_config *c, struct tt_ring ring)
{
    struct tt_prediction p;
    double step, one_stream;
    const char *name = tt_shard_names[c->shard];
    int n = (int)c->ranks;
    measure(c, ring, &step, &one_stream, &p);
    double hidden = p.communication - p.exposed;
    CHECK(p.communication > 0.4 * compute && hidden > 0.3 * p.communication, "%d ranks, %s: %g of %g s hidden on paper",
          n, name, hidden, p.communication);
    CHECK(agree(step, p.seconds), "%d ranks, %s: a step %g s, on paper %g", n, name, step, p.seconds);
    CHECK(agree(one_stream, compute + p.communication), "%d ranks, %s: on one stream %g s, on paper %g", n, name,
          one_stream, compute + p.communication);
    CHECK(one_stream - step > 0.5 * hidden, "%d ranks, %s: hidden %g s, on paper %g", n, name, one_stream - step,
          hidden);
}

static void as_on_paper(int ranks, enum tt_sharding shard)
{
    struct tt_config c = config_of(ranks, shard);
    check_case(&c, ring_for(&c, 0.8));
}

static void eight(void) { as_on_paper(8, TT_SHARD_NONE); }
static void sixty_four(void) { as_on_paper(64, TT_SHARD_WEIGHTS); }
static void a_thousand(void) { as_on_paper(1024, TT_SHARD_OPTIMIZER); }

/* 1024 GPUs at their published rates, all slowed down by the same factor. */
static void a_cluster(void)
{
    struct tt_cluster cluster;
    CHECK_OK(tt_cluster_read("128x8xh100", 1, &cluster));
    struct tt_config c = config_of(tt_cluster_ranks(&cluster), TT_SHARD_NONE);
    c.batch_size = 128; /* so that computing and sending take about the same time */
    double slower = cluster.chip->matrix[TT_PREC_BF16] / flops_per_second(&c);
    check_case(&c, (struct tt_ring){tt_cluster_rate(&cluster) / slower, 0});
}

int main(void)
{
    struct tt_backend b;
    OPEN_OR_SKIP(tt_backend_open(NULL, &b));
    bool waits = b.ops->delay != NULL;
    tt_backend_close(&b);
    if (!waits) return 77; /* links are simulated on the CPU only */
    TEST(one_rank);
    TEST(eight);
    TEST(sixty_four);
    TEST(a_thousand);
    TEST(a_cluster);
    return test_end();
}
