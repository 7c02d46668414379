/* A run of one rank that simulates one of several, on links of known speed: a collective is a wait on its stream. */
#ifndef TT_PACED_FIXTURE_H
#define TT_PACED_FIXTURE_H

#include "backend/link.h"
#include "core/train/open.h"
#include "profiling/measure/steps.h"
#include "tests/model/model_fixture.h"

struct paced {
    struct tt_backend real, backend; /* of this build; with links around it */
    struct tt_link link;
    struct tt_session session;
    struct tt_run run;
    struct tt_step_times steps;
};

/* Several buckets, and a backward pass that takes longer than sending one of them. */
static inline struct tt_config several_buckets(int ranks)
{
    struct tt_config c = tiny_config();
    c.version = TT_FLASH, c.hidden_dim = 320, c.num_heads = 5, c.num_kv_heads = 5, c.ffn_dim = 800, c.num_layers = 6;
    c.seq_len = 32, c.batch_size = 1, c.ranks = ranks;
    snprintf(c.data, sizeof c.data, "random");
    return c;
}

/* `device` computes and `real` is open. The first `warmup` steps are not timed. */
static inline void open_paced(struct paced *p, const struct tt_config *c, const struct tt_backend *device,
                              double bytes_per_second, double latency, int warmup, int repeats)
{
    struct tt_data *data;
    CHECK_OK(tt_link_open(&p->link, device, (int)c->ranks, bytes_per_second, latency, &p->backend));
    CHECK_OK(tt_open_data(c, c->vocab_size, NULL, &data));
    CHECK_OK(tt_session_try(&p->session, &p->backend, c, data, &p->run));
    tt_data_close(data);
    CHECK_OK(tt_step_times_open(&p->steps, &p->backend, warmup, repeats));
}

static inline void close_paced(struct paced *p)
{
    tt_step_times_close(&p->steps, &p->backend);
    tt_run_close(&p->run);
    tt_session_close(&p->session);
    tt_backend_close(&p->real);
}

#endif
