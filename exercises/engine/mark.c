/* A whole worksheet: its runs, its answers, the score, and how they are shown. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "exercises/engine/parts.h"

const char tt_mark_named[] = "named";
const char *const tt_mark_names[TT_MARK_KINDS] = {"right", "wrong", "empty", "unknown", "passed over", "refused"};

static tt_status no_such_question(const struct tt_exercise *e, const struct tt_yaml *y, const char *path)
{
    const char *names[256];
    int n = 0;
    for (; n < e->question_count && n < 256; n++) names[n] = e->questions[n].id;
    const char *near = tt_nearest(y->key, names, n);
    return tt_fail(TT_USAGE, "%s: line %d: the exercise has no question \"%s\"%s%s%s", path, y->line, y->key,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* Checks a key at the left margin. If it is none of the four parts, it is a misspelt one or an answer that is not
 * indented. */
static tt_status check_part(const struct tt_yaml *y, const char *path)
{
    static const char *const parts[] = {"exercise", "learner", "runs", "answers"};
    enum { PARTS = sizeof parts / sizeof *parts };
    for (int i = 0; i < PARTS; i++)
        if (!strcmp(y->key, parts[i])) return TT_OK;
    const char *near = tt_nearest(y->key, parts, PARTS);
    if (near)
        return tt_fail(TT_USAGE, "%s: line %d: \"%s\" does not belong in a worksheet; did you mean %s?", path, y->line,
                       y->key, near);
    return tt_fail(TT_USAGE, "%s: line %d: \"%s\" is outside of answers: and would not be read; indent it by two "
                             "spaces", path,
                   y->line, y->key);
}

static tt_status check_answers(const struct tt_exercise *e, const struct tt_yaml *sheet, const char *path)
{
    const struct tt_yaml *answers = tt_yaml_get(sheet, "answers");
    for (const struct tt_yaml *y = sheet->kind == TT_YAML_MAP ? sheet->first : NULL; y; y = y->next)
        TT_TRY(check_part(y, path));
    if (!answers || answers->kind != TT_YAML_MAP) return tt_fail(TT_USAGE, "%s: there are no answers: in it", path);
    for (const struct tt_yaml *y = answers->first; y; y = y->next) {
        bool known = false;
        for (int i = 0; i < e->question_count; i++) known |= !strcmp(e->questions[i].id, y->key);
        if (!known) return no_such_question(e, y, path);
    }
    return TT_OK;
}

/* A question about a run that is not there or was refused cannot be judged, whatever the answer says. */
static void for_lack_of(const struct tt_marked *m, const char *run, struct tt_mark *mark)
{
    for (int i = 0; i < m->exercise->run_count; i++) {
        if (strcmp(m->exercise->runs[i].name, run)) continue;
        bool free = m->exercise->runs[i].optional && m->runs[i].absent;
        mark->kind = free ? TT_MARK_PASSED : TT_MARK_REFUSED;
        snprintf(mark->reason, sizeof mark->reason, "it needs the run %.100s", run);
    }
    mark->right[0] = 0;
}

/* An answer that was shown earns nothing, though the exercise can still be solved. */
double tt_exercise_points(const struct tt_question *q, const struct tt_mark *mark)
{
    return mark->kind == TT_MARK_RIGHT && !mark->revealed ? q->points : 0;
}

static void add_up(struct tt_marked *m)
{
    m->passed = true;
    for (int i = 0; i < m->exercise->run_count; i++)
        m->passed &= m->runs[i].profile || (m->runs[i].absent && m->exercise->runs[i].optional);
    for (int i = 0; i < m->exercise->question_count; i++) {
        const struct tt_question *q = &m->exercise->questions[i];
        enum tt_mark_kind kind = m->marks[i].kind;
        double points = tt_exercise_points(q, &m->marks[i]);
        m->revealed += m->marks[i].revealed;
        if (q->optional) {
            m->extra += points;
            continue;
        }
        m->points += points;
        if (kind != TT_MARK_PASSED) m->most += q->points;
        m->passed &= kind == TT_MARK_RIGHT || kind == TT_MARK_PASSED;
    }
}

/* An answer that is not valid YAML as it stands is never right. If it is unknown for another reason too, that reason
 * says more and is kept. */
