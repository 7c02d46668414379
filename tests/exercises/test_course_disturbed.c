/* The checks of the course on disturbed runs. Answers are marked by what the runs show. If times of such runs are
 * compared, `undecided` is right. The meaning of an answer does not depend on the machine. */
#include "core/base/file.h"
#include "exercises/engine/formula_parts.h"
#include "tests/exercises/course_fixture.h"

/* A small baseline on one thread of a CPU. %g is the fraction of its time that the thread waited. */
static const char cpu_format[] =
    "{\"run\": {\"backend\": \"cpu\", \"device\": \"Xeon, 1 thread\", \"waited\": %g, \"steps\": 9}, "
    "\"step\": {\"seconds\": 1.5137, \"deviation\": 0.02, \"kernel_seconds\": 1.45, \"kernels\": 636}, "
    "\"launch\": {\"total_seconds\": 0.00028, \"idle_seconds\": 0.0599}, \"memory\": {\"arena_bytes\": 1002, "
    "\"live_bytes\": 1000}, \"efficiency\": {\"mfu_percent\": 19.5, \"mfu_full_percent\": 21, "
    "\"mfu_class\": \"low\", \"intensity\": 16.6, \"ridge\": 11.4, \"bound\": \"compute\"}, \"phases\": ["
    "{\"name\": \"forward\", \"device\": 0.5, \"wall\": 0.6}, "
    "{\"name\": \"backward\", \"device\": 0.865, \"wall\": 1}], \"operators\": ["
    "{\"name\": \"gemm\", \"phase\": \"forward_pass\", \"seconds\": 0.4, \"share\": 0.3, "
    "\"bound\": \"compute\"}, {\"name\": \"gemm\", \"phase\": \"backward_pass\", \"seconds\": 0.7, "
    "\"share\": 0.5, \"bound\": \"compute\"}], \"groups\": ["
    "{\"name\": \"qkv_projection\", \"share\": 0.2, \"roof_percent\": 60}, "
    "{\"name\": \"attention_scores\", \"share\": 0.05, \"roof_percent\": 50}, "
    "{\"name\": \"attention_softmax\", \"share\": 0.03, \"roof_percent\": 50}, "
    "{\"name\": \"attention_output\", \"share\": 0.1, \"roof_percent\": 50}, "
    "{\"name\": \"swiglu_gate_up\", \"share\": 0.3, \"roof_percent\": 40}, "
    "{\"name\": \"swiglu_activation\", \"share\": 0.02, \"roof_percent\": 50}, "
    "{\"name\": \"swiglu_down\", \"share\": 0.12, \"roof_percent\": 90}, "
    "{\"name\": \"rms_norm\", \"share\": 0.033, \"roof_percent\": 50}, "
    "{\"name\": \"residual\", \"share\": 0.02, \"roof_percent\": 50}, "
    "{\"name\": \"gradient_clip\", \"share\": 0.01, \"roof_percent\": 50}, "
    "{\"name\": \"optimizer\", \"share\": 0.06, \"roof_percent\": 50}, {\"name\": \"gaps\", \"share\": 0}]}";

/* A run of nine steps on one thread. `waited` is for the undisturbed steps, `recorded` for the recorded ones. */
static struct tt_json *timed(double seconds, double waited, double recorded)
{
    char text[400];
    snprintf(text, sizeof text,
             "{\"run\": {\"backend\": \"cpu\", \"device\": \"Xeon, 1 thread\", \"waited\": %g, "
             "\"recorded_waited\": %g, \"steps\": 9}, \"step\": {\"seconds\": %g, \"deviation\": 0.001, "
             "\"tokens_per_second\": %g}}",
             waited, recorded, seconds, 1 / seconds);
    return json(text);
}

