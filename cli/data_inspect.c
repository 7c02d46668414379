/* tt data --inspect: what is in a token file. */
#include "cli/data_inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/utf8.h"
#include "core/data/token_file.h"
#include "core/data/tokenizers/tokenizer.h"

struct inspection {
    struct tt_token_file file;
    int32_t *tokens;
    int64_t *counts;
    int32_t largest;
    int64_t distinct, ignored; /* ignored: as targets */
};

static tt_status count_tokens(struct inspection *l)
{
    enum { PIECE = 1 << 20, MOST = 1 << 24 };
    struct tt_token_census census;
    TT_TRY(tt_token_file_scan(&l->file, 0, 0, &census));
    l->largest = census.largest;
    if (l->largest >= MOST)
        return tt_fail(TT_FAILED,
                       "%s holds token %d, more than any vocabulary has; it is damaged, or not a file of uint32 tokens",
                       l->file.path, l->largest);
    l->tokens = malloc(PIECE * sizeof *l->tokens);
    l->counts = calloc((size_t)l->largest + 1, sizeof *l->counts);
    if (!l->tokens || !l->counts)
        return tt_no_memory("counting %d kinds of tokens", l->largest + 1);
    for (int64_t at = 0; at < l->file.count; at += PIECE) {
        int64_t n = l->file.count - at < PIECE ? l->file.count - at : PIECE;
        TT_TRY(tt_token_file_read(&l->file, at, n, l->tokens));
        for (int64_t i = 0; i < n; i++) {
            int32_t token = tt_token_of(l->tokens[i]);
            if (token > l->largest) return tt_fail(TT_FAILED, "%s changed while it was read", l->file.path);
            l->distinct += l->counts[token]++ == 0;
            l->ignored += l->tokens[i] < 0;
        }
    }
    return TT_OK;
}

/* The tokenizer named, or the one beside the file. */
static tt_status find_tokenizer(const struct tt_config *c, const char *file, struct tt_tokenizer **out)
{
    char path[1200];
    const char *slash = strrchr(file, '/');
    snprintf(path, sizeof path, "%.*stokenizer.json", slash ? (int)(slash - file) + 1 : 0, file);
    const char *kinds[] = {"", "bytes", "chars", "bpe"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(c->tokenizer, kinds[i])) return tt_is_file(path) ? tt_tokenizer_load(path, out) : TT_OK;
    return tt_tokenizer_load(c->tokenizer, out);
}

static void print_frequent(const struct inspection *l, const struct tt_tokenizer *t)
{
    printf("frequent    ");
    for (int k = 0; k < 8 && k < l->distinct; k++) {
        int32_t best = 0;
        for (int32_t i = 1; i <= l->largest; i++)
            if (l->counts[i] > l->counts[best]) best = i;
        struct tt_text text = {0}, quoted = {0};
        if (t) tt_tokenizer_decode(t, &best, 1, &text);
        if (text.s) tt_json_quote(&quoted, text.s, text.n);
        printf("%s%d", k ? ", " : "", best);
        if (quoted.s) printf(" %s", quoted.s);
        printf(" %.1f %%", 100 * (double)l->counts[best] / (double)l->file.count);
        l->counts[best] = 0;
        tt_text_free(&text);
        tt_text_free(&quoted);
    }
    putchar('\n');
}

static tt_status print_start(const struct inspection *l, const struct tt_tokenizer *t)
{
    int64_t n = l->file.count < 40 ? l->file.count : 40;
    struct tt_text text = {0}, shown = {0};
    TT_TRY(tt_token_file_read(&l->file, 0, n, l->tokens));
    for (int64_t i = 0; i < n; i++) l->tokens[i] = tt_token_of(l->tokens[i]);
    printf("begins      ");
    for (int64_t i = 0; i < n && !t; i++) printf("%d ", l->tokens[i]);
    if (t) tt_tokenizer_decode(t, l->tokens, n, &text);
    if (text.n) tt_utf8_put_text(&shown, text.s, text.n, l->file.count > n);
    for (size_t i = 0; i < shown.n; i++) putchar(shown.s[i] == '\n' ? ' ' : shown.s[i]);
    putchar('\n');
    tt_text_free(&text);
    tt_text_free(&shown);
    return TT_OK;
}

static tt_status print_json(const char *file, const struct inspection *l)
{
    struct tt_json_writer w = {0};
    tt_json_begin(&w, NULL, '{');
    tt_json_put_string(&w, "file", file);
    tt_json_put_int(&w, "tokens", l->file.count);
    tt_json_put_int(&w, "bytes_per_token", l->file.width);
    tt_json_put_int(&w, "largest_token", l->largest);
    tt_json_put_int(&w, "distinct_tokens", l->distinct);
    tt_json_put_int(&w, "end_token", l->file.end_token);
    tt_json_put_int(&w, "ignored_as_targets", l->ignored);
    tt_json_end(&w, '}');
    return tt_json_print(&w);
}

static tt_status look(const struct tt_config *c, const char *file, struct inspection *l,
                      struct tt_tokenizer **tokenizer)
{
    TT_TRY(tt_token_file_open(file, true, &l->file));
    TT_TRY(count_tokens(l));
    TT_TRY(find_tokenizer(c, file, tokenizer));
    if (c->json) return print_json(file, l);
    printf("file        %s\ntokens      %lld of %d bytes\nlargest     %d, so the vocabulary is at least %d; %lld "
           "different ones occur\n",
           file, (long long)l->file.count, l->file.width, l->largest, l->largest + 1, (long long)l->distinct);
    if (l->file.end_token >= 0) printf("documents   end with token %d\n", l->file.end_token);
    if (l->ignored) printf("prompts     %lld tokens have no loss\n", (long long)l->ignored);
    print_frequent(l, *tokenizer);
    return print_start(l, *tokenizer);
}

tt_status tt_data_inspect(const struct tt_config *c, const char *file)
{
    struct inspection l = {.file.fd = -1};
    struct tt_tokenizer *tokenizer = NULL;
    tt_status st = look(c, file, &l, &tokenizer);
    tt_token_file_close(&l.file);
    tt_tokenizer_free(tokenizer);
    free(l.tokens);
    free(l.counts);
    return st;
}
