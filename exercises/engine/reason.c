/* What a right answer means, and which slip a wrong one is. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "exercises/engine/parts.h"

/* ---- right ---- */

/* With three digits, or as many as tell it from 1: a step is 1.003 times as fast, not 1 times. */
static void put_number(double x, struct tt_text *out)
{
    int digits = 3;
    while (digits < 6 && x != 1 && fabs(x - 1) < 0.5 * pow(10, 1 - digits)) digits++;
    if (fabs(x) >= 1000 && fabs(x) < 1e15)
        tt_text_printf(out, "%.0f", x);
    else
        tt_text_printf(out, "%.*g", digits, x);
}

/* "{formula}" as people read it; false where the run does not have the figure. */
static tt_status put_value(const char *formula, struct tt_formula_scope *scope, struct tt_text *out, bool *there)
{
    struct tt_formula_value v;
    tt_status st = tt_formula(formula, scope, &v);
    *there = !st && v.kind != TT_FORMULA_MISSING && v.kind != TT_FORMULA_ROWS;
    if (*there && v.kind == TT_FORMULA_WORD)
        tt_text_puts(out, v.word);
    else if (*there && v.kind == TT_FORMULA_TRUTH)
        tt_text_puts(out, v.number != 0 ? "true" : "false");
    else if (*there)
        put_number(v.number, out);
    tt_formula_free(&v);
    return st;
}

