/* What the files of the tokenizer share: its insides, and byte-pair encoding. */
#ifndef TT_TOKENIZER_KINDS_H
#define TT_TOKENIZER_KINDS_H

#include <stdbool.h>

#include "core/data/tokenizers/tokenizer.h"

enum tt_tokenizer_kind { TT_BYTES, TT_WORDS, TT_CHARS, TT_BPE, TT_BYTE_LEVEL };
enum { TT_TOKENIZER_MOST = 1 << 20, TT_BPE_PIECE = 128 }; /* tokens of a tokenizer; bytes of a piece, so of a token */

struct tt_merge {
    int32_t left, right; /* tokens that become one: the i-th merge makes token 256 + i */
};

struct tt_pair_table { /* (left, right) to the token they make: open addressing, a power of two of slots */
    struct tt_pair_slot {
        struct tt_merge pair;
        int32_t token; /* 0 = free */
    } * slots;
    uint64_t mask;
};

struct tt_tokenizer {
    enum tt_tokenizer_kind kind;
    int64_t size;
    char **words;            /* words: (size), and their numbers in alphabetical order */
    int32_t *sorted;         /* (size) */
    uint32_t *points;        /* chars: (size) code points, ascending */
    struct tt_merge *merges; /* bpe: (size - 256) */
    struct tt_pair_table pairs;
    struct tt_hf_bpe *hf; /* byte-level: hf_bpe.h */
};

tt_status tt_tokenizer_from_points(const uint32_t *points, int64_t n, struct tt_tokenizer **out); /* ascending */
tt_status tt_tokenizer_from_merges(const struct tt_merge *merges, int64_t n, struct tt_tokenizer **out);

/* Length of the piece that text begins with: merges never cross from one piece to the next. n >= 1. */
int tt_bpe_piece(const char *text, int64_t n);
/* The tokens of one piece into out, which has room for n; returns how many. */
int tt_bpe_encode_piece(const struct tt_tokenizer *t, const char *piece, int n, int32_t *out);
void tt_bpe_decode(const struct tt_tokenizer *t, int32_t token, struct tt_text *out);

#endif
