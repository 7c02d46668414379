#include "core/data/jsonl.h"

#include <stdio.h>
#include <string.h>

/* Advice for a bad line, unless bad lines are left out already. */
static const char *way_out(const struct tt_text_options *o)
{
    return o->prompts || o->skip_bad ? "" : "; correct the line, or leave bad lines out with --skip-bad-lines";
}

static bool is_blank(const char *line, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strchr(" \t\r\n", line[i]) || !line[i]) return false;
    return true;
}

static tt_status parse(const char *line, size_t n, const char *then, struct tt_json **out)
{
    static const char first[] = "line 1, "; /* left out: the text has only one line */
    tt_status st = tt_json_parse(line, n, out);
    if (!st || st->code != TT_DAMAGED) return st;
    const char *what = st->text + (strncmp(st->text, first, sizeof first - 1) ? 0 : sizeof first - 1);
    tt_status bad = tt_fail(TT_USAGE, "%s%s", what, then);
    tt_status_free(st);
    return bad;
}

/* The names of the fields of the object, as many as fit. */
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

static tt_status no_field(const struct tt_json *object, const char *wanted, const char *option, bool skips)
{
    struct tt_text names = {0};
    put_names(object, &names);
    tt_status st = tt_fail(TT_USAGE,
                           "the object has no field %s%s%s; name the right one by %s%s", wanted,
                           names.n ? ", but " : "", names.n ? names.s : "", option,
                           skips ? "" : ", or leave bad lines out with --skip-bad-lines");
    tt_text_free(&names);
    return st;
}

static tt_status find_text(const struct tt_text_options *o, const struct tt_json *object, const char *field,
                           const char *option, const char **out)
{
    static const char *const types[] = {"null", "true or false", "a number", "", "a list", "an object"};
    const struct tt_json *value = tt_json_get(object, field);
    char wanted[160];
    snprintf(wanted, sizeof wanted, "\"%s\"", field);
    if (!value && strchr(field, '.'))
        return tt_fail(TT_USAGE, "the object has no field %s; fields inside others cannot be named, so move the text "
                                 "out: jq -c '{text: .%s}' FILE >NEW.jsonl", wanted, field);
    if (!value) return no_field(object, wanted, option, o->skip_bad);
    if (value->type == TT_JSON_ARRAY && value->first && value->first->type == TT_JSON_OBJECT)
        return tt_fail(TT_USAGE,
                       "the field \"%s\" is a list of objects, not text; of a chat tt takes two fields of text, named "
                       "by --prompt-field and --completion-field%s",
                       field, way_out(o));
    if (value->type != TT_JSON_STRING)
        return tt_fail(TT_USAGE, "the field \"%s\" is %s, not text%s", field, types[value->type], way_out(o));
    *out = value->string;
    return TT_OK;
}

static bool given(const char *s) { return s && *s; }

/* Takes the fields that the options name, else those that the object has. */
static tt_status find_fields(const struct tt_text_options *o, struct tt_jsonl_document *d)
{
    const char *text = given(o->text_field) ? o->text_field : "text";
    const char *prompt = given(o->prompt_field) ? o->prompt_field : "prompt";
    const char *completion = given(o->completion_field) ? o->completion_field : "completion";
    bool pairs = given(o->prompt_field) || given(o->completion_field), said = given(o->text_field);
    if (d->line->type != TT_JSON_OBJECT) return tt_fail(TT_USAGE, "the line is JSON, but not an object%s", way_out(o));
    bool has_text = tt_json_get(d->line, text);
    bool has_pair = tt_json_get(d->line, prompt) && tt_json_get(d->line, completion);
    if (!pairs && !said && has_text && has_pair)
        return tt_fail(TT_USAGE, "the object has \"text\", and also \"prompt\" and \"completion\"; say which of them "
                                 "is meant with --text-field text or --prompt-field prompt");
    if (!pairs && !said && !has_text && !has_pair)
        return no_field(d->line, "\"text\", nor both \"prompt\" and \"completion\"",
                        "--text-field, or the two of a pair by --prompt-field and --completion-field", o->skip_bad);
    if (!pairs && (said || has_text)) return find_text(o, d->line, text, "--text-field", &d->text);
    TT_TRY(find_text(o, d->line, prompt, "--prompt-field", &d->prompt));
    return find_text(o, d->line, completion, "--completion-field", &d->text);
}

static tt_status find_prompt(struct tt_jsonl_document *d)
{
    const struct tt_json *j = d->line->type == TT_JSON_OBJECT ? tt_json_get(d->line, "prompt") : d->line;
    if (!j || j->type != TT_JSON_STRING)
        return tt_fail(TT_USAGE, "the line is neither a string nor an object with a string \"prompt\"");
    d->text = j->string;
    return TT_OK;
}

tt_status tt_jsonl_read(const char *line, size_t n, const struct tt_text_options *options,
                        struct tt_jsonl_document *out)
{
    *out = (struct tt_jsonl_document){0};
    if (is_blank(line, n)) return TT_OK;
    TT_TRY(parse(line, n, way_out(options), &out->line));
    tt_status st = options->prompts ? find_prompt(out) : find_fields(options, out);
    if (st) {
        tt_json_free(out->line);
        *out = (struct tt_jsonl_document){0};
    }
    return st;
}
