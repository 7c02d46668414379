/* The judging of sentences by the words around a number: of which run it is said, of which row, and which way round. */
#include "tests/exercises/runs_fixture.h"

struct said {
    const char *sentence, *says; /* NULL: it is right */
};

static void check_said(const char *rows, const struct said *cases, size_t n)
{
    struct tt_yaml *names = yaml(rows);
    struct tt_question q = {.kind = TT_ASK_TEXT, .names = names};
    struct tt_mark m;
    for (size_t i = 0; i < n; i++) {
        enum tt_mark_kind kind = judge(q, cases[i].sentence, &m);
        CHECK(cases[i].says ? kind == TT_MARK_UNKNOWN && strstr(m.reason, cases[i].says) : kind == TT_MARK_RIGHT,
              "%s: %s%s", cases[i].sentence, m.reason, m.means);
    }
    tt_yaml_free(names);
}

/* A figure of one run that is said of another; plain words that happen to be the names of runs are none. */
static void a_figure_is_of_its_run(void)
{
    static const char other[] = "250 is taken for the step of slow, and the sentence says it of fast";
    static const struct said cases[] = {
        {"The step of slow takes 250 ms", NULL}, {"The step of fast takes 250 ms", other},
        {"fast takes 250 ms", other}, {"fast spent 250 ms", other},
        {"In fast it is 250 ms", other}, {"fast's step is 250 ms", other},
        {"The step takes 250 ms, that of fast less", NULL}, {"slow takes 250 ms and fast 100 ms", NULL},
        {"250 ms instead of the 100 of fast", NULL},
        {"fast makes it in 250 ms", other}, {"The fast step takes 250 ms", other},
        {"It falls from 250 ms to 100 ms in fast", NULL}, {"It is not as fast: 250 ms", NULL},
        {"A fast step is not one of 250 ms", NULL}, {"The step is as long as that of fast: 250 ms", NULL}};
    check_said("- 1000 * slow:step.seconds in ms as the step of slow\n", cases, sizeof cases / sizeof *cases);
}

/* A name before that of a row is a run, and "the memory of slow" is what another is compared with. */
static void a_run_stands_before_a_row(void)
{
    static const struct said cases[] = {{"slow swiglu_down 25 %", NULL},
                                        {"fast swiglu_down 25 %", "says it of fast"},
                                        {"in slow, fast swiglu_down is less than 25 %", NULL},
                                        {"fast enough with 25 %", NULL}};
    static const struct said bytes[] = {{"slow moves 2 times the bytes of fast", NULL},
                                        {"fast moves 2 times the bytes of slow", "the other way round"}};
    check_said("- 100 * slow:step.seconds in % as the share of swiglu_down in slow\n", cases,
               sizeof cases / sizeof *cases);
    check_said("- is: slow:step.kernels / fast:step.kernels as how many times the bytes of fast slow moves\n"
               "  change: times more than fast\n", bytes, 1);
    check_said("- is: slow:step.kernels / fast:step.kernels as how many times the bytes of fast slow moves\n"
               "  change: times fewer than slow\n", bytes + 1, 1);
}

static void a_figure_is_of_its_row(void)
{
    static const struct said cases[] = {
        {"ffn takes 50 % of it", NULL}, {"norm takes 50 % of it", "the share of ffn, and the sentence says it of norm"},
        {"norm takes 20 % of it, ffn more", NULL}, {"Half of it, 50 %, is there", NULL},
        {"rope and norm take 20 %", NULL}};
    static const struct said one[] = {{"norm takes 20 % of it", NULL}, {"ffn takes 20 % of it", "says it of ffn"}};
    check_said("- groups.share in parts as the share of {row}\n", cases, sizeof cases / sizeof *cases);
    check_said("- 100 * groups[norm].share in % as the share of norm\n- groups.share in parts as the share of {row}\n",
               one, sizeof one / sizeof *one);
    static const struct said near[] = {
        {"norm reaches 88.2 % of its roof", NULL},
        {"norm reaches 87.3 % of its roof", "what ffn reaches of its roof, and the sentence says it of norm"},
        {"ffn reaches 87.3 % of its roof", NULL}};
    check_said("- 88 + 0 * groups[norm].share in % as what norm reaches of its roof\n"
               "- 87.3 + 0 * groups[ffn].share in % as what ffn reaches of its roof\n",
               near, sizeof near / sizeof *near);
}

