/* tt generate: continue texts with a checkpoint. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/generate.h"
#include "core/base/file.h"
#include "core/train/open.h"
#include "core/train/stop.h"
#include "model/continue.h"

/* ---- options ---- */

#define WORD_OF(number) WORD_OF_(number)
#define WORD_OF_(number) #number

struct generate_options {
    char prompt[16384], prompts[1024], stop[4096];
    double temperature, top_p, repetition_penalty;
    int64_t top_k, max_tokens, num_samples, rows, end_token;
    bool no_cache;
};

#define AT(field) TT_FIELD(TT_OF_COMMAND, struct generate_options, field)
// clang-format off
static const struct tt_option table[] = {
    {"prompt", AT(prompt), "Generation", 1 << TT_CMD_GENERATE, "", NULL, "TEXT",
     .help = "text to continue; may be given several times; without it the model begins a text as those of its data begin",
     .list = TT_PROMPT_SEPARATOR, .blanks = true},
    {"prompts", AT(prompts), "Generation", 1 << TT_CMD_GENERATE, "", NULL, "FILE",
     .help = "file whose lines are texts to continue, also empty lines; in a .jsonl file the \"prompt\" of each line; "
             "- = standard input", .here = true},
    {"num-samples", AT(num_samples), "Generation", 1 << TT_CMD_GENERATE, "1", "[1, 65536]", "N",
     .help = "continuations of each prompt; the first is drawn with --seed, the second with --seed + 1, and so on"},
    {"rows", AT(rows), "Generation", 1 << TT_CMD_GENERATE, "16", "[1, 1024]", "N",
     .help = "continuations that are computed together; does not change the results", .here = true},
    {"max-tokens", AT(max_tokens), "Generation", 1 << TT_CMD_GENERATE, "128", "[1, 1048576]", "N",
     .help = "tokens to generate at most, for each continuation"},
    {"stop", AT(stop), "Generation", 1 << TT_CMD_GENERATE, "", NULL, "TEXT",
     .help = "text that ends a continuation and is not printed; may be given several times (a line end is $'\\n' in "
             "bash)",
     .list = TT_PROMPT_SEPARATOR, .blanks = true},
    {"end-token", AT(end_token), "Generation", 1 << TT_CMD_GENERATE, "-1", "[-2, " WORD_OF(TT_VOCAB_MOST) "]", "ID",
     .help = "token that ends a continuation; -1 = the one that ends the checkpoint's documents, else the "
             "tokenizer's, and the run's --end-tokens; -2 = none"},
    {"temperature", AT(temperature), "Generation", 1 << TT_CMD_GENERATE, "0.8", "[0, 100]", "X",
     .help = "below 1 sharpens the probabilities, above 1 flattens them; 0 takes the likeliest token"},
    {"top-k", AT(top_k), "Generation", 1 << TT_CMD_GENERATE, "0", "[0, " WORD_OF(TT_VOCAB_MOST) "]", "N",
     .help = "draw from the N likeliest tokens; 0 = from all"},
    {"top-p", AT(top_p), "Generation", 1 << TT_CMD_GENERATE, "1", "(0, 1]", "P",
     .help = "draw from the likeliest tokens that together have probability P"},
    {"repetition-penalty", AT(repetition_penalty), "Generation", 1 << TT_CMD_GENERATE, "1", "(0, 100]", "X",
     .help = "above 1 makes tokens of the prompt and of the continuation less likely to come again; 1 = off"},
    {"cache", AT(no_cache), "Generation", 1 << TT_CMD_GENERATE, "true", NULL, NULL,
     .help = "keep keys and values between tokens; without it, all earlier tokens are computed again for each new one",
     .inverted = true},
};
// clang-format on
const struct tt_rows tt_generate_rows = TT_ROWS(table);
TT_OWN_FITS(struct generate_options);

struct generation {
    struct tt_options o;
    const struct generate_options *own;
    char *checkpoint;
    struct tt_backend backend;
    struct tt_tokenizer *tokenizer; /* NULL: tokens are printed as numbers */
    struct tt_session session;
    struct tt_prompts prompts, stops;
    struct tt_prompt_tokens *encoded; /* one per prompt */
    struct tt_results all;
    struct tt_result *results; /* of the current batch */
    int64_t batch;             /* number of them */
    int64_t printed, headed;   /* results printed whole; results whose headline is printed */
    int64_t total;             /* of all batches */
    double prompt_seconds, seconds;
    int64_t prompt_tokens, tokens;
    tt_status failed;
};

