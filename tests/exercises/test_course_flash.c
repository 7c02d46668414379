/* The sentences of exercise 5, of a quiet and of a busy machine, and its softmax on paper. */
#include "tests/exercises/course_fixture.h"

/* What the reply says of a number is of the run that has it, whatever the sentence says. */
static void sentences_hold_figures(struct tt_exercise *e, struct tt_formula_run *r)
{
    struct tt_mark m;
    static const struct {
        const char *sentence, *means, *reason;
    } figures[] = {
        {"attention_scores reaches 72.9 % of its roof", "72.9 %: what attention_scores reaches of its roof", NULL},
        {"The roof of attention_softmax is 15.7 %", "15.7 %: what attention_softmax reaches of its roof", NULL},
        {"attention_scores reaches 15.7 % of its roof", "15.7 %: what attention_softmax reaches of its roof", NULL},
        {"flash_long makes 733 tokens/s", "733: the tokens a second of flash_long", NULL},
        {"fused_long makes 733 tokens/s", "733: the tokens a second of flash_long", NULL},
        {"fused takes 5585 ms", "5585 ms: the step of flash_long. ", NULL},
        {"flash is 1.79 times as fast as fused", "1.79: how many times as fast as fused_long flash_long is", NULL},
        {"It takes 5585 ms and 900 MiB", "the step of flash_long; 900 MiB: none that this question looks for", NULL},
        {"The MFU of fused_long and flash_long is 7.04 % and 12.6 %",
         "7.04 %: the MFU of fused_long; 12.6 %: the MFU of flash_long", NULL},
        {"optimizer takes 0.9 % of the step", "0.9 %: the share of optimizer", NULL},
        {"It takes 0.9 % of the step", NULL, "none of"},
        {"attention_softmax takes 0.9 %", NULL, "none of"},
        {"5585 ms (flash) and 9997 ms (fused) a step",
         "5585 ms: the step of flash_long; 9997 ms: the step of fused_long", NULL},
        {"It is 733 here", NULL, "733 counts only as a figure that this question looks for"}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        bool right = ask(e, r, 4, "recompute", figures[i].sentence, &m) == TT_MARK_RIGHT;
        CHECK(right ? figures[i].means && strstr(m.means, figures[i].means)
                    : figures[i].reason && strstr(m.reason, figures[i].reason),
              "%s: %s%s", figures[i].sentence, m.reason, m.means);
    }
}

/* The same answers are right in quiet and in busy runs, and mean the same apart from the interval. */
static void attention_is_judged_by_what_was_measured(void)
{
    static const char format[] =
        "{\"run\": {\"device\": \"c, 1 thread\", \"seq_len\": 512, \"waited\": %g, \"steps\": 3}, "
        "\"step\": {\"seconds\": %g, \"launched_seconds\": %g, \"deviation\": 0.01, "
        "\"peak_memory_bytes\": 349175808, \"tokens_per_second\": %g}, \"memory\": {\"live_bytes\": 1e8}, "
        "\"efficiency\": {\"plan_bytes\": 7, \"plan_flops\": 118.942e9, \"mfu_percent\": %g}, "
        "\"groups\": [{\"name\": \"attention_scores\", \"share\": 0.1, \"roof_percent\": 72.9}, {\"name\": "
        "\"attention_softmax\", \"share\": 0.1, \"roof_percent\": 15.7, \"intensity\": 3}, {\"name\": "
        "\"attention_output\", \"share\": 0.16, \"roof_percent\": 7}, {\"name\": \"optimizer\", \"share\": 0.0091}], "
        "\"operators\": [{\"name\": \"gemm\", \"group\": \"attention_output\", \"shape\": "
        "\"4096x256x256\", \"share\": 0.04}, {\"name\": \"gemm\", \"group\": "
        "\"attention_output\", \"shape\": \"32x(512x32x1024)\", \"share\": 0.12}]}";
    static const char limit[] = "at most 1.47 times as fast: the output projection, 4 % of the step in "
                                "attention_output, stays. What is more than that in speedup_long is noise, or no gain";
    static const char *const said[] = {"The fused step takes 10.0 s, flash 5.6 s", "it does 118.942 GFLOP",
                                       "memory fell to 333 MiB", "softmax has 10 % of the step",
                                       "It is 1.79 times as fast", "attention is 36 % of the step",
                                       "The MFU of flash_long is 12.6 %", "attention_output reaches 7.0 % of its roof",
                                       "Attention alone gains at most 1.47 times", "The step takes 5585 ms"};
    struct tt_exercise e;
    struct tt_formula_run r[4] = {{.name = "fused_long"}, {.name = "flash_long"}, {.name = "fused"}, {.name = "flash"}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/05-flash", &e));
    for (int busy = 0; busy < 2; busy++) {
        struct tt_json *run[2];
        for (int i = 0; i < 2; i++) {
            char text[1500];
            snprintf(text, sizeof text, format, busy ? 0.84 : 0.01, i ? 5.585 : 9.997, i ? 5.585 : 9.997,
                     i ? 733 : 410.0, i ? 12.6 : 7.04);
            r[i].profile = run[i] = json(text);
        }
        const struct asked q[] = {
            {"speedup_long", "1.79", TT_MARK_RIGHT,
             busy ? "The interval is 0.02 to " : "The interval is 1.76 to 1.82. Launched one by one the"},
            {"attention_percent", "36", TT_MARK_RIGHT, limit},
            {"attention_percent", "16", TT_MARK_WRONG, "output alone"},
            {"recompute", "Undecided, since threads waited 84 % of their time", busy ? TT_MARK_RIGHT : TT_MARK_UNKNOWN,
             NULL},
            {"recompute", "It takes 4.41 s less", TT_MARK_RIGHT, "(-4.412)"}};
        ask_all("exercises/05-flash", r, 4, q, sizeof q / sizeof *q);
        for (size_t i = 0; i < sizeof said / sizeof *said; i++)
            CHECK(ask(&e, r, 4, "recompute", said[i], &m) == TT_MARK_RIGHT && !strstr(m.means, "busy") &&
                  !strstr(m.means, "far off"), "%s: %s%s", said[i], m.reason, m.means);
        sentences_hold_figures(&e, r);
        for (int i = 0; i < 2; i++) tt_json_free(run[i]);
    }
    tt_exercise_free(&e);
}

/* Two decimals are enough, and one is not. */
static void softmax_on_paper(void)
{
    struct tt_exercise e;
    struct tt_formula_run *r = NULL;
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/05-flash", &e));
    CHECK(ask(&e, r, 0, "online_shrink", "0.135", &m) == TT_MARK_RIGHT && ask(&e, r, 0, "online_shrink", "0.14", &m) ==
          TT_MARK_RIGHT && ask(&e, r, 0, "online_shrink", "0.13", &m) == TT_MARK_WRONG, "two decimals: %s", m.reason);
    CHECK(ask(&e, r, 0, "online_l", "1.14", &m) == TT_MARK_RIGHT && ask(&e, r, 0, "online_l", "1.1", &m) ==
          TT_MARK_WRONG && ask(&e, r, 0, "online_final", "1.2", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(ask(&e, r, 0, "online_l", "1", &m) == TT_MARK_WRONG && strstr(m.reason, "the largest score alone"), "%s",
          m.reason);
    tt_exercise_free(&e);
}

int main(void)
{
    TEST(attention_is_judged_by_what_was_measured);
    TEST(softmax_on_paper);
    return test_end();
}
