/* The kinds of tokenizers: construction, encoding, decoding. */
#include "core/data/tokenizers/tokenizer.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parallel.h"
#include "core/base/utf8.h"
#include "core/data/tokenizers/hf_bpe.h"
#include "core/data/tokenizers/nfc.h"
#include "core/data/tokenizers/tokenizer_kinds.h"

static tt_status new_tokenizer(enum tt_tokenizer_kind kind, int64_t size, struct tt_tokenizer **out)
{
    if (size < 1 || size > TT_TOKENIZER_MOST)
        return tt_fail(TT_USAGE, "a tokenizer has 1 to %d tokens, not %lld", TT_TOKENIZER_MOST, (long long)size);
    struct tt_tokenizer *t = calloc(1, sizeof *t);
    if (!t) return tt_no_memory("the tokenizer");
    t->kind = kind;
    t->size = size;
    *out = t;
    return TT_OK;
}

void tt_tokenizer_free(struct tt_tokenizer *t)
{
    if (!t) return;
    for (int64_t i = 0; t->words && i < t->size; i++) free(t->words[i]);
    free(t->words);
    free(t->sorted);
    free(t->points);
    free(t->merges);
    free(t->pairs.slots);
    tt_hf_bpe_free(t->hf);
    free(t);
}

const char *tt_tokenizer_kind(const struct tt_tokenizer *t)
{
    return (const char *[]){"bytes", "words", "chars", "bpe", "byte-level"}[t->kind];
}

int64_t tt_tokenizer_size(const struct tt_tokenizer *t) { return t->size; }

static int32_t find_point(const struct tt_tokenizer *t, uint32_t point);

int32_t tt_tokenizer_end(const struct tt_tokenizer *t)
{
    if (t->kind == TT_BYTE_LEVEL) return tt_hf_bpe_end(t->hf);
    if (t->kind == TT_CHARS) return find_point(t, 0);
    return t->kind == TT_WORDS ? -1 : 0;
}

int32_t tt_tokenizer_begin(const struct tt_tokenizer *t) { return t->kind == TT_BYTE_LEVEL ? t->hf->begin : -1; }

int tt_tokenizer_growth(const struct tt_tokenizer *t)
{
    return t->kind == TT_BYTE_LEVEL && t->hf->nfc ? TT_NFC_GROWTH : 1;
}

bool tt_tokenizer_puts_more(const struct tt_tokenizer *t) { return t->kind == TT_BYTE_LEVEL && t->hf->puts_more; }

enum tt_line_cut tt_tokenizer_line_cut(const struct tt_tokenizer *t)
{
    if (t->kind != TT_BYTE_LEVEL) return TT_CUT_AFTER_LINE;
    for (int i = 0; i < t->hf->added_count; i++) {
        int32_t token = t->hf->added[i].token;
        size_t n = (size_t)t->hf->length[token];
        if (memchr(t->hf->bytes[token], '\n', n) || memchr(t->hf->bytes[token], '\r', n)) return TT_NO_CUT;
    }
    return t->hf->cut.pattern == TT_CUT_GPT2 ? TT_CUT_IN_CRLF : TT_CUT_AFTER_LINE;
}

tt_status tt_tokenizer_bytes(struct tt_tokenizer **out) { return new_tokenizer(TT_BYTES, 256, out); }

/* ---- UTF-8 ---- */

tt_status tt_not_utf8(const char *text, int64_t at, int64_t base)
{
    return tt_fail(TT_USAGE,
                   "byte 0x%02x at offset %lld is not UTF-8; convert the text to UTF-8, or use the bytes tokenizer",
                   (unsigned char)text[at], (long long)(base + at));
}

/* ---- words ---- */
static int by_spelling(const void *a, const void *b)
{
    return strcmp(((const struct tt_word *)a)->word, ((const struct tt_word *)b)->word);
}

void tt_words_sort(struct tt_word *words, int64_t n) { qsort(words, (size_t)n, sizeof *words, by_spelling); }

