/* Numbers of a worksheet: reading them with their units, and saying what is wrong with a wrong one. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exercises/engine/parts.h"

/* Replaces a micro sign or a Greek mu at the beginning by u, as units are written here. */
static const char *without_mu(const char *text, char *out, size_t size)
{
    bool mu = !strncmp(text, "\xc2\xb5", 2) || !strncmp(text, "\xce\xbc", 2);
    snprintf(out, size, "%s%s", mu ? "u" : "", text + (mu ? 2 : 0));
    return out;
}

/* Whether the text behind a number is empty, the question's unit, or "x" or "times" if the question has no unit. */
static bool is_unit(const struct tt_question *q, const char *text)
{
    char unit[96];
    if (!*text) return true;
    if (q->unit) return !strcmp(without_mu(text, unit, sizeof unit), q->unit);
    return !strcmp(text, "x") || !strcmp(text, "×") || !strcmp(text, "times");
}

double tt_exercise_scale(const char *text)
{
    static const struct {
        const char *name;
        double scale;
    } scales[] = {{"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"B", 1e9}, {"T", 1e12}, {"thousand", 1e3},
                  {"million", 1e6}, {"billion", 1e9}};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        size_t n = strlen(scales[i].name);
        if (!strncmp(text, scales[i].name, n) && !isalnum((unsigned char)text[n])) return scales[i].scale;
    }
    return 0;
}

/* Removes the thousands marks of "4,190,464". A single one may be a decimal comma and stays. */
static const char *without_marks(const char *given, char *out, size_t size)
{
    const char *s = given + strspn(given, "0123456789");
    int marks = 0;
    for (; s - given <= 3 + 4 * marks && *s == ',' && strspn(s + 1, "0123456789") == 3; s += 4) marks++;
    if (marks < 2 || s == given) return given;
    size_t n = 0;
    for (const char *c = given; *c && n + 1 < size; c++)
        if (*c != ',' || c >= s) out[n++] = *c;
    out[n] = 0;
    return out;
}

/* Scales *x by what follows the number: nothing or the unit; another unit of the same kind; or a letter for thousands
 * if the question has no unit. The noun that the question asks for may follow. False: it is something else. */
static bool scale_by(const struct tt_question *q, const char *given, double *x)
{
    char behind[80];
    snprintf(behind, sizeof behind, "%.*s", (int)tt_exercise_before_noun(q, given), given);
    double scale = is_unit(q, behind) ? 1 : q->unit ? tt_exercise_convert(behind, q->unit) : NAN;
    if (!q->unit && !strchr(behind, ' ') && tt_exercise_scale(behind) > 0) scale = tt_exercise_scale(behind);
    if (isfinite(scale)) *x *= scale;
    return isfinite(scale);
}

/* Whether the unit is there, but followed by another word: "0.8 % less". */
static bool has_unit_first(const struct tt_question *q, const char *text)
{
    size_t n = q->unit ? strlen(q->unit) : 0;
    return n && !strncmp(text, q->unit, n) && text[n] == ' ';
}

static bool is_decimal(const char *text, const char *end)
{
    return end > text && !memchr(text, 'x', (size_t)(end - text)) && !memchr(text, 'X', (size_t)(end - text));
}

/* Whether the text looks like another unit ("s", "µs", "%"), and not like the rest of the number (a space in it, "±5",
 * a letter for thousands). */
static bool is_a_unit(const char *text)
{
    bool begins = isalpha((unsigned char)*text) || *text == '%' || !strncmp(text, "\xc2\xb5", 2) ||
                  !strncmp(text, "\xce\xbc", 2);
    return begins && !(tt_exercise_scale(text) > 0);
}

/* Skips the word before a number if it is that of the question: "rank_1" where it asks "Which rank ...". Another word
 * stays ("no 1"). */
static const char *behind_word(const struct tt_question *q, const char *given)
{
    char word[64];
    size_t n = strcspn(given, "_ 0123456789");
    if (!n || n >= sizeof word || !q->text || !isalpha((unsigned char)*given)) return given;
    snprintf(word, sizeof word, "hich %.*s ", (int)n, given);
    const char *number = given + n + strspn(given + n, "_ ");
    return strcasestr(q->text, word) && isdigit((unsigned char)*number) ? number : given;
}

/* Reads "12.5", and also what people write on paper: "2^-8", "1/16". */
static bool read_number(const char *given, char **end, double *out)
{
    char *after;
    *out = strtod(given, end);
    bool number = isfinite(*out) && is_decimal(given, *end), power = **end == '^';
    if (!number || (!power && **end != '/')) return number;
    double second = strtod(*end + 1, &after);
    if (!isfinite(second) || !is_decimal(*end + 1, after)) return number;
    *end = after;
    *out = power ? pow(*out, second) : *out / second;
    return isfinite(*out);
}