static void as_written(const struct tt_question *q, const struct tt_slip *slip, struct tt_mark *mark)
{
    if (!slip || mark->kind == TT_MARK_PASSED || mark->kind == TT_MARK_REFUSED) return;
    if (slip->comment) { /* only in a sentence may the # have been meant */
        if (q->kind == TT_ASK_TEXT && mark->kind == TT_MARK_UNKNOWN)
            tt_exercise_because(mark, TT_MARK_UNKNOWN, slip->reason);
        return;
    }
    bool yes = q->kind == TT_ASK_TRUTH || (q->kind == TT_ASK_CHOICE && q->words); /* yes means yes */
    if ((mark->kind == TT_MARK_UNKNOWN || yes) && !slip->broken) return;
    tt_exercise_because(mark, TT_MARK_UNKNOWN, slip->reason);
}

/* An answer of TT_ANSWER bytes or more was cut off, so what was judged is not all of it. */
static void as_long(const struct tt_yaml *answer, struct tt_mark *mark)
{
    char reason[100];
    size_t n = answer && answer->text ? strlen(answer->text) : 0;
    if (n < TT_ANSWER || mark->kind == TT_MARK_PASSED || mark->kind == TT_MARK_REFUSED) return;
    snprintf(reason, sizeof reason, "it is too long: write it with less than %d characters", TT_ANSWER);
    tt_exercise_because(mark, TT_MARK_UNKNOWN, reason);
}

void tt_exercise_scope(const struct tt_marked *m, struct tt_formula_run runs[TT_EXERCISE_RUNS],
                       struct tt_formula_scope *out)
{
    const struct tt_exercise *e = m->exercise;
    for (int i = 0; i < e->run_count; i++) runs[i] = (struct tt_formula_run){e->runs[i].name, m->runs[i].profile};
    *out = (struct tt_formula_scope){.runs = runs, .count = e->run_count, .define = e->define,
                                     .folder = m->folder};
}

static tt_status judge_all(struct tt_marked *m, const struct tt_sheet *sheet)
{
    const struct tt_exercise *e = m->exercise;
    struct tt_formula_run runs[TT_EXERCISE_RUNS];
    struct tt_formula_scope scope;
    tt_exercise_scope(m, runs, &scope);
    m->marks = calloc((size_t)e->question_count, sizeof *m->marks);
    if (!m->marks) return tt_no_memory("the marks");
    for (int i = 0; i < e->question_count; i++) {
        const struct tt_question *q = &e->questions[i];
        const struct tt_yaml *answer = tt_yaml_get(tt_yaml_get(sheet->tree, "answers"), q->id);
        TT_TRY(tt_context(tt_exercise_judge(q, answer, &scope, &m->marks[i]), "%s/check.yaml", e->folder));
        if (scope.lacking) for_lack_of(m, scope.lacking, &m->marks[i]);
    }
    tt_exercise_recall(m);
    tt_exercise_swapped(m);
    tt_exercise_sentences(m);
    for (int i = 0; i < e->question_count; i++) {
        const struct tt_yaml *answer = tt_yaml_get(tt_yaml_get(sheet->tree, "answers"), e->questions[i].id);
        as_written(&e->questions[i], tt_sheet_slip(sheet, answer), &m->marks[i]);
        as_long(answer, &m->marks[i]);
    }
    add_up(m);
    return TT_OK;
}

static tt_status mark_sheet(struct tt_marked *m, const struct tt_sheet *sheet, const char *path, const char *recorded)
{
    const struct tt_yaml *number = tt_yaml_get(sheet->tree, "exercise"), *learner = tt_yaml_get(sheet->tree, "learner");
    if (number && number->text && atoll(number->text) != m->exercise->number)
        return tt_fail(TT_USAGE, "%s is of exercise %s, not of %lld", path, number->text,
                       (long long)m->exercise->number);
    if (learner && learner->text) snprintf(m->learner, sizeof m->learner, "%s", learner->text);
    TT_TRY(check_answers(m->exercise, sheet->tree, path));
    tt_exercise_open_runs(m, sheet->tree, recorded);
    return judge_all(m, sheet);
}

