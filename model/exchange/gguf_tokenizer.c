/* Writes each kind of tokenizer into a GGUF file. The byte or character 0, which ends documents, is the control token
 * <|endoftext|>, which llama.cpp does not print.
 *
 * - bytes: 256 tokens and no merges.
 * - chars: its characters; those of several bytes are merged from their bytes, which need be no tokens for that.
 * - bpe: its tokens and merges, if the caller wants it. llama.cpp has no name for the way tt splits a text, and the
 *   nearest, GPT-2's, gives other tokens for some texts.
 * - byte-level: as in its tokenizer.json.
 * - words: cannot be expressed, because llama.cpp puts no spaces between tokens.
 *
 * llama.cpp takes token 11 for the end of a text unless the file names another, and stops there. So each file names one
 * that text does not contain. */
#include "model/exchange/gguf_tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/utf8.h"
#include "core/data/tokenizers/hf_about.h"
#include "core/data/tokenizers/hf_bpe.h"
#include "core/data/tokenizers/hf_pieces.h"
#include "core/data/tokenizers/hf_tokenizer.h"

const char *const tt_gguf_ends[TT_GGUF_ENDS] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                                "tokenizer.ggml.eom_token_id"};

struct listing {
    const struct tt_tokenizer *t;
    int64_t n; /* rows of the model */
    char **spelling;
    int32_t *type;
    int32_t begin, end; /* of a text; -1: none */
};

/* ---- ways to split ---- */

/* Names of llama.cpp for ways to split. Of several names for one way, the first is written. */
static const struct {
    const char *name;
    struct tt_hf_cut cut;
    bool whole_first;
} pres[] = {
    {"gpt-2", {TT_CUT_GPT2, 0, false}, false},       {"llama-bpe", {TT_CUT_LLAMA3, 3, false}, true},
    {"dbrx", {TT_CUT_LLAMA3, 3, false}, false},      {"qwen2", {TT_CUT_LLAMA3, 1, false}, false},
    {"smollm", {TT_CUT_GPT2, 0, true}, false},       {"llama3", {TT_CUT_LLAMA3, 3, false}, true},
    {"llama-v3", {TT_CUT_LLAMA3, 3, false}, true},   {"smaug-bpe", {TT_CUT_LLAMA3, 3, false}, false},
    {"starcoder", {TT_CUT_GPT2, 0, true}, false},    {"codeshell", {TT_CUT_GPT2, 0, true}, false},
    {"olmo", {TT_CUT_GPT2, 0, false}, false},        {"mpt", {TT_CUT_GPT2, 0, false}, false},
    {"stablelm2", {TT_CUT_LLAMA3, 1, false}, false}, {"deepseek-r1-qwen", {TT_CUT_LLAMA3, 1, false}, false},
};
enum { PRES = sizeof pres / sizeof *pres };

const char *tt_gguf_pre_name(const struct tt_hf_cut *cut, bool whole_first)
{
    for (int i = 0; i < PRES; i++)
        if (pres[i].cut.pattern == cut->pattern && pres[i].cut.most_digits == cut->most_digits &&
            pres[i].cut.single_digits == cut->single_digits && pres[i].whole_first == whole_first)
            return pres[i].name;
    return NULL;
}

bool tt_gguf_pre_find(const char *name, struct tt_hf_cut *cut, bool *whole_first)
{
    for (int i = 0; i < PRES; i++) {
        if (strcmp(pres[i].name, name)) continue;
        *cut = pres[i].cut;
        *whole_first = pres[i].whole_first;
        return true;
    }
    return false;
}

/* ---- tokens ---- */

static tt_status set(struct listing *l, int64_t i, struct tt_text *spelled, int32_t type)
{
    TT_TRY(tt_text_status(spelled));
    l->spelling[i] = spelled->s ? spelled->s : strdup("");
    l->type[i] = type;
    return l->spelling[i] ? TT_OK : tt_no_memory("the tokenizer");
}

static tt_status set_bytes(struct listing *l, int64_t i, const char *bytes, size_t n)
{
    struct tt_text spelled = {0};
    for (size_t k = 0; k < n; k++) tt_hf_put_byte(&spelled, (unsigned char)bytes[k]);
    return set(l, i, &spelled, TT_TOKEN_NORMAL);
}

