#include "core/data/tokenizers/bpe_pieces.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"

struct tt_piece_slot {
    uint32_t hash;
    int32_t piece; /* index + 1; 0 = free */
};

static tt_status no_memory(void) { return tt_no_memory("training a tokenizer on so much text"); }

static uint32_t hash_bytes(const char *s, int n)
{
    uint64_t h = 0xcbf29ce484222325u, word;
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        memcpy(&word, s + i, 8);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    for (; i < n; i++) h = (h ^ (unsigned char)s[i]) * 0x100000001b3u;
    return (uint32_t)(h ^ h >> 29);
}

static struct tt_piece_slot *find_slot(const struct tt_pieces *p, uint32_t hash, const char *s, int n)
{
    uint64_t i = hash & p->mask;
    for (; p->slots[i].piece; i = (i + 1) & p->mask) {
        const struct tt_piece *known = &p->pieces[p->slots[i].piece - 1];
        if (p->slots[i].hash == hash && known->n == n && !memcmp(p->bytes.s + known->first, s, (size_t)n)) break;
    }
    return &p->slots[i];
}

static tt_status rehash(struct tt_pieces *p)
{
    uint64_t slots = p->slots ? 2 * (p->mask + 1) : 1 << 12;
    struct tt_piece_slot *larger = calloc(slots, sizeof *larger);
    if (!larger) return no_memory();
    for (uint64_t i = 0; p->slots && i <= p->mask; i++) {
        uint64_t to = p->slots[i].hash & (slots - 1);
        while (larger[to].piece) to = (to + 1) & (slots - 1);
        if (p->slots[i].piece) larger[to] = p->slots[i];
    }
    free(p->slots);
    p->slots = larger;
    p->mask = slots - 1;
    return TT_OK;
}

static tt_status add_piece(struct tt_pieces *p, const char *s, int n, int64_t count)
{
    if (!p->slots || (uint64_t)p->count * 2 > p->mask) TT_TRY(rehash(p));
    uint32_t hash = hash_bytes(s, n);
    struct tt_piece_slot *slot = find_slot(p, hash, s, n);
    if (!slot->piece) {
        bool fits = p->count < INT32_MAX; /* the index is an int32 */
        if (!fits || !tt_grow(&p->pieces, sizeof *p->pieces, (size_t)p->count, &p->room)) return no_memory();
        p->pieces[p->count] = (struct tt_piece){.first = (int64_t)p->bytes.n, .n = n};
        tt_text_add(&p->bytes, s, (size_t)n);
        if (p->bytes.failed) return no_memory();
        *slot = (struct tt_piece_slot){hash, ++p->count};
    }
    p->pieces[slot->piece - 1].count += count;
    return TT_OK;
}

tt_status tt_pieces_add(struct tt_pieces *p, const char *text, int64_t n)
{
    for (int64_t at = 0; at < n;) {
        int length = tt_bpe_piece(text + at, n - at);
        TT_TRY(add_piece(p, text + at, length, 1));
        at += length;
    }
    return TT_OK;
}

tt_status tt_pieces_merge(struct tt_pieces *p, const struct tt_pieces *more)
{
    for (int32_t i = 0; i < more->count; i++)
        TT_TRY(add_piece(p, more->bytes.s + more->pieces[i].first, more->pieces[i].n, more->pieces[i].count));
    return TT_OK;
}

void tt_pieces_free(struct tt_pieces *p)
{
    free(p->pieces);
    free(p->slots);
    tt_text_free(&p->bytes);
    *p = (struct tt_pieces){0};
}
