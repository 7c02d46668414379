/* Tokenizers as JSON files:
 *
 *     {"format": "tt-tokenizer", "version": 1, "kind": "bytes"}
 *     {"format": "tt-tokenizer", "version": 1, "kind": "words", "words": [".", "the", "dog"]}
 *     {"format": "tt-tokenizer", "version": 1, "kind": "chars", "chars": [10, 32, 97]}          code points, ascending
 *     {"format": "tt-tokenizer", "version": 1, "kind": "bpe", "merges": [[104, 101], [116, 256]]}
 *
 * or the tokenizer.json of another program, which is saved unchanged, with its tokenizer_config.json in it
 * (hf_about.h).
 *
 * Tokens are numbered in the order given. Tokens 0 to 255 of "bpe" are the bytes; the i-th merge joins two earlier
 * tokens into token 256 + i. Merges are numbers and not strings, because a token need not be valid UTF-8. */
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/pointer.h"
#include "core/data/tokenizers/hf_about.h"
#include "core/data/tokenizers/hf_tokenizer.h"
#include "core/data/tokenizers/tokenizer_kinds.h"

static const char format_name[] = "tt-tokenizer";

static void put_own(const struct tt_tokenizer *t, struct tt_json_writer *w)
{
    tt_json_begin(w, NULL, '{');
    tt_json_put_string(w, "format", format_name);
    tt_json_put_int(w, "version", 1);
    tt_json_put_string(w, "kind", tt_tokenizer_kind(t));
    if (t->kind != TT_BYTES) tt_json_begin(w, t->kind == TT_BPE ? "merges" : tt_tokenizer_kind(t), '[');
    for (int64_t i = 0; t->kind == TT_WORDS && i < t->size; i++) tt_json_put_string(w, NULL, t->words[i]);
    for (int64_t i = 0; t->kind == TT_CHARS && i < t->size; i++) tt_json_put_int(w, NULL, t->points[i]);
    for (int64_t i = 0; t->kind == TT_BPE && i < t->size - 256; i++) {
        tt_json_begin(w, NULL, '[');
        tt_json_put_int(w, NULL, t->merges[i].left);
        tt_json_put_int(w, NULL, t->merges[i].right);
        tt_json_end(w, ']');
    }
    if (t->kind != TT_BYTES) tt_json_end(w, ']');
    tt_json_end(w, '}');
}

/* The tokenizer.json as it was read, with its tokenizer_config.json added at the end. */
static void put_other(const struct tt_hf_bpe *b, struct tt_text *out)
{
    tt_text_add(out, b->source, strlen(b->source) - (b->about ? 1 : 0));
    if (b->about) tt_text_printf(out, ",\"%s\":", TT_HF_ABOUT);
    if (b->about) tt_text_puts(out, b->about);
    if (b->about) tt_text_puts(out, "}");
}

tt_status tt_tokenizer_save(const struct tt_tokenizer *t, const char *path)
{
    struct tt_json_writer w = {0};
    tt_status st = TT_OK;
    if (t->kind == TT_BYTE_LEVEL)
        put_other(t->hf, &w.text);
    else
        put_own(t, &w);
    tt_text_puts(&w.text, "\n");
    if (!st) st = tt_text_status(&w.text);
    if (!st) st = tt_file_replace(path, w.text.s, w.text.n);
    tt_text_free(&w.text);
    return st;
}

static tt_status get_array(const struct tt_json *j, const char *key, int64_t least, const struct tt_json **out)
{
    const struct tt_json *array = tt_json_get(j, key);
    if (!array || array->type != TT_JSON_ARRAY || array->count < least || array->count > TT_TOKENIZER_MOST)
        return tt_fail(TT_FAILED, "\"%s\" must be a list of %lld to %d values", key, (long long)least,
                       TT_TOKENIZER_MOST);
    *out = array;
    return TT_OK;
}

static tt_status words_from(const struct tt_json *j, struct tt_tokenizer **out)
{
    const struct tt_json *array = NULL;
    TT_TRY(get_array(j, "words", 1, &array));
    const char **words = calloc((size_t)array->count, sizeof *words);
    tt_status st = words ? TT_OK : tt_no_memory("the words");
    int n = 0;
    for (const struct tt_json *e = array->first; e && !st; e = e->next, n++) {
        if (e->type != TT_JSON_STRING) st = tt_fail(TT_FAILED, "word %d is not a string", n);
        if (words) words[n] = e->string;
    }
    if (!st) st = tt_tokenizer_words(words, n, out);
    free(words);
    return st;
}

