/* Answers as people write them: what is around a word or a number counts for nothing, and nothing else does. */
#include "tests/exercises/runs_fixture.h"

struct written {
    const char *answer;
    enum tt_mark_kind mark;
};

static void all_are(struct tt_question q, const struct written *cases, size_t n)
{
    struct tt_mark m;
    for (size_t i = 0; i < n; i++)
        CHECK(judge(q, cases[i].answer, &m) == cases[i].mark, "\"%s\" is %s: %s", cases[i].answer,
              tt_mark_names[m.kind], m.reason);
}

#define ALL_ARE(q, cases) all_are(q, cases, sizeof cases / sizeof *cases)

static void stops_and_quotes_count_for_nothing(void)
{
    static const struct written truths[] = {{"Yes.", TT_MARK_RIGHT}, {"yes!", TT_MARK_RIGHT}, {"true.", TT_MARK_RIGHT},
                                            {"'true'", TT_MARK_RIGHT}, {"\"Yes.\" ", TT_MARK_RIGHT},
                                            {"no.", TT_MARK_WRONG}, {"not true", TT_MARK_UNKNOWN},
                                            {"yes?", TT_MARK_UNKNOWN}, {".", TT_MARK_UNKNOWN}};
    static const struct written numbers[] = {{"250.", TT_MARK_RIGHT}, {"\"250\"", TT_MARK_RIGHT},
                                             {"250 ms.", TT_MARK_RIGHT}, {"not 250", TT_MARK_UNKNOWN},
                                             {"about", TT_MARK_UNKNOWN}, {"twice 125", TT_MARK_UNKNOWN}};
    struct tt_question q = {.kind = TT_ASK_TRUTH, .answer = "step.kernels == 40"};
    ALL_ARE(q, truths);
    q = (struct tt_question){.kind = TT_ASK_NUMBER, .answer = "1000 * step.seconds", .unit = "ms", .tolerance = 0.02};
    ALL_ARE(q, numbers);
}

