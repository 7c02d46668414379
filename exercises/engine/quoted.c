/* Finds numbers as sentences write them: 3.574 s for 3574 ms, 24.7 kB for 0.0247 MB, 0.387 for 38.7 %, 24,704. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "exercises/engine/parts.h"

enum quantity { TIME, BYTES, WORK, INTENSITY, PARTS, RATE };

/* The scale is that to seconds, bytes, FLOP, FLOP per byte, or a whole. FLOP per byte stands before FLOP: its names
 * begin with FLOP, and the first match counts. */
static const struct tt_unit {
    const char *name;
    enum quantity of;
    double scale;
} units[] = {{"s", TIME, 1},         {"seconds", TIME, 1},    {"ms", TIME, 1e-3},       {"us", TIME, 1e-6},
             {"ns", TIME, 1e-9},
             {"\xc2\xb5s", TIME, 1e-6}, {"\xce\xbcs", TIME, 1e-6}, {"min", TIME, 60},   {"B", BYTES, 1},
             {"minutes", TIME, 60},
             {"bytes", BYTES, 1},    {"kB", BYTES, 1e3},      {"KiB", BYTES, 0x1p10},   {"MB", BYTES, 1e6},
             {"MiB", BYTES, 0x1p20}, {"GB", BYTES, 1e9},      {"GiB", BYTES, 0x1p30},   {"FLOP/byte", INTENSITY, 1},
             {"FLOPs/byte", INTENSITY, 1}, {"FLOP/B", INTENSITY, 1}, {"FLOP per byte", INTENSITY, 1},
             {"FLOPs per byte", INTENSITY, 1}, {"FLOP", WORK, 1},
             {"MFLOP", WORK, 1e6},   {"GFLOP", WORK, 1e9},    {"TFLOP", WORK, 1e12},    {"MFLOPs", WORK, 1e6},
             {"GFLOPs", WORK, 1e9},  {"TFLOPs", WORK, 1e12},  {"%", PARTS, 0.01},       {"percent", PARTS, 0.01},
             {"per cent", PARTS, 0.01}, {"parts", PARTS, 1}};

/* The unit of "129.6 GFLOP/s": it fits no figure that is an amount. */
static const struct tt_unit rate = {"a rate", RATE, 1};

const struct tt_unit *tt_exercise_unit(const char *text)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t n = strlen(units[i].name);
        if (!strncasecmp(text, units[i].name, n) && !isalnum((unsigned char)text[n])) return &units[i];
    }
    return NULL;
}

const char *tt_exercise_unit_name(const struct tt_unit *unit) { return unit ? unit->name : ""; }

double tt_exercise_convert(const char *from, const char *to)
{
    const struct tt_unit *a = tt_exercise_unit(from), *b = tt_exercise_unit(to);
    const char *rest = a ? from + strlen(a->name) : "", *behind = b ? to + strlen(b->name) : "";
    bool whole = a && b && !strcmp(rest, behind) && (!*rest || !strcmp(rest, "/s")); /* both per second, or neither */
    return whole && a->of == b->of ? a->scale / b->scale : NAN;
}

static const char *behind_digits(const char *s) { return s + strspn(s, "0123456789"); }

/* Where "12", "12.5" or "1.25e1" ends. A full stop behind it belongs to the sentence. */
static const char *behind_decimal(const char *s)
{
    s = behind_digits(s);
    if (*s == '.') s = behind_digits(s + 1) - (s[1] < '0' || s[1] > '9');
    const char *power = s + 1 + (*s && strchr("+-", s[1]) != NULL);
    return (*s == 'e' || *s == 'E') && isdigit((unsigned char)*power) ? behind_digits(power) : s;
}

/* Reads a number without its thousands marks, as in "24,704". Returns where it ends. */
static const char *read_number(const char *text, char given[40])
{
    const char *end = behind_decimal(text), *s = behind_digits(text);
    size_t n = 0;
    bool marks = s - text <= 3;
    for (; marks && *s == ',' && behind_digits(s + 1) == s + 4; s += 4) end = s + 4;
    for (s = text; s < end && n < 39; s++)
        if (*s != ',') given[n++] = *s;
    given[n] = 0;
    return end;
}

bool tt_exercise_quoted(const char *sentence, const char **at, struct tt_quoted *out)
{
    const char *s = *at;
    while (*s && !(isdigit((unsigned char)*s) &&
                   (s == sentence || !(isalnum((unsigned char)s[-1]) || strchr("._", s[-1])))))
        s++;
    if (!*s) return false;
    out->begin = s;
    *at = out->end = read_number(s, out->given);
    out->number = strtod(out->given, NULL);
    const char *behind = *at + (**at == ' ');
    out->scaled = out->number * tt_exercise_scale(behind); /* 0 where no such letter follows */
    out->unit = tt_exercise_unit(behind);
    if (out->unit && behind[strlen(out->unit->name)] == '/') out->unit = &rate;
    return true;
}

/* The value of a number without a percent sign: 0.387 is a part of a whole. So is 1.35 if the figure is given in
 * `parts`, since it may be more than the whole. Returns 1 if there is a value, else 0. */
static int part_as(const struct tt_quoted *q, const struct tt_unit *unit, double as[2])
{
    bool part = strchr(q->given, '.') && ((q->number < 1 && tt_exercise_digits(q->given) > 1) || unit->scale == 1);
    as[0] = q->number / unit->scale;
    return part;
}

int tt_exercise_quoted_as(const struct tt_quoted *q, const struct tt_unit *unit, double as[2])
{
    int n = 0;
    if (!isfinite(q->number)) return 0;
    if (q->unit && (unit ? q->unit->of != unit->of : q->unit->of != PARTS)) return 0;
    if (q->unit) {
        as[n] = q->number * q->unit->scale / (unit ? unit->scale : 1);
        return unit || as[n] != trunc(as[n]); /* "35 % slower" is a ratio; "100 % sure" is no count */
    }
    if (unit && unit->of == PARTS) return part_as(q, unit, as);
    as[n++] = q->number;
    if (q->scaled > 0) as[n++] = q->scaled;
    return n;
}
