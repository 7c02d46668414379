/* The CSV writer: appends to a text. */
#include <math.h>
#include <string.h>

#include "core/base/csv.h"
#include "core/base/utf8.h"

/* Only the end of a record leaves '\n' last: a cell with a line break ends with its closing quote. An empty first cell
 * is written as "", so that the next cell gets its comma. */
static bool begins_record(const struct tt_text *out) { return !out->n || out->s[out->n - 1] == '\n'; }

static void separate(struct tt_text *out)
{
    if (!begins_record(out)) tt_text_puts(out, ",");
}

/* Whether readers would split or trim the cell. */
static bool needs_quotes(const char *cell)
{
    size_t n = strlen(cell);
    return strpbrk(cell, ",\"\r\n") || (n && (strchr(" \t\v\f", cell[0]) || strchr(" \t\v\f", cell[n - 1])));
}

bool tt_csv_is_formula(const char *cell)
{
    cell += strspn(cell, "'");
    return *cell && strchr("=+-@\t\r\n", *cell);
}

void tt_csv_put(struct tt_text *out, const char *cell)
{
    struct tt_text text = {0};
    tt_utf8_put_text(&text, cell, strlen(cell), false);
    if (text.failed) {
        out->failed = true;
        tt_text_free(&text);
        return;
    }
    const char *apostrophe = tt_csv_is_formula(text.s) ? "'" : "";
    bool quotes = needs_quotes(text.s) || (!text.n && begins_record(out));
    separate(out);
    tt_text_puts(out, quotes ? "\"" : "");
    tt_text_puts(out, apostrophe);
    for (const char *s = text.s; *s; s++) tt_text_add(out, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
    tt_text_puts(out, quotes ? "\"" : "");
    tt_text_free(&text);
}

void tt_csv_put_int(struct tt_text *out, int64_t value)
{
    separate(out);
    tt_text_printf(out, "%lld", (long long)value);
}

void tt_csv_put_number(struct tt_text *out, double value)
{
    if (!isfinite(value)) {
        tt_csv_put(out, "");
        return;
    }
    separate(out);
    tt_text_printf(out, "%.9g", value);
}

void tt_csv_end(struct tt_text *out) { tt_text_puts(out, "\n"); }
