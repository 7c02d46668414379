/* Ranks as threads, each with its own device. Their collectives go through the host in rank order, so plans are tested
 * without a collectives library. Also trains with them and compares with one rank. */
#ifndef TT_RANKS_FIXTURE_H
#define TT_RANKS_FIXTURE_H

#include <pthread.h>

#include "backend/relay.h"
#include "core/checkpoint/moments.h"
#include "core/plan/step.h"
#include "model/params.h"
#include "profiling/measure/shards.h"
#include "tests/model/model_fixture.h"

enum { MOST = 4, STEPS = 3, LONG = 100 };

/* Which tokens the steps of a run use. */
struct course {
    int steps;
    int batches; /* after this many steps the same batches repeat; 0: never */
    int turned;  /* this many of a rank's first sequences move to the end */
};
static const struct course usual = {.steps = STEPS};

struct world {
    int n;
    struct course course;
    float losses[LONG]; /* of each step */
    pthread_barrier_t meet;
    const struct tt_collective *calls[MOST]; /* each rank's current collective */
    char *bytes[MOST];                       /* each rank's input */
    int64_t seen;                            /* collectives so far */
    double sent;                             /* bytes that rank 0 would have sent in a ring */
};

struct member {
    struct tt_relay relay;
    struct world *world;
    struct tt_backend device;
    struct tt_config config;
    struct tt_session session;
    size_t own; /* bytes that the device itself uses before there is a model */
    tt_status status;
    pthread_t thread;
};

/* ---- collectives ---- */

static bool same_call(const struct tt_collective *a, const struct tt_collective *b)
{
    return a->kind == b->kind && a->count == b->count && a->type == b->type && a->ranks == b->ranks;
}

/* Sums `n` elements from index `at` on of all inputs, as floats in rank order. */
static void add_up(const struct world *w, float *out, int64_t at, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float sum = 0;
        for (int r = 0; r < w->n; r++) sum += ((const float *)(const void *)w->bytes[r])[at + i];
        out[i] = sum;
    }
}

static tt_status result_of(const struct world *w, int rank, const struct tt_collective *c, char *out, size_t *bytes)
{
    int64_t part = c->count / c->ranks;
    size_t size = tt_dtype_size(c->type);
    for (int r = 0; r < w->n; r++)
        if (!same_call(w->calls[r], c)) return tt_fail(TT_FAILED, "rank %d is at another collective than %d", r, rank);
    if (c->kind != TT_ALL_GATHER && c->type != TT_F32) return tt_fail(TT_FAILED, "a sum that is not of floats");
    if (c->kind != TT_ALL_REDUCE && c->count % c->ranks) return tt_fail(TT_FAILED, "the parts differ in size");
    if (c->kind == TT_ALL_REDUCE) add_up(w, (float *)(void *)out, 0, c->count);
    if (c->kind == TT_REDUCE_SCATTER) add_up(w, (float *)(void *)out, rank * part, part);
    for (int r = 0; r < w->n && c->kind == TT_ALL_GATHER; r++)
        memcpy(out + (size_t)(r * part) * size, w->bytes[r], (size_t)part * size);
    *bytes = (size_t)(c->kind == TT_REDUCE_SCATTER ? part : c->count) * size;
    return TT_OK;
}

/* In a ring a rank passes on all parts but one. An all-reduce does that twice: to sum, and to distribute. */
static double passed_on(const struct tt_collective *c)
{
    double part = (double)c->count * (double)tt_dtype_size(c->type) / c->ranks;
    return part * (c->ranks - 1) * (c->kind == TT_ALL_REDUCE ? 2 : 1);
}

