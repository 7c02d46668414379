/* The judging of sentences: which numbers in them are figures of a run. */
#include "tests/exercises/course_fixture.h"
#include "tests/exercises/runs_fixture.h"

static void judges_sentences(void)
{
    struct tt_mark m;
    struct tt_yaml *names = yaml("- 1000 * step.seconds in ms\n- argmax(groups.share)\n- step.nothing\n");
    struct tt_question q = {.kind = TT_ASK_TEXT, .names = names};
    CHECK(judge(q, "The step takes 250 ms, too long", &m) == TT_MARK_RIGHT);
    CHECK(judge(q, "it is 0.25k of them", &m) == TT_MARK_RIGHT && judge(q, "About 252 ms.", &m) == TT_MARK_UNKNOWN);
    CHECK(judge(q, "the ffn, since it is largest", &m) == TT_MARK_RIGHT);
    CHECK(judge(q, "a sentence of many words that could have been written without any run", &m) == TT_MARK_UNKNOWN &&
              strstr(m.reason, "none of the figures"),
          "%s", m.reason);
    CHECK(judge(q, "x250 and 2500 and 25 and h250 and ffnn", &m) == TT_MARK_UNKNOWN);
    CHECK(judge(q, "250", &m) == TT_MARK_UNKNOWN && strstr(m.reason, "write a whole sentence"), "%s", m.reason);
    CHECK(judge(q, "", &m) == TT_MARK_EMPTY && !strcmp(m.right, "a sentence with 250 ms as a figure of your runs"),
          "%s", m.right);
    CHECK(judge(q, "it has 99 kernels", &m) == TT_MARK_UNKNOWN &&
          strstr(m.reason, "none of the figures that this question looks for"), "they may be the run's: %s", m.reason);
    tt_yaml_free(names);
    names = yaml("- 0 * step.seconds\n- step.kernels / 20\n- step.kernels\n");
    q.names = names;
    CHECK(judge(q, "there is 1 reason, or 3", &m) == TT_MARK_UNKNOWN, "a bare digit is no figure");
    CHECK(judge(q, "there are 2.0 of them", &m) == TT_MARK_RIGHT && judge(q, "2 of 40 kernels", &m) == TT_MARK_RIGHT);
    CHECK(judge(q, "", &m) == TT_MARK_EMPTY && !strcmp(m.right, "a sentence with 40 as a figure of your runs"), "%s",
          m.right);
    tt_yaml_free(names);
    names = yaml("- 0 * step.seconds in %\n");
    q.names = names;
    CHECK(judge(q, "I ate 55 bananas on the way there", &m) == TT_MARK_UNKNOWN, "no letter is no factor 0");
    CHECK(judge(q, "the device idles 0 % of it", &m) == TT_MARK_RIGHT);
    tt_yaml_free(names);
    names = yaml("- step.nothing\n");
    q.names = names;
    CHECK(judge(q, "no figure to name", &m) == TT_MARK_PASSED);
    tt_yaml_free(names);
}

/* "6.25 FLOP/byte", as the tables print it, are no 6.25 FLOP. */
static void takes_intensities(void)
{
    static const char *const yes[] = {"It has 6.25 FLOP/byte, below the ridge", "It has 6.25 FLOPs per byte of it",
                                      "About 6.2 FLOP per byte are little", "The intensity is 6.25, which is low"};
    static const char *const no[] = {"It has 6.25 FLOP in all", "It takes 6.25 ms a byte", "It has 7.5 FLOP/byte here"};
    struct tt_mark m;
    struct tt_yaml *names = yaml("- step.kernels * 0.15625 in FLOP/byte\n");
    struct tt_question q = {.kind = TT_ASK_TEXT, .names = names};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        CHECK(judge(q, yes[i], &m) == TT_MARK_RIGHT, "\"%s\": %s", yes[i], m.reason);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        CHECK(judge(q, no[i], &m) == TT_MARK_UNKNOWN, "\"%s\": %s", no[i], m.means);
    tt_yaml_free(names);
}

/* What only looks like a figure of the run. */
static void takes_no_other_number(void)
{
    static const char *const no[] = {
        "The step took 1e999 ms",          "it took 0xfa ms of time",         "I looked at layer 4.",
        "My 4. try, in run 7",             "The share is 250 %, a lot",       "It took 40 ms for all kernels",
        "I used 250 MB of it",             "tiles of 252x16 are good",        "On 39 machines it was slow",
        "I am 60 years old, and guess it", "See exercise 5.",                 "I am 100 % sure of it",
        "It took 250 kB of time",          "38,5 % are in it, about 40,000.",
    };
    struct tt_mark m;
    struct tt_yaml *names = yaml("- 1000 * step.seconds in ms\n- 100 * max(groups.share) in %\n- step.kernels / 40\n"
                                 "- step.kernels + 0.5\n- 1 + step.kernels\n");
    struct tt_question q = {.kind = TT_ASK_TEXT, .names = names};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        CHECK(judge(q, no[i], &m) == TT_MARK_UNKNOWN, "\"%s\": %s", no[i], m.means);
    CHECK(judge(q, "It took 0.25 s.", &m) == TT_MARK_RIGHT && judge(q, "There are 41.", &m) == TT_MARK_RIGHT);
    CHECK(strstr(m.means, "41: a figure of your runs."), "without the full stop: %s", m.means);
    tt_yaml_free(names);
}

