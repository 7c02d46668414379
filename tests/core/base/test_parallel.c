/* Every piece of work is done exactly once, with any number of threads. */
#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/parallel.h"
#include "tests/test.h"

enum { N = 1000 };

struct work {
    atomic_int times[N];
    atomic_int parts;
};

static void count(void *context, int64_t from, int64_t to)
{
    struct work *w = context;
    atomic_fetch_add(&w->parts, 1);
    for (int64_t i = from; i < to; i++) atomic_fetch_add(&w->times[i], 1);
}

/* Returns the number of parts that the n pieces were divided into. */
static int check_once(int threads, int64_t n, int64_t least)
{
    struct work w = {0};
    tt_parallel(threads, n, least, count, &w);
    int wrong = 0;
    for (int64_t i = 0; i < N; i++) wrong += w.times[i] != (i < n);
    CHECK(wrong == 0, "%d of %lld pieces on %d threads", wrong, (long long)n, threads);
    return w.parts;
}

static void each_piece_once(void)
{
    int64_t sizes[] = {0, 1, 2, 7, 64, 65, 999, 1000};
    for (int threads = 1; threads <= 200; threads = threads * 2 + 1)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            check_once(threads, sizes[i], 1);
            check_once(threads, sizes[i], 100);
        }
}

static void as_many_as_asked(void)
{
    CHECK(check_once(1, 1000, 1) == 1);
    CHECK(check_once(5, 1000, 1) == 5);
    CHECK(check_once(5, 1000, 400) == 2, "parts of at least 400");
    CHECK(check_once(5, 399, 400) == 1, "too little for a second thread");
    setenv("OMP_NUM_THREADS", "3", 1);
    CHECK(check_once(0, 1000, 1) == 3);
    setenv("OMP_NUM_THREADS", "nonsense", 1);
    CHECK(check_once(0, 1000, 1) >= 1);
    unsetenv("OMP_NUM_THREADS");
    CHECK(check_once(0, 1000, 1) >= 1);
}

int main(void)
{
    TEST(each_piece_once);
    TEST(as_many_as_asked);
    return test_end();
}
