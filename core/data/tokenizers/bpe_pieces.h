/* The distinct pieces of a text and how often each occurs: what byte-pair encoding is trained on. */
#ifndef TT_BPE_PIECES_H
#define TT_BPE_PIECES_H

#include "core/data/tokenizers/tokenizer_kinds.h"

struct tt_piece {
    int64_t count; /* how often it occurs */
    int64_t first; /* its bytes are bytes[first .. first+n-1]; while training, its tokens begin at `first` */
    int32_t n;
    int32_t seen_by; /* while training: the last merge that looked at it */
};

struct tt_pieces { /* {0} before the first */
    struct tt_piece *pieces;
    int32_t count;
    size_t room;
    struct tt_text bytes;
    struct tt_piece_slot *slots; /* hash table: open addressing, a power of two of slots */
    uint64_t mask;
};

/* Splits n bytes of text into pieces and counts them. */
tt_status tt_pieces_add(struct tt_pieces *p, const char *text, int64_t n);
/* Adds the counts of `more`. */
tt_status tt_pieces_merge(struct tt_pieces *p, const struct tt_pieces *more);
void tt_pieces_free(struct tt_pieces *p);

/* Learns up to `wanted` merges from the pieces, which it uses up. `merges` has room for them; *made is how many. */
tt_status tt_bpe_train(struct tt_pieces *p, int64_t wanted, void (*progress)(int64_t done, int64_t total, void *),
                       void *arg, struct tt_merge *merges, int64_t *made);

#endif
