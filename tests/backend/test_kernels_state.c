/* The device's state of the run: the step, the schedule, clipping and the sum of squares for it, the ring of
 * metrics. */
#include "tests/backend/kernels/kernels.h"

static struct tt_state state_of(const struct tensor *t)
{
    struct tt_state s;
    memcpy(&s, t->data, sizeof s);
    return s;
}

#define NEAR(got, want) (fabs((double)(got) - (double)(want)) <= 2e-6 * fabs((double)(want)) + 1e-12)

/* ---- step_begin ---- */

static double scheduled(const struct tt_schedule *s, int64_t step)
{
    if (step <= s->warmup) return (double)s->peak * (double)step / (double)s->warmup;
    double done = step >= s->total ? 1 : (double)(step - s->warmup) / (double)(s->total - s->warmup);
    switch (s->decay) {
    case TT_DECAY_LINEAR: return s->peak + (s->floor - s->peak) * done;
    case TT_DECAY_COSINE: return s->floor + (s->peak - s->floor) * (1 + cos(M_PI * done)) / 2;
    default: return s->peak;
    }
}

/* A state in which no field has the value that the kernels under test should write. */
static struct tt_state worn_state(int64_t step)
{
    return (struct tt_state){.step = step, .slot = 77, .apply = 0, .overflowed = 7, .lr = 9, .bias1 = 9, .bias2 = 9,
                             .loss = 9, .grad_norm = 5, .clip = 0.5f, .loss_scale = 64, .used_scale = 33, .good = 11,
                             .skipped = step < 3 ? step : 3, .due = 1};
}

static void check_step_begin(const struct tt_schedule *schedule, int64_t before, int32_t slots)
{
    new_case("decay %d, warmup %" PRId64 ", total %" PRId64 ", after step %" PRId64 ", %d slots", schedule->decay,
             schedule->warmup, schedule->total, before, slots);
    struct tt_state worn = worn_state(before);
    struct tensor *state = structure("state", &worn, sizeof worn);
    LAUNCH(step_begin, .state = (struct tt_state *)state->data, .schedule = *schedule, .slots = slots, .beta1 = 0.9f,
           .beta2 = 0.95f);
    struct tt_state s = state_of(state);
    int64_t step = before + 1;
    CHECK(s.step == step && s.slot == (int32_t)(before % slots) && s.apply == 1 && s.loss == 0,
          "[%s] step %" PRId64 ", slot %d, apply %d, loss %g", kt.label, s.step, s.slot, s.apply, s.loss);
    double want = scheduled(schedule, step);
    CHECK(NEAR(s.lr, want) || fabs(s.lr - want) < 1e-7 * schedule->peak, "[%s] lr %.9g instead of %.9g", kt.label, s.lr,
          want);
    double updates = (double)(step - worn.skipped); /* updates that the moments have seen, this one included */
    CHECK(NEAR(s.bias1, 1 - pow((double)0.9f, updates)) && NEAR(s.bias2, 1 - pow((double)0.95f, updates)),
          "[%s] bias %g, %g", kt.label, s.bias1, s.bias2);
    CHECK(s.grad_norm == 5 && s.clip == 0.5f && s.loss_scale == 64 && s.good == 11 && s.skipped == worn.skipped,
          "[%s] changed what it must not", kt.label);
}

static void begins_steps(void)
{
    for EACH (decay, TT_DECAY_CONSTANT, TT_DECAY_LINEAR, TT_DECAY_COSINE)
        for EACH (warmup, 0, 1, 10, 100)
            for EACH (before, 0, 1, 9, 10, 50, 98, 99, 100, 5000, 20000000) {
                struct tt_schedule s = {(enum tt_decay)*decay, *warmup, 100, 3e-4f, 3e-5f};
                check_step_begin(&s, *before, 1 + (int32_t)(*before % 3));
            }
}

