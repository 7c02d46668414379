/* What of the communication a step hides, against links whose speed is known: one rank that pretends to be one of two,
 * on which a collective is a wait on its stream. */
#include "backend/kernel_info.h"
#include "backend/link.h"
#include "core/train/open.h"
#include "profiling/measure/cost.h"
#include "profiling/measure/steps.h"
#include "tests/model/model_fixture.h"

enum { REPEATS = 5 };

struct paced {
    struct tt_backend real, backend;
    struct tt_link link;
    struct tt_session session;
    struct tt_run run;
    struct tt_step_times steps;
};

/* Several buckets, and a backward pass that takes longer than one of them on its way. */
static struct tt_config config_of(int ranks)
{
    struct tt_config c = tiny_config();
    c.version = TT_FLASH, c.hidden_dim = 320, c.num_heads = 5, c.num_kv_heads = 5, c.ffn_dim = 800, c.num_layers = 6;
    c.seq_len = 32, c.batch_size = 1, c.ranks = ranks;
    snprintf(c.data, sizeof c.data, "random");
    return c;
}

static void open_paced(struct paced *p, const struct tt_config *c, double bytes_per_second)
{
    struct tt_data *data;
    CHECK_OK(tt_backend_open(&(struct tt_backend_options){.threads = 1}, &p->real));
    CHECK_OK(tt_link_open(&p->link, &p->real, 2, bytes_per_second, 0, &p->backend));
    CHECK_OK(tt_open_data(c, c->vocab_size, NULL, &data));
    CHECK_OK(tt_session_try(&p->session, &p->backend, c, data, &p->run));
    tt_data_close(data);
    CHECK_OK(tt_step_times_open(&p->steps, &p->backend, 1, REPEATS));
}

static void close_paced(struct paced *p)
{
    tt_step_times_close(&p->steps, &p->backend);
    tt_run_close(&p->run);
    tt_session_close(&p->session);
    tt_backend_close(&p->real);
}

static struct tt_overlap measure(int ranks, double bytes_per_second, double *sent)
{
    struct paced *p = calloc(1, sizeof *p);
    struct tt_config c = config_of(ranks);
    struct tt_overlap o = {0};
    open_paced(p, &c, bytes_per_second);
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

/* As long as half a step's kernels: what is summed up while the backward pass goes on is hidden behind it. */
static void known_links(void)
{
    double sent;
    double kernels = measure(1, 1e9, &sent).median;
    measure(2, 1e12, &sent); /* for what is sent */
    double rate = sent / (kernels / 2);
    struct tt_overlap o = measure(2, rate, &sent);
    CHECK(o.communication > 0.99 * sent / rate, "%g s for %g", o.communication, sent / rate);
    CHECK(o.one_stream + o.noise > kernels / 2 + o.communication / 2, "%g s", o.one_stream);
    CHECK(o.hidden + o.noise > 0.2 * o.communication, "hidden %g of %g s, give or take %g", o.hidden, o.communication,
          o.noise);
    CHECK(o.kernels > 0, "%g s", o.kernels);
    CHECK(o.hidden <= o.communication && o.median <= o.one_stream + o.noise);
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
    return test_end();
}
