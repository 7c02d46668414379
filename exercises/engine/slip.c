/* Finds the mistake behind a number: a slip that its question lists, the figure of another run, or the answer to
 * another question. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "exercises/engine/parts.h"

/* Whether the given number is x. With four digits or more it was computed from figures as exact and has to be close:
 * 139.97 is not 139.05. With three, it may be off by half of the last one. */
static bool is_number(const struct tt_question *q, const struct tt_mark *m, double x)
{
    int digits = tt_exercise_digits(m->given);
    double most = digits > 3 ? 0.003 : digits == 3 ? 0.006 : 0.01;
    double room = q->tolerance < most ? fmax(q->tolerance, 1e-9) : most;
    return isfinite(m->number) && isfinite(x) && fabs(m->number - x) <= room * fabs(x);
}

/* Whether it is x as tables print it, rounded to two digits or more. Never where the question wants it exactly. */
static bool is_rounded(const struct tt_question *q, const struct tt_mark *m, double x)
{
    bool measured = q->tolerance > 0 || q->slack > 0;
    return measured && isfinite(m->number) && isfinite(x) && tt_exercise_digits(m->given) > 1 &&
           tt_exercise_rounded(m->given, m->number, x);
}

/* The relative distance of the given number from x, which a mistake gives; INFINITY: it is not x. */
static double off_by(const struct tt_question *q, const struct tt_mark *m, double x)
{
    if (is_rounded(q, m, x)) return 0;
    return is_number(q, m, x) ? fabs(m->number - x) / fmax(fabs(x), 1e-300) : INFINITY;
}

/* Whether the given number is x to its digits: rounded, or with the rest cut off. */
static bool is_copied(const struct tt_mark *m, double x)
{
    int digits = tt_exercise_digits(m->given);
    double last = digits && m->number != 0 ? pow(10, floor(log10(fabs(m->number))) + 1 - digits) : 0;
    double more = fabs(x) - fabs(m->number); /* what was left out */
    return m->number * x >= 0 && more >= -0.5000001 * last && (more < last || more == 0);
}

/* off_by for a figure that belongs elsewhere. Learners copy such figures, so it has to be x to its digits, and nearer
 * than a mistake of this question: among many figures, one is near by chance. */
static double off_figure(const struct tt_question *q, const struct tt_mark *m, double x)
{
    double off = is_number(q, m, x) ? off_by(q, m, x) : INFINITY;
    return is_copied(m, x) && (tt_exercise_digits(m->given) > 3 || off <= 0.002) ? off : INFINITY;
}

/* Whether the given number is not x, where the formula of a slip is a single figure of a file. Nobody computes that, so
 * if four digits or more were given, all have to be those of x. */
static bool is_misread(const struct tt_mark *m, const char *formula, double x)
{
    bool figure = isalpha((unsigned char)formula[0]) && !strpbrk(formula, "*/+") && !strstr(formula, " - ");
    return figure && tt_exercise_digits(m->given) > 3 && !is_copied(m, x);
}

/* Makes a slip of the question's list, or the figure of another run, the reason. `off` is the relative distance from
 * it. */
static void say_known(struct tt_mark *m, const char *reason, double off)
{
    tt_exercise_because(m, TT_MARK_WRONG, reason);
    m->known = m->named = true;
    m->likely = isfinite(m->number);
    m->off = off;
}

/* Finds the nearest slip of the question's list. Of two that are equally near as rounded, it is the one whose exact
 * value is nearer. */