/* A figure is the same one in every usual unit. */
static void reads_figures_in_any_unit(void)
{
    struct tt_mark m;
    struct tt_yaml *names = yaml("- 14296 * step.seconds in ms\n- 618.2 * step.kernels in bytes\n- 2.9736 * "
                                 "step.kernels in GFLOP\n- groups.share in parts as the share of {row}\n- 19.2 in %\n");
    struct tt_question q = {.kind = TT_ASK_TEXT, .names = names};
    static const char *const right[] = {
        "the step took 3.574 s in wide", "the step took 3574 ms", "a step of 3574000 \xc2\xb5s", "24.7 kB a step",
        "it copied 24,728 bytes", "0.0236 MiB are copied", "the kernels do 118.9 GFLOP", "norms take 20 % of it",
        "norms take 0.20 of the step", "MFU is 0.192",
        "gaps are 19.5 percent"};
    static const char *const wrong[] = {"the step took 3.574 ms in wide", "24.7 GB a step", "a step took 3.2 s",
                                        "the kernels do 118.9 MFLOP", "norms take 21 % of it"};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        CHECK(judge(q, right[i], &m) == TT_MARK_RIGHT, "%s: %s", right[i], m.reason);
    CHECK(!strcmp(m.means, "19.5 percent: the share of gaps. Whether the sentence is right is for people to judge."),
          "%s", m.means);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(judge(q, wrong[i], &m) == TT_MARK_UNKNOWN, "%s: %s", wrong[i], m.means);
    tt_yaml_free(names);
}

/* Where any right answer of the worksheet counts, its id says what a bare number is. */
static void a_bare_number_needs_its_question(void)
{
    static const struct {
        const char *sentence;
        bool right;
    } cases[] = {{"It takes 62.3 MiB of it", true}, {"The activations are 62.3 in all", true},
                 {"It is 62.3 in all", false},      {"activations_mib is 62.3 in all", true},
                 {"It is 1.42 times as large", false}, {"The growth is 1.42 here", true}, {"It is 1.42 here", false}};
    struct tt_figure f[] = {{.value = 62.3, .unit = tt_exercise_unit("MiB"), .from = "activations_mib"},
                            {.value = 1.42, .from = "batch_growth"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_mark m = {.kind = TT_MARK_EMPTY};
        snprintf(m.given, sizeof m.given, "%s", cases[i].sentence);
        tt_exercise_sentence(&m, f, 2, NULL);
        CHECK(cases[i].right ? m.kind == TT_MARK_RIGHT
                             : m.kind == TT_MARK_UNKNOWN && strstr(m.reason, "a word of what it is"),
              "%s: %s%s", cases[i].sentence, m.reason, m.means);
        CHECK(!strcmp(m.right, "a sentence with 62.3 MiB as activations_mib"), "%s", m.right);
    }
}

/* The figure that the line noise gives for a disturbed run counts in every sentence. A quiet run has no such figure. */
static void a_disturbed_machine_is_a_reason(void)
{
    static const struct {
        const char *run, *launch, *sentence;
        bool right;
    } cases[] = {{"\"waited\": 0.834", "", "undecided: threads waited 83 %", true},
                 {"\"waited\": 0.0134", "", "undecided: threads waited 1.34 % of their time", false},
                 {"\"waited\": 0.01, \"recorded_waited\": 0.41", "", "in the recorded steps threads waited 41 %", true},
                 {"\"load\": 5.6", "", "a load of 5.6 per processor, so it says nothing", true},
                 {"\"load\": 5.6, \"waited\": 0.01", "", "a load of 5.6 per processor, so it says nothing", false},
                 {"\"waited\": 0.01", "\"recorded_overhead\": 0.54", "recorded steps took 54 % more time", true},
                 {"\"interrupted\": 2.23", "", "operations took 2.2 times their medians", true}};
    struct tt_yaml *names = NULL;
    CHECK_OK(tt_yaml_parse("- step.kernels\n", 15, &names));
    struct tt_question q = {.id = "q", .kind = TT_ASK_TEXT, .names = names};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300];
        snprintf(text, sizeof text, "{\"run\": {\"backend\": \"%s\", %s}, \"step\": {\"kernels\": 99, \"seconds\": 1, "
                                    "\"launched_seconds\": 1}, \"launch\": {\"event_seconds\": 1e-8%s%s}}",
                 strstr(cases[i].run, "interrupted") ? "cuda" : "cpu", cases[i].run, cases[i].launch[0] ? ", " : "",
                 cases[i].launch);
        struct tt_json *run = json(text);
        struct tt_formula_run r[] = {{.name = "baseline", .profile = run}};
        struct tt_formula_scope scope = {.runs = r, .count = 1};
        struct tt_yaml given = {.kind = TT_YAML_STRING, .text = (char *)cases[i].sentence};
        struct tt_mark m;
        CHECK_OK(tt_exercise_judge(&q, &given, &scope, &m));
        CHECK((m.kind == TT_MARK_RIGHT) == cases[i].right, "%s: %s%s", cases[i].sentence, m.reason, m.means);
        CHECK_OK(tt_exercise_judge(&q, &(struct tt_yaml){0}, &scope, &m));
        CHECK(!strcmp(m.right, "a sentence with 99 as a figure of your runs"), "%s", m.right);
        tt_json_free(run);
    }
    tt_yaml_free(names);
}

int main(void)
{
    open_runs();
    TEST(judges_sentences);
    TEST(takes_intensities);
    TEST(takes_no_other_number);
    TEST(reads_figures_in_any_unit);
    TEST(a_bare_number_needs_its_question);
    TEST(a_disturbed_machine_is_a_reason);
    close_runs();
    return test_end();
}
