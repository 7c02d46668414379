/* How much of its communication a step hides, with links of known speed: one rank simulates one of two, and a
 * collective is a wait on its stream. */
#include "profiling/measure/cost.h"
#include "tests/profiling/paced_fixture.h"

enum { REPEATS = 5 };

static struct tt_overlap measure(int ranks, double bytes_per_second, double *sent)
{
    struct paced *p = calloc(1, sizeof *p);
    struct tt_config c = several_buckets(ranks);
    struct tt_overlap o = {0};
    CHECK_OK(tt_backend_open(&(struct tt_backend_options){.threads = 1}, &p->real));
    open_paced(p, &c, &p->real, bytes_per_second, 0, 1, REPEATS);
    *sent = tt_cost_of_plan(p->session.step).sent;
    CHECK_OK(tt_measure_overlap(&p->steps, &p->backend, &p->run, p->session.step, &o));
    close_paced(p);
    free(p);
    return o;
}

static void one_rank_hides_nothing(void)
{
    double sent;
    struct tt_overlap o = measure(1, 1e9, &sent);
    CHECK(o.median > 0 && o.p95 >= o.median && o.one_stream == o.median);
    CHECK(sent == 0 && o.communication == 0 && o.hidden == 0 && o.noise == 0);
}

/* The communication takes half as long as a step's kernels: what is summed during the backward pass is hidden behind
 * it. */
static void known_links(void)
{
    double sent;
    double kernels = measure(1, 1e9, &sent).median;
    kernels = fmin(kernels, measure(1, 1e9, &sent).median); /* the first may fall on a busy moment */
    measure(2, 1e12, &sent);                                /* to learn the bytes sent */
    double rate = sent / (kernels / 2);
    struct tt_overlap o = measure(2, rate, &sent);
    CHECK(o.communication > 0.99 * sent / rate, "%g s for %g", o.communication, sent / rate);
    CHECK(o.one_stream + o.noise > kernels / 2 + o.communication / 2, "%g s", o.one_stream);
    CHECK(o.hidden + o.noise > 0.2 * o.communication, "hidden %g of %g s, give or take %g", o.hidden, o.communication,
          o.noise);
    CHECK(o.kernels > 0, "%g s", o.kernels);
    CHECK(o.hidden <= o.communication && o.median <= o.one_stream + o.noise);
}

/* The interval comes from the pairs, even if the hidden part is limited to the communication, which is 10 here. */
static void interval_of_pairs(void)
{
    enum { PAIRS = 6 };
    static const struct {
        double differences[PAIRS], hidden, noise;
    } cases[] = {
        {{2.1, 1.9, 2, 2.2, 1.8, 2}, 2, 0.2},
        {{-30, 70, 4, 52, -9, 48}, 10, 60},    /* 26, and from -30 to 70 */
        {{12, 13, 12.5, 14, 11, 12.5}, 10, 4}, /* more than all of it */
        {{-3, -1, -2, -2, -2, -2}, 0, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_overlap o = {.communication = 10};
        double room[PAIRS];
        memcpy(room, cases[i].differences, sizeof room);
        CHECK_OK(tt_hidden_of(room, PAIRS, &o));
        CHECK(fabs(o.hidden - cases[i].hidden) < 1e-9, "case %zu: %g", i, o.hidden);
        CHECK(fabs(o.noise - cases[i].noise) < 1e-9, "case %zu: %g", i, o.noise);
    }
}

int main(void)
{
    struct tt_backend b;
    OPEN_OR_SKIP(tt_backend_open(NULL, &b));
    bool waits = b.ops->delay != NULL;
    tt_backend_close(&b);
    if (!waits) return 77; /* links are simulated on the CPU only */
    TEST(one_rank_hides_nothing);
    TEST(known_links);
    TEST(interval_of_pairs);
    return test_end();
}
