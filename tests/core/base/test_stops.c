/* Stop strings: found wherever the text is cut into pieces, and nothing is shown that could be the beginning of one. */
#include "core/base/stops.h"

#include "tests/test.h"

static const char *const strings[] = {"stop", "\n\n", "st\xc3\xa9"};
static const struct tt_stops stops = {strings, 3};

/* Feeds the text in pieces of `step` bytes. Returns how much of it is shown at the end. */
static size_t shown(const struct tt_stops *s, const char *text, size_t step, bool *found)
{
    size_t end = 0, n = strlen(text);
    *found = false;
    for (size_t at = step; !*found; at += step) {
        size_t now = at < n ? at : n, next = tt_stops_visible(s, text, end, now, found);
        CHECK(next >= end && next <= now, "shown %zu, then %zu of %zu", end, next, now);
        end = next;
        if (now == n) break;
    }
    return end;
}

static void expect(const char *text, size_t length, bool stopped)
{
    for (size_t step = 1; step <= strlen(text) + 1; step++) {
        bool found;
        size_t got = shown(&stops, text, step, &found);
        CHECK(got == length && found == stopped, "\"%s\" by %zu: %zu shown, %s", text, step, got,
              found ? "found" : "not");
    }
}

static void finds_them_across_pieces(void)
{
    expect("do not stop here", 7, true);
    expect("stop", 0, true);
    expect("a\nb\n\nc", 3, true);
    expect("ss stost\xc3\xa9", 6, true);
    expect("stostop", 3, true);
}

static void holds_back_what_could_be_one(void)
{
    expect("nothing of it", 13, false);
    expect("it is st", 6, false);
    expect("it is sto", 6, false);
    expect("it is st\xc3", 6, false);
    expect("line\n", 4, false);
    expect("stone stops", 6, true);
}

static void none_shows_all(void)
{
    bool found;
    struct tt_stops none = {NULL, 0};
    CHECK(shown(&none, "stop", 1, &found) == 4 && !found);
}

int main(void)
{
    TEST(finds_them_across_pieces);
    TEST(holds_back_what_could_be_one);
    TEST(none_shows_all);
    return test_end();
}
