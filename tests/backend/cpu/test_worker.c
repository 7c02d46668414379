/* The worker thread of the CPU backend: order, tickets, time stamps, and how failures are reported. */
#include "backend/cpu/worker.h"

#include <stdatomic.h>

#include "backend/cpu/cpu.h"
#include "tests/test.h"

static struct cpu_worker *w;
static atomic_int gate; /* `hold` keeps the worker waiting until this is 1 */

static tt_status hold(const struct cpu_task *task)
{
    (void)task;
    while (!atomic_load(&gate)) nanosleep(&(struct timespec){0, 100000}, NULL);
    return TT_OK;
}

/* Writes how many such tasks have run, this one included, to where the task points. */
static tt_status count(const struct cpu_task *task)
{
    int *turns = task->self;
    *(int *)task->collective.to = ++*turns;
    return TT_OK;
}

static uint64_t add_count(int *turns, int *turn)
{
    return tt_cpu_worker_add(w, &(struct cpu_task){.run = count, .self = turns, .collective.to = turn});
}

static tt_status fail(const struct cpu_task *task)
{
    return tt_fail(TT_UNSUPPORTED, "task %lld failed", (long long)task->collective.count);
}

static void runs_in_order_though_the_ring_is_small(void)
{
    enum { N = 5000 };
    static int order[N];
    int turns = 0;
    uint64_t last = 0;
    CHECK_OK(tt_cpu_worker_start(&w));
    atomic_store(&gate, 1);
    for (int i = 0; i < N; i++) last = add_count(&turns, &order[i]);
    CHECK(last == N);
    CHECK_OK(tt_cpu_worker_wait(w, last));
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += order[i] != i + 1;
    CHECK(!wrong, "%d", wrong);
    CHECK(tt_cpu_worker_stop(w));
}

static void tells_what_is_done(void)
{
    int turns = 0, seen = 0;
    CHECK_OK(tt_cpu_worker_start(&w));
    atomic_store(&gate, 0);
    uint64_t held = tt_cpu_worker_add(w, &(struct cpu_task){.run = hold});
    uint64_t next = add_count(&turns, &seen);
    CHECK(!tt_cpu_worker_done(w, held) && !tt_cpu_worker_done(w, next));
    CHECK(tt_cpu_worker_done(w, 0));
    CHECK_OK(tt_cpu_worker_wait(w, 0));
    atomic_store(&gate, 1);
    CHECK_OK(tt_cpu_worker_wait(w, next));
    CHECK(tt_cpu_worker_done(w, held) && tt_cpu_worker_done(w, next) && seen == 1);
    CHECK(tt_cpu_worker_stop(w));
}

/* An event gets its time when the worker reaches it. A destroyed event gets none and may be freed at once. */
static void stamps_events(void)
{
    struct tt_event_s kept = {0}, *gone = calloc(1, sizeof *gone);
    struct timespec opened;
    CHECK_OK(tt_cpu_worker_start(&w));
    atomic_store(&gate, 0);
    tt_cpu_worker_add(w, &(struct cpu_task){.run = hold});
    tt_cpu_worker_add(w, &(struct cpu_task){.stamp = gone});
    uint64_t last = tt_cpu_worker_add(w, &(struct cpu_task){.stamp = &kept});
    CHECK(kept.ticket == last && last == 3);
    tt_cpu_worker_forget(w, gone);
    memset(gone, 0x5a, sizeof *gone);
    free(gone);
    clock_gettime(CLOCK_MONOTONIC, &opened);
    CHECK(kept.at.tv_sec == 0);
    atomic_store(&gate, 1);
    CHECK_OK(tt_cpu_worker_wait(w, last));
    double after = (double)(kept.at.tv_sec - opened.tv_sec) + 1e-9 * (double)(kept.at.tv_nsec - opened.tv_nsec);
    CHECK(after > 0 && after < 60, "%g", after);
    CHECK(tt_cpu_worker_stop(w));
}

/* Every wait reports the first failure, and no task runs after it. */
static void hands_on_the_first_failure(void)
{
    int turns = 0, first = 0, second = 0;
    CHECK_OK(tt_cpu_worker_start(&w));
    uint64_t before = add_count(&turns, &first);
    CHECK_OK(tt_cpu_worker_wait(w, before));
    tt_cpu_worker_add(w, &(struct cpu_task){.run = fail, .collective.count = 7});
    tt_cpu_worker_add(w, &(struct cpu_task){.run = fail, .collective.count = 8});
    uint64_t last = add_count(&turns, &second);
    CHECK_FAILS(tt_cpu_worker_wait(w, last), "task 7 failed");
    tt_status st = tt_cpu_worker_wait(w, last);
    CHECK(st && st->code == TT_UNSUPPORTED && strstr(st->text, "task 7 failed"));
    tt_status_free(st);
    CHECK(first == 1 && second == 0);
    CHECK(!tt_cpu_worker_stop(w));
}

static void does_the_rest_before_it_stops(void)
{
    int turns = 0, seen[10] = {0};
    CHECK_OK(tt_cpu_worker_start(&w));
    atomic_store(&gate, 0);
    tt_cpu_worker_add(w, &(struct cpu_task){.run = hold});
    for (int i = 0; i < 10; i++) add_count(&turns, &seen[i]);
    atomic_store(&gate, 1);
    CHECK(tt_cpu_worker_stop(w));
    CHECK(turns == 10 && seen[9] == 10);
    CHECK(tt_cpu_worker_stop(NULL));
}

int main(void)
{
    TEST(runs_in_order_though_the_ring_is_small);
    TEST(tells_what_is_done);
    TEST(stamps_events);
    TEST(hands_on_the_first_failure);
    TEST(does_the_rest_before_it_stops);
    return test_end();
}
