/* tt generate: continue a text with a checkpoint. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/utf8.h"
#include "model/sampling.h"

/* ---- options ---- */

#define WORD_OF(number) WORD_OF_(number)
#define WORD_OF_(number) #number

struct generate_options {
    char prompt[4096];
    double temperature, top_p;
    int64_t top_k, max_tokens;
    bool no_cache;
};

#define AT(field) TT_FIELD(TT_OF_COMMAND, struct generate_options, field)
// clang-format off
static const struct tt_option rows[] = {
    {"prompt", AT(prompt), "Generation", 1 << TT_CMD_GENERATE, "", NULL, "TEXT", .help = "the text to continue"},
    {"max-tokens", AT(max_tokens), "Generation", 1 << TT_CMD_GENERATE, "128", "[1, 1048576]", "N", .help = "tokens to generate"},
    {"temperature", AT(temperature), "Generation", 1 << TT_CMD_GENERATE, "0.8", "[0, 100]", "X",
     .help = "below 1 sharpens, above 1 flattens the probabilities; 0 takes the likeliest token"},
    {"top-k", AT(top_k), "Generation", 1 << TT_CMD_GENERATE, "0", "[0, " WORD_OF(TT_VOCAB_MOST) "]", "N",
     .help = "draw from the N likeliest tokens; 0 = from all"},
    {"top-p", AT(top_p), "Generation", 1 << TT_CMD_GENERATE, "1", "(0, 1]", "P",
     .help = "draw from the likeliest tokens that together have probability P"},
    {"cache", AT(no_cache), "Generation", 1 << TT_CMD_GENERATE, "true", NULL, NULL,
     .help = "keep keys and values between tokens; without it every token recomputes all before it", .inverted = true},
};
// clang-format on
const struct tt_rows tt_generate_rows = TT_ROWS(rows);
TT_OWN_FITS(struct generate_options);

struct generation {
    struct tt_options o;
    const struct generate_options *own;
    char *checkpoint;
    struct tt_backend backend;
    struct tt_tokenizer *tokenizer; /* NULL: tokens are printed as numbers */
    struct tt_session session;
    int32_t *prompt, *tokens;
    int64_t prompt_count;
    int64_t added; /* tokens before the prompt that the user did not write, and is not shown */
    struct tt_text text; /* of all tokens so far */
    size_t shown;        /* bytes of it that are printed */
    int64_t count;
};

static tt_status load_tokenizer(struct generation *g)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/tokenizer.json", g->checkpoint);
    return tt_is_file(path) ? tt_tokenizer_load(path, &g->tokenizer) : TT_OK;
}

/* Without a tokenizer the prompt is a list of token numbers. */
static tt_status parse_numbers(struct generation *g, const char *text)
{
    g->prompt = malloc((strlen(text) + 1) * sizeof *g->prompt);
    if (!g->prompt) return tt_no_memory("the prompt");
    for (const char *at = text; *at;) {
        char *end;
        long n = strtol(at, &end, 10);
        if (end == at || n < 0 || n >= g->o.c.vocab_size)
            return tt_fail(TT_USAGE, "--prompt: this checkpoint has no tokenizer, so the prompt is a list of token "
                           "numbers below %lld, like \"0 1 %lld\"", (long long)g->o.c.vocab_size,
                           (long long)g->o.c.vocab_size - 1);
        g->prompt[g->prompt_count++] = (int32_t)n;
        at = end + strspn(end, " ,\t\n");
    }
    return TT_OK;
}

static bool is_builtin(const struct generation *g)
{
    return g->tokenizer && !strcmp(tt_tokenizer_kind(g->tokenizer), "words");
}

/* A tokenizer may know more tokens than the model. */
static tt_status check_prompt(const struct generation *g)
{
    for (int64_t i = 0; i < g->prompt_count; i++)
        if (g->prompt[i] >= g->o.c.vocab_size)
            return tt_fail(TT_USAGE, "--prompt: the tokenizer makes token %d of it, but the model has only %lld",
                                     g->prompt[i],
                           (long long)g->o.c.vocab_size);
    return TT_OK;
}

/* An empty prompt starts where the data starts: at a sentence's end, or a line's. */
static tt_status encode_prompt(struct generation *g)
{
    const char *text = g->own->prompt;
    if (!g->tokenizer) return parse_numbers(g, text[0] ? text : "0");
    if (text[0]) {
        TT_TRY(tt_tokenizer_encode(g->tokenizer, text, (int64_t)strlen(text), &g->prompt, &g->prompt_count));
        if (!is_builtin(g)) return TT_OK;
        /* sequences of the built-in language begin after a full stop */
        int32_t *longer = realloc(g->prompt, (size_t)(g->prompt_count + 1) * sizeof *longer);
        if (!longer) return tt_no_memory("the prompt");
        g->prompt = longer;
        memmove(longer + 1, longer, (size_t)g->prompt_count++ * sizeof *longer);
        longer[0] = 0;
        g->added = 1;
        return TT_OK;
    }
    if (!is_builtin(g)) {
        tt_status st = tt_tokenizer_encode(g->tokenizer, "\n", 1, &g->prompt, &g->prompt_count);
        g->added = st ? 0 : g->prompt_count;
        if (g->added > 0) return TT_OK;
        tt_status_free(st);
    }
    free(g->prompt);
    g->prompt = calloc(1, sizeof *g->prompt);
    g->prompt_count = g->added = 1;
    return g->prompt ? TT_OK : tt_no_memory("the prompt");
}

