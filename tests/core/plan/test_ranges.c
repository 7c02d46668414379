/* The ranges of a step that a profiler sees: a phase, in it the layers, in these every operation by its name. A phase
 * is one uninterrupted range, and all ranges are closed at the end, also after a failure. */
#include "core/plan/plan.h"
#include "tests/model/model_fixture.h"

static struct tt_backend real;

/* ---- a backend that records its ranges ---- */

enum { DEEPEST = 8 };

static struct {
    char path[DEEPEST][64]; /* the open ranges */
    int depth, phases, closed_too_often;
    const struct tt_plan *plan;
    int next;              /* the operation that must come next */
    int launches, fail_at; /* the launch that fails; 0: none */
} seen;

static void push(void *self, const char *name)
{
    (void)self;
    CHECK(seen.depth < DEEPEST, "%s is too deep", name);
    snprintf(seen.path[seen.depth], sizeof seen.path[0], "%s", name); /* the name may be gone later */
    seen.phases += seen.depth == 0;
    seen.depth++;
}

static void pop(void *self)
{
    (void)self;
    seen.closed_too_often += seen.depth == 0;
    seen.depth -= seen.depth > 0;
}

/* Checks that the open ranges are those of the next operation. */
static void note(void)
{
    char layer[32];
    const struct tt_op *op = &seen.plan->ops[seen.next++];
    bool inside = op->layer >= 0;
    snprintf(layer, sizeof layer, "layer_%d", op->layer);
    CHECK(seen.depth == 2 + inside, "operation %d is in %d ranges", seen.next - 1, seen.depth);
    CHECK(!strcmp(seen.path[0], tt_phase_name(op->phase)), "%s", seen.path[0]);
    CHECK(!inside || !strcmp(seen.path[1], layer), "%s, not %s", seen.path[1], layer);
    CHECK(!strcmp(seen.path[1 + inside], tt_op_name(op)), "%s", seen.path[1 + inside]);
}

static tt_status gemm(void *self, const struct tt_gemm *g, tt_stream s)
{
    note();
    return real.ops->gemm(self, g, s);
}

static tt_status launch(void *self, enum tt_kernel k, const void *args, tt_stream s)
{
    note();
    if (++seen.launches == seen.fail_at) return tt_fail(TT_FAILED, "this one fails");
    return real.ops->launch(self, k, args, s);
}

/* ---- steps ---- */

static void run(enum tt_version version, int64_t accumulate, int fail_at)
{
    struct tt_backend_ops ops = *real.ops;
    struct tt_backend noting = {&ops, real.self};
    struct tt_config c = tiny_config();
    struct tt_session s;
    c.version = version;
    c.grad_accum = accumulate;
    CHECK_OK(tt_session_open(&s, &real, &c, TT_USE_TRAIN));
    fixture_weights(&s);
    fixture_tokens(&s, 0);
    memset(&seen, 0, sizeof seen);
    seen.plan = s.step;
    seen.fail_at = fail_at;
    ops.range_push = push, ops.range_pop = pop, ops.gemm = gemm, ops.launch = launch;
    tt_status st = tt_plan_run(s.step, &noting, NULL);
    CHECK(!st == !fail_at, "%s", st ? st->text : "it ran");
    tt_status_free(st);
    CHECK(seen.depth == 0 && !seen.closed_too_often, "%d ranges are open, %d closed twice", seen.depth,
          seen.closed_too_often);
    int phases = 1;
    for (int i = 1; i < s.step->count; i++) phases += s.step->ops[i].phase != s.step->ops[i - 1].phase;
    if (!fail_at) CHECK(seen.next == s.step->count && seen.phases == phases, "%d phases, not %d", seen.phases, phases);
    tt_session_close(&s);
}

static void every_operation_is_in_its_phase_and_layer(void)
{
    for (int v = first_version(); v < TT_VERSIONS; v++) run((enum tt_version)v, 1, 0);
    run(TT_FLASH, 3, 0);
}

static void a_failure_leaves_none_open(void)
{
    for (int n = 1; n <= 10; n += 3) run(TT_FUSED, 1, n);
}

int main(void)
{
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &real));
    TEST(every_operation_is_in_its_phase_and_layer);
    TEST(a_failure_leaves_none_open);
    tt_backend_close(&real);
    return test_end();
}
