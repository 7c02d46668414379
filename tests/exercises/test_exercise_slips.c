/* What is said of a wrong answer: the reason, and the slip that comes nearest. */
#include "tests/exercises/runs_fixture.h"

/* A right answer says what it means, a wrong one which slip it is. */
static void gives_reasons(void)
{
    struct tt_mark m;
    struct tt_yaml *slips = yaml("- is: step.kernels / 4\n  says: that is for a quarter\n- is: \"'norm'\"\n  says: "
                                 "only the second\n");
    struct tt_question q = {.kind = TT_ASK_NUMBER,
                            .answer = "step.kernels",
                            .tolerance = 0.01,
                            .slips = slips,
                            .means = "{step.kernels} kernels, {100 * fast:step.seconds} and {argmax(groups.share)}, "
                                     "{if(step.kernels > 30, 'many', 'few')}."};
    CHECK(judge(q, "40", &m) == TT_MARK_RIGHT && !strcmp(m.means, "40 kernels, 10 and ffn, many."), "%s", m.means);
    CHECK(judge(q, "10", &m) == TT_MARK_WRONG && !strcmp(m.reason, "that is for a quarter") && !m.means[0], "%s",
          m.reason);
    CHECK(m.likely && !strcmp(tt_exercise_likely(&m), "likely: "), "a number may look like that by chance");
    q.tolerance = 0.02;
    CHECK(judge(q, "10.06", &m) == TT_MARK_WRONG && !strstr(m.reason, "for a quarter"), "four digits: %s", m.reason);
    CHECK(judge(q, "10.02", &m) == TT_MARK_WRONG && strstr(m.reason, "for a quarter"), "%s", m.reason);
    q.tolerance = 0.01;
    CHECK(judge(q, "80", &m) == TT_MARK_WRONG && strstr(m.reason, "factor 2 counted double"), "%s", m.reason);
    CHECK(!m.likely && !strcmp(tt_exercise_likely(&m), ""), "it asks already");
    CHECK(judge(q, "20", &m) == TT_MARK_WRONG && strstr(m.reason, "figure of the run fast; that of slow"), "%s",
          m.reason);
    CHECK(m.known, "it is not called the answer to another question, too");
    q.answer = "slow:step.kernels / 8";
    CHECK(judge(q, "2.5", &m) == TT_MARK_WRONG && strstr(m.reason, "figure of the run fast"), "%s", m.reason);
    q.answer = "slow:step.kernels / 10";
    CHECK(judge(q, "2", &m) == TT_MARK_WRONG && !strstr(m.reason, "figure of the run"), "by chance: %s", m.reason);
    q.answer = "1 * slow:step.kernels";
    CHECK(judge(q, "20", &m) == TT_MARK_WRONG && strstr(m.reason, "figure of the run fast; that of slow"), "%s",
          m.reason);
    q.answer = "slow:step.seconds / fast:step.seconds";
    CHECK(judge(q, "1", &m) == TT_MARK_WRONG && !strstr(m.reason, "in the place of"), "a run over itself: %s",
          m.reason);
    q.answer = "slow:step.seconds / 0.249"; /* 1.004, whose reciprocal 0.99 is as little as many others */
    CHECK(judge(q, "0.99", &m) == TT_MARK_WRONG && !strstr(m.reason, "reciprocal"), "%s", m.reason);
    q.answer = "step.kernels * 5";
    q.means = "{gone:step.seconds} is not there";
    CHECK(judge(q, "200", &m) == TT_MARK_RIGHT && !m.means[0], "what is not there is not explained: %s", m.means);
    CHECK(judge(q, "70", &m) == TT_MARK_WRONG && strstr(m.reason, "too small for this run"), "%s", m.reason);
    q = (struct tt_question){.kind = TT_ASK_NUMBER, .answer = "slow:step.seconds", .tolerance = 0.01};
    CHECK(judge(q, "0.125", &m) == TT_MARK_WRONG && strstr(m.reason, "factor 2 forgotten"), "%s", m.reason);
    struct tt_yaml *quotient = yaml("- is: 100 * fast:step.seconds / 0.427\n  says: of the other one\n");
    q.slips = quotient; /* 23.4, as a table with two digits prints it */
    CHECK(judge(q, "23", &m) == TT_MARK_WRONG && !strcmp(m.reason, "of the other one"), "%s", m.reason);
    tt_yaml_free(quotient);
    struct tt_yaml *close = yaml("- is: 0.0991\n  says: the fastest\n");
    q.slips = close;
    CHECK(judge(q, "0.100", &m) == TT_MARK_WRONG && strstr(m.reason, "the run fast"), "0.1 is nearer: %s", m.reason);
    CHECK(judge(q, "0.0999", &m) == TT_MARK_WRONG && !strstr(m.reason, "the run fast"), "not it: %s", m.reason);
    CHECK(judge(q, "0.0992", &m) == TT_MARK_WRONG && !strcmp(m.reason, "the fastest"), "0.0991 is: %s", m.reason);
    tt_yaml_free(close);
    struct tt_yaml *sum = yaml("- is: 10.219\n  says: that is the sum of the kernels\n");
    q = (struct tt_question){.kind = TT_ASK_NUMBER, .answer = "39.024 * slow:step.seconds", .unit = "us",
                             .tolerance = 0.02, .slips = sum}; /* 9.756 */
    CHECK(judge(q, "10", &m) == TT_MARK_WRONG && strstr(m.reason, "rounded too far"), "a whole number: %s", m.reason);
    CHECK(judge(q, "10 us", &m) == TT_MARK_WRONG && strstr(m.reason, "rounded too far"), "%s", m.reason);
    CHECK(judge(q, "10.2", &m) == TT_MARK_WRONG && strstr(m.reason, "sum of the kernels"), "%s", m.reason);
    CHECK(judge(q, "97.56", &m) == TT_MARK_WRONG && strstr(m.reason, "10 times too large"), "%s", m.reason);
    CHECK(judge(q, "0.976", &m) == TT_MARK_WRONG && strstr(m.reason, "10 times too small"), "%s", m.reason);
    tt_yaml_free(sum);
    q = (struct tt_question){.kind = TT_ASK_CHOICE, .answer = "argmax(groups.share)", .slips = slips};
    CHECK(judge(q, "norm", &m) == TT_MARK_WRONG && !strcmp(m.reason, "only the second"), "%s", m.reason);
    CHECK(judge(q, "rope", &m) == TT_MARK_WRONG && strstr(m.reason, "says otherwise"), "%s", m.reason);
    q.answer = "'mean'";
    CHECK(judge(q, "median", &m) == TT_MARK_WRONG && !strstr(m.reason, "your run"), "no run decides it: %s", m.reason);
    q = (struct tt_question){.kind = TT_ASK_TRUTH, .answer = "1 < 2"};
    CHECK(judge(q, "false", &m) == TT_MARK_WRONG && !strstr(m.reason, "your run"), "%s", m.reason);
    CHECK(!strcmp(tt_exercise_stop("counted double?"), "") && !strcmp(tt_exercise_stop("too large"), "."));
    tt_yaml_free(slips);
}

