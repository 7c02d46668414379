/* Byte-pair encoding: splitting a text into pieces, encoding and decoding with merges. Training is in bpe_train.c.
 *
 * A text is split into pieces (a word with the space before it, a number, a run of punctuation, …), and merges happen
 * only within a piece. A piece has at most TT_BPE_PIECE bytes, so no text makes encoding slow. */
#include <stdlib.h>
#include <string.h>

#include "core/data/tokenizers/tokenizer_kinds.h"

/* ---- pieces ---- */
enum { SPACE, LETTER, DIGIT, MARK };

static int kind_of(char c)
{
    unsigned char u = (unsigned char)c;
    if (u == ' ' || (u >= '\t' && u <= '\r')) return SPACE;
    if (u >= '0' && u <= '9') return DIGIT;
    return (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || u >= 0x80 ? LETTER : MARK;
}

int tt_bpe_piece(const char *text, int64_t n)
{
    if (n > TT_BPE_PIECE) n = TT_BPE_PIECE;
    int end = 0;
    if (kind_of(text[0]) == SPACE) {
        while (end < n && kind_of(text[end]) == SPACE) end++;
        if (end == n || text[end - 1] != ' ') return end;
        if (end > 1) return end - 1; /* the last space belongs to the next piece */
    }
    int kind = kind_of(text[end]);
    while (end < n && kind_of(text[end]) == kind) end++;
    int whole = end;
    if (end == TT_BPE_PIECE) /* do not split a UTF-8 character, if possible */
        while (end > TT_BPE_PIECE - 4 && ((unsigned char)text[end - 1] & 0x80) && kind == LETTER) {
            unsigned char c = (unsigned char)text[--end];
            if (c >= 0xc0) return end;
        }
    return whole;
}

/* ---- the merges: (left, right) -> token ---- */
static struct tt_pair_slot *find_slot(const struct tt_pair_table *t, struct tt_merge m)
{
    uint64_t i = tt_pair_hash(m.left, m.right) & t->mask;
    while (t->slots[i].token && (t->slots[i].pair.left != m.left || t->slots[i].pair.right != m.right))
        i = (i + 1) & t->mask;
    return &t->slots[i];
}

static tt_status fill_pairs(struct tt_tokenizer *t, const struct tt_merge *merges, int64_t n)
{
    uint64_t slots = 16;
    while (slots < 2 * (uint64_t)n) slots *= 2;
    t->pairs = (struct tt_pair_table){calloc(slots, sizeof *t->pairs.slots), slots - 1};
    t->merges = malloc(((size_t)n + 1) * sizeof *t->merges);
    uint8_t *length = malloc(256 + (size_t)n); /* of every token, in bytes */
    tt_status st = t->pairs.slots && t->merges && length ? TT_OK : tt_no_memory("byte-pair encoding");
    if (!st) memset(length, 1, 256);
    for (int32_t i = 0; i < n && !st; i++) {
        struct tt_merge m = t->merges[i] = merges[i];
        bool earlier = m.left >= 0 && m.left < 256 + i && m.right >= 0 && m.right < 256 + i;
        struct tt_pair_slot *slot = earlier ? find_slot(&t->pairs, m) : NULL;
        if (!earlier)
            st = tt_fail(TT_FAILED, "merge %d joins tokens %d and %d, which must come before token %d", i, m.left,
                         m.right, 256 + i);
        else if (slot->token)
            st = tt_fail(TT_FAILED, "merge %d joins tokens %d and %d, as merge %d does", i, m.left, m.right,
                         slot->token - 256);
        else if (length[m.left] + length[m.right] > TT_BPE_PIECE)
            st = tt_fail(TT_FAILED, "merge %d makes a token of more than %d bytes", i, TT_BPE_PIECE);
        if (st) break;
        length[256 + i] = (uint8_t)(length[m.left] + length[m.right]);
        *slot = (struct tt_pair_slot){m, 256 + i};
    }
    free(length);
    return st;
}

tt_status tt_tokenizer_from_merges(const struct tt_merge *merges, int64_t n, struct tt_tokenizer **out)
{
    if (n < 0 || n > TT_TOKENIZER_MOST - 256)
        return tt_fail(TT_FAILED, "a tokenizer has at most %d tokens", TT_TOKENIZER_MOST);
    struct tt_tokenizer *t = calloc(1, sizeof *t);
    if (!t) return tt_no_memory("byte-pair encoding");
    t->kind = TT_BPE;
    t->size = 256 + n;
    tt_status st = fill_pairs(t, merges, n);
    if (st)
        tt_tokenizer_free(t);
    else
        *out = t;
    return st;
}

int tt_bpe_join(int32_t *tokens, int n, struct tt_merge pair, int32_t joined)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        bool here = i + 1 < n && tokens[i] == pair.left && tokens[i + 1] == pair.right;
        tokens[kept++] = here ? joined : tokens[i];
        i += here;
    }
    return kept;
}

/* Repeatedly applies the earliest learnt merge that fits, everywhere in the piece, until none fits. */
int tt_bpe_encode_piece(const struct tt_tokenizer *t, const char *piece, int n, int32_t *out)
{
    for (int i = 0; i < n; i++) out[i] = (unsigned char)piece[i];
    for (;;) {
        int32_t best = 0;
        struct tt_merge pair = {0};
        for (int i = 0; i + 1 < n; i++) {
            const struct tt_pair_slot *slot = find_slot(&t->pairs, (struct tt_merge){out[i], out[i + 1]});
            if (slot->token && (!best || slot->token < best)) best = slot->token, pair = slot->pair;
        }
        if (!best) return n;
        n = tt_bpe_join(out, n, pair, best);
    }
}

void tt_bpe_decode(const struct tt_tokenizer *t, int32_t token, struct tt_text *out)
{
    int32_t pending[TT_BPE_PIECE + 1]; /* each pending token is at least one byte of the result */
    int n = 0;
    pending[n++] = token;
    while (n) {
        token = pending[--n];
        if (token < 256) {
            tt_text_add(out, &(char){(char)token}, 1);
        } else {
            pending[n++] = t->merges[token - 256].right;
            pending[n++] = t->merges[token - 256].left;
        }
    }
}