static void begins_steps_one_after_another(void)
{
    new_case("25 steps");
    struct tt_state fresh = {.loss_scale = 1};
    struct tt_schedule schedule = {TT_DECAY_COSINE, 5, 20, 1e-3f, 0};
    struct tensor *state = structure("state", &fresh, sizeof fresh);
    for (int64_t step = 1; step <= 25; step++) {
        LAUNCH(step_begin, .state = (struct tt_state *)state->data, .schedule = schedule, .slots = 2, .beta1 = 0.9f,
               .beta2 = 0.999f);
        struct tt_state s = state_of(state);
        CHECK(s.step == step && s.slot == (step - 1) % 2, "step %" PRId64 ", slot %d", s.step, s.slot);
        CHECK(fabs(s.lr - scheduled(&schedule, step)) < 1e-9, "step %" PRId64 ": lr %g", step, s.lr);
        CHECK(NEAR(s.bias2, 1 - pow((double)0.999f, (double)step)), "step %" PRId64 ": bias2 %.9g", step, s.bias2);
    }
}

/* A pending (`due`) update gets a copy of the state of its own step, and is no longer pending. */
static void keeps_the_state_before(void)
{
    for (int32_t due = 0; due < 2; due++) {
        new_case("due %d", due);
        struct tt_state worn = worn_state(6), none = {0};
        struct tt_schedule schedule = {TT_DECAY_COSINE, 5, 20, 1e-3f, 0};
        worn.apply = 1;
        worn.due = due;
        struct tensor *state = structure("state", &worn, sizeof worn), *kept = structure("before", &none, sizeof none);
        LAUNCH(step_begin, .state = (struct tt_state *)state->data, .before = (struct tt_state *)kept->data,
               .schedule = schedule, .slots = 2, .beta1 = 0.9f, .beta2 = 0.999f);
        struct tt_state s = state_of(state), before = state_of(kept);
        CHECK(before.step == 6 && before.lr == 9 && before.bias1 == 9 && before.bias2 == 9 && before.clip == 0.5f,
              "[%s] not the state of the step before", kt.label);
        CHECK(before.apply == due && s.due == 0 && s.step == 7 && s.apply == 1, "[%s] apply %d, then due %d", kt.label,
              before.apply, s.due);
    }
}

/* ---- clip_scale ---- */

static struct tt_state clipped(struct tensor *partial, float loss, float loss_scale, float max_norm)
{
    struct tt_state before = worn_state(4);
    before.loss = loss;
    before.loss_scale = loss_scale;
    struct tensor *state = structure("state", &before, sizeof before);
    LAUNCH(clip_scale, .state = (struct tt_state *)state->data, .partial = (float *)partial->data,
           .count = partial->cols, .max_norm = max_norm);
    struct tt_state s = state_of(state);
    CHECK(s.step == 4 && s.slot == 77 && s.lr == 9 && s.bias1 == 9 && s.bias2 == 9, "[%s] changed what it must not",
          kt.label);
    CHECK(s.loss_scale == loss_scale && s.good == 11, "[%s] loss scale %g, good %d", kt.label, s.loss_scale, s.good);
    CHECK(s.used_scale == loss_scale && !s.overflowed, "[%s] overflowed without a search", kt.label);
    CHECK(!s.due, "[%s] an update is due that the step makes itself", kt.label);
    return s;
}

static struct tensor *positive(int64_t n)
{
    struct tensor *t = input("partial", TT_F32, 1, n, 0, 1);
    for (int64_t i = 0; i < n; i++) t->v[i] = fabs(t->v[i]);
    encode(t);
    return t;
}

