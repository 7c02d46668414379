/* Answers that predict a number instead of reading it: predictions, ranges, and targets before -> after. The limits of
 * what is possible come from the run. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exercises/engine/parts.h"

/* Evaluates at_least and at_most; one that is not given is infinite. *there is false if the run lacks a figure for
 * them; the question is then passed over. */
static tt_status read_limits(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m,
                             double limits[2], bool *there)
{
    limits[0] = -INFINITY;
    limits[1] = INFINITY;
    if (q->at_least) TT_TRY(tt_exercise_formula(q, q->at_least, scope, &limits[0]));
    if (q->at_most) TT_TRY(tt_exercise_formula(q, q->at_most, scope, &limits[1]));
    *there = !isnan(limits[0]) && !isnan(limits[1]);
    if (!*there) tt_exercise_because(m, TT_MARK_PASSED, "the profile has no such figure");
    return TT_OK;
}

/* The limits themselves are allowed. `room` is what is allowed beyond them, relatively: PRINTED for three digits. */
static const double PRINTED = 0.005;
static bool is_below(double x, double limit, double room) { return x < limit - fmax(room, 1e-4) * fabs(limit); }
static bool is_above(double x, double limit, double room) { return x > limit + fmax(room, 1e-4) * fabs(limit); }

tt_status tt_exercise_judge_range(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    double limits[2], x;
    bool there;
    TT_TRY(read_limits(q, scope, m, limits, &there));
    if (!there) return TT_OK;
    snprintf(m->right, sizeof m->right, "from %.6g to %.6g", limits[0], limits[1]);
    if (m->given[0] && tt_exercise_number(q, m, &x))
        tt_exercise_decide(m, !is_below(x, limits[0], 0) && !is_above(x, limits[1], 0),
                           tt_exercise_outside(x < limits[0], scope->used));
    return TT_OK;
}

/* Returns where the second of two numbers begins; NULL: there is none. *end is where the first one ends. */
static const char *second_of(const char *given, const char **end)
{
    static const char *const between[] = {"->", "→", "=>", "to", "..", "-", "–", ","};
    bool commas = strchr(given, ',') != strrchr(given, ','); /* of several, they are decimal ones */
    for (size_t i = 0; given[0] && i < sizeof between / sizeof *between; i++)
        if ((*end = strstr(given + 1, between[i])) && !(commas && **end == ',')) return *end + strlen(between[i]);
    return NULL;
}

/* Reads two numbers, with or without the unit: "1.1 to 1.3", "1.1-1.3", "1.1, 1.3", "342 -> 450". If it cannot, it
 * marks the answer unknown and says `how` to write it. */
static bool two_numbers(const struct tt_question *q, struct tt_mark *m, const char *how, double x[2])
{
    char left[300] = "", right[300] = "", reason[200];
    const char *end, *at = second_of(m->given, &end);
    if (at) snprintf(left, sizeof left, "%.*s", (int)(end - m->given), m->given);
    if (at) snprintf(right, sizeof right, "%s", at);
    struct tt_mark a = {0}, b = {0};
    struct tt_yaml first = {.kind = TT_YAML_STRING, .text = left}, second = {.kind = TT_YAML_STRING, .text = right};
    struct tt_question one = *q;
    one.kind = TT_ASK_NUMBER;
    tt_exercise_take(&first, &a);
    tt_exercise_take(&second, &b);
    tt_exercise_plain(&one, &a);
    tt_exercise_plain(&one, &b);
    if (right[0] && tt_exercise_number(q, &a, &x[0]) && tt_exercise_number(q, &b, &x[1])) return true;
    snprintf(reason, sizeof reason, "\"%.80s\": write two numbers, %s", m->given, how);
    const char *why = a.reason[0] ? a.reason : b.reason;
    tt_exercise_because(m, TT_MARK_UNKNOWN, right[0] && why[0] ? why : reason);
    return false;
}

/* A range that is expected before it is measured. */
tt_status tt_exercise_judge_interval(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    double limits[2], x[2];
    bool there;
    TT_TRY(read_limits(q, scope, m, limits, &there));
    if (!there) return TT_OK;
    snprintf(m->right, sizeof m->right, "between %.6g and %.6g", limits[0], limits[1]);
    if (!m->given[0] || !two_numbers(q, m, "like 1.1 to 1.3", x)) return TT_OK;
    m->misput = x[0] >= x[1];
    if (x[0] > x[1])
        tt_exercise_because(m, TT_MARK_WRONG, "the two are swapped: the smaller one comes first");
    else if (x[0] == x[1])
        tt_exercise_because(m, TT_MARK_WRONG, "a range has two ends: how sure are you?");
    else if (is_below(x[0], limits[0], 0))
        tt_exercise_because(m, TT_MARK_WRONG, "it begins below what a plan may expect");
    else
        tt_exercise_decide(m, !is_above(x[1], limits[1], PRINTED), "it ends above what the run allows");
    return TT_OK;
}