/* Says how to write a number with a comma: "4,190" may be 4.19 or 4190. */
static void say_comma(const struct tt_mark *m, const char *given, const char *comma, char *out, size_t size)
{
    size_t n = strspn(comma + 1, "0123456789");
    int whole = (int)(comma - given);
    if (n == 3 && !memchr(given, '.', (size_t)whole))
        snprintf(out, size, "\"%.80s\": write %.*s.%.3s, or %.*s%.3s if the comma marks thousands", m->given, whole,
                 given, comma + 1, whole, given, comma + 1);
    else
        snprintf(out, size, "\"%.80s\" has a comma; write it like 12.5, and thousands without a mark", m->given);
}

bool tt_exercise_number(const struct tt_question *q, struct tt_mark *m, double *out)
{
    char *end, reason[300], plain[64];
    const char *given = without_marks(behind_word(q, m->given), plain, sizeof plain);
    bool number = read_number(given, &end, out);
    while (*end == ' ') end++;
    if (number && scale_by(q, end, out)) return true;
    if (number && *end == ',')
        say_comma(m, given, end, reason, sizeof reason);
    else if (number && has_unit_first(q, end))
        snprintf(reason, sizeof reason, "\"%.80s\": write the number alone, less as a negative one: -12.5", m->given);
    else if (number && q->unit && is_a_unit(end))
        snprintf(reason, sizeof reason, "\"%.80s\": give it in %s", m->given, q->unit);
    else if (number)
        snprintf(reason, sizeof reason, "\"%.60s\" has \"%.40s\" after the number; write the number alone%s%.20s, like "
                                        "%s", m->given, end, q->unit ? ", in " : "", q->unit ? q->unit : "",
                 q->kind == TT_ASK_INTERVAL ? "1.05 to 1.3" : "12.5");
    else
        snprintf(reason, sizeof reason, "\"%.80s\" is not a number; write it like 12.5", m->given);
    tt_exercise_because(m, TT_MARK_UNKNOWN, reason);
    return false;
}

bool tt_exercise_as_percent(const struct tt_question *q, const struct tt_mark *m, double right, double *out)
{
    char *end, number[64];
    bool quotient = !q->unit && q->tolerance > 0 && fabs(right) < 100;
    if (!quotient || !read_number(m->given, &end, out)) return false;
    snprintf(number, sizeof number, "%.*s", (int)(end - m->given), m->given);
    *out /= 100;
    return !strcmp(end + strspn(end, " "), "%") && (tt_exercise_near(q, *out, right) ||
                                                     tt_exercise_rounded(number, 100 * *out, 100 * right));
}

bool tt_exercise_near(const struct tt_question *q, double x, double right)
{
    return fabs(x - right) <= q->tolerance * fabs(right) + q->slack;
}

/* tt_exercise_near without the slack: with it, a thousandth of a small number would be near too. */
static bool equals(const struct tt_question *q, double x, double right)
{
    return fabs(x - right) <= (q->tolerance + 1e-9) * fabs(right);
}

/* Digits as they were written, without leading zeros: 3 for 0.0140. */
int tt_exercise_digits(const char *given)
{
    int n = 0;
    for (const char *s = given; isdigit((unsigned char)*s) || strchr("+-.", *s ? *s : 'x'); s++)
        n += isdigit((unsigned char)*s) && (n || *s != '0');
    return n;
}

/* Whether x is the right number rounded to the decimals that were written, or to a whole number: "10" for 9.76. */
static bool to_decimals(const char *given, double x, double right)
{
    size_t whole = strspn(given, "+-0123456789"), n = given[whole] == '.' ? strspn(given + whole + 1, "0123456789") : 0;
    bool scaled = tt_exercise_scale(given + strspn(given, "+-.0123456789 ")) > 0;
    char same[64];
    if (scaled || n > 6 || !(fabs(right) < 1e15)) return false;
    snprintf(same, sizeof same, "%.*f", (int)n, right);
    return strtod(same, NULL) == x && x != 0;
}

bool tt_exercise_rounded(const char *given, double x, double right)
{
    char same[64];
    int n = tt_exercise_digits(given);
    if (n < 1 || n > 6) return false;
    snprintf(same, sizeof same, "%.*e", n - 1, right);
    return fabs(strtod(same, NULL) - x) <= 1e-12 * fabs(x) || to_decimals(given, x, right);
}

/* Whether two decimals were written: "0.33" or "0.33x". */
static bool has_two_decimals(const char *given)
{
    const char *point = given + strspn(given, "0123456789");
    return *point == '.' && strspn(point + 1, "0123456789") == 2;
}