static tt_status list_own(struct listing *l)
{
    tt_status st = TT_OK;
    int32_t special = tt_hf_special_end(l->t);
    for (int32_t i = 0; i < l->t->size && !st; i++) {
        struct tt_text bytes = {0};
        if (i == special) {
            tt_text_puts(&bytes, TT_END_OF_TEXT);
            st = set(l, i, &bytes, TT_TOKEN_CONTROL);
            continue;
        }
        tt_tokenizer_decode(l->t, &i, 1, &bytes);
        st = tt_text_status(&bytes);
        if (!st) st = set_bytes(l, i, bytes.s, bytes.n);
        tt_text_free(&bytes);
    }
    return st;
}

static tt_status set_added(struct listing *l, const struct tt_json *e)
{
    static const char *const begins[] = {"<|begin_of_text|>", "<|startoftext|>", "<s>", "<bos>"};
    const struct tt_json *special = tt_json_get(e, "special");
    const char *content = tt_json_string(e, "content", "");
    struct tt_text spelled = {0};
    int64_t id = -1;
    if (!tt_json_int(e, "id", 0, l->n - 1, &id)) return TT_OK;
    for (size_t k = 0; k < sizeof begins / sizeof *begins; k++)
        if (!strcmp(content, begins[k])) l->begin = (int32_t)id;
    free(l->spelling[id]);
    l->spelling[id] = NULL;
    tt_text_puts(&spelled, content);
    return set(l, id, &spelled, special && special->boolean ? TT_TOKEN_CONTROL : TT_TOKEN_USER);
}

static tt_status list_byte_level(struct listing *l)
{
    const struct tt_hf_bpe *b = l->t->hf;
    struct tt_json *j = NULL;
    for (int64_t i = 0; i < b->sorted_count; i++)
        TT_TRY(set_bytes(l, b->sorted[i], b->bytes[b->sorted[i]], (size_t)b->length[b->sorted[i]]));
    TT_TRY(tt_json_parse(b->source, strlen(b->source), &j));
    const struct tt_json *added = tt_json_get(j, "added_tokens");
    tt_status st = TT_OK;
    for (const struct tt_json *e = added ? added->first : NULL; e && !st; e = e->next) st = set_added(l, e);
    if (tt_hf_begin(b) >= 0) l->begin = tt_hf_begin(b);
    tt_json_free(j);
    for (int64_t i = 0; i < b->size && !st; i++)
        if (b->bytes[i] && !l->spelling[i])
            st = tt_fail(TT_UNSUPPORTED, "its token %lld stands for no bytes", (long long)i);
    return st;
}

/* Rows of the model without a token. The first becomes the end of a text, if nothing else is. */
static tt_status list_unused(struct listing *l)
{
    for (int64_t i = 0; i < l->n; i++) {
        struct tt_text spelled = {0};
        if (l->spelling[i]) continue;
        bool ends = l->end < 0 || l->end == i;
        if (ends)
            tt_text_puts(&spelled, tt_hf_special_end(l->t) < 0 ? TT_END_OF_TEXT : "<|end_of_text|>");
        else
            tt_text_printf(&spelled, "[PAD%lld]", (long long)i);
        if (ends) l->end = (int32_t)i;
        TT_TRY(set(l, i, &spelled, ends ? TT_TOKEN_CONTROL : TT_TOKEN_UNUSED));
    }
    return TT_OK;
}

