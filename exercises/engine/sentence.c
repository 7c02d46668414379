/* Sentences. A person judges what they say; the check sees that they name a figure of the run, which a sentence that
 * could have been written without one does not. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "exercises/engine/parts.h"

/* What a figure is, in words, with the name of its row. */
static void say_name(const struct tt_figure *f, struct tt_text *out)
{
    const char *name = f->name ? f->name : f->from ? f->from : "a figure of your runs", *row = strstr(name, "{row}");
    tt_text_printf(out, "%.*s%s%s", (int)(row ? (size_t)(row - name) : strlen(name)), name, row ? f->row : "",
                   row ? row + 5 : "");
}

/* "28.1 is taken for the MFU of wide": what the check knows, whatever the sentence calls it. */
static void say_what(const struct tt_named *h, struct tt_text *out)
{
    const struct tt_figure *f = h->f;
    tt_text_printf(out, "%s is taken for ", h->given);
    say_name(f, out);
    if (!f->word && f->value < 0) tt_text_printf(out, ", which is %.4g", h->is);
}

/* What the figure of a busy machine is good for. */
static const char *of_busy(const struct tt_figure *f)
{
    bool change = f->change == TT_CHANGE_LONGER || f->change == TT_CHANGE_FASTER;
    return !f->busy ? ""
           : change ? "The machine was busy: how much of that is the machine's is not known. "
                    : "The machine was busy, or the recorded steps were disturbed: such times, and what is computed "
                      "from them, may be far off. ";
}

/* A figure of the run, and words beside it that say something else. */
static void say_against(const struct tt_named *h, struct tt_mark *m)
{
    struct tt_text text = {0};
    say_what(h, &text);
    if (h->fit == TT_FIT_UNNAMED)
        tt_text_puts(&text, ", and the sentence does not say it of that: name what the figure is of");
    else if (h->fit == TT_FIT_OF_ANOTHER)
        tt_text_printf(&text, ", and the sentence says it of %s", h->against);
    else
        tt_text_puts(&text, h->against);
    tt_exercise_because(m, TT_MARK_UNKNOWN, text.s);
    m->misput = h->fit != TT_FIT_UNNAMED;
    tt_text_free(&text);
}

static void say_named(const struct tt_named *h, struct tt_mark *m)
{
    struct tt_text text = {0};
    tt_exercise_because(m, TT_MARK_RIGHT, "");
    say_what(h, &text);
    if (h->unknown[0]) tt_text_printf(&text, "; %s is no figure that this check looks for", h->unknown);
    snprintf(m->means, sizeof m->means, "%s. %sWhether the sentence says it of that, and whether the reason holds, "
                                        "this check cannot tell.", text.s, of_busy(h->f));
    tt_text_free(&text);
}

/* "a sentence with 1 wait more", or "a sentence with 28.1 as the MFU of wide": a number alone does not count. */
static void show_example(struct tt_mark *m, const struct tt_figure *f)
{
    struct tt_text name = {0};
    int n = f->word ? snprintf(m->right, sizeof m->right, "a sentence with %s", f->word)
                    : snprintf(m->right, sizeof m->right, "a sentence with %.6g", fabs(f->value));
    for (const struct tt_yaml *y = f->with ? f->with->first : NULL; y && (size_t)n < sizeof m->right; y = y->next)
        if (y->text)
            n += snprintf(m->right + n, sizeof m->right - (size_t)n, " %.*s", (int)strcspn(y->text, "|"), y->text);
    if (f->noun && (size_t)n < sizeof m->right)
        snprintf(m->right + n, sizeof m->right - (size_t)n, " and the word %.*s", (int)strcspn(f->noun, "|"), f->noun);
    if (f->word || f->noun || f->with || !(f->name || f->from) || (size_t)n >= sizeof m->right) return;
    say_name(f, &name);
    if (!name.failed) snprintf(m->right + n, sizeof m->right - (size_t)n, " as %s", name.s);
    tt_text_free(&name);
}

static bool has_figures(const char *sentence)
{
    struct tt_quoted q;
    for (const char *at = sentence; tt_exercise_quoted(sentence, &at, &q);)
        if (!tt_exercise_is_bare(q.given)) return true;
    return false;
}

/* Figures that the check does not look for may well be the run's, and are not called anything else. */
static void say_which(struct tt_mark *m, const struct tt_figure *f, int n)
{
    char reason[300];
    const char *from = NULL, *none = has_figures(m->given) ? "it names none of the figures that this question is about"
                                                            : "it names no figure of your run";
    for (int i = 0; i < n && !from; i++) from = f[i].from;
    if (f->unlike)
        snprintf(reason, sizeof reason, "%s: those that tell your run from %.60s", none, f->unlike);
    else
        snprintf(reason, sizeof reason, "%s: say which one led you there%s%.60s", none, from ? ", such as your " : "",
                 from ? from : "");
    tt_exercise_because(m, TT_MARK_UNKNOWN, reason);
}

static void judge(struct tt_mark *m, struct tt_sentence s)
{
    struct tt_named best = tt_exercise_find_named(&s), also = {0};
    s.anyway = true;
    if (best.fit < TT_FIT_OF_ANOTHER && s.f->unlike) also = tt_exercise_find_named(&s);
    if (best.fit == TT_FIT_NAMED) {
        say_named(&best, m);
    } else if (also.fit == TT_FIT_NAMED) {
        m->kind = TT_MARK_UNKNOWN;
        snprintf(m->reason, sizeof m->reason, "%s is also a figure of the run %.60s: name one that tells the two apart",
                 also.given, s.f->unlike);
    } else if (best.fit != TT_FIT_NONE) {
        say_against(&best, m);
    } else {
        say_which(m, s.f, s.n);
    }
}

void tt_exercise_sentence(struct tt_mark *m, const struct tt_figure *f, int n, const struct tt_formula_scope *scope)
{
    bool letters = false;
    const struct tt_figure *one = tt_exercise_example(f, n);
    if (!one) {
        tt_exercise_because(m, TT_MARK_PASSED, n ? "no figure of the profile tells the two runs apart"
                                                 : "the profile has no figure for it");
        return;
    }
    show_example(m, one);
    if (!m->given[0]) return;
    for (const char *s = m->given; *s; s++) letters |= isalpha((unsigned char)*s) && isspace((unsigned char)s[1]);
    if (letters)
        judge(m, (struct tt_sentence){.sentence = m->given, .f = f, .n = n, .scope = scope});
    else
        tt_exercise_because(m, TT_MARK_UNKNOWN, "write a whole sentence: the figure, and what it says");
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
                                         .busy = m->marks[i].busy,
                                         .unit = tt_exercise_unit(e->questions[i].unit ? e->questions[i].unit : "")};
    }
    for (int i = 0; i < e->run_count && n && n + 3 <= TT_FIGURES; i++)
        n += tt_exercise_busy_figures(m->runs[i].profile, &f[n]);
    for (int i = 0; i < e->question_count; i++) {
        const struct tt_question *q = &e->questions[i];
        if (q->kind != TT_ASK_TEXT || q->names) continue;
        if (!n && refused)
            tt_exercise_because(&m->marks[i], TT_MARK_REFUSED, "it needs a figure of a run, and there is none");
        else
            tt_exercise_sentence(&m->marks[i], f, n, NULL);
    }
}
