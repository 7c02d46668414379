/* The page of a class: how far each learner is, frequent mistakes, shared runs, noise, and refused runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exercises/engine/assets.h"
#include "exercises/engine/page_parts.h"
#include "exercises/engine/parts.h"
#include "profiling/report/html_parts.h"
#include "profiling/report/svg.h"

enum { EXERCISES = 64, MISTAKES = 2000, SHOWN = 20, EXAMPLES = 3 };

struct room {
    struct tt_json *const *results;
    int n;
    double exercises[EXERCISES]; /* ascending; more than these are not shown */
    int exercise_count;
    int (*rows)[EXERCISES]; /* one per learner: index of the result of each exercise, or -1 */
    int row_count;
};

static bool is_true(const struct tt_json *object, const char *key)
{
    const struct tt_json *t = tt_json_get(object, key);
    return t && t->boolean;
}

static double most_of(const struct tt_json *r) { return tt_json_number(r, "most", 0); }

/* ---- rows and columns ---- */

static void add_exercise(struct room *c, double number)
{
    int at = c->exercise_count;
    for (int i = 0; i < c->exercise_count; i++)
        if (c->exercises[i] == number) return;
    if (at == EXERCISES) return;
    c->exercise_count++;
    for (; at > 0 && c->exercises[at - 1] > number; at--) c->exercises[at] = c->exercises[at - 1];
    c->exercises[at] = number;
}

static int column_of(const struct room *c, const struct tt_json *r)
{
    for (int i = 0; i < c->exercise_count; i++)
        if (c->exercises[i] == tt_class_exercise(r)) return i;
    return -1;
}

static const char *row_name(const struct room *c, int row)
{
    for (int i = 0; i < c->exercise_count; i++)
        if (c->rows[row][i] >= 0) return tt_class_learner(c->results[c->rows[row][i]]);
    return "";
}

/* A second result of one exercise under the same name may be somebody else's, so it gets a row of its own. */
static void place_result(struct room *c, int index)
{
    int column = column_of(c, c->results[index]), row = 0;
    if (column < 0) return;
    const char *name = tt_class_learner(c->results[index]);
    while (row < c->row_count && (strcmp(row_name(c, row), name) || c->rows[row][column] >= 0)) row++;
    if (row == c->row_count) {
        for (int i = 0; i < EXERCISES; i++) c->rows[row][i] = -1;
        c->row_count++;
    }
    c->rows[row][column] = index;
}

static bool arrange(struct room *c, struct tt_json *const *results, int n)
{
    *c = (struct room){.results = results, .n = n, .rows = calloc((size_t)n + 1, sizeof *c->rows)};
    if (!c->rows) return false;
    for (int i = 0; i < n; i++) add_exercise(c, tt_class_exercise(results[i]));
    for (int i = 0; i < n; i++) place_result(c, i);
    return true;
}

static const struct tt_json *any_of(const struct room *c, int column)
{
    for (int i = 0; i < c->row_count; i++)
        if (c->rows[i][column] >= 0) return c->results[c->rows[i][column]];
    return NULL;
}

/* ---- who is where ---- */

static void name_cell(struct tt_text *t, const char *name)
{
    tt_text_puts(t, "<td class=\"name\">");
    tt_escape(t, name);
    tt_text_puts(t, "</td>");
}

static void who_is_where(struct tt_text *t, const struct room *c)
{
    struct tt_text columns = {0};
    html_section(t, "where", "Who is where");
    tt_text_puts(&columns, "learner|#points|#answers shown");
    for (int i = 0; i < c->exercise_count; i++) tt_text_printf(&columns, "|#%g", c->exercises[i]);
    if (columns.s) html_table(t, columns.s);
    tt_text_free(&columns);
    for (int row = 0; row < c->row_count; row++) {
        double points = 0, shown = 0;
        char all[32], revealed[32];
        for (int i = 0; i < c->exercise_count; i++) {
            if (c->rows[row][i] < 0) continue;
            points += tt_class_points(c->results[c->rows[row][i]]);
            shown += tt_class_revealed(c->results[c->rows[row][i]]);
        }
        snprintf(all, sizeof all, "%g", points);
        snprintf(revealed, sizeof revealed, "%g", shown);
        html_row(t);
        name_cell(t, row_name(c, row));
        html_number(t, points, all);
        html_number(t, shown, shown > 0 ? revealed : "");
        for (int i = 0; i < c->exercise_count; i++) {
            const struct tt_json *r = c->rows[row][i] >= 0 ? c->results[c->rows[row][i]] : NULL;
            if (r)
                page_points(t, tt_class_points(r), most_of(r), is_true(r, "passed"));
            else
                html_number(t, -1, "");
        }
        html_row_end(t);
    }
    html_table_end(t);
    html_note(t, "A column is an exercise. Empty: no result.json, which tt exercise check leaves. Answers shown: by "
                 "tt exercise check --reveal.");
    html_section_end(t);
}