/* A percentage as a fraction, a sign, a reciprocal, also as they are rounded; of small counts all are chance. */
static void names_slips_that_fit(void)
{
    static const struct {
        const char *answer, *unit;
        double tolerance, slack;
        const char *given, *says; /* NULL: that it is too small or too large, and nothing else */
    } cases[] = {{"1.12 * step.seconds", "%", 0.05, 0.2, "0.003", "not a fraction"}, /* 0.28 */
                 {"1.12 * step.seconds", "%", 0.05, 0.2, "0.0028", "not a fraction"},
                 {"1.12 * step.seconds", "%", 0.05, 0.2, "-0.3", "the sign"},
                 {"1.12 * step.seconds", "%", 0.05, 0.2, "-0.28 %", "the sign"},
                 {"1.12 * step.seconds", "%", 0.05, 0.2, "-0.4", NULL},
                 {"1.384 * step.seconds", "%", 0.05, 0.2, "0.003", "not a fraction"}, /* 0.346 */
                 {"1.384 * step.seconds", "%", 0.05, 0.2, "-0.3", "the sign"},
                 {"32 * step.seconds", "%", 0.05, 0, "0.1", NULL}, /* 8 */
                 {"1024 * step.seconds", "MiB", 0.05, 0, "256 GiB", "1000 times too large"},
                 {"1024 * step.seconds", "MiB", 0.05, 0, "2440", NULL},     /* 9.53 times */
                 {"1024 * step.seconds", "MiB", 0.05, 0, "2560", "10 times too large"},
                 {"12.72 * step.seconds", NULL, 0.01, 0, "0.31", "reciprocal"}, /* 3.18 */
                 {"12.72 * step.seconds", NULL, 0.01, 0, "0.3145", "reciprocal"},
                 {"12.72 * step.seconds", NULL, 0.01, 0, "0.28", NULL},
                 {"step.kernels / 20", NULL, 0, 0, "4", NULL}, /* 2 */
                 {"step.kernels / 20", NULL, 0, 0, "1", NULL},
                 {"step.kernels", NULL, 0, 0, "80", "factor 2"}};
    struct tt_mark m;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_question q = {.kind = TT_ASK_NUMBER, .answer = cases[i].answer, .unit = cases[i].unit,
                                .tolerance = cases[i].tolerance, .slack = cases[i].slack};
        CHECK(judge(q, cases[i].given, &m) == TT_MARK_WRONG && strstr(m.reason, cases[i].says ? cases[i].says
                                                                                             : "for this run"),
              "%s: %s", cases[i].given, m.reason);
    }
}