int32_t tt_words_find(const struct tt_word *words, int64_t n, const char *word)
{
    const struct tt_word *found =
        bsearch(&(struct tt_word){.word = word}, words, (size_t)n, sizeof *words, by_spelling);
    return found ? found->token : -1;
}

static tt_status check_word(const char *word, int i)
{
    int64_t n = (int64_t)strlen(word);
    bool ok = n > 0;
    uint32_t point;
    for (int64_t at = 0; ok && at < n;) {
        at += tt_utf8_decode(word + at, (size_t)(n - at), &point);
        ok = tt_utf8_is_character(point) && point > ' ' && point != 0x7f;
    }
    if (ok) return TT_OK;
    return tt_fail(TT_FAILED, "word %d of the tokenizer is empty, has a space in it, or is not UTF-8", i);
}

static tt_status sort_words(struct tt_tokenizer *t)
{
    struct tt_word *names = calloc((size_t)t->size, sizeof *names);
    if (!names) return tt_no_memory("the tokenizer");
    tt_status st = TT_OK;
    for (int32_t i = 0; i < t->size; i++) names[i] = (struct tt_word){t->words[i], i};
    tt_words_sort(names, t->size);
    for (int64_t i = 0; i < t->size && !st; i++) {
        t->sorted[i] = names[i].token;
        if (i && !by_spelling(&names[i - 1], &names[i]))
            st = tt_fail(TT_FAILED, "the word \"%.60s\" is in the tokenizer twice", names[i].word);
    }
    free(names);
    return st;
}

static tt_status fill_words(struct tt_tokenizer *t, const char *const *words)
{
    t->words = calloc((size_t)t->size, sizeof *t->words);
    t->sorted = calloc((size_t)t->size, sizeof *t->sorted);
    if (!t->words || !t->sorted) return tt_no_memory("the tokenizer");
    for (int i = 0; i < t->size; i++) {
        TT_TRY(check_word(words[i], i));
        t->words[i] = strdup(words[i]);
        if (!t->words[i]) return tt_no_memory("the tokenizer");
    }
    return sort_words(t);
}

tt_status tt_tokenizer_words(const char *const *words, int n, struct tt_tokenizer **out)
{
    struct tt_tokenizer *t = NULL;
    TT_TRY(new_tokenizer(TT_WORDS, n, &t));
    tt_status st = fill_words(t, words);
    if (st)
        tt_tokenizer_free(t);
    else
        *out = t;
    return st;
}

