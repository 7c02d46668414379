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
                 {0.004, 0.1083, "0", "little beside what steps differ by"},
                 {0.0001, 0.1083, "0", "subtracted before shares are made"}};
    struct tt_exercise e;
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/01-baseline", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_json *run = recorded(cases[i].overhead, cases[i].p95);
        struct tt_formula_run r[] = {{.name = "baseline", .profile = run}};
        CHECK(ask(&e, r, 1, "recording_percent", cases[i].given, &m) == TT_MARK_RIGHT && strstr(m.means, cases[i].says),
              "%zu: %s %s", i, m.reason, m.means);
        CHECK(ask(&e, r, 1, "recording_percent", "-22.7", &m) == TT_MARK_WRONG, "%zu: %s", i, m.means);
        CHECK(ask(&e, r, 1, "recording_percent", "\xe2\x88\x92" "22.7", &m) == TT_MARK_WRONG &&
              !strcmp(m.given, "-22.7"), "a minus sign: %s %s", m.given, m.reason);
        tt_json_free(run);
    }
    tt_exercise_free(&e);
}

/* Every right answer of these says in a sentence what it means; sentences are answered in other words. */
static void every_answer_says_what_it_means(void)
{
    static const char *const folders[] = {"exercises/01-baseline", "exercises/03-bottlenecks", "exercises/05-flash",
                                          "exercises/09-faults", "exercises/11-scaling"};
    struct tt_exercise e;
    for (int k = 0; k < 5; k++) {
        CHECK_OK(tt_exercise_read(folders[k], &e));
        for (int i = 0; i < e.question_count; i++)
            CHECK(e.questions[i].kind == TT_ASK_TEXT || e.questions[i].means || e.questions[i].measured, "%s: %s",
                  folders[k], e.questions[i].id);
        tt_exercise_free(&e);
    }
}

/* Two short and two long runs of attention, with or without waits for a processor. */
static struct tt_json *attention(double seconds, double waited, double bytes)
{
    char text[400];
    snprintf(text, sizeof text,
             "{\"run\": {\"backend\": \"cpu\", \"load\": 0.2, \"waited\": %g, \"steps\": 10, \"warmup\": 3, "
             "\"seq_len\": 64}, \"step\": {\"seconds\": %g, \"deviation\": 0.001}, "
             "\"samples\": [{\"step\": 1, \"loss\": 4.1}], "
             "\"efficiency\": {\"plan_bytes\": %g, \"plan_flops\": 1e9}}",
             waited, seconds, bytes);
    return json(text);
}

/* A busy machine shows neither gain nor loss; counts and losses mean the same there. */
static void meanings_hold_on_a_busy_machine(void)
{
    static const struct {
        double flash, waited;
        const char *given, *says;
    } cases[] = {{0.5, 0.01, "2", "flash gains"}, {2, 0.01, "0.5", "flash loses"},
                 {1.02, 0.01, "0.98", "Within the noise"},
                 {0.5, 0.3, "2", "The machine was busy: this shows neither gain nor loss."}};
    struct tt_exercise e;
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/05-flash", &e));
    for (int i = 0; i < 4; i++) {
        struct tt_json *a = attention(1, cases[i].waited, 2e9), *b = attention(cases[i].flash, cases[i].waited, 1e9);
        struct tt_formula_run r[] = {{"fused", a}, {"flash", b}, {"fused_long", a}, {"flash_long", b}};
        CHECK(ask(&e, r, 4, "speedup_short", cases[i].given, &m) == TT_MARK_RIGHT && strstr(m.means, cases[i].says),
              "%d: %s %s", i, m.reason, m.means);
        CHECK(ask(&e, r, 4, "bytes_ratio", "2", &m) == TT_MARK_RIGHT && strstr(m.means, "what flash gains"), "%s",
              m.means);
        CHECK(ask(&e, r, 4, "same_losses", "true", &m) == TT_MARK_RIGHT && strstr(m.means, "but for rounding"), "%s",
              m.means);
        tt_json_free(a);
        tt_json_free(b);
    }
    tt_exercise_free(&e);
}

int main(void)
{
    TEST(every_answer_says_what_it_means);
    TEST(meanings_hold_on_a_busy_machine);
    TEST(recording_is_held_against_the_steps);
    return test_end();
}
