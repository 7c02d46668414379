/* Every fault of the course against the same run without it: its symptom is there, and without --fault nothing is. */
#include <unistd.h>

#include "backend/relay.h"
#include "core/plan/step.h"
#include "core/train/feed.h"
#include "core/train/loop.h"
#include "exercises/engine/course.h"
#include "exercises/engine/fault.h"
#include "profiling/measure/measure.h"
#include "tests/core/plan/plan_check.h"
#include "tests/model/model_fixture.h"
#include "tests/profiling/ceilings_fixture.h"

static struct tt_backend backend;
static char ceilings[] = "/tmp/tt-ceilings-XXXXXX";
static struct tt_profile clean;

static struct tt_config shape(const char *fault)
{
    struct tt_config c = tiny_config();
    c.hidden_dim = 32, c.num_layers = 2, c.num_heads = 4, c.num_kv_heads = 2, c.ffn_dim = 48, c.vocab_size = 64;
    c.seq_len = 24, c.batch_size = 4, c.init_std = 0.02, c.clip_norm = 1, c.version = TT_FUSED;
    snprintf(tt_course_told(&c)->fault, sizeof tt_course_told(&c)->fault, "%s", fault);
    c.hooks = &tt_course;
    tt_fault_configure(&c);
    return c;
}

static tt_status open_data(const struct tt_config *c, struct tt_data **out)
{
    struct tt_data_options o = {.source = "builtin", .tokenizer = "bytes", .val_fraction = 0.1, .seq_len = c->seq_len,
                                .vocab_size = c->vocab_size, .seed = (uint64_t)c->seed};
    return tt_data_open(&o, out);
}

static struct tt_profile profile(const char *fault)
{
    struct tt_config c = shape(fault);
    struct tt_profile p = {0};
    struct tt_profile_options o = {.backend = &backend, .config = &c, .open_data = open_data, .steps = 2, .warmup = 2,
                                   .ceilings = ceilings, .launches = test_few() ? 20 : 0};
    CHECK_OK(tt_profile_measure(&o, &p));
    CHECK_OK(tt_course_label(&c, &backend, &p.run));
    return p;
}

static const struct tt_profile_row *group(const struct tt_profile *p, const char *name)
{
    static const struct tt_profile_row none;
    for (int i = 0; i < p->groups_count; i++)
        if (!strcmp(p->groups[i].name, name)) return &p->groups[i];
    return &none;
}

static double other(const struct tt_profile *p)
{
    for (int i = 0; i < p->phases_count; i++)
        if (!strcmp(p->phases[i].name, "other")) return p->phases[i].wall;
    return NAN;
}

static int without_gradient(const struct tt_profile *p)
{
    int n = 0;
    for (int i = 0; i < p->gradients_count; i++) n += p->gradients[i].norm == 0;
    return n;
}

static void nothing_is_wrong(void)
{
    CHECK(clean.run.fault[0] == 0 && clean.launch.waits == 1 && without_gradient(&clean) == 0, "waits %g",
          clean.launch.waits);
    CHECK(fabs(clean.samples[0].loss - log(64)) < 0.3, "first loss %g", clean.samples[0].loss);
    struct tt_config with = shape(""), without = shape("");
    tt_fault_configure(&with);
    CHECK(!memcmp(&with, &without, sizeof with));
    struct tt_model *m;
    struct tt_plan *p;
    CHECK_OK(tt_model_create(&with, &m));
    CHECK_OK(tt_model_plan_train(m, &p));
    CHECK(p->count == clean.step.kernels);
    CHECK_OK(plan_check(p, true));
    tt_plan_free(p);
    tt_model_free(m);
}

static void no_init(void)
{
    struct tt_profile p = profile("no-init");
    CHECK(p.samples[0].loss > 2 * clean.samples[0].loss, "%g", p.samples[0].loss);
    CHECK(!strcmp(p.run.fault, "no-init"));
    tt_profile_free(&p);
}

