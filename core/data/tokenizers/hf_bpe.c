/* Encoding with a byte-level BPE: first find the added tokens, then split into pieces, then merge in order of rank. */
#include "core/data/tokenizers/hf_bpe.h"

#include <stdlib.h>
#include <string.h>

#include "core/data/tokenizers/heap.h"
#include "core/data/tokenizers/nfc.h"

struct symbol {            /* a token of the piece, in a linked list */
    int32_t token;         /* -1: merged into its left neighbour */
    int64_t before, after; /* -1: none */
};

struct encoder {
    const struct tt_hf_bpe *b;
    struct symbol *symbols;
    struct tt_heap candidates; /* merges that may be possible: by rank, then by place of the left symbol */
    int64_t room;              /* capacity in symbols */
    bool failed;               /* there was no memory for a candidate */
    int32_t *tokens;
    int64_t *count;
};

/* ---- merges ---- */

struct tt_hf_merge *tt_hf_bpe_slot(const struct tt_hf_bpe *b, int32_t left, int32_t right)
{
    uint64_t i = tt_pair_hash(left, right) & b->mask;
    while (b->slots[i].token >= 0 && (b->slots[i].left != left || b->slots[i].right != right)) i = (i + 1) & b->mask;
    return &b->slots[i];
}

static const struct tt_hf_merge *merge_at(const struct encoder *e, int64_t at)
{
    const struct symbol *s = at >= 0 ? &e->symbols[at] : NULL;
    if (!s || s->token < 0 || s->after < 0) return NULL;
    const struct tt_hf_merge *m = tt_hf_bpe_slot(e->b, s->token, e->symbols[s->after].token);
    return m->token >= 0 ? m : NULL;
}

static void push_candidate(struct encoder *e, int64_t at)
{
    const struct tt_hf_merge *m = merge_at(e, at);
    if (m && !tt_heap_push(&e->candidates, (struct tt_heap_item){m->rank, (uint64_t)at})) e->failed = true;
}

/* A candidate is stale when one of its symbols has been merged since it was pushed. */
static void merge_all(struct encoder *e)
{
    while (e->candidates.count) {
        struct tt_heap_item c = tt_heap_pop(&e->candidates);
        int64_t at = (int64_t)c.tie;
        const struct tt_hf_merge *m = merge_at(e, at);
        if (!m || m->rank != c.order) continue;
        struct symbol *left = &e->symbols[at], *right = &e->symbols[left->after];
        left->token = m->token;
        right->token = -1;
        left->after = right->after;
        if (left->after >= 0) e->symbols[left->after].before = at;
        push_candidate(e, left->before);
        push_candidate(e, at);
    }
}

/* ---- pieces ---- */

int tt_hf_bpe_compare(const char *a, int64_t n, const char *b, int64_t m)
{
    int order = memcmp(a, b, (size_t)(n < m ? n : m));
    return order ? order : (n > m) - (n < m);
}

