/* The fusions overlap and late-update: weight gradients on a second stream, and AdamW beside the next forward pass,
 * change no bit. Runs on any backend, with a fake second stream that runs its work as late as the waits allow, so a
 * missing wait shows; on a GPU also in a graph. */
#include "core/plan/step.h"
#include "tests/core/plan/plan_check.h"
#include "tests/model/model_fixture.h"

static struct tt_backend real;

/* ---- a backend whose second stream is lazy ---- */

enum { MOST = 4096, EVENTS = 1024 };

struct lazy {
    struct tt_backend_ops ops;
    struct tt_op queue[MOST]; /* operations of the second stream; only the arguments are set */
    int first, end;           /* not yet run */
    struct mark {
        bool side;
        int end; /* end of the queue when the event was recorded */
    } marks[EVENTS];
    int events, waits, late; /* late: operations that ran after ones enqueued later */
    char stream;
};

static bool on_side(const struct lazy *l, tt_stream s) { return s == (tt_stream)(void *)&l->stream; }

static tt_status lazy_gemm(void *self, const struct tt_gemm *g, tt_stream s)
{
    struct lazy *l = self;
    if (!on_side(l, s)) return real.ops->gemm(real.self, g, s);
    if (l->end == MOST) return tt_fail(TT_FAILED, "the queue is full");
    l->queue[l->end++] = (struct tt_op){.kind = TT_OP_GEMM, .args.gemm = *g};
    return TT_OK;
}

static tt_status lazy_launch(void *self, enum tt_kernel k, const void *args, tt_stream s)
{
    struct lazy *l = self;
    l->late += !on_side(l, s) && l->first < l->end;
    if (!on_side(l, s)) return real.ops->launch(real.self, k, args, s);
    if (l->end == MOST) return tt_fail(TT_FAILED, "the queue is full");
    l->queue[l->end] = (struct tt_op){.kernel = k};
    memcpy(&l->queue[l->end++].args, args, tt_kernel_args_size(k));
    return TT_OK;
}

static tt_status run_until(struct lazy *l, int end)
{
    for (; l->first < end; l->first++) {
        const struct tt_op *op = &l->queue[l->first];
        TT_TRY(op->kind == TT_OP_GEMM ? real.ops->gemm(real.self, &op->args.gemm, NULL)
                           : real.ops->launch(real.self, op->kernel, &op->args, NULL));
    }
    return TT_OK;
}

static tt_status lazy_wait(void *self, tt_stream s, tt_event e)
{
    struct lazy *l = self;
    struct mark *m = (struct mark *)(void *)e;
    l->waits++;
    CHECK(m->side != on_side(l, s), "a stream waits for itself");
    return m->side ? run_until(l, m->end) : TT_OK;
}

static tt_status lazy_record(void *self, tt_event e, tt_stream s)
{
    struct lazy *l = self;
    *(struct mark *)(void *)e = (struct mark){on_side(l, s), l->end};
    return TT_OK;
}

static tt_status lazy_stream(void *self, tt_stream *out)
{
    *out = (tt_stream)(void *)&((struct lazy *)self)->stream;
    return TT_OK;
}
static void lazy_stream_end(void *self, tt_stream s) { (void)self, (void)s; }
static tt_status lazy_event(void *self, tt_event *out)
{
    struct lazy *l = self;
    if (l->events == EVENTS) return tt_fail(TT_FAILED, "no event left");
    *out = (tt_event)(void *)&l->marks[l->events++];
    return TT_OK;
}
static void lazy_event_end(void *self, tt_event e) { (void)self, (void)e; }
static tt_status no_graph(void *self, tt_stream s)
{
    (void)self, (void)s;
    return tt_fail(TT_FAILED, "this test captures nothing");
}

static tt_status lazy_alloc(void *self, size_t n, void **out) { return (void)self, real.ops->alloc(real.self, n, out); }
static void lazy_free(void *self, void *p) { (void)self, real.ops->free(real.self, p); }
static tt_status lazy_copy(void *self, void *to, const void *from, size_t n, enum tt_direction d, tt_stream s)
{
    return (void)self, real.ops->copy(real.self, to, from, n, d, s);
}
static tt_status lazy_fill(void *self, void *to, int byte, size_t n, tt_stream s)
{
    return (void)self, real.ops->fill(real.self, to, byte, n, s);
}
static tt_status lazy_sync(void *self, tt_stream s) { return (void)self, real.ops->stream_sync(real.self, s); }
static tt_status lazy_info(void *self, struct tt_device_info *out)
{
    return (void)self, real.ops->info(real.self, out);
}

static struct tt_backend make_lazy(struct lazy *l)
{
    l->ops = (struct tt_backend_ops){.name = "lazy", .info = lazy_info, .alloc = lazy_alloc, .free = lazy_free,
                                     .copy = lazy_copy, .fill = lazy_fill, .gemm = lazy_gemm, .launch = lazy_launch,
                                     .stream_create = lazy_stream, .stream_destroy = lazy_stream_end,
                                     .stream_sync = lazy_sync,
                                     .stream_wait = lazy_wait, .event_create = lazy_event,
                                     .event_destroy = lazy_event_end,
                                     .event_record = lazy_record, .graph_begin = no_graph};
    return (struct tt_backend){&l->ops, l};
}

