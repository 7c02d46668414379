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
        {"It is 733 here", NULL, "733 would count only with a unit, or with a word of what it is"}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        bool right = ask(e, r, 4, "recompute", figures[i].sentence, &m) == TT_MARK_RIGHT;
        CHECK(right ? figures[i].means && strstr(m.means, figures[i].means)
                    : figures[i].reason && strstr(m.reason, figures[i].reason),
              "%s: %s%s", figures[i].sentence, m.reason, m.means);
    }
}

/* 9997 against 5585 ms on a busy machine: right, and no gain; and more than attention could give. */
static void a_busy_quotient_is_no_gain_of_attention(void)
{
    struct tt_exercise e;
    static const char groups[] =
        "\"groups\": [{\"name\": \"attention_scores\", \"share\": 0.1, \"roof_percent\": 72.9}, {\"name\": "
        "\"attention_softmax\", \"share\": 0.1, \"roof_percent\": 15.7, \"intensity\": 3}, {\"name\": "
        "\"attention_output\", \"share\": 0.16, \"roof_percent\": 7}, {\"name\": \"optimizer\", \"share\": 0.0091}], "
        "\"operators\": [{\"name\": \"gemm\", \"group\": \"attention_output\", \"shape\": "
        "\"4096x256x256\", \"share\": 0.04}, {\"name\": \"gemm\", \"group\": "
        "\"attention_output\", \"shape\": \"32x(512x32x1024)\", \"share\": 0.12}]";
    char text[2][1200];
    struct tt_json *run[2];
    struct tt_formula_run r[4] = {{.name = "fused_long"}, {.name = "flash_long"}, {.name = "fused"}, {.name = "flash"}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/05-flash", &e));
    for (int busy = 0; busy < 2; busy++) {
        for (int i = 0; i < 2; i++) {
            snprintf(text[i], sizeof text[i],
                     "{\"run\": {\"seq_len\": 512, \"waited\": %g, \"steps\": 3}, "
                     "\"step\": {\"seconds\": %g, \"launched_seconds\": %g, \"deviation\": 0.01, "
                     "\"peak_memory_bytes\": 349175808, \"tokens_per_second\": %g}, \"memory\": {\"live_bytes\": 1e8}, "
                     "\"efficiency\": {\"plan_bytes\": 7, \"plan_flops\": 118.942e9, \"mfu_percent\": %g}, %s}",
                     busy ? 0.84 : 0.01, i ? 5.585 : 9.997, i ? 5.585 : 9.997, i ? 733 : 410.0, i ? 12.6 : 7.04,
                     groups);
            r[i].profile = run[i] = json(text[i]);
        }
        CHECK(ask(&e, r, 2, "speedup_long", "1.79", &m) == TT_MARK_RIGHT && !strstr(m.means, "busy") == !busy, "%s",
              m.means);
        CHECK(ask(&e, r, 2, "attention_percent", "36", &m) == TT_MARK_RIGHT &&
                  strstr(m.means, "at most 1.47 times as fast: the output projection, 4 % of the step") &&
                  !strstr(m.means, "Your speedup_long is above that") == !!busy && !strstr(m.means, "busy") == !busy,
              "%s", m.means);
        CHECK(ask(&e, r, 2, "attention_percent", "16", &m) == TT_MARK_WRONG && strstr(m.reason, "output alone"), "%s",
              m.reason);
        CHECK(ask(&e, r, 4, "recompute", "Undecided, since threads waited 84 % of their time", &m) ==
                  (busy ? TT_MARK_RIGHT : TT_MARK_UNKNOWN),
              "%s", m.reason);
        static const char *const said[] = {"The fused step takes 10.0 s, flash 5.6 s", "it does 118.942 GFLOP",
                                           "memory fell to 333 MiB", "softmax has 10 % of the step"};
        for (int i = 0; i < 4; i++)
            CHECK(ask(&e, r, 4, "recompute", said[i], &m) == TT_MARK_RIGHT, "%s: %s", said[i], m.reason);
        CHECK(ask(&e, r, 4, "recompute", "It is 1.79 times as fast", &m) == TT_MARK_RIGHT &&
                  !strstr(m.means, "may be far off") == !busy,
              "%s", m.means);
        static const char *const timed[] = {"softmax has 10 % of the step",
                                            "attention is 36 % of the step",
                                            "The MFU of flash_long is 12.6 %",
                                            "attention_output reaches 7.0 % of its roof",
                                            "Attention alone gains at most 1.47 times",
                                            "The step takes 5585 ms"};
        for (size_t i = 0; i < sizeof timed / sizeof *timed; i++)
            CHECK(ask(&e, r, 4, "recompute", timed[i], &m) == TT_MARK_RIGHT &&
                      !strstr(m.means, "may be far off") == !busy,
                  "%s: %s", timed[i], m.means);
        CHECK(ask(&e, r, 4, "recompute", "memory fell to 333 MiB", &m) == TT_MARK_RIGHT && !strstr(m.means, "busy") &&
                  ask(&e, r, 4, "recompute", "it does 118.942 GFLOP", &m) == TT_MARK_RIGHT && !strstr(m.means, "busy"),
              "neither is a time: %s", m.means);
        CHECK(ask(&e, r, 4, "recompute", "It takes 4.41 s less", &m) == TT_MARK_RIGHT && strstr(m.means, "(-4.412)"),
              "%s", m.means);
        CHECK(ask(&e, r, 4, "recompute", "The MFU of flash_long is 12.6 %", &m) == TT_MARK_RIGHT &&
                  strstr(m.means, "the MFU of flash_long"),
              "%s", m.reason);
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
    TEST(a_busy_quotient_is_no_gain_of_attention);
    TEST(softmax_on_paper);
    return test_end();
}