/* A question about one run asks for a figure in its files, so a busy machine changes no mark. */
static void one_run_is_marked_by_what_it_shows(void)
{
    static const struct {
        const char *folder, *id, *right, *wrong; /* words, a blank between them */
    } cases[] = {{"03-bottlenecks", "box_qkv", "first", "later undecided never project"},
                 {"03-bottlenecks", "box_gate_up", "first", "later undecided"},
                 {"03-bottlenecks", "box_norm", "first undecided", "later never"}, /* 5.3 %: near the border */
                 {"03-bottlenecks", "box_softmax", "never", "project undecided first later"},
                 {"03-bottlenecks", "box_flash", "project", "never undecided"},
                 {"03-bottlenecks", "efficiency_class", "low moderate", "good high"},
                 {"03-bottlenecks", "workload", "compute", "memory mixed undecided"},
                 {"03-bottlenecks", "side", "compute", "memory undecided"},
                 {"03-bottlenecks", "host_or_device", "neither", "host device"},
                 {"03-bottlenecks", "bottlenecks",
                  "feed_forward,projections,attention,norms,fragmentation,launches",
                  "norms,projections,feed_forward,attention,fragmentation,launches"},
                 {"03-bottlenecks", "gemm_percent", "80", "75"},
                 {"01-baseline", "mostly_gemm", "false", "true"},
                 {"01-baseline", "largest_group", "swiglu_gate_up", "qkv_projection"},
                 {"01-baseline", "most_to_gain", "swiglu_gate_up", "qkv_projection"},
                 {"01-baseline", "backward_over_forward", "1.73", "2"},
                 {"01-baseline", "ideal_ms", "295", "7762"}};
    static const double waits[] = {0.01, 0.6};
    for (int busy = 0; busy < 2; busy++) {
        char text[3000];
        snprintf(text, sizeof text, cpu_format, waits[busy]);
        struct tt_json *a = json(text);
        struct tt_formula_run r[] = {{.name = "baseline", .profile = a}};
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct tt_exercise e;
            char folder[80];
            snprintf(folder, sizeof folder, "exercises/%s", cases[i].folder);
            CHECK_OK(tt_exercise_read(folder, &e));
            check_words(&e, r, 1, cases[i].id, cases[i].right, cases[i].wrong, busy ? "busy" : "quiet");
            tt_exercise_free(&e);
        }
        tt_json_free(a);
    }
}

/* The recorded profile of the course, as if its threads had waited for that fraction of their time. */
static struct tt_json *recorded(double waited)
{
    struct tt_json *j = NULL;
    char *text = NULL;
    size_t size = 0;
    CHECK_OK(tt_file_read("exercises/recorded/h200-small/profile.json", 1 << 24, &text, &size));
    CHECK_OK(tt_json_parse(text, size, &j));
    free(text);
    ((struct tt_json *)tt_json_get(tt_json_get(j, "run"), "waited"))->number = waited;
    CHECK(tt_exercise_disturbed(j) == (waited > 0.05), "waited %g", waited);
    return j;
}

/* The first right answer, as --reveal shows it; "" for kinds where what is shown is not an answer. */
static void right_answer(const struct tt_question *q, const struct tt_mark *m, char out[200])
{
    bool given = q->kind == TT_ASK_NUMBER || q->kind == TT_ASK_CHOICE || q->kind == TT_ASK_TRUTH ||
                 q->kind == TT_ASK_RANKING;
    snprintf(out, 200, "%s", given ? m->right : "");
    if (q->kind == TT_ASK_CHOICE) out[strcspn(out, "/")] = 0;
}

/* Checks that answers mean the same if all runs of an exercise are the quiet profile and if all are the busy one.
 * Returns how many meanings there were. */