static void host_wait(void)
{
    struct tt_profile p = profile("host-wait");
    CHECK(p.launch.waits == clean.launch.waits + 1, "%g", p.launch.waits);
    CHECK(p.step.loss == clean.step.loss, "it computes the same");
    tt_profile_free(&p);
}

static void naive_matmul(void)
{
    struct tt_profile p = profile("naive-matmul");
    const struct tt_profile_row *down = group(&p, "swiglu_down"), *before = group(&clean, "swiglu_down");
    CHECK(down->count > 3 * before->count &&
          group(&p, "swiglu_gate_up")->count > 3 * group(&clean, "swiglu_gate_up")->count);
    CHECK(down->intensity < before->intensity, "weights are read again and again: %g against %g", down->intensity,
          before->intensity);
    CHECK(group(&p, "qkv_projection")->count == group(&clean, "qkv_projection")->count);
    CHECK(fabs(p.step.loss - clean.step.loss) < 1e-3, "it computes the same: %g %g", p.step.loss, clean.step.loss);
    tt_profile_free(&p);
}

static void dropped_gradient(void)
{
    struct tt_profile p = profile("dropped-gradient");
    CHECK(without_gradient(&p) == 1, "%d", without_gradient(&p));
    CHECK(p.step.kernels == clean.step.kernels - 1);
    tt_profile_free(&p);
}

static void no_clip(void)
{
    struct tt_profile p = profile("no-clip");
    double worst = 0;
    for (int i = 0; i < p.samples_count; i++)
        worst = p.samples[i].loss > worst || isnan(p.samples[i].loss) ? p.samples[i].loss : worst;
    CHECK(!(worst < clean.samples[0].loss + 1), "the loss rises: %g", worst);
    tt_profile_free(&p);
}

static void tiny_batch(void)
{
    struct tt_profile p = profile("tiny-batch");
    CHECK(p.run.batch_size == 1 && p.run.grad_accum == 4 && p.step.kernels > 3 * clean.step.kernels, "%lld",
          (long long)p.step.kernels);
    CHECK(fabs(p.samples[0].loss - clean.samples[0].loss) < 1e-4, "the same data: %g", p.samples[0].loss);
    struct tt_config c = shape("tiny-batch");
    tt_fault_configure(&c);
    CHECK(c.grad_accum == 4, "the same when done twice");
    tt_profile_free(&p);
}

static void mask_rebuild(void)
{
    struct tt_profile p = profile("mask-rebuild");
    CHECK(p.launch.waits == clean.launch.waits + 1 && group(&p, "copies")->count == group(&clean, "copies")->count + 1);
    CHECK(group(&p, "copies")->bytes == group(&clean, "copies")->bytes + 24 * 24 * 4, "%g", group(&p, "copies")->bytes);
    tt_profile_free(&p);
}

static void host_norm(void)
{
    struct tt_profile p = profile("host-norm");
    CHECK(p.launch.waits == clean.launch.waits + p.gradients_count, "a wait for each of %d tensors: %g",
          p.gradients_count, p.launch.waits);
    const struct tt_profile_row *copies = group(&p, "copies"), *before = group(&clean, "copies");
    CHECK(copies->count == before->count + p.gradients_count, "all are counted: %lld", (long long)copies->count);
    CHECK(copies->bytes == before->bytes + 4 * (double)p.run.parameters, "%g", copies->bytes);
    CHECK(copies->seconds > 0 && copies->median <= copies->seconds);
    tt_profile_free(&p);
}

static void host_sort(void)
{
    struct tt_profile p = profile("host-sort");
    int tensors = p.gradients_count;
    CHECK(p.launch.waits == clean.launch.waits + tensors, "a wait for each of %d tensors: %g", tensors, p.launch.waits);
    CHECK(p.step.kernels == clean.step.kernels && group(&p, "copies")->count ==
          group(&clean, "copies")->count + tensors);
    CHECK(p.samples[0].loss == clean.samples[0].loss, "the losses are those of a run without it");
    tt_profile_free(&p);
}

