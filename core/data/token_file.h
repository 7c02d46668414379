/* A token file of llm.c, read in pieces. It is not mapped into memory: if it is truncated during a run, that must be an
 * error, not a SIGBUS. */
#ifndef TT_TOKEN_FILE_H
#define TT_TOKEN_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"

/* The token, which is stored as ~token if it is ignored as a target. */
static inline int32_t tt_token_of(int32_t stored) { return stored < 0 ? ~stored : stored; }

struct tt_token_file {
    char *path;
    int fd;        /* -1: opened for every read, to stay below the limit of open files */
    int width;     /* bytes per token: 2 or 4 */
    int64_t count; /* tokens */
    int32_t end_token; /* the token after each document; -1: the file does not say */
    bool masked;       /* one bit per token follows the tokens: 1 if it is ignored as a target */
};

/* Whether the file begins with one of the two magic numbers. An error if it cannot be read, is empty, or is named .bin
 * and begins with neither. */
tt_status tt_token_file_sniff(const char *path, bool *is_tokens);

/* Checks the header against the size of the file. */
tt_status tt_token_file_open(const char *path, bool keep_open, struct tt_token_file *out);
void tt_token_file_close(struct tt_token_file *f);

/* What a scan of all tokens finds. */
struct tt_token_census {
    int32_t largest;
    uint64_t mark; /* tt_token_mark of all tokens, starting from 0 */
};

/* A hash of the tokens and their order. `before` is the hash of the tokens before these; start with 0. */
uint64_t tt_token_mark(uint64_t before, const int32_t *tokens, int64_t n);

/* Reads every token once. If one is not below vocab_size (0 = any), returns an error that proposes a vocabulary large
 * enough for the whole file, and at least `enough`. */
tt_status tt_token_file_scan(const struct tt_token_file *f, int64_t vocab_size, int64_t enough,
                             struct tt_token_census *out);

/* Reads tokens [first, first + n), which must be in the file; ~token for one that is ignored as a target. Thread-safe.
 */
tt_status tt_token_file_read(const struct tt_token_file *f, int64_t first, int64_t n, int32_t *out);

/* The error "token 70 at index 5 of x.bin is not below the vocabulary of 64; use a --vocab-size of at least …". It
 * proposes max(enough, token + 1), or says that no model can have so many tokens. */
tt_status tt_token_too_large(int64_t token, int64_t index, const char *path, int64_t vocab_size, int64_t enough);

#endif