/* Whether the answer is the right number with the digits that tt prints: tt prints 4190464 as "4.19 M" (4.19e6 is the
 * same), and tt compare prints 0.3263 as 0.33x. So many digits are enough. */
static bool as_printed(const struct tt_question *q, const struct tt_mark *m, double x, double right)
{
    int digits = tt_exercise_digits(m->given);
    const char *behind = m->given + strspn(m->given, "+-.0123456789");
    bool power = *behind == 'e' || *behind == 'E' || tt_exercise_scale(behind + strspn(behind, " ")) > 0;
    bool scaled = !q->unit && power && digits >= 3;
    bool quotient = !q->unit && q->tolerance >= 0.01 && has_two_decimals(m->given) && digits >= 2;
    return (scaled || quotient) && tt_exercise_rounded(m->given, x, right);
}

bool tt_exercise_right(const struct tt_question *q, const struct tt_mark *m, double x, double right)
{
    return tt_exercise_near(q, x, right) || as_printed(q, m, x, right);
}

/* A single digit is more often a guess than a rounded figure, so it has to be within 5 % of the right number. With a
 * decimal point, or where the question has a unit, it is hardly a guess: then within 10 %. */
bool tt_exercise_too_short(const struct tt_question *q, const char *given, double x, double right)
{
    double room = q->unit || strchr(given, '.') ? 0.1 : 0.05;
    bool close = tt_exercise_digits(given) > 1 || fabs(x - right) <= room * fabs(right);
    return close && tt_exercise_rounded(given, x, right);
}

/* Whether the number is what a mistake gives: within the tolerance, or rounded and at most 20 % off. A single whole
 * digit may be rounded from it by chance, so that does not count. */
static bool is_slip(const struct tt_question *q, const char *given, double x, double mistaken)
{
    bool chance = x == trunc(x) && tt_exercise_digits(given) < 2;
    bool close = fabs(x - mistaken) <= 0.2 * fabs(mistaken);
    return equals(q, x, mistaken) || (!chance && close && tt_exercise_rounded(given, x, mistaken));
}

/* Whether the numbers are so small that twice or half is chance: counts below 10, and 1 for 2 or 2 for 1 without a
 * unit. */
static bool is_small_count(const struct tt_question *q, double x, double right)
{
    bool counts = !q->tolerance && right == trunc(right) && fmax(fabs(x), fabs(right)) < 10;
    bool one_or_two = (x == 2 && fabs(right - 1) <= 0.01) || (x == 1 && fabs(right - 2) <= 0.02);
    return counts || (!q->unit && one_or_two);
}

/* Whether x is `factor` times the right number, within the fraction `part` or the tolerance if that is smaller. */
static bool is_within(const struct tt_question *q, double x, double factor, double right, double part)
{
    return fabs(x - factor * right) <= (fmin(q->tolerance, part) + 1e-9) * fabs(factor * right);
}

/* The same within 1 %. */
static bool is_times(const struct tt_question *q, double x, double factor, double right)
{
    return is_within(q, x, factor, right, 0.01);
}

/* Whether the number is `mistaken`, a power of ten off. With four digits or more it has to be within 0.5 % of that;
 * with fewer it may be rounded, or within 3 %. */
static bool is_shifted(const struct tt_question *q, const char *given, double x, double mistaken)
{
    int digits = tt_exercise_digits(given);
    double room = digits < 4 ? 0.03 : 0.005; /* 1024 is about a thousand */
    bool rounded = digits > 1 && digits < 4 && tt_exercise_rounded(given, x, mistaken);
    return equals(q, x, mistaken) && (rounded || fabs(x - mistaken) <= room * fabs(mistaken));
}

/* The reason for a number that is a power of ten off; NULL: it is not. *mistaken: what such a mistake gives. */
static const char *power_of_ten(const struct tt_question *q, const char *given, double x, double right,
                                double *mistaken)
{
    static const struct {
        double factor;
        const char *of_unit, *plain; /* plain: for a number without a unit; NULL: the same words */
    } slips[] = {{1e3, "1000 times too large: look at the unit", "1000 times too large"},
                 {1e-3, "1000 times too small: look at the unit", "1000 times too small"},
                 {1e6, "1000000 times too large: look at the unit", "1000000 times too large"},
                 {1e-6, "1000000 times too small: look at the unit", "1000000 times too small"},
                 {1e2, "100 times too large", "100 times too large"},
                 {1e-2, "100 times too small", "100 times too small"},
                 {1e1, "10 times too large: is there a digit too many?", NULL},
                 {1e-1, "10 times too small: is a digit missing?", NULL},
                 {1e9, "1e9 times too large: look at the unit", "1e9 times too large"},
                 {1e-9, "1e9 times too small: look at the unit", "1e9 times too small"}};
    bool percent = q->unit && !strcmp(q->unit, "%");
    *mistaken = 100 * right;
    if (percent && is_shifted(q, given, x, 100 * right)) return "100 times too large: was it multiplied by 100 twice?";
    *mistaken = right / 100;
    if (percent && is_slip(q, given, x, right / 100))
        return "100 times too small: a percentage is wanted, not a fraction";
    *mistaken = 100 * right;
    bool quotient = !q->unit && q->tolerance > 0 && fabs(right) < 5; /* not a count */
    if (quotient && is_shifted(q, given, x, 100 * right))
        return fabs(right) < 1 ? "100 times too large: a fraction is wanted, not a percentage"
                               : "100 times too large: how many times is wanted, not a percentage";
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++) {
        *mistaken = slips[i].factor * right;
        if (is_shifted(q, given, x, *mistaken))
            return q->unit || !slips[i].plain ? slips[i].of_unit : slips[i].plain;
    }
    return NULL;
}

