/* What the checks of the course say of right answers, as far as the words depend on the runs. */
#include "tests/exercises/course_fixture.h"

/* A percentage may be rounded to a whole one, with either minus sign; its meaning has the cost of the events. */
static void recording_may_be_rounded(void)
{
    static const struct {
        double overhead;
        const char *given[3]; /* NULL: no more */
    } cases[] = {{0.227, {"22.7", "23"}}, {0.02, {"2.0", "2"}}, {-0.0024, {"-0.2", "\xe2\x88\x92" "0.24", "0"}},
                 {0.004, {"0.4", "0"}}};
    struct tt_exercise e;
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/01-baseline", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "{\"run\": {\"backend\": \"cpu\", \"waited\": 0.005, \"steps\": 3}, \"step\": {\"kernels\": 142}, "
                 "\"launch\": {\"event_seconds\": 4.5e-8, \"recorded_overhead\": %g}}",
                 cases[i].overhead);
        struct tt_json *run = json(text);
        struct tt_formula_run r[] = {{.name = "baseline", .profile = run}};
        for (int k = 0; k < 3 && cases[i].given[k]; k++)
            CHECK(ask(&e, r, 1, "recording_percent", cases[i].given[k], &m) == TT_MARK_RIGHT &&
                  strstr(m.means, "142 events cost 0.00639 ms"), "%s: %s%s", cases[i].given[k], m.reason, m.means);
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
    char text[500];
    snprintf(text, sizeof text,
             "{\"run\": {\"backend\": \"cpu\", \"device\": \"c, 1 thread\", \"waited\": %g, \"steps\": 3, "
             "\"warmup\": 3, \"seq_len\": 64}, \"step\": {\"seconds\": %g, \"launched_seconds\": %g}, \"samples\": ["
             "{\"step\": 1, \"loss\": 4.1, \"seconds\": %g}, {\"step\": 2, \"loss\": 4, \"seconds\": %g}, "
             "{\"step\": 3, \"loss\": 3.9, \"seconds\": %g}], "
             "\"efficiency\": {\"plan_bytes\": %g, \"plan_flops\": 1e9}}",
             waited, seconds, seconds, seconds, seconds, seconds, bytes);
    return json(text);
}

/* The meaning of a speed-up gives its interval, which is wider on a busy machine. Counts and losses mean the same. */
static void a_speed_up_has_its_interval(void)
{
    static const struct {
        double flash, waited;
        const char *given, *says;
    } cases[] = {{0.5, 0.01, "2", "The interval is 1.83 to 2.17"}, {2, 0.01, "0.5", "The interval is 0.46 to 0.54"},
                 {0.5, 0.3, "2", "The interval is 0.45 to 8.86"}};
    struct tt_exercise e;
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/05-flash", &e));
    for (int i = 0; i < 3; i++) {
        struct tt_json *a = attention(1, cases[i].waited, 2e9), *b = attention(cases[i].flash, cases[i].waited, 1e9);
        struct tt_formula_run r[] = {{"fused", a}, {"flash", b}, {"fused_long", a}, {"flash_long", b}};
        static const char *const speedups[] = {"speedup_short", "speedup_long"};
        for (int k = 0; k < 2; k++)
            CHECK(ask(&e, r, 4, speedups[k], cases[i].given, &m) == TT_MARK_RIGHT && strstr(m.means, cases[i].says),
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

/* The ratio of the passes may be 2 by chance, so its meaning also gives the ratio of the products. */
static void a_ratio_of_passes_is_said_of_products_too(void)
{
    static const struct {
        double products, rest;
        const char *answer, *says;
    } cases[] = {{2, 2, "2", "The products alone took 2 times as long"},
                 {2.5, 1.25, "2", "The products alone took 2.5 times as long"},
                 {2.5, 1.875, "2.25", "The products alone took 2.5 times as long"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[500];
        snprintf(text, sizeof text,
                 "{\"run\": {\"backend\": \"cpu\"}, \"phases\": [{\"name\": \"forward\", \"device\": 5}, "
                 "{\"name\": \"backward\", \"device\": %g}], \"operators\": ["
                 "{\"name\": \"gemm\", \"phase\": \"forward_pass\", \"seconds\": 3}, "
                 "{\"name\": \"gemm\", \"phase\": \"backward_pass\", \"seconds\": %g}]}",
                 3 * cases[i].products + 2 * cases[i].rest, 3 * cases[i].products);
        struct tt_json *a = json(text);
        struct tt_formula_run r[] = {{.name = "baseline", .profile = a}};
        ask_all("exercises/01-baseline", r, 1,
                &(struct asked){"backward_over_forward", cases[i].answer, TT_MARK_RIGHT, cases[i].says}, 1);
        tt_json_free(a);
    }
}

int main(void)
{
    TEST(every_answer_says_what_it_means);
    TEST(a_speed_up_has_its_interval);
    TEST(recording_may_be_rounded);
    TEST(a_ratio_of_passes_is_said_of_products_too);
    return test_end();
}
