/* tt bench: time training steps of versions and sizes against each other, on the same tokens. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/bench_rows.h"
#include "cli/commands.h"
#include "core/base/cache.h"
#include "core/base/file.h"
#include "core/base/load.h"
#include "core/base/stats.h"
#include "core/base/writable.h"
#include "core/config/batch.h"
#include "core/config/hooks.h"
#include "core/config/presets.h"
#include "core/train/open.h"
#include "core/train/state.h"
#include "core/train/usage.h"
#include "exercises/engine/fault.h"

/* ---- options ---- */

static tt_status check_numbers(const char *text, const char *what)
{
    char item[32];
    for (const char *at = text; tt_list_next(&at, ',', item, sizeof item);) {
        char *end;
        long n = strtol(item, &end, 10);
        if (!isdigit((unsigned char)item[0]) || *end || n < 1 || n > 65536)
            return tt_fail(TT_USAGE, "\"%s\" is not a number of %s; write for example 1,2,4", item, what);
    }
    return TT_OK;
}

static tt_status check_ranks(const char *text) { return check_numbers(text, "ranks"); }
static tt_status check_rows(const char *text) { return check_numbers(text, "rows"); }

#define AT(field) TT_FIELD(TT_OF_COMMAND, struct tt_bench_options, field)
// clang-format off
static const struct tt_option rows[] = {
    {"sizes", AT(sizes), "What to time", 1 << TT_CMD_BENCH, "small", NULL, "LIST",
     .help = "presets to time", .choices = tt_preset_names, .list = ',', .required = true},
    {"versions", AT(versions), "What to time", 1 << TT_CMD_BENCH, "baseline,fused,flash", NULL, "LIST",
     .help = "versions to time", .choices = tt_version_names, .list = ',', .required = true},
    {"warmup", AT(warmup), "What to time", 1 << TT_CMD_BENCH, "3", "[0, 100000]", "N",
     .help = "warm-up steps before the clock starts"},
    {"repeats", AT(repeats), "What to time", 1 << TT_CMD_BENCH, "10", "[1, 100000]", "N", .help = "timed steps"},
    {"feed", AT(feed), "What to time", 1 << TT_CMD_BENCH, "false", NULL, NULL,
     .help = "load a batch for every step, as training does, instead of giving all steps the same tokens; --prefetch "
             "and --fault do so too"},
    {"ranks", AT(ranks), "What to time", 1 << TT_CMD_BENCH, "", NULL, "LIST",
     .help = "numbers of ranks to time on this machine, such as 1,2,4; --batch-size is the batch of each rank; \"\" = "
             "this process alone", .list = ',',
     .check = check_ranks, .here = true},
    {"generate", AT(generate), "What to time", 1 << TT_CMD_BENCH, "", NULL, "LIST",
     .help = "time text generation instead of training; the numbers say how many texts are generated at once: 1,16",
     .list = ',', .check = check_rows},
    {"prompt-tokens", AT(prompt_tokens), "What to time", 1 << TT_CMD_BENCH, "128", "[1, 1048576]", "N",
     .help = "with --generate: tokens of each prompt"},
    {"new-tokens", AT(new_tokens), "What to time", 1 << TT_CMD_BENCH, "128", "[2, 1048576]", "N",
     .help = "with --generate: new tokens of each text"},
    {"against", AT(against), "What to time", 1 << TT_CMD_BENCH, "", NULL, "SET",
     .help = "time two sets of options in turns, A, B, A, B, ...: --against '--version fused' '--version flash', or "
             "in short --against fused flash",
     .list = '\n', .flag_only = true},
    {"turns", AT(turns), "What to time", 1 << TT_CMD_BENCH, "6", "[1, 1000]", "N",
     .help = "with --against: turns of each of the two sets, of --repeats steps each"},
    {"profile-dir", AT(profile_dir), "What to time", 1 << TT_CMD_BENCH, "", NULL, "DIR",
     .help = "folder for the measurements as JSON: bench.json, or ranks.json with --ranks; \"\" = none", .here = true},
};
// clang-format on
const struct tt_rows tt_bench_rows = TT_ROWS(rows);
TT_OWN_FITS(struct tt_bench_options);

tt_status tt_bench_check(struct tt_session *s, const char *size, const char *version)
{
    struct tt_state state;
    TT_TRY(tt_engine_download(&s->engine, TT_X_STATE, 0, &state, sizeof state));
    bool may_skip = tt_scales_loss(s->model->config.precision); /* until the loss scale fits */
    if (isfinite(state.loss) && state.loss > 0 && (state.skipped == 0 || may_skip)) return TT_OK;
    return tt_fail(TT_FAILED, "%s %s: the loss became %g while timing, so the figures would be meaningless", size,
                   version, (double)state.loss);
}

/* Whether steps load their batches. What a fault makes the host do after a step needs that, and so does --prefetch. */
static bool is_fed(const struct tt_bench *b, const struct tt_config *c)
{
    return b->own->feed || tt_fault_of(c) != TT_FAULT_NONE || tt_option_given(b->o, "prefetch");
}