static tt_status find_slip(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m,
                           double *nearest)
{
    double apart = INFINITY;
    for (const struct tt_yaml *y = q->slips ? q->slips->first : NULL; y; y = y->next) {
        struct tt_formula_value v;
        TT_TRY(tt_formula(tt_yaml_get(y, "is")->text, scope, &v));
        bool number = v.kind == TT_FORMULA_NUMBER;
        bool chance = number && (tt_exercise_by_chance(m->given, m->number, v.number) ||
                                 is_misread(m, tt_yaml_get(y, "is")->text, v.number));
        double off = chance                                                        ? INFINITY
                     : number                                                      ? off_by(q, m, v.number)
                     : v.kind == TT_FORMULA_WORD && !strcasecmp(v.word, m->given) ? 0
                                                                                   : INFINITY;
        double exact = number ? fabs(m->number - v.number) : 0;
        tt_formula_free(&v);
        if (isinf(off) || off > *nearest || (off == *nearest && exact >= apart)) continue;
        *nearest = off, apart = exact;
        say_known(m, tt_yaml_get(y, "says")->text, off);
    }
    return TT_OK;
}

/* Whether the given number has so many digits that it does not match by chance (a worksheet has dozens of figures), or
 * is exactly x. Zeros at the end of a whole number do not count as digits. */
static bool is_precise(const struct tt_mark *m, double x, int digits)
{
    size_t end = strspn(m->given, "+-0123456789");
    int n = tt_exercise_digits(m->given);
    for (; m->given[end] != '.' && end && m->given[end - 1] == '0'; end--) n--;
    return n >= digits || m->number == x;
}

/* Small whole numbers match some other figure by chance, so they do not tell what was mistaken. */
static bool is_small_whole(double x, double below) { return x == trunc(x) && fabs(x) < below; }

/* How many digits make a match more than chance. Figures without a unit are mostly ratios near 1. Where these are
 * `dense`, a match needs one digit more. */
static int digits_enough(const struct tt_question *q, bool dense) { return !q->unit && dense ? 4 : 3; }

/* Finds the figure of another run than the question's, if it is nearer than any other mistake. */
static void find_other_run(const struct tt_question *q, const struct tt_formula_scope *scope, struct tt_mark *m,
                           double nearest)
{
    unsigned reads = tt_formula_reads(q->answer, scope);
    bool several = tt_formula_several(reads);
    char reason[200];
    if (is_small_whole(m->number, several ? 100 : 10)) return;
    for (int i = 0; i < scope->count; i++)
        for (int j = 0; reads >> i & 1 && j < scope->count; j++) {
            if (reads >> j & 1 || !scope->runs[j].profile) continue;
            double x = tt_formula_instead(q->answer, scope, i, j);
            double off = is_precise(m, x, digits_enough(q, several)) ? off_figure(q, m, x) : INFINITY;
            if (!(off < nearest)) continue;
            nearest = off;
            snprintf(reason, sizeof reason, several
                         ? "%sthat is what the run %.60s gives in the place of %.60s, which is wanted"
                         : "%sthat is the figure of the run %.60s; that of %.60s is wanted",
                     q->kind == TT_ASK_TARGET ? "before: " : "", scope->runs[j].name, scope->runs[i].name);
            say_known(m, reason, off);
        }
}

tt_status tt_exercise_name_slip(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    double nearest = INFINITY;
    TT_TRY(tt_context(find_slip(q, scope, m, &nearest), "line %d, question %s, slips", q->line, q->id));
    if (m->named && !m->known) nearest = m->off + 1e-9; /* if equally near, the other run is the better reason */
    if (isfinite(m->number)) find_other_run(q, scope, m, nearest);
    return TT_OK;
}

/* ---- within the tolerance ---- */

/* Whether the given number has so many digits that it is a certain figure, and is not the right one. */
static bool is_beside(const struct tt_mark *m)
{
    static const double beside[] = {[4] = 0.01, [5] = 4e-4, [6] = 1e-4};
    int digits = tt_exercise_digits(m->given);
    return digits > 3 && fabs(m->number - m->value) > beside[digits > 6 ? 6 : digits] * fabs(m->value) &&
           !tt_exercise_rounded(m->given, m->number, m->value);
}

/* Whether the given number is what a mistake gives: to its digits, or as near as a number that was computed from
 * figures with four digits. */