static void check_clip(int64_t count, float loss_scale, float max_norm)
{
    new_case("%" PRId64 " parts, loss scale %g, max norm %g", count, loss_scale, max_norm);
    struct tensor *partial = positive(count);
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += partial->v[i];
    double norm = sqrt(sum) / loss_scale, want = (max_norm > 0 ? fmin(1, max_norm / norm) : 1) / loss_scale;
    struct tt_state s = clipped(partial, 2.5f, loss_scale, max_norm);
    CHECK(NEAR(s.grad_norm, norm), "[%s] norm %.9g instead of %.9g", kt.label, s.grad_norm, norm);
    CHECK(NEAR(s.clip, want), "[%s] clip %.9g instead of %.9g", kt.label, s.clip, want);
    CHECK(s.apply == 1 && s.skipped == 3 && s.loss == 2.5f, "[%s] apply %d, skipped %" PRId64 ", loss %g", kt.label,
          s.apply, s.skipped, s.loss);
}

static void clips(void)
{
    for EACH (count, 1, 7, 64, 1000)
        for EACH (loss_scale, 1, 1024)
            for (int i = 0; i < 4; i++) check_clip(*count, (float)*loss_scale, (float[]){0, -1, 0.125f, 1e6f}[i]);
}

static void does_not_clip_no_gradient(void)
{
    new_case("all gradients 0");
    struct tensor *partial = given("partial", TT_F32, 1, 3, 0, (double[]){0, 0, 0});
    struct tt_state s = clipped(partial, 1, 1, 1);
    CHECK(s.grad_norm == 0 && s.clip == 1 && s.apply == 1, "norm %g, clip %g, apply %d", s.grad_norm, s.clip, s.apply);
}

static void skips_what_is_not_finite(void)
{
    const double bad[] = {(double)NAN, (double)INFINITY};
    for (int i = 0; i < 2; i++)
        for EACH (where, 0, 36, 64) {
            new_case("%g in part %" PRId64, bad[i], *where);
            struct tensor *partial = positive(65);
            partial->v[*where] = bad[i];
            encode(partial);
            struct tt_state s = clipped(partial, 2, 1, (float)i);
            CHECK(s.apply == 0 && s.clip == 0 && s.skipped == 4, "[%s] apply %d, clip %g, skipped %" PRId64,
                  kt.label, s.apply, s.clip, s.skipped);
            CHECK(!isfinite(s.grad_norm), "[%s] norm %g", kt.label, s.grad_norm);
        }
    for (int i = 0; i < 3; i++) {
        new_case("loss %d", i);
        float loss = i == 2 ? -INFINITY : (float)bad[i];
        struct tt_state s = clipped(positive(7), loss, 1, 1);
        CHECK(s.apply == 0 && s.clip == 0 && s.skipped == 4, "[%s] apply %d, clip %g", kt.label, s.apply, s.clip);
    }
}

/* The loss scale for the next step, and the number of good steps it has seen. */
static void check_loss_scale(float scale, int32_t good, bool finite, float want, int32_t want_good)
{
    new_case("loss scale %g after %d good steps, finite %d", scale, good, finite);
    struct tt_state before = worn_state(4);
    before.loss = finite ? 1 : INFINITY;
    before.loss_scale = scale;
    before.good = good;
    struct tensor *state = structure("state", &before, sizeof before), *partial = positive(7);
    double sum = 0;
    for (int64_t i = 0; i < 7; i++) sum += partial->v[i];
    LAUNCH(clip_scale, .state = (struct tt_state *)state->data, .partial = (float *)partial->data, .count = 7,
           .grow_after = 20);
    struct tt_state s = state_of(state);
    CHECK(s.loss_scale == want && s.good == want_good, "[%s] loss scale %g, good %d", kt.label, s.loss_scale, s.good);
    CHECK(NEAR(s.grad_norm, sqrt(sum) / scale) && NEAR(s.clip, finite ? 1 / scale : 0) && s.used_scale == scale,
          "[%s] norm %g, clip %g: not by the scale of this step", kt.label, s.grad_norm, s.clip);
    CHECK(!s.overflowed, "[%s] %s", kt.label,
          finite ? "all was finite" : "a loss that is not finite is more than an overflow");
}

