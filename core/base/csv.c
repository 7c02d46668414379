#include "core/base/csv.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/grow.h"
#include "core/base/text.h"

void tt_csv_open(struct tt_csv *c, char *text, size_t n)
{
    static const char mark[] = "\xef\xbb\xbf"; /* byte order mark */
    size_t skip = n >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    *c = (struct tt_csv){.at = text + skip, .end = text + n, .line = 1};
}

void tt_csv_free(struct tt_csv *c)
{
    free(c->fields);
    *c = (struct tt_csv){0};
}

static tt_status add_field(struct tt_csv *c, char *field)
{
    if (!tt_grow(&c->fields, sizeof *c->fields, (size_t)c->count, &c->room))
        return tt_no_memory("a line of %d columns", c->count + 1);
    c->fields[c->count++] = field;
    return TT_OK;
}

/* Reads a quoted field and stops after its closing quote. The field is unquoted in place. */
static tt_status quoted(struct tt_csv *c, char **field)
{
    int opened = c->line;
    char *to = *field = ++c->at;
    for (;; c->at++) {
        if (c->at >= c->end)
            return tt_fail(TT_FAILED, "line %d: a quote is opened and never closed; is the file cut off?", opened);
        if (*c->at == '"' && (c->at + 1 >= c->end || c->at[1] != '"')) break;
        if (*c->at == '"') c->at++;
        if (*c->at == '\n') c->line++;
        *to++ = *c->at;
    }
    c->at++;
    if (to < c->at) *to = 0;
    return TT_OK;
}

static bool ends_field(const struct tt_csv *c) { return c->at >= c->end || *c->at == ',' || *c->at == '\n'; }

/* Reads one field, without the spaces before it. */
static tt_status one_field(struct tt_csv *c, bool *last)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t')) c->at++;
    char *field = c->at, *stop;
    if (c->at < c->end && *c->at == '"') {
        TT_TRY(quoted(c, &field));
        while (!ends_field(c)) c->at++;
        stop = c->at;
    } else {
        while (!ends_field(c)) c->at++;
        stop = c->at;
        while (stop > field && isspace((unsigned char)stop[-1])) stop--;
    }
    *last = c->at >= c->end || *c->at == '\n';
    if (c->at < c->end) {
        if (*c->at == '\n') c->line++;
        c->at++;
    }
    *stop = 0;
    return add_field(c, *field == '\'' && tt_csv_is_formula(field) ? field + 1 : field);
}

tt_status tt_csv_next(struct tt_csv *c, bool *more)
{
    c->count = 0;
    while (c->at < c->end && (*c->at == '\n' || *c->at == '\r')) { /* empty lines are not records */
        if (*c->at == '\n') c->line++;
        c->at++;
    }
    c->record_line = c->line;
    *more = c->at < c->end;
    for (bool last = !*more; !last;) TT_TRY(one_field(c, &last));
    return TT_OK;
}

int tt_csv_column(const struct tt_csv *c, const char *name)
{
    for (int i = 0; i < c->count; i++)
        if (strcasecmp(c->fields[i], name) == 0) return i;
    return -1;
}

const char *tt_csv_field(const struct tt_csv *c, int column)
{
    return column >= 0 && column < c->count ? c->fields[column] : "";
}

bool tt_csv_number(const char *text, double *out)
{
    char plain[64];
    size_t n = 0;
    while (isspace((unsigned char)*text)) text++;
    bool negative = *text == '-';
    if (negative) text++;
    for (; *text && !isspace((unsigned char)*text); text++) {
        if (*text == ',') continue;
        if (n + 1 == sizeof plain) return false;
        plain[n++] = *text;
    }
    plain[n] = 0;
    while (isspace((unsigned char)*text)) text++;
    if (*text || !tt_is_decimal(plain)) return false;
    double value = strtod(plain, NULL);
    if (!isfinite(value)) return false;
    *out = negative ? -value : value;
    return true;
}