static bool is_mistake(const struct tt_question *q, const struct tt_mark *m, double x)
{
    bool worked_out = tt_exercise_digits(m->given) > 3 && fabs(m->number - x) <= 5e-4 * fabs(x);
    return worked_out || is_rounded(q, m, x);
}

/* Makes a right answer wrong if it is within the tolerance but is to its digits what a mistake gives, and not what is
 * right. Mistake and right number have to differ by more than 1 %, more than rounding on the way explains. */
static tt_status is_a_slip(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    if (tt_exercise_digits(m->given) < 3 || tt_exercise_rounded(m->given, m->number, m->value)) return TT_OK;
    double nearest = INFINITY;
    for (const struct tt_yaml *y = q->slips ? q->slips->first : NULL; y; y = y->next) {
        struct tt_formula_value v;
        TT_TRY(tt_formula(tt_yaml_get(y, "is")->text, scope, &v));
        bool number = v.kind == TT_FORMULA_NUMBER && fabs(v.number - m->value) > 0.01 * fabs(m->value);
        bool mistake = number && is_mistake(q, m, v.number) && !is_misread(m, tt_yaml_get(y, "is")->text, v.number);
        double apart = mistake ? fabs(m->number - v.number) : INFINITY;
        if (apart < nearest) say_known(m, tt_yaml_get(y, "says")->text, 0);
        nearest = fmin(nearest, apart);
        tt_formula_free(&v);
    }
    if (m->kind == TT_MARK_RIGHT && is_beside(m)) find_other_run(q, scope, m, 5e-7); /* to all digits of a file */
    return TT_OK;
}

/* The same for the number before the arrow of a target. */
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

tt_status tt_exercise_is_a_slip(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    tt_status st = q->kind == TT_ASK_NUMBER ? is_a_slip(q, scope, m)
                   : q->kind == TT_ASK_TARGET ? before_is_a_slip(q, scope, m)
                                              : TT_OK;
    return st ? tt_context(st, "line %d, question %s, slips", q->line, q->id) : TT_OK;
}

/* ---- answers to other questions ---- */

/* The relative distance of an answer from the right one to another question; INFINITY: it is not that one. */
static double off_answer(const struct tt_marked *m, int given, int question)
{
    return off_figure(&m->exercise->questions[question], &m->marks[given], m->marks[question].value);
}

static bool same_unit(const struct tt_question *a, const struct tt_question *b)
{
    return !strcmp(a->unit ? a->unit : "", b->unit ? b->unit : "");
}

/* Whether each of two is the answer to the other's question, and no mistake of its own is nearer. Two small counts may
 * be that by chance, so they count only if one question follows the other and neither number is 0. */
static bool are_swapped(const struct tt_marked *m, int i, int j)
{
    const struct tt_mark *a = &m->marks[i], *b = &m->marks[j];
    double there = off_answer(m, i, j), back = off_answer(m, j, i);
    if (b->kind != TT_MARK_WRONG || !isfinite(there) || !isfinite(back)) return false;
    bool follows = abs(i - j) == 1 && a->number != 0 && b->number != 0;
    if (is_small_whole(a->number, 10) && is_small_whole(b->number, 10) && !follows) return false;
    return !(a->named && a->off < there) && !(b->named && b->off < back);
}

/* Whether answer i is the right one to question j, and no mistake of its own is as near. */
static bool is_answer_to(const struct tt_marked *m, int i, int j)
{
    const struct tt_mark *a = &m->marks[i];
    const struct tt_question *q = &m->exercise->questions[i];
    double off = off_answer(m, i, j);
    bool chance = is_small_whole(a->number, 100) || !same_unit(q, &m->exercise->questions[j]) ||
                  !is_precise(a, m->marks[j].value, digits_enough(q, true));
    return isfinite(off) && !chance && !a->known && !(a->named && a->off <= off);
}

/* Whether answer i is within its tolerance but not the right number to its digits, and is the answer to question j. */
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
                m->marks[i].likely = true;
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
            mark->likely = true;
            break;
        }
}