/* A token may end in the middle of a character, which then waits for the next one. */
static void print_new(struct generation *g, bool more_follows)
{
    struct tt_text out = {0};
    if (!g->text.n) return;
    g->shown += tt_utf8_put_text(&out, g->text.s + g->shown, g->text.n - g->shown, more_follows);
    if (out.n) fwrite(out.s, 1, out.n, stdout);
    tt_text_free(&out);
}

static bool print_token(int32_t token, void *arg)
{
    struct generation *g = arg;
    int64_t from = g->count ? g->prompt_count + g->count : g->added;
    g->tokens[g->prompt_count + g->count++] = token;
    if (g->o.c.json) return true;
    if (g->tokenizer) {
        tt_tokenizer_decode(g->tokenizer, g->tokens + from, g->prompt_count + g->count - from, &g->text);
        print_new(g, true);
    } else {
        printf("%d ", token);
    }
    fflush(stdout);
    return true;
}

static tt_status print_json(const struct generation *g)
{
    struct tt_json_writer w = {0};
    struct tt_text text = {0};
    int64_t n = g->prompt_count + g->count;
    if (g->tokenizer) tt_tokenizer_decode(g->tokenizer, g->tokens + g->added, n - g->added, &text);
    tt_json_begin(&w, NULL, '{');
    tt_json_put_string(&w, "checkpoint", g->checkpoint);
    if (text.s) tt_json_put_text(&w, "text", text.s, text.n);
    tt_json_put_int(&w, "prompt_tokens", g->prompt_count);
    tt_json_begin(&w, "tokens", '[');
    for (int64_t i = 0; i < n; i++) tt_json_put_int(&w, NULL, g->tokens[i]);
    tt_json_end(&w, ']');
    tt_json_end(&w, '}');
    w.text.failed |= text.failed;
    tt_text_free(&text);
    return tt_json_print(&w);
}

static tt_status run(struct generation *g)
{
    struct tt_config *c = &g->o.c;
    struct tt_progress progress;
    TT_TRY(tt_use_checkpoint(&g->o, g->o.call.checkpoint, &g->checkpoint));
    TT_TRY(tt_config_check(c));
    TT_TRY(load_tokenizer(g));
    TT_TRY(encode_prompt(g));
    TT_TRY(check_prompt(g));
    TT_TRY(tt_open_backend(c, &g->backend));
    TT_TRY(tt_session_open(&g->session, &g->backend, c, 0));
    TT_TRY(tt_session_load(&g->session, g->checkpoint, &progress));
    g->tokens = malloc((size_t)(g->prompt_count + g->own->max_tokens) * sizeof *g->tokens);
    int32_t *out = malloc((size_t)(g->prompt_count + g->own->max_tokens) * sizeof *out);
    if (!g->tokens || !out) return tt_no_memory("%lld tokens", (long long)g->own->max_tokens);
    memcpy(g->tokens, g->prompt, (size_t)g->prompt_count * sizeof *g->tokens);
    struct tt_continuation what = {.prompt = g->prompt, .prompt_count = g->prompt_count,
                                   .max_tokens = g->own->max_tokens,
                                   .how = {g->own->temperature, g->own->top_k, g->own->top_p},
                                   .seed = (uint64_t)c->seed, .cached = !g->own->no_cache,
                                   .known = g->tokenizer ? tt_tokenizer_size(g->tokenizer) : 0,
                                   .on_token = print_token, .arg = g};
    double start = tt_seconds();
    tt_status st = tt_continue(&g->session, &what, out);
    free(out);
    TT_TRY(st);
    if (c->json) return print_json(g);
    print_new(g, false);
    putchar('\n');
    fflush(stdout); /* before what goes to the other stream */
    if (!c->quiet)
        fprintf(stderr, "%lld token%s, %.0f tokens/s\n", (long long)g->count, tt_plural(g->count),
                (double)g->count / (tt_seconds() - start));
    return TT_OK;
}

tt_status tt_cmd_generate(const struct tt_options *o)
{
    struct generation *g = calloc(1, sizeof *g);
    if (!g) return tt_no_memory("the command");
    g->o = *o;
    g->own = tt_own(&g->o);
    tt_status st = run(g);
    tt_session_close(&g->session);
    tt_tokenizer_free(g->tokenizer);
    if (g->backend.ops) tt_backend_close(&g->backend);
    tt_text_free(&g->text);
    free(g->prompt);
    free(g->tokens);
    free(g->checkpoint);
    free(g);
    return st;
}
