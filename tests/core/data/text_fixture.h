/* Text files for a test, and what the reader returns for them. */
#ifndef TT_TEXT_FIXTURE_H
#define TT_TEXT_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "core/data/text_tokens.h"
#include "tests/core/data/data_fixture.h"

static inline const char *write_text(const char *name, const char *text)
{
    return write_bytes(name, text, strlen(text));
}

/* Appends tokens as text. For a byte tokenizer, the end token is a zero. */
static inline tt_status take_bytes(void *to, const int32_t *tokens, int64_t n)
{
    for (int64_t i = 0; i < n; i++) tt_text_add(to, &(char){(char)tokens[i]}, 1);
    return TT_OK;
}

static inline tt_status read_as_bytes(struct tt_text_work *w, struct tt_text *out)
{
    struct tt_tokenizer *t = NULL;
    CHECK_OK(tt_tokenizer_bytes(&t));
    out->n = 0;
    tt_status st = tt_text_tokens(w, t, take_bytes, out);
    tt_tokenizer_free(t);
    return st;
}

/* Checks that the documents of the file are these bytes, with a zero after each. */
static inline void reads(const char *path, const char *wanted, size_t n)
{
    struct tt_text got = {0};
    struct tt_text_work w = {.paths = &path, .count = 1};
    CHECK_OK(read_as_bytes(&w, &got));
    CHECK(got.n == n && !memcmp(got.s ? got.s : "", wanted, n), "%s: %zu bytes: %.*s", path, got.n,
          (int)(got.n < 100 ? got.n : 100), got.s);
    tt_text_free(&got);
}
#define READS(path, wanted) reads(path, wanted, sizeof wanted - 1)

static inline void refuses(const char *path, const char *words)
{
    struct tt_text got = {0};
    struct tt_text_work w = {.paths = &path, .count = 1};
    CHECK_FAILS(read_as_bytes(&w, &got), words);
    tt_text_free(&got);
}

/* ---- tokens as numbers ---- */

struct list {
    int32_t *tokens;
    int64_t n;
};

static inline tt_status take_list(void *to, const int32_t *tokens, int64_t n)
{
    struct list *l = to;
    l->tokens = realloc(l->tokens, (size_t)(l->n + n + 1) * sizeof *tokens);
    memcpy(l->tokens + l->n, tokens, (size_t)n * sizeof *tokens);
    l->n += n;
    return TT_OK;
}

#endif
