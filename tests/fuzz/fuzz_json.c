/* JSON: what was read, written out and read again is the same. */
#include "core/base/json.h"
#include "tests/fuzz/fuzz.h"

static void copy(struct tt_json_writer *w, const struct tt_json *j)
{
    const char *key = w->depth ? j->key : NULL;
    switch (j->type) {
    case TT_JSON_NULL:
        tt_json_put_null(w, key);
        break;
    case TT_JSON_BOOL:
        tt_json_put_bool(w, key, j->boolean);
        break;
    case TT_JSON_NUMBER:
        tt_json_put_number(w, key, j->number);
        break;
    case TT_JSON_STRING:
        tt_json_put_string(w, key, j->string);
        break;
    case TT_JSON_ARRAY:
    case TT_JSON_OBJECT:
        tt_json_begin(w, key, j->type == TT_JSON_ARRAY ? '[' : '{');
        for (const struct tt_json *c = j->first; c; c = c->next) copy(w, c);
        tt_json_end(w, j->type == TT_JSON_ARRAY ? ']' : '}');
        break;
    }
}

static bool same(const struct tt_json *a, const struct tt_json *b)
{
    if (a->type != b->type || a->count != b->count || !a->key != !b->key) return false;
    if (a->key && strcmp(a->key, b->key)) return false;
    if (a->type == TT_JSON_NUMBER) return a->number == b->number;
    if (a->type == TT_JSON_STRING) return !strcmp(a->string, b->string);
    if (a->type == TT_JSON_BOOL) return a->boolean == b->boolean;
    const struct tt_json *x = a->first, *y = b->first;
    for (; x && y && same(x, y); x = x->next, y = y->next) {
    }
    return !x && !y;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tt_json *j, *again;
    if (fuzz_refused(tt_json_parse((const char *)data, n, &j))) return 0;
    for (int pretty = 0; pretty < 2; pretty++) {
        struct tt_json_writer w = {.pretty = pretty};
        copy(&w, j);
        PROMISE(!fuzz_refused(tt_json_parse(w.text.s, w.text.n, &again)));
        PROMISE(same(j, again));
        tt_json_free(again);
        tt_text_free(&w.text);
    }
    int64_t number;
    for (const struct tt_json *c = j->first; c; c = c->next) tt_json_as_int(c, -1000, INT64_MAX, &number);
    tt_json_get(j, "a");
    tt_json_free(j);
    return 0;
}