bool tt_exercise_by_chance(const char *given, double x, double mistaken)
{
    bool small = x == trunc(x) && fabs(x) < 10 && tt_exercise_digits(given) < 3;
    return small && fabs(x - mistaken) > 1e-6 * fabs(x);
}

static bool is_reciprocal(const struct tt_question *q, const char *given, double x, double right)
{
    bool apart = fabs(right * right - 1) > 0.05; /* near 1, a number and its reciprocal are too close */
    bool close = x != 0 && right != 0 && (q->unit ? equals(q, 1 / x, right) : is_slip(q, given, x, 1 / right));
    return close && apart && !tt_exercise_by_chance(given, x, 1 / right);
}

/* The reason by a mistake that is made with any number; NULL: it is none of them. *mistaken: what it gives. */
static const char *common_slip(const struct tt_question *q, const char *given, double x, double right,
                               double *mistaken)
{
    double mib = 0x1p20 / 1e6;
    const char *factor = power_of_ten(q, given, x, right, mistaken);
    if (factor && !(is_reciprocal(q, given, x, right) && fabs(x - 1 / right) < fabs(x - *mistaken))) return factor;
    *mistaken = x > right ? right * mib : right / mib;
    bool million = is_within(q, x, mib, right, 0.003) || is_within(q, x, 1 / mib, right, 0.003);
    if (q->unit && !strcmp(q->unit, "MiB") && million)
        return "a MiB is 1048576 bytes, a MB 1000000: MiB are wanted";
    *mistaken = right * 0x1p20;
    if (q->unit && !strcmp(q->unit, "MiB") && equals(q, x, *mistaken))
        return "those are bytes: MiB are wanted, of 1048576 bytes each";
    *mistaken = 1 / right;
    if (is_reciprocal(q, given, x, right)) return "the reciprocal of what is wanted";
    *mistaken = -right;
    bool negative = x != 0 && is_slip(q, given, x, -right);
    if (negative && !q->unit && right > 0) return "what is wanted is not negative";
    if (negative) return "the sign is another one";
    *mistaken = 2 * right;
    if (!is_small_count(q, x, right) && is_times(q, x, 2, right))
        return "twice what is wanted: is a factor 2 counted double?";
    *mistaken = right / 2;
    if (!is_small_count(q, x, right) && is_times(q, x, 0.5, right))
        return "half of what is wanted: is a factor 2 forgotten?";
    return NULL;
}

/* Whether the number is a name ("Which rank ...?"), so that it is neither too large nor too small. */
static bool is_name(const struct tt_question *q)
{
    return q->text && !strncmp(q->text, "Which ", 6) && !q->tolerance && !q->slack && !q->unit;
}

const char *tt_exercise_slip(const struct tt_question *q, struct tt_mark *m, double x, double right, bool measured)
{
    double mistaken = right;
    bool short_of = tt_exercise_too_short(q, m->given, x, right);
    const char *slip = is_name(q) ? NULL : short_of ? "rounded too far: give more digits"
                                : common_slip(q, m->given, x, right, &mistaken);
    bool rounded = tt_exercise_digits(m->given) > 1 && tt_exercise_rounded(m->given, x, mistaken);
    m->named = slip != NULL;
    m->off = short_of || rounded ? 0 : fabs(x - mistaken) / fmax(fabs(mistaken), 1e-300);
    if (slip) return slip;
    if (is_name(q)) return "your run says otherwise";
    if (!measured) return x > right ? "too large" : "too small";
    return x > right ? "too large for this run" : "too small for this run";
}

const char *tt_exercise_outside(bool below, bool measured)
{
    if (!measured) return below ? "too small" : "too large";
    return below ? "smaller than this run allows" : "larger than this run allows";
}
