/* Reads a byte-level BPE of another program from its tokenizer.json. Refuses one that tt would not reproduce exactly.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/data/tokenizers/hf_about.h"
#include "core/data/tokenizers/hf_bpe.h"
#include "core/data/tokenizers/hf_pieces.h"
#include "core/data/tokenizers/nfc.h"

struct reading {
    struct tt_hf_bpe *b;
    const struct tt_json *vocab, *merges, *added;
    int byte_of[512];      /* the byte that a code point stands for; -1: none */
    struct tt_word *names; /* the vocabulary, sorted by spelling */
};

static tt_status unlike(const char *what) { return tt_fail(TT_UNSUPPORTED, "its tokenizer %s", what); }

static bool is_true(const struct tt_json *j, const char *key)
{
    const struct tt_json *value = tt_json_get(j, key);
    return value && value->type == TT_JSON_BOOL && value->boolean;
}

/* null, "", 0 or absent. */
static bool is_nothing(const struct tt_json *j, const char *key)
{
    const struct tt_json *value = tt_json_get(j, key);
    return !value || value->type == TT_JSON_NULL || (value->type == TT_JSON_STRING && !value->string[0]) ||
           (value->type == TT_JSON_NUMBER && value->number == 0);
}

/* {"type": "NFC"}, or a sequence of only that. */
static bool is_nfc(const struct tt_json *normalizer)
{
    const struct tt_json *list = tt_json_get(normalizer, "normalizers");
    if (list) return list->type == TT_JSON_ARRAY && list->count == 1 && is_nfc(list->first);
    return !strcmp(tt_json_string(normalizer, "type", ""), "NFC");
}

static tt_status check_model(const struct tt_json *j, const struct tt_json *model)
{
    if (strcmp(tt_json_string(model, "type", "BPE"), "BPE")) return unlike("is not a byte-pair encoding");
    if (!is_nothing(j, "normalizer") && !is_nfc(tt_json_get(j, "normalizer")))
        return unlike("has a normalizer other than NFC");
    if (strcmp(tt_json_string(tt_json_get(j, "decoder"), "type", ""), "ByteLevel") || is_true(model, "byte_fallback"))
        return unlike("is not byte-level");
    if (!is_nothing(model, "dropout") || !is_nothing(model, "continuing_subword_prefix") ||
        !is_nothing(model, "end_of_word_suffix"))
        return unlike("uses dropout, a subword prefix or a word suffix");
    return TT_OK;
}

/* ---- the vocabulary ---- */

static void list_characters(struct reading *r)
{
    for (int i = 0; i < 512; i++) r->byte_of[i] = tt_hf_byte_of((uint32_t)i);
}

/* The bytes that a word of the vocabulary stands for; false if one of its characters stands for no byte. */
static bool to_bytes(const struct reading *r, const char *word, char *out, int32_t *length)
{
    uint32_t point = 0;
    *length = 0;
    for (int step; *word; word += step) {
        step = tt_utf8_decode(word, strlen(word), &point);
        if (point >= 512 || r->byte_of[point] < 0) return false;
        out[(*length)++] = (char)r->byte_of[point];
    }
    return true;
}

/* Sets the size. Token ids may have gaps, but the largest is limited, so that a small file cannot demand much memory.
 */
static tt_status find_size(struct reading *r)
{
    int64_t most = 2 * ((int64_t)r->vocab->count + (r->added ? r->added->count : 0)) + 256, id;
    if (most > TT_TOKENIZER_MOST) most = TT_TOKENIZER_MOST;
    for (const struct tt_json *e = r->vocab->first; e; e = e->next) {
        if (!tt_json_as_int(e, 0, most - 1, &id)) return unlike("numbers its tokens with large gaps");
        if (id >= r->b->size) r->b->size = id + 1;
    }
    for (const struct tt_json *e = r->added ? r->added->first : NULL; e; e = e->next) {
        if (!tt_json_int(e, "id", 0, most - 1, &id)) return unlike("numbers its tokens with large gaps");
        if (id >= r->b->size) r->b->size = id + 1;
    }
    r->b->bytes = calloc((size_t)r->b->size + 1, sizeof *r->b->bytes);
    r->b->length = calloc((size_t)r->b->size + 1, sizeof *r->b->length);
    r->b->sorted = calloc((size_t)r->b->size + 1, sizeof *r->b->sorted);
    r->names = calloc((size_t)r->vocab->count + 1, sizeof *r->names);
    return r->b->bytes && r->b->length && r->b->sorted && r->names ? TT_OK : tt_no_memory("the tokenizer");
}