/* ---- the same step, one stream and two ---- */

struct outcome {
    float *grads, *weights;
    size_t bytes;
};

static void same_bits(struct outcome *a, struct outcome *b, const char *what)
{
    CHECK(a->bytes == b->bytes && !memcmp(a->grads, b->grads, a->bytes), "%s: other gradients", what);
    CHECK(!memcmp(a->weights, b->weights, a->bytes), "%s: other weights", what);
    free(a->grads), free(a->weights), free(b->grads), free(b->weights);
}

static struct outcome read_outcome(struct tt_session *s)
{
    return (struct outcome){fixture_read(s, TT_X_GRADS), fixture_read(s, TT_X_WEIGHTS),
                            (size_t)s->model->params.total * sizeof(float)};
}

/* The last step leaves its update pending; reading the weights runs it first. */
static struct outcome some_late_steps(const struct tt_config *c, bool beside)
{
    struct lazy *l = calloc(1, sizeof *l);
    CHECK(l != NULL, "out of memory");
    struct tt_backend b = make_lazy(l);
    struct tt_session s;
    struct tt_plan_streams side = {0};
    CHECK_OK(tt_session_open(&s, &b, c, TT_USE_TRAIN));
    CHECK(s.late && s.late->signals > 0, "no update runs aside");
    struct tt_plan *step = beside ? s.late : s.step;
    fixture_weights(&s);
    CHECK_OK(tt_plan_streams_open(&side, s.late, &b));
    for (int i = 0; i < 3; i++) {
        fixture_tokens(&s, i);
        CHECK_OK(beside ? tt_plan_run_streams(step, &b, NULL, &side) : tt_plan_run(step, &b, NULL));
        CHECK(l->first == l->end, "%d operations were not waited for", l->end - l->first);
        l->first = l->end = 0;
    }
    CHECK(!beside || l->late > 4, "only %d kernels before what is aside", l->late);
    if (beside) CHECK_OK(tt_plan_run(s.update, &b, NULL));
    struct outcome out = read_outcome(&s);
    tt_plan_streams_close(&side, &b);
    tt_session_close(&s);
    free(l);
    return out;
}

static struct outcome two_steps(const struct tt_config *c, bool beside)
{
    struct lazy *l = calloc(1, sizeof *l);
    CHECK(l != NULL, "out of memory");
    struct tt_backend b = make_lazy(l);
    struct tt_session s;
    struct tt_plan_streams side = {0};
    CHECK_OK(tt_session_open(&s, &b, c, TT_USE_TRAIN));
    CHECK(s.model->fuse[TT_FUSE_OVERLAP] && s.step->signals > 0, "nothing runs aside");
    fixture_weights(&s);
    if (beside) CHECK_OK(tt_plan_streams_open(&side, s.step, &b));
    for (int i = 0; i < 2; i++) {
        fixture_tokens(&s, i);
        CHECK_OK(beside ? tt_plan_run_streams(s.step, &b, NULL, &side) : tt_plan_run(s.step, &b, NULL));
        CHECK(l->first == l->end, "%d operations were not waited for", l->end - l->first);
        l->first = l->end = 0;
    }
    CHECK(!beside || (l->waits > 4 && l->late > 4), "%d waits, %d kernels before what is aside", l->waits, l->late);
    struct outcome out = read_outcome(&s);
    if (beside) tt_plan_streams_close(&side, &b);
    tt_session_close(&s);
    free(l);
    return out;
}

static void check_lazy(const struct tt_config *c, const char *what)
{
    struct outcome one = two_steps(c, false), two = two_steps(c, true);
    same_bits(&one, &two, what);
    struct outcome own = some_late_steps(c, false), late = some_late_steps(c, true);
    same_bits(&own, &late, what);
    struct tt_config plain = *c;
    strcpy(plain.fuse, "no-overlap");
    struct outcome apart = some_late_steps(&plain, false), beside = some_late_steps(c, false);
    same_bits(&apart, &beside, what);
}

static struct tt_config overlapping(enum tt_version v)
{
    struct tt_config c = tiny_config();
    c.version = v;
    c.graph = TT_SWITCH_ON;
    c.clip_norm = 0.1;
    return c;
}

static void the_latest_moment_is_early_enough(void)
{
    for (int v = test_few() ? TT_FLASH : TT_FUSED; v <= TT_FLASH; v++) {
        struct tt_config c = overlapping((enum tt_version)v);
        check_lazy(&c, tt_version_names[v]);
        c.grad_accum = test_few() ? 2 : 3;
        check_lazy(&c, "accumulated");
        c.grad_accum = 1, c.tie_embeddings = false;
        if (!test_few()) check_lazy(&c, "untied");
        for (int r = test_few() ? TT_RECOMPUTE_BLOCK : TT_RECOMPUTE_ATTENTION; r <= TT_RECOMPUTE_BLOCK; r++) {
            c.recompute = (enum tt_recompute)r;
            check_lazy(&c, tt_recompute_names[r]);
        }
    }
}

