/* Training byte-pair encoding: repeatedly merge the most frequent pair of neighbouring tokens.
 *
 * It works on the distinct pieces of the text and their counts (bpe_pieces.h); their order does not matter. The count
 * of each pair and the pieces it occurs in are kept up to date, so a merge touches only the pieces it changes. A heap
 * finds the most frequent pair. */
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/data/tokenizers/bpe_pieces.h"
#include "core/data/tokenizers/heap.h"

struct pair {
    struct tt_merge key;
    int64_t count;
    int32_t *pieces; /* pieces that contain the pair, or did before a merge */
    int32_t n;
    size_t room;
};

struct trainer {
    struct tt_piece *pieces;
    int32_t piece_count;
    int32_t *tokens; /* of all pieces */
    struct pair *pairs;
    int32_t pair_count;
    size_t pair_room;
    int32_t *slots; /* hash table of the pairs: index + 1, 0 = free */
    uint64_t mask;
    struct tt_heap heap; /* the pairs, by their count when they were pushed */
};

static tt_status no_memory(void) { return tt_no_memory("training a tokenizer on so much text"); }

static tt_status lay_out_tokens(struct trainer *t, const char *bytes)
{
    int64_t total = 0;
    for (int32_t i = 0; i < t->piece_count; i++) total += t->pieces[i].n;
    t->tokens = malloc(((size_t)total + 1) * sizeof *t->tokens);
    if (!t->tokens) return no_memory();
    total = 0;
    for (int32_t i = 0; i < t->piece_count; i++) {
        struct tt_piece *p = &t->pieces[i];
        for (int k = 0; k < p->n; k++) t->tokens[total + k] = (unsigned char)bytes[p->first + k];
        p->first = total;
        p->seen_by = -1;
        total += p->n;
    }
    return TT_OK;
}

/* ---- how often each pair occurs ---- */
static uint64_t pair_slot(const struct trainer *t, struct tt_merge key)
{
    uint64_t i = tt_pair_hash(key.left, key.right) & t->mask;
    for (; t->slots[i]; i = (i + 1) & t->mask) {
        struct tt_merge known = t->pairs[t->slots[i] - 1].key;
        if (known.left == key.left && known.right == key.right) break;
    }
    return i;
}

static tt_status rehash_pairs(struct trainer *t)
{
    uint64_t slots = t->slots ? 2 * (t->mask + 1) : 1 << 16;
    free(t->slots);
    t->slots = calloc(slots, sizeof *t->slots);
    if (!t->slots) return no_memory();
    t->mask = slots - 1;
    for (int32_t i = 0; i < t->pair_count; i++) t->slots[pair_slot(t, t->pairs[i].key)] = i + 1;
    return TT_OK;
}

static tt_status find_pair(struct trainer *t, struct tt_merge key, struct pair **out)
{
    if (!t->slots || (uint64_t)t->pair_count * 2 > t->mask) TT_TRY(rehash_pairs(t));
    uint64_t slot = pair_slot(t, key);
    if (!t->slots[slot]) {
        bool fits = t->pair_count < INT32_MAX;
        if (!fits || !tt_grow(&t->pairs, sizeof *t->pairs, (size_t)t->pair_count, &t->pair_room)) return no_memory();
        t->pairs[t->pair_count] = (struct pair){.key = key};
        t->slots[slot] = ++t->pair_count;
    }
    *out = &t->pairs[t->slots[slot] - 1];
    return TT_OK;
}

/* Adds the pairs of a piece to the counts (sign +1) or subtracts them (-1). When adding, pairs that contain the token
 * `fresh` (-1: all pairs) also record the piece. */
static tt_status count_pairs(struct trainer *t, int32_t piece, int sign, int32_t fresh)
{
    const struct tt_piece *p = &t->pieces[piece];
    const int32_t *token = t->tokens + p->first;
    for (int i = 0; i + 1 < p->n; i++) {
        struct pair *pair = NULL;
        TT_TRY(find_pair(t, (struct tt_merge){token[i], token[i + 1]}, &pair));
        pair->count += sign * p->count;
        bool learns = sign > 0 && (fresh < 0 || token[i] == fresh || token[i + 1] == fresh);
        if (!learns || (pair->n && pair->pieces[pair->n - 1] == piece)) continue;
        bool fits = pair->n < INT32_MAX;
        if (!fits || !tt_grow(&pair->pieces, sizeof *pair->pieces, (size_t)pair->n, &pair->room)) return no_memory();
        pair->pieces[pair->n++] = piece;
    }
    return TT_OK;
}

