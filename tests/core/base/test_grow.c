/* core/base/grow: an array that grows by doubling, and the error if it cannot. */
#include "core/base/grow.h"

#include <stdint.h>

#include "core/base/status.h"
#include "tests/test.h"

static void keeps_what_it_has(void)
{
    int64_t *numbers = NULL;
    size_t room = 0, moves = 0;
    for (size_t n = 0; n < 100000; n++) {
        size_t before = room;
        CHECK(tt_grow(&numbers, sizeof *numbers, n, &room) && room > n);
        moves += room != before;
        numbers[n] = (int64_t)n * 3;
    }
    int wrong = 0;
    for (size_t n = 0; n < 100000; n++) wrong += numbers[n] != (int64_t)n * 3;
    CHECK(!wrong && moves < 20, "%d are wrong after %zu moves", wrong, moves);
    free(numbers);
}

static void leaves_all_as_it_was(void)
{
    char c = 'x', *array = &c;
    size_t room = SIZE_MAX / 2;
    CHECK(!tt_grow(&array, 3, room, &room) && array == &c && room == SIZE_MAX / 2);
    CHECK(tt_grow(&array, 3, 7, &room) && array == &c); /* there was room left */
}

static void says_what_for(void)
{
    tt_status st = tt_no_memory("%d buckets of %s", 7, "sand");
    CHECK(st->code == TT_FAILED && !strcmp(st->text, "out of memory for 7 buckets of sand; free some memory"), "%s",
          st->text);
    tt_status_free(st);
}

int main(void)
{
    TEST(keeps_what_it_has);
    TEST(leaves_all_as_it_was);
    TEST(says_what_for);
    return test_end();
}
