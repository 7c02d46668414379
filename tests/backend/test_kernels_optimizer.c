/* AdamW, in one kernel and in single steps. */
#include "core/base/half.h"
#include "tests/backend/kernels/kernels.h"

static const float beta1 = 0.9f, beta2 = 0.95f, adam_eps = 1e-3f, decay = 0.1f; /* an eps large enough to show */

static int32_t units; /* multiprocessors that it may use; 0: all */

struct arena {
    int64_t n;
    struct tensor *w, *m, *v, *grad, *state, *copy; /* copy or NULL */
};

/* With gap 1 every buffer starts one element off alignment, as a tensor inside the arena may. */
static struct arena make_arena(int64_t n, int64_t gap)
{
    struct arena a = {n, input("w", TT_F32, 1, n, gap, 0.1), input("m", TT_F32, 1, n, gap, 0.01),
                      input("v", TT_F32, 1, n, gap, 0.01), input("grad", TT_F32, 1, n, gap, 0.1), NULL, NULL};
    for (int64_t i = 0; i < n; i++) a.v->v[i] = 1e-3 + fabs(a.v->v[i]);
    encode(a.v);
    return a;
}

static struct tt_state step_state(int64_t step, int32_t apply)
{
    return (struct tt_state){.step = step, .apply = apply, .lr = 1e-2f, .clip = 0.6f, .loss_scale = 1,
                             .bias1 = (float)(1 - pow((double)beta1, (double)step)),
                             .bias2 = (float)(1 - pow((double)beta2, (double)step))};
}

static void reference_adamw(const struct arena *a, const struct tt_state *s, int64_t decay_end, double *w, double *m,
                            double *v)
{
    for (int64_t i = 0; i < a->n; i++) {
        double g = s->clip * a->grad->v[i];
        m[i] = beta1 * m[i] + (1 - (double)beta1) * g;
        v[i] = beta2 * v[i] + (1 - (double)beta2) * g * g;
        double move = m[i] / s->bias1 / (sqrt(v[i] / s->bias2) + adam_eps);
        w[i] -= s->lr * (move + (i < decay_end ? decay * w[i] : 0));
    }
}

static void launch_adamw(const struct arena *a, int64_t decay_end)
{
    LAUNCH(adamw, .state = (struct tt_state *)a->state->data, .w = (float *)a->w->data, .m = (float *)a->m->data,
           .v = (float *)a->v->data, .grad = (float *)a->grad->data, .copy = data_or_null(a->copy), .n = a->n,
           .decay_end = decay_end, .beta1 = beta1, .beta2 = beta2, .eps = adam_eps, .decay = decay, .units = units);
}

static void check_adamw(int64_t n, int64_t decay_end, int64_t gap)
{
    new_case("%" PRId64 ", decay below %" PRId64 ", gap %" PRId64, n, decay_end, gap);
    struct arena a = make_arena(n, gap);
    double *w = copy_doubles(a.w->v, n), *m = copy_doubles(a.m->v, n), *v = copy_doubles(a.v->v, n);
    for (int64_t step = 1; step <= 4; step++) {
        struct tt_state s = step_state(step, 1);
        a.state = structure("state", &s, sizeof s);
        reference_adamw(&a, &s, decay_end, w, m, v);
        launch_adamw(&a, decay_end);
    }
    close_to(a.m, m, 2e-6, 1e-8);
    close_to(a.v, v, 2e-6, 1e-9);
    close_to(a.w, w, 2e-6, 1e-7);
}

static void adamw(int64_t n)
{
    check_adamw(n, n, 0);
    check_adamw(n, 0, 0);
    check_adamw(n, n / 2, 0);
    check_adamw(n, n / 3 + 1, 1);
}

static void adamw_steps(void) { for_lengths(adamw); }

/* The kernel also writes a copy of the weights in the activations' type. */
static void adamw_copies(void)
{
    for EACH (n, 1, 65, 4099, 70001) {
        new_case("%" PRId64 " with a copy", *n);
        struct arena a = make_arena(*n, 0);
        struct tt_state s = step_state(1, 1);
        a.state = structure("state", &s, sizeof s);
        a.copy = output("copy", kt.dtype, 1, *n, 0);
        launch_adamw(&a, *n / 2);
        exactly(a.copy, given("rounded", kt.dtype, 1, *n, 0, a.w->v)->v);
    }
}