/* ---- what most had wrong ---- */

struct mistake {
    double exercise;
    const char *question, *reason, *examples[EXAMPLES];
    int count;
};

static void add_example(struct mistake *m, const char *given)
{
    for (int i = 0; i < EXAMPLES && given[0]; i++) {
        if (!m->examples[i]) m->examples[i] = given;
        if (!strcmp(m->examples[i], given)) return;
    }
}

static void add_mistake(struct mistake *list, int *n, double exercise, const struct tt_json *q)
{
    const char *question = tt_json_string(q, "id", ""), *reason = tt_json_string(q, "reason", "");
    int i = 0;
    while (i < *n &&
           (list[i].exercise != exercise || strcmp(list[i].question, question) || strcmp(list[i].reason, reason)))
        i++;
    if (i == MISTAKES) return;
    if (i == *n) list[(*n)++] = (struct mistake){.exercise = exercise, .question = question, .reason = reason};
    list[i].count++;
    add_example(&list[i], tt_json_string(q, "given", ""));
}

static int by_count(const void *a, const void *b)
{
    const struct mistake *x = a, *y = b;
    return x->count != y->count ? y->count - x->count : (x->exercise > y->exercise) - (x->exercise < y->exercise);
}

static int gather_mistakes(const struct room *c, struct mistake *list)
{
    int n = 0;
    for (int i = 0; i < c->n; i++)
        for (const struct tt_json *q = tt_json_get(c->results[i], "questions")->first; q; q = q->next) {
            const char *sign = tt_class_sign(q);
            if (*sign == '-' || *sign == '?') add_mistake(list, &n, tt_class_exercise(c->results[i]), q);
        }
    qsort(list, (size_t)n, sizeof *list, by_count);
    return n;
}

static void mistakes(struct tt_text *t, const struct room *c)
{
    struct mistake *list = calloc(MISTAKES, sizeof *list);
    int n = list ? gather_mistakes(c, list) : 0;
    char words[32];
    html_section(t, "mistakes", "Typical mistakes");
    if (!n) html_paragraph(t, "No answer is wrong.");
    if (n) html_table(t, "#learners|#exercise|question|what is wrong|for example");
    for (int i = 0; i < n && i < SHOWN; i++) {
        html_row(t);
        snprintf(words, sizeof words, "%d", list[i].count);
        html_number(t, list[i].count, words);
        snprintf(words, sizeof words, "%g", list[i].exercise);
        html_number(t, list[i].exercise, words);
        name_cell(t, list[i].question);
        tt_text_puts(t, "<td class=\"why\">");
        tt_escape(t, list[i].reason);
        tt_text_puts(t, "</td><td class=\"answer\">");
        for (int k = 0; k < EXAMPLES && list[i].examples[k]; k++) {
            if (k) tt_text_puts(t, "; ");
            tt_escape(t, list[i].examples[k]);
        }
        tt_text_puts(t, "</td>");
        html_row_end(t);
    }
    if (n) html_table_end(t);
    if (n > SHOWN) html_note(t, "The %d most frequent of %d.", SHOWN, n);
    html_section_end(t);
    t->failed |= !list;
    free(list);
}

/* ---- an exercise, question by question ---- */