static tt_status chars_from(const struct tt_json *j, struct tt_tokenizer **out)
{
    const struct tt_json *array = NULL;
    TT_TRY(get_array(j, "chars", 1, &array));
    uint32_t *points = calloc((size_t)array->count, sizeof *points);
    tt_status st = points ? TT_OK : tt_no_memory("the characters");
    int64_t n = 0, point, above = -1;
    for (const struct tt_json *e = array->first; e && !st; e = e->next, n++) {
        if (!tt_json_as_int(e, above + 1, 0x10ffff, &point) || (point >= 0xd800 && point < 0xe000))
            st = tt_fail(TT_FAILED, "character %lld is not a code point above the one before it", (long long)n);
        else
            points[n] = (uint32_t)(above = point);
    }
    if (!st) st = tt_tokenizer_from_points(points, n, out);
    free(points);
    return st;
}

static tt_status merges_from(const struct tt_json *j, struct tt_tokenizer **out)
{
    const struct tt_json *array = NULL;
    TT_TRY(get_array(j, "merges", 0, &array));
    struct tt_merge *merges = calloc((size_t)array->count + 1, sizeof *merges);
    tt_status st = merges ? TT_OK : tt_no_memory("the merges");
    int64_t n = 0, left, right;
    for (const struct tt_json *e = array->first; e && !st; e = e->next, n++) {
        bool two = e->type == TT_JSON_ARRAY && e->count == 2;
        if (!two || !tt_json_as_int(e->first, 0, 255 + n, &left) || !tt_json_as_int(e->first->next, 0, 255 + n, &right))
            st =
                tt_fail(TT_FAILED, "merge %lld is not a pair of tokens below %lld", (long long)n, (long long)(256 + n));
        else
            merges[n] = (struct tt_merge){(int32_t)left, (int32_t)right};
    }
    if (!st) st = tt_tokenizer_from_merges(merges, n, out);
    free(merges);
    return st;
}

static tt_status of_others(const struct tt_json *j, struct tt_tokenizer **out)
{
    tt_status st = tt_hf_tokenizer_read(j, out);
    if (st && st->code == TT_UNSUPPORTED) st->code = TT_USAGE;
    return st;
}

static tt_status from_json(const struct tt_json *j, struct tt_tokenizer **out)
{
    int64_t version;
    if (tt_json_get(j, "model") && !tt_json_get(j, "format")) return of_others(j, out);
    if (strcmp(tt_json_string(j, "format", ""), format_name))
        return tt_fail(TT_USAGE, "no \"format\": \"%s\" in it; give a file that tt wrote, or a tokenizer.json",
                       format_name);
    if (!tt_json_int(j, "version", 1, 1, &version))
        return tt_fail(TT_FAILED, "its version is not 1; a newer tt may have written it");
    const char *kind = tt_json_string(j, "kind", "");
    if (!strcmp(kind, "bytes")) return tt_tokenizer_bytes(out);
    if (!strcmp(kind, "words")) return words_from(j, out);
    if (!strcmp(kind, "chars")) return chars_from(j, out);
    if (!strcmp(kind, "bpe")) return merges_from(j, out);
    return tt_fail(TT_FAILED, "its kind \"%.40s\" is none of bytes, words, chars, bpe", kind);
}

/* Adds to the tokenizer.json of another program what the files beside it say. */
static tt_status with_about(const char *path, struct tt_json **j)
{
    const char *slash = strrchr(path, '/');
    struct tt_json *both = NULL;
    if (!tt_json_get(*j, "model") || tt_json_get(*j, "format")) return TT_OK;
    char *dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    tt_status st = dir ? tt_hf_about_join(dir, *j, -1, &both) : tt_no_memory("a path");
    free(dir);
    if (!both) return st;
    tt_json_free(*j);
    *j = both;
    return TT_OK;
}

tt_status tt_tokenizer_load(const char *path, struct tt_tokenizer **out)
{
    enum { LIMIT = 64 << 20 };
    char *text;
    size_t size;
    struct tt_json *j = NULL;
    TT_TRY(tt_refuse_pointer(path));
    TT_TRY(tt_file_read(path, LIMIT, &text, &size));
    tt_status st = tt_json_parse(text, size, &j);
    if (!st) st = with_about(path, &j);
    if (!st) st = from_json(j, out);
    tt_json_free(j);
    free(text);
    return tt_context(st, "%s is not a usable tokenizer", path);
}
