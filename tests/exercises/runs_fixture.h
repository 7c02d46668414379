/* Two runs with profiles of a few lines, and one that is not there, for formulas and the judging of answers. */
#ifndef TT_TEST_EXERCISES_RUNS_FIXTURE_H
#define TT_TEST_EXERCISES_RUNS_FIXTURE_H

#include "exercises/engine/parts.h"
#include "tests/test.h"

static const char first_text[] =
    "{\"run\": {\"version\": \"baseline\", \"graph\": false}, \"step\": {\"seconds\": 0.25, \"kernels\": 40, "
    "\"nothing\": null}, \"groups\": [{\"name\": \"norm\", \"share\": 0.2, \"bound\": \"memory\"}, {\"name\": \"ffn\", "
    "\"share\": 0.5, \"bound\": \"compute\"}, {\"name\": \"rope\", \"share\": 0.1, \"bound\": \"memory\"}, {\"name\": "
    "\"gaps\", \"share\": 0.195, \"bound\": \"\"}, {\"name\": \"none\", \"share\": null, \"bound\": \"\"}],"
    " \"kinds\": [{\"kind\": \"first moments\", \"bytes\": 4096}]}";
static const char second_text[] = "{\"step\": {\"seconds\": 0.1, \"kernels\": 20, \"nothing\": 1}, \"groups\": []}";

static struct tt_formula_run runs[3] = {{.name = "slow"}, {.name = "fast"}, {.name = "gone"}};

static struct tt_json *owned[2]; /* the profiles of the first two */

static inline void open_runs(void)
{
    CHECK_OK(tt_json_parse(first_text, sizeof first_text - 1, &owned[0]));
    CHECK_OK(tt_json_parse(second_text, sizeof second_text - 1, &owned[1]));
    for (int i = 0; i < 2; i++) runs[i].profile = owned[i];
}

static inline void close_runs(void)
{
    for (int i = 0; i < 2; i++) tt_json_free(owned[i]);
}

/* tt_formula for a formula without faults. */
static inline struct tt_formula_value eval(const char *text, struct tt_formula_scope *scope)
{
    struct tt_formula_value v;
    CHECK_OK(tt_formula(text, scope, &v));
    return v;
}

/* The mark of an answer to a question about these runs. */
static inline enum tt_mark_kind judge(struct tt_question q, const char *answer, struct tt_mark *m)
{
    struct tt_formula_scope scope = {.runs = runs, .count = 3};
    struct tt_yaml given = {.kind = TT_YAML_STRING, .text = (char *)answer};
    q.id = "q";
    CHECK_OK(tt_exercise_judge(&q, &given, &scope, m));
    return m->kind;
}

static inline struct tt_yaml *yaml(const char *text)
{
    struct tt_yaml *y = NULL;
    CHECK_OK(tt_yaml_parse(text, strlen(text), &y));
    return y;
}

#endif
