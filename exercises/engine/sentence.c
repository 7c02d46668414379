/* Marks sentences. The check says which figures of the runs a sentence holds; whether what it says of them is true, a
 * person judges. A sentence that could have been written without any run holds none. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exercises/engine/parts.h"

/* What a figure is, in words, with the name of its row. */
static void say_name(const struct tt_figure *f, struct tt_text *out)
{
    const char *name = f->name ? f->name : f->from ? f->from : "a figure of your runs", *row = strstr(name, "{row}");
    tt_text_printf(out, "%.*s%s%s", (int)(row ? (size_t)(row - name) : strlen(name)), name, row ? f->row : "",
                   row ? row + 5 : "");
}

/* "28.1 %: the MFU of wide", whatever the sentence says of it. */
static void say_held(const struct tt_held *h, struct tt_text *out)
{
    tt_text_printf(out, "%s: ", h->given);
    say_name(h->f, out);
    if (!h->f->word && h->f->value < 0) tt_text_printf(out, " (%.4g)", h->is);
    if (h->more) tt_text_printf(out, ", or another figure of your runs");
}

static void say_all(const struct tt_held *h, int n, struct tt_mark *m)
{
    struct tt_text text = {0};
    for (int i = 0; i < n; i++) {
        if (!h[i].f && (!h[i].unit || h[i].shared)) continue;
        if (text.n) tt_text_puts(&text, "; ");
        if (h[i].f)
            say_held(&h[i], &text);
        else
            tt_text_printf(&text, "%s: none that this question looks for", h[i].given);
    }
    tt_exercise_because(m, TT_MARK_RIGHT, "");
    snprintf(m->means, sizeof m->means, "%s. Whether the sentence is right is for people to judge.",
             text.s ? text.s : "");
    tt_text_free(&text);
}

static bool tells(const struct tt_figure *f)
{
    return !f->unlike || fabs(fabs(f->value) - fabs(f->other)) > 1e-5 * fabs(f->value);
}

static const struct tt_figure *example_of(const struct tt_figure *f, int n)
{
    const struct tt_figure *bare = NULL;
    for (int i = 0; i < n; i++) {
        bool digit = !f[i].word && fabs(f[i].value) < 10 && f[i].value == trunc(f[i].value);
        if (!tells(&f[i])) continue;
        if (!digit) return &f[i];
        if (!bare) bare = &f[i];
    }
    return bare;
}

/* "a sentence with 28.1 % as the MFU of wide" */
static void show_example(struct tt_mark *m, const struct tt_figure *f)
{
    struct tt_text text = {0};
    const char *unit = tt_exercise_unit_name(f->unit);
    if (f->word)
        tt_text_printf(&text, "a sentence with %s", f->word);
    else
        tt_text_printf(&text, "a sentence with %.6g%s%s as ", fabs(f->value), unit[0] ? " " : "", unit);
    if (!f->word) say_name(f, &text);
    snprintf(m->right, sizeof m->right, "%s", text.s ? text.s : "");
    tt_text_free(&text);
}

/* Says what a sentence lacks that holds no figure that counts. */
static void say_none(struct tt_mark *m, const struct tt_held *h, int n, const struct tt_figure *f)
{
    const struct tt_held *shared = NULL, *untold = NULL;
    for (int i = 0; i < n; i++) {
        if (h[i].shared && !shared) shared = &h[i];
        if (h[i].untold && !untold) untold = &h[i];
    }
    tt_exercise_because(m, TT_MARK_UNKNOWN, "");
    if (shared)
        snprintf(m->reason, sizeof m->reason, "%s is a figure of the run %.60s: name one that tells yours from it",
                 shared->given, f->unlike);
    else if (untold)
        snprintf(m->reason, sizeof m->reason,
                 "%s counts only as a figure that this question looks for, with a unit or a word of what it is",
                 untold->given);
    else if (f->unlike)
        snprintf(m->reason, sizeof m->reason,
                 "it holds none of the figures that this question looks for: those that tell your run from %.60s",
                 f->unlike);
    else
        snprintf(m->reason, sizeof m->reason,
                 "it holds none of the figures that this question looks for%s%.60s: say which one led you there",
                 f->from ? ", such as your " : "", f->from ? f->from : "");
}

void tt_exercise_sentence(struct tt_mark *m, const struct tt_figure *f, int n, const struct tt_formula_scope *scope)
{
    struct tt_held held[TT_HELD];
    bool letters = false, named = false;
    const struct tt_figure *one = example_of(f, n);
    if (!one) {
        tt_exercise_because(m, TT_MARK_PASSED, n ? "no figure of the profile tells the two runs apart"
                                                 : "the profile has no figure for it");
        return;
    }
    show_example(m, one);
    if (!m->given[0]) return;
    for (const char *s = m->given; *s; s++) letters |= isalpha((unsigned char)*s) && isspace((unsigned char)s[1]);
    if (!letters) {
        tt_exercise_because(m, TT_MARK_UNKNOWN, "write a whole sentence: the figure, and what it says");
        return;
    }
    int count = tt_exercise_find_held(m->given, f, n, scope, held);
    for (int i = 0; i < count; i++) named |= held[i].f != NULL;
    if (named)
        say_all(held, count, m);
    else
        say_none(m, held, count, f);
}

void tt_exercise_sentences(struct tt_marked *m)
{
    struct tt_figure f[TT_FIGURES] = {0};
    const struct tt_exercise *e = m->exercise;
    int n = 0;
    bool refused = false;
    for (int i = 0; i < e->question_count && n < TT_FIGURES; i++) {
        refused |= m->marks[i].kind == TT_MARK_REFUSED;
        if (e->questions[i].kind == TT_ASK_NUMBER && isfinite(m->marks[i].value) && m->marks[i].right[0])
            f[n++] = (struct tt_figure){.value = m->marks[i].value, .from = e->questions[i].id,
                                         .unit = tt_exercise_unit(e->questions[i].unit ? e->questions[i].unit : "")};
    }
    for (int i = 0; i < e->run_count && n && n + TT_DISTURBED_FIGURES <= TT_FIGURES; i++)
        n += tt_exercise_disturbed_figures(m->runs[i].profile, &f[n]);
    for (int i = 0; i < e->question_count; i++) {
        const struct tt_question *q = &e->questions[i];
        if (q->kind != TT_ASK_TEXT || q->names) continue;
        if (!n && refused)
            tt_exercise_because(&m->marks[i], TT_MARK_REFUSED, "it needs a figure of a run, and there is none");
        else
            tt_exercise_sentence(&m->marks[i], f, n, NULL);
    }
}