/* Weights stored in two 16-bit halves change exactly as whole fp32 weights do. */
static void move_whole(struct arena *a, int64_t decay_end)
{
    enum tt_dtype type = kt.dtype;
    kt.dtype = TT_F32;
    launch_adamw(a, decay_end);
    kt.dtype = type;
}

static void check_split(int64_t n, int64_t gap)
{
    new_case("%" PRId64 " in halves, gap %" PRId64, n, gap);
    struct arena split = make_arena(n, gap), whole = split;
    whole.w = given("whole", TT_F32, 1, n, gap, split.w->v);
    whole.m = given("m of whole", TT_F32, 1, n, gap, split.m->v);
    whole.v = given("v of whole", TT_F32, 1, n, gap, split.v->v);
    struct tensor *high = new_tensor("high", TT_BF16, 1, n, gap), *low = new_tensor("low", TT_F16, 1, n, gap);
    uint16_t *parts = must(malloc(2 * (size_t)n * sizeof *parts));
    for (int64_t step = 1; step <= 3; step++) {
        struct tt_state s = step_state(step, 1);
        split.state = whole.state = structure("state", &s, sizeof s);
        tt_split_halves((float *)whole.w->data, parts, parts + n, n);
        tt_join_halves(parts, parts + n, (float *)whole.w->data, n); /* without ties */
        if (step == 1) memcpy(high->data, parts, (size_t)n * 2), memcpy(low->data, parts + n, (size_t)n * 2);
        LAUNCH(adamw, .state = (struct tt_state *)split.state->data, .m = (float *)split.m->data,
               .v = (float *)split.v->data,
               .grad = (float *)split.grad->data, .copy = high->data, .low = (uint16_t *)low->data, .n = n,
               .decay_end = n / 2, .beta1 = beta1, .beta2 = beta2, .eps = adam_eps, .decay = decay, .units = units);
        move_whole(&whole, n / 2);
        tt_split_halves((float *)whole.w->data, parts, parts + n, n);
        CHECK(!memcmp(high->data, parts, (size_t)n * 2) && !memcmp(low->data, parts + n, (size_t)n * 2),
              "[%s] step %" PRId64 ": the halves are not those of the whole", kt.label, step);
    }
    exactly(split.m, whole.m->v);
    exactly(split.v, whole.v->v);
    free(parts);
}

static void adamw_in_halves(void)
{
    if (!kt.has[TT_BF16]) SKIP("the upper halves are bf16, which this device does not compute in");
    kt.dtype = TT_BF16;
    for EACH (n, 1, 65, 4099, 70001)
        for EACH (gap, 0, 1) check_split(*n, *gap);
    kt.dtype = TT_F32;
}

/* On a few multiprocessors, beside other kernels, the result is right and has the same bits as on all. */
static void adamw_beside_others(void)
{
    for EACH (few, 1, 3, 200) {
        units = (int32_t)*few;
        for_lengths(adamw);
        adamw_copies();
        if (kt.has[TT_BF16]) adamw_in_halves();
    }
    units = 0;
    for EACH (n, 1, 4099, 70001)
        for EACH (gap, 0, 1) {
            new_case("%" PRId64 " on few and on all, gap %" PRId64, *n, *gap);
            struct arena all = make_arena(*n, *gap), some = all;
            struct tt_state s = step_state(2, 1);
            some.w = given("w of few", TT_F32, 1, *n, *gap, all.w->v);
            some.m = given("m of few", TT_F32, 1, *n, *gap, all.m->v);
            some.v = given("v of few", TT_F32, 1, *n, *gap, all.v->v);
            all.state = some.state = structure("state", &s, sizeof s);
            launch_adamw(&all, *n / 2);
            units = 3;
            launch_adamw(&some, *n / 2);
            units = 0;
            exactly(some.w, all.w->v);
            exactly(some.m, all.m->v);
            exactly(some.v, all.v->v);
        }
}

/* ---- moments in bf16 ---- */