static tt_status meet(void *self, const struct tt_collective *c, tt_stream s)
{
    struct member *m = self;
    struct world *w = m->world;
    struct tt_backend *d = &m->device;
    int rank = m->config.rank;
    size_t whole = (size_t)c->count * tt_dtype_size(c->type), brought = whole, bytes = 0;
    if (c->kind == TT_ALL_GATHER) brought /= (size_t)c->ranks;
    char *mine = malloc(whole), *out = malloc(whole);
    tt_status st = d->ops->copy(d->self, mine, c->from, brought, TT_TO_HOST, s);
    if (!st) st = d->ops->stream_sync(d->self, s);
    w->calls[rank] = c;
    w->bytes[rank] = mine;
    pthread_barrier_wait(&w->meet);
    if (!st) st = result_of(w, rank, c, out, &bytes);
    if (rank == 0) w->seen++, w->sent += passed_on(c);
    pthread_barrier_wait(&w->meet);
    if (!st) st = d->ops->copy(d->self, c->to, out, bytes, TT_TO_DEVICE, s);
    if (!st) st = d->ops->stream_sync(d->self, s);
    free(mine);
    free(out);
    return st;
}

static tt_status join(void *self, const struct tt_ranks *ranks) { return (void)self, (void)ranks, TT_OK; }

/* ---- ranks as threads ---- */

/* The step's tokens are the same as for one rank; each rank takes its own rows. */
static tt_status give_tokens(struct member *m, int step)
{
    const struct tt_config *c = &m->config;
    const struct course *o = &m->world->course;
    int64_t width = c->seq_len + 1, n = c->batch_size * c->grad_accum * width;
    uint64_t batch = (uint64_t)(o->batches ? step % o->batches : step), V = (uint64_t)c->vocab_size;
    int32_t *tokens = malloc((size_t)n * sizeof *tokens);
    for (int64_t i = 0; i < n; i++)
        tokens[i] = (int32_t)(tt_random(99, batch, (uint64_t)(c->rank * n + (i + o->turned * width) % n)) % V);
    size_t bytes = (size_t)n * sizeof *tokens;
    tt_status st = tt_engine_upload(&m->session.engine, TT_X_TOKENS, (size_t)(step % TT_TOKEN_SLOTS) * bytes, tokens,
                                    bytes);
    free(tokens);
    return st;
}

/* Runs the model's plan, or, between two choices of --update-every, the smaller plan. */
static tt_status one_step(struct member *m, int i, struct tt_stepper *whole, struct tt_stepper *between)
{
    const struct tt_plan *plan = NULL;
    bool renewed = false;
    if (m->session.between) TT_TRY(tt_between_plan(&m->session.interval, i + 1, &plan, &renewed));
    if (plan && renewed) tt_stepper_replan(between, plan);
    return tt_step(plan ? between : whole);
}

static tt_status steps(struct member *m)
{
    struct tt_backend b = {&m->relay.ops, m};
    struct tt_stepper stepper = {.backend = &b, .plan = m->session.step}, between = {.backend = &b};
    tt_status st = TT_OK;
    for (int i = 0; i < m->world->course.steps && !st; i++) {
        struct tt_state state;
        st = give_tokens(m, i);
        if (!st) st = one_step(m, i, &stepper, &between);
        if (!st) st = tt_engine_download(&m->session.engine, TT_X_STATE, 0, &state, sizeof state);
        if (!st && m->config.rank == 0) m->world->losses[i] = state.loss;
    }
    if (!st) st = m->device.ops->stream_sync(m->device.self, NULL);
    tt_stepper_close(&stepper);
    tt_stepper_close(&between);
    return st;
}

static void *run(void *arg)
{
    struct member *m = arg;
    m->status = steps(m);
    return NULL;
}

/* The same weights for any number of ranks. The gaps between matrices depend on it, those between norms do not. */
static void first_weights(struct tt_session *s)
{
    const struct tt_params *p = &s->model->params;
    float *w = malloc((size_t)p->total * sizeof *w);
    tt_model_init_weights(s->model, w);
    for (int64_t i = p->decay_end; i < p->total; i++)
        if (w[i] != 0) w[i] += 0.2f * (float)tt_normal(5, 1, (uint64_t)(i - p->decay_end));
    CHECK_OK(tt_session_set_weights(s, w));
    free(w);
}

