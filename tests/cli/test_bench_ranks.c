/* What tt bench --ranks reports as the hidden part of communication. */
#include <math.h>
#include <string.h>

#include "cli/bench.h"
#include "core/base/load.h"
#include "tests/test.h"

static const char *hidden_at(double communication, double part, double noise, double load, double waited)
{
    static char out[48];
    tt_bench_hidden(&(struct tt_hidden){communication, part, noise, load, waited}, out);
    return out;
}

static const char *hidden(double communication, double part, double noise)
{
    return hidden_at(communication, part, noise, NAN, NAN);
}

static void says_what_can_be_known(void)
{
    CHECK(!strcmp(hidden(10, 4, 1), "40 +- 10"), "%s", hidden(10, 4, 1));
    CHECK(!strcmp(hidden(10, 10, 3.3), "100 +- 33"), "%s", hidden(10, 10, 3.3));
    CHECK(!strcmp(hidden(10, 4, 3.4), "not measurable"), "%s", hidden(10, 4, 3.4));
    CHECK(!strcmp(hidden(10, 0, 4000), "not measurable"), "%s", hidden(10, 0, 4000));
    CHECK(!strcmp(hidden(10, 0, NAN), "not measurable"), "%s", hidden(10, 0, NAN));
    CHECK(!strcmp(hidden(0, 0, 0), "n/a"), "%s", hidden(0, 0, 0));
}

/* On a busy machine nothing can be measured, however little the pairs differ. */
static void says_nothing_of_a_busy_machine(void)
{
    CHECK(!strcmp(hidden_at(10, 4, 0.1, 0.5, 0.01), "40 +- 1"), "%s", hidden_at(10, 4, 0.1, 0.5, 0.01));
    CHECK(!strcmp(hidden_at(10, 4, 0.1, 0.5, 0.6), "not measurable"), "%s", hidden_at(10, 4, 0.1, 0.5, 0.6));
    CHECK(!strcmp(hidden_at(10, 4, 0.1, 7, NAN), "not measurable"), "%s", hidden_at(10, 4, 0.1, 7, NAN));
    CHECK(!strcmp(hidden_at(0, 0, 0, 7, 0.6), "n/a"), "%s", hidden_at(0, 0, 0, 7, 0.6));
}

/* Waiting for each other is normal when the ranks use all cores of a quiet machine. An unknown value stays unknown. */
static void ranks_wait_for_each_other(void)
{
    CHECK(tt_ranks_waited(0.06) == 0 && tt_ranks_waited(0.47) == 0.47 && isnan(tt_ranks_waited(NAN)));
}

int main(void)
{
    TEST(says_what_can_be_known);
    TEST(says_nothing_of_a_busy_machine);
    TEST(ranks_wait_for_each_other);
    return test_end();
}
