/* Reads check.yaml: its runs, its questions and its definitions. */
#include "exercises/engine/exercise.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"

static const char *const kind_names[TT_ASK_KINDS + 1] = {"number", "range", "choice", "ranking", "truth", "text",
                                                         "interval", "target", NULL};

tt_status tt_exercise_yaml(const char *path, struct tt_yaml **out)
{
    char *text;
    size_t size;
    TT_TRY(tt_file_read(path, TT_YAML_SIZE, &text, &size));
    tt_status st = tt_yaml_parse(text, size, out);
    free(text);
    return st ? tt_context(st, "%s", path) : TT_OK;
}

/* ---- values of a map ---- */

static tt_status wrong(const struct tt_yaml *at, const char *key, const char *wanted)
{
    return tt_fail(TT_USAGE, "line %d: %s is not %s", at->line, key, wanted);
}

static tt_status text_of(const struct tt_yaml *map, const char *key, bool needed, const char **out)
{
    const struct tt_yaml *y = tt_yaml_get(map, key);
    *out = NULL;
    if (!y && needed) return tt_fail(TT_USAGE, "line %d: %s is missing here", map->line, key);
    if (!y) return TT_OK;
    if (y->kind == TT_YAML_LIST || y->kind == TT_YAML_MAP || !y->text || !y->text[0]) return wrong(y, key, "a text");
    *out = y->text;
    return TT_OK;
}

static tt_status number_of(const struct tt_yaml *map, const char *key, double otherwise, double *out)
{
    const struct tt_yaml *y = tt_yaml_get(map, key);
    *out = otherwise;
    if (!y) return TT_OK;
    if ((y->kind != TT_YAML_INT && y->kind != TT_YAML_FLOAT) || y->text[0] == '-')
        return wrong(y, key, "a number of 0 or more");
    *out = strtod(y->text, NULL);
    return TT_OK;
}

static tt_status integer_of(const struct tt_yaml *map, const char *key, int64_t otherwise, int64_t *out)
{
    double x;
    const struct tt_yaml *y = tt_yaml_get(map, key);
    TT_TRY(number_of(map, key, (double)otherwise, &x));
    if (y && (y->kind != TT_YAML_INT || x > 1e6)) return wrong(y, key, "a small integer");
    *out = (int64_t)x;
    return TT_OK;
}

static tt_status flag_of(const struct tt_yaml *map, const char *key, bool *out)
{
    const struct tt_yaml *y = tt_yaml_get(map, key);
    *out = y && y->kind == TT_YAML_BOOL && y->text[0] == 't';
    return !y || y->kind == TT_YAML_BOOL ? TT_OK : wrong(y, key, "true or false");
}

static tt_status part_of(const struct tt_yaml *map, const char *key, enum tt_yaml_kind kind, const struct tt_yaml **out)
{
    *out = tt_yaml_get(map, key);
    if (!*out || (*out)->kind == kind) return TT_OK;
    return wrong(*out, key, kind == TT_YAML_MAP ? "a map" : "a list");
}