static void open_member(struct member *m, struct world *w, const struct tt_config *c, int rank)
{
    *m = (struct member){.world = w, .config = *c};
    m->config.rank = rank;
    CHECK_OK(tt_backend_open(&(struct tt_backend_options){.threads = 1, .precision = c->precision}, &m->device));
    struct tt_device_info info;
    CHECK_OK(m->device.ops->info(m->device.self, &info));
    m->own = info.memory_used;
    tt_relay_open(&m->relay, &m->device);
    m->relay.ops.join = join;
    m->relay.ops.collective = meet;
    CHECK_OK(tt_session_open(&m->session, &m->device, &m->config, TT_USE_TRAIN | TT_USE_EVAL));
    first_weights(&m->session);
    struct tt_state state = {.loss_scale = c->precision == TT_PREC_FP16 ? 1024 : 1};
    CHECK_OK(tt_engine_upload(&m->session.engine, TT_X_STATE, 0, &state, sizeof state));
}

/* The result of a run of all ranks. */
struct outcome {
    float *weights, *m, *v; /* complete, put together from the parts */
    double loss;
    float norm;
    float losses[LONG];
    int64_t seen;
    double sent;  /* sent by a rank, in bytes, in all steps */
    double peak;  /* of a rank's device, in bytes */
};

/* Copies the rank's parts to their positions in the complete arena. */
static void take_moments(struct member *m, enum tt_external x, float *mine)
{
    const struct tt_params *p = &m->session.model->params;
    float *have = calloc((size_t)p->total, sizeof *have);
    CHECK_OK(tt_moments_read(&m->session.engine, p, x, have));
    for (int i = 0; i < p->bucket_count; i++) {
        struct tt_part part = tt_part_of(p, i);
        memcpy(mine + part.begin, have + (p->sharded[x] ? part.at : part.begin), (size_t)part.count * sizeof *mine);
    }
    free(have);
}

static void take_parts(struct member *m, enum tt_external x, float *all)
{
    const struct tt_params *p = &m->session.model->params;
    float *mine = calloc((size_t)p->total, sizeof *mine);
    if (x == TT_X_WEIGHTS)
        CHECK_OK(tt_weights_read(&m->session.engine, p, mine));
    else
        take_moments(m, x, mine);
    for (int i = 0; i < p->bucket_count; i++) {
        struct tt_part part = tt_part_of(p, i);
        memcpy(all + part.begin, mine + part.begin, (size_t)part.count * sizeof *all);
    }
    free(mine);
}

/* Checks that every rank has chosen the same groups of weights. */
static void check_updates(struct tt_engine *first, struct tt_engine *other, int rank)
{
    size_t bytes = first->bytes[TT_X_UPDATES];
    char *a = calloc(1, bytes + 1), *b = calloc(1, bytes + 1);
    if (bytes) CHECK_OK(tt_engine_download(first, TT_X_UPDATES, 0, a, bytes));
    if (bytes) CHECK_OK(tt_engine_download(other, TT_X_UPDATES, 0, b, bytes));
    CHECK(!memcmp(a, b, bytes), "rank %d has chosen other groups", rank);
    free(a);
    free(b);
}

static struct outcome train_as(const struct tt_config *c, int n, struct course course)
{
    struct world w = {.n = n, .course = course};
    struct member *m = calloc((size_t)n, sizeof *m);
    struct tt_config config = *c;
    config.ranks = n;
    pthread_barrier_init(&w.meet, NULL, (unsigned)n);
    for (int r = 0; r < n; r++) open_member(&m[r], &w, &config, r);
    for (int r = 0; r < n; r++) pthread_create(&m[r].thread, NULL, run, &m[r]);
    for (int r = 0; r < n; r++) pthread_join(m[r].thread, NULL);
    for (int r = 0; r < n; r++) CHECK_OK(m[r].status);

