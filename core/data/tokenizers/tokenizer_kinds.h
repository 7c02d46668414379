/* Shared by the tokenizer sources: struct tt_tokenizer, and byte-pair encoding. */
#ifndef TT_TOKENIZER_KINDS_H
#define TT_TOKENIZER_KINDS_H

#include <stdbool.h>

#include "core/data/tokenizers/tokenizer.h"

enum tt_tokenizer_kind { TT_BYTES, TT_WORDS, TT_CHARS, TT_BPE, TT_BYTE_LEVEL };
enum { TT_TOKENIZER_MOST = 1 << 20, TT_BPE_PIECE = 128 }; /* most tokens of a tokenizer; most bytes of a piece */

struct tt_merge {
    int32_t left, right; /* merge i joins them into token 256 + i */
};

/* For hash tables with the pair as the key. */
static inline uint64_t tt_pair_hash(int32_t left, int32_t right)
{
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

struct tt_pair_table { /* hash table (left, right) -> token: open addressing, a power of two of slots */
    struct tt_pair_slot {
        struct tt_merge pair;
        int32_t token; /* 0 = free */
    } * slots;
    uint64_t mask;
};

struct tt_tokenizer {
    enum tt_tokenizer_kind kind;
    int64_t size;
    char **words;            /* words: (size) */
    int32_t *sorted;         /* words: (size) their tokens in alphabetical order */
    uint32_t *points;        /* chars: (size) code points, ascending */
    struct tt_merge *merges; /* bpe: (size - 256) */
    struct tt_pair_table pairs;
    struct tt_hf_bpe *hf; /* byte-level: hf_bpe.h */
};

/* A vocabulary sorted by spelling, to find tokens in. */
struct tt_word {
    const char *word;
    int32_t token;
};
void tt_words_sort(struct tt_word *words, int64_t n);
int32_t tt_words_find(const struct tt_word *words, int64_t n, const char *word); /* -1: not found */

/* The error that the byte text[at] is not UTF-8. The text begins at byte `base` of its file. */
tt_status tt_not_utf8(const char *text, int64_t at, int64_t base);

tt_status tt_tokenizer_from_points(const uint32_t *points, int64_t n, struct tt_tokenizer **out); /* ascending */
tt_status tt_tokenizer_from_merges(const struct tt_merge *merges, int64_t n, struct tt_tokenizer **out);

/* The length of the first piece of the text. Merges never cross a piece boundary. n >= 1. */
int tt_bpe_piece(const char *text, int64_t n);
/* Writes the tokens of one piece to out, which has room for n, and returns how many. */
int tt_bpe_encode_piece(const struct tt_tokenizer *t, const char *piece, int n, int32_t *out);
/* Replaces the pair by `joined` everywhere in the tokens, from left to right; returns how many tokens are left. */
int tt_bpe_join(int32_t *tokens, int n, struct tt_merge pair, int32_t joined);
void tt_bpe_decode(const struct tt_tokenizer *t, int32_t token, struct tt_text *out);

#endif