static tt_status set_token(struct tt_hf_bpe *b, int64_t id, const char *text)
{
    b->length[id] = (int32_t)strlen(text);
    b->bytes[id] = strdup(text);
    return b->bytes[id] ? TT_OK : tt_no_memory("the tokenizer");
}

static tt_status read_vocab(struct reading *r)
{
    struct tt_hf_bpe *b = r->b;
    int64_t id = 0, n = 0;
    for (int i = 0; i < 256; i++) b->byte_token[i] = -1;
    for (const struct tt_json *e = r->vocab->first; e; e = e->next) {
        tt_json_as_int(e, 0, b->size - 1, &id);
        if (b->bytes[id]) return unlike("has two tokens with the same id");
        TT_TRY(set_token(b, id, e->key));
        r->names[n++] = (struct tt_word){e->key, (int32_t)id};
        if (!to_bytes(r, e->key, b->bytes[id], &b->length[id])) {
            memcpy(b->bytes[id], e->key, strlen(e->key) + 1);
            b->length[id] = (int32_t)strlen(e->key);
            continue;
        }
        b->sorted[b->sorted_count++] = (int32_t)id;
        if (b->length[id] == 1) b->byte_token[(unsigned char)b->bytes[id][0]] = (int32_t)id;
    }
    tt_words_sort(r->names, n);
    for (int64_t i = 1; i < n; i++)
        if (!strcmp(r->names[i].word, r->names[i - 1].word)) return unlike("has the same token twice");
    return TT_OK;
}

struct spelled {
    const char *bytes;
    int32_t length, token;
};

static int by_bytes(const void *a, const void *b)
{
    const struct spelled *x = a, *y = b;
    return tt_hf_bpe_compare(x->bytes, x->length, y->bytes, y->length);
}

static tt_status sort_tokens(struct tt_hf_bpe *b)
{
    struct spelled *list = calloc((size_t)b->sorted_count + 1, sizeof *list);
    if (!list) return tt_no_memory("the tokenizer");
    for (int64_t i = 0; i < b->sorted_count; i++)
        list[i] = (struct spelled){b->bytes[b->sorted[i]], b->length[b->sorted[i]], b->sorted[i]};
    qsort(list, (size_t)b->sorted_count, sizeof *list, by_bytes);
    for (int64_t i = 0; i < b->sorted_count; i++) b->sorted[i] = list[i].token;
    free(list);
    return TT_OK;
}

/* ---- merges ---- */

static int32_t token_of(const struct reading *r, const char *word)
{
    return tt_words_find(r->names, r->vocab->count, word);
}

bool tt_hf_merge_halves(const struct tt_json *e, struct tt_text *left, const char **right)
{
    if (e->type == TT_JSON_STRING && (*right = strchr(e->string, ' '))) {
        tt_text_add(left, e->string, (size_t)((*right)++ - e->string));
        return true;
    }
    bool two = e->type == TT_JSON_ARRAY && e->count == 2 && e->first->type == TT_JSON_STRING &&
               e->first->next->type == TT_JSON_STRING;
    if (!two) return false;
    tt_text_puts(left, e->first->string);
    *right = e->first->next->string;
    return true;
}

static tt_status read_merge(struct reading *r, const struct tt_json *e, int32_t rank)
{
    struct tt_text word = {0};
    const char *right;
    tt_status st = TT_OK;
    struct tt_hf_merge m = {-1, -1, -1, rank};
    if (tt_hf_merge_halves(e, &word, &right)) {
        m.left = token_of(r, word.s ? word.s : "");
        m.right = token_of(r, right);
        tt_text_puts(&word, right);
        m.token = token_of(r, word.s ? word.s : "");
    }
    struct tt_hf_merge *slot = tt_hf_bpe_slot(r->b, m.left, m.right);
    if (m.left < 0 || m.right < 0 || m.token < 0)
        st = unlike("has a merge of tokens that are not in its vocabulary");
    else if (slot->token >= 0)
        st = unlike("has the same merge twice");
    else
        *slot = m;
    if (word.failed) {
        tt_status_free(st);
        st = tt_no_memory("the tokenizer");
    }
    tt_text_free(&word);
    return st;
}