static int32_t whole(const struct tt_hf_bpe *b, const char *piece, int64_t n)
{
    int64_t low = 0, high = b->sorted_count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        int32_t token = b->sorted[middle];
        int order = tt_hf_bpe_compare(piece, n, b->bytes[token], b->length[token]);
        if (!order) return token;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

static tt_status make_room(struct encoder *e, int64_t n)
{
    if (n <= e->room) return TT_OK;
    free(e->symbols);
    e->room = n < 64 ? 64 : n;
    e->symbols = malloc((size_t)e->room * sizeof *e->symbols);
    if (e->symbols) return TT_OK;
    e->room = 0;
    return tt_no_memory("a word of %lld bytes", (long long)n);
}

static tt_status encode_piece(struct encoder *e, const char *piece, int64_t n)
{
    int32_t known = e->b->whole_first ? whole(e->b, piece, n) : -1;
    if (known >= 0) {
        e->tokens[(*e->count)++] = known;
        return TT_OK;
    }
    TT_TRY(make_room(e, n));
    for (int64_t i = 0; i < n; i++) {
        int32_t token = e->b->byte_token[(unsigned char)piece[i]];
        if (token < 0)
            return tt_fail(TT_USAGE, "the tokenizer has no token for the byte 0x%02x, which is in the text",
                           (unsigned char)piece[i]);
        e->symbols[i] = (struct symbol){token, i - 1, i + 1 < n ? i + 1 : -1};
    }
    e->candidates.count = 0;
    for (int64_t i = 0; i + 1 < n; i++) push_candidate(e, i);
    merge_all(e);
    if (e->failed) return tt_no_memory("a word of %lld bytes", (long long)n);
    for (int64_t i = 0; i >= 0; i = e->symbols[i].after) e->tokens[(*e->count)++] = e->symbols[i].token;
    return TT_OK;
}

static tt_status encode_plain(struct encoder *e, const char *text, int64_t n)
{
    for (int64_t at = 0, end; at < n; at = end) {
        end = at + tt_hf_stretch(&e->b->cut, text + at, n - at);
        for (int64_t length; at < end; at += length) {
            length = tt_hf_piece(&e->b->cut, text + at, end - at);
            TT_TRY(encode_piece(e, text + at, length));
        }
    }
    return TT_OK;
}

/* ---- added tokens ---- */

/* The longest added token at this position; -1: none. */
static int32_t added_at(const struct tt_hf_bpe *b, bool late, const char *text, int64_t n)
{
    int32_t best = -1;
    for (int i = 0; i < b->added_count; i++) {
        int32_t token = b->added[i].token, length = b->length[token];
        bool here = b->added[i].late == late && length <= n && !memcmp(b->bytes[token], text, (size_t)length);
        if (here && (best < 0 || length > b->length[best])) best = token;
    }
    return best;
}

static tt_status encode_normal(struct encoder *e, const char *text, int64_t n);

static tt_status encode_around(struct encoder *e, const char *text, int64_t n, bool late)
{
    int64_t from = 0;
    for (int64_t at = 0; at <= n; at++) {
        bool perhaps = at < n && e->b->begins[(unsigned char)text[at]];
        int32_t token = perhaps ? added_at(e->b, late, text + at, n - at) : -1;
        if (token < 0 && at < n) continue;
        if (at > from)
            TT_TRY(late ? encode_plain(e, text + from, at - from) : encode_normal(e, text + from, at - from));
        if (token < 0) break;
        e->tokens[(*e->count)++] = token;
        from = at + e->b->length[token];
        at = from - 1;
    }
    return TT_OK;
}

static tt_status encode_normal(struct encoder *e, const char *text, int64_t n)
{
    struct tt_text normal = {0};
    if (!e->b->nfc || tt_nfc_is_plain(text, (size_t)n)) return encode_around(e, text, n, true);
    tt_status st = tt_nfc(text, (size_t)n, &normal);
    if (!st) st = encode_around(e, normal.s, (int64_t)normal.n, true);
    tt_text_free(&normal);
    return st;
}

tt_status tt_hf_bpe_encode(const struct tt_hf_bpe *b, const char *text, int64_t n, int32_t *tokens, int64_t *count)
{
    struct encoder e = {.b = b, .tokens = tokens, .count = count};
    tt_status st = encode_around(&e, text, n, false);
    free(e.symbols);
    tt_heap_free(&e.candidates);
    return st;
}

void tt_hf_bpe_free(struct tt_hf_bpe *b)
{
    if (!b) return;
    for (int64_t i = 0; b->bytes && i < b->size; i++) free(b->bytes[i]);
    free(b->bytes);
    free(b->length);
    free(b->sorted);
    free(b->slots);
    free(b->added);
    free(b->source);
    free(b->about);
    free(b);
}

int32_t tt_hf_bpe_end(const struct tt_hf_bpe *b)
{
    static const char *const names[] = {"<|endoftext|>", "<|end_of_text|>", "</s>",
                                        "<eos>",         "<|im_end|>",      "<|eot_id|>"};
    if (b->eos >= 0) return b->eos;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (int i = 0; i < b->added_count; i++) {
            int32_t token = b->added[i].token;
            if (!tt_hf_bpe_compare(b->bytes[token], b->length[token], names[k], (int64_t)strlen(names[k])))
                return token;
        }
    return -1;
}