static int same_meanings(const char *folder, const struct tt_json *quiet, const struct tt_json *busy)
{
    struct tt_exercise e;
    struct tt_formula_run r[2][TT_EXERCISE_RUNS];
    int same = 0;
    CHECK_OK(tt_exercise_read(folder, &e));
    for (int i = 0; i < e.run_count; i++) {
        r[0][i] = (struct tt_formula_run){e.runs[i].name, quiet};
        r[1][i] = (struct tt_formula_run){e.runs[i].name, busy};
    }
    for (int i = 0; i < e.question_count; i++) {
        const struct tt_question *q = &e.questions[i];
        char answer[200];
        struct tt_mark m[2];
        ask(&e, r[0], e.run_count, q->id, "", &m[0]);
        right_answer(q, &m[0], answer);
        if (!answer[0] || !q->means || strstr(q->means, "interval")) continue;
        for (int b = 0; b < 2; b++) ask(&e, r[b], e.run_count, q->id, answer, &m[b]);
        CHECK(m[1].kind == m[0].kind && !strcmp(m[0].means, m[1].means), "%s %s: \"%s\" and \"%s\"", folder, q->id,
              m[0].means, m[1].means);
        same += m[0].means[0] != 0;
    }
    tt_exercise_free(&e);
    return same;
}

/* The meaning of an answer holds for every run: apart from intervals, a busy machine changes no word of it. */
static void a_meaning_does_not_depend_on_the_machine(void)
{
    struct tt_json *quiet = recorded(0), *busy = recorded(0.6);
    int same = same_meanings("exercises/01-baseline", quiet, busy) +
               same_meanings("exercises/03-bottlenecks", quiet, busy) +
               same_meanings("exercises/05-flash", quiet, busy) + same_meanings("exercises/09-faults", quiet, busy);
    CHECK(same > 60, "only %d meanings", same);
    tt_json_free(quiet);
    tt_json_free(busy);
}

/* The word that the interval decides is right. If one of the two runs was disturbed, `undecided` is right too. If the
 * interval decides nothing, because waiting may explain all of the difference, `undecided` alone is right. */
static void comparisons_with_a_disturbed_run_may_stay_open(void)
{
    static const struct {
        const char *folder, *id, *first, *second, *word, *other;
    } asked[] = {{"03-bottlenecks", "gate_throughput", "baseline", "fused", "holds", "fails"},
                 {"04-fused", "gate_30", "baseline", "fused", "true", "false"},
                 {"01-baseline", "double_gain", "baseline", "double", "more", "fewer"}};
    static const struct {
        const char *what;
        double waited, recorded; /* of the disturbed run; the other is quiet */
        int disturbed;           /* 0: the first run, 1: the second */
        double seconds;          /* a step of the second run; of the first it takes 1 s */
        bool word, undecided;
    } runs[] = {{"quiet", 0.01, 0.01, 0, 0.5, true, false},
                {"twice as fast, and 4 times slowed", 0.3, 0.3, 0, 0.5, false, true},
                {"ten times as fast, and 4 times slowed", 0.3, 0.3, 0, 0.1, true, true},
                {"the recorded steps of the first waited", 0.01, 0.4, 0, 0.5, true, true},
                {"the recorded steps of the second waited", 0.01, 0.4, 1, 0.5, true, true}};
    for (size_t k = 0; k < sizeof asked / sizeof *asked; k++) {
        const char *const words[] = {asked[k].word, asked[k].other, "undecided"};
        struct tt_exercise e;
        struct tt_mark m;
        char folder[80];
        snprintf(folder, sizeof folder, "exercises/%s", asked[k].folder);
        CHECK_OK(tt_exercise_read(folder, &e));
        for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
            const bool right[] = {runs[i].word, false, runs[i].undecided};
            struct tt_json *run[2], *again = timed(1.01, 0.01, 0.01);
            for (int n = 0; n < 2; n++) {
                bool disturbed = n == runs[i].disturbed;
                run[n] = timed(n ? runs[i].seconds : 1, disturbed ? runs[i].waited : 0.01,
                               disturbed ? runs[i].recorded : 0.01);
            }
            struct tt_formula_run r[] = {{asked[k].first, run[0]}, {asked[k].second, run[1]}, {"again", again}};
            for (int w = 0; w < 3; w++)
                CHECK(ask(&e, r, 3, asked[k].id, words[w], &m) == (right[w] ? TT_MARK_RIGHT : TT_MARK_WRONG),
                      "%s, %s: %s: %s%s", asked[k].id, runs[i].what, words[w], m.reason, m.means);
            tt_json_free(run[0]);
            tt_json_free(run[1]);
            tt_json_free(again);
        }
        tt_exercise_free(&e);
    }
}