static int32_t find_word(const struct tt_tokenizer *t, const char *word, int64_t n)
{
    for (int64_t low = 0, high = t->size; low < high;) {
        int64_t middle = (low + high) / 2;
        const char *known = t->words[t->sorted[middle]];
        int order = strncmp(known, word, (size_t)n);
        if (!order && known[n]) order = 1;
        if (!order) return t->sorted[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

static bool is_mark(const char *s, int64_t n) { return n == 1 && strchr(".?,", *s); }

static tt_status unknown_word(const char *word, int64_t n, int64_t at)
{
    char shown[41];
    int length = n < 40 ? (int)n : 40;
    for (int i = 0; i < length; i++) shown[i] = iscntrl((unsigned char)word[i]) ? '?' : word[i];
    shown[length] = 0;
    return tt_fail(TT_USAGE, "the tokenizer does not know the word \"%s\" at byte %lld; use only its words", shown,
                   (long long)at);
}

/* A word, possibly followed by punctuation (. ? ,) without a space, as decode writes it. */
static tt_status encode_word(const struct tt_tokenizer *t, const struct tt_stretch *s, int64_t at, int64_t n,
                             int32_t *tokens, int64_t *count)
{
    const char *text = s->text;
    int64_t bare = n;
    int32_t token = find_word(t, text + at, n);
    if (token < 0)
        while (bare > 0 && strchr(".?,", text[at + bare - 1])) bare--;
    if (bare && bare < n) token = find_word(t, text + at, bare);
    if (bare && token < 0) return unknown_word(text + at, n, s->at + at);
    if (bare) tokens[(*count)++] = token;
    for (int64_t i = at + bare; i < at + n; i++) {
        token = find_word(t, text + i, 1);
        if (token < 0) return unknown_word(text + i, 1, s->at + i);
        tokens[(*count)++] = token;
    }
    return TT_OK;
}

static tt_status encode_words(const struct tt_tokenizer *t, const struct tt_stretch *s, int32_t *tokens, int64_t *count)
{
    const char *text = s->text;
    for (int64_t at = 0, n = s->n; at < n;) {
        int64_t end = at;
        while (end < n && !isspace((unsigned char)text[end])) {
            if (!text[end]) return unknown_word(text + end, 1, s->at + end); /* a word ends with a 0, so it has none */
            end++;
        }
        if (end > at) TT_TRY(encode_word(t, s, at, end - at, tokens, count));
        at = end + 1;
    }
    return TT_OK;
}

static void decode_word(const char *word, struct tt_text *out)
{
    bool follows = out->n && !isspace((unsigned char)out->s[out->n - 1]);
    if (follows && !is_mark(word, (int64_t)strlen(word))) tt_text_puts(out, " ");
    tt_text_puts(out, word);
}

/* ---- characters ---- */
tt_status tt_tokenizer_from_points(const uint32_t *points, int64_t n, struct tt_tokenizer **out)
{
    struct tt_tokenizer *t = NULL;
    TT_TRY(new_tokenizer(TT_CHARS, n, &t));
    t->points = malloc((size_t)n * sizeof *points);
    if (!t->points) {
        tt_tokenizer_free(t);
        return tt_no_memory("the tokenizer");
    }
    memcpy(t->points, points, (size_t)n * sizeof *points);
    *out = t;
    return TT_OK;
}

static int32_t find_point(const struct tt_tokenizer *t, uint32_t point)
{
    int64_t low = 0, high = t->size;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (t->points[middle] < point)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->size && t->points[low] == point ? (int32_t)low : -1;
}

static tt_status encode_chars(const struct tt_tokenizer *t, const struct tt_stretch *s, int32_t *tokens, int64_t *count)
{
    uint32_t point;
    for (int64_t at = 0, step; at < s->n; at += step) {
        step = tt_utf8_decode(s->text + at, (size_t)(s->n - at), &point);
        if (!tt_utf8_is_character(point)) return tt_not_utf8(s->text, at, s->at);
        int32_t token = find_point(t, point);
        if (token < 0)
            return tt_fail(TT_USAGE, "the character U+%04X at byte %lld is not one of the %lld the tokenizer knows",
                           (unsigned)point, (long long)(s->at + at), (long long)t->size);
        tokens[(*count)++] = token;
    }
    return TT_OK;
}

/* ---- every kind ---- */
static tt_status encode(const struct tt_tokenizer *t, const struct tt_stretch *s, int32_t *tokens, int64_t *count)
{
    const char *text = s->text;
    int64_t n = s->n;
    *count = 0;
    switch (t->kind) {
    case TT_WORDS:
        return encode_words(t, s, tokens, count);
    case TT_CHARS:
        return encode_chars(t, s, tokens, count);
    case TT_BYTES:
        for (int64_t i = 0; i < n; i++) tokens[i] = (unsigned char)text[i];
        *count = n;
        return TT_OK;
    case TT_BYTE_LEVEL:
        return tt_hf_bpe_encode(t->hf, text, n, tokens, count);
    case TT_BPE:
        for (int64_t at = 0; at < n;) {
            int piece = tt_bpe_piece(text + at, n - at);
            *count += tt_bpe_encode_piece(t, text + at, piece, tokens + *count);
            at += piece;
        }
    }
    return TT_OK;
}

tt_status tt_tokenizer_encode(const struct tt_tokenizer *t, const char *text, int64_t n, int32_t **tokens,
                              int64_t *count)
{
    *count = 0;
    *tokens = malloc(((size_t)n * (size_t)tt_tokenizer_growth(t) + 1) * sizeof **tokens);
    if (!*tokens) return tt_no_memory("the tokens of %lld bytes", (long long)n);
    tt_status st = encode(t, &(struct tt_stretch){text, n, 0}, *tokens, count);
    if (st) {
        free(*tokens);
        *tokens = NULL;
        *count = 0;
        return st;
    }
    int32_t *less = realloc(*tokens, ((size_t)*count + 1) * sizeof *less);
    if (less) *tokens = less;
    return TT_OK;
}

struct encoding {
    const struct tt_tokenizer *t;
    const struct tt_stretch *stretches;
    int32_t *tokens;
    int64_t *counts;
    int64_t bad; /* the first stretch with an error so far */
    tt_status error;
    pthread_mutex_t lock;
};

static void encode_some(void *context, int64_t from, int64_t to)
{
    struct encoding *e = context;
    int64_t start = 0, growth = tt_tokenizer_growth(e->t);
    for (int64_t i = 0; i < from; i++) start += e->stretches[i].n * growth;
    for (int64_t i = from; i < to; i++) {
        tt_status st = encode(e->t, &e->stretches[i], e->tokens + start, &e->counts[i]);
        start += e->stretches[i].n * growth;
        if (!st) continue;
        pthread_mutex_lock(&e->lock);
        if (e->bad < 0 || i < e->bad) {
            tt_status later = e->error;
            e->bad = i;
            e->error = st;
            st = later;
        }
        pthread_mutex_unlock(&e->lock);
        tt_status_free(st);
        return;
    }
}

tt_status tt_tokenizer_encode_stretches(const struct tt_tokenizer *t, int threads, const struct tt_stretch *stretches,
                                        int64_t count, int32_t *tokens, int64_t *counts, int64_t *bad)
{
    struct encoding e = {.t = t, .stretches = stretches, .tokens = tokens, .counts = counts, .bad = -1};
    pthread_mutex_init(&e.lock, NULL);
    tt_parallel(threads, count, 1, encode_some, &e);
    pthread_mutex_destroy(&e.lock);
    *bad = e.bad;
    return e.error;
}

void tt_tokenizer_decode(const struct tt_tokenizer *t, const int32_t *tokens, int64_t n, struct tt_text *out)
{
    for (int64_t i = 0; i < n; i++) {
        if (tokens[i] < 0 || tokens[i] >= t->size)
            tt_utf8_put(out, 0xfffd);
        else if (t->kind == TT_BYTES)
            tt_text_add(out, &(char){(char)tokens[i]}, 1);
        else if (t->kind == TT_WORDS)
            decode_word(t->words[tokens[i]], out);
        else if (t->kind == TT_CHARS)
            tt_utf8_put(out, t->points[tokens[i]]);
        else if (t->kind == TT_BYTE_LEVEL)
            tt_text_add(out, t->hf->bytes[tokens[i]] ? t->hf->bytes[tokens[i]] : "", (size_t)t->hf->length[tokens[i]]);
        else
            tt_bpe_decode(t, tokens[i], out);
    }
}

bool tt_tokenizers_agree(const struct tt_tokenizer *a, const struct tt_tokenizer *b)
{
    struct tt_text x = {0}, y = {0};
    bool same = true;
    for (int32_t i = 0; i < a->size && i < b->size && same; i++) {
        x.n = y.n = 0;
        tt_tokenizer_decode(a, &i, 1, &x);
        tt_tokenizer_decode(b, &i, 1, &y);
        same = x.n == y.n && (!x.n || !memcmp(x.s, y.s, x.n));
    }
    tt_text_free(&x);
    tt_text_free(&y);
    return same;
}