/* What is more is not fewer, and what is twice as fast is not twice as long, from whichever side it is said. */
static void a_change_has_a_direction(void)
{
    static const char opposite[] = "in your runs that is the opposite of";
    static const struct said kernels[] = {
        {"It has 20 fewer kernels", NULL}, {"It has 20 more kernels", opposite}, {"slow has 20 kernels more", NULL},
        {"There are 20 kernels of difference", NULL}, {"It has no more than 20 kernels less", NULL},
        {"The rest is larger, and 20 kernels are gone", NULL}};
    static const struct said times[] = {{"It is 2.5 times as fast", NULL},
                                        {"It is 2.5 times faster", NULL},
                                        {"It is 2.5 times slower", opposite},
                                        {"It takes 2.5 times as long", "of the time, of which it is the reciprocal"},
                                        {"slow is 2.5 times slower than fast", NULL},
                                        {"slow is 2.5 times faster than fast", opposite},
                                        {"slow takes 2.5 times as long", NULL},
                                        {"It is 2.5 times slower in the run slow", NULL},
                                        {"It is not 2.5 times slower", NULL}};
    static const struct said speed[] = {
        {"It has 150 % more throughput", NULL}, {"It has 150 % less throughput", opposite},
        {"It is 150 % faster", NULL}, {"It takes 150 % more time", opposite}, {"It is 150 % slower", opposite}};
    static const struct said parts[] = {
        {"It takes 60 % less time", NULL}, {"It has 60 % less throughput", opposite},
        {"It takes 60 % more time", opposite}, {"It is 60 % slower", opposite}};
    check_said("- is: fast:step.kernels - slow:step.kernels as the kernels of fast minus those of slow\n"
               "  with: [kernel|kernels]\n  change: more than slow\n", kernels, sizeof kernels / sizeof *kernels);
    check_said("- is: slow:step.seconds / fast:step.seconds as how many times as fast as slow fast is\n"
               "  change: times faster than slow\n", times, sizeof times / sizeof *times);
    check_said("- is: 100 * (slow:step.seconds / fast:step.seconds - 1) in % as the speed of fast over that of slow\n"
               "  change: faster than slow\n", speed, sizeof speed / sizeof *speed);
    check_said("- is: 100 * (fast:step.seconds / slow:step.seconds - 1) in % as the step of fast over that of slow\n"
               "  change: longer than slow\n", parts, sizeof parts / sizeof *parts);
}

/* A quotient is of speeds or of times, and no change; the words may stand before a comma or colon. `rows`: both
 * quotients and both changes of fast, or of slow where that is the run that is changed. */
static void a_quotient_is_said_of_speed_or_time(void)
{
    static const char reciprocal[] = "reciprocal", opposite[] = "opposite", change[] = "a change of",
                      quotient[] = "a quotient of";
    static const struct said faster[] = {{"It is faster: 2.5 times", NULL},
                                         {"It is slower: 2.5 times", opposite},
                                         {"It is slower: 0.40 times", reciprocal},
                                         {"It is slower, 0.40x", reciprocal},
                                         {"It is slower than slow (0.40x)", opposite},
                                         {"It takes 0.40 times the time", NULL},
                                         {"It takes 0.40 as long as slow", NULL},
                                         {"It is 0.40 times as fast", "of the speed, of which it is the reciprocal"},
                                         {"The speed-up is 0.40x", reciprocal},
                                         {"It is 0.40 times faster", reciprocal},
                                         {"It takes 2.5 times the time of slow", reciprocal},
                                         {"slow takes 2.5 times as long", NULL},
                                         {"It is 250 % as fast", NULL},
                                         {"It is 250 % faster", change},
                                         {"It is 150 % faster", NULL},
                                         {"It is 150 % as fast", quotient},
                                         {"It takes 40 % of the time", NULL},
                                         {"It takes 40 % less time", change},
                                         {"It is 60 % faster", "a change of the speed"},
                                         {"It takes 60 % less time", NULL},
                                         {"It is slower: 60 %", opposite},
                                         {"It is not slower: 2.5 times", NULL},
                                         {"It is not faster: 2.5 times", "the opposite of \"not faster\""},
                                         {"It is not 2.5 times as fast", "in your runs it is that"},
                                         {"It is not 2.5 times as long", NULL},
                                         {"It is slower at first, but 2.5 times as fast then", NULL},
                                         {"It is no faster than 2.5 times", NULL}};
    static const struct said slower[] = {{"It is slower: 0.40 times", NULL},
                                         {"It is slower: 0.40x", NULL},
                                         {"It is faster: 0.40 times", opposite},
                                         {"It is 0.40 times as fast", NULL},
                                         {"It is 2.5 times as fast", reciprocal},
                                         {"It takes 2.5 times as long", NULL},
                                         {"It is 2.5 times slower", NULL},
                                         {"It takes 0.40 times as long", reciprocal},
                                         {"It is 60 % slower", NULL},
                                         {"It is 150 % slower", NULL},
                                         {"It is 40 % slower", change},
                                         {"It takes 60 % more time", change},
                                         {"It takes 150 % more time", NULL},
                                         {"It has 60 % less throughput", NULL},
        {"The speed falls to 40 %", NULL},
        {"The speed falls to 60 %", quotient}};
    static const char rows[] =
        "- is: %s:step.seconds / %s:step.seconds as the speed of %s over that of %s\n  change: times faster than %s\n"
        "- is: %s:step.seconds / %s:step.seconds in parts as the step of %s over that of %s\n  change: times longer "
        "than %s\n"
        "- is: 100 * (%s:step.seconds / %s:step.seconds - 1) in %% as the speed of %s over that of %s less 1\n  "
        "change: faster than %s\n"
        "- is: 100 * (%s:step.seconds / %s:step.seconds - 1) in %% as the step of %s over that of %s less 1\n  change: "
        "longer than %s\n"
        "- 2.51 as the limit\n- 75 in %% as the share of norm\n";
    char text[1000];
    for (int i = 0; i < 2; i++) {
        const char *a = i ? "fast" : "slow", *b = i ? "slow" : "fast";
        snprintf(text, sizeof text, rows, a, b, b, a, a, b, a, b, a, a, a, b, b, a, a, b, a, b, a, a);
        check_said(text, i ? slower : faster, i ? sizeof slower / sizeof *slower : sizeof faster / sizeof *faster);
    }
}