static void right_bar(struct tt_text *t, const struct room *c, int column)
{
    const struct tt_json *model = any_of(c, column), *list = tt_json_get(model, "questions");
    struct tt_bar *bars = calloc((size_t)list->count + 1, sizeof *bars);
    char title[200];
    int n = 0;
    for (const struct tt_json *q = bars ? list->first : NULL; q; q = q->next) {
        int right = 0, named = 0, all = 0;
        for (int i = 0; i < c->row_count; i++) {
            const struct tt_json *r = c->rows[i][column] >= 0 ? c->results[c->rows[i][column]] : NULL;
            const struct tt_json *own = r ? tt_class_question(r, tt_json_string(q, "id", "")) : NULL;
            all += own && *tt_class_sign(own) != '/';
            right += own && *tt_class_sign(own) == '+';
            named += own && tt_class_is_named(own);
        }
        bars[n] =
            (struct tt_bar){.label = tt_json_string(q, "id", ""), .value = all ? (double)right / all : 0, .color = 2};
        snprintf(bars[n].note, sizeof bars[n].note, "%d of %d %s", right, all,
                 named ? tt_mark_named : "right");
        n++;
    }
    snprintf(title, sizeof title, "Exercise %g: %.150s", c->exercises[column], tt_json_string(model, "title", ""));
    tt_svg_bars(t, title, bars, n);
    t->failed |= !bars;
    free(bars);
}

static void learner_rows(struct tt_text *t, const struct room *c, int column)
{
    const struct tt_json *questions = tt_json_get(any_of(c, column), "questions");
    struct tt_text columns = {0};
    int number = 0;
    tt_text_puts(&columns, "learner|#points");
    for (const struct tt_json *q = questions->first; q; q = q->next) tt_text_printf(&columns, "|%d", ++number);
    if (columns.s) html_table(t, columns.s);
    tt_text_free(&columns);
    for (int i = 0; i < c->row_count; i++) {
        const struct tt_json *r = c->rows[i][column] >= 0 ? c->results[c->rows[i][column]] : NULL;
        if (!r) continue;
        html_row(t);
        name_cell(t, tt_class_learner(r));
        page_points(t, tt_class_points(r), most_of(r), is_true(r, "passed"));
        for (const struct tt_json *q = questions->first; q; q = q->next) {
            const struct tt_json *own = tt_class_question(r, tt_json_string(q, "id", ""));
            const char *mark = tt_json_string(own, "mark", "");
            tt_text_printf(t, "<td class=\"state %s\" title=\"", page_mark_class(mark));
            tt_escape(t, tt_json_string(q, "id", ""));
            tt_text_puts(t, ": ");
            tt_escape(t, mark);
            tt_text_printf(t, "\">%s%s</td>", tt_class_sign(own), is_true(own, "revealed") ? "*" : "");
        }
        html_row_end(t);
    }
    html_table_end(t);
}

static void exercises(struct tt_text *t, const struct room *c)
{
    html_section(t, "exercises", "Question by question");
    for (int i = 0; i < c->exercise_count; i++) {
        char title[64];
        right_bar(t, c, i);
        snprintf(title, sizeof title, "Exercise %g, learner by learner", c->exercises[i]);
        html_fold(t, title, false);
        learner_rows(t, c, i);
        html_note(t, "In the order of the bars above. + right, or a sentence that names a figure, - wrong, . empty, "
                     "? unknown, / passed over, ! refused, * after it was shown");
        html_fold_end(t);
    }
    html_section_end(t);
}

/* ---- runs ---- */

static void shared(struct tt_text *t, const struct room *c)
{
    struct tt_text lines = {0};
    tt_class_shared(c->results, c->n, &lines);
    html_section(t, "shared", "Shared runs");
    if (lines.s)
        page_notes(t, lines.s);
    else
        html_paragraph(t, "No two learners handed in the same run.");
    html_section_end(t);
    t->failed |= lines.failed;
    tt_text_free(&lines);
}

static bool refused_row(struct tt_text *t, const struct tt_json *result, const struct tt_json *run)
{
    const char *refusal = tt_json_string(run, "refusal", "");
    if (is_true(run, "taken") || !refusal[0]) return false;
    html_row(t);
    name_cell(t, tt_class_learner(result));
    html_cell(t, "%g", tt_class_exercise(result));
    html_cell(t, "%s", tt_json_string(run, "name", ""));
    tt_text_puts(t, "<td class=\"why\">");
    tt_escape(t, refusal);
    tt_text_puts(t, "</td>");
    html_row_end(t);
    return true;
}