static void launch_bf16(const struct arena *a, int64_t from, int64_t to, float b2)
{
    LAUNCH(adamw, .state = (struct tt_state *)a->state->data, .w = (float *)a->w->data + from,
           .m = (uint16_t *)a->m->data + from, .v = (uint16_t *)a->v->data + from,
           .grad = (float *)a->grad->data + from, .moments = TT_BF16, .first = 1000 + from, .n = to - from,
           .decay_end = to - from, .beta1 = beta1, .beta2 = b2, .eps = adam_eps, .decay = decay, .units = units);
}

static struct arena bf16_arena(int64_t n, int64_t gap)
{
    struct arena a = make_arena(n, gap);
    a.m = given("m in bf16", TT_BF16, 1, n, gap, a.m->v);
    a.v = given("v in bf16", TT_BF16, 1, n, gap, a.v->v);
    return a;
}

static struct arena same_arena(const struct arena *a, int64_t gap)
{
    struct arena b = *a;
    b.w = given("w again", TT_F32, 1, a->n, gap, a->w->v);
    b.m = given("m again", TT_BF16, 1, a->n, gap, a->m->v);
    b.v = given("v again", TT_BF16, 1, a->n, gap, a->v->v);
    return b;
}

/* A moment equals the reference, stochastically rounded with the same random draw. It may be a neighbouring number if
 * the kernel's float differs in its last bits. */
static void check_drawn(const struct tensor *t, const double *want, int64_t step, int shift)
{
    const uint16_t *got = (const uint16_t *)t->data;
    int64_t others = 0;
    for (int64_t i = 0; i < t->cols; i++) {
        uint16_t drawn = tt_to_bf16_drawn((float)want[i], tt_draw(1000 + i, step) >> shift);
        int apart = abs((int)got[i] - (int)drawn);
        bool near = apart <= 1 || fabs((double)tt_from_bf16(got[i]) - want[i]) < 1e-8; /* or both near 0 */
        others += apart != 0;
        CHECK(near, "[%s] %s[%" PRId64 "] is %.9g for %.9g", kt.label, t->name, i, (double)tt_from_bf16(got[i]),
              want[i]);
    }
    CHECK(others <= 2 + t->cols / 500, "[%s] %s: %" PRId64 " of %" PRId64 " are not as drawn", kt.label, t->name,
          others, t->cols);
}

static void check_bf16_moments(int64_t n, int64_t gap)
{
    new_case("%" PRId64 ", moments in bf16, gap %" PRId64, n, gap);
    struct arena a = bf16_arena(n, gap), parts = same_arena(&a, gap);
    double *w = copy_doubles(a.w->v, n), *m = copy_doubles(a.m->v, n), *v = copy_doubles(a.v->v, n);
    struct tt_state s = step_state(3, 1);
    a.state = parts.state = structure("state", &s, sizeof s);
    reference_adamw(&a, &s, n, w, m, v);
    launch_bf16(&a, 0, n, beta2);
    close_to(a.w, w, 2e-6, 1e-7);
    check_drawn(a.m, m, 3, 0);
    check_drawn(a.v, v, 3, 16);
    launch_bf16(&parts, 0, n / 3, beta2); /* in parts, as ranks and layers do: the same bits */
    launch_bf16(&parts, n / 3, n, beta2);
    CHECK(!memcmp(parts.w->data, a.w->data, (size_t)n * 4) && !memcmp(parts.m->data, a.m->data, (size_t)n * 2) &&
              !memcmp(parts.v->data, a.v->data, (size_t)n * 2),
          "[%s] in parts: other bits", kt.label);
}

static void moments_in_bf16(void)
{
    for EACH (few, 0, 3) {
        units = (int32_t)*few;
        for EACH (n, 1, 3, 65, 4099, 70001)
            for EACH (gap, 0, 1) check_bf16_moments(*n, *gap);
    }
    units = 0;
}

