/* What tt bench --ranks says of how much is hidden. */
#include <string.h>

#include "cli/bench.h"
#include "tests/test.h"

static const char *hidden(double communication, double part, double noise)
{
    static char out[48];
    tt_bench_hidden(communication, part, noise, out);
    return out;
}

static void says_what_can_be_known(void)
{
    CHECK(!strcmp(hidden(10, 4, 1), "40 +- 10"), "%s", hidden(10, 4, 1));
    CHECK(!strcmp(hidden(10, 10, 5), "100 +- 50"), "%s", hidden(10, 10, 5));
    CHECK(!strcmp(hidden(10, 4, 5.1), "not measurable"), "%s", hidden(10, 4, 5.1));
    CHECK(!strcmp(hidden(10, 0, 4000), "not measurable"), "%s", hidden(10, 0, 4000));
    CHECK(!strcmp(hidden(0, 0, 0), "n/a"), "%s", hidden(0, 0, 0));
}

int main(void)
{
    TEST(says_what_can_be_known);
    return test_end();
}