tt_status tt_exercise_mark(const struct tt_exercise *e, const char *folder, const char *recorded, struct tt_marked *out)
{
    char path[1200];
    struct tt_sheet sheet;
    *out = (struct tt_marked){.exercise = e};
    snprintf(out->folder, sizeof out->folder, "%s", folder);
    snprintf(path, sizeof path, "%s/worksheet.yaml", folder);
    TT_TRY(tt_exercise_started(out));
    if (!tt_is_file(path))
        return tt_fail(TT_USAGE, "%s is not there; tt exercise start makes one in a new folder", path);
    tt_status st = tt_sheet_read(path, &sheet);
    if (!st) st = mark_sheet(out, &sheet, path, recorded);
    tt_sheet_free(&sheet);
    return st;
}

void tt_marked_free(struct tt_marked *m)
{
    for (int i = 0; i < TT_EXERCISE_RUNS; i++) tt_json_free(m->runs[i].profile);
    tt_json_free(m->note);
    free(m->marks);
    *m = (struct tt_marked){0};
}

/* ---- what is shown ---- */

static void show_absent(const struct tt_marked *m, const struct tt_exercise_run *run, struct tt_text *out)
{
    char command[400];
    tt_exercise_expand(m, run->command, command, sizeof command);
    tt_text_printf(out, "run %-18s not there: questions about it are passed over", run->name);
    if (run->recorded) tt_text_printf(out, "; to have it: %s", command);
    tt_text_puts(out, "\n");
}

static void show_runs(const struct tt_marked *m, struct tt_text *out)
{
    for (int i = 0; i < m->exercise->run_count; i++) {
        const struct tt_marked_run *r = &m->runs[i];
        const char *name = m->exercise->runs[i].name;
        if (r->profile)
            tt_text_printf(out, "run %-18s %s, %s, seal %.8s%s\n", name, r->device, r->created, r->seal,
                           r->recorded ? ", recorded" : "");
        else if (r->absent && m->exercise->runs[i].optional)
            show_absent(m, &m->exercise->runs[i], out);
        else
            tt_text_printf(out, "run %-18s refused: %s\n", name, r->refusal);
    }
}

const char *tt_exercise_stop(const char *reason)
{
    size_t n = strlen(reason);
    return !n || strchr(".?!", reason[n - 1]) ? "" : ".";
}

const char *tt_exercise_mark_word(const struct tt_question *q, const struct tt_mark *m)
{
    return q->kind == TT_ASK_TEXT && m->kind == TT_MARK_RIGHT ? tt_mark_named : tt_mark_names[m->kind];
}

const char *tt_exercise_likely(const struct tt_mark *m) { return m->likely ? "likely: " : ""; }

static void show_mark(const struct tt_question *q, const struct tt_mark *m, bool reveal, struct tt_text *out)
{
    bool bad = m->kind == TT_MARK_WRONG || m->kind == TT_MARK_UNKNOWN || m->kind == TT_MARK_EMPTY;
    tt_text_printf(out, "  %-12s %-22s", tt_exercise_mark_word(q, m), q->id);
    if (m->kind == TT_MARK_RIGHT && m->revealed) tt_text_puts(out, " after it was shown, without points.");
    if (m->kind == TT_MARK_RIGHT && m->means[0]) tt_text_printf(out, " %s", m->means);
    if (m->kind == TT_MARK_WRONG) tt_text_printf(out, " %s:", m->given);
    if (m->reason[0]) tt_text_printf(out, " %s%s", tt_exercise_likely(m), m->reason);
    if (m->kind == TT_MARK_EMPTY) tt_text_printf(out, " %s", q->text);
    if (m->kind == TT_MARK_WRONG && q->why && !m->misput)
        tt_text_printf(out, "%s %s", tt_exercise_stop(m->reason), q->why);
    if (bad && q->look) tt_text_printf(out, "\n%*slook: %s", TT_MARK_COLUMN, "", q->look);
    if (bad && reveal && m->right[0]) tt_text_printf(out, "\n%*sright: %s", TT_MARK_COLUMN, "", m->right);
    tt_text_puts(out, "\n");
}