static void noise(struct tt_text *t, const struct room *c)
{
    int noisy = 0, refused = 0;
    html_section(t, "noise", "Noise");
    html_table(t, "learner|exercise|what the check says");
    for (int i = 0; i < c->n; i++) {
        const char *words = tt_json_string(c->results[i], "noise", "");
        if (!words[0]) continue;
        noisy++;
        html_row(t);
        name_cell(t, tt_class_learner(c->results[i]));
        html_cell(t, "%g", tt_class_exercise(c->results[i]));
        tt_text_puts(t, "<td class=\"why\">");
        tt_escape(t, words);
        tt_text_puts(t, "</td>");
        html_row_end(t);
    }
    html_table_end(t);
    if (!noisy)
        html_note(t, "No run was seen to be disturbed, and no speed-up was read that lies within its noise.");
    html_section_end(t);
    html_section(t, "refused", "Runs that were not taken");
    html_table(t, "learner|exercise|run|why");
    for (int i = 0; i < c->n; i++) {
        const struct tt_json *runs = tt_json_get(c->results[i], "runs");
        for (const struct tt_json *r = runs ? runs->first : NULL; r; r = r->next)
            refused += refused_row(t, c->results[i], r);
    }
    html_table_end(t);
    if (!refused) html_note(t, "Every run was taken.");
    html_section_end(t);
}

/* ---- the page ---- */

/* How many rows are named after a folder, since nobody wrote a name into its worksheet. */
static int nameless_rows(const struct room *c)
{
    int n = 0;
    for (int row = 0; row < c->row_count; row++)
        for (int column = 0; column < c->exercise_count; column++) {
            if (c->rows[row][column] < 0) continue;
            n += tt_class_nameless(c->results[c->rows[row][column]]);
            break;
        }
    return n;
}

static void head(struct tt_text *t, const struct room *c, int refresh)
{
    char now[40];
    time_t at = time(NULL);
    struct tm utc;
    int solved = 0, folders = nameless_rows(c), learners = c->row_count - folders;
    for (int i = 0; i < c->n; i++) solved += is_true(c->results[i], "passed");
    strftime(now, sizeof now, "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&at, &utc));
    html_begin_with(t, "The class", tt_course_css, refresh);
    tt_text_puts(t, "<header><h1>The class</h1>\n<p class=\"lead\">");
    if (c->n)
        tt_text_printf(t, "%d learner%s, ", learners, learners == 1 ? "" : "s");
    if (c->n && folders)
        tt_text_printf(t, "%d folder%s whose sheet%s no learner, ", folders, folders == 1 ? "" : "s",
                       folders == 1 ? " names" : "s name");
    if (c->n)
        tt_text_printf(t, "%d exercise%s; %d of %d results are all right.", c->exercise_count,
                       c->exercise_count == 1 ? "" : "s", solved, c->n);
    else
        tt_text_puts(t, "No result can be shown yet.");
    tt_text_printf(t, "</p>\n<p class=\"note\">Written %s.", now);
    if (refresh) tt_text_printf(t, " The browser loads it again every %d seconds.", refresh);
    tt_text_puts(t, "</p>\n");
    if (c->n)
        tt_text_puts(t, "<nav><a href=\"#where\">Who is where</a> <a href=\"#mistakes\">Typical mistakes</a> "
                        "<a href=\"#exercises\">Question by question</a> <a href=\"#shared\">Shared runs</a> "
                        "<a href=\"#noise\">Noise</a> <a href=\"#refused\">Runs not taken</a></nav>");
    tt_text_puts(t, "</header>\n<main>\n");
}

tt_status tt_class_page(struct tt_json *const *results, int n, const char *notes, int refresh, const char *path)
{
    struct tt_text t = {0};
    struct room c;
    if (!arrange(&c, results, n)) return tt_no_memory("the page of the class");
    head(&t, &c, refresh);
    if (n) {
        who_is_where(&t, &c);
        mistakes(&t, &c);
        exercises(&t, &c);
        shared(&t, &c);
        noise(&t, &c);
    }
    if (notes) page_notes(&t, notes);
    tt_text_puts(&t, "</main>\n");
    free(c.rows);
    return html_end(&t, path);
}
