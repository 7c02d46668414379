/* The prompts of tt generate: where they come from, and their tokens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/generate.h"
#include "core/data/text_reader.h"
#include "core/train/open.h"

static tt_status add(struct tt_prompts *p, const char *text, size_t n)
{
    char **texts = p->texts;
    if ((size_t)p->count == p->room) {
        size_t room = p->room ? 2 * p->room : 16;
        texts = realloc(texts, room * sizeof *texts);
        if (!texts) return tt_no_memory("%zu prompts", room);
        p->texts = texts;
        p->room = room;
    }
    texts[p->count] = malloc(n + 1);
    if (!texts[p->count]) return tt_no_memory("a prompt");
    if (n) memcpy(texts[p->count], text, n);
    texts[p->count++][n] = 0;
    return TT_OK;
}

tt_status tt_prompts_add_list(struct tt_prompts *p, const char *list)
{
    for (;;) {
        size_t n = strcspn(list, (char[]){TT_PROMPT_SEPARATOR, 0});
        TT_TRY(add(p, list, n));
        if (!list[n]) return TT_OK;
        list += n + 1;
    }
}

static tt_status add_blocks(struct tt_prompts *p, struct tt_text_reader *r, struct tt_text_block *b)
{
    do {
        TT_TRY(tt_text_reader_next(r, b));
        for (int64_t i = 0; i < b->count; i++)
            TT_TRY(add(p, b->text.s ? b->text.s + b->spans[i].from : "", (size_t)b->spans[i].n));
    } while (b->count);
    return TT_OK;
}

tt_status tt_prompts_add_file(struct tt_prompts *p, const char *path)
{
    struct tt_text_reader *r = NULL;
    struct tt_text_block b = {0};
    int64_t before = p->count;
    if (!strcmp(path, "-")) path = "/dev/stdin";
    TT_TRY(tt_text_reader_open(&path, 1, &(struct tt_text_options){.prompts = true}, &r));
    tt_status st = add_blocks(p, r, &b);
    tt_text_block_free(&b);
    tt_text_reader_close(r);
    TT_TRY(st);
    return p->count > before ? TT_OK : tt_fail(TT_USAGE, "%s has no lines; write a prompt on each", path);
}

void tt_prompts_free(struct tt_prompts *p)
{
    for (int64_t i = 0; i < p->count; i++) free(p->texts[i]);
    free(p->texts);
    *p = (struct tt_prompts){0};
}

/* ---- tokens ---- */

/* Without a tokenizer the prompt is a list of token numbers. */
static tt_status parse_numbers(int64_t vocab_size, const char *text, struct tt_prompt_tokens *out)
{
    out->tokens = malloc((strlen(text) + 1) * sizeof *out->tokens);
    if (!out->tokens) return tt_no_memory("the prompt");
    for (const char *at = text; *at;) {
        char *end;
        long n = strtol(at, &end, 10);
        if (end == at || n < 0 || n >= vocab_size)
            return tt_fail(TT_USAGE,
                           "--prompt: this checkpoint has no tokenizer, so the prompt is a list of token "
                           "numbers below %lld, like \"0 1 %lld\"",
                           (long long)vocab_size, (long long)vocab_size - 1);
        out->tokens[out->count++] = (int32_t)n;
        at = end + strspn(end, " ,\t\n");
    }
    return TT_OK;
}

static tt_status add_before(struct tt_prompt_tokens *out, int32_t token)
{
    int32_t *longer = realloc(out->tokens, (size_t)(out->count + 1) * sizeof *longer);
    if (!longer) return tt_no_memory("the prompt");
    out->tokens = longer;
    memmove(longer + 1, longer, (size_t)out->count++ * sizeof *longer);
    longer[0] = token;
    out->added = 1;
    return TT_OK;
}

/* A tokenizer may know more tokens than the model. */
static tt_status check(const struct tt_prompt_tokens *p, int64_t vocab_size)
{
    for (int64_t i = 0; i < p->count; i++)
        if (p->tokens[i] >= vocab_size)
            return tt_fail(TT_USAGE, "--prompt: the tokenizer turns it into token %d, but the model has only %lld "
                           "tokens", p->tokens[i], (long long)vocab_size);
    return TT_OK;
}

tt_status tt_prompt_encode(const struct tt_tokenizer *t, int64_t vocab_size, int64_t data_end, const char *text,
                           struct tt_prompt_tokens *out)
{
    if (!text[0]) {
        TT_TRY(tt_text_start(t, vocab_size, data_end, &out->tokens, &out->count));
        out->added = out->count;
        return check(out, vocab_size);
    }
    if (!t) return parse_numbers(vocab_size, text, out);
    TT_TRY(tt_tokenizer_encode(t, text, (int64_t)strlen(text), &out->tokens, &out->count));
    /* Sequences of the built-in language begin after a full stop. A chat template may begin with the token itself. */
    int32_t first = !strcmp(tt_tokenizer_kind(t), "words") ? 0 : tt_tokenizer_begin(t);
    bool there = tt_tokenizer_begin(t) >= 0 && out->count && out->tokens[0] == first;
    if (first >= 0 && !there) TT_TRY(add_before(out, first));
    return check(out, vocab_size);
}