/* With beta2 0.999 a step changes v by less than bf16 can represent. With stochastic rounding v still converges. */
static void slow_moments_arrive(void)
{
    enum { N = 512, STEPS = 1000 };
    new_case("%d steps with beta2 0.999", STEPS);
    struct arena a = bf16_arena(N, 0);
    double mean = 0;
    for (int64_t i = 0; i < N; i++) a.v->v[i] = 1e-4, a.m->v[i] = 0, a.grad->v[i] = 0.1;
    encode(a.v), encode(a.m), encode(a.grad);
    double want = a.v->v[0];
    struct tt_state s = step_state(1, 1);
    a.state = structure("state", &s, sizeof s);
    for (int64_t step = 1; step <= STEPS; step++) {
        s = step_state(step, 1);
        memcpy(a.state->data, &s, sizeof s);
        launch_bf16(&a, 0, N, 0.999f);
        want = 0.999 * want + 0.001 * 0.06 * 0.06;
    }
    const uint16_t *v = (const uint16_t *)a.v->data;
    for (int i = 0; i < N; i++) mean += (double)tt_from_bf16(v[i]) / N;
    CHECK(fabs(mean / want - 1) < 0.01, "the mean of v is %.6g, of floats %.6g", mean, want);
}

/* A parameter that never had a gradient does not change: 0/(0 + eps), not 0/0. */
static void adamw_leaves_what_has_no_gradient(void)
{
    new_case("no gradients");
    struct arena a = make_arena(70, 0);
    double *zeros = doubles(a.n);
    struct tensor *const all[] = {a.m, a.v, a.grad};
    for (int i = 0; i < 3; i++) {
        memcpy(all[i]->v, zeros, (size_t)a.n * sizeof *zeros);
        encode(all[i]);
    }
    double *w = copy_doubles(a.w->v, a.n);
    struct tt_state s = step_state(1, 1);
    a.state = structure("state", &s, sizeof s);
    launch_adamw(&a, 0);
    exactly(a.w, w);
    exactly(a.m, zeros);
    exactly(a.v, zeros);
}

/* A skipped step changes nothing, whatever its gradients are. */
static void adamw_skips(void)
{
    new_case("apply 0");
    struct arena a = make_arena(1000, 0);
    double *w = copy_doubles(a.w->v, a.n), *m = copy_doubles(a.m->v, a.n), *v = copy_doubles(a.v->v, a.n);
    for (int64_t i = 0; i < a.n; i += 3) a.grad->v[i] = i % 2 ? (double)NAN : (double)INFINITY;
    encode(a.grad);
    struct tt_state s = step_state(3, 0);
    s.clip = 0;
    a.state = structure("state", &s, sizeof s);
    a.copy = input("copy", TT_F32, 1, a.n, 0, 1);
    double *copy = copy_doubles(a.copy->v, a.n);
    launch_adamw(&a, 500);
    exactly(a.copy, copy);
    exactly(a.w, w);
    exactly(a.m, m);
    exactly(a.v, v);
}

/* ---- in single steps ---- */

static void launch_steps(const struct arena *a, float with_decay)
{
    struct tt_state *state = (struct tt_state *)a->state->data;
    float *w = (float *)a->w->data, *m = (float *)a->m->data, *v = (float *)a->v->data, *g = (float *)a->grad->data;
    LAUNCH(clip_grad, .state = state, .g = g, .n = a->n);
    LAUNCH(adam_m, .state = state, .m = m, .g = g, .n = a->n, .beta1 = beta1);
    LAUNCH(adam_v, .state = state, .v = v, .g = g, .n = a->n, .beta2 = beta2);
    LAUNCH(weight_decay, .state = state, .w = w, .n = a->n, .decay = with_decay);
    LAUNCH(adam_update, .state = state, .w = w, .m = m, .v = v, .n = a->n, .eps = adam_eps);
}