static void hidden(void)
{
    enum tt_fault fault;
    int drawn[TT_FAULT_COUNT] = {0};
    struct tt_profile p = profile("random:3");
    CHECK(!strcmp(p.run.fault, "hidden") && !strcmp(p.run.fault_seed, "3"), "%s %s", p.run.fault, p.run.fault_seed);
    CHECK(!clean.run.fault_seed[0], "%s", clean.run.fault_seed);
    tt_profile_free(&p);
    for (int seed = 0; seed < 300; seed++) {
        char text[32];
        snprintf(text, sizeof text, "random:%d", seed);
        CHECK_OK(tt_fault_find(text, &fault));
        drawn[fault]++;
    }
    bool cpu = !strcmp(backend.ops->name, "cpu");
    for (int i = 0; i < TT_FAULT_COUNT; i++) {
        bool drawable = i != TT_FAULT_NONE && i < TT_FAULT_OF_RANKS && !(cpu && i == TT_FAULT_UNPINNED_COPIES);
        CHECK((drawn[i] > 0) == drawable, "%s drawn %d times", tt_fault_names[i], drawn[i]);
    }
    CHECK_FAILS(tt_fault_check("no-inti"), "did you mean no-init");
    CHECK_FAILS(tt_fault_check("random:"), "number");
    CHECK_FAILS(tt_fault_check("random:12x"), "number");
}

/* ---- those whose symptom is no figure that a CPU shows ---- */

/* Losses of some steps on data that can be learned; gradients of the first. */
static double train(const char *fault, int steps, float **gradients)
{
    struct tt_config c = shape(fault);
    struct tt_session s = {0};
    struct tt_data *data = NULL;
    struct tt_feed feed = {0};
    double loss = NAN;
    c.num_steps = steps, c.learning_rate = 1e-2, c.seed = 3;
    CHECK_OK(tt_session_open(&s, &backend, &c, TT_USE_TRAIN));
    CHECK_OK(tt_session_init_weights(&s));
    CHECK_OK(open_data(&c, &data));
    CHECK_OK(tt_feed_open(&feed, &s.engine, data, &(struct tt_feed_rows){c.batch_size, c.batch_size, c.seq_len, 0}, 0));
    struct tt_stepper stepper = {.backend = &backend, .plan = s.step};
    for (int i = 0; i < steps; i++) {
        CHECK_OK(tt_feed_begin(&feed));
        CHECK_OK(tt_step(&stepper));
        CHECK_OK(tt_feed_end(&feed));
        if (i == 0 && gradients) *gradients = fixture_read(&s, TT_X_GRADS);
    }
    struct tt_metrics last;
    CHECK_OK(tt_engine_download(&s.engine, TT_X_RING, (size_t)((steps - 1) % TT_RING_ENTRIES) * sizeof last, &last,
                                sizeof last));
    loss = (double)last.loss;
    tt_stepper_close(&stepper);
    tt_feed_close(&feed);
    tt_data_close(data);
    tt_session_close(&s);
    return loss;
}

static void wrong_stride(void)
{
    float *right = NULL, *wrong = NULL;
    double good = train("", 80, &right), bad = train("wrong-stride", 80, &wrong);
    struct tt_config c = shape("");
    struct tt_model *m;
    CHECK_OK(tt_model_create(&c, &m));
    CHECK(relative_error(wrong, right, m->params.total) > 0.01, "gradients differ: %g",
          relative_error(wrong, right, m->params.total));
    tt_model_free(m);
    CHECK(bad > good + 0.05, "it learns less: %g against %g", bad, good);
    free(right);
    free(wrong);
}