void tt_marked_text(const struct tt_marked *m, bool reveal, struct tt_text *out)
{
    tt_text_printf(out, "exercise %lld: %s%s%s\n", (long long)m->exercise->number, m->exercise->title,
                   m->learner[0] ? ", " : "", m->learner);
    show_runs(m, out);
    for (int i = 0; i < m->exercise->question_count; i++)
        show_mark(&m->exercise->questions[i], &m->marks[i], reveal, out);
    tt_exercise_noise(m, out);
    tt_text_printf(out, "score %g of %g", m->points, m->most);
    if (m->extra > 0) tt_text_printf(out, ", and %g more", m->extra);
    if (m->revealed)
        tt_text_printf(out, "; %d right answer%s shown, which earn%s no points", m->revealed,
                       m->revealed > 1 ? "s were" : " was", m->revealed > 1 ? "" : "s");
    tt_text_printf(out, "%s\n", m->passed ? ": all right" : "");
}

/* The name of the folder stands for a learner who gave none. */
static void put_folder(struct tt_json_writer *w, const char *folder)
{
    char *whole = realpath(folder, NULL), *name = whole ? strrchr(whole, '/') : NULL;
    tt_json_put_string(w, "folder", name ? name + 1 : "");
    free(whole);
}

static void put_noise(struct tt_json_writer *w, const struct tt_marked *m)
{
    struct tt_text noise = {0};
    tt_exercise_noise(m, &noise);
    tt_json_put_string(w, "noise", noise.s ? noise.s : "");
    w->text.failed |= noise.failed;
    tt_text_free(&noise);
}

void tt_marked_json(const struct tt_marked *m, bool reveal, struct tt_text *out)
{
    struct tt_json_writer w = {.pretty = true};
    tt_json_begin(&w, NULL, '{');
    tt_json_put_int(&w, "exercise", m->exercise->number);
    tt_json_put_string(&w, "title", m->exercise->title);
    tt_json_put_string(&w, "learner", m->learner);
    put_folder(&w, m->folder);
    put_noise(&w, m);
    tt_json_put_number(&w, "points", m->points);
    tt_json_put_number(&w, "most", m->most);
    tt_json_put_number(&w, "extra", m->extra);
    tt_json_put_bool(&w, "passed", m->passed);
    tt_json_put_int(&w, "revealed", m->revealed);
    tt_json_begin(&w, "runs", '[');
    for (int i = 0; i < m->exercise->run_count; i++) {
        const struct tt_marked_run *r = &m->runs[i];
        tt_json_begin(&w, NULL, '{');
        tt_json_put_string(&w, "name", m->exercise->runs[i].name);
        tt_json_put_bool(&w, "taken", r->profile != NULL);
        tt_json_put_bool(&w, "recorded", r->recorded);
        tt_json_put_string(&w, "seal", r->seal);
        tt_json_put_string(&w, "created", r->created);
        tt_json_put_string(&w, "written", r->written);
        tt_json_put_string(&w, "device", r->device);
        bool free = r->absent && m->exercise->runs[i].optional; /* an absent optional run is not refused */
        tt_json_put_string(&w, "refusal", free ? "" : r->refusal);
        tt_json_end(&w, '}');
    }
    tt_json_end(&w, ']');
    tt_json_begin(&w, "questions", '[');
    for (int i = 0; i < m->exercise->question_count; i++) {
        const struct tt_question *q = &m->exercise->questions[i];
        tt_json_begin(&w, NULL, '{');
        tt_json_put_string(&w, "id", q->id);
        tt_json_put_string(&w, "mark", tt_exercise_mark_word(q, &m->marks[i]));
        tt_json_put_number(&w, "points", tt_exercise_points(q, &m->marks[i]));
        tt_json_put_bool(&w, "revealed", m->marks[i].revealed);
        tt_json_put_bool(&w, "optional", q->optional);
        tt_json_put_string(&w, "given", m->marks[i].given);
        tt_json_put_string(&w, "reason", m->marks[i].reason);
        tt_json_put_bool(&w, "likely", m->marks[i].likely);
        tt_json_put_string(&w, "means", m->marks[i].means);
        if (reveal) tt_json_put_string(&w, "right", m->marks[i].right);
        tt_json_end(&w, '}');
    }
    tt_json_end(&w, ']');
    tt_json_end(&w, '}');
    tt_text_add(out, w.text.s ? w.text.s : "", w.text.n);
    out->failed |= w.text.failed;
    tt_text_free(&w.text);
}
