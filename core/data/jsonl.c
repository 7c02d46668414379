#include "core/data/jsonl.h"

#include <string.h>

#define WAY_OUT "; mend the line, or leave bad lines out with --skip-bad-lines"

static bool is_blank(const char *line, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strchr(" \t\r\n", line[i]) || !line[i]) return false;
    return true;
}

static tt_status parse(const char *line, size_t n, struct tt_json **out)
{
    static const char first[] = "line 1, "; /* a line has one line */
    tt_status st = tt_json_parse(line, n, out);
    if (!st || st->code != TT_DAMAGED) return st;
    const char *what = st->text + (strncmp(st->text, first, sizeof first - 1) ? 0 : sizeof first - 1);
    tt_status bad = tt_fail(TT_USAGE, "%s" WAY_OUT, what);
    tt_status_free(st);
    return bad;
}

/* The names of the fields that there are, as many as fit. */
static void put_names(const struct tt_json *object, struct tt_text *out)
{
    enum { MOST = 200 };
    for (const struct tt_json *j = object->first; j && out->n < MOST; j = j->next) {
        if (j != object->first) tt_text_puts(out, ", ");
        tt_json_quote(out, j->key, strlen(j->key));
    }
    if (out->n >= MOST) {
        for (out->n = MOST; (out->s[out->n] & 0xc0) == 0x80;) out->n--; /* not in the middle of a character */
        tt_text_puts(out, " …");
    }
}

static tt_status no_field(const struct tt_json *object, const char *field)
{
    struct tt_text names = {0};
    put_names(object, &names);
    tt_status st = tt_fail(TT_USAGE,
                           "the object has no field \"%s\"%s%s; name the one with the text by --text-field, or leave "
                           "bad lines out with --skip-bad-lines",
                           field, names.n ? ", but " : "", names.n ? names.s : "");
    tt_text_free(&names);
    return st;
}

static tt_status find_text(const struct tt_json *object, const char *field, const char **out)
{
    static const char *const types[] = {"null", "true or false", "a number", "", "a list", "an object"};
    const struct tt_json *value = tt_json_get(object, field);
    if (object->type != TT_JSON_OBJECT) return tt_fail(TT_USAGE, "the line is JSON, but not an object" WAY_OUT);
    if (!value) return no_field(object, field);
    if (value->type != TT_JSON_STRING)
        return tt_fail(TT_USAGE, "the field \"%s\" is %s, not text" WAY_OUT, field, types[value->type]);
    *out = value->string;
    return TT_OK;
}

tt_status tt_jsonl_read(const char *line, size_t n, const struct tt_text_options *options,
                        struct tt_jsonl_document *out)
{
    const char *field = options->text_field && options->text_field[0] ? options->text_field : "text";
    *out = (struct tt_jsonl_document){0};
    if (is_blank(line, n)) return TT_OK;
    TT_TRY(parse(line, n, &out->line));
    tt_status st = find_text(out->line, field, &out->text);
    if (st) {
        tt_json_free(out->line);
        *out = (struct tt_jsonl_document){0};
    }
    return st;
}