/* Two gains are compared by four runs. If any of these was disturbed, `undecided` is right too. */
static void any_of_four_runs_may_be_disturbed(void)
{
    static const char *const names[] = {"baseline", "fused", "wide", "fused_wide"};
    static const double seconds[] = {1, 0.9, 4, 1};
    struct tt_exercise e;
    CHECK_OK(tt_exercise_read("exercises/03-bottlenecks", &e));
    for (int disturbed = -1; disturbed < 4; disturbed++) {
        struct tt_formula_run r[4];
        for (int i = 0; i < 4; i++)
            r[i] = (struct tt_formula_run){names[i], timed(seconds[i], 0.01, i == disturbed ? 0.4 : 0.01)};
        check_words(&e, r, 4, "gain_large", disturbed < 0 ? "larger" : "larger undecided",
                    disturbed < 0 ? "smaller undecided" : "smaller", disturbed < 0 ? "none" : names[disturbed]);
        for (int i = 0; i < 4; i++) tt_json_free((struct tt_json *)r[i].profile);
    }
    tt_exercise_free(&e);
}

/* Another program used the GPU during the fused run: 12 ms against 14 ms show no loss then. */
static void an_interrupted_device_decides_nothing(void)
{
    struct tt_exercise e;
    struct tt_json *baseline = json(baseline_text);
    CHECK_OK(tt_exercise_read("exercises/03-bottlenecks", &e));
    for (int i = 0; i < 2; i++) {
        char text[200];
        snprintf(text, sizeof text, "{\"run\": {\"backend\": \"cuda\", \"load\": 0.1, \"waited\": 0, \"steps\": 10, "
                                    "\"interrupted\": %g}, \"step\": {\"seconds\": 0.014, \"deviation\": 2e-5}}",
                 i ? 2.23 : 1.01);
        struct tt_json *fused = json(text);
        struct tt_formula_run r[] = {{.name = "baseline", .profile = baseline}, {.name = "fused", .profile = fused}};
        check_words(&e, r, 2, "gate_throughput", i ? "undecided" : "fails", i ? "fails holds" : "undecided holds",
                    i ? "interrupted" : "alone");
        tt_json_free(fused);
    }
    tt_exercise_free(&e);
    tt_json_free(baseline);
}