/* Products of 8-bit factors take them in one way only: there, the codes are made the wrong way. */
static void wrong_stride_scaled_by(enum tt_fp8_scaling scaling)
{
    struct tt_config c = shape("wrong-stride");
    struct tt_model *m;
    struct tt_plan *p = NULL;
    int forward = 0, turned = 0;
    make_even(&c);
    c.precision = TT_PREC_FP8;
    c.fp8_scaling = scaling;
    CHECK_OK(tt_model_create(&c, &m));
    CHECK_OK(tt_model_plan_train(m, &p));
    CHECK_OK(plan_check(p, true));
    for (int i = 0; i < p->count; i++) {
        const struct tt_op *op = &p->ops[i];
        if (op->kind != TT_OP_KERNEL || op->phase != TT_FORWARD) continue;
        if (op->kernel == TT_K_fp8_cast) {
            forward += !op->args.fp8_cast.transposed;
            turned += !op->args.fp8_cast.out;
        } else if (op->kernel == TT_K_fp8_cast_rows) {
            forward += !op->args.fp8_cast_rows.transposed;
            turned += !op->args.fp8_cast_rows.out;
        }
    }
    CHECK(turned == c.num_layers && forward > turned, "%d of %d casts are the wrong way", turned, forward + turned);
    tt_plan_free(p);
    tt_model_free(m);
}

static void wrong_stride_in_fp8(void)
{
    for (int scaling = TT_SCALING_TENSOR; scaling <= TT_SCALING_ROW; scaling++)
        wrong_stride_scaled_by((enum tt_fp8_scaling)scaling);
}

static void double_shift(void)
{
    double good = train("", 80, NULL), bad = train("double-shift", 80, NULL);
    CHECK(bad > good + 0.1, "two tokens ahead is harder to tell: %g against %g", bad, good);
    struct tt_config c = shape("double-shift");
    c.version = TT_BASELINE;
    struct tt_session s = {0};
    CHECK_OK(tt_session_plan(&s, &backend, &c, TT_USE_TRAIN));
    CHECK(s.engine.bytes[TT_X_TOKENS] > 2 * 4 * 25 * sizeof(int32_t), "room for the target behind the last token");
    tt_session_close(&s);
}

/* A validation each time, all of it work of the device. */
static void eval_every_step(void)
{
    struct tt_config c = shape("eval-every-step");
    CHECK(c.val_interval == 1, "tt train validates every step");
    struct tt_relay relay;
    struct tt_backend counted = tt_relay_open(&relay, &backend);
    struct tt_session s = {0};
    struct tt_data *data;
    CHECK_OK(tt_session_open(&s, &counted, &c, TT_USE_TRAIN | TT_USE_EVAL));
    CHECK_OK(tt_session_init_weights(&s));
    CHECK_OK(open_data(&c, &data));
    struct tt_visit visit = {.config = &c, .params = &s.model->params, .engine = &s.engine, .backend = &counted,
                             .eval_plan = s.eval, .data = data};
    struct tt_guest guest;
    CHECK_OK(tt_guest_open(&guest, &visit));
    int64_t before = relay.work;
    CHECK_OK(tt_guest_step(&guest, &counted));
    CHECK(relay.work - before == c.val_batches * s.eval->count, "%lld operations", (long long)(relay.work - before));
    tt_guest_close(&guest);
    tt_data_close(data);
    tt_session_close(&s);
    struct tt_profile p = profile("eval-every-step");
    CHECK(strcmp(p.run.backend, "cpu") || p.launch.idle_seconds == 0, "a CPU waits for no launch: %g",
          p.launch.idle_seconds);
    CHECK(isnan(p.run.waited) || (p.run.waited >= 0 && p.run.waited <= 1), "%g", p.run.waited);
    CHECK(other(&p) > 3 * other(&clean), "the phase other tells: %g s against %g", other(&p), other(&clean));
    CHECK(p.memory.predicted_bytes > clean.memory.predicted_bytes, "it needs room for the validation");
    tt_profile_free(&p);
}

static int pinned;

static tt_status count_pinned(void *self, size_t bytes, void **out)
{
    struct tt_relay *r = self;
    pinned++;
    return r->real.ops->host_alloc(r->real.self, bytes, out);
}

