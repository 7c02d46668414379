/* The questions of the course as they are, and profiles to answer them from. */
#ifndef TT_TEST_EXERCISES_COURSE_FIXTURE_H
#define TT_TEST_EXERCISES_COURSE_FIXTURE_H

#include "core/config/config.h"
#include "exercises/engine/parts.h"
#include "profiling/profile.h"
#include "tests/test.h"

/* Measured on a quiet H200, and two ranks on a quiet CPU whose communication fits behind the kernels. */
static const char baseline_text[] =
    "{\"run\": {\"backend\": \"cuda\", \"num_layers\": 8, \"load\": 0.1, \"steps\": 10}, \"step\": {\"seconds\": "
    "0.011855, \"deviation\": 6.5e-5, \"kernel_seconds\": 0.012403, \"tokens_per_second\": 86379, \"kernels\": 1232}, "
    "\"launch\": {\"total_seconds\": 0.005207, \"idle_seconds\": 0, "
    "\"empty_kernel_seconds\": 1.7477e-6, \"graph_kernel_seconds\": "
    "0.9572e-6}, \"efficiency\": {\"mfu_percent\": 33.2, \"mfu_full_percent\": 36.14}, \"groups\": ["
    "{\"name\": \"qkv_projection\", \"share\": 0.1385, \"roof_percent\": 29.6}, "
    "{\"name\": \"swiglu_gate_up\", \"share\": 0.2721, \"roof_percent\": 60.2}, "
    "{\"name\": \"swiglu_down\", \"share\": 0.1312, \"roof_percent\": 62.4}, "
    "{\"name\": \"attention_output\", \"share\": 0.0845, \"roof_percent\": 30.3}, "
    "{\"name\": \"rms_norm\", \"share\": 0.0714, \"roof_percent\": 23}, "
    "{\"name\": \"optimizer\", \"share\": 0.1203, \"roof_percent\": 28.6}], \"operators\": ["
    "{\"name\": \"gemm\", \"group\": \"qkv_projection\", \"share\": 0.1385, \"roof_percent\": 29.6}, "
    "{\"name\": \"gemm\", \"group\": \"swiglu_gate_up\", \"share\": 0.2721, \"roof_percent\": 60.2}, "
    "{\"name\": \"gemm\", \"group\": \"swiglu_down\", \"share\": 0.1312, \"roof_percent\": 62.4}, "
    "{\"name\": \"gemm\", \"group\": \"attention_output\", \"share\": 0.0788, \"roof_percent\": 30.3}, "
    "{\"name\": \"gemm\", \"group\": \"attention_scores\", \"share\": 0.018}, "
    "{\"name\": \"gemm\", \"group\": \"loss_calculation\", \"share\": 0.0084}]}";
static const char fused_text[] =
    "{\"run\": {\"load\": 0.1, \"steps\": 10}, \"step\": {\"seconds\": 0.006428, \"deviation\": 2e-5, "
    "\"tokens_per_second\": 159299}, \"efficiency\": {\"mfu_percent\": 61.3}}";
static const char fits_text[] =
    "{\"rows\": [{\"median_ms\": 250}, {\"communication_ms\": 166, \"hidden_ms\": 88, \"hidden_noise_ms\": 6, "
    "\"hidden_known\": true}]}";

/* Reads a profile written by hand and completes it. It gets "schema": 1 if that is missing, so that it passes as a
 * profile. If it has no samples it gets run.steps of them, because intervals need the times of single steps: these are
 * spread evenly around step.seconds so that their deviation is step.deviation. */
