/* Where epochs end if batches do not divide them, and how many steps they take. */
#include "core/train/epochs.h"

#include "tests/test.h"

static void they_end_within_steps(void)
{
    /* 10 samples, 4 in a step: epochs end in steps 3, 5, 8, 10 */
    const struct tt_epochs e = {.samples = 10, .rows = 4};
    const int64_t ends[] = {3, 5, 8, 10};
    int k = 0;
    for (int64_t step = 1; step <= 10; step++) {
        bool end = k < 4 && ends[k] == step;
        CHECK(tt_epochs_times(&e, step, step, 1) == end, "step %d", (int)step);
        k += end;
        CHECK(tt_epochs_done(&e, step) == k, "after step %d", (int)step);
    }
    CHECK(tt_epochs_times(&e, 1, 10, 1) == 4 && tt_epochs_times(&e, 1, 10, 2) == 2);
    CHECK(tt_epochs_times(&e, 4, 9, 2) == 1);
    CHECK(tt_epochs_times(&e, 1, 10, 0) == 0);
    CHECK(tt_epochs_at(&e, 5) == 2.0 && tt_epochs_at(&e, 3) == 1.2);
}

/* Data smaller than a step, and a run resumed with another batch size. */
static void others(void)
{
    const struct tt_epochs small = {.samples = 3, .rows = 8}, endless = {.rows = 8};
    const struct tt_epochs on = {.samples = 10, .rows = 5, .first = 7, .position = 28};
    CHECK(tt_epochs_times(&small, 1, 1, 1) == 2 && tt_epochs_times(&small, 2, 2, 1) == 3);
    CHECK(tt_epochs_done(&on, 7) == 2 && tt_epochs_done(&on, 8) == 3 && tt_epochs_at(&on, 8) == 3.3);
    CHECK(tt_epochs_times(&endless, 1, 1000, 1) == 0 && tt_epochs_at(&endless, 9) == 0);
}

int main(void)
{
    TEST(they_end_within_steps);
    TEST(others);
    return test_end();
}
