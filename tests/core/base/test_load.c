/* How long a program waited for a processor: measured if another program uses it, and not while it sleeps. */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/load.h"
#include "tests/test.h"

/* Restricts this process, and what it starts, to one processor. */
static bool stay_on_one(void)
{
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all)) return false;
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all)) {
            CPU_SET(i, &one);
            break;
        }
    return !sched_setaffinity(0, sizeof one, &one);
}

static void compute_for(double seconds)
{
    for (double end = tt_seconds() + seconds; tt_seconds() < end;) {
    }
}

static void another_program_is_seen(void)
{
    struct tt_turns from = tt_turns_now(), to, sum = {0};
    if (!(from.ran >= 0) || !stay_on_one()) return; /* this system does not tell */
    pid_t other = fork();
    if (!other)
        for (;;) compute_for(1);
    from = tt_turns_now();
    compute_for(0.3);
    to = tt_turns_now();
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    tt_turns_add(&sum, &from, &to);
    CHECK(sum.wall > 0.29 && sum.waited > 0 && sum.ran > 0, "%g %g %g", sum.wall, sum.waited, sum.ran);
    CHECK(tt_turns_waited(&sum) > 0.2 && tt_turns_waited(&sum) < 1, "two programs on one processor: %g",
          tt_turns_waited(&sum));
    CHECK(tt_was_busy(0.1, tt_turns_waited(&sum)), "though the load before it was low");
}

static void what_is_not_known_is_not_busy(void)
{
    struct tt_turns none = {.wall = 1, .ran = NAN, .waited = NAN}, ended = {.wall = 1, .ran = -3, .waited = 0.1},
                    asleep = {.wall = 10, .ran = 0.01, .waited = 0.01};
    char words[100];
    CHECK(isnan(tt_turns_waited(&none)) && isnan(tt_turns_waited(&ended)) && tt_turns_waited(&asleep) == 0.001);
    CHECK(!tt_was_busy(NAN, NAN) && !tt_was_busy(0.5, 0.01) && tt_was_busy(NAN, 0.2));
    tt_was_busy_words(0.5, 0.01, words);
    CHECK(!words[0], "%s", words);
}

/* Programs of the previous minute may have ended when the run began. */
static void the_run_itself_decides(void)
{
    char words[100];
    CHECK(!tt_was_busy(2.1, 0.016) && !tt_was_busy(2.1, 0) && tt_was_busy(0.2, 0.06) && tt_was_busy(2.1, NAN));
    CHECK(tt_slowed(2.1, 0.016, 1) == 1 && tt_slowed(NAN, NAN, 1) == 1 && tt_slowed(0.2, 0.5, 1) == 8);
    CHECK(tt_slowed(2, NAN, 1) == 18 && tt_slowed(2, NAN, 2) == 18, "the load knows nothing of threads");
    CHECK(isinf(tt_slowed(0, 1, 1)));
    CHECK(tt_alone(0.08, 1) == 0.08 && tt_alone(0.08, 4) == 0.02, "all of it by the factor");
    CHECK(fabs(tt_alone(0.04, 4) - 0.006) < 1e-12 && tt_alone(0.01, 4) == 0, "what is brief may hold a turn of others");
    tt_was_busy_words(2.1, 0.016, words);
    CHECK(!words[0], "%s", words);
    tt_was_busy_words(2.1, 0.06, words);
    CHECK(!strcmp(words, "the machine was busy: threads waited 6 % of their time for a processor"), "%s", words);
    tt_was_busy_words(2.1, NAN, words);
    CHECK(!strcmp(words, "the machine was busy: a load of 2.1 per processor in the minute before"), "%s", words);
}

/* While one thread waits, the others spin at the end of the operation. Two threads that waited half of their time once
 * took 6036 ms for a step of 183 ms. */
static void threads_wait_for_each_other(void)
{
    char words[32];
    CHECK(isinf(tt_slowed(0.7, 0.5002, 2)) && isinf(tt_slowed(0.7, 0.5, 2)) && isinf(tt_slowed(0.7, 0.07, 16)));
    CHECK(tt_slowed(0.7, 0.25, 2) > 5.33 && tt_slowed(0.7, 0.25, 2) < 5.34 && tt_slowed(0.7, 0.016, 16) == 1);
    CHECK(isinf(tt_slowed(0.7, 0.4999, 2)) && tt_slowed(0.7, 0.49, 2) < 200, "beyond a thousand it bounds nothing");
    CHECK(!strcmp(tt_slowed_words(tt_slowed(0.2, 0.5, 1), 3, words), "8 times"), "%s", words);
    CHECK(!strcmp(tt_slowed_words(1.544, 2, words), "1.5 times"), "%s", words);
    CHECK(!strcmp(tt_slowed_words(199.6, 2, words), "200 times"), "%s", words);
    CHECK(!strcmp(tt_slowed_words(INFINITY, 3, words), "any number of times"), "%s", words);
    CHECK(strstr(tt_fewer_threads(2), "export OMP_NUM_THREADS=1") && !tt_fewer_threads(1)[0]);
}

/* A profile keeps only the device's name, so the number of threads is read from it. */
static void names_tell_threads(void)
{
    CHECK(tt_threads_of("cpu", "Neoverse-N1, 1 thread") == 1 && tt_threads_of("cpu", "Xeon, rev 2, 16 threads") == 16);
    CHECK(tt_threads_of("cpu", "") == 2 && tt_threads_of("cpu", "Xeon(R), new") == 2, "not known to be one");
    CHECK(tt_threads_of("cuda", "NVIDIA H200") == 1 && tt_threads_of("hip", "") == 1, "its host shares no operation");
    CHECK(tt_threads_of("", "") == 2 && tt_threads_of("", "Xeon, 1 thread") == 1);
}

int main(void)
{
    TEST(another_program_is_seen);
    TEST(what_is_not_known_is_not_busy);
    TEST(the_run_itself_decides);
    TEST(threads_wait_for_each_other);
    TEST(names_tell_threads);
    return test_end();
}