    const struct tt_params *p = &m[0].session.model->params;
    struct tt_state state, other;
    struct tt_device_info info;
    CHECK_OK(m[0].device.ops->info(m[0].device.self, &info));
    CHECK_OK(tt_engine_download(&m[0].session.engine, TT_X_STATE, 0, &state, sizeof state));
    struct outcome o = {.weights = calloc((size_t)p->total, 4), .m = calloc((size_t)p->total, 4),
                        .v = calloc((size_t)p->total, 4), .loss = (double)state.loss, .norm = state.grad_norm,
                        .seen = w.seen, .sent = w.sent, .peak = (double)(info.memory_peak - m[0].own)};
    memcpy(o.losses, w.losses, sizeof o.losses);
    for (int r = 0; r < n; r++) {
        CHECK_OK(tt_engine_download(&m[r].session.engine, TT_X_STATE, 0, &other, sizeof other));
        CHECK(!memcmp(&state, &other, sizeof state), "rank %d has come to another state", r);
        check_updates(&m[0].session.engine, &m[r].session.engine, r);
        take_parts(&m[r], TT_X_WEIGHTS, o.weights);
        take_parts(&m[r], TT_X_MOMENT1, o.m);
        take_parts(&m[r], TT_X_MOMENT2, o.v);
    }
    for (int r = 0; r < n; r++) {
        tt_session_close(&m[r].session);
        tt_backend_close(&m[r].device);
    }
    pthread_barrier_destroy(&w.meet);
    free(m);
    return o;
}

static struct outcome train(const struct tt_config *c, int n) { return train_as(c, n, usual); }

static void free_outcome(struct outcome *o) { free(o->weights), free(o->m), free(o->v); }

/* Compares parameter by parameter, since the gaps between them depend on the number of ranks. */
static double apart(const struct tt_config *c, const float *one, const float *many, int ranks)
{
    struct tt_config a = *c, b = *c;
    struct tt_params p, q;
    double worst = 0;
    a.ranks = 1, b.ranks = ranks;
    CHECK_OK(tt_params_create(&a, &p));
    CHECK_OK(tt_params_create(&b, &q));
    for (int i = 0; i < p.n; i++)
        worst = fmax(worst, relative_error(many + q.items[i].offset, one + p.items[i].offset, p.items[i].count));
    tt_params_free(&p);
    tt_params_free(&q);
    return worst;
}

/* How far another order of sums may change the result in three steps. AdamW's first updates depend on the gradient's
 * sign rather than its size, so values near 0 may go either way. */
static double allowed(const struct tt_config *c)
{
    if (c->moments == TT_MOMENTS_BF16 && c->precision <= TT_TF32) return 2e-2;
    return c->precision == TT_FP32 ? 2e-3 : c->precision == TT_TF32 ? 2e-2 : 5e-2;
}

static void compare(const struct tt_config *c, int n, const struct outcome *one, const char *what)
{
    struct outcome many = train(c, n);
    double far = allowed(c), w = apart(c, one->weights, many.weights, n), m = apart(c, one->m, many.m, n),
           v = apart(c, one->v, many.v, n);
    CHECK(w < far && m < far && v < 2 * far, "%s, %d ranks: weights %g, moments %g and %g apart", what, n, w, m, v);
    CHECK(fabs(many.loss - one->loss) < far * 1e-2 * one->loss, "%s, %d ranks: loss %.8g, not %.8g", what, n, many.loss,
          one->loss);
    CHECK(fabs(many.norm - one->norm) < far * one->norm, "%s, %d ranks: norm %.8g, not %.8g", what, n,
          (double)many.norm, (double)one->norm);
    CHECK(many.seen > 0, "%s: the ranks did nothing together", what);
    free_outcome(&many);
}

/* The setting that one rank multiplies to do the work of several. In fp8 a rank's scales come from its own batch; one
 * rank gets the same scales if it takes these batches one after another. */
static int64_t *sequences_of(struct tt_config *c)
{
    return c->precision == TT_PREC_FP8 ? &c->grad_accum : &c->batch_size;
}

static struct outcome alone(const struct tt_config *c, int n)
{
    struct tt_config all = *c;
    *sequences_of(&all) *= n;
    return train(&all, 1);
}

static struct tt_config config_of(int version, enum tt_precision precision)
{
    struct tt_config c = tiny_config();
    c.version = (enum tt_version)version;
    c.precision = precision;
    c.clip_norm = 0.5;
    c.batch_size = 2;
    c.qkv_bias = c.qk_norm = version == TT_FUSED;
    if (precision == TT_PREC_FP8) make_even(&c);
    return c;
}

#endif
