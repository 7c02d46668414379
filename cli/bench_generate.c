/* tt bench --generate: how fast text is generated, by batch, with random weights. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench.h"
#include "core/base/rng.h"
#include "model/continue.h"

struct generate_row {
    char size[32];
    int64_t rows;
    double prompt_rate, seconds, rate; /* tokens/s of prompts; a step; tokens/s of generation */
    double bytes;                      /* that a step must read: weights, and keys and values */
};

/* All weights except an untied embedding, which is only looked up, and the caches at their average length. */
static double step_bytes(const struct tt_model *m, const struct tt_bench_options *own, int64_t rows)
{
    const struct tt_config *c = &m->config;
    double weights = (double)tt_model_param_count(m),
           positions = (double)own->prompt_tokens + (double)own->new_tokens / 2;
    if (!c->tie_embeddings) weights -= (double)(c->vocab_size * c->hidden_dim);
    double cache = (double)rows * positions * 2 * (double)(c->num_layers * c->num_kv_heads * m->head_dim);
    return (weights + cache) * (double)tt_dtype_size(tt_model_dtype(m));
}

static tt_status generate_once(const struct tt_session *s, const struct tt_bench_options *own, int64_t rows,
                               struct tt_continuation *w)
{
    struct tt_prompt *prompts = calloc((size_t)rows, sizeof *prompts);
    int32_t *tokens = malloc((size_t)(rows * own->prompt_tokens) * sizeof *tokens);
    tt_status st = prompts && tokens ? TT_OK : tt_no_memory("%lld prompts", (long long)rows);
    for (int64_t r = 0; r < rows && !st; r++) {
        int32_t *prompt = tokens + r * own->prompt_tokens;
        for (int64_t i = 0; i < own->prompt_tokens; i++)
            prompt[i] = (int32_t)(tt_random(1, (uint64_t)r, (uint64_t)i) % (uint64_t)s->model->config.vocab_size);
        prompts[r] = (struct tt_prompt){prompt, own->prompt_tokens, (uint64_t)r};
    }
    *w = (struct tt_continuation){.prompts = prompts, .rows = rows, .max_tokens = own->new_tokens, .how = {0, 0, 1, 1}};
    if (!st) st = tt_continue(&s->model->config, &s->engine, w);
    free(prompts);
    free(tokens);
    return st;
}

/* Times the second of two runs: in the first one the device and its libraries start. */
static tt_status measure(const struct tt_session *s, const struct tt_bench_options *own, struct generate_row *row)
{
    struct tt_continuation w;
    TT_TRY(generate_once(s, own, row->rows, &w));
    TT_TRY(generate_once(s, own, row->rows, &w));
    row->prompt_rate = (double)(row->rows * own->prompt_tokens) / w.prompt_seconds;
    row->seconds = w.seconds / (double)w.steps;
    row->rate = (double)row->rows / row->seconds;
    row->bytes = step_bytes(s->model, own, row->rows);
    return TT_OK;
}

static void print_row(const struct generate_row *r, double sheet)
{
    printf("%-10s %6lld %14.0f %9.3f %12.0f %9.3f %9.1f", r->size, (long long)r->rows, r->prompt_rate, r->seconds * 1e3,
           r->rate, r->bytes / 1e9, r->bytes / r->seconds / 1e9);
    if (sheet > 0) printf(" %7.1f", 100 * r->bytes / r->seconds / sheet);
    putchar('\n');
    fflush(stdout);
}

static void put_row(struct tt_json_writer *w, const struct generate_row *r)
{
    tt_json_begin(w, NULL, '{');
    tt_json_put_string(w, "size", r->size);
    tt_json_put_int(w, "rows", r->rows);
    tt_json_put_number(w, "prompt_tokens_per_s", r->prompt_rate);
    tt_json_put_number(w, "step_ms", r->seconds * 1e3);
    tt_json_put_number(w, "tokens_per_s", r->rate);
    tt_json_put_number(w, "step_bytes", r->bytes);
    tt_json_end(w, '}');
}

struct generate_bench {
    const struct tt_options *o;
    const struct tt_bench_options *own;
    struct tt_backend backend;
    struct tt_device_info info;
    struct tt_json_writer json;
};

static tt_status one_size(struct generate_bench *b, const char *size)
{
    struct tt_options *chosen = malloc(sizeof *chosen);
    struct tt_session s = {0};
    char item[32];
    if (!chosen) return tt_no_memory("the options");
    tt_status st = tt_bench_choose(b->o, size, "flash", chosen);
    if (!st) st = tt_session_open(&s, &b->backend, &chosen->c, 0);
    if (!st) st = tt_session_init_weights(&s);
    for (const char *at = b->own->generate; !st && tt_list_next(&at, ',', item, sizeof item);) {
        struct generate_row row = {.rows = strtol(item, NULL, 10)};
        tt_bench_label(b->o, size, &chosen->c, row.size);
        st = measure(&s, b->own, &row);
        if (st) break;
        put_row(&b->json, &row);
        if (!b->o->c.json) print_row(&row, b->info.peak_bandwidth);
    }
    tt_session_close(&s);
    free(chosen);
    return st;
}

static tt_status all_sizes(struct generate_bench *b)
{
    char size[32];
    TT_TRY(b->backend.ops->info(b->backend.self, &b->info));
    tt_json_begin(&b->json, NULL, '{');
    tt_json_put_string(&b->json, "device", b->info.name);
    tt_json_put_int(&b->json, "prompt_tokens", b->own->prompt_tokens);
    tt_json_put_int(&b->json, "new_tokens", b->own->new_tokens);
    tt_json_begin(&b->json, "results", '[');
    if (!b->o->c.json) {
        tt_print_device(&b->backend);
        tt_say_generated_in(b->o->c.precision, b->info.has[TT_PREC_BF16], stdout);
        printf("%-10s %6s %14s %9s %12s %9s %9s%s\n", "size", "rows", "prompt tok/s", "ms/step", "tokens/s", "GB/step",
               "GB/s", b->info.peak_bandwidth > 0 ? "  sheet%" : "");
    }
    for (const char *at = b->own->sizes; tt_list_next(&at, ',', size, sizeof size);) TT_TRY(one_size(b, size));
    tt_json_end(&b->json, ']');
    tt_json_end(&b->json, '}');
    return tt_bench_write(&b->json, b->o->c.json, b->own->profile_dir);
}

/* Options of training steps, which would change nothing here. */
static tt_status refuse_steps(const struct tt_options *o)
{
    static const char *const others[] = {"versions", "repeats", "warmup", "feed"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (tt_option_given(o, others[i]))
            return tt_fail(TT_USAGE, "--%s is for training steps; with --generate a text is generated twice, and the "
                           "second time is shown: leave it out", others[i]);
    return TT_OK;
}

tt_status tt_bench_generate(const struct tt_options *o)
{
    TT_TRY(refuse_steps(o));
    struct generate_bench b = {.o = o, .own = tt_own(o)};
    TT_TRY(tt_open_backend(&o->c, &b.backend));
    tt_status st = all_sizes(&b);
    if (st) tt_text_free(&b.json.text);
    tt_backend_close(&b.backend);
    return st;
}
