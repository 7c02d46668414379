/* A relay around a backend: it offers exactly what the real one offers, passes calls on, lets them be observed, and any
 * of them can be replaced. */
#include "backend/relay.h"
#include "tests/test.h"

static struct tt_backend real;

/* A slot that the real backend leaves NULL is NULL in the relay too, because callers test for it. */
static void offers_the_same(void)
{
    struct tt_relay relay;
    struct tt_backend b = tt_relay_open(&relay, &real);
    enum { SLOTS = sizeof *b.ops / sizeof(uintptr_t) };
    uintptr_t mine[SLOTS], theirs[SLOTS];
    memcpy(mine, b.ops, sizeof mine);
    memcpy(theirs, real.ops, sizeof theirs);
    for (int i = 0; i < SLOTS; i++) CHECK(!mine[i] == !theirs[i], "slot %d of %d", i, SLOTS);
    CHECK(!strcmp(b.ops->name, real.ops->name));
    tt_backend_close(&b); /* does not close the real one */
    struct tt_device_info info;
    CHECK_OK(real.ops->info(real.self, &info));
}

struct seen {
    int before, after, pushed, popped;
    size_t bytes;
};

static tt_status before(void *user, enum tt_relay_call call, size_t bytes, tt_stream s)
{
    (void)s;
    struct seen *seen = user;
    seen->before++;
    if (call == TT_RELAY_COPY) seen->bytes += bytes;
    return TT_OK;
}

static tt_status after(void *user, enum tt_relay_call call, size_t bytes, tt_stream s)
{
    (void)call, (void)bytes, (void)s;
    ((struct seen *)user)->after++;
    return TT_OK;
}

static void push(void *user, const char *name) { ((struct seen *)user)->pushed += !strcmp(name, "here"); }
static void pop(void *user) { ((struct seen *)user)->popped++; }

static void copy_something(struct tt_backend *b)
{
    float from[4] = {1, 2, 3, 4}, to[4] = {0};
    void *device;
    CHECK_OK(b->ops->alloc(b->self, sizeof from, &device));
    CHECK_OK(b->ops->copy(b->self, device, from, sizeof from, TT_TO_DEVICE, NULL));
    CHECK_OK(b->ops->copy(b->self, to, device, sizeof to, TT_TO_HOST, NULL));
    CHECK_OK(b->ops->stream_sync(b->self, NULL));
    CHECK(!memcmp(from, to, sizeof to));
    b->ops->free(b->self, device);
}

static void lets_look(void)
{
    struct tt_relay relay;
    struct tt_backend b = tt_relay_open(&relay, &real);
    struct seen seen = {0};
    struct tt_relay_hooks hooks = {before, after, push, pop};
    copy_something(&b);
    CHECK(relay.copies == 2 && relay.waits == 1 && relay.work == 0, "it counts while nobody looks");
    tt_relay_watch(&relay, &hooks, &seen);
    copy_something(&b);
    CHECK(seen.before == 3 && seen.after == 3 && seen.bytes == 8 * sizeof(float), "%d %d %zu", seen.before, seen.after,
          seen.bytes);
    CHECK(b.ops->range_push && b.ops->range_pop, "who wants ranges gets them of a device that marks none too");
    b.ops->range_push(b.self, "here");
    b.ops->range_pop(b.self);
    CHECK(seen.pushed == 1 && seen.popped == 1);
    tt_relay_watch(&relay, NULL, NULL);
    copy_something(&b);
    CHECK(seen.before == 3 && !b.ops->range_push == !real.ops->range_push,
          "and when nobody looks any more it is as before");
}

struct mine {
    struct tt_relay relay; /* first member: the backend's self points to it */
    int zeros;
};

static tt_status count_zeros(void *self, enum tt_kernel kernel, const void *args, tt_stream s)
{
    struct mine *m = self;
    m->zeros += kernel == TT_K_zero;
    return m->relay.real.ops->launch(m->relay.real.self, kernel, args, s);
}

static void lets_replace(void)
{
    struct mine m = {.zeros = 0};
    struct tt_backend b = tt_relay_open(&m.relay, &real);
    m.relay.ops.launch = count_zeros;
    float x[4] = {1, 2, 3, 4};
    void *device;
    CHECK_OK(b.ops->alloc(b.self, sizeof x, &device));
    CHECK_OK(b.ops->launch(b.self, TT_K_zero, &(struct tt_zero_args){.dtype = TT_F32, .x = device, .n = 4}, NULL));
    CHECK_OK(b.ops->copy(b.self, x, device, sizeof x, TT_TO_HOST, NULL));
    CHECK_OK(b.ops->stream_sync(b.self, NULL));
    CHECK(m.zeros == 1 && x[0] == 0 && x[3] == 0);
    b.ops->free(b.self, device);
}

int main(void)
{
    OPEN_OR_SKIP(tt_backend_open(&(struct tt_backend_options){0}, &real));
    TEST(offers_the_same);
    TEST(lets_look);
    TEST(lets_replace);
    tt_backend_close(&real);
    return test_end();
}