/* 39 - 2 waits are the figure of another run by chance; 3900 - 200 are not. */
static void small_differences_are_chance(void)
{
    static const char *const texts[] = {"{\"waits\": 39, \"ms\": 3900}", "{\"waits\": 1, \"ms\": 100}",
                                        "{\"waits\": 2, \"ms\": 200}"};
    struct tt_json *profiles[3];
    struct tt_formula_run three[3] = {{.name = "norm"}, {.name = "healthy"}, {.name = "patient"}};
    struct tt_formula_scope scope = {.runs = three, .count = 3};
    struct tt_question q = {
        .id = "q", .kind = TT_ASK_NUMBER, .answer = "norm:waits - healthy:waits", .tolerance = 0.01};
    struct tt_yaml given = {.kind = TT_YAML_STRING, .text = "37"};
    struct tt_mark m;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(tt_json_parse(texts[i], strlen(texts[i]), &profiles[i]));
        three[i].profile = profiles[i];
    }
    CHECK_OK(tt_exercise_judge(&q, &given, &scope, &m));
    CHECK(m.kind == TT_MARK_WRONG && !strstr(m.reason, "in the place of"), "%s", m.reason);
    q.answer = "norm:ms - healthy:ms";
    given.text = "3700";
    CHECK_OK(tt_exercise_judge(&q, &given, &scope, &m));
    CHECK(m.kind == TT_MARK_WRONG && strstr(m.reason, "what the run patient gives in the place of healthy"), "%s",
          m.reason);
    for (int i = 0; i < 3; i++) tt_json_free(profiles[i]);
}