static tt_status read_merges(struct reading *r)
{
    uint64_t slots = 16;
    int32_t rank = 0;
    while (slots < 2 * (uint64_t)r->merges->count) slots *= 2;
    r->b->slots = calloc(slots, sizeof *r->b->slots);
    if (!r->b->slots) return tt_no_memory("the tokenizer");
    r->b->mask = slots - 1;
    for (uint64_t i = 0; i < slots; i++) r->b->slots[i].token = -1;
    for (const struct tt_json *e = r->merges->first; e; e = e->next) TT_TRY(read_merge(r, e, rank++));
    return TT_OK;
}

/* ---- added tokens ---- */

static tt_status read_added(struct reading *r, const struct tt_json *e)
{
    struct tt_hf_bpe *b = r->b;
    int64_t id = 0;
    const char *content = tt_json_string(e, "content", "");
    tt_json_int(e, "id", 0, b->size - 1, &id);
    if (!content[0]) return unlike("has an empty added token");
    if (is_true(e, "single_word") || is_true(e, "lstrip") || is_true(e, "rstrip"))
        return unlike("has added tokens with lstrip, rstrip or single_word");
    bool same =
        b->bytes[id] && (size_t)b->length[id] == strlen(content) && !memcmp(b->bytes[id], content, strlen(content));
    if (b->bytes[id] && !same) return unlike("has an added token with the id of another token");
    if (!b->bytes[id]) TT_TRY(set_token(b, id, content));
    if (b->nfc && is_true(e, "normalized") && !tt_nfc_is_plain(content, strlen(content)))
        return unlike("normalizes the names of added tokens");
    b->added[b->added_count++] = (struct tt_hf_added){(int32_t)id, is_true(e, "normalized")};
    b->begins[(unsigned char)content[0]] = true;
    return TT_OK;
}

static tt_status read_all_added(struct reading *r)
{
    r->b->added = calloc(r->added ? (size_t)r->added->count + 1 : 1, sizeof *r->b->added);
    if (!r->b->added) return tt_no_memory("the tokenizer");
    for (const struct tt_json *e = r->added ? r->added->first : NULL; e; e = e->next) TT_TRY(read_added(r, e));
    return TT_OK;
}

/* ---- all of it ---- */

static tt_status keep_source(const struct tt_json *j, struct tt_hf_bpe *b)
{
    struct tt_json_writer w = {0};
    tt_json_begin(&w, NULL, '{');
    for (const struct tt_json *e = j->first; e; e = e->next)
        if (strcmp(e->key, TT_HF_ABOUT)) tt_json_put_value(&w, e->key, e);
    tt_json_end(&w, '}');
    b->source = w.text.s;
    return tt_text_status(&w.text);
}

static tt_status read_parts(struct reading *r, const struct tt_json *j)
{
    const struct tt_json *model = tt_json_get(j, "model");
    r->vocab = tt_json_get(model, "vocab");
    r->merges = tt_json_get(model, "merges");
    r->added = tt_json_get(j, "added_tokens");
    TT_TRY(tt_hf_cut_read(tt_json_get(j, "pre_tokenizer"), &r->b->cut));
    TT_TRY(check_model(j, model));
    if (!r->vocab || r->vocab->type != TT_JSON_OBJECT || !r->merges || r->merges->type != TT_JSON_ARRAY ||
        r->merges->count > TT_TOKENIZER_MOST)
        return unlike("has no vocabulary or no merges");
    if (r->added && r->added->type != TT_JSON_ARRAY) r->added = NULL;
    r->b->whole_first = is_true(model, "ignore_merges");
    r->b->nfc = !is_nothing(j, "normalizer");
    list_characters(r);
    TT_TRY(find_size(r));
    TT_TRY(read_vocab(r));
    TT_TRY(sort_tokens(r->b));
    TT_TRY(read_merges(r));
    TT_TRY(read_all_added(r));
    TT_TRY(tt_hf_about_read(j, r->b));
    return keep_source(j, r->b);
}

tt_status tt_hf_bpe_read(const struct tt_json *j, struct tt_hf_bpe **out)
{
    struct reading r = {.b = calloc(1, sizeof *r.b)};
    if (!r.b) return tt_no_memory("the tokenizer");
    tt_status st = read_parts(&r, j);
    free(r.names);
    if (st)
        tt_hf_bpe_free(r.b);
    else
        *out = r.b;
    return st;
}