/* Where no token ends a text, the byte 0 does: no text contains it. */
static tt_status find_end(struct listing *l)
{
    if (l->end < 0 && l->t->kind == TT_BYTE_LEVEL) l->end = l->t->hf->byte_token[0];
    TT_TRY(list_unused(l));
    if (l->end < 0)
        return tt_fail(TT_UNSUPPORTED,
                       "llama.cpp needs a token for the end of a text, and all %lld tokens of this model are in use; "
                       "train it with --vocab-size %lld, or with --tokenizer bytes",
                       (long long)l->n, (long long)(l->n + 1));
    if (l->begin < 0) l->begin = l->end;
    return TT_OK;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static tt_status check_spellings(const struct listing *l)
{
    char **sorted = malloc((size_t)l->n * sizeof *sorted);
    if (!sorted) return tt_no_memory("the tokenizer");
    memcpy(sorted, l->spelling, (size_t)l->n * sizeof *sorted);
    qsort(sorted, (size_t)l->n, sizeof *sorted, by_text);
    tt_status st = TT_OK;
    for (int64_t i = 1; i < l->n && !st; i++)
        if (!strcmp(sorted[i - 1], sorted[i]))
            st = tt_fail(TT_UNSUPPORTED,
                         "two of its tokens are both spelled \"%.200s\", which a GGUF file cannot express", sorted[i]);
    free(sorted);
    return st;
}

/* ---- merges ---- */

static void put_merge(struct tt_gguf_writer *w, const char *left, const char *right)
{
    struct tt_text pair = {0};
    tt_text_printf(&pair, "%s %s", left, right);
    tt_gguf_add_string(w, pair.s ? pair.s : "", pair.n);
    w->values.failed |= pair.failed;
    tt_text_free(&pair);
}

/* Puts the merges that make characters from their bytes; w NULL: only counts them. The characters are in order, and so
 * are their bytes: two with the same first bytes are neighbours. */
static int64_t merge_chars(const struct tt_tokenizer *t, struct tt_gguf_writer *w)
{
    char before[8] = "", here[8];
    int64_t merges = 0;
    for (int64_t i = 0; i < t->size; i++) {
        struct tt_text bytes = {0};
        tt_utf8_put(&bytes, t->points[i]);
        snprintf(here, sizeof here, "%s", bytes.s ? bytes.s : "");
        tt_text_free(&bytes);
        for (size_t n = 2; n <= strlen(here); n++) {
            if (!strncmp(before, here, n)) continue;
            struct tt_text left = {0}, right = {0};
            for (size_t k = 0; k + 1 < n; k++) tt_hf_put_byte(&left, (unsigned char)here[k]);
            tt_hf_put_byte(&right, (unsigned char)here[n - 1]);
            if (w) put_merge(w, left.s ? left.s : "", right.s ? right.s : "");
            tt_text_free(&left);
            tt_text_free(&right);
            merges++;
        }
        memcpy(before, here, sizeof here);
    }
    return merges;
}

static int by_rank(const void *a, const void *b)
{
    const struct tt_hf_merge *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static tt_status merge_byte_level(const struct listing *l, struct tt_gguf_writer *w)
{
    const struct tt_hf_bpe *b = l->t->hf;
    struct tt_hf_merge *all = malloc((size_t)(b->mask + 1) * sizeof *all);
    if (!all) return tt_no_memory("the tokenizer");
    int64_t n = 0;
    for (uint64_t i = 0; i <= b->mask; i++)
        if (b->slots[i].token >= 0) all[n++] = b->slots[i];
    qsort(all, (size_t)n, sizeof *all, by_rank);
    tt_gguf_begin_array(w, "tokenizer.ggml.merges", TT_GGUF_STRING, (uint64_t)n);
    for (int64_t i = 0; i < n; i++) put_merge(w, l->spelling[all[i].left], l->spelling[all[i].right]);
    free(all);
    return TT_OK;
}

static tt_status put_merges(const struct listing *l, struct tt_gguf_writer *w)
{
    const struct tt_tokenizer *t = l->t;
    if (t->kind == TT_BYTE_LEVEL) return merge_byte_level(l, w);
    int64_t n = t->kind == TT_BPE ? t->size - 256 : t->kind == TT_CHARS ? merge_chars(t, NULL) : 0;
    tt_gguf_begin_array(w, "tokenizer.ggml.merges", TT_GGUF_STRING, (uint64_t)n);
    if (t->kind == TT_CHARS) merge_chars(t, w);
    for (int64_t i = 0; t->kind == TT_BPE && i < n; i++)
        put_merge(w, l->spelling[t->merges[i].left], l->spelling[t->merges[i].right]);
    return TT_OK;
}

/* ---- all of it ---- */

static const char *pre_name(const struct tt_tokenizer *t)
{
    if (t->kind == TT_BPE) return "gpt-2";
    if (t->kind != TT_BYTE_LEVEL) return "qwen2"; /* any: tokens are single characters */
    return tt_gguf_pre_name(&t->hf->cut, t->hf->whole_first);
}

static tt_status check_kind(const struct tt_tokenizer *t, int64_t rows, bool nearest)
{
    if (t->kind == TT_WORDS)
        return tt_fail(TT_UNSUPPORTED,
                       "llama.cpp has no tokenizer of words that puts spaces between them; train on text "
                       "with --tokenizer bytes or bpe, or use --format hf");
    if (t->kind == TT_BPE && !nearest)
        return tt_fail(TT_UNSUPPORTED,
                       "llama.cpp does not split text as tt's bpe does, and would give other tokens for some texts; "
                       "accept that with --nearest-split, use --format hf, or train with --tokenizer bytes or with a "
                       "tokenizer.json");
    if (!pre_name(t))
        return tt_fail(TT_UNSUPPORTED, "llama.cpp does not know the way this tokenizer splits text; use --format hf");
    if (t->size > rows)
        return tt_fail(TT_UNSUPPORTED, "it has %lld tokens, and the model %lld", (long long)t->size, (long long)rows);
    return TT_OK;
}

static tt_status list_all(struct listing *l)
{
    TT_TRY(l->t->kind == TT_BYTE_LEVEL ? list_byte_level(l) : list_own(l));
    TT_TRY(find_end(l));
    return check_spellings(l);
}

static tt_status put_chat_template(const struct tt_hf_bpe *b, struct tt_gguf_writer *w)
{
    struct tt_text chat = {0};
    tt_status st = tt_hf_chat_template(b, &chat);
    if (!st && chat.n) tt_gguf_put_string(w, "tokenizer.chat_template", chat.s);
    tt_text_free(&chat);
    return st;
}

static tt_status put_all(const struct listing *l, struct tt_gguf_writer *w)
{
    const struct tt_tokenizer *t = l->t;
    tt_gguf_put_string(w, "tokenizer.ggml.model", "gpt2");
    tt_gguf_put_string(w, "tokenizer.ggml.pre", pre_name(t));
    if (t->kind != TT_BYTE_LEVEL) tt_gguf_put_string(w, TT_GGUF_KIND, tt_tokenizer_kind(t));
    tt_gguf_begin_array(w, "tokenizer.ggml.tokens", TT_GGUF_STRING, (uint64_t)l->n);
    for (int64_t i = 0; i < l->n; i++) tt_gguf_add_string(w, l->spelling[i], strlen(l->spelling[i]));
    tt_gguf_begin_array(w, "tokenizer.ggml.token_type", TT_GGUF_I32, (uint64_t)l->n);
    for (int64_t i = 0; i < l->n; i++) tt_gguf_add_i32(w, l->type[i]);
    TT_TRY(put_merges(l, w));
    tt_gguf_put_u32(w, "tokenizer.ggml.bos_token_id", (uint32_t)l->begin);
    tt_gguf_put_u32(w, tt_gguf_ends[0], (uint32_t)l->end);
    tt_gguf_put_bool(w, "tokenizer.ggml.add_bos_token", tt_tokenizer_begin(t) >= 0);
    tt_gguf_put_bool(w, "tokenizer.ggml.add_eos_token", false);
    if (t->kind == TT_BYTE_LEVEL) TT_TRY(put_chat_template(t->hf, w));
    return tt_text_status(&w->values);
}

tt_status tt_gguf_tokenizer_put(const struct tt_tokenizer *t, int64_t rows, int64_t end, bool nearest,
                                struct tt_gguf_writer *w)
{
    struct listing l = {.t = t, .n = rows, .begin = -1, .end = (int32_t)end};
    TT_TRY(check_kind(t, rows, nearest));
    l.spelling = calloc((size_t)rows, sizeof *l.spelling);
    l.type = calloc((size_t)rows, sizeof *l.type);
    tt_status st = l.spelling && l.type ? list_all(&l) : tt_no_memory("the tokenizer");
    if (!st) st = put_all(&l, w);
    for (int64_t i = 0; l.spelling && i < rows; i++) free(l.spelling[i]);
    free(l.spelling);
    free(l.type);
    return st;
}
