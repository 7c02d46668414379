/* Questions on losses: only runs that measured as many steps have the same learning rates, and so the same losses. */
#include "tests/exercises/course_fixture.h"

/* Two losses, the first of which does not depend on the learning rate. "null": it is no number. */
static struct tt_json *run_of(int steps, int warmup, const char *second)
{
    char text[400];
    snprintf(text, sizeof text,
             "{\"run\": {\"backend\": \"cpu\", \"steps\": %d, \"warmup\": %d}, \"step\": {\"loss\": 1}, \"samples\": ["
             "{\"step\": 1, \"loss\": 6.9}, {\"step\": 2, \"loss\": %s}]}", steps, warmup, second);
    return json(text);
}

static const struct {
    const char *exercise, *id, *first, *second, *yes, *no;
} questions[] = {{"exercises/03-bottlenecks", "gate_accuracy", "baseline", "fused", "holds", "fails"},
                 {"exercises/04-fused", "same_accuracy", "baseline", "fused", "true", "false"},
                 {"exercises/05-flash", "same_losses", "fused_long", "flash_long", "true", "false"},
                 {"exercises/07-precision", "bf16_loss", "fp32", "bf16", "true", "false"},
                 {"exercises/07-precision", "fp8_loss", "fp32", "fp8", "true", "false"}};
enum { QUESTIONS = sizeof questions / sizeof *questions };

/* Either answer gets the reason, so that neither is taken for the other one's. */
static void other_numbers_of_steps_are_no_answer(void)
{
    static const int others[][2] = {{20, 3}, {3, 5}};
    struct tt_exercise e;
    struct tt_mark m;
    for (int i = 0; i < QUESTIONS; i++) {
        CHECK_OK(tt_exercise_read(questions[i].exercise, &e));
        for (int k = 0; k < 2; k++) {
            struct tt_json *a = run_of(3, 3, "6.8"), *b = run_of(others[k][0], others[k][1], k ? "6.8" : "6.6");
            struct tt_formula_run r[] = {{questions[i].first, a}, {questions[i].second, b}};
            const char *const given[] = {questions[i].yes, questions[i].no};
            for (int n = 0; n < 2; n++)
                CHECK(ask(&e, r, 2, questions[i].id, given[n], &m) == TT_MARK_WRONG &&
                          strstr(m.reason, " took other numbers of steps, so their losses differ: repeat one with as "
                                           "many (--num-steps, --warmup)") && !m.means[0] && !m.right[0],
                      "%s %s: %s%s", questions[i].id, given[n], m.reason, m.means);
            CHECK(ask(&e, r, 2, questions[i].id, "", &m) == TT_MARK_EMPTY, "%s", m.reason);
            tt_json_free(a);
            tt_json_free(b);
        }
        tt_exercise_free(&e);
    }
}

/* The answer and what it means come of the same figure: the largest difference, wherever it is, not that of the end. */
static void any_step_may_differ(void)
{
    struct tt_exercise e;
    struct tt_mark m;
    for (int i = 0; i < QUESTIONS; i++) {
        struct tt_json *a = run_of(3, 3, "6.8"), *same = run_of(3, 3, "6.8001"), *far = run_of(3, 3, "6.6"),
                       *none = run_of(3, 3, "null");
        struct tt_json *const other[] = {same, far, none};
        CHECK_OK(tt_exercise_read(questions[i].exercise, &e));
        for (int k = 0; k < 3; k++) {
            struct tt_formula_run r[] = {{questions[i].first, a}, {questions[i].second, other[k]}};
            const char *right = k ? questions[i].no : questions[i].yes, *wrong = k ? questions[i].yes : questions[i].no;
            CHECK(ask(&e, r, 2, questions[i].id, right, &m) == TT_MARK_RIGHT, "%s %d: %s", questions[i].id, k,
                  m.reason);
            CHECK(!strstr(m.means, "They differ by") || k == 2 || strstr(m.means, k ? "at most 0.2" : "at most 0.0001"),
                  "%s %d: %s", questions[i].id, k, m.means);
            CHECK(ask(&e, r, 2, questions[i].id, wrong, &m) == TT_MARK_WRONG, "%s %d: %s", questions[i].id, k,
                  m.means);
        }
        tt_exercise_free(&e);
        tt_json_free(a);
        tt_json_free(same);
        tt_json_free(far);
        tt_json_free(none);
    }
}

int main(void)
{
    TEST(other_numbers_of_steps_are_no_answer);
    TEST(any_step_may_differ);
    return test_end();
}
