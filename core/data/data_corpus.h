/* Shards of tokens, in files or in memory, cut into windows of S+1 tokens: which windows are for training, which for
 * validation, and in which order they come. */
#ifndef TT_DATA_CORPUS_H
#define TT_DATA_CORPUS_H

#include "core/data/data.h"
#include "core/data/token_file.h"

struct tt_shard {
    struct tt_token_file file;
    int32_t *tokens; /* NULL: read from the file */
    int64_t count;
};

/* The windows of one shard that belong to one split. Window w has the tokens w·S … w·S+S. */
struct tt_window_range {
    int shard;
    int64_t first, count;
};

struct tt_corpus {
    struct tt_shard *shards;
    int shard_count;
    size_t shard_room;
    int64_t seq_len;
    int32_t largest; /* largest token of all shards */
    uint64_t mark;   /* hash of the tokens of all shards: tt_data_mark */
    int32_t end_token; /* the token after each document, from the first file that names it; -1: none does */
    int64_t known;   /* vocabulary of the tokenizer, for messages; 0: no tokenizer */
    struct tt_range_list {
        struct tt_window_range *ranges;
        int n;
        int64_t windows; /* of all ranges */
        uint64_t key;    /* of their order */
    } splits[2];         /* by enum tt_split */
};

/* Adds a token file. Every token must be below vocab_size (0 = any). */
tt_status tt_corpus_add_file(struct tt_corpus *c, const char *path, int64_t vocab_size);
/* Adds tokens in memory; the corpus frees them, also on failure. `name` is for messages. */
tt_status tt_corpus_add_tokens(struct tt_corpus *c, const char *name, int32_t *tokens, int64_t count,
                               int64_t vocab_size);
void tt_corpus_free(struct tt_corpus *c);

/* Whether the token is in the shard. Reads a file until it finds one. */
tt_status tt_shard_contains(const struct tt_shard *s, int32_t token, bool *contains);

/* The shards from first_val on are for validation. If there are none, the last `fraction` of all windows is held out:
 * at least one window and not all of them, or nothing if the fraction is 0. `name` and `val_name` are for messages. */
struct tt_corpus_split {
    int first_val;
    double fraction;
    uint64_t seed;
    const char *name, *val_name;
};
tt_status tt_corpus_split(struct tt_corpus *c, const struct tt_corpus_split *how);

/* The sample at `position` into out[0..S], as for tt_data_sample. */
tt_status tt_corpus_sample(const struct tt_corpus *c, enum tt_split split, uint64_t position, int32_t *out);

#endif
