/* What is said of runs that scatter, of busy machines, and of ranks that cannot have been so fast. */
#include <math.h>

#include "exercises/engine/formula_parts.h"
#include "tests/exercises/runs_fixture.h"

static const char *timed_on = ""; /* more of the run */

static struct tt_json *timed(double seconds, double deviation, int steps)
{
    char text[200];
    struct tt_json *j = NULL;
    snprintf(text, sizeof text, "{\"run\": {\"steps\": %d%s}, \"step\": {\"seconds\": %g, \"deviation\": %g}}", steps,
             timed_on, seconds, deviation);
    CHECK_OK(tt_json_parse(text, strlen(text), &j));
    return j;
}

static void noise(double seconds, double deviation, int steps, const char *answer, enum tt_mark_kind kind,
                  const char *words)
{
    struct tt_question q = {.id = "gain", .kind = TT_ASK_NUMBER, .answer = answer};
    struct tt_exercise e = {
        .runs = {{.name = "slow"}, {.name = "fast"}}, .run_count = 2, .questions = &q, .question_count = 1};
    struct tt_mark mark = {.kind = kind};
    struct tt_marked m = {.exercise = &e, .marks = &mark};
    struct tt_text out = {0};
    m.runs[0].profile = timed(1, deviation, steps);
    m.runs[1].profile = timed(seconds, deviation, steps);
    tt_exercise_noise(&m, &out);
    CHECK(words ? out.s && strstr(out.s, words) : !out.n, "%g, %g, %d: %s", seconds, deviation, steps,
          out.s ? out.s : "");
    tt_text_free(&out);
    tt_json_free(m.runs[0].profile);
    tt_json_free(m.runs[1].profile);
}

static void tells_noise(void)
{
    const char *gain = "slow:step.seconds / fast:step.seconds";
    noise(0.98, 0.1, 4, gain, TT_MARK_RIGHT, "noise: gain: a quotient of two runs may be off by 14.3 % towards 1 here");
    noise(0.98, 0.1, 4, gain, TT_MARK_RIGHT, "your steps vary. Measure with STEPS=30");
    noise(0.99, 0.001, 4, gain, TT_MARK_RIGHT, "may be off by 1.4 % towards 1 here");
    noise(0.99, 0.001, 4, gain, TT_MARK_RIGHT, "more steps do not change that");
    noise(0.98, 0.001, 4, gain, TT_MARK_RIGHT, NULL);
    noise(0.5, 0.1, 4, gain, TT_MARK_RIGHT, NULL);
    noise(0.98, 0.1, 1000, gain, TT_MARK_RIGHT, NULL);
    noise(0.98, 0.1, 1, gain, TT_MARK_RIGHT, NULL);
    noise(0.98, 0.1, 4, gain, TT_MARK_EMPTY, NULL);
    noise(0.98, 0.1, 4, "slow:step.seconds / fast:step.seconds - 1", TT_MARK_RIGHT, NULL);
    noise(0.98, 0.1, 4, "slow:step.seconds / gone:step.seconds", TT_MARK_RIGHT, NULL);
    timed_on = ", \"backend\": \"cpu\"";
    noise(0.93, 0.001, 4, gain, TT_MARK_RIGHT, "runs of one program differ by about 6 % each");
    noise(0.9, 0.001, 4, gain, TT_MARK_RIGHT, NULL);
    timed_on = ", \"device\": \"Xeon, 1 thread\", \"waited\": 0.6";
    noise(0.56, 0.001, 4, gain, TT_MARK_RIGHT,
          "gain: the machine was busy during a run of this, so that on a quiet one it may be 0.14 to 22.64");
    timed_on = ", \"device\": \"Xeon, 2 threads\", \"waited\": 0.6";
    noise(0.56, 0.001, 4, gain, TT_MARK_RIGHT,
          "gain: the machine was busy during a run of this, so that on a quiet one it may be anything; the answer");
    noise(0.56, 0.001, 4, gain, TT_MARK_RIGHT, "its step may have taken any number of times as long as on a quiet one");
    timed_on = "";
}