/* Three digits behind a comma may be thousands; any other number of them is not. */
static void a_comma_may_be_a_point(void)
{
    static const struct written cases[] = {{"250,5", TT_MARK_RIGHT}, {"250,5 ms", TT_MARK_RIGHT},
                                           {"0,25 s", TT_MARK_RIGHT}, {"0,250 s", TT_MARK_RIGHT},
                                           {"25,5", TT_MARK_WRONG}, {"250,500", TT_MARK_UNKNOWN},
                                           {"250,5,5", TT_MARK_UNKNOWN}, {"1.250,5", TT_MARK_UNKNOWN}};
    struct tt_question q = {.kind = TT_ASK_NUMBER, .answer = "1000 * step.seconds", .unit = "ms", .tolerance = 0.02};
    struct tt_mark m;
    ALL_ARE(q, cases);
    judge(q, "1,250", &m);
    CHECK(strstr(m.reason, "write 1.250, or 1250 if the comma marks thousands"), "%s", m.reason);
    q = (struct tt_question){.kind = TT_ASK_INTERVAL, .at_least = "1", .at_most = "2"};
    CHECK(judge(q, "1,02 to 1,10", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(judge(q, "1,02 bis 1,10", &m) == TT_MARK_UNKNOWN && strstr(m.reason, "like 1.1 to 1.3"), "%s", m.reason);
}

static void a_number_may_have_its_noun(void)
{
    static const struct written kernels[] = {{"40 kernels", TT_MARK_RIGHT}, {"40 Kernels.", TT_MARK_RIGHT},
                                             {"40 kernel", TT_MARK_RIGHT}, {"40 products", TT_MARK_UNKNOWN},
                                             {"40 kernels less", TT_MARK_UNKNOWN}, {"not 40 kernels", TT_MARK_UNKNOWN},
                                             {"39 kernels", TT_MARK_WRONG}};
    static const struct written large[] = {{"4.19 million", TT_MARK_RIGHT}, {"4.19M", TT_MARK_RIGHT},
                                           {"4,19 M", TT_MARK_RIGHT}, {"4.19 million parameters", TT_MARK_RIGHT},
                                           {"4190464 parameters", TT_MARK_RIGHT}, {"4190 thousand", TT_MARK_RIGHT},
                                           {"4.19 billion", TT_MARK_WRONG}, {"4.18 million", TT_MARK_WRONG},
                                           {"4.19 trillions", TT_MARK_UNKNOWN}};
    static const struct written waits[] = {{"40 waits", TT_MARK_RIGHT}, {"40 steps", TT_MARK_UNKNOWN}};
    struct tt_question q = {.kind = TT_ASK_NUMBER, .answer = "step.kernels",
                            .text = (char *)"How many kernels does a step start?"};
    ALL_ARE(q, kernels);
    q.text = (char *)"norm: host waits of all steps";
    ALL_ARE(q, waits);
    q.answer = "4190464", q.text = (char *)"How many parameters has the model?", q.tolerance = 0.001;
    ALL_ARE(q, large);
}

static void a_choice_has_other_words(void)
{
    static const struct written sides[] = {{"compute-bound", TT_MARK_RIGHT}, {"compute bound.", TT_MARK_RIGHT},
                                           {"the compute one", TT_MARK_RIGHT}, {"memory-bound", TT_MARK_WRONG},
                                           {"uncertain", TT_MARK_WRONG}, {"not compute", TT_MARK_UNKNOWN},
                                           {"compute or memory", TT_MARK_UNKNOWN}, {"bound", TT_MARK_UNKNOWN}};
    static const struct written rules[] = {{"ln V", TT_MARK_RIGHT}, {"ln(V)", TT_MARK_RIGHT}, {"log V.", TT_MARK_RIGHT},
                                           {"V", TT_MARK_UNKNOWN}, {"ln 0", TT_MARK_UNKNOWN}};
    static const struct written open[] = {{"uncertain", TT_MARK_RIGHT}, {"undecided", TT_MARK_RIGHT},
                                          {"compute", TT_MARK_WRONG}};
    struct tt_yaml *choices = yaml("[compute, memory, undecided]"), *laws = yaml("[ln(vocabulary), \"0\"]");
    struct tt_yaml *words = yaml("ln(vocabulary): [ln(V), log(V)]\n"), *two = yaml("[compute, memory]");
    struct tt_question q = {.kind = TT_ASK_CHOICE, .answer = "'compute'", .choices = choices};
    struct tt_mark m;
    ALL_ARE(q, sides);
    q.answer = "'undecided'";
    ALL_ARE(q, open);
    q.choices = two;
    CHECK(judge(q, "uncertain", &m) == TT_MARK_UNKNOWN, "%s", m.reason);
    q = (struct tt_question){.kind = TT_ASK_CHOICE, .answer = "'ln(vocabulary)'", .choices = laws, .words = words};
    ALL_ARE(q, rules);
    for (int i = 0; i < 4; i++) tt_yaml_free((struct tt_yaml *[]){choices, laws, words, two}[i]);
}

/* "rank_0" is another rank, and not too small. */
static void names_are_not_compared(void)
{
    struct tt_question q = {.kind = TT_ASK_NUMBER, .answer = "1", .text = (char *)"Which rank is the slowest?"};
    static const char *const others[] = {"rank_0", "rank_2", "10", "-1"};
    struct tt_mark m;
    CHECK(judge(q, "rank_1", &m) == TT_MARK_RIGHT && judge(q, "1", &m) == TT_MARK_RIGHT, "%s", m.reason);
    for (int i = 0; i < 4; i++)
        CHECK(judge(q, others[i], &m) == TT_MARK_WRONG && !strcmp(m.reason, "your run says otherwise"), "%s: %s",
              others[i], m.reason);
}

/* A number is about what it is, in whatever unit of its kind; a quotient may be in percent where it is right so. */
static void a_number_may_be_about(void)
{
    static const struct written times[] = {{"~250", TT_MARK_RIGHT}, {"~ 250 ms", TT_MARK_RIGHT},
                                           {"about 250", TT_MARK_RIGHT}, {"\xe2\x89\x88 250", TT_MARK_RIGHT},
                                           {"250000000 ns", TT_MARK_RIGHT}, {"about 2500", TT_MARK_WRONG},
                                           {"about half", TT_MARK_UNKNOWN}, {"250 %", TT_MARK_UNKNOWN}};
    static const struct written quotients[] = {{"250 %", TT_MARK_RIGHT}, {"249.9%", TT_MARK_RIGHT},
                                               {"2.5", TT_MARK_RIGHT}, {"150 %", TT_MARK_UNKNOWN},
                                               {"2.5 %", TT_MARK_UNKNOWN}};
    static const struct written counts[] = {{"4000 %", TT_MARK_UNKNOWN}};
    struct tt_question q = {.kind = TT_ASK_NUMBER, .answer = "1000 * step.seconds", .unit = "ms", .tolerance = 0.02};
    struct tt_mark m;
    ALL_ARE(q, times);
    q = (struct tt_question){.kind = TT_ASK_NUMBER, .answer = "slow:step.seconds / fast:step.seconds",
                             .tolerance = 0.01};
    ALL_ARE(q, quotients);
    q = (struct tt_question){.kind = TT_ASK_NUMBER, .answer = "step.kernels"};
    ALL_ARE(q, counts);
    q = (struct tt_question){.kind = TT_ASK_INTERVAL, .at_least = "1", .at_most = "2"};
    CHECK(judge(q, "~1.1 to about 1.3", &m) == TT_MARK_RIGHT, "%s", m.reason);
}

/* A tensor may be named without the end that all of them have. */
static void a_weight_may_lack_its_end(void)
{
    static const char text[] = "{\"gradients\": [{\"name\": \"layers.2.w2.weight\", \"norm\": 0}, {\"name\": "
                               "\"layers.2.w.weight\", \"norm\": 1}]}";
    static const struct written names[] = {{"layers.2.w2", TT_MARK_RIGHT}, {"layers.2.w2.weight", TT_MARK_RIGHT},
                                           {"layers.2.w", TT_MARK_WRONG}, {"w2", TT_MARK_UNKNOWN},
                                           {"layers.2", TT_MARK_UNKNOWN}};
    struct tt_json *j = NULL;
    const struct tt_json *kept = runs[0].profile;
    CHECK_OK(tt_json_parse(text, strlen(text), &j));
    runs[0].profile = j;
    struct tt_question q = {.kind = TT_ASK_CHOICE, .answer = "argmin(gradients.norm)"};
    ALL_ARE(q, names);
    runs[0].profile = kept;
    tt_json_free(j);
}

int main(void)
{
    open_runs();
    TEST(stops_and_quotes_count_for_nothing);
    TEST(a_comma_may_be_a_point);
    TEST(a_number_may_have_its_noun);
    TEST(a_choice_has_other_words);
    TEST(names_are_not_compared);
    TEST(a_number_may_be_about);
    TEST(a_weight_may_lack_its_end);
    close_runs();
    return test_end();
}
