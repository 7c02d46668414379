/* A result of tt generate while it grows: its text, where it ends, and what of it is printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/generate.h"
#include "core/base/json.h"
#include "core/base/utf8.h"

tt_status tt_result_begin(struct tt_result *r, const struct tt_results *all, int64_t max_tokens)
{
    const struct tt_prompt_tokens *p = r->prompt;
    r->most = p->count + max_tokens;
    r->tokens = malloc((size_t)r->most * sizeof *r->tokens);
    if (!r->tokens) return tt_no_memory("%lld tokens", (long long)r->most);
    memcpy(r->tokens, p->tokens, (size_t)p->count * sizeof *r->tokens);
    r->count = p->count;
    if (all->tokenizer) tt_tokenizer_decode(all->tokenizer, r->tokens + p->added, p->count - p->added, &r->text);
    r->begin = r->end = r->text.n;
    return tt_text_status(&r->text);
}

/* The end token itself adds no text. */
bool tt_result_add(struct tt_result *r, const struct tt_results *all, int32_t token)
{
    r->tokens[r->count++] = token;
    if (tt_ends_text(&all->ends, token)) {
        r->finish = TT_AT_END_TOKEN;
        r->end = r->text.n;
        return false;
    }
    bool stopped = false;
    if (all->tokenizer) {
        tt_tokenizer_decode(all->tokenizer, &token, 1, &r->text);
        r->end = tt_stops_visible(&all->stops, r->text.s, r->end, r->text.n, &stopped);
    }
    if (stopped) {
        r->finish = TT_AT_STOP;
    } else if (r->count == r->most) {
        r->finish = TT_AT_LENGTH;
        r->end = r->text.n;
    }
    return r->finish == TT_GOES_ON;
}

/* A token may end in the middle of a character, which then waits for the next one. */
static void print_text(struct tt_result *r, bool last)
{
    struct tt_text out = {0};
    if (last && r->finish != TT_AT_STOP) r->end = r->text.n;
    if (r->end > r->shown) r->shown += tt_utf8_put_text(&out, r->text.s + r->shown, r->end - r->shown, !last);
    if (out.n) fwrite(out.s, 1, out.n, stdout);
    tt_text_free(&out);
}

static void print_numbers(struct tt_result *r)
{
    for (size_t i = r->shown ? r->shown : (size_t)r->prompt->count; i < (size_t)r->count; i++)
        printf("%d ", r->tokens[i]);
    r->shown = (size_t)r->count;
}

void tt_result_print(struct tt_result *r, const struct tt_results *all, bool last)
{
    if (all->tokenizer)
        print_text(r, last);
    else
        print_numbers(r);
    if (last) putchar('\n');
    fflush(stdout);
}

static const char *const finishes[] = {"", "length", "stop", "end-token", "interrupted"};

tt_status tt_result_print_json(const struct tt_result *r, const struct tt_results *all)
{
    struct tt_json_writer w = {0};
    tt_json_begin(&w, NULL, '{');
    tt_json_put_string(&w, "checkpoint", all->checkpoint);
    tt_json_put_int(&w, "prompt", r->index);
    tt_json_put_int(&w, "sample", r->sample);
    tt_json_put_uint(&w, "seed", r->seed);
    if (all->tokenizer) {
        size_t end = r->finish == TT_AT_STOP ? r->end : r->text.n;
        tt_json_put_text(&w, "text", r->text.s ? r->text.s : "", end);
        tt_json_put_text(&w, "continuation", r->text.s ? r->text.s + r->begin : "", end - r->begin);
    }
    tt_json_put_string(&w, "finish", finishes[r->finish]);
    tt_json_put_int(&w, "prompt_tokens", r->prompt->count);
    tt_json_begin(&w, "tokens", '[');
    for (int64_t i = 0; i < r->count; i++) tt_json_put_int(&w, NULL, r->tokens[i]);
    tt_json_end(&w, ']');
    tt_json_end(&w, '}');
    w.text.failed |= r->text.failed;
    return tt_json_print(&w);
}

void tt_result_free(struct tt_result *r)
{
    tt_text_free(&r->text);
    free(r->tokens);
}
