/* Texts with figures in them: {formula}, and {if condition}...{elif condition}...{else}...{end}. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exercises/engine/template.h"

enum { DEPTH = 8, FIELD = 1200 };

/* An {if} that is open, and its present branch. */
struct branch {
    bool shown; /* the present branch is shown */
    bool over;  /* its condition holds, or one before it did */
    bool outer; /* the text around the {if} is shown */
};

struct filler {
    const struct tt_template *t;
    struct tt_text *out;
    struct branch open[DEPTH];
    int depth;
    bool there; /* no figure that the text needs is missing */
};

static bool is_shown(const struct filler *f) { return !f->depth || f->open[f->depth - 1].shown; }

/* With three digits, or as many as tell it from 1: a step is 1.003 times as fast, not 1 times. */
static void put_number(double x, struct tt_text *out)
{
    const double any = 1e90; /* more comes from an open end of an interval (1e100), in whatever formula */
    int digits = 3;
    while (digits < 6 && x != 1 && fabs(x - 1) < 0.5 * pow(10, 1 - digits)) digits++;
    if (fabs(x) > any)
        tt_text_puts(out, "any number");
    else if (fabs(x) >= 1000 && fabs(x) < 1e15)
        tt_text_printf(out, "%.0f", x);
    else
        tt_text_printf(out, "%.*g", digits, x);
}

static void put_value(struct filler *f, const struct tt_formula_value *v)
{
    if (v->kind == TT_FORMULA_WORD)
        f->t->put_word ? f->t->put_word(f->out, v->word) : tt_text_puts(f->out, v->word);
    else if (v->kind == TT_FORMULA_TRUTH)
        tt_text_puts(f->out, v->number != 0 ? "true" : "false");
    else if (v->kind == TT_FORMULA_NUMBER)
        put_number(v->number, f->out);
    else if (f->t->missing)
        tt_text_puts(f->out, f->t->missing);
    else
        f->there = false;
}

/* Formulas of branches that are not shown are evaluated too, so that a mistake in one is found at once. */
static tt_status put_formula(struct filler *f, const char *formula)
{
    struct tt_formula_value v;
    tt_status st = tt_formula(formula, f->t->scope, &v);
    if (!st && is_shown(f)) put_value(f, &v);
    tt_formula_free(&v);
    return st;
}

static tt_status holds(struct filler *f, const char *condition, bool shown, bool *out)
{
    struct tt_formula_value v;
    tt_status st = tt_formula(condition, f->t->scope, &v);
    if (!st && v.kind != TT_FORMULA_TRUTH && v.kind != TT_FORMULA_MISSING)
        st = tt_fail(TT_USAGE, "{if %.200s}: that is neither true nor false", condition);
    if (!st && shown && v.kind == TT_FORMULA_MISSING && !f->t->missing) f->there = false;
    *out = !st && v.kind == TT_FORMULA_TRUTH && v.number != 0;
    tt_formula_free(&v);
    return st;
}

static tt_status begin_branch(struct filler *f, const char *condition)
{
    bool outer = is_shown(f), yes;
    if (f->depth == DEPTH) return tt_fail(TT_USAGE, "{if} is nested more than %d deep", DEPTH);
    TT_TRY(holds(f, condition, outer, &yes));
    f->open[f->depth++] = (struct branch){.shown = outer && yes, .over = yes, .outer = outer};
    return TT_OK;
}

/* {elif}, or {else} if `condition` is NULL. */
static tt_status next_branch(struct filler *f, const char *condition)
{
    if (!f->depth) return tt_fail(TT_USAGE, "{elif} or {else} without an {if} before it");
    struct branch *b = &f->open[f->depth - 1];
    bool yes = true;
    if (condition) TT_TRY(holds(f, condition, b->outer && !b->over, &yes));
    b->shown = b->outer && !b->over && yes;
    b->over |= yes;
    return TT_OK;
}

static tt_status end_branch(struct filler *f)
{
    if (!f->depth) return tt_fail(TT_USAGE, "{end} without an {if} before it");
    f->depth--;
    return TT_OK;
}

static tt_status put_field(struct filler *f, const char *field)
{
    bool known = false;
    if (!strncmp(field, "if ", 3)) return begin_branch(f, field + 3);
    if (!strncmp(field, "elif ", 5)) return next_branch(f, field + 5);
    if (!strcmp(field, "else")) return next_branch(f, NULL);
    if (!strcmp(field, "end")) return end_branch(f);
    if (f->t->put_field && is_shown(f)) TT_TRY(f->t->put_field(f->t->self, field, f->out, &known));
    return known ? TT_OK : put_formula(f, field);
}

tt_status tt_template_fill(const struct tt_template *t, const char *text, struct tt_text *out, bool *there)
{
    struct filler f = {.t = t, .out = out, .there = true};
    while (*text) {
        char field[FIELD];
        size_t n = strcspn(text, "{"), end = strcspn(text + n, "}");
        if (is_shown(&f)) tt_text_add(out, text, n);
        text += n;
        if (!*text) break;
        if (!text[end] || end >= sizeof field) return tt_fail(TT_USAGE, "{%.80s: a } is missing, or too far", text + 1);
        snprintf(field, sizeof field, "%.*s", (int)(end - 1), text + 1);
        TT_TRY(put_field(&f, field));
        text += end + 1;
    }
    if (f.depth) return tt_fail(TT_USAGE, "an {if} has no {end}");
    *there = f.there;
    return tt_text_status(out);
}
