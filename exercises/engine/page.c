/* A learner's page: progress over the course, then each exercise with walkthrough, worksheet and runs. */
#include "exercises/engine/page.h"

#include <stdio.h>
#include <string.h>

#include "exercises/engine/assets.h"
#include "exercises/engine/page_parts.h"
#include "exercises/engine/parts.h"
#include "profiling/report/html_parts.h"
#include "profiling/report/svg.h"

/* ---- pieces ---- */

void page_points(struct tt_text *t, double points, double most, bool done)
{
    double share = most > 0 && points > 0 ? 100 * (points < most ? points / most : 1) : 0;
    tt_text_printf(t, "<td class=\"n\" data-v=\"%.1f\"><span class=\"bar\"><i%s style=\"width:%.0f%%\"></i></span>",
                   share, done ? " class=\"done\"" : "", share);
    tt_text_printf(t, "%g of %g</td>", points, most);
}

const char *page_mark_class(const char *mark)
{
    static const char *const classes[TT_MARK_KINDS] = {"m-right",   "m-wrong",  "m-empty",
                                                       "m-unknown", "m-passed", "m-refused"};
    for (int i = 0; i < TT_MARK_KINDS; i++)
        if (!strcmp(mark, tt_mark_names[i])) return classes[i];
    return !strcmp(mark, tt_mark_named) ? classes[TT_MARK_RIGHT] : "";
}

void page_notes(struct tt_text *t, const char *lines)
{
    while (*lines) {
        size_t n = strcspn(lines, "\n");
        struct tt_text line = {0};
        tt_text_add(&line, lines, n);
        if (n) tt_text_puts(t, "<p class=\"note\">");
        if (n && line.s) tt_escape(t, line.s);
        if (n) tt_text_puts(t, "</p>\n");
        t->failed |= line.failed;
        tt_text_free(&line);
        lines += n + (lines[n] == '\n');
    }
}

/* ---- the worksheet ---- */

/* What tt exercise check says of an answer: for a right one what it means, for another one why it is not right and
 * where to look. */
static void put_reason(struct tt_text *t, const struct tt_question *q, const struct tt_mark *m)
{
    bool bad = m->kind == TT_MARK_WRONG || m->kind == TT_MARK_UNKNOWN || m->kind == TT_MARK_EMPTY;
    tt_text_puts(t, "<td class=\"why\">");
    if (m->kind == TT_MARK_RIGHT && m->revealed) tt_text_puts(t, "After it was shown, without points. ");
    if (m->kind == TT_MARK_RIGHT) tt_escape(t, m->means);
    tt_text_puts(t, tt_exercise_likely(m));
    tt_escape(t, m->reason);
    if (m->kind == TT_MARK_WRONG && q->why && !m->misput) {
        tt_text_printf(t, "%s%s", tt_exercise_stop(m->reason), m->reason[0] ? " " : "");
        tt_escape(t, q->why);
    }
    if (bad && q->look) {
        tt_text_puts(t, m->reason[0] || m->kind == TT_MARK_WRONG ? "<br>Look: " : "Look: ");
        tt_escape(t, q->look);
    }
    tt_text_puts(t, "</td>");
}

static void question_row(struct tt_text *t, const struct tt_question *q, const struct tt_mark *m)
{
    html_row(t);
    tt_text_puts(t, "<td class=\"question\">");
    tt_escape(t, q->text);
    if (q->unit) {
        tt_text_puts(t, " [");
        tt_escape(t, q->unit);
        tt_text_puts(t, "]");
    }
    tt_text_puts(t, "<br><code>");
    tt_escape(t, q->id);
    tt_text_puts(t, "</code>");
    if (q->optional) tt_text_puts(t, " optional");
    tt_text_puts(t, "</td><td class=\"answer\">");
    tt_escape(t, m->given);
    tt_text_printf(t, "</td><td class=\"state %s\">", page_mark_class(tt_exercise_mark_word(q, m)));
    tt_escape(t, tt_exercise_mark_word(q, m));
    tt_text_puts(t, "</td>");
    put_reason(t, q, m);
    html_row_end(t);
}

static void worksheet(struct tt_text *t, const struct tt_marked *m)
{
    struct tt_text noise = {0};
    tt_text_puts(t, "<h3>Worksheet</h3>\n<div class=\"sheet\">\n");
    html_table(t, "question|your answer||what it means, or where to look");
    for (int i = 0; i < m->exercise->question_count; i++) question_row(t, &m->exercise->questions[i], &m->marks[i]);
    html_table_end(t);
    tt_text_puts(t, "</div>\n");
    tt_exercise_noise(m, &noise);
    if (noise.s) page_notes(t, noise.s);
    t->failed |= noise.failed;
    tt_text_free(&noise);
}

/* ---- an exercise ---- */

static void facts(struct tt_text *t, const struct tt_page_part *part)
{
    const struct tt_marked *m = &part->marked;
    char line[200];
    int right = 0;
    html_facts(t);
    html_fact(t, "folder", part->folder);
    if (!part->failure[0]) {
        for (int i = 0; i < m->exercise->question_count; i++) right += m->marks[i].kind == TT_MARK_RIGHT;
        snprintf(line, sizeof line, "%g of %g", m->points, m->most);
        html_fact(t, "points", line);
        if (m->extra > 0) {
            snprintf(line, sizeof line, "%g", m->extra);
            html_fact(t, "more, by optional questions", line);
        }
        snprintf(line, sizeof line, "%d of %d", right, m->exercise->question_count);
        html_fact(t, "answers right, sentences that name a figure", line);
        snprintf(line, sizeof line, "%d", m->revealed);
        if (m->revealed) html_fact(t, "answers shown by --reveal", line);
        html_fact(t, "started", m->started);
    }
    html_facts_end(t);
}

