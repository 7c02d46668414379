/* Reads a tokenizer.json: one that hf_tokenizer.c writes, or a byte-level BPE of another program. */
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/data/tokenizers/hf_bpe.h"
#include "core/data/tokenizers/hf_pieces.h"
#include "core/data/tokenizers/hf_tokenizer.h"

/* Equal as values: the order of keys does not count. */
static bool same(const struct tt_json *a, const struct tt_json *b)
{
    if (!a || !b || a->type != b->type) return false;
    if (a->type == TT_JSON_STRING) return !strcmp(a->string, b->string);
    if (a->type == TT_JSON_BOOL) return a->boolean == b->boolean;
    if (a->type == TT_JSON_NUMBER) return a->number == b->number;
    if (a->count != b->count) return false;
    for (const struct tt_json *x = a->first, *y = b->first; x; x = x->next, y = y->next)
        if (!same(x, a->type == TT_JSON_OBJECT ? tt_json_get(b, x->key) : y)) return false;
    return true;
}

/* The kind of tt's own tokenizers that has this pre_tokenizer; -1: none. */
static int kind_of_pieces(const struct tt_json *pre)
{
    int found = -1;
    for (int kind = TT_BYTES; kind <= TT_BPE && found < 0; kind++) {
        struct tt_json_writer w = {0};
        struct tt_json *ours = NULL;
        tt_hf_put_pre_tokenizer(&w, NULL, (enum tt_tokenizer_kind)kind);
        tt_status st = tt_text_status(&w.text);
        if (!st) st = tt_json_parse(w.text.s, w.text.n, &ours);
        if (!st && same(ours, pre)) found = kind;
        tt_status_free(st);
        tt_json_free(ours);
        tt_text_free(&w.text);
    }
    return found;
}

static tt_status other_kind(void)
{
    return tt_fail(TT_UNSUPPORTED, "its tokenizer is of a kind that tt does not have");
}

/* The vocabulary in the order of its ids, which must be 0 to n-1. */
static tt_status list_words(const struct tt_json *vocab, const char ***out)
{
    int64_t id;
    if (!vocab || vocab->type != TT_JSON_OBJECT || vocab->count < 1 || vocab->count > TT_TOKENIZER_MOST)
        return other_kind();
    const char **words = calloc((size_t)vocab->count, sizeof *words);
    if (!words) return tt_no_memory("the tokenizer");
    *out = words;
    for (const struct tt_json *e = vocab->first; e; e = e->next) {
        if (!tt_json_as_int(e, 0, vocab->count - 1, &id) || words[id]) return other_kind();
        words[id] = e->key;
    }
    return TT_OK;
}

static bool read_merge(const struct tt_json *e, const struct tt_word *names, int64_t n, struct tt_merge *out)
{
    struct tt_text left = {0};
    const char *right = NULL;
    *out = (struct tt_merge){-1, -1};
    if (tt_hf_merge_halves(e, &left, &right) && left.s)
        *out = (struct tt_merge){tt_words_find(names, n, left.s), tt_words_find(names, n, right)};
    tt_text_free(&left);
    return out->left >= 0 && out->right >= 0;
}

static tt_status read_merges(const struct tt_json *merges, const char **words, int64_t n, struct tt_tokenizer **out)
{
    struct tt_word *names = calloc((size_t)n, sizeof *names);
    struct tt_merge *list = calloc((size_t)n, sizeof *list);
    tt_status st = names && list ? TT_OK : tt_no_memory("the tokenizer");
    if (!st && (!merges || merges->type != TT_JSON_ARRAY || merges->count != n - 256)) st = other_kind();
    for (int32_t i = 0; i < n && !st; i++) names[i] = (struct tt_word){words[i], i};
    if (!st) tt_words_sort(names, n);
    int64_t i = 0;
    for (const struct tt_json *e = st ? NULL : merges->first; e && !st; e = e->next, i++)
        if (!read_merge(e, names, n, &list[i])) st = other_kind();
    if (!st) st = tt_tokenizer_from_merges(list, n - 256, out);
    free(names);
    free(list);
    return st;
}