/* {formula} is replaced by its value, {given} by the answer. */
static tt_status fill_in(const char *text, struct tt_formula_scope *scope, const struct tt_mark *m, struct tt_text *out,
                         bool *there)
{
    *there = true;
    while (*text && *there) {
        size_t n = strcspn(text, "{"), end = strcspn(text + n, "}");
        tt_text_add(out, text, n);
        text += n;
        if (!*text) break;
        char formula[1200];
        snprintf(formula, sizeof formula, "%.*s", (int)(end ? end - 1 : 0), text + 1);
        if (!strcmp(formula, "given"))
            tt_text_puts(out, m->given);
        else
            TT_TRY(put_value(formula, scope, out, there));
        text += end + (text[end] == '}');
    }
    return TT_OK;
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

/* Four digits were computed from figures as exact: 139.97 is not 139.05. Three are off by half of their last one. */
static bool is_number(const struct tt_question *q, const struct tt_mark *m, double x)
{
    int digits = tt_exercise_digits(m->given);
    double most = digits > 3 ? 0.003 : digits == 3 ? 0.006 : 0.01;
    double room = q->tolerance < most ? fmax(q->tolerance, 1e-9) : most;
    return isfinite(m->number) && isfinite(x) && fabs(m->number - x) <= room * fabs(x);
}

/* As tables print it, with two digits or more. */
static bool is_rounded(const struct tt_question *q, const struct tt_mark *m, double x)
{
    return q->tolerance > 0 && isfinite(m->number) && isfinite(x) && tt_exercise_digits(m->given) > 1 &&
           tt_exercise_rounded(m->given, m->number, x);
}

/* How far the given number is from one that a mistake gives, as a part of that; INFINITY: it is not that one. */
static double off_by(const struct tt_question *q, const struct tt_mark *m, double x)
{
    if (is_rounded(q, m, x)) return 0;
    return is_number(q, m, x) ? fabs(m->number - x) / fmax(fabs(x), 1e-300) : INFINITY;
}

/* One in the last place that was written. */
static double last_place(const struct tt_mark *m)
{
    int digits = tt_exercise_digits(m->given);
    return digits && m->number != 0 ? pow(10, floor(log10(fabs(m->number))) + 1 - digits) : 0;
}

/* The same of a figure that belongs elsewhere. That is copied, to its digits or with the rest cut off: it has to be
 * nearer than a mistake of this question, since among many figures one is near by chance. */
static double off_figure(const struct tt_question *q, const struct tt_mark *m, double x)
{
    double off = is_number(q, m, x) ? off_by(q, m, x) : INFINITY;
    bool copied = tt_exercise_digits(m->given) < 4 ? off <= 0.002 : fabs(m->number - x) < last_place(m);
    return copied ? off : INFINITY;
}

/* A mistake that the question itself knows, or another run: it was found that far off. */
static void say_known(struct tt_mark *m, const char *reason, double off)
{
    tt_exercise_because(m, TT_MARK_WRONG, reason);
    m->known = m->named = true;
    m->off = off;
}

/* The mistakes that the question knows: the one that comes nearest. */
static tt_status find_slip(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m,
                           double *nearest)
{
    for (const struct tt_yaml *y = q->slips ? q->slips->first : NULL; y; y = y->next) {
        struct tt_formula_value v;
        TT_TRY(tt_formula(tt_yaml_get(y, "is")->text, scope, &v));
        bool chance = v.kind == TT_FORMULA_NUMBER && tt_exercise_by_chance(m->given, m->number, v.number);
        double off = chance                                                        ? INFINITY
                     : v.kind == TT_FORMULA_NUMBER                                 ? off_by(q, m, v.number)
                     : v.kind == TT_FORMULA_WORD && !strcasecmp(v.word, m->given) ? 0
                                                                                   : INFINITY;
        tt_formula_free(&v);
        if (!(off < *nearest)) continue;
        *nearest = off;
        say_known(m, tt_yaml_get(y, "says")->text, off);
    }
    return TT_OK;
}

/* What the question says of a wrong answer that is none of the mistakes it knows. */
static tt_status say_otherwise(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    struct tt_text text = {0};
    bool there = false;
    tt_status st = fill_in(q->otherwise, scope, m, &text, &there);
    if (!st && there && text.n) tt_exercise_because(m, TT_MARK_WRONG, text.s);
    tt_text_free(&text);
    return st ? tt_context(st, "line %d, question %s, otherwise", q->line, q->id) : TT_OK;
}

/* Of a sentence that names a time, and no figure that counts: why that does not. */
static tt_status say_of_time(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
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

bool tt_exercise_exchange(const char *text, const char *from, const char *to, char *out, size_t size)
{
    const char *start = text;
    char name[80];
    size_t at = 0;
    bool found = false;
    int n = snprintf(name, sizeof name, "%s:", from);
    for (; *text && at + 1 < size; text++) {
        bool begins = text == start || !(isalnum((unsigned char)text[-1]) || text[-1] == '_');
        bool here = n > 0 && begins && !strncmp(text, name, (size_t)n);
        at += (size_t)snprintf(out + at, size - at, "%s%s", here ? to : (char[2]){*text, 0}, here ? ":" : "");
        if (here) text += n - 1;
        found |= here;
    }
    return found && at < size;
}

/* Enough digits that it is no figure by chance, of which a worksheet has dozens, or the very figure. Zeros at the end
 * of a whole number are no digits that were read. */
static bool is_precise(const struct tt_mark *m, double x, int digits)
{
    size_t end = strspn(m->given, "+-0123456789");
    int n = tt_exercise_digits(m->given);
    for (; m->given[end] != '.' && end && m->given[end - 1] == '0'; end--) n--;
    return n >= digits || m->number == x;
}

/* Small whole numbers are the figure of something else by chance: they tell nothing of what was mistaken. */
static bool is_small_whole(double x, double below) { return x == trunc(x) && fabs(x) < below; }

bool tt_exercise_has_runs(const char *formula, const struct tt_formula_scope *scope)
{
    int n = 0;
    char same[1200];
    for (int i = 0; i < scope->count; i++)
        n += tt_exercise_exchange(formula, scope->runs[i].name, scope->runs[i].name, same, sizeof same);
    return n > 1;
}

/* Figures without a unit are quotients near 1, most of them, and are dense there. */
static int digits_enough(const struct tt_question *q, bool dense) { return !q->unit && dense ? 4 : 3; }

static double off_formula(const struct tt_question *q, const char *formula, struct tt_formula_scope *scope,
                          const struct tt_mark *m)
{
    struct tt_formula_value v;
    tt_status st = tt_formula(formula, scope, &v);
    bool number = !st && v.kind == TT_FORMULA_NUMBER;
    bool precise = number && is_precise(m, v.number, digits_enough(q, tt_exercise_has_runs(formula, scope)));
    double off = precise ? off_figure(q, m, v.number) : INFINITY;
    tt_status_free(st);
    tt_formula_free(&v);
    return off;
}

/* The formula of the answer; of one that is the name of a definition, what stands there. */
static const char *answer_of(const struct tt_question *q, const struct tt_formula_scope *scope)
{
    const struct tt_yaml *y = scope->define ? tt_yaml_get(scope->define, q->answer) : NULL;
    return y && y->text ? y->text : q->answer;
}

/* The figure of another run than the question's, where that comes nearer than any other mistake. */
static void find_other_run(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m,
                           double nearest)
{
    const char *answer = answer_of(q, scope);
    const char *own = q->run ? q->run : scope->count ? scope->runs[0].name : "";
    char formula[1200], reason[200];
    if (is_small_whole(m->number, tt_exercise_has_runs(answer, scope) ? 100 : 10)) return;
    for (int i = 0; i < scope->count; i++)
        for (int j = 0; j < scope->count; j++) {
            const char *from = scope->runs[i].name, *to = scope->runs[j].name;
            if (i == j || !scope->runs[j].profile) continue;
            if (tt_exercise_exchange(answer, to, to, formula, sizeof formula)) continue; /* over itself: no figure */
            bool named = tt_exercise_exchange(answer, from, to, formula, sizeof formula);
            if (!named && strcmp(from, own)) continue;
            scope->run = named ? q->run : to;
            double off = off_formula(q, named ? formula : answer, scope, m);
            scope->run = q->run;
            if (!(off < nearest)) continue;
            nearest = off;
            snprintf(reason, sizeof reason, tt_exercise_has_runs(answer, scope)
                         ? "%sthat is what the run %.60s gives in the place of %.60s, which is wanted"
                         : "%sthat is the figure of the run %.60s; that of %.60s is wanted",
                     q->kind == TT_ASK_TARGET ? "before: " : "", to, from);
            say_known(m, reason, off);
        }
}

static tt_status name_slip(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    double nearest = INFINITY;
    if (isfinite(m->number) && tt_exercise_near(q, m->number, m->value)) return TT_OK; /* the run is wrong, not it */
    if (isfinite(m->number) && tt_exercise_too_short(q, m->given, m->number, m->value)) return TT_OK; /* it says so */
    if (q->otherwise && !m->unfit) TT_TRY(say_otherwise(q, scope, m));
    TT_TRY(tt_context(find_slip(q, scope, m, &nearest), "line %d, question %s, slips", q->line, q->id));
    if (m->named && !m->known) nearest = m->off + 1e-9; /* as near as that, the other run is the better reason */
    if (isfinite(m->number)) find_other_run(q, scope, m, nearest);
    return TT_OK;
}

/* A number of so many digits that it is no figure by chance, and not that of the answer. */
static bool is_beside(const struct tt_mark *m)
{
    static const double beside[] = {[4] = 0.01, [5] = 4e-4, [6] = 1e-4};
    int digits = tt_exercise_digits(m->given);
    return digits > 3 && fabs(m->number - m->value) > beside[digits > 6 ? 6 : digits] * fabs(m->value) &&
           !tt_exercise_rounded(m->given, m->number, m->value);
}

/* Within the tolerance, but to its digits what a mistake gives, and not what is right. The two have to be apart by more
 * than figures that were rounded on the way are. */
static tt_status is_a_slip(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    if (tt_exercise_digits(m->given) < 3 || tt_exercise_rounded(m->given, m->number, m->value)) return TT_OK;
    for (const struct tt_yaml *y = q->slips ? q->slips->first : NULL; y; y = y->next) {
        struct tt_formula_value v;
        TT_TRY(tt_formula(tt_yaml_get(y, "is")->text, scope, &v));
        bool number = v.kind == TT_FORMULA_NUMBER && fabs(v.number - m->value) > 0.01 * fabs(m->value);
        if (number && is_rounded(q, m, v.number)) say_known(m, tt_yaml_get(y, "says")->text, 0);
        tt_formula_free(&v);
    }
    if (m->kind == TT_MARK_RIGHT && is_beside(m)) find_other_run(q, scope, m, 5e-7); /* all digits of a file */
    return TT_OK;
}

/* The same of what stands before the arrow of a target. */
static tt_status before_is_a_slip(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    struct tt_mark before = *m;
    before.given[strspn(before.given, "+-.0123456789")] = 0;
    before.number = strtod(before.given, NULL);
    TT_TRY(tt_exercise_formula(q, q->answer, scope, &before.value));
    TT_TRY(is_a_slip(q, scope, &before));
    if (before.kind == TT_MARK_RIGHT) return TT_OK;
    memcpy(before.given, m->given, sizeof before.given);
    *m = before;
    return TT_OK;
}

tt_status tt_exercise_reason(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    const char *lacking = scope->lacking; /* an explanation may need more runs than the answer */
    bool used = scope->used;
    tt_status st = TT_OK;
    if (m->kind == TT_MARK_RIGHT && q->kind == TT_ASK_NUMBER)
        st = tt_context(is_a_slip(q, scope, m), "line %d, question %s, slips", q->line, q->id);
    if (m->kind == TT_MARK_RIGHT && q->kind == TT_ASK_TARGET)
        st = tt_context(before_is_a_slip(q, scope, m), "line %d, question %s, slips", q->line, q->id);
    if (!st && m->kind == TT_MARK_RIGHT && q->measured) st = tt_exercise_came_out(q, scope, m);
    if (!st && m->kind == TT_MARK_RIGHT && q->means) st = say_meaning(q, scope, m);
    if (!st && m->kind == TT_MARK_WRONG) st = name_slip(q, scope, m);
    bool time = q->kind == TT_ASK_TEXT && q->otherwise &&
                (tt_exercise_has_time(m->given) || tt_exercise_of_speed(m->given));
    if (!st && time && m->kind == TT_MARK_UNKNOWN && !m->misput) st = say_of_time(q, scope, m);
    scope->lacking = lacking;
    scope->used = used;
    return st;
}

/* How far an answer is from the right one to another question; INFINITY: it is not that. */
static double off_answer(const struct tt_marked *m, int given, int question)
{
    return off_figure(&m->exercise->questions[question], &m->marks[given], m->marks[question].value);
}

static bool same_unit(const struct tt_question *a, const struct tt_question *b)
{
    return !strcmp(a->unit ? a->unit : "", b->unit ? b->unit : "");
}

/* Each is the answer to the other's question, and no mistake of its own comes nearer. Two small counts are so by
 * chance, unless one question follows the other and neither is none. */
static bool are_swapped(const struct tt_marked *m, int i, int j)
{
    const struct tt_mark *a = &m->marks[i], *b = &m->marks[j];
    double there = off_answer(m, i, j), back = off_answer(m, j, i);
    if (b->kind != TT_MARK_WRONG || !isfinite(there) || !isfinite(back)) return false;
    bool follows = abs(i - j) == 1 && a->number != 0 && b->number != 0;
    if (is_small_whole(a->number, 10) && is_small_whole(b->number, 10) && !follows) return false;
    return !(a->named && a->off < there) && !(b->named && b->off < back);
}

/* It is the answer to that question, and no mistake of its own is as near. */
static bool is_answer_to(const struct tt_marked *m, int i, int j)
{
    const struct tt_mark *a = &m->marks[i];
    const struct tt_question *q = &m->exercise->questions[i];
    double off = off_answer(m, i, j);
    bool chance = is_small_whole(a->number, 100) || !same_unit(q, &m->exercise->questions[j]) ||
                  !is_precise(a, m->marks[j].value, digits_enough(q, true));
    return isfinite(off) && !chance && !a->known && !(a->named && a->off <= off);
}

/* Within the tolerance, but beside what is right, and to its digits the answer to that question. */
static bool is_rather(const struct tt_marked *m, int i, int j)
{
    const struct tt_question *q = &m->exercise->questions[i], *other = &m->exercise->questions[j];
    const struct tt_mark *a = &m->marks[i];
    bool numbers = q->kind == TT_ASK_NUMBER && other->kind == TT_ASK_NUMBER && same_unit(q, other);
    return numbers && is_beside(a) && isfinite(m->marks[j].value) &&
           tt_exercise_rounded(a->given, a->number, m->marks[j].value) && !is_small_whole(a->number, 100);
}

static void find_rather(struct tt_marked *m)
{
    const struct tt_exercise *e = m->exercise;
    for (int i = 0; i < e->question_count; i++)
        for (int j = 0; j < e->question_count && m->marks[i].kind == TT_MARK_RIGHT; j++)
            if (i != j && is_rather(m, i, j)) {
                char reason[200];
                snprintf(reason, sizeof reason, "that is the answer to %.60s", e->questions[j].id);
                tt_exercise_because(&m->marks[i], TT_MARK_WRONG, reason);
                m->marks[i].means[0] = 0;
            }
}

void tt_exercise_swapped(struct tt_marked *m)
{
    const struct tt_exercise *e = m->exercise;
    find_rather(m);
    for (int i = 0; i < e->question_count; i++)
        for (int j = 0; j < e->question_count && m->marks[i].kind == TT_MARK_WRONG; j++) {
            struct tt_mark *mark = &m->marks[i];
            bool both = i != j && are_swapped(m, i, j);
            if (i == j || (!both && !is_answer_to(m, i, j))) continue;
            snprintf(mark->reason, sizeof mark->reason,
                     both ? "this and %s are swapped" : "that is the answer to %s", e->questions[j].id);
            break;
        }
}