static tt_status put_part(struct tt_text *t, const struct tt_page *p, int index)
{
    const struct tt_page_part *part = &p->parts[index];
    char id[32], heading[200];
    snprintf(id, sizeof id, "part-%d", index + 1);
    snprintf(heading, sizeof heading, "%lld %s", (long long)part->exercise.number, part->exercise.title);
    html_section(t, id, heading);
    facts(t, part);
    html_fold(t, "Walkthrough", p->part_count == 1);
    tt_status st = page_walkthrough(t, p, &part->exercise);
    html_fold_end(t);
    if (part->failure[0]) {
        tt_text_puts(t, "<p class=\"warn\">");
        tt_escape(t, part->failure);
        tt_text_puts(t, "</p>\n");
    } else {
        worksheet(t, &part->marked);
        page_runs(t, &part->marked);
    }
    html_section_end(t);
    return st;
}

/* ---- progress ---- */

static const struct tt_page_part *part_of(const struct tt_page *p, int64_t number, int *index)
{
    for (*index = 0; *index < p->part_count; ++*index)
        if (p->parts[*index].exercise.number == number) return &p->parts[*index];
    return NULL;
}

/* Whether this is the first folder of its exercise: of several, only the first counts. */
static bool is_first(const struct tt_page *p, int part)
{
    int index;
    part_of(p, p->parts[part].exercise.number, &index);
    return index == part;
}

static void progress_row(struct tt_text *t, const struct tt_page *p, const struct tt_exercise *e)
{
    int index;
    char number[24], minutes[24];
    const struct tt_page_part *part = part_of(p, e->number, &index);
    const struct tt_marked *m = part && !part->failure[0] ? &part->marked : NULL;
    snprintf(number, sizeof number, "%lld", (long long)e->number);
    snprintf(minutes, sizeof minutes, "%lld", (long long)e->minutes);
    html_row(t);
    html_number(t, (double)e->number, number);
    tt_text_puts(t, "<td class=\"name\">");
    if (part) tt_text_printf(t, "<a href=\"#part-%d\">", index + 1);
    tt_escape(t, e->title);
    tt_text_puts(t, part ? "</a></td>" : "</td>");
    html_number(t, (double)e->minutes, minutes);
    if (m)
        page_points(t, m->points, m->most, m->passed);
    else
        html_number(t, -1, "");
    tt_text_printf(t, "<td class=\"state %s\">%s</td>",
                   m && m->passed ? "m-right"
                   : part && !m   ? "m-refused"
                                  : "m-empty",
                   m && m->passed ? "all right"
                   : m            ? "begun"
                   : part         ? "cannot be marked"
                                  : "");
    html_row_end(t);
}

static void progress(struct tt_text *t, const struct tt_page *p)
{
    html_section(t, "progress", "Progress");
    html_table(t, "##|exercise|#minutes|#points|");
    for (int i = 0; i < p->course_count; i++) progress_row(t, p, &p->course[i]);
    html_table_end(t);
    html_note(
        t,
        "Made of %d folder%s; tt exercise page writes it anew. Of an exercise that was started in several folders, "
        "the first is in this table, and counts.",
        p->part_count, p->part_count == 1 ? "" : "s");
    html_section_end(t);
}

static const char *learner_of(const struct tt_page *p)
{
    for (int i = 0; i < p->part_count; i++)
        if (p->parts[i].marked.learner[0]) return p->parts[i].marked.learner;
    return "";
}

static void head(struct tt_text *t, const struct tt_page *p)
{
    char title[300];
    int solved = 0, marked = 0;
    double points = 0, most = 0;
    for (int i = 0; i < p->part_count; i++) {
        const struct tt_marked *m = &p->parts[i].marked;
        if (p->parts[i].failure[0] || !is_first(p, i)) continue;
        marked++;
        solved += m->passed;
        points += m->points;
        most += m->most;
    }
    snprintf(title, sizeof title, "The course%s%s", learner_of(p)[0] ? ": " : "", learner_of(p));
    html_begin_with(t, title, tt_course_css, 0);
    tt_text_puts(t, "<header><h1>");
    tt_escape(t, title);
    tt_text_printf(t, "</h1>\n<p class=\"lead\">%g of %g points in %d exercise%s, %d of them all right.</p>\n<nav>",
                   points, most, marked, marked == 1 ? "" : "s", solved);
    for (int i = 0; i < p->part_count; i++) {
        tt_text_printf(t, "<a href=\"#part-%d\">%lld ", i + 1, (long long)p->parts[i].exercise.number);
        tt_escape(t, p->parts[i].exercise.title);
        tt_text_puts(t, "</a> ");
    }
    tt_text_puts(t, "</nav></header>\n<main>\n");
}

tt_status tt_page_write(const struct tt_page *p, const char *path)
{
    struct tt_text t = {0};
    tt_status st = TT_OK;
    head(&t, p);
    progress(&t, p);
    for (int i = 0; i < p->part_count && !st; i++) st = put_part(&t, p, i);
    tt_text_puts(&t, "</main>\n");
    if (!st) return html_end(&t, path);
    tt_text_free(&t);
    return st;
}