/* Of two figures that fit, the sentence's own word refuses, and else the nearer one is named. */
static void a_figure_by_chance_excuses_nothing(void)
{
    static const struct said cases[] = {{"It is 2.5 times as fast", NULL},
                                        {"At most 2.5 times", NULL},
                                        {"It takes 2.5 times as long", "reciprocal"},
                                        {"It is 2.5 times slower", "opposite"},
                                        {"It takes 2.5 times the time", "reciprocal"}};
    static const char *const rows[] = {
        "- 2.51 as the limit\n- is: slow:step.seconds / fast:step.seconds as how many times as fast as slow fast is\n"
        "  change: times faster than slow\n",
        "- is: slow:step.seconds / fast:step.seconds as how many times as fast as slow fast is\n"
        "  change: times faster than slow\n- 2.51 as the limit\n"};
    for (int i = 0; i < 2; i++) check_said(rows[i], cases, sizeof cases / sizeof *cases);
    for (int i = 0; i < 2; i++) {
        struct tt_yaml *names = yaml(rows[i]);
        struct tt_question q = {.kind = TT_ASK_TEXT, .names = names};
        struct tt_mark m;
        CHECK(judge(q, "It is 2.50 times as fast", &m) == TT_MARK_RIGHT && strstr(m.means, "how many times"), "%s",
              m.means);
        CHECK(judge(q, "At most 2.51 times as fast", &m) == TT_MARK_RIGHT && strstr(m.means, "the limit"), "%s",
              m.means);
        tt_yaml_free(names);
    }
}

/* A number without what it is of is no evidence, and the reply says what it is. */
static void a_figure_needs_its_noun(void)
{
    static const struct said cases[] = {
        {"The loss is 0.25 now", NULL}, {"The price is 0.25 dollars", "0.25 is taken for the loss of slow, and the"},
        {"It ends at 0.25", "name what the figure is of"}, {"The memory is 0.25", "name what the figure is of"},
        {"The memory of the loss is 0.25", NULL}, {"It took 0.26 years", "none of the figures"}};
    check_said("- is: slow:step.seconds as the loss of slow\n  noun: loss|losses\n", cases,
               sizeof cases / sizeof *cases);
}