/* If the loss is finite and the gradients are not: an overflow as long as the loss scale can be lowered (down to 2), an
 * error at a scale of 1. */
static void check_overflow(float scale, int32_t grow_after, bool overflow)
{
    new_case("overflow at loss scale %g, grow after %d", scale, grow_after);
    struct tt_state before = worn_state(4);
    before.loss = 2;
    before.loss_scale = scale;
    struct tensor *state = structure("state", &before, sizeof before), *ring;
    struct tensor *partial = given("partial", TT_F32, 1, 3, 0, (double[]){1, (double)INFINITY, 2});
    LAUNCH(clip_scale, .state = (struct tt_state *)state->data, .partial = (float *)partial->data, .count = 3,
           .grow_after = grow_after);
    struct tt_state s = state_of(state);
    CHECK(!s.apply && s.overflowed == overflow && s.skipped == 4, "[%s] apply %d, overflowed %d", kt.label, s.apply,
          s.overflowed);
    struct tt_metrics m = {0};
    ring = structure("ring", &m, sizeof m);
    LAUNCH(record, .state = (struct tt_state *)state->data, .ring = (struct tt_metrics *)ring->data, .entries = 1);
    memcpy(&m, ring->data, sizeof m);
    CHECK(m.loss_scale == scale && m.overflowed == overflow && !m.apply, "[%s] recorded scale %g, overflowed %d",
          kt.label, m.loss_scale, m.overflowed);
}

static void tells_overflows_from_faults(void)
{
    check_overflow(65536, 1000, true);
    check_overflow(2, 1000, true);
    check_overflow(1, 1000, false);
    check_overflow(1, 0, false);
}

static void adapts_the_loss_scale(void)
{
    check_loss_scale(1024, 0, true, 1024, 1);
    check_loss_scale(1024, 18, true, 1024, 19);
    check_loss_scale(1024, 19, true, 2048, 0);
    check_loss_scale(1024, 19, false, 512, 0);
    check_loss_scale(1024, 3, false, 512, 0);
    check_loss_scale(1, 3, false, 1, 0);
    check_loss_scale(0x1p24f, 19, true, 0x1p24f, 0);
}

/* With `stops`, a step with a NaN or infinity stops the run. Neither that step nor later ones, finite or not, change
 * what a checkpoint holds. An overflow that a lower loss scale may fix does not stop it. */
static void check_stop(bool stops, bool stopped, float scale, float loss, double square)
{
    new_case("stops %d, stopped %d, loss scale %g, loss %g, sum of squares %g", stops, stopped, scale, loss, square);
    struct tt_state before = worn_state(4);
    before.loss = loss;
    before.loss_scale = scale;
    before.stops = stops;
    before.stopped = stopped;
    struct tensor *state = structure("state", &before, sizeof before);
    struct tensor *partial = given("partial", TT_F32, 1, 2, 0, (double[]){square, 1});
    LAUNCH(clip_scale, .state = (struct tt_state *)state->data, .partial = (float *)partial->data, .count = 2,
           .grow_after = 12, .late = 1);
    struct tt_state s = state_of(state);
    bool finite = isfinite(loss) && isfinite(square), overflow = isfinite(loss) && !finite && scale > 1;
    bool ends = stopped || (stops && !finite && !overflow), applied = finite && !ends;
    CHECK(s.stopped == ends && s.stops == stops && s.apply == applied && s.overflowed == overflow &&
          (s.clip > 0) == applied,
          "[%s] stopped %d, apply %d, overflowed %d, clip %g", kt.label, s.stopped, s.apply, s.overflowed, s.clip);
    CHECK(s.due == applied, "[%s] the update is due: %d", kt.label, s.due);
    bool kept = s.skipped == 3 && s.loss_scale == scale && s.good == 11;
    CHECK(kept == ends, "[%s] skipped %" PRId64 ", loss scale %g, good %d", kt.label, s.skipped, s.loss_scale, s.good);
}