/* Before -> after: the first number has to be the measured one, the second a gain within the limits. */
tt_status tt_exercise_judge_target(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    double limits[2], x[2], before;
    bool there;
    char reason[200];
    TT_TRY(tt_exercise_formula(q, q->answer, scope, &before));
    TT_TRY(read_limits(q, scope, m, limits, &there));
    if (!there) return TT_OK;
    if (isnan(before)) {
        tt_exercise_because(m, TT_MARK_PASSED, "the profile has no such figure");
        return TT_OK;
    }
    snprintf(m->right, sizeof m->right, "%.6g -> from %.6g to %.6g", before, limits[0], limits[1]);
    if (!m->given[0] || !two_numbers(q, m, "before and after, like 342 -> 450", x)) return TT_OK;
    if (!tt_exercise_near(q, x[0], before)) {
        bool swapped = tt_exercise_near(q, x[1], before);
        snprintf(reason, sizeof reason, "before: %s", swapped ? "the two are swapped; what is measured comes first"
                                                              : tt_exercise_slip(q, m, x[0], before, true));
        tt_exercise_because(m, TT_MARK_WRONG, reason);
        if (!swapped) m->number = x[0];
        m->misput = true;
        return TT_OK;
    }
    if ((limits[0] >= before && x[1] <= x[0]) || (limits[1] <= before && x[1] >= x[0])) {
        tt_exercise_because(m, TT_MARK_WRONG, "after: that is no gain");
        return TT_OK;
    }
    snprintf(reason, sizeof reason, "after: %s", tt_exercise_outside(x[1] < limits[0], true));
    double room = fmin(q->tolerance, PRINTED);
    tt_exercise_decide(m, !is_below(x[1], limits[0], room) && !is_above(x[1], limits[1], room), reason);
    return TT_OK;
}

/* Says how far off a prediction was. */
static void say_prediction(struct tt_mark *m, double said, double measured)
{
    double times = measured / said;
    if (!(said > 0) || !(measured > 0))
        snprintf(m->means, sizeof m->means, "Measured %.3g.", measured);
    else if (fabs(times - 1) < 0.05)
        snprintf(m->means, sizeof m->means, "Measured %.3g: close to what you said.", measured);
    else
        snprintf(m->means, sizeof m->means, "Measured %.3g, which is %.3g times what you said.", measured, times);
}

/* Whether the measured value is as good as the target x[1] or better, or rounds to the digits of the target. */
static bool is_reached(const struct tt_mark *m, const double x[2], double measured)
{
    const char *end, *after = second_of(m->given, &end);
    if (x[1] >= x[0] ? measured >= x[1] : measured <= x[1]) return true;
    return after && tt_exercise_rounded(after + strspn(after, " "), x[1], measured);
}

/* Where the measured value lies to a range. An end of three digits or more to which it rounds belongs to the range. */
static const char *place_of(const struct tt_mark *m, const double x[2], double measured)
{
    const char *end, *second = second_of(m->given, &end);
    const char *ends[2] = {m->given, second ? second + strspn(second, " ") : ""};
    for (int i = 0; i < 2; i++)
        if (tt_exercise_digits(ends[i]) > 2 && tt_exercise_rounded(ends[i], x[i], measured))
            return "within your range";
    return measured < x[0] ? "below your range" : measured > x[1] ? "above your range" : "within your range";
}

/* *open: whether `aim` lies within the interval of the measured value, so that the runs do not decide. */
static tt_status is_open(const struct tt_question *q, struct tt_formula_scope *scope, double aim, bool *open)
{
    double low = INFINITY, high = -INFINITY;
    if (q->low) TT_TRY(tt_exercise_formula(q, q->low, scope, &low));
    if (q->high) TT_TRY(tt_exercise_formula(q, q->high, scope, &high));
    *open = low <= aim && aim <= high;
    return TT_OK;
}

tt_status tt_exercise_came_out(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    double measured, x[2];
    TT_TRY(tt_exercise_formula(q, q->measured, scope, &measured));
    if (!isfinite(measured)) return TT_OK;
    if (q->kind == TT_ASK_RANGE) {
        if (tt_exercise_number(q, m, &x[0])) say_prediction(m, x[0], measured);
        return TT_OK;
    }
    if (!two_numbers(q, m, "", x)) return TT_OK;
    char figure[32];
    bool large = fabs(measured) >= 1000 && fabs(measured) < 1e15;
    snprintf(figure, sizeof figure, large ? "%.0f" : q->kind == TT_ASK_TARGET ? "%.4g" : "%.3g", measured);
    bool target = q->kind == TT_ASK_TARGET, open = false, begins = false;
    TT_TRY(is_open(q, scope, x[1], &open));
    if (!target) TT_TRY(is_open(q, scope, x[0], &begins));
    const char *how = target && open     ? "within the noise of your target, so reached or missed is not decided"
                      : target           ? (is_reached(m, x, measured) ? "your target is reached"
                                                                       : "your target is missed")
                                         : place_of(m, x, measured);
    bool end = !target && (open || begins); /* an end of the range lies within the measured interval */
    snprintf(m->means, sizeof m->means, "Measured %s%s%s: %s%s.", figure, q->unit ? " " : "", q->unit ? q->unit : "",
             how, end ? ", but the noise of the runs leaves that open" : "");
    return TT_OK;
}