static tt_status load_tokenizer(struct generation *g)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/tokenizer.json", g->checkpoint);
    return tt_is_file(path) ? tt_tokenizer_load(path, &g->tokenizer) : TT_OK;
}

/* ---- what was asked for ---- */

static tt_status read_prompts(struct generation *g)
{
    const struct generate_options *own = g->own;
    struct tt_progress of;
    char *config = NULL;
    TT_TRY(tt_checkpoint_peek(g->checkpoint, &of, &config));
    free(config);
    if (tt_option_given(&g->o, "prompt") || !own->prompts[0]) TT_TRY(tt_prompts_add_list(&g->prompts, own->prompt));
    if (own->prompts[0]) TT_TRY(tt_prompts_add_file(&g->prompts, own->prompts));
    g->encoded = calloc((size_t)g->prompts.count, sizeof *g->encoded);
    if (!g->encoded) return tt_no_memory("%lld prompts", (long long)g->prompts.count);
    for (int64_t i = 0; i < g->prompts.count; i++)
        TT_TRY(tt_prompt_encode(g->tokenizer, g->o.c.vocab_size, of.data_end, g->prompts.texts[i], &g->encoded[i]));
    g->total = g->prompts.count * own->num_samples;
    return TT_OK;
}

static tt_status read_stops(struct generation *g)
{
    if (!tt_option_given(&g->o, "stop")) return TT_OK;
    if (!g->tokenizer)
        return tt_fail(TT_USAGE, "--stop: this checkpoint has no tokenizer, so there is no text; to stop at a token, "
                                 "give its number to --end-token");
    TT_TRY(tt_prompts_add_list(&g->stops, g->own->stop));
    for (int64_t i = 0; i < g->stops.count; i++)
        if (!g->stops.texts[i][0])
            return tt_fail(TT_USAGE,
                           "--stop \"\": an empty text would end a continuation before it begins; leave it out");
    g->all.stops = (struct tt_stops){(const char *const *)g->stops.texts, (int)g->stops.count};
    return TT_OK;
}

/* ---- a batch ---- */

static bool several(const struct generation *g) { return g->total > 1; }

/* The first result that is not complete is printed as it grows, the later ones when it is their turn. */
static void print_ready(struct generation *g, int64_t *at)
{
    while (*at < g->batch) {
        struct tt_result *r = &g->results[*at];
        bool last = r->finish != TT_GOES_ON;
        if (g->o.c.json) {
            if (!last) return;
            if (!g->failed) g->failed = tt_result_print_json(r, &g->all);
        } else {
            if (several(g) && g->printed == g->headed) {
                printf("%s--- %lld of %lld ---\n", g->printed ? "\n" : "", (long long)g->printed + 1,
                       (long long)g->total);
                g->headed++;
            }
            tt_result_print(r, &g->all, last);
        }
        if (!last) return;
        g->printed++;
        ++*at;
    }
}

struct batch {
    struct generation *g;
    int64_t at; /* the result that is being printed */
};

static bool on_token(int64_t row, int32_t token, void *arg)
{
    struct batch *b = arg;
    struct generation *g = b->g;
    bool goes_on = tt_result_add(&g->results[row], &g->all, token);
    g->tokens++;
    if (tt_stop_signal() && goes_on) {
        g->results[row].finish = TT_AT_SIGNAL;
        goes_on = false;
    }
    if (row == b->at || !goes_on) print_ready(g, &b->at);
    return goes_on;
}

static tt_status begin_results(struct generation *g, int64_t from, struct tt_prompt *prompts)
{
    for (int64_t i = 0; i < g->batch; i++) {
        struct tt_result *r = &g->results[i];
        int64_t prompt = (from + i) / g->own->num_samples, sample = (from + i) % g->own->num_samples;
        *r = (struct tt_result){.prompt = &g->encoded[prompt], .index = prompt, .sample = sample,
                                .seed = (uint64_t)g->o.c.seed + (uint64_t)sample};
        TT_TRY(tt_result_begin(r, &g->all, g->own->max_tokens));
        prompts[i] = (struct tt_prompt){r->prompt->tokens, r->prompt->count, r->seed};
        g->prompt_tokens += r->prompt->count;
    }
    return TT_OK;
}

