/* The document of an exercise, to hand in: its answers, what they mean, and the figures behind them. The exercise's
 * report.md is its template; an exercise without one lists its questions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/file.h"
#include "core/base/markdown.h"
#include "exercises/engine/parts.h"
#include "exercises/engine/template.h"

enum { TEMPLATE = 1 << 20 };

struct writer {
    const struct tt_marked *m;
    struct tt_text *out;
};

static int find(const struct tt_marked *m, const char *id)
{
    for (int i = 0; i < m->exercise->question_count; i++)
        if (!strcmp(m->exercise->questions[i].id, id)) return i;
    return -1;
}

/* ---- single answers ---- */

/* The document has the units, so a number is shown without its own and in the question's. */
static void put_given(const struct writer *w, const struct tt_question *q, const struct tt_mark *mark)
{
    char *end, number[80];
    double x = strtod(mark->given, &end);
    bool plain = q->kind == TT_ASK_NUMBER && isfinite(mark->number) && end > mark->given;
    if (plain && x == mark->number)
        snprintf(number, sizeof number, "%.*s", (int)(end - mark->given), mark->given);
    else if (plain && q->unit)
        snprintf(number, sizeof number, "%.6g", mark->number);
    else
        plain = false;
    tt_md_text(w->out, plain ? number : mark->given);
}

/* What was written, with its mark if it is not right. */
static void put_answer(const struct writer *w, int i)
{
    const struct tt_mark *mark = &w->m->marks[i];
    if (mark->given[0]) put_given(w, &w->m->exercise->questions[i], mark);
    if (mark->kind == TT_MARK_RIGHT && mark->revealed) tt_text_puts(w->out, " *(after it was shown)*");
    if (mark->kind == TT_MARK_RIGHT) return;
    tt_text_printf(w->out, "%s*(%s)*", mark->given[0] ? " " : "", tt_mark_names[mark->kind]);
}

static void put_lines(const struct writer *w)
{
    tt_md_head(w->out, "question|answer|mark|what it means");
    for (int i = 0; i < w->m->exercise->question_count; i++) {
        tt_md_cell(w->out, w->m->exercise->questions[i].text);
        tt_md_cell(w->out, w->m->marks[i].given);
        tt_md_cell(w->out, tt_exercise_mark_word(&w->m->exercise->questions[i], &w->m->marks[i]));
        tt_md_cell(w->out, w->m->marks[i].means);
        tt_md_end(w->out);
    }
}

/* ---- tables ---- */

static void put_runs(const struct writer *w)
{
    tt_md_head(w->out, "run|device|measured|seal");
    for (int i = 0; i < w->m->exercise->run_count; i++) {
        const struct tt_marked_run *r = &w->m->runs[i];
        tt_md_cell(w->out, w->m->exercise->runs[i].name);
        tt_md_cellf(w->out, "%s%s", r->profile ? r->device : r->absent ? "not there" : "refused",
                    r->recorded ? " (recorded)" : "");
        tt_md_cell(w->out, r->profile ? r->created : "");
        tt_md_cellf(w->out, "%.8s", r->profile ? r->seal : "");
        tt_md_end(w->out);
    }
}

static void put_ms(const struct writer *w, double seconds)
{
    if (isfinite(seconds))
        tt_md_cellf(w->out, "%.3f", 1e3 * seconds);
    else
        tt_md_cell(w->out, "n/a");
}

/* The longest operators of the first run, with the host's time beside the device's. */
static void put_top(const struct writer *w, int count)
{
    const struct tt_json *list = tt_json_get(w->m->runs[0].profile, "operators");
    tt_md_head(w->out, "operator|group|phase|count:|device ms:|host ms:|share %:|bound");
    for (const struct tt_json *r = list ? list->first : NULL; r && count > 0; r = r->next, count--) {
        tt_md_cellf(w->out, "%s %s", tt_json_string(r, "name", ""), tt_json_string(r, "shape", ""));
        tt_md_cell(w->out, tt_json_string(r, "group", ""));
        tt_md_cell(w->out, tt_json_string(r, "phase", ""));
        tt_md_cellf(w->out, "%.0f", tt_json_number(r, "count", 0));
        put_ms(w, tt_json_number(r, "seconds", NAN));
        put_ms(w, tt_json_number(r, "host_seconds", NAN));
        tt_md_cellf(w->out, "%.1f", 100 * tt_json_number(r, "share", 0));
        tt_md_cell(w->out, tt_json_string(r, "bound", ""));
        tt_md_end(w->out);
    }
}

