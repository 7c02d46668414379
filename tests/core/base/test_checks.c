/* tests/test.h itself: a test that checks nothing fails, unless it gives a reason. */
#include "tests/test.h"

static void leaves_it_out(void) { SKIP("it is not here"); }
static void checks_nothing(void) {}

static void sees_what_checks_nothing(void)
{
    int before = test_failures;
    test_run(leaves_it_out, "leaves_it_out");
    CHECK(test_failures == before);
    test_run(checks_nothing, "checks_nothing, which is meant to fail");
    bool seen = test_failures == before + 1;
    test_failures = before;
    CHECK(seen);
}

int main(void)
{
    TEST(sees_what_checks_nothing);
    return test_end();
}
