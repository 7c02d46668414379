/* Numbers as sentences quote them: 3.574 s for 3574 ms, 24.7 kB for 0.0247 MB, 0.387 for 38.7 %, 24,704. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "exercises/engine/parts.h"

enum quantity { TIME, BYTES, WORK, PARTS };

/* In seconds, bytes, FLOP, or of a whole. */
static const struct tt_unit {
    const char *name;
    enum quantity of;
    double scale;
} units[] = {{"s", TIME, 1},         {"seconds", TIME, 1},    {"ms", TIME, 1e-3},       {"us", TIME, 1e-6},
             {"\xc2\xb5s", TIME, 1e-6}, {"\xce\xbcs", TIME, 1e-6}, {"min", TIME, 60},   {"B", BYTES, 1},
             {"bytes", BYTES, 1},    {"kB", BYTES, 1e3},      {"KiB", BYTES, 0x1p10},   {"MB", BYTES, 1e6},
             {"MiB", BYTES, 0x1p20}, {"GB", BYTES, 1e9},      {"GiB", BYTES, 0x1p30},   {"FLOP", WORK, 1},
             {"MFLOP", WORK, 1e6},   {"GFLOP", WORK, 1e9},    {"TFLOP", WORK, 1e12},    {"MFLOPs", WORK, 1e6},
             {"GFLOPs", WORK, 1e9},  {"TFLOPs", WORK, 1e12},  {"%", PARTS, 0.01},       {"percent", PARTS, 0.01},
             {"per cent", PARTS, 0.01}, {"parts", PARTS, 1}};

const struct tt_unit *tt_exercise_unit(const char *text)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t n = strlen(units[i].name);
        if (!strncasecmp(text, units[i].name, n) && !isalnum((unsigned char)text[n])) return &units[i];
    }
    return NULL;
}

/* "24,704": thousands with a mark. Returns where the number ends. */
static const char *read_number(const char *text, char given[40])
{
    char *end;
    size_t n = 0, first = strspn(text, "0123456789");
    strtod(text, &end);
    bool marks = first && first <= 3 && text[first] == ',';
    for (const char *s = text + first; marks && *s == ','; s += 4) {
        if (strspn(s + 1, "0123456789") != 3) break;
        end = (char *)s + 4;
    }
    for (const char *s = text; s < end && n < 39; s++)
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
    *at = read_number(s, out->given);
    out->number = strtod(out->given, NULL);
    const char *behind = *at + (**at == ' ');
    out->scaled = out->number * tt_exercise_scale(behind); /* 0 where no such letter follows */
    out->unit = tt_exercise_unit(behind);
    return true;
}

int tt_exercise_quoted_as(const struct tt_quoted *q, const struct tt_unit *unit, double as[2])
{
    int n = 0;
    if (unit && q->unit && q->unit->of == unit->of) {
        as[n++] = q->number * q->unit->scale / unit->scale;
        return n;
    }
    as[n++] = q->number;
    bool part = !q->unit && q->number > 0 && q->number < 1 && tt_exercise_digits(q->given) > 1;
    if (q->scaled > 0)
        as[n++] = q->scaled;
    else if (part && unit && unit->of == PARTS && unit->scale != 1)
        as[n++] = q->number / unit->scale;
    return n;
}