static tt_status start(struct tt_bench *b, struct tt_session *s, const struct tt_config *c, struct tt_data *data,
                       struct tt_run *run)
{
    if (!is_fed(b, c)) return tt_session_try(s, &b->backend, c, data, run);
    TT_TRY(tt_session_open(s, &b->backend, c, TT_USE_TRAIN | (tt_hooks_validate(c) ? TT_USE_EVAL : 0)));
    TT_TRY(tt_session_run(s, c, (struct tt_origin){0}, data, run));
    return tt_run_start(run, TT_TOKENS_FED);
}

static tt_status measure(struct tt_bench *b, struct tt_session *s, const struct tt_config *c, struct tt_bench_row *r)
{
    struct tt_device_info info;
    int n = (int)b->own->repeats;
    b->backend.ops->reset_peak(b->backend.self);
    struct tt_data *data;
    struct tt_run run = {0};
    TT_TRY(tt_open_data(c, c->vocab_size, NULL, &data));
    tt_status st = start(b, s, c, data, &run);
    struct tt_turns before = tt_turns_now();
    if (!st) st = tt_step_times_take(&b->steps, &b->backend, &run);
    struct tt_turns after = tt_turns_now();
    tt_turns_add(&b->turns, &before, &after);
    tt_run_close(&run);
    tt_data_close(data);
    TT_TRY(st);
    memcpy(r->times, b->steps.seconds, (size_t)n * sizeof *r->times);
    TT_TRY(tt_bench_check(s, r->size, r->version));
    TT_TRY(b->backend.ops->info(b->backend.self, &info));
    r->samples = (double)(c->batch_size * c->grad_accum);
    r->tokens = r->samples * (double)c->seq_len;
    r->flops = tt_model_step_flops(s->model);
    r->memory = (double)info.memory_peak;
    r->operations = s->step->count;
    r->refused_head = s->model->flash_refused ? s->model->head_dim : 0;
    r->median = tt_quantile(r->times, n, 0.5);
    r->p95 = tt_quantile(r->times, n, 0.95);
    r->fastest = tt_quantile(r->times, n, 0);
    return TT_OK;
}

tt_status tt_bench_choose(const struct tt_options *o, const char *size, const char *version, struct tt_options *out)
{
    *out = *o;
    TT_TRY(tt_options_apply_preset(out, size));
    for (int v = 0; v < TT_VERSIONS; v++)
        if (!strcmp(version, tt_version_names[v])) out->c.version = (enum tt_version)v;
    TT_TRY(tt_batch_fit(out));
    tt_fault_configure(&out->c);
    return tt_config_check(&out->c);
}

static bool has_own_shape(const struct tt_options *o)
{
    static const char *const shape[] = {"hidden-dim", "num-layers", "num-heads", "num-kv-heads", "ffn-dim",
                                        "vocab-size"};
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
        if (tt_option_given(o, shape[i])) return true;
    return false;
}

void tt_bench_label(const struct tt_options *o, const char *size, const struct tt_config *c, char out[32])
{
    if (has_own_shape(o))
        snprintf(out, 32, "%lldx%lld", (long long)c->num_layers, (long long)c->hidden_dim);
    else
        snprintf(out, 32, "%.31s", size);
}

static tt_status choose(struct tt_bench *b, const char *size, const char *version)
{
    return tt_bench_choose(b->o, size, version, &b->trial);
}

