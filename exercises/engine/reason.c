/* The reply to an answer: what a right one means, and why a wrong one is wrong. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exercises/engine/parts.h"
#include "exercises/engine/template.h"

/* ---- right ---- */

static tt_status put_given(void *mark, const char *field, struct tt_text *out, bool *known)
{
    const struct tt_mark *m = mark;
    *known = !strcmp(field, "given");
    if (*known) tt_text_puts(out, m->given);
    return TT_OK;
}

/* Appends the text with its figures and the answer for {given}. *there is false if the run lacks a figure. */
static tt_status fill_in(const char *text, struct tt_formula_scope *scope, struct tt_mark *m, struct tt_text *out,
                         bool *there)
{
    const struct tt_template t = {.scope = scope, .put_field = put_given, .self = m};
    return tt_template_fill(&t, text, out, there);
}

static tt_status say_meaning(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    struct tt_text text = {0};
    bool there = false;
    tt_status st = fill_in(q->means, scope, m, &text, &there);
    size_t n = strlen(m->means);
    if (!st && there && text.n) snprintf(m->means + n, sizeof m->means - n, "%s%s", n ? " " : "", text.s);
    tt_text_free(&text);
    return st ? tt_context(st, "line %d, question %s, means", q->line, q->id) : TT_OK;
}

/* ---- wrong ---- */

/* Makes `otherwise` the reason: what the question says of a wrong answer that is none of the mistakes it knows. */
static tt_status say_otherwise(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    struct tt_text text = {0};
    bool there = false;
    tt_status st = fill_in(q->otherwise, scope, m, &text, &there);
    if (!st && there && text.n) tt_exercise_because(m, TT_MARK_WRONG, text.s);
    tt_text_free(&text);
    return st ? tt_context(st, "line %d, question %s, otherwise", q->line, q->id) : TT_OK;
}

/* Appends `otherwise` to the reason of a sentence that holds no figure that counts. */
static tt_status say_more(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    struct tt_text text = {0};
    bool there = false;
    tt_status st = fill_in(q->otherwise, scope, m, &text, &there);
    size_t n = strlen(m->reason);
    if (!st && there && text.n)
        snprintf(m->reason + n, sizeof m->reason - n, "%s %s", tt_exercise_stop(m->reason), text.s);
    tt_text_free(&text);
    return st ? tt_context(st, "line %d, question %s, otherwise", q->line, q->id) : TT_OK;
}

/* Whether the reason is known: the number is right but the run is not, or it was rounded too far. */
static bool has_reason(const struct tt_question *q, const struct tt_mark *m)
{
    return isfinite(m->number) && (tt_exercise_near(q, m->number, m->value) ||
                                   tt_exercise_too_short(q, m->given, m->number, m->value));
}

static tt_status say_why(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    if (has_reason(q, m)) return TT_OK;
    if (q->otherwise && !m->unfit) TT_TRY(say_otherwise(q, scope, m));
    return tt_exercise_name_slip(q, scope, m);
}

tt_status tt_exercise_reason(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    const char *lacking = scope->lacking; /* an explanation may need more runs than the answer */
    bool used = scope->used;
    tt_status st = TT_OK;
    if (m->kind == TT_MARK_RIGHT) st = tt_exercise_is_a_slip(q, scope, m);
    if (!st && m->kind == TT_MARK_RIGHT && q->measured) st = tt_exercise_came_out(q, scope, m);
    if (!st && m->kind == TT_MARK_RIGHT && q->means) st = say_meaning(q, scope, m);
    if (!st && m->kind == TT_MARK_WRONG) st = say_why(q, scope, m);
    bool sentence = q->kind == TT_ASK_TEXT && q->otherwise && m->kind == TT_MARK_UNKNOWN;
    if (!st && sentence) st = say_more(q, scope, m);
    scope->lacking = lacking;
    scope->used = used;
    return st;
}