/* Without the times of single steps there is no interval, so nothing is decided. */
static void no_single_steps_decide_nothing(void)
{
    struct tt_exercise e;
    struct tt_json *a = json("{\"run\": {\"backend\": \"cuda\"}, \"step\": {\"seconds\": 1}}"),
                   *b = json("{\"run\": {\"backend\": \"cuda\"}, \"step\": {\"seconds\": 0.1}}");
    struct tt_formula_run r[] = {{.name = "baseline", .profile = a}, {.name = "fused", .profile = b}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/03-bottlenecks", &e));
    check_words(&e, r, 2, "gate_throughput", "undecided", "holds fails", "no single steps");
    CHECK(ask(&e, r, 2, "speedup_small", "10", &m) == TT_MARK_RIGHT && strstr(m.means, "The interval is anything"),
          "%s", m.means);
    tt_exercise_free(&e);
    tt_json_free(a);
    tt_json_free(b);
}

/* Tiles within 10 % of the fastest are right too. `undecided` is right beside it, unless the interval of the steps
 * tells the run of the fastest tile from each of the others. */
static void tiles_are_told_apart_by_a_tenth(void)
{
    static const char *const names[] = {"tile_8x8", "tile_16x128", "tile_128x16", "tile_64x64"};
    static const struct {
        double last, step; /* of the last tile: its kernel, and its step beside 1 of the fastest */
        int disturbed;     /* one of the runs; -1: none */
        const char *right, *wrong;
    } cases[] = {{0.2204, 1.01, -1, "16x128 64x64 undecided", "8x8 128x16"},
                 {0.3, 1.2, -1, "16x128", "64x64 undecided 8x8"},
                 {0.3, 1.01, -1, "16x128 undecided", "64x64 8x8"},
                 {0.3, 1.2, 0, "16x128 undecided", "64x64 8x8"},
                 {0.3, 1.2, 3, "16x128 undecided", "64x64 8x8"}};
    struct tt_exercise e;
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/05-flash", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_formula_run r[4];
        const double seconds[] = {0.5, 0.2129, 0.3, cases[i].last}, steps[] = {1.5, 1, 1.2, cases[i].step};
        for (int k = 0; k < 4; k++) {
            char text[300];
            snprintf(text, sizeof text,
                     "{\"run\": {\"backend\": \"cpu\", \"waited\": %g, \"steps\": 3}, \"step\": {\"seconds\": %g, "
                     "\"deviation\": 0.01}, \"operators\": [{\"name\": \"flash\", \"seconds\": %g}]}",
                     k == cases[i].disturbed ? 0.3 : 0.01, steps[k], seconds[k]);
            r[k] = (struct tt_formula_run){.name = names[k], .profile = json(text)};
        }
        check_words(&e, r, 4, "best_tile", cases[i].right, cases[i].wrong, "tiles");
        CHECK(i || (ask(&e, r, 4, "best_tile", "64x64", &m) == TT_MARK_RIGHT &&
                    strstr(m.means, "In your run 16x128 has 0.213 s, 64x64 0.22: that close, either counts as first.")),
              "%s", m.means);
        for (int k = 0; k < 4; k++) tt_json_free((struct tt_json *)r[k].profile);
    }
    tt_exercise_free(&e);
}

/* `undecided` is right if the two largest gains of exercise 4 are within 10 %, or a run was disturbed. */
static void switches_are_told_apart_by_a_tenth(void)
{
    static const char *const names[] = {"baseline", "qkv", "swiglu", "norm", "optimizer"};
    static const struct {
        double seconds[5];
        int disturbed; /* one of the runs; -1: none */
        const char *right, *wrong;
    } cases[] = {{{1, 0.95, 0.76, 0.722, 0.722}, -1, "swiglu", "undecided qkv norm optimizer"},
                 {{1, 0.84, 0.672, 0.67, 0.66}, -1, "swiglu undecided", "qkv norm optimizer"},
                 {{1, 0.805, 0.644, 0.64, 0.63}, -1, "swiglu qkv undecided", "norm optimizer"},
                 {{1, 0.95, 0.76, 0.722, 0.722}, 0, "swiglu undecided", "qkv norm optimizer"},
                 {{1, 0.95, 0.76, 0.722, 0.722}, 4, "swiglu undecided", "qkv norm optimizer"}};
    struct tt_exercise e;
    CHECK_OK(tt_exercise_read("exercises/04-fused", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_formula_run r[5];
        for (int k = 0; k < 5; k++)
            r[k] = (struct tt_formula_run){names[k],
                                           timed(cases[i].seconds[k], 0.01, k == cases[i].disturbed ? 0.4 : 0.01)};
        check_words(&e, r, 5, "best_step", cases[i].right, cases[i].wrong, "switches");
        for (int k = 0; k < 5; k++) tt_json_free((struct tt_json *)r[k].profile);
    }
    tt_exercise_free(&e);
}

int main(void)
{
    TEST(one_run_is_marked_by_what_it_shows);
    TEST(a_meaning_does_not_depend_on_the_machine);
    TEST(comparisons_with_a_disturbed_run_may_stay_open);
    TEST(any_of_four_runs_may_be_disturbed);
    TEST(an_interrupted_device_decides_nothing);
    TEST(no_single_steps_decide_nothing);
    TEST(tiles_are_told_apart_by_a_tenth);
    TEST(switches_are_told_apart_by_a_tenth);
    return test_end();
}