/* Lists the questions box_... that were answered with this word, with "open" beside those that the run leaves open. */
static void put_box(const struct writer *w, const char *word)
{
    int n = 0;
    for (int i = 0; i < w->m->exercise->question_count; i++) {
        const char *id = w->m->exercise->questions[i].id;
        if (strncmp(id, "box_", 4) || strcasecmp(w->m->marks[i].given, word)) continue;
        tt_text_puts(w->out, n++ ? ", " : "");
        tt_md_text(w->out, id + 4);
        if (w->m->marks[i].kind != TT_MARK_RIGHT)
            tt_text_printf(w->out, " *(%s)*", tt_mark_names[w->m->marks[i].kind]);
        else if (strstr(w->m->marks[i].right, "undecided") && !tt_exercise_is_open(word))
            tt_text_puts(w->out, " *(open)*");
    }
    if (!n) tt_text_puts(w->out, "-");
}

static void put_noise(const struct writer *w)
{
    struct tt_text lines = {0};
    tt_exercise_noise(w->m, &lines);
    for (char *at = lines.s; at && *at; at += strcspn(at, "\n"), at += *at == '\n') {
        tt_text_puts(w->out, "- ");
        size_t skip = strncmp(at, "noise: ", 7) ? 0 : 7;
        char *line = strndup(at + skip, strcspn(at + skip, "\n"));
        tt_md_text(w->out, line ? line : "");
        free(line);
        tt_text_puts(w->out, "\n");
    }
    if (!lines.n)
        tt_text_puts(w->out, "There is no line of noise for these runs; where a difference is smaller than the noise "
                             "that was seen, its answer says so.\n");
    tt_text_free(&lines);
}

static void put_score(const struct writer *w)
{
    const struct tt_marked *m = w->m;
    tt_text_printf(w->out, "%g of %g points", m->points, m->most);
    if (m->revealed) tt_text_printf(w->out, "; %d right answers were shown by --reveal and earn none", m->revealed);
}

/* ---- the document ---- */

static tt_status put_field(void *self, const char *field, struct tt_text *out, bool *known)
{
    const struct writer *w = self;
    const char *word = strchr(field, ' ');
    int i = word ? find(w->m, word + 1) : -1;
    (void)out;
    *known = true;
    if (!strcmp(field, "learner")) tt_md_text(w->out, w->m->learner[0] ? w->m->learner : "(no name)");
    else if (!strcmp(field, "runs")) put_runs(w);
    else if (!strcmp(field, "noise")) put_noise(w);
    else if (!strcmp(field, "score")) put_score(w);
    else if (!strcmp(field, "questions")) put_lines(w);
    else if (!strncmp(field, "top ", 4)) put_top(w, atoi(word + 1));
    else if (!strncmp(field, "box ", 4)) put_box(w, word + 1);
    else if (!strncmp(field, "answer ", 7) && i >= 0) put_answer(w, i);
    else if (!strncmp(field, "means ", 6) && i >= 0) tt_md_text(w->out, w->m->marks[i].means);
    else *known = false;
    return TT_OK;
}

tt_status tt_marked_report(const struct tt_marked *m, struct tt_text *out)
{
    static const char plain[] = "\n{learner}: {score}.\n\n## Runs\n\n{runs}\n## Answers\n\n{questions}\n## Noise\n\n"
                                "{noise}";
    struct tt_formula_run runs[TT_EXERCISE_RUNS];
    struct tt_formula_scope scope;
    struct writer w = {m, out};
    const struct tt_template t = {
        .scope = &scope, .missing = "n/a", .put_word = tt_md_text, .put_field = put_field, .self = &w};
    char path[1200], *text = NULL;
    size_t size;
    bool there;
    tt_exercise_scope(m, runs, &scope);
    snprintf(path, sizeof path, "%s/report.md", m->exercise->folder);
    if (tt_is_file(path)) TT_TRY(tt_file_read(path, TEMPLATE, &text, &size));
    tt_text_printf(out, "# %lld %s\n", (long long)m->exercise->number, m->exercise->title);
    tt_status st = tt_template_fill(&t, text ? text : plain, out, &there);
    free(text);
    return st ? tt_context(st, "%s", path) : TT_OK;
}