static tt_status run_batch(struct generation *g, int64_t from)
{
    const struct generate_options *own = g->own;
    struct batch batch = {g, 0};
    g->batch = g->total - from < own->rows ? g->total - from : own->rows;
    struct tt_prompt *prompts = calloc((size_t)g->batch, sizeof *prompts);
    if (!prompts) return tt_no_memory("%lld prompts", (long long)g->batch);
    struct tt_continuation what = {.prompts = prompts, .rows = g->batch, .max_tokens = own->max_tokens,
                                   .how = {own->temperature, own->top_k, own->top_p, own->repetition_penalty},
                                   .known = g->tokenizer ? tt_tokenizer_size(g->tokenizer) : 0,
                                   .uncached = own->no_cache, .on_token = on_token, .arg = &batch};
    tt_status st = begin_results(g, from, prompts);
    if (!st) st = tt_continue(&g->session.model->config, &g->session.engine, &what);
    if (!st) st = g->failed;
    for (int64_t i = 0; i < g->batch; i++) tt_result_free(&g->results[i]);
    free(prompts);
    g->prompt_seconds += what.prompt_seconds;
    g->seconds += what.seconds;
    return st;
}

static tt_status run_batches(struct generation *g)
{
    g->results = calloc((size_t)g->own->rows, sizeof *g->results);
    if (!g->results) return tt_no_memory("%lld results", (long long)g->own->rows);
    tt_stop_catch();
    tt_status st = TT_OK;
    for (int64_t from = 0; from < g->total && !st && !tt_stop_signal(); from += g->own->rows)
        st = run_batch(g, from);
    tt_stop_restore();
    return st;
}

/* The first token of each row comes with its prompt. */
static void print_speed(const struct generation *g)
{
    int64_t later = g->tokens - g->printed;
    fprintf(stderr, "%lld token%s, ", (long long)g->tokens, tt_plural(g->tokens));
    if (later > 0 && g->seconds > 0) fprintf(stderr, "%.0f tokens/s", (double)later / g->seconds);
    if (g->prompt_seconds > 0)
        fprintf(stderr, "%s%lld token%s of prompts, %.0f tokens/s", later > 0 ? "; " : "", (long long)g->prompt_tokens,
                tt_plural(g->prompt_tokens), (double)g->prompt_tokens / g->prompt_seconds);
    fputc('\n', stderr);
}

static tt_status run(struct generation *g)
{
    struct tt_config *c = &g->o.c;
    struct tt_progress progress;
    TT_TRY(tt_use_checkpoint(&g->o, g->o.call.checkpoint, &g->checkpoint));
    TT_TRY(tt_config_check(c));
    if (g->own->end_token >= c->vocab_size)
        return tt_fail(TT_USAGE, "--end-token %lld is none of the %lld tokens of the model",
                       (long long)g->own->end_token, (long long)c->vocab_size);
    TT_TRY(load_tokenizer(g));
    g->all.tokenizer = g->tokenizer;
    g->all.checkpoint = g->checkpoint;
    TT_TRY(read_prompts(g));
    g->all.ends = (struct tt_text_ends){{g->own->end_token}, g->own->end_token >= 0};
    if (g->own->end_token == -1) g->all.ends = tt_text_ends(c, g->tokenizer);
    TT_TRY(read_stops(g));
    TT_TRY(tt_open_backend(c, &g->backend));
    TT_TRY(tt_session_open(&g->session, &g->backend, c, 0));
    TT_TRY(tt_session_load(&g->session, g->checkpoint, &progress));
    TT_TRY(run_batches(g));
    if (!c->json && !c->quiet) tt_say_generated_in(c->precision, !g->session.model->no_bf16, stderr);
    if (!c->json && !c->quiet) print_speed(g);
    return tt_stop_signal() ? tt_fail(TT_INTERRUPTED, "stopped by a signal after %lld tokens", (long long)g->tokens)
                            : TT_OK;
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
    for (int64_t i = 0; g->encoded && i < g->prompts.count; i++) free(g->encoded[i].tokens);
    free(g->encoded);
    tt_prompts_free(&g->prompts);
    tt_prompts_free(&g->stops);
    free(g->results);
    free(g->checkpoint);
    free(g);
    return st;
}