static void check_each_step(int64_t n, int64_t gap)
{
    new_case("%" PRId64 " in steps, gap %" PRId64, n, gap);
    struct arena a = make_arena(n, gap);
    struct tt_state s = step_state(2, 1), *state;
    a.state = structure("state", &s, sizeof s);
    state = (struct tt_state *)a.state->data;
    double *want = doubles(n);
    for (int64_t i = 0; i < n; i++) want[i] = a.grad->v[i] * s.clip;
    LAUNCH(clip_grad, .state = state, .g = (float *)a.grad->data, .n = n);
    close_to(a.grad, want, 1e-7, 0);
    for (int64_t i = 0; i < n; i++) want[i] = beta1 * a.m->v[i] + (1 - (double)beta1) * a.grad->v[i];
    LAUNCH(adam_m, .state = state, .m = (float *)a.m->data, .g = (float *)a.grad->data, .n = n, .beta1 = beta1);
    close_to(a.m, want, 1e-6, 4e-9);
    for (int64_t i = 0; i < n; i++) want[i] = beta2 * a.v->v[i] + (1 - (double)beta2) * pow(a.grad->v[i], 2);
    LAUNCH(adam_v, .state = state, .v = (float *)a.v->data, .g = (float *)a.grad->data, .n = n, .beta2 = beta2);
    close_to(a.v, want, 1e-6, 0);
    for (int64_t i = 0; i < n; i++) want[i] = a.w->v[i] * (1 - (double)s.lr * decay);
    LAUNCH(weight_decay, .state = state, .w = (float *)a.w->data, .n = n, .decay = decay);
    close_to(a.w, want, 2e-7, 0);
    for (int64_t i = 0; i < n; i++)
        want[i] = a.w->v[i] - s.lr * a.m->v[i] / s.bias1 / (sqrt(a.v->v[i] / s.bias2) + adam_eps);
    LAUNCH(adam_update, .state = state, .w = (float *)a.w->data, .m = (float *)a.m->data, .v = (float *)a.v->data,
           .n = n, .eps = adam_eps);
    close_to(a.w, want, 2e-7, 1e-8);
}

static void each_step(int64_t n)
{
    check_each_step(n, 0);
    check_each_step(n, 1);
}

static void adam_in_single_steps(void) { for_lengths(each_step); }

/* The same three steps both ways, with and without decay, with the same random numbers. */
static void check_steps_equal(int64_t n, bool decayed)
{
    new_case("%" PRId64 ", decay %d", n, decayed);
    struct arena one = make_arena(n, 0), many = one;
    many.w = given("w in steps", TT_F32, 1, n, 0, one.w->v);
    many.m = given("m in steps", TT_F32, 1, n, 0, one.m->v);
    many.v = given("v in steps", TT_F32, 1, n, 0, one.v->v);
    for (int64_t step = 1; step <= 3; step++) {
        struct tt_state s = step_state(step, 1);
        one.state = many.state = structure("state", &s, sizeof s);
        one.grad = input("grad", TT_F32, 1, n, 0, 0.1);
        many.grad = given("grad in steps", TT_F32, 1, n, 0, one.grad->v);
        launch_adamw(&one, decayed ? n : 0);
        launch_steps(&many, decayed ? decay : 0);
    }
    close_to(many.m, one.m->v, 1e-6, 3 * 4e-9); /* the terms cancel: three times one step's rounding */
    close_to(many.v, one.v->v, 1e-6, 1e-9);
    close_to(many.w, one.w->v, 1e-6, 1e-7);
}

static void steps_equal_the_one_kernel(void)
{
    for EACH (n, 1, 65, 4099)
        for (int decayed = 0; decayed < 2; decayed++) check_steps_equal(*n, decayed);
}

static void single_steps_skip(void)
{
    new_case("apply 0");
    struct arena a = make_arena(100, 0);
    double *w = copy_doubles(a.w->v, a.n), *m = copy_doubles(a.m->v, a.n), *v = copy_doubles(a.v->v, a.n);
    double *g = copy_doubles(a.grad->v, a.n);
    struct tt_state s = step_state(3, 0);
    s.clip = 0;
    a.state = structure("state", &s, sizeof s);
    launch_steps(&a, decay);
    exactly(a.w, w);
    exactly(a.m, m);
    exactly(a.v, v);
    exactly(a.grad, g);
}

int main(void)
{
    OPEN_OR_SKIP(open_backends());
    TEST(adamw_steps);
    TEST_TYPES(adamw_copies);
    TEST(adamw_in_halves);
    TEST(adamw_beside_others);
    TEST(moments_in_bf16);
    TEST(slow_moments_arrive);
    TEST(adamw_leaves_what_has_no_gradient);
    TEST(adamw_skips);
    TEST(adam_in_single_steps);
    TEST(steps_equal_the_one_kernel);
    TEST(single_steps_skip);
    END_KERNEL_TESTS(COVER_OPTIMIZER);
}