static inline struct tt_json *json(const char *text)
{
    struct tt_json *j = NULL;
    struct tt_text whole = {0};
    CHECK_OK(tt_json_parse(text, strlen(text), &j));
    const struct tt_json *step = tt_json_get(j, "step");
    double seconds = tt_json_number(step, "seconds", NAN), deviation = tt_json_number(step, "deviation", NAN);
    int n = (int)tt_json_number(tt_json_get(j, "run"), "steps", 0);
    tt_text_puts(&whole, tt_json_get(j, "schema") ? "{" : "{\"schema\": 1, ");
    if (n > 0 && isfinite(seconds) && isfinite(deviation) && !tt_json_get(j, "samples")) {
        tt_text_puts(&whole, "\"samples\": [");
        for (int i = 0; i < n; i++)
            tt_text_printf(&whole, "%s{\"step\": %d, \"seconds\": %.9g}", i ? ", " : "", i + 1,
                           seconds + deviation * sqrt(3) * (2 * i - n + 1) / n);
        tt_text_puts(&whole, "], ");
    }
    tt_json_free(j);
    tt_text_puts(&whole, strchr(text, '{') + 1);
    CHECK_OK(tt_json_parse(whole.s, whole.n, &j));
    tt_text_free(&whole);
    struct tt_profile p = {0};
    if (tt_json_get(j, "run") && !tt_json_get(j, "rows")) CHECK_OK(tt_profile_of_json(j, &p));
    tt_profile_free(&p);
    return j;
}

/* One answer to one question of an exercise as it is. */
static inline enum tt_mark_kind ask(const struct tt_exercise *e, struct tt_formula_run *runs, int n, const char *id,
                                    const char *answer, struct tt_mark *m)
{
    struct tt_formula_scope scope = {.runs = runs, .count = n, .define = e->define};
    struct tt_yaml given = {.kind = TT_YAML_STRING, .text = (char *)answer};
    for (int i = 0; i < e->question_count; i++) {
        if (strcmp(e->questions[i].id, id)) continue;
        CHECK_OK(tt_exercise_judge(&e->questions[i], &given, &scope, m));
        return m->kind;
    }
    CHECK(false, "no question %s", id);
    return TT_MARK_KINDS;
}

struct asked {
    const char *id, *answer;
    enum tt_mark_kind kind;
    const char *says; /* in the reason or the meaning; NULL: anything */
};

/* Checks the marks of several answers to questions of one exercise. */
static inline void ask_all(const char *folder, struct tt_formula_run *r, int n, const struct asked *q, size_t count)
{
    struct tt_exercise e;
    struct tt_mark m;
    CHECK_OK(tt_exercise_read(folder, &e));
    for (size_t i = 0; i < count; i++) {
        enum tt_mark_kind kind = ask(&e, r, n, q[i].id, q[i].answer, &m);
        CHECK(kind == q[i].kind && (!q[i].says || strstr(m.means, q[i].says) || strstr(m.reason, q[i].says)),
              "%s %s: %s, %s%s", q[i].id, q[i].answer, tt_mark_names[kind], m.reason, m.means);
    }
    tt_exercise_free(&e);
}

/* Checks that each word of `right` is a right answer to the question, and each word of `wrong` a wrong one. Blanks
 * separate words; `what` names the case. */
static inline void check_words(const struct tt_exercise *e, struct tt_formula_run *r, int n, const char *id,
                               const char *right, const char *wrong, const char *what)
{
    struct tt_mark m;
    char word[100];
    for (const char *at = right; tt_list_next(&at, ' ', word, sizeof word);)
        CHECK(ask(e, r, n, id, word, &m) == TT_MARK_RIGHT, "%s: %s %s: %s", what, id, word, m.reason);
    for (const char *at = wrong; tt_list_next(&at, ' ', word, sizeof word);)
        CHECK(ask(e, r, n, id, word, &m) == TT_MARK_WRONG, "%s: %s %s: %s", what, id, word, m.means);
}

struct said {
    const char *sentence;
    bool right;
};

/* Sentences that are to be evidence in exercise 9, or not. Frees the profiles. */
static inline void check_evidence(const struct said *cases, size_t count, struct tt_json *healthy,
                                  struct tt_json *patient)
{
    struct tt_exercise e;
    struct tt_formula_run r[] = {{.name = "healthy", .profile = healthy}, {.name = "patient", .profile = patient}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/09-faults", &e));
    for (size_t i = 0; i < count; i++)
        CHECK((ask(&e, r, 2, "evidence", cases[i].sentence, &m) == TT_MARK_RIGHT) == cases[i].right, "%s: %s%s",
              cases[i].sentence, m.reason, m.means);
    tt_exercise_free(&e);
    tt_json_free(healthy);
    tt_json_free(patient);
}

#endif
