/* A wrapper around another backend that fails on request: the n-th allocation (device memory, pinned memory, stream or
 * event), or a step whose gradients contain a NaN or an infinity. */
#ifndef TT_FAULTY_BACKEND_H
#define TT_FAULTY_BACKEND_H

#include "core/plan/plan.h"
#include "tests/test.h"

struct faulty {
    struct tt_backend real;
    struct tt_backend_ops ops; /* what the tests see */
    int64_t fail_at;           /* which allocation fails, counted from 1; 0: none */
    int64_t made, live;        /* allocations so far; those not freed yet */
    int64_t step, bad_step;    /* steps begun; the step that gets a NaN (0: none) */
    float *victim;             /* an element of the gradients */
    bool overflow;             /* the bad step gets an infinity instead */
    int32_t grow_after;        /* > 0: the loss scale adapts as in fp16, whatever the plan computes in */
};

static bool faulty_refuses(struct faulty *f) { return ++f->made == f->fail_at; }

static tt_status faulty_no(const char *what) { return tt_fail(TT_FAILED, "no %s left; the test says so", what); }

#define FAULTY_MAKE(slot, type, what)                                                                                  \
    static tt_status faulty_##slot(void *self, type **out)                                                             \
    {                                                                                                                  \
        struct faulty *f = self;                                                                                       \
        if (faulty_refuses(f)) return faulty_no(what);                                                                 \
        tt_status st = f->real.ops->slot(f->real.self, out);                                                           \
        f->live += !st;                                                                                                \
        return st;                                                                                                     \
    }
FAULTY_MAKE(stream_create, struct tt_stream_s, "stream")
FAULTY_MAKE(event_create, struct tt_event_s, "event")

static tt_status faulty_alloc(void *self, size_t bytes, void **out)
{
    struct faulty *f = self;
    if (faulty_refuses(f)) return faulty_no("device memory");
    tt_status st = f->real.ops->alloc(f->real.self, bytes, out);
    f->live += !st;
    return st;
}

static tt_status faulty_host_alloc(void *self, size_t bytes, void **out)
{
    struct faulty *f = self;
    if (faulty_refuses(f)) return faulty_no("pinned memory");
    tt_status st = f->real.ops->host_alloc(f->real.self, bytes, out);
    f->live += !st;
    return st;
}

#define FAULTY_GIVE_BACK(slot, type)                                                                                   \
    static void faulty_##slot(void *self, type p)                                                                      \
    {                                                                                                                  \
        struct faulty *f = self;                                                                                       \
        f->live -= p != NULL;                                                                                          \
        f->real.ops->slot(f->real.self, p);                                                                            \
    }
FAULTY_GIVE_BACK(free, void *)
FAULTY_GIVE_BACK(host_free, void *)
FAULTY_GIVE_BACK(stream_destroy, tt_stream)
FAULTY_GIVE_BACK(event_destroy, tt_event)

#define FAULTY_PASS(slot, params, ...)                                                                                 \
    static tt_status faulty_##slot params                                                                              \
    {                                                                                                                  \
        struct faulty *f = self;                                                                                       \
        return f->real.ops->slot(f->real.self, __VA_ARGS__);                                                           \
    }
FAULTY_PASS(info, (void *self, struct tt_device_info *out), out)
FAULTY_PASS(copy, (void *self, void *dst, const void *src, size_t n, enum tt_direction d, tt_stream s), dst, src, n, d,
            s)
FAULTY_PASS(fill, (void *self, void *dst, int byte, size_t n, tt_stream s), dst, byte, n, s)
FAULTY_PASS(gemm, (void *self, const struct tt_gemm *g, tt_stream s), g, s)
FAULTY_PASS(stream_sync, (void *self, tt_stream s), s)
FAULTY_PASS(stream_wait, (void *self, tt_stream s, tt_event e), s, e)
FAULTY_PASS(event_record, (void *self, tt_event e, tt_stream s), e, s)
FAULTY_PASS(event_query, (void *self, tt_event e, bool *done), e, done)
FAULTY_PASS(event_sync, (void *self, tt_event e), e)
FAULTY_PASS(event_elapsed, (void *self, tt_event from, tt_event to, double *seconds), from, to, seconds)

static tt_status faulty_write(struct faulty *f, void *to, const void *from, size_t bytes, tt_stream s)
{
    TT_TRY(f->real.ops->copy(f->real.self, to, from, bytes, TT_TO_DEVICE, s));
    return f->real.ops->stream_sync(f->real.self, s);
}

/* The norm is the first to read the gradients, so the NaN is written just before it. */
static tt_status faulty_launch(void *self, enum tt_kernel kernel, const void *args, tt_stream s)
{
    struct faulty *f = self;
    f->step += kernel == TT_K_step_begin;
    if (f->bad_step && f->step == f->bad_step && (kernel == TT_K_sum_squares || kernel == TT_K_group_squares)) {
        float bad = f->overflow ? INFINITY : NAN;
        TT_TRY(faulty_write(f, f->victim, &bad, sizeof bad, s));
    }
    if (kernel != TT_K_clip_scale || !f->grow_after) return f->real.ops->launch(f->real.self, kernel, args, s);
    struct tt_clip_scale_args scaled = *(const struct tt_clip_scale_args *)args;
    scaled.grow_after = f->grow_after;
    return f->real.ops->launch(f->real.self, kernel, &scaled, s);
}

static void faulty_reset_peak(void *self)
{
    ((struct faulty *)self)->real.ops->reset_peak(((struct faulty *)self)->real.self);
}
static void faulty_close(void *self) { (void)self; }

/* Without graphs, since a replayed step makes no calls in which to inject a fault. */
static inline struct tt_backend faulty_wrap(struct faulty *f, struct tt_backend real)
{
    *f = (struct faulty){.real = real};
    f->ops = (struct tt_backend_ops){
        .name = real.ops->name,
        .close = faulty_close,
        .info = faulty_info,
        .reset_peak = faulty_reset_peak,
        .alloc = faulty_alloc,
        .free = faulty_free,
        .host_alloc = faulty_host_alloc,
        .host_free = faulty_host_free,
        .copy = faulty_copy,
        .fill = faulty_fill,
        .gemm = faulty_gemm,
        .launch = faulty_launch,
        .stream_create = faulty_stream_create,
        .stream_destroy = faulty_stream_destroy,
        .stream_sync = faulty_stream_sync,
        .stream_wait = faulty_stream_wait,
        .event_create = faulty_event_create,
        .event_destroy = faulty_event_destroy,
        .event_record = faulty_event_record,
        .event_query = faulty_event_query,
        .event_sync = faulty_event_sync,
        .event_elapsed = faulty_event_elapsed,
    };
    return (struct tt_backend){&f->ops, f};
}

#endif
