/* A byte-level BPE tokenizer of another program (GPT-2, Llama 3, SmolLM). It has its own token ids and splits text by
 * one of the patterns of hf_cut.h. */
#ifndef TT_HF_BPE_H
#define TT_HF_BPE_H

#include "core/data/tokenizers/hf_cut.h"
#include "core/data/tokenizers/tokenizer_kinds.h"

struct tt_hf_merge { /* (left, right) becomes token; the smallest rank is merged first */
    int32_t left, right, token, rank;
};

struct tt_hf_added { /* a token that is matched in the text before it is split */
    int32_t token;
    bool late; /* matched only in the text between the other added tokens */
};

struct tt_hf_bpe {
    struct tt_hf_cut cut;
    bool nfc;                /* a text is normalized first (nfc.h) */
    bool whole_first;        /* ignore_merges: a piece that is in the vocabulary is one token */
    int32_t byte_token[256]; /* -1: no token for this byte */
    int64_t size;
    char **bytes;    /* (size) the bytes of each token; NULL: no such token */
    int32_t *length; /* (size) */
    int32_t *sorted; /* tokens of the vocabulary whose names stand for bytes, sorted by these bytes */
    int64_t sorted_count;
    struct tt_hf_merge *slots; /* open addressing, a power of two of them; token < 0: free */
    uint64_t mask;
    struct tt_hf_added *added;
    int added_count;
    bool begins[256]; /* an added token begins with this byte */
    char *source;     /* the tokenizer.json itself */
    /* hf_about.h */
    char *about;            /* tokenizer_config.json; NULL: none */
    int32_t begin;          /* the token that is put before a text; -1: none */
    int32_t bos, eos, pad;  /* those that tokenizer_config.json names; -1: none */
    bool puts_more;         /* its program puts further tokens around a text; tt does not */
};

/* Reads a tokenizer.json. TT_UNSUPPORTED, with the reason, if it is not a byte-level BPE that tt can reproduce. */
tt_status tt_hf_bpe_read(const struct tt_json *j, struct tt_hf_bpe **out);
/* Splits a merge, "left right", or ["left", "right"] in newer files; false if it is neither. */
bool tt_hf_merge_halves(const struct tt_json *e, struct tt_text *left, const char **right);
void tt_hf_bpe_free(struct tt_hf_bpe *b);

/* The added token that ends a document: the eos_token, else by its name (<|endoftext|>, </s>, …); -1: none. */
int32_t tt_hf_bpe_end(const struct tt_hf_bpe *b);

/* The slot of this pair in the hash table; its token is below 0 if there is no such merge. */
struct tt_hf_merge *tt_hf_bpe_slot(const struct tt_hf_bpe *b, int32_t left, int32_t right);
/* Compares the bytes of two tokens, like memcmp. */
int tt_hf_bpe_compare(const char *a, int64_t n, const char *b, int64_t m);
/* Encodes n bytes: writes their tokens at tokens[*count] and following, and adds their number to *count. There must be
 * room for n more, or with nfc for TT_NFC_GROWTH times n. */
tt_status tt_hf_bpe_encode(const struct tt_hf_bpe *b, const char *text, int64_t n, int32_t *tokens, int64_t *count);

#endif