static void tells_busy_runs(void)
{
    static const char busy[] = "{\"run\": {\"load\": 4.5}, \"efficiency\": {\"roofs_load\": 5.6}}",
                      ranks[] = "{\"run\": {}, \"load\": 3.1, \"rows\": []}",
                      begun[] = "{\"run\": {\"device\": \"Xeon, 1 thread\", \"load\": 0.2, \"waited\": 0.3, "
                                "\"steps\": 3}, \"efficiency\": {\"roofs_load\": 0.2, "
                                "\"gemm_spread\": 0.1, \"copy_spread\": 0.6}}",
                      quiet[] = "{\"run\": {\"load\": 0.9, \"waited\": 0.01}, \"efficiency\": {\"roofs_load\": 0.2}}";
    static const char recorded[] = "{\"run\": {\"device\": \"Xeon, 1 thread\", \"waited\": 0.01, "
                                   "\"recorded_waited\": 0.292893}, \"groups\": []}";
    struct tt_exercise e = {.runs = {{.name = "slow"}, {.name = "fast"}, {.name = "missing"}, {.name = "weak"},
                                     {.name = "late"}, {.name = "shares"}}, .run_count = 6};
    struct tt_marked m = {.exercise = &e};
    struct tt_text out = {0};
    CHECK_OK(tt_json_parse(recorded, strlen(recorded), &m.runs[5].profile));
    CHECK_OK(tt_json_parse(ranks, strlen(ranks), &m.runs[3].profile));
    CHECK_OK(tt_json_parse(begun, strlen(begun), &m.runs[4].profile));
    CHECK_OK(tt_json_parse(quiet, strlen(quiet), &m.runs[0].profile));
    CHECK_OK(tt_json_parse(busy, strlen(busy), &m.runs[1].profile));
    tt_exercise_noise(&m, &out);
    CHECK(out.s && strstr(out.s, "noise: fast: when it was measured, the machine was busy: a load of 4.5"), "%s",
          out.s);
    CHECK(out.s && strstr(out.s, "noise: weak: when it was measured, the machine was busy"), "ranks.json: %s", out.s);
    CHECK(out.s && strstr(out.s, "noise: late: when it was measured, the machine was busy: threads waited 30 %"),
          "a load that began with the run: %s", out.s);
    CHECK(out.s && strstr(out.s, "its step may have taken 4.08 times as long as on a quiet one\n"), "%s", out.s);
    CHECK(out.s && strstr(out.s, "noise: shares: something disturbed the steps that were recorded: operations may "
                                 "have taken 4 times as long as alone, short ones more: shares and roofs may be off"),
          "%s", out.s);
    CHECK(out.s && strstr(out.s, "noise: fast, late: the roofs may be too low"),
          "%s", out.s);
    CHECK(out.s && !strstr(out.s, "slow") && !strstr(out.s, "missing"), "%s", out.s);
    tt_text_free(&out);
    for (int i = 0; i < 6; i++) tt_json_free(m.runs[i].profile);
}

/* Several ranks are not faster than one for each of them: the machine was. */
static void tells_impossible_ranks(void)
{
    static const char ranks[] = "{\"run\": {\"load\": 0.9}, \"rows\": [{\"ranks\": 1, \"efficiency_percent\": 100}, "
                                "{\"ranks\": 2, \"efficiency_percent\": 231}]}";
    struct tt_exercise e = {.runs = {{.name = "weak"}}, .run_count = 1};
    struct tt_marked m = {.exercise = &e};
    struct tt_text out = {0};
    CHECK_OK(tt_json_parse(ranks, strlen(ranks), &m.runs[0].profile));
    tt_exercise_noise(&m, &out);
    CHECK(out.s && strstr(out.s, "noise: weak: an efficiency of 231 % on 2 ranks cannot be"), "%s", out.s);
    CHECK(out.s && !strstr(out.s, "100 % on 1"), "%s", out.s);
    tt_text_free(&out);
    tt_json_free(m.runs[0].profile);
}