/* Two answers to two questions for a number, which a slip, a run or the other question explains. */
static void names_what_is_nearest(void)
{
    static const struct {
        const char *answers[2], *given[2], *says[2]; /* "": nothing of the other question */
    } cases[] = {{{"0.739", "1.341"}, {"1.35", ""}, {"reciprocal", ""}},
                 {{"0.739", "1.341"}, {"1.3532", "0.7457"}, {"reciprocal", "reciprocal"}},
                 {{"0.739", "1.341"}, {"1.341", "0.739"}, {"swapped", "swapped"}},
                 {{"0.739", "1.35318"}, {"1.3532", "0.739"}, {"swapped", "swapped"}}, /* as near as the reciprocals */
                 {{"0.739", "1.354"}, {"1.3532", ""}, {"reciprocal", ""}},
                 {{"1.218", "1.256"}, {"1.25", ""}, {"too large", ""}}, /* not 1.256, as it is rounded */
                 {{"1.218", "1.256"}, {"1.26", ""}, {"too large", ""}}, /* by chance, among many quotients near 1 */
                 {{"1.218", "1.2561"}, {"1.256", ""}, {"that is the answer to b", ""}},
                 {{"1", "0"}, {"0", "1"}, {"too small", "too large"}}, /* two counts, by chance */
                 {{"1", "2"}, {"2", "1"}, {"swapped", "swapped"}}, {{"1", "2"}, {"2", ""}, {"too large", ""}},
                 {{"1.2", "1.218"}, {"1.218", ""}, {"that is the answer to b", ""}}, /* within the tolerance */
                 {{"1.2", "1.218"}, {"1.22", ""}, {"", ""}},
                 {{"1.0002", "2"}, {"2", "1"}, {"swapped", "swapped"}},
                 {{"1", "38"}, {"38", "1"}, {"swapped", "swapped"}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_question q[2] = {0};
        struct tt_mark marks[2];
        for (int j = 0; j < 2; j++) {
            q[j] = (struct tt_question){.kind = TT_ASK_NUMBER, .answer = (char *)cases[i].answers[j],
                                        .tolerance = strchr(cases[i].answers[j], '.') ? 0.02 : 0};
            judge(q[j], cases[i].given[j], &marks[j]);
        }
        q[0].id = "a", q[1].id = "b";
        struct tt_exercise e = {.questions = q, .question_count = 2};
        struct tt_marked m = {.exercise = &e, .marks = marks};
        tt_exercise_swapped(&m);
        for (int j = 0; j < 2; j++)
            CHECK(strstr(marks[j].reason, cases[i].says[j]) && (cases[i].says[j][0] || !marks[j].reason[0]),
                  "case %zu: %s", i, marks[j].reason);
    }
}

/* Three digits are a slip within half of the last one, and six a power of ten beside it to their own. */
static void near_is_not_a_slip(void)
{
    struct tt_mark m;
    struct tt_yaml *full = yaml("- is: 83.94\n  says: with all of it\n");
    struct tt_question q = {.kind = TT_ASK_NUMBER, .answer = "100 * slow:step.seconds / 0.307", .unit = "%",
                            .tolerance = 0.02, .slips = full}; /* 81.43 */
    CHECK(judge(q, "84.6", &m) == TT_MARK_WRONG && !strstr(m.reason, "with all"), "0.8 %% beside it: %s", m.reason);
    CHECK(judge(q, "83.9", &m) == TT_MARK_WRONG && strstr(m.reason, "with all"), "%s", m.reason);
    tt_yaml_free(full);
    q = (struct tt_question){.kind = TT_ASK_NUMBER, .answer = "slow:step.seconds / 0.1357", .tolerance = 0.03};
    CHECK(judge(q, "181.419", &m) == TT_MARK_WRONG && !strstr(m.reason, "100 times"), "of 1.842: %s", m.reason);
    CHECK(judge(q, "184.23", &m) == TT_MARK_WRONG && strstr(m.reason, "100 times too large"), "%s", m.reason);
    CHECK(judge(q, "184", &m) == TT_MARK_WRONG && strstr(m.reason, "100 times too large"), "%s", m.reason);
}

/* A mistake made with figures of four digits is that mistake, also within the tolerance of what is right. */
static void slips_are_worked_out(void)
{
    struct tt_mark m;
    struct tt_yaml *slips = yaml("- is: 350.461\n  says: the other utilisation\n");
    struct tt_question q = {.kind = TT_ASK_NUMBER, .answer = "340.197", .unit = "ms", .tolerance = 0.03};
    q.slips = slips;
    CHECK(judge(q, "350.42", &m) == TT_MARK_WRONG && !strcmp(m.reason, "the other utilisation"), "%s", m.reason);
    CHECK(judge(q, "350.4", &m) == TT_MARK_WRONG && !strcmp(m.reason, "the other utilisation"), "%s", m.reason);
    CHECK(judge(q, "349.9", &m) == TT_MARK_RIGHT && judge(q, "340.2", &m) == TT_MARK_RIGHT, "%s", m.reason);
    tt_yaml_free(slips);
}

int main(void)
{
    open_runs();
    TEST(near_is_not_a_slip);
    TEST(gives_reasons);
    TEST(slips_are_worked_out);
    TEST(names_slips_that_fit);
    TEST(small_differences_are_chance);
    TEST(names_what_is_nearest);
    close_runs();
    return test_end();
}