static void stops_at_what_is_not_finite(void)
{
    const float losses[] = {2, NAN, INFINITY};
    const double squares[] = {3, (double)NAN, (double)INFINITY};
    for EACH (stops, 0, 1)
        for EACH (stopped, 0, 1)
            for EACH (scale, 1, 2, 1024)
                for (int i = 0; i < 9; i++)
                    if (*stops || !*stopped) check_stop(*stops, *stopped, (float)*scale, losses[i / 3], squares[i % 3]);
}

/* ---- record ---- */

static void records_in_a_ring(void)
{
    enum { ENTRIES = 5 };
    struct tt_metrics want[ENTRIES];
    memset(want, 0xaa, sizeof want);
    new_case("ring of %d", ENTRIES);
    struct tensor *ring = structure("ring", want, sizeof want);
    for (int64_t step = 1; step <= 2 * ENTRIES + 2; step++) {
        struct tt_state s = worn_state(step);
        s.loss = 0.5f * (float)step;
        s.apply = step % 2;
        s.ignored = 100 * (float)step;
        struct tensor *state = structure("state", &s, sizeof s);
        LAUNCH(record, .state = (struct tt_state *)state->data, .ring = (struct tt_metrics *)ring->data,
               .entries = ENTRIES);
        want[(step - 1) % ENTRIES] = (struct tt_metrics){step, s.skipped, 100 * step, s.loss, 5, 9, 33, s.apply, 7};
        CHECK(!memcmp(ring->data, want, sizeof want), "after step %" PRId64, step);
    }
}

/* ---- sum of squares ---- */

static void check_sum_squares(int64_t n, int64_t parts, int64_t gap)
{
    new_case("%" PRId64 " in %" PRId64 " parts, gap %" PRId64, n, parts, gap);
    struct tensor *x = input("x", TT_F32, 1, n, gap, 1), *partial = output("partial", TT_F32, 1, parts, 0);
    double *want = doubles(parts);
    int64_t run = (n + parts - 1) / parts;
    for (int64_t i = 0; i < n; i++) want[i / run] += x->v[i] * x->v[i];
    LAUNCH(sum_squares, .x = (float *)x->data, .partial = (float *)partial->data, .n = n, .parts = parts);
    close_to(partial, want, 2e-6, 0);
}

static void sum_squares(int64_t n)
{
    for EACH (parts, 1, 3, 8, 64, 1000) check_sum_squares(n, *parts, *parts % 2);
}

/* A NaN gradient must reach the norm, wherever it is. */
static void sums_show_what_is_not_finite(void)
{
    for EACH (at, 0, 500, 998, 999) {
        new_case("NaN at %" PRId64, *at);
        struct tensor *x = input("x", TT_F32, 1, 1000, 0, 1), *partial = output("partial", TT_F32, 1, 3, 0);
        x->v[*at] = (double)NAN;
        encode(x);
        LAUNCH(sum_squares, .x = (float *)x->data, .partial = (float *)partial->data, .n = 1000, .parts = 3);
        for (int64_t p = 0; p < 3; p++)
            CHECK(isnan(partial->v[p]) == (*at / 334 == p), "[%s] part %" PRId64 " is %g", kt.label, p, partial->v[p]);
    }
}

static void sums_squares(void) { for_lengths(sum_squares); }

int main(void)
{
    OPEN_OR_SKIP(open_backends());
    TEST(begins_steps);
    TEST(begins_steps_one_after_another);
    TEST(keeps_the_state_before);
    TEST(clips);
    TEST(does_not_clip_no_gradient);
    TEST(skips_what_is_not_finite);
    TEST(adapts_the_loss_scale);
    TEST(tells_overflows_from_faults);
    TEST(stops_at_what_is_not_finite);
    TEST(records_in_a_ring);
    TEST(sums_squares);
    TEST(sums_show_what_is_not_finite);
    END_KERNEL_TESTS(COVER_STATE);
}