/* Shares, roofs, MFU and quotients lie close together: the words beside the number say which of them it is. */
static void a_figure_is_of_its_quantity(void)
{
    static const char name_it[] = "the sentence does not say it of that: name what the figure is of";
    static const struct said cases[] = {
        {"norm takes 20 % of the step", NULL},
        {"The share of norm is 20 %", NULL},
        {"norm reaches 20 % of its roof", "none of"},
        {"norm reaches 20.0 % of its roof", name_it},
        {"The MFU of norm is 20.0 %", name_it},
        {"norm reaches 37.5 % of its roof", NULL},
        {"The share of norm is 37.5 %", name_it},
        {"norm takes 37.5 % of the step", name_it},
        {"norm takes 37.5 % in slow", name_it},
        {"It is 37.5 % slower in norm", name_it},
        {"It is 37.5 times as fast", name_it},
        {"It makes 40.3 tokens a second", NULL},
        {"It starts 40.3 kernels", name_it},
        {"It is 2.5 times as fast", NULL},
        {"It has 2.50 times the kernels", name_it},
        {"Its memory is 2.50 times as large", name_it},
        {"It does 2.50 times the FLOPs", name_it},
        {"With fewer FLOPs it is 2.50 times as fast", NULL}};
    check_said("- groups.share in parts as the share of {row}\n- 37.5 in % as what norm reaches of its roof\n"
               "- 40.3 as the tokens a second of slow\n"
               "- is: slow:step.seconds / fast:step.seconds as how many times as fast as slow fast is\n"
               "  change: times faster than slow\n",
               cases, sizeof cases / sizeof *cases);
}

/* Without a unit, and without a word of what it is, a number may be anything. */
static void a_bare_number_needs_a_word(void)
{
    static const char name_it[] = "name what the figure is of";
    static const struct said cases[] = {
        {"It is 19.5 now", name_it}, {"The share is 19.5 now", NULL}, {"gaps has 19.5 now", NULL},
        {"It is 19.5 % now", NULL},  {"It is 0.195 now", name_it},    {"0.195 of the step is idle", NULL},
        {"It is 333.3 now", name_it}, {"It is 333.3 MiB now", NULL},   {"The memory is 333.3 now", NULL},
        {"It is 2.50 now", name_it}, {"It is 2.50x now", NULL},       {"It is faster by 2.50 now", NULL},
        {"It is 40.3 now", name_it}, {"40.3 tokens each second", NULL}};
    check_said("- groups.share in parts as the share of {row}\n- 333.3 in MiB as the peak memory of slow\n"
               "- 40.3 as the tokens a second of slow\n"
               "- is: slow:step.seconds / fast:step.seconds as how many times as fast as slow fast is\n"
               "  change: times faster than slow\n",
               cases, sizeof cases / sizeof *cases);
}

/* Runs that nobody can tell apart are neither faster nor slower, and a figure of them may be said so. */
static void what_noise_leaves_open_may_be_denied(void)
{
    static const char text[] = "{\"run\": {\"backend\": \"cpu\", \"load\": 0.1, \"waited\": 0, \"steps\": 3}, "
                               "\"step\": {\"seconds\": %g, \"deviation\": 0.004}, \"samples\": ["
                               "{\"seconds\": %g}, {\"seconds\": %g}, {\"seconds\": %g}]}";
    static const char rows[] = "- is: slow:step.seconds / fast:step.seconds as how many times as fast as slow fast is\n"
                               "  change: times faster than slow\n";
    static const struct said open[] = {{"It is not faster: 1.04 times", NULL},
                                       {"It is not slower: 1.04 times", NULL},
                                       {"It is faster: 1.04 times", NULL},
                                       {"It is slower: 1.04 times", "opposite"}},
                             decided[] = {{"It is not faster: 2.08 times", "opposite"},
                                          {"It is not slower: 2.08 times", NULL}};
    for (int i = 0; i < 2; i++) {
        char of_slow[400], of_fast[400];
        double x = i ? 2 : 1;
        snprintf(of_slow, sizeof of_slow, text, 0.104 * x, 0.1 * x, 0.104 * x, 0.108 * x);
        snprintf(of_fast, sizeof of_fast, text, 0.1, 0.096, 0.1, 0.104);
        struct tt_json *near[2];
        CHECK_OK(tt_json_parse(of_slow, strlen(of_slow), &near[0]));
        CHECK_OK(tt_json_parse(of_fast, strlen(of_fast), &near[1]));
        for (int k = 0; k < 2; k++) runs[k].profile = near[k];
        check_said(rows, i ? decided : open, i ? 2 : 4);
        for (int k = 0; k < 2; k++) runs[k].profile = owned[k], tt_json_free(near[k]);
    }
}

int main(void)
{
    open_runs();
    TEST(a_figure_is_of_its_run);
    TEST(a_run_stands_before_a_row);
    TEST(a_figure_is_of_its_row);
    TEST(a_change_has_a_direction);
    TEST(a_quotient_is_said_of_speed_or_time);
    TEST(a_figure_by_chance_excuses_nothing);
    TEST(a_figure_needs_its_noun);
    TEST(a_figure_is_of_its_quantity);
    TEST(a_bare_number_needs_a_word);
    TEST(what_noise_leaves_open_may_be_denied);
    close_runs();
    return test_end();
}