static tt_status only_keys(const struct tt_yaml *map, const char *const *keys, int n)
{
    if (map->kind != TT_YAML_MAP)
        return tt_fail(TT_USAGE, "line %d: a map of keys and values should be here", map->line);
    for (const struct tt_yaml *y = map->first; y; y = y->next) {
        bool known = false;
        for (int i = 0; i < n; i++) known |= !strcmp(keys[i], y->key);
        if (known) continue;
        const char *near = tt_nearest(y->key, keys, n);
        return tt_fail(TT_USAGE, "line %d: there is no key \"%s\" here%s%s%s", y->line, y->key,
                       near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    return TT_OK;
}
#define ONLY(map, ...)                                                                             \
    only_keys(map, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static bool is_word(const char *s)
{
    bool good = isalpha((unsigned char)s[0]);
    for (; *s; s++) good &= isalnum((unsigned char)*s) || *s == '_';
    return good;
}

/* ---- the parts ---- */

static tt_status read_run(const struct tt_yaml *y, struct tt_exercise_run *r)
{
    TT_TRY(ONLY(y, "name", "command", "file", "require", "same", "recorded", "optional"));
    TT_TRY(text_of(y, "name", true, &r->name));
    TT_TRY(text_of(y, "command", true, &r->command));
    TT_TRY(text_of(y, "file", false, &r->file));
    if (!r->file) r->file = "profile.json";
    TT_TRY(text_of(y, "recorded", false, &r->recorded));
    TT_TRY(part_of(y, "require", TT_YAML_MAP, &r->require));
    TT_TRY(part_of(y, "same", TT_YAML_LIST, &r->same));
    TT_TRY(flag_of(y, "optional", &r->optional));
    return is_word(r->name) ? TT_OK : wrong(y, "name", "a word of letters, digits and _ that begins with a letter");
}

static tt_status check_formulas(const struct tt_question *q)
{
    bool by_items = q->items && (q->kind == TT_ASK_CHOICE || q->kind == TT_ASK_RANKING);
    bool by_range = (q->kind == TT_ASK_RANGE || q->kind == TT_ASK_INTERVAL) && (q->at_least || q->at_most);
    if (q->kind == TT_ASK_TARGET && !(q->at_least || q->at_most))
        return tt_fail(TT_USAGE, "line %d: the question %s says nowhere which targets are possible (at_least, at_most)",
                       q->line, q->id);
    if (q->answer || by_items || by_range || q->kind == TT_ASK_TEXT) return TT_OK;
    return tt_fail(TT_USAGE, "line %d: the question %s says nowhere what is right (%s)", q->line, q->id,
                   q->kind == TT_ASK_RANGE || q->kind == TT_ASK_INTERVAL ? "at_least, at_most" : "answer");
}

/* Checks a list of likely mistakes: `is`, a formula for what was written then, and `says`, the reply. */
static tt_status check_slips(const struct tt_yaml *list)
{
    const char *text;
    for (const struct tt_yaml *y = list ? list->first : NULL; y; y = y->next) {
        TT_TRY(ONLY(y, "is", "says"));
        TT_TRY(text_of(y, "is", true, &text));
        TT_TRY(text_of(y, "says", true, &text));
    }
    return TT_OK;
}

/* Checks `words`, the other words for a choice: a map from each choice to a list. */
static tt_status check_words(const struct tt_yaml *map)
{
    for (const struct tt_yaml *y = map ? map->first : NULL; y; y = y->next)
        if (y->kind != TT_YAML_LIST) return wrong(y, y->key, "a list");
    return TT_OK;
}

/* Reads the figures that a sentence may name: a list, or the id of an earlier question, whose list is then used. */
static tt_status read_names(const struct tt_yaml *map, const struct tt_exercise *e, struct tt_question *q)
{
    const struct tt_yaml *y = tt_yaml_get(map, "names");
    const char *text;
    for (int i = 0; y && y->text && i < e->question_count; i++)
        if (!strcmp(e->questions[i].id, y->text)) q->names = e->questions[i].names;
    if (!q->names) TT_TRY(part_of(map, "names", TT_YAML_LIST, &q->names));
    for (y = q->names ? q->names->first : NULL; y; y = y->next) {
        if (y->kind != TT_YAML_MAP) continue;
        const char *key = tt_yaml_get(y, "table") ? "table" : tt_yaml_get(y, "curve") ? "curve" : "is";
        TT_TRY(ONLY(y, "is", "words", "table", "curve", "beside", "of"));
        TT_TRY(text_of(y, key, true, &text));
        TT_TRY(text_of(y, "beside", !strcmp(key, "curve"), &text));
        TT_TRY(text_of(y, "words", false, &text));
        TT_TRY(text_of(y, "of", !strcmp(key, "curve"), &text));
    }
    return TT_OK;
}

static tt_status read_question(const struct tt_yaml *y, struct tt_question *q)
{
    const char *kind;
    TT_TRY(ONLY(y, "id", "text", "kind", "unit", "figures", "look", "why", "means", "otherwise", "run", "answer",
                "at_least", "at_most", "measured", "low", "high", "room", "must", "choices", "items", "words", "slips",
                "names", "unlike", "tolerance", "slack", "points", "count", "optional", "least"));
    q->line = y->line;
    TT_TRY(text_of(y, "id", true, &q->id));
    TT_TRY(text_of(y, "text", true, &q->text));
    TT_TRY(text_of(y, "kind", true, &kind));
    TT_TRY(text_of(y, "unit", false, &q->unit));
    TT_TRY(text_of(y, "figures", false, &q->figures));
    TT_TRY(text_of(y, "look", false, &q->look));
    TT_TRY(text_of(y, "why", false, &q->why));
    TT_TRY(text_of(y, "means", false, &q->means));
    TT_TRY(text_of(y, "otherwise", false, &q->otherwise));
    TT_TRY(text_of(y, "run", false, &q->run));
    TT_TRY(text_of(y, "answer", false, &q->answer));
    TT_TRY(text_of(y, "at_least", false, &q->at_least));
    TT_TRY(text_of(y, "at_most", false, &q->at_most));
    TT_TRY(text_of(y, "measured", false, &q->measured));
    TT_TRY(text_of(y, "low", false, &q->low));
    TT_TRY(text_of(y, "high", false, &q->high));
    TT_TRY(text_of(y, "room", false, &q->room));
    TT_TRY(text_of(y, "must", false, &q->must));
    TT_TRY(part_of(y, "choices", TT_YAML_LIST, &q->choices));
    TT_TRY(part_of(y, "items", TT_YAML_MAP, &q->items));
    TT_TRY(part_of(y, "words", TT_YAML_MAP, &q->words));
    TT_TRY(check_words(q->words));
    TT_TRY(text_of(y, "unlike", false, &q->unlike));
    TT_TRY(part_of(y, "slips", TT_YAML_LIST, &q->slips));
    TT_TRY(check_slips(q->slips));
    for (q->kind = 0; q->kind < TT_ASK_KINDS && strcmp(kind_names[q->kind], kind); q->kind++) continue;
    if (q->kind == TT_ASK_KINDS)
        return wrong(tt_yaml_get(y, "kind"), "kind",
                     "one of number, range, choice, ranking, truth, text, interval, target");
    double usual = q->kind == TT_ASK_RANKING ? 0.05 : q->kind == TT_ASK_CHOICE ? 0 : 0.01;
    TT_TRY(number_of(y, "tolerance", usual, &q->tolerance));
    TT_TRY(number_of(y, "slack", 0, &q->slack));
    TT_TRY(number_of(y, "points", 1, &q->points));
    TT_TRY(integer_of(y, "count", q->items ? q->items->count : 3, &q->count));
    TT_TRY(flag_of(y, "optional", &q->optional));
    TT_TRY(flag_of(y, "least", &q->least));
    if (!is_word(q->id)) return wrong(y, "id", "a word of letters, digits and _ that begins with a letter");
    return check_formulas(q);
}

static tt_status read_runs(const struct tt_yaml *list, struct tt_exercise *e)
{
    if (list && list->count > TT_EXERCISE_RUNS) return wrong(list, "runs", "a list of at most 16");
    for (const struct tt_yaml *y = list ? list->first : NULL; y; y = y->next)
        TT_TRY(read_run(y, &e->runs[e->run_count++]));
    return TT_OK;
}

static tt_status read_questions(const struct tt_yaml *list, struct tt_exercise *e)
{
    if (!list || !list->count) return tt_fail(TT_USAGE, "line %d: there are no questions", e->tree->line);
    e->questions = calloc((size_t)list->count, sizeof *e->questions);
    if (!e->questions) return tt_no_memory("the questions");
    for (const struct tt_yaml *y = list->first; y; y = y->next) {
        struct tt_question *q = &e->questions[e->question_count++];
        TT_TRY(read_question(y, q));
        TT_TRY(read_names(y, e, q));
        for (int i = 0; i + 1 < e->question_count; i++)
            if (!strcmp(e->questions[i].id, q->id))
                return tt_fail(TT_USAGE, "line %d: the id %s is there twice", q->line, q->id);
    }
    return TT_OK;
}

static tt_status read_tree(struct tt_exercise *e)
{
    const struct tt_yaml *runs, *questions;
    TT_TRY(ONLY(e->tree, "exercise", "title", "minutes", "runs", "same", "define", "questions"));
    TT_TRY(integer_of(e->tree, "exercise", 0, &e->number));
    TT_TRY(integer_of(e->tree, "minutes", 0, &e->minutes));
    TT_TRY(text_of(e->tree, "title", true, &e->title));
    TT_TRY(part_of(e->tree, "runs", TT_YAML_LIST, &runs));
    TT_TRY(part_of(e->tree, "same", TT_YAML_LIST, &e->same));
    TT_TRY(part_of(e->tree, "define", TT_YAML_MAP, &e->define));
    TT_TRY(part_of(e->tree, "questions", TT_YAML_LIST, &questions));
    TT_TRY(read_runs(runs, e));
    return read_questions(questions, e);
}

tt_status tt_exercise_read(const char *folder, struct tt_exercise *out)
{
    char path[1200];
    *out = (struct tt_exercise){0};
    snprintf(out->folder, sizeof out->folder, "%s", folder);
    snprintf(path, sizeof path, "%s/check.yaml", folder);
    TT_TRY(tt_exercise_yaml(path, &out->tree));
    return tt_context(read_tree(out), "%s", path);
}

void tt_exercise_free(struct tt_exercise *e)
{
    if (e->tree) tt_yaml_free(e->tree);
    free(e->questions);
    *e = (struct tt_exercise){0};
}