static tt_status one(struct tt_bench *b, const char *size, const char *version)
{
    struct tt_options *o = &b->trial;
    struct tt_bench_row *r = &b->rows[b->count];
    struct tt_session s = {0};
    snprintf(r->version, sizeof r->version, "%s", version);
    TT_TRY(choose(b, size, version));
    TT_TRY(tt_take_vocabulary(o));
    TT_TRY(tt_config_check(&o->c));
    tt_bench_label(b->o, size, &o->c, r->size);
    r->config = o->c;
    r->times = b->times + (size_t)b->count * (size_t)b->own->repeats;
    if (!o->c.quiet && isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[Ktiming %s %s", size, version);
    tt_status st = measure(b, &s, &o->c, r);
    if (!o->c.quiet && isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
    tt_session_close(&s);
    if (!st) b->count++;
    return st;
}

/* The roof that tt profile uses too, so that their MFUs can be compared. */
static tt_status find_ceilings(struct tt_bench *b, enum tt_ceilings_how how)
{
    char cache[1200];
    return tt_ceilings_find(&b->backend, b->o->c.precision, tt_cache_path("ceilings.json", cache, sizeof cache), how,
                            &b->ceilings);
}

static tt_status find_roofs(struct tt_bench *b)
{
    struct tt_device_info info;
    TT_TRY(b->backend.ops->info(b->backend.self, &info));
    b->roof = tt_roof_precision(b->o->c.precision, &info);
    b->datasheet = tt_roof_datasheet(b->o->c.precision, &info);
    return find_ceilings(b, TT_CEILINGS_KEPT);
}

/* A step cannot compute faster than the device can multiply. If it seems to, the roof was measured on a busy device and
 * is raised. */
static tt_status check_roof(struct tt_bench *b, const struct tt_bench_row *r)
{
    return r->flops / r->median > 1.05 * b->ceilings.flops ? find_ceilings(b, TT_CEILINGS_RAISE) : TT_OK;
}

static tt_status time_one(struct tt_bench *b, const char *size, const char *version)
{
    TT_TRY(one(b, size, version));
    TT_TRY(check_roof(b, &b->rows[b->count - 1]));
    tt_bench_print_row(b, &b->rows[b->count - 1]);
    return TT_OK;
}

static tt_status each(struct tt_bench *b, tt_status (*f)(struct tt_bench *, const char *, const char *))
{
    char size[32], version[16];
    for (const char *at = b->own->sizes; tt_list_next(&at, ',', size, sizeof size);)
        for (const char *v = b->own->versions; tt_list_next(&v, ',', version, sizeof version);)
            TT_TRY(f(b, size, version));
    return TT_OK;
}

static void note_others(struct tt_bench *b)
{
    int others = tt_usage_others(&b->backend);
    if (others > b->others) b->others = others;
}

static tt_status run_all(struct tt_bench *b)
{
    char busy[100], others[80];
    struct tt_device_info info;
    TT_TRY(b->backend.ops->info(b->backend.self, &info));
    TT_TRY(find_roofs(b));
    tt_bench_print_header(b);
    note_others(b);
    TT_TRY(each(b, time_one));
    note_others(b);
    tt_usage_others_words(b->others, others);
    if (others[0] && !b->o->c.json) printf("note    %s: while it computes, the times are too long\n", others);
    if (has_own_shape(b->o) && !b->o->c.json)
        printf("note    %s: layers x hidden, since options changed the shape of the size\n", b->rows[0].size);
    tt_was_busy_words(b->load, tt_turns_waited(&b->turns), busy);
    if (busy[0] && !b->o->c.json)
        printf("note    when this was measured, %s; --against times two of the rows in turns%s\n", busy,
               tt_fewer_threads(tt_threads_of(b->backend.ops->name, info.name)));
    return TT_OK;
}

static int list_length(const char *text)
{
    int n = 1;
    for (; *text; text++) n += *text == ',';
    return n;
}

static tt_status open_bench(struct tt_bench *b)
{
    const struct tt_config *c = &b->o->c;
    size_t rows = (size_t)(list_length(b->own->sizes) * list_length(b->own->versions));
    b->rows = calloc(rows, sizeof *b->rows);
    b->times = calloc(rows * (size_t)b->own->repeats, sizeof *b->times);
    if (!b->rows || !b->times) return tt_no_memory("%lld repeats", (long long)b->own->repeats);
    TT_TRY(tt_open_backend(c, &b->backend));
    return tt_step_times_open(&b->steps, &b->backend, (int)b->own->warmup, (int)b->own->repeats);
}

static tt_status alone(const struct tt_options *o)
{
    struct tt_bench *b = calloc(1, sizeof *b);
    if (!b) return tt_no_memory("the command");
    b->o = o;
    b->own = tt_own(o);
    b->load = tt_machine_load();
    tt_status st = each(b, choose); /* better refused now than after the first rows */
    if (!st) st = open_bench(b);
    if (!st) st = run_all(b);
    if (!st) st = tt_bench_write_json(b);
    if (b->backend.ops) tt_step_times_close(&b->steps, &b->backend);
    if (b->backend.ops) tt_backend_close(&b->backend);
    free(b->rows);
    free(b->times);
    free(b);
    return st;
}

static tt_status check_folder(const struct tt_bench_options *own)
{
    char path[1200];
    if (!own->profile_dir[0]) return TT_OK;
    TT_TRY(tt_could_fill(own->profile_dir, "--profile-dir"));
    snprintf(path, sizeof path, "%s/%s.json", own->profile_dir, own->ranks[0] ? "ranks" : "bench");
    return tt_is_dir(own->profile_dir) ? tt_could_write(path) : TT_OK;
}

tt_status tt_cmd_bench(const struct tt_options *o)
{
    const struct tt_bench_options *own = tt_own(o);
    struct tt_place place;
    if (own->against[0] && own->ranks[0])
        return tt_fail(TT_USAGE, "--against and --ranks do not go together; leave one of them out");
    if (own->feed && own->ranks[0]) return tt_fail(TT_USAGE, "--feed and --ranks do not go together");
    if (own->generate[0] && (own->against[0] || own->ranks[0]))
        return tt_fail(TT_USAGE, "--generate goes with neither --against nor --ranks");
    TT_TRY(check_folder(own));
    if (own->generate[0]) return tt_bench_generate(o);
    if (own->against[0]) return tt_bench_against(o);
    if (!own->ranks[0]) return alone(o);
    TT_TRY(tt_place_find(&place));
    return place.ranks ? tt_bench_as_rank(o) : tt_bench_ranks(o);
}