/* Each row is slowed by what its own ranks waited: one rank alone knows no other that waits for it. */
static void rows_have_their_own_ranks(void)
{
    static const struct {
        double one, two, slowed;
        const char *says;
    } cases[] = {{0.65, 0.41, 2 / (0.59 * 0.18), "41 % of their time for a processor; its steps may have taken longer"},
                 {0.65, 0, 2 / (0.35 * 0.35), "65 % of their time for a processor; its steps may have taken longer"},
                 {0.1, 0.1, 1, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_json *j = NULL;
        char text[400];
        snprintf(text, sizeof text,
                 "{\"run\": {\"waited\": %g}, \"backend\": \"cpu\", \"rows\": [{\"ranks\": 1, \"threads\": 1, "
                 "\"waited\": %g}, {\"ranks\": 2, \"threads\": 1, \"waited\": %g}]}",
                 fmax(cases[i].one, cases[i].two), cases[i].one, cases[i].two);
        CHECK_OK(tt_json_parse(text, strlen(text), &j));
        double slowed = tt_exercise_slowed(j);
        CHECK(fabs(slowed / cases[i].slowed - 1) < 1e-6, "%zu: %g, not %g", i, slowed, cases[i].slowed);
        struct tt_exercise e = {.runs = {{.name = "weak"}}, .run_count = 1};
        struct tt_marked m = {.exercise = &e, .runs = {{.profile = j}}};
        struct tt_text out = {0};
        tt_exercise_noise(&m, &out);
        CHECK(cases[i].says ? out.s && strstr(out.s, cases[i].says) : !out.s || !strstr(out.s, "weak"), "%zu: %s", i,
              out.s ? out.s : "");
        tt_text_free(&out);
        const struct tt_json *row = tt_json_get(j, "rows")->first;
        CHECK(tt_exercise_row_was_busy(j, row) == (cases[i].one > 0.15) &&
              tt_exercise_row_was_busy(j, row->next) == (cases[i].two > 0.15), "%zu: rows by themselves", i);
        tt_json_free(j);
    }
}

/* One rank alone is one program in several files; of another batch, and of a busy machine, it says nothing. */
static void tells_one_rank_that_differs(void)
{
    static const char rows[] = "{\"run\": {\"waited\": %g}, \"backend\": \"cpu\", \"rows\": [{\"ranks\": 1, "
                               "\"size\": \"tiny\", \"version\": \"flash\", \"threads\": 1, \"batch_size\": %d, "
                               "\"median_ms\": %g, \"each\": [{\"operations\": 107}]}]}";
    static const struct {
        double waited, ms;
        int batch;
        const char *says; /* of it and weak, which took 211 ms; NULL: nothing */
    } cases[] = {{0, 467, 8, "noise: weak, slow: one rank alone is the same program in each, and took 211 to 467 ms"},
                 {0, 190, 8, "took 190 to 211 ms"}, {0, 225, 8, NULL}, {0, 467, 4, NULL}, {0.6, 467, 8, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_exercise e = {.runs = {{.name = "weak"}, {.name = "slow"}}, .run_count = 2};
        struct tt_marked m = {.exercise = &e};
        struct tt_text out = {0};
        char text[400];
        snprintf(text, sizeof text, rows, 0.0, 8, 211.0);
        CHECK_OK(tt_json_parse(text, strlen(text), &m.runs[0].profile));
        snprintf(text, sizeof text, rows, cases[i].waited, cases[i].batch, cases[i].ms);
        CHECK_OK(tt_json_parse(text, strlen(text), &m.runs[1].profile));
        tt_exercise_noise(&m, &out);
        bool said = out.s && strstr(out.s, cases[i].says ? cases[i].says : "one rank alone");
        CHECK(said == (cases[i].says != NULL), "case %zu: %s", i, out.s ? out.s : "");
        tt_text_free(&out);
        for (int k = 0; k < 2; k++) tt_json_free(m.runs[k].profile);
    }
}

/* Neither busy nor a speed-up, and yet it decides nothing. */
static void tells_what_is_not_measurable(void)
{
    static const char rows[] = "{\"run\": {\"waited\": 0}, \"rows\": [{\"ranks\": 1, \"communication_ms\": 0, "
                               "\"hidden_known\": false}, {\"ranks\": 2, \"communication_ms\": 345, "
                               "\"hidden_known\": %s}]}";
    struct tt_exercise e = {.runs = {{.name = "weak"}, {.name = "late"}}, .run_count = 2};
    struct tt_marked m = {.exercise = &e};
    struct tt_text out = {0};
    for (int i = 0; i < 2; i++) {
        char text[300];
        snprintf(text, sizeof text, rows, i ? "false" : "true");
        CHECK_OK(tt_json_parse(text, strlen(text), &m.runs[i].profile));
    }
    tt_exercise_noise(&m, &out);
    CHECK(out.s && strstr(out.s, "noise: late: what is hidden is not measurable"), "%s", out.s);
    tt_text_free(&out);
    for (int i = 0; i < 2; i++) tt_json_free(m.runs[i].profile);
}

/* A part of a larger roof is less, whatever the step does; of another precision it is meant to be another roof. */
static void tells_other_roofs(void)
{
    static const char text[] = "{\"run\": {\"backend\": \"cpu\", \"precision\": \"%s\"}, \"efficiency\": "
                               "{\"gemm_flops_per_second\": %g}}";
    static const struct {
        const char *name, *precision;
        double roof;
    } of[] = {{"base", "fp32", 0.266e12}, {"same", "fp32", 0.267e12}, {"wide", "fp32", 0.413e12},
              {"half", "bf16", 2e12}};
    struct tt_exercise e = {.run_count = 4};
    struct tt_marked m = {.exercise = &e};
    struct tt_text out = {0};
    for (int i = 0; i < 4; i++) {
        char profile[200];
        e.runs[i].name = (char *)of[i].name;
        snprintf(profile, sizeof profile, text, of[i].precision, of[i].roof);
        CHECK_OK(tt_json_parse(profile, strlen(profile), &m.runs[i].profile));
    }
    tt_exercise_noise(&m, &out);
    CHECK(out.s && strstr(out.s, "noise: wide (0.413 TFLOP/s): MFU and roof % are of another measured roof than those "
                                 "of base (0.266 TFLOP/s)"), "%s", out.s ? out.s : "");
    tt_text_free(&out);
    for (int i = 0; i < 4; i++) tt_json_free(m.runs[i].profile);
}

/* What both runs have alike took longer in the second: tt compare and the check say the same of their quotient. */
static void tells_what_is_alike(void)
{
    static const char text[] =
        "{\"schema\": 1, \"run\": {\"steps\": 10, \"backend\": \"cpu\"}, \"step\": {\"seconds\": %g, \"deviation\": "
        "0.001}, \"operators\": [{\"name\": \"gemm\", \"count\": 4, \"flops\": 8, \"bytes\": 2, \"share\": %g}, "
        "{\"name\": \"%s\", \"count\": 1, \"flops\": 8, \"bytes\": 2, \"share\": 0.2}]}";
    const struct {
        double seconds, share;
        const char *words; /* NULL: nothing is said */
    } runs_of[] = {{1.3, 0.9, "noise: gain: the 1 operators that the two runs have alike took 1.46 times as "
                              "long in the second, by the median of their shares of the steps that were not recorded "
                              "(together 80.0 % of 1000 ms, then 90.0 % "
                              "of 1300 ms)"},
                   {0.92, 0.826, "runs of one program differ by about 6 % each"}, /* they took 0.95 times as long */
                   {0.88, 0.791, "the operators that both runs have alike changed too"}, /* 0.87 times */
                   {1.3, 0.6, NULL},
                   {8, 0.15, "took 1.50 times as long"}, /* a tenth of either step is enough */
                   {16, 0.08, NULL},
                   {0.4, 0.9, "the interval is 1.03 to 2.71, and how much of it is the change is open"}};
    for (size_t i = 0; i < sizeof runs_of / sizeof *runs_of; i++) {
        struct tt_question q = {.id = "gain", .kind = TT_ASK_NUMBER,
                                .answer = "slow:step.seconds / fast:step.seconds"};
        struct tt_exercise e = {
            .runs = {{.name = "slow"}, {.name = "fast"}}, .run_count = 2, .questions = &q, .question_count = 1};
        struct tt_mark mark = {.kind = TT_MARK_RIGHT};
        struct tt_marked m = {.exercise = &e, .marks = &mark};
        struct tt_text out = {0};
        char profile[600];
        for (int k = 0; k < 2; k++) {
            snprintf(profile, sizeof profile, text, k ? runs_of[i].seconds : 1, k ? runs_of[i].share : 0.8,
                     k ? "flash" : "softmax");
            CHECK_OK(tt_json_parse(profile, strlen(profile), &m.runs[k].profile));
        }
        tt_exercise_noise(&m, &out);
        CHECK(runs_of[i].words ? out.s && strstr(out.s, runs_of[i].words) : !out.n, "%d: %s", (int)i,
              out.s ? out.s : "");
        tt_text_free(&out);
        for (int k = 0; k < 2; k++) tt_json_free(m.runs[k].profile);
    }
}

/* Two runs of one program: their interval holds 1, and their noise what they differ by; not where what is beside the
 * kernels became longer. */
static void one_program_differs_by_the_machine(void)
{
    static const char text[] =
        "{\"schema\": 1, \"run\": {\"steps\": 10, \"backend\": \"cpu\"}, \"step\": {\"seconds\": %g, \"deviation\": "
        "0.001}, \"operators\": [{\"name\": \"gemm\", \"count\": 4, \"flops\": 8, \"bytes\": 2, \"share\": %g}]}";
    const struct {
        double seconds, share, drift, noise;
        bool open;
    } seconds_of[] = {{1.3, 0.9, 0.3, 0.3, true}, {1.1, 0.9, 0.1, 0.1, true}, {1.3, 0.9 / 1.3, 0, 0.0849, false}};
    for (size_t i = 0; i < sizeof seconds_of / sizeof *seconds_of; i++) {
        struct tt_json *profiles[2];
        char profile[400];
        for (int k = 0; k < 2; k++) {
            snprintf(profile, sizeof profile, text, k ? seconds_of[i].seconds : 1, k ? seconds_of[i].share : 0.9);
            CHECK_OK(tt_json_parse(profile, strlen(profile), &profiles[k]));
        }
        struct tt_formula_run two[] = {{.name = "a", .profile = profiles[0]}, {.name = "b", .profile = profiles[1]}};
        struct tt_formula_scope scope = {.runs = two, .count = 2};
        double drift = eval("drift('a', 'b')", &scope).number, noise = eval("noise('a', 'b')", &scope).number;
        double low = eval("low('b', 'a')", &scope).number, high = eval("high('b', 'a')", &scope).number;
        CHECK(fabs(drift - seconds_of[i].drift) < 1e-5 && fabs(noise - seconds_of[i].noise) < 1e-3, "%zu: %g %g", i,
              drift, noise);
        CHECK((low <= 1 && high >= 1) == seconds_of[i].open, "%zu: %g to %g", i, low, high);
        for (int k = 0; k < 2; k++) tt_json_free(profiles[k]);
    }
}

/* Formulas of a run that may have been slowed by any factor: its intervals have an end that is no number, and no
 * sentence prints one. A single step is 1e9, which checks ask for. */
static void any_factor_is_said_in_words(void)
{
    static const char text[] =
        "{\"run\": {\"backend\": \"cpu\", \"device\": \"Xeon, 2 threads\", \"steps\": %d, \"waited\": %g}, "
        "\"step\": {\"seconds\": %g, \"deviation\": %g}, "
        "\"efficiency\": {\"gemm_flops_per_second\": 4.5e10, \"roofs_load\": 0.7, "
        "\"roofs_measured\": \"2025-01-31T12:00:00Z\", \"roofs_kept\": false, \"gemm_spread\": 0.0006}}";
    char busy_text[500], quiet_text[500];
    snprintf(busy_text, sizeof busy_text, text, 3, 0.5002, 6.036, 0.02);
    snprintf(quiet_text, sizeof quiet_text, text, 5, 0.01, 0.183, 0.001);
    struct tt_json *busy, *quiet;
    CHECK_OK(tt_json_parse(busy_text, strlen(busy_text), &busy));
    CHECK_OK(tt_json_parse(quiet_text, strlen(quiet_text), &quiet));
    struct tt_formula_run two[] = {{.name = "a", .profile = busy}, {.name = "b", .profile = quiet}};
    struct tt_formula_scope scope = {.runs = two, .count = 2};
    static const struct {
        const char *formula, *word;
    } words[] = {{"interval('a', 'b')", "at most 35.78"},
                 {"interval('b', 'a')", "0.03 or more"},
                 {"interval('a', 'a')", "anything"},
                 {"noise_words('a', 'b')", "any factor, since the machine was busy"},
                 {"shares_words('a')", " The machine was busy: operations may have taken any number of times as long "
                                       "as alone."}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct tt_formula_value v = eval(words[i].formula, &scope);
        CHECK(v.kind == TT_FORMULA_WORD && !strcmp(v.word, words[i].word), "%s: %s", words[i].formula, v.word);
    }
    CHECK(eval("low('a', 'b')", &scope).number == 0 && eval("high('a', 'b')", &scope).number > 33);
    CHECK(eval("high('b', 'a') > 1 and high('b', 'a') != 1e9", &scope).number == 1, "no single step");
    CHECK(eval("slowed('a')", &scope).number == 1e9 && eval("noise('a', 'b')", &scope).number > 1);
    CHECK(eval("own(0.5, 'a') == 0 and share_low(0.5, 'a') == 0 and share_high(0.5, 'a') == 1", &scope).number == 1);
    CHECK(tt_exercise_roof_doubtful(busy) && !tt_exercise_roof_doubtful(quiet));
    CHECK(eval("roof_times('a')", &scope).number == 100 && eval("roof_times('b')", &scope).number == 1);
    tt_json_free(busy);
    tt_json_free(quiet);
}

int main(void)
{
    TEST(one_program_differs_by_the_machine);
    TEST(tells_noise);
    TEST(any_factor_is_said_in_words);
    TEST(tells_busy_runs);
    TEST(tells_impossible_ranks);
    TEST(rows_have_their_own_ranks);
    TEST(tells_one_rank_that_differs);
    TEST(tells_what_is_not_measurable);
    TEST(tells_other_roofs);
    TEST(tells_what_is_alike);
    return test_end();
}