/* Those of the batches. The ones for validation and for the metrics are there before a guest comes. */
static int pinned_buffers(const char *fault)
{
    struct tt_relay relay;
    struct tt_backend counted = tt_relay_open(&relay, &backend);
    struct tt_config c = shape(fault);
    struct tt_session s = {0};
    struct tt_data *data;
    struct tt_feed feed = {0};
    relay.ops.host_alloc = count_pinned;
    CHECK_OK(tt_session_open(&s, &counted, &c, TT_USE_TRAIN));
    CHECK_OK(open_data(&c, &data));
    struct tt_visit visit = {.config = &c, .params = &s.model->params, .engine = &s.engine, .backend = &counted,
                             .data = data};
    struct tt_guest guest;
    CHECK_OK(tt_guest_open(&guest, &visit));
    pinned = 0;
    CHECK_OK(tt_feed_open(&feed, &s.engine, data, &(struct tt_feed_rows){c.batch_size, c.batch_size, c.seq_len, 0}, 0));
    CHECK_OK(tt_feed_begin(&feed));
    CHECK_OK(tt_feed_end(&feed));
    tt_feed_close(&feed);
    tt_guest_close(&guest);
    CHECK(!s.engine.batch_memory, "what it lent is given back");
    tt_data_close(data);
    tt_session_close(&s);
    return pinned;
}

static void unpinned_copies(void)
{
    CHECK(pinned_buffers("") == TT_FEED_BUFFERS && pinned_buffers("unpinned-copies") == 0);
    struct tt_profile p = profile("unpinned-copies");
    CHECK(p.step.loss == clean.step.loss, "it computes the same");
    tt_profile_free(&p);
}

/* ---- several ranks ---- */

static struct tt_plan *plan_of_rank(const char *fault, int rank, int ranks, enum tt_sharding shard)
{
    struct tt_config c = shape(fault);
    struct tt_model *m;
    struct tt_plan *p = NULL;
    c.num_layers = 6, c.hidden_dim = 320, c.num_heads = 5, c.num_kv_heads = 5, c.ffn_dim = 800, c.batch_size = 1;
    c.ranks = ranks, c.rank = rank, c.shard = shard, c.grad_accum = 2;
    CHECK_OK(tt_model_create(&c, &m));
    CHECK_OK(tt_model_plan_train(m, &p));
    CHECK_OK(plan_check(p, true));
    tt_model_free(m);
    return p;
}

/* Of all collectives, with a weight for each kind. */
static double collective_elements(const struct tt_plan *p)
{
    double sum = 0;
    for (int i = 0; i < p->count; i++)
        if (p->ops[i].kind == TT_OP_COLLECTIVE)
            sum += (double)p->ops[i].args.collective.count * (p->ops[i].args.collective.kind + 1);
    return sum;
}

/* Sums of gradients that begin while the backward pass still has kernels to run. */
static int sums_beside(const struct tt_plan *p)
{
    int beside = 0, waiting = 0;
    for (int i = 0; i < p->count; i++) {
        const struct tt_op *op = &p->ops[i];
        bool sum = op->kind == TT_OP_COLLECTIVE && op->args.collective.kind != TT_ALL_GATHER;
        if (op->phase != TT_BACKWARD) waiting = 0;
        if (op->phase == TT_BACKWARD && sum) waiting += op->stream == TT_STREAM_COMM;
        if (op->phase == TT_BACKWARD && op->kind == TT_OP_GEMM) beside += waiting, waiting = 0;
    }
    return beside;
}

static void late_bucket(void)
{
    for (int s = TT_SHARD_NONE; s <= TT_SHARD_WEIGHTS; s++) {
        struct tt_plan *in_time = plan_of_rank("", 1, 4, (enum tt_sharding)s);
        struct tt_plan *late = plan_of_rank("late-bucket", 1, 4, (enum tt_sharding)s);
        CHECK(late->count == in_time->count && collective_elements(late) == collective_elements(in_time));
        CHECK(sums_beside(in_time) > 1 && sums_beside(late) == 0, "%s: %d sums beside, %d with the fault",
              tt_shard_names[s], sums_beside(in_time), sums_beside(late));
        tt_plan_free(in_time);
        tt_plan_free(late);
    }
}

