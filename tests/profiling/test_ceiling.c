/* The measured roof of memory, on a device that takes the time it is told. */
#include "profiling/measure/ceiling.h"

#include "backend/relay.h"
#include "tests/test.h"

struct paced {
    struct tt_relay relay; /* first member: the backend's self points to it */
    double copy, update;   /* seconds of each */
    double last;           /* of the call between two events */
    bool shares_memory;
    double bytes; /* of an update */
};

static tt_status paced_copy(void *self, void *dst, const void *src, size_t bytes, enum tt_direction d, tt_stream s)
{
    struct paced *p = self;
    p->last = p->copy;
    return p->relay.real.ops->copy(p->relay.real.self, dst, src, bytes, d, s);
}

static tt_status paced_launch(void *self, enum tt_kernel kernel, const void *args, tt_stream s)
{
    struct paced *p = self;
    p->last = p->update;
    if (kernel == TT_K_scale) p->bytes = (double)((const struct tt_scale_args *)args)->n * sizeof(float);
    return p->relay.real.ops->launch(p->relay.real.self, kernel, args, s);
}

static tt_status paced_elapsed(void *self, tt_event from, tt_event to, double *seconds)
{
    struct paced *p = self;
    TT_TRY(p->relay.real.ops->event_elapsed(p->relay.real.self, from, to, seconds));
    *seconds = p->last;
    return TT_OK;
}

static tt_status paced_info(void *self, struct tt_device_info *out)
{
    struct paced *p = self;
    TT_TRY(p->relay.real.ops->info(p->relay.real.self, out));
    out->shares_memory = p->shares_memory;
    out->memory_free = 64 << 20; /* for small buffers */
    return TT_OK;
}

/* A copy on a CPU moves bytes that do not count, so the faster of a copy and an update in place is the roof there; on
 * other devices it is the copy. */
static void memory_is_as_fast_as_its_best_use(void)
{
    static const struct {
        bool shares_memory;
        double copy, update, best; /* seconds */
    } cases[] = {{true, 2, 1, 1}, {true, 1, 2, 1}, {false, 2, 1, 2}};
    struct tt_backend real;
    CHECK_OK(tt_backend_open(NULL, &real));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct paced p = {.copy = cases[i].copy, .update = cases[i].update, .shares_memory = cases[i].shares_memory};
        struct tt_backend b = tt_relay_open(&p.relay, &real);
        struct tt_rate rate = {0};
        p.relay.ops.copy = paced_copy;
        p.relay.ops.launch = paced_launch;
        p.relay.ops.event_elapsed = paced_elapsed;
        p.relay.ops.info = paced_info;
        CHECK_OK(tt_measure_copy(&b, &rate));
        double bytes = p.bytes > 0 ? p.bytes : 8 << 20; /* an eighth of what is free */
        CHECK(fabs(rate.best * cases[i].best / (2 * bytes) - 1) < 1e-9, "case %zu: %g bytes/s of %g bytes", i,
              rate.best, bytes);
        CHECK((p.bytes > 0) == cases[i].shares_memory, "case %zu: only a CPU's memory is updated", i);
        tt_backend_close(&b);
    }
    tt_backend_close(&real);
}

int main(void)
{
    TEST(memory_is_as_fast_as_its_best_use);
    return test_end();
}
