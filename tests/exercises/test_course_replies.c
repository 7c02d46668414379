/* What the checks of the course say of right answers, as far as the words depend on the runs. */
#include "tests/exercises/course_fixture.h"

/* By three steps of 108 ms with 142 events, and what the recorded ones took beside them. */
static struct tt_json *recorded(double overhead, double p95)
{
    char text[500];
    snprintf(text, sizeof text,
             "{\"run\": {\"backend\": \"cpu\", \"load\": 0.2, \"waited\": 0.005, \"steps\": 3}, \"step\": "
             "{\"seconds\": 0.108, \"p95\": %g, \"fastest\": 0.1078, \"deviation\": 0.0002, \"kernels\": 142, "
             "\"launched_seconds\": "
             "0.108}, \"launch\": {\"event_seconds\": 4.5e-8, \"recorded_overhead\": %g}}",
             p95, overhead);
    return json(text);
}

/* Noise is what the other steps of the run show, or a few percent; what rounds to no percent is none. */
static void recording_is_held_against_the_steps(void)
{
    static const struct {
        double overhead, p95;
        const char *given, *says;
    } cases[] = {{0.227, 0.1083, "22.7", "something else slowed the recorded ones"},
                 {0.227, 0.15, "22.7", "the scatter of the machine"},
                 {0.02, 0.1083, "2.0", "the scatter of the machine"},
                 {-0.0024, 0.1083, "-0.2", "Negative"},
                 {-0.0024, 0.1083, "0", "Negative"},
                 {0.004, 0.1083, "0", "may be the measuring"}};
    struct tt_exercise e;
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/01-baseline", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_json *run = recorded(cases[i].overhead, cases[i].p95);
        struct tt_formula_run r[] = {{.name = "baseline", .profile = run}};
        CHECK(ask(&e, r, 1, "recording_percent", cases[i].given, &m) == TT_MARK_RIGHT && strstr(m.means, cases[i].says),
              "%zu: %s %s", i, m.reason, m.means);
        CHECK(ask(&e, r, 1, "recording_percent", "-22.7", &m) == TT_MARK_WRONG, "%zu: %s", i, m.means);
        tt_json_free(run);
    }
    tt_exercise_free(&e);
}

int main(void)
{
    TEST(recording_is_held_against_the_steps);
    return test_end();
}