static tt_status read_chars(const char **words, int64_t n, struct tt_tokenizer **out)
{
    uint32_t *points = calloc((size_t)n, sizeof *points);
    tt_status st = points ? TT_OK : tt_no_memory("the tokenizer");
    int64_t first = !strcmp(words[0], TT_END_OF_TEXT); /* its points[0] stays 0 */
    for (int64_t i = first; i < n && !st; i++) {
        size_t length = strlen(words[i]);
        bool one = length > 0 && tt_utf8_decode(words[i], length, &points[i]) == (int)length &&
                   tt_utf8_is_character(points[i]);
        if (!one || (i && points[i] <= points[i - 1])) st = other_kind();
    }
    if (!st) st = tt_tokenizer_from_points(points, n, out);
    free(points);
    return st;
}

static tt_status read_kind(enum tt_tokenizer_kind kind, const struct tt_json *model, struct tt_tokenizer **out)
{
    const struct tt_json *vocab = tt_json_get(model, "vocab");
    const char **words = NULL;
    tt_status st = list_words(vocab, &words);
    int64_t n = st ? 0 : vocab->count;
    if (!st && kind == TT_WORDS) st = tt_tokenizer_words(words, (int)n, out);
    if (!st && kind == TT_CHARS) st = read_chars(words, n, out);
    if (!st && kind == TT_BYTES) st = n == 256 ? tt_tokenizer_bytes(out) : other_kind();
    if (!st && kind == TT_BPE) st = n >= 256 ? read_merges(tt_json_get(model, "merges"), words, n, out) : other_kind();
    free(words);
    return st;
}

/* Writing what was read must give the same vocabulary and added tokens again, with no normalizer. Otherwise tt would
 * produce other tokens than the file says. Files of older versions spell the byte 0 like the other bytes. */
static tt_status check_back(const struct tt_tokenizer *t, const struct tt_json *j)
{
    struct tt_json_writer w = {0};
    struct tt_json *back = NULL;
    const struct tt_json *vocab = tt_json_get(tt_json_get(j, "model"), "vocab");
    tt_status st = tt_hf_tokenizer_write_as(t, tt_json_get(vocab, TT_END_OF_TEXT) ? tt_hf_special_end(t) : -1, &w);
    if (!st) st = tt_json_parse(w.text.s, w.text.n, &back);
    if (!st && !same(tt_json_get(tt_json_get(back, "model"), "vocab"), vocab)) st = other_kind();
    const struct tt_json *normalizer = tt_json_get(j, "normalizer"), *added = tt_json_get(j, "added_tokens");
    const struct tt_json *ours = st ? NULL : tt_json_get(back, "added_tokens");
    if (!st && ((normalizer && normalizer->type != TT_JSON_NULL) || (added ? !same(added, ours) : ours->count > 0)))
        st = other_kind();
    tt_json_free(back);
    tt_text_free(&w.text);
    return st;
}

static tt_status read_byte_level(const struct tt_json *j, struct tt_tokenizer **out)
{
    struct tt_hf_bpe *hf = NULL;
    TT_TRY(tt_hf_bpe_read(j, &hf));
    struct tt_tokenizer *t = calloc(1, sizeof *t);
    if (!t) {
        tt_hf_bpe_free(hf);
        return tt_no_memory("the tokenizer");
    }
    *t = (struct tt_tokenizer){.kind = TT_BYTE_LEVEL, .size = hf->size, .hf = hf};
    *out = t;
    return TT_OK;
}

tt_status tt_hf_tokenizer_read(const struct tt_json *j, struct tt_tokenizer **out)
{
    int kind = kind_of_pieces(tt_json_get(j, "pre_tokenizer"));
    struct tt_tokenizer *t = NULL;
    if (kind < 0) return read_byte_level(j, out);
    tt_status st = read_kind((enum tt_tokenizer_kind)kind, tt_json_get(j, "model"), &t);
    if (!st) st = check_back(t, j);
    if (st)
        tt_tokenizer_free(t);
    else
        *out = t;
    return st;
}
