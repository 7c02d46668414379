/* Whether a number in a sentence is a figure, as people quote figures, and whether it is as well that of the run which
 * the sentence has to tell from the learner's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exercises/engine/parts.h"

bool tt_exercise_is_count(const struct tt_figure *f) { return !f->unit && f->value == trunc(f->value); }

/* The value rounded to the digits that were written, in the unit that was written: 8.1 KiB of 0.007942 MiB. `x` is the
 * number in the unit of the figure. */
bool tt_exercise_is_rounded(const struct tt_quoted *q, double x, double value)
{
    bool scaled = q->unit && x != 0; /* a k or M behind it changes no digit */
    return scaled ? tt_exercise_rounded(q->given, q->number, value * (q->number / x))
                  : tt_exercise_rounded(q->given, x, value);
}

/* To its digits what the same formula gives of another run. */
static bool is_rivals(const struct tt_figure *f, const struct tt_quoted *q, double x)
{
    for (int i = 0; f->rivals && i < TT_EXERCISE_RUNS; i++)
        if (tt_exercise_digits(q->given) > 2 && tt_exercise_is_run_of(q, x, f, i)) return true;
    return false;
}

/* As near as people quote: as it is rounded to two digits or more, or, if the number has the figure's unit or the
 * figure none, to 2 %, with four digits or more to 0.5 %. A count is what it is. */
static bool is_figure(const struct tt_figure *f, const struct tt_quoted *q, double x)
{
    double value = fabs(f->value);
    bool count = tt_exercise_is_count(f), near = !f->unit || q->unit;
    if (x == value) return true;
    if (tt_exercise_digits(q->given) < 2 && !q->unit) return false;
    bool digits = tt_exercise_digits(q->given) > 1 || (f->printed && q->unit && strchr(q->given, '.')) || /* 0.9 % */
                  (f->about && q->unit);
    if (digits && tt_exercise_is_rounded(q, x, value)) return true;
    double room = tt_exercise_digits(q->given) > 3 ? 0.005 : 0.02;
    return !f->printed && !count && near && fabs(x - value) <= room * value && !is_rivals(f, q, x);
}

/* By the nouns beside the number it is one of what the figure is of. */
static enum tt_nouns noun_of(const char *sentence, const struct tt_figure *f, const struct tt_quoted *q)
{
    if (!f->noun) return tt_exercise_quantity(sentence, q, f);
    if (!f->quotient && tt_exercise_is_times(q)) return TT_NOUN_OTHER;
    return tt_exercise_noun(sentence, q, f->noun);
}

/* A figure of the run which a sentence has to tell from the learner's, against which any number is held. One of the
 * many that need their noun is held against its own alone: by chance one of them is near most numbers. */
static bool is_at_large(const char *sentence, const struct tt_figure *f, const struct tt_quoted *q)
{
    return f->unlike && !f->about && noun_of(sentence, f, q) == TT_NOUN_OWN;
}

/* The number as it was written is a figure of the run which the sentence has to tell from the learner's, whichever of
 * them. Counts are of their own kind: 2 waits are not healthy's 2 copies. */
static bool is_of_other(const char *sentence, const struct tt_figure *f, int n, const struct tt_quoted *q)
{
    double as[2];
    if (tt_exercise_digits(q->given) < 2 || !strchr(q->given, '.')) return false;
    for (int i = 0; i < n; i++)
        for (int j = 0, k = tt_exercise_quoted_as(q, f[i].unit, as); j < k; j++)
            if (tt_exercise_is_rounded(q, as[j], fabs(f[i].other)) && is_at_large(sentence, &f[i], q)) return true;
    return false;
}

/* The number as it was written is this figure, and not as well that of the run which it has to be told from. `anyway`:
 * it is also that one's. */
static bool is_this(const struct tt_figure *f, const struct tt_quoted *q, double x, bool anyway)
{
    if (!f->unlike) return true;
    bool others = tt_exercise_is_rounded(q, x, fabs(f->other));
    return anyway ? others : !others && fabs(x - fabs(f->value)) < fabs(x - fabs(f->other));
}

/* Nearer to a figure of the run which the sentence has to tell from the learner's than to this one, of a number that is
 * not this figure as it is rounded. */
static bool is_nearer_other(const char *sentence, const struct tt_figure *all, int n, const struct tt_figure *f,
                            const struct tt_quoted *q, double x)
{
    double as[2], own = fabs(x - fabs(f->value)) / fabs(f->value);
    if (!f->unlike || tt_exercise_is_count(f) || tt_exercise_is_rounded(q, x, fabs(f->value))) return false;
    for (int i = 0; i < n; i++)
        for (int j = 0, k = tt_exercise_quoted_as(q, all[i].unit, as); j < k; j++)
            if (fabs(as[j] - fabs(all[i].other)) < own * fabs(all[i].other) && is_at_large(sentence, &all[i], q))
                return true;
    return false;
}

bool tt_exercise_is_figure(const struct tt_quoted *q, double x, const struct tt_figure *f, const char *sentence,
                           const struct tt_figure *all, int n, bool anyway, enum tt_nouns *noun)
{
    if (!is_figure(f, q, x) || (f->loss && tt_exercise_is_times(q))) return false;
    *noun = noun_of(sentence, f, q);
    bool others = f->unlike && !tt_exercise_is_count(f) && is_of_other(sentence, all, n, q);
    if (others ? !anyway : !is_this(f, q, x, anyway)) return false;
    return anyway || !is_nearer_other(sentence, all, n, f, q, x);
}

bool tt_exercise_is_run_of(const struct tt_quoted *q, double x, const struct tt_figure *f, int run)
{
    return f->rivals && isfinite(f->rivals[run]) && tt_exercise_is_rounded(q, x, fabs(f->rivals[run]));
}
