/* Tokens on their way into token files: kept in a file without a name, so that they need not fit into memory. */
#ifndef TT_TOKEN_SPOOL_H
#define TT_TOKEN_SPOOL_H

#include <stdint.h>

#include "core/base/status.h"

struct tt_token_spool {
    int fd;
    int64_t count;
};

/* Opens a spool in the folder, or in its nearest parent that exists. */
tt_status tt_token_spool_open(const char *folder, struct tt_token_spool *s);
void tt_token_spool_close(struct tt_token_spool *s); /* {.fd = -1} is allowed */

tt_status tt_token_spool_add(void *spool, const int32_t *tokens, int64_t n); /* a tt_take_tokens */
tt_status tt_token_spool_read(const struct tt_token_spool *s, int64_t first, int64_t n, int32_t *out);

#endif