/* plan_check finds a wrong order, whichever wait is missing. */
static void check_waits(tt_status (*write)(const struct tt_model *m, struct tt_plan **out))
{
    struct tt_config c = overlapping(TT_FLASH);
    struct tt_model *m;
    struct tt_plan *p;
    CHECK_OK(tt_model_create(&c, &m));
    CHECK_OK(write(m, &p));
    CHECK_OK(plan_check(p, true));
    int found = 0, waits = 0;
    for (int i = 0; i < p->count; i++) {
        int *wait = &p->ops[i].wait[p->ops[i].stream == TT_STREAM_MAIN ? TT_STREAM_SIDE : TT_STREAM_MAIN], kept = *wait;
        if (kept < 0) continue;
        waits++;
        *wait = -1;
        tt_status st = plan_check(p, true);
        found += st && strstr(st->text, "the same bytes");
        tt_status_free(st);
        *wait = kept;
    }
    CHECK(waits > 4 && found == waits, "%d of %d missing waits were found", found, waits);
    tt_plan_free(p);
    tt_model_free(m);
}

static void a_missing_wait_is_found(void)
{
    check_waits(tt_model_plan_train);
    check_waits(tt_model_plan_late);
}

/* ---- on a GPU, in a graph ---- */

enum how { LAUNCHED, CAPTURED, CAPTURED_LATE };

/* The first step runs directly; the second is captured, and replayed like those after it. */
static struct outcome some_steps(const struct tt_config *c, enum how how)
{
    struct tt_session s;
    bool graph = how != LAUNCHED, late = how == CAPTURED_LATE;
    CHECK_OK(tt_session_open(&s, &real, c, TT_USE_TRAIN));
    struct tt_stepper stepper = {.backend = &real, .plan = late ? s.late : s.step, .graph_wanted = graph};
    fixture_weights(&s);
    for (int i = 0; i < (test_few() ? 3 : 6); i++) {
        fixture_tokens(&s, i);
        CHECK_OK(tt_step(&stepper));
        CHECK_OK(real.ops->stream_sync(real.self, NULL));
    }
    CHECK(!graph || stepper.streams.events, "the graph has one stream only");
    if (late) CHECK_OK(tt_plan_run(s.update, &real, NULL));
    struct outcome out = read_outcome(&s);
    tt_stepper_close(&stepper);
    tt_session_close(&s);
    return out;
}

static void a_graph_of_two_streams_gives_the_same_bits(void)
{
    struct tt_device_info info;
    CHECK_OK(real.ops->info(real.self, &info));
    for (int p = 0; p < TT_PRECISIONS; p++)
        for (int wide = 0; wide < (test_few() ? 1 : 2) && tested_in(&info, p); wide++) {
            struct tt_config c = overlapping(TT_FLASH);
            c.precision = (enum tt_precision)p;
            if (wide)
                c.hidden_dim = 256, c.ffn_dim = 512, c.num_heads = 4, c.num_kv_heads = 2, c.seq_len = 128,
                    c.batch_size = 4;
            struct outcome one = some_steps(&c, LAUNCHED), two = some_steps(&c, CAPTURED);
            same_bits(&one, &two, tt_precision_names[p]);
            struct outcome own = some_steps(&c, LAUNCHED), late = some_steps(&c, CAPTURED_LATE);
            same_bits(&own, &late, "late");
        }
}

/* Several models of one program alternate, each with its own graph and side stream. */
static void models_in_turns_give_the_same_bits(void)
{
    enum { MODELS = 3 };
    struct tt_config c = overlapping(TT_FLASH);
    struct tt_session s[MODELS];
    struct tt_stepper steppers[MODELS];
    for (int m = 0; m < MODELS; m++) {
        CHECK_OK(tt_session_open(&s[m], &real, &c, TT_USE_TRAIN));
        steppers[m] = (struct tt_stepper){.backend = &real, .plan = s[m].step, .graph_wanted = true};
        fixture_weights(&s[m]);
    }
    for (int i = 0; i < (test_few() ? 3 : 6); i++)
        for (int m = 0; m < MODELS; m++) {
            fixture_tokens(&s[m], i);
            CHECK_OK(tt_step(&steppers[m])); /* the next one begins without waiting for it */
        }
    CHECK_OK(real.ops->stream_sync(real.self, NULL));
    for (int m = 0; m < MODELS; m++) {
        CHECK(steppers[m].streams.events, "the graph has one stream only");
        struct outcome alone = some_steps(&c, LAUNCHED), beside = read_outcome(&s[m]);
        same_bits(&alone, &beside, "a model among others");
        tt_stepper_close(&steppers[m]);
        tt_session_close(&s[m]);
    }
}

int main(void)
{
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){.gemm_tune = TT_TUNE_QUICK}, &real));
    TEST(the_latest_moment_is_early_enough);
    TEST(a_missing_wait_is_found);
    if (real.ops->graph_begin) {
        TEST(a_graph_of_two_streams_gives_the_same_bits);
        TEST(models_in_turns_give_the_same_bits);
    }
    tt_backend_close(&real);
    return test_end();
}