/* ---- the heap: most frequent pair first; ties by token, so that training is deterministic ---- */
static tt_status push_pair(struct trainer *t, int32_t pair)
{
    const struct pair *p = &t->pairs[pair];
    uint64_t tie = (uint64_t)p->key.left << 32 | (uint32_t)p->key.right;
    return tt_heap_push(&t->heap, (struct tt_heap_item){-p->count, tie}) ? TT_OK : no_memory();
}

/* The pair of an item; all pairs that were pushed are in the table. */
static int32_t pair_of(const struct trainer *t, struct tt_heap_item item)
{
    return t->slots[pair_slot(t, (struct tt_merge){(int32_t)(item.tie >> 32), (int32_t)item.tie})] - 1;
}

/* The most frequent pair, or -1. An entry whose pair has become rarer is pushed again with the new count; other stale
 * entries are dropped. */
static tt_status most_frequent(struct trainer *t, int32_t *out)
{
    *out = -1;
    while (t->heap.count) {
        struct tt_heap_item item = tt_heap_pop(&t->heap);
        int32_t pair = pair_of(t, item);
        int64_t count = t->pairs[pair].count, then = -item.order;
        if (count == then && count > 0) {
            *out = pair;
            return TT_OK;
        }
        if (count > 0 && count < then) TT_TRY(push_pair(t, pair));
    }
    return TT_OK;
}

/* ---- merging ---- */
static tt_status merge_pair(struct trainer *t, int32_t pair, int32_t joined)
{
    struct tt_merge key = t->pairs[pair].key;
    int32_t *where = t->pairs[pair].pieces, n = t->pairs[pair].n, known = t->pair_count;
    t->pairs[pair].pieces = NULL; /* its count falls to 0 below, so it is not needed again */
    t->pairs[pair].n = 0;
    t->pairs[pair].room = 0;
    tt_status st = TT_OK;
    for (int32_t i = 0; i < n && !st; i++) {
        struct tt_piece *p = &t->pieces[where[i]];
        if (p->seen_by == joined) continue;
        p->seen_by = joined;
        st = count_pairs(t, where[i], -1, joined);
        p->n = tt_bpe_join(t->tokens + p->first, p->n, key, joined);
        if (!st) st = count_pairs(t, where[i], +1, joined);
    }
    for (int32_t i = known; i < t->pair_count && !st; i++) st = push_pair(t, i);
    free(where);
    return st;
}

static tt_status train(struct trainer *t, const char *bytes, int64_t wanted,
                       void (*progress)(int64_t, int64_t, void *), void *arg, struct tt_merge *merges, int64_t *made)
{
    TT_TRY(lay_out_tokens(t, bytes));
    for (int32_t i = 0; i < t->piece_count; i++) TT_TRY(count_pairs(t, i, +1, -1));
    for (int32_t i = 0; i < t->pair_count; i++) TT_TRY(push_pair(t, i));
    for (*made = 0; *made < wanted; ++*made) {
        int32_t pair;
        TT_TRY(most_frequent(t, &pair));
        if (pair < 0) break;
        merges[*made] = t->pairs[pair].key;
        TT_TRY(merge_pair(t, pair, (int32_t)(256 + *made)));
        if (progress) progress(*made + 1, wanted, arg);
    }
    return TT_OK;
}

tt_status tt_bpe_train(struct tt_pieces *p, int64_t wanted, void (*progress)(int64_t done, int64_t total, void *),
                       void *arg, struct tt_merge *merges, int64_t *made)
{
    struct trainer t = {.pieces = p->pieces, .piece_count = p->count};
    *made = 0;
    tt_status st = train(&t, p->bytes.s, wanted, progress, arg, merges, made);
    for (int32_t i = 0; i < t.pair_count; i++) free(t.pairs[i].pieces);
    free(t.tokens);
    free(t.pairs);
    free(t.slots);
    tt_heap_free(&t.heap);
    return st;
}
