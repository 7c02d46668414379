/* The insides of a byte-level BPE tokenizer of another program (GPT-2, Llama 3, SmolLM): its tokens have numbers of
 * their own, and its pieces the pattern of hf_cut.h. */
#ifndef TT_HF_BPE_H
#define TT_HF_BPE_H

#include "core/data/tokenizers/hf_cut.h"
#include "core/data/tokenizers/tokenizer_kinds.h"

struct tt_hf_merge { /* (left, right) becomes token; the smallest rank first */
    int32_t left, right, token, rank;
};

struct tt_hf_added { /* a token that is found in the text before anything is cut */
    int32_t token;
    bool late; /* looked for only in what the others leave */
};

struct tt_hf_bpe {
    struct tt_hf_cut cut;
    bool whole_first;        /* a piece that is a token is that token, whatever the merges say */
    int32_t byte_token[256]; /* -1: none, as for bytes that are in no text */
    int64_t size;
    char **bytes;    /* (size) what each token stands for; NULL: there is no such token */
    int32_t *length; /* (size) */
    int32_t *sorted; /* tokens that a piece can be, in the order of their bytes */
    int64_t sorted_count;
    struct tt_hf_merge *slots; /* open addressing, a power of two of them; token < 0: free */
    uint64_t mask;
    struct tt_hf_added *added;
    int added_count;
    bool begins[256]; /* an added token begins with this byte */
    char *source;     /* the tokenizer.json itself */
};

/* Takes what tt_hf_tokenizer_read was given; TT_UNSUPPORTED, with the reason, for one that works in another way. */
tt_status tt_hf_bpe_read(const struct tt_json *j, struct tt_hf_bpe **out);
void tt_hf_bpe_free(struct tt_hf_bpe *b);

struct tt_hf_merge *tt_hf_bpe_slot(const struct tt_hf_bpe *b, int32_t left, int32_t right);
/* Orders tokens by what they stand for. */
int tt_hf_bpe_compare(const char *a, int64_t n, const char *b, int64_t m);
/* Room for n tokens; *count grows. */
tt_status tt_hf_bpe_encode(const struct tt_hf_bpe *b, const char *text, int64_t n, int32_t *tokens, int64_t *count);

#endif
