/* Questions that a share decides: what a busy machine disturbed leaves them open, and what is decided is not undecided.
 * The same of words that lie near to a limit. */
#include "core/config/config.h"
#include "tests/exercises/course_fixture.h"

/* A step whose products have that share, and what its threads waited for a processor. */
static struct tt_json *products(double share, double waited)
{
    char text[600];
    snprintf(text, sizeof text,
             "{\"run\": {\"backend\": \"cpu\", \"device\": \"c, 1 thread\", \"load\": 0.1, "
             "\"waited\": %g, \"steps\": 3}, "
             "\"step\": {\"seconds\": 2, \"deviation\": 0.01}, "
             "\"operators\": [{\"name\": \"gemm\", \"share\": %g, \"seconds\": 1}]}",
             waited, share);
    return json(text);
}

static void a_disturbed_share_decides_no_half(void)
{
    static const struct {
        double share, waited;
        const char *right, *wrong, *means; /* words, a blank between them */
    } cases[] = {{0.83, 0.01, "false no N", "true yes undecided", "At most 1.2 times as fast: what remains"},
                 {0.30, 0.01, "true yes", "false undecided", "At most 3.33 times as fast: what remains"},
                 {0.502, 0.01, "true false undecided", "", "too near to 2 to tell"},
                 {0.384, 0.6, "true false undecided unclear", "", "your run does not decide it"},
                 {0.73, 0.6, "true false undecided", "", "your run does not decide it"},
                 {0.993, 0.3, "false", "true undecided", "by the recorded shares: what remains"}};
    struct tt_exercise e;
    struct tt_mark m;
    char word[40], percent[20];
    CHECK_OK(tt_exercise_read("exercises/01-baseline", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_json *a = products(cases[i].share, cases[i].waited);
        struct tt_formula_run r[] = {{.name = "baseline", .profile = a}};
        for (const char *at = cases[i].right; tt_list_next(&at, ' ', word, sizeof word);)
            CHECK(ask(&e, r, 1, "mostly_gemm", word, &m) == TT_MARK_RIGHT && strstr(m.means, cases[i].means),
                  "case %zu, %s: %s%s", i, word, m.reason, m.means);
        for (const char *at = cases[i].wrong; tt_list_next(&at, ' ', word, sizeof word);)
            CHECK(ask(&e, r, 1, "mostly_gemm", word, &m) == TT_MARK_WRONG, "case %zu, %s: %s", i, word, m.means);
        snprintf(percent, sizeof percent, "%g", 100 * cases[i].share);
        CHECK(ask(&e, r, 1, "gemm_percent", percent, &m) == TT_MARK_RIGHT, "%s", m.reason);
        bool open = !cases[i].wrong[0];
        CHECK(!strstr(m.means, "than half of the step") == (open || cases[i].share < 0.5) &&
                  !strstr(m.means, "Less than half") == (open || cases[i].share > 0.5), "case %zu: %s", i, m.means);
        tt_json_free(a);
    }
    tt_exercise_free(&e);
}

/* 30 % more, and launches beside a step, of runs whose steps scatter or were slowed. */
static void a_disturbed_step_passes_no_limit(void)
{
    static const struct {
        double fused, waited;
        const char *right, *wrong;
    } gates[] = {{0.5, 0.01, "true", "false undecided"}, {0.9, 0.01, "false", "true undecided"},
                 {0.76, 0.01, "undecided", "true false"}, {0.7, 0.6, "undecided", "true false"}};
    static const struct {
        double launches, waited;
        const char *right, *wrong;
    } hosts[] = {{0.001, 0.01, "true y", "false undecided"}, {0.001, 0.6, "true", "false undecided"},
                 {0.99, 0.01, "true false undecided", ""}, {0.5, 0.6, "true false undecided", ""},
                 {3, 0.01, "false", "true undecided"}};
    static const char format[] = "{\"run\": {\"backend\": \"cpu\", \"device\": \"c, 1 thread\", \"load\": 0.1, "
                                 "\"waited\": %g, \"steps\": 9}, "
                                 "\"step\": {\"seconds\": %g, \"deviation\": 0.001}, \"launch\": {\"total_seconds\": "
                                 "%g}}";
    struct tt_exercise fused, host;
    struct tt_mark m;
    char text[400], word[40];
    CHECK_OK(tt_exercise_read("exercises/04-fused", &fused));
    CHECK_OK(tt_exercise_read("exercises/06-host", &host));
    for (int i = 0; i < 9; i++) {
        bool gate = i < 4;
        const char *right = gate ? gates[i].right : hosts[i - 4].right, *id = gate ? "gate_30" : "shortest_step";
        const char *wrong = gate ? gates[i].wrong : hosts[i - 4].wrong;
        snprintf(text, sizeof text, format, gate ? gates[i].waited : hosts[i - 4].waited, 1.,
                 gate ? 1. : hosts[i - 4].launches);
        struct tt_json *a = json(text);
        snprintf(text, sizeof text, format, gate ? gates[i].waited : 0, gate ? gates[i].fused : 1, 1.);
        struct tt_json *b = json(text);
        struct tt_formula_run r[] = {{gate ? "baseline" : "plain", a}, {gate ? "fused" : "graph", b}};
        for (const char *at = right; tt_list_next(&at, ' ', word, sizeof word);)
            CHECK(ask(gate ? &fused : &host, r, 2, id, word, &m) == TT_MARK_RIGHT, "case %d, %s: %s", i, word,
                  m.reason);
        for (const char *at = wrong; tt_list_next(&at, ' ', word, sizeof word);)
            CHECK(ask(gate ? &fused : &host, r, 2, id, word, &m) == TT_MARK_WRONG, "case %d, %s: %s", i, word,
                  m.means);
        tt_json_free(a);
        tt_json_free(b);
    }
    tt_exercise_free(&fused);
    tt_exercise_free(&host);
}

/* Where the run does not tell two words apart, undecided is right, and only there. */
static void two_right_words_are_undecided(void)
{
    static const struct {
        double mfu, intensity;
        const char *id, *right, *wrong;
    } cases[] = {{19.5, 5, "efficiency_class", "low moderate undecided", "good high"},
                 {15, 5, "efficiency_class", "low", "moderate undecided"},
                 {15, 9.5, "side", "memory compute undecided", ""},
                 {15, 5, "side", "memory", "compute undecided"},
                 {15, 20, "side", "compute", "memory undecided"}};
    struct tt_exercise e;
    struct tt_mark m;
    char text[400], word[40];
    CHECK_OK(tt_exercise_read("exercises/03-bottlenecks", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text,
                 "{\"run\": {\"backend\": \"cpu\", \"device\": \"c, 1 thread\", \"load\": 0.1, "
                 "\"waited\": 0, \"steps\": 5}, "
                 "\"step\": {\"seconds\": 1, \"deviation\": 0.001}, \"efficiency\": {"
                 "\"mfu_percent\": %g, \"bound\": \"memory\", \"intensity\": %g, \"ridge\": 10}, \"operators\": []}",
                 cases[i].mfu, cases[i].intensity);
        struct tt_json *a = json(text);
        struct tt_formula_run r[] = {{.name = "baseline", .profile = a}};
        for (const char *at = cases[i].right; tt_list_next(&at, ' ', word, sizeof word);)
            CHECK(ask(&e, r, 1, cases[i].id, word, &m) == TT_MARK_RIGHT, "case %zu, %s: %s", i, word, m.reason);
        for (const char *at = cases[i].wrong; tt_list_next(&at, ' ', word, sizeof word);)
            CHECK(ask(&e, r, 1, cases[i].id, word, &m) == TT_MARK_WRONG, "case %zu, %s: %s", i, word, m.means);
        tt_json_free(a);
    }
    tt_exercise_free(&e);
}

int main(void)
{
    TEST(a_disturbed_share_decides_no_half);
    TEST(a_disturbed_step_passes_no_limit);
    TEST(two_right_words_are_undecided);
    return test_end();
}
