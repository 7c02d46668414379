/* One file of tokens as llm.c writes them, read piece by piece. Never mapped: a file that is shortened while a run
 * reads it must be an error, not a SIGBUS. */
#ifndef TT_TOKEN_FILE_H
#define TT_TOKEN_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/status.h"

struct tt_token_file {
    char *path;
    int fd;        /* -1: opened for every read, so that any number of files can be in use */
    int width;     /* bytes of a token: 2 or 4 */
    int64_t count; /* tokens */
};

/* Whether the file begins with one of the two magic numbers. An error when it cannot be read, is empty, or is called
 * .bin and begins with neither. */
tt_status tt_token_file_sniff(const char *path, bool *is_tokens);

/* Checks the header against the size of the file. */
tt_status tt_token_file_open(const char *path, bool keep_open, struct tt_token_file *out);
void tt_token_file_close(struct tt_token_file *f);

/* What reading all of the tokens shows. */
struct tt_token_census {
    int32_t largest;
    uint64_t mark; /* tt_token_mark of them all, from 0 */
};

/* A number that other tokens, or these in another order, would hardly give; goes on from that of those before. */
uint64_t tt_token_mark(uint64_t before, const int32_t *tokens, int64_t n);

/* Reads every token once. An error when one is not below vocab_size (0 = any vocabulary), which proposes one that is
 * large enough for all of the file and not below `enough`. */
tt_status tt_token_file_scan(const struct tt_token_file *f, int64_t vocab_size, int64_t enough,
                             struct tt_token_census *out);

/* Tokens [first, first + n), which the file has. Several threads may read at once. */
tt_status tt_token_file_read(const struct tt_token_file *f, int64_t first, int64_t n, int32_t *out);

/* "token 70 at index 5 of x.bin is not below the vocabulary of 64; …", with `enough` proposed where the token needs no
 * more, or that no model has room for them. */
tt_status tt_token_too_large(int64_t token, int64_t index, const char *path, int64_t vocab_size, int64_t enough);

#endif