/* One rank, which the seed draws, has more to do than the others, and the same to send. */
static void slow_rank(void)
{
    int drawn[4] = {0};
    struct tt_config c = shape("slow-rank");
    c.ranks = 4;
    for (c.seed = 0; c.seed < 50; c.seed++) drawn[tt_fault_slow_rank(&c)]++;
    CHECK(drawn[0] && drawn[1] && drawn[2] && drawn[3], "every rank is drawn by some seed");
    c = shape("slow-rank");
    c.ranks = 4;
    int slow = tt_fault_slow_rank(&c);
    for (int rank = 0; rank < 4; rank++) {
        struct tt_plan *plain = plan_of_rank("", rank, 4, TT_SHARD_NONE);
        struct tt_plan *p = plan_of_rank("slow-rank", rank, 4, TT_SHARD_NONE);
        CHECK((p->count > plain->count + 100) == (rank == slow), "rank %d: %d operations, %d without", rank, p->count,
              plain->count);
        CHECK(collective_elements(p) == collective_elements(plain));
        tt_plan_free(plain);
        tt_plan_free(p);
    }
    struct tt_plan *alone = plan_of_rank("slow-rank", 0, 1, TT_SHARD_NONE);
    struct tt_plan *plain = plan_of_rank("", 0, 1, TT_SHARD_NONE);
    CHECK(alone->count == plain->count, "one rank alone feels nothing");
    tt_plan_free(alone);
    tt_plan_free(plain);
}

/* No fault, but a switch of exercise 6: --prefetch off. */
static void gathers_on_demand(void)
{
    enum { ROWS = 2, S = 24 };
    struct tt_config c = shape("");
    struct tt_data *data;
    struct tt_loader *l;
    int32_t room[2][ROWS * (S + 1)], *buffers[2] = {room[0], room[1]}, *got = NULL;
    memset(room, 0xff, sizeof room);
    CHECK_OK(open_data(&c, &data));
    struct tt_loader_options o = {.data = data, .split = TT_TRAIN, .rows = ROWS, .seq_len = S, .buffers = buffers,
                                  .count = 2, .on_demand = true};
    CHECK_OK(tt_loader_open(&o, &l));
    usleep(20000);
    CHECK(room[0][0] == -1, "nobody asked yet");
    CHECK_OK(tt_loader_next(l, &got));
    CHECK(got == room[0] && room[0][0] >= 0 && room[0][ROWS * (S + 1) - 1] >= 0);
    usleep(20000);
    CHECK(room[1][0] == -1, "the second step was not asked for");
    tt_loader_release(l);
    CHECK_OK(tt_loader_next(l, &got));
    CHECK(got == room[1] && room[1][0] >= 0 && tt_loader_waited(l) > 0);
    tt_loader_close(l);
    tt_data_close(data);
}

int main(void)
{
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){.threads = 2}, &backend));
    fixture_few(&backend);
    int fd = mkstemp(ceilings);
    CHECK(fd >= 0);
    close(fd);
    fixture_ceilings(&backend, ceilings);
    clean = profile("");
    TEST(nothing_is_wrong);
    if (!test_few()) { /* whose kernels are those of any run */
        TEST(no_init);
        TEST(wrong_stride);
        TEST(wrong_stride_in_fp8);
        TEST(host_wait);
        TEST(naive_matmul);
        TEST(dropped_gradient);
        TEST(double_shift);
        TEST(no_clip);
        TEST(tiny_batch);
        TEST(mask_rebuild);
        TEST(host_norm);
        TEST(host_sort);
        TEST(hidden);
    }
    TEST(unpinned_copies);
    TEST(eval_every_step);
    TEST(late_bucket);
    TEST(slow_rank);
    TEST(gathers_on_demand);
    tt_profile_free(&clean);
    remove(ceilings);
    tt_backend_close(&backend);
    return test_end();
}
