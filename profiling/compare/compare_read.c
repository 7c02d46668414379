/* The runs of a comparison, from the files of tt profile, tt bench and tt train. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/grow.h"
#include "core/base/json.h"
#include "core/base/yaml.h"
#include "core/checkpoint/checkpoint.h"
#include "core/config/config.h"
#include "profiling/compare/compare.h"
#include "profiling/measure/grads.h"

static const size_t largest = (size_t)1 << 28;

static tt_status new_run(struct tt_comparison *c, struct tt_compared **out)
{
    if (c->n == TT_COMPARE_LIMIT)
        return tt_fail(TT_USAGE, "more than %d runs to compare; leave some out", TT_COMPARE_LIMIT);
    *out = &c->runs[c->n++];
    const struct tt_profile_run unknown = {.load = NAN, .waited = NAN, .recorded_waited = NAN, .interrupted = NAN};
    **out = (struct tt_compared){.profile = {.run = unknown},
                                 .seconds = NAN,
                                 .tokens_per_second = NAN,
                                 .mfu_percent = NAN,
                                 .memory_bytes = NAN,
                                 .kernels = NAN,
                                 .loss = NAN,
                                 .speedup = NAN,
                                 .range = {NAN, NAN, NAN},
                                 .loss_difference = NAN,
                                 .gradient_difference = NAN};
    return TT_OK;
}

/* ---- the three kinds of run ---- */

/* The label of a run: the last two parts of its path. */
static void label_by_path(struct tt_compared *r, const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    if (n > 13 && strncmp(path + n - 13, "/profile.json", 13) == 0) n -= 13;
    const char *begin = path + n;
    for (int parts = 0; begin > path; begin--)
        if (begin[-1] == '/' && ++parts == 2) break;
    snprintf(r->label, sizeof r->label, "%.*s", (int)(path + n - begin), begin);
}

static tt_status add_profile(struct tt_comparison *c, const char *path)
{
    struct tt_compared *r;
    TT_TRY(new_run(c, &r));
    TT_TRY(tt_profile_read(path, &r->profile));
    const struct tt_profile *p = &r->profile;
    label_by_path(r, path);
    r->seconds = p->step.seconds;
    r->tokens_per_second = p->step.tokens_per_second;
    r->mfu_percent = p->efficiency.mfu_percent;
    r->memory_bytes = p->step.peak_memory_bytes;
    r->kernels = p->step.kernels > 0 ? (double)p->step.kernels : NAN;
    r->loss = p->step.loss;
    r->gradients = p->gradients_count;
    for (int i = 0; i < p->gradients_count; i++)
        r->missing_gradients +=
            p->gradients[i].nonfinite > 0 ||
            (p->gradients[i].zeros == p->gradients[i].count && !tt_grad_vanishes(p->gradients[i].name, p->run.seq_len));
    return TT_OK;
}

static tt_status add_sample(struct tt_profile *p, size_t *room, struct tt_profile_sample s)
{
    if (!tt_grow(&p->samples, sizeof *p->samples, (size_t)p->samples_count, room))
        return tt_no_memory("the comparison");
    p->samples[p->samples_count++] = s;
    return TT_OK;
}

static bool is_true(const struct tt_json *row, const char *key)
{
    const struct tt_json *v = tt_json_get(row, key);
    return v && v->type == TT_JSON_BOOL && v->boolean;
}

static void take_bench_shape(struct tt_profile_run *run, const struct tt_json *row)
{
    const struct {
        const char *key;
        int64_t *to;
    } numbers[] = {{"hidden_dim", &run->hidden_dim}, {"num_layers", &run->num_layers},
                   {"num_heads", &run->num_heads},   {"num_kv_heads", &run->num_kv_heads},
                   {"head_dim", &run->head_dim},
                   {"ffn_dim", &run->ffn_dim},       {"vocab_size", &run->vocab_size},
                   {"seq_len", &run->seq_len},       {"batch_size", &run->batch_size},
                   {"grad_accum", &run->grad_accum}, {"seed", &run->seed}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        tt_json_int(row, numbers[i].key, 0, INT64_MAX, numbers[i].to);
    snprintf(run->data, sizeof run->data, "%.127s", tt_json_string(row, "data", ""));
    snprintf(run->rope_scaling, sizeof run->rope_scaling, "%.287s", tt_json_string(row, "rope_scaling", ""));
    snprintf(run->documents, sizeof run->documents, "%.15s", tt_json_string(row, "documents", ""));
    snprintf(run->fp8, sizeof run->fp8, "%.15s", tt_json_string(row, "fp8", ""));
    snprintf(run->update, sizeof run->update, "%.95s", tt_json_string(row, "update", ""));
    run->qkv_bias = is_true(row, "qkv_bias");
    run->qk_norm = is_true(row, "qk_norm");
}

static tt_status take_bench_steps(struct tt_profile *p, const struct tt_json *row)
{
    const struct tt_json *steps = tt_json_get(row, "steps_ms");
    size_t room = 0;
    if (!steps || steps->type != TT_JSON_ARRAY) return TT_OK;
    for (const struct tt_json *at = steps->first; at; at = at->next) {
        struct tt_profile_sample s = {.step = -1, .loss = NAN, .grad_norm = NAN}; /* of no training run: no number */
        s.seconds = at->type == TT_JSON_NUMBER ? 1e-3 * at->number : NAN;
        TT_TRY(add_sample(p, &room, s));
    }
    return TT_OK;
}

/* tt bench --against ran the two rows in turns, so drift hardly touches the ratio of a pair. */
static void take_turns(struct tt_compared *r, const struct tt_json *root)
{
    const struct tt_json *against = tt_json_get(root, "against");
    if (!against || against->type != TT_JSON_OBJECT) return;
    r->in_turns = true;
    r->speedup = tt_json_number(against, "ratio", NAN);
    r->range = (struct tt_range){tt_json_number(against, "low", NAN), tt_json_number(against, "high", NAN),
                                 tt_json_number(against, "confidence", NAN)};
}

static tt_status add_bench_rows(struct tt_comparison *c, const struct tt_json *root)
{
    const struct tt_json *rows = tt_json_get(root, "rows");
    if (!rows) return tt_fail(TT_USAGE, "this is neither a profile.json nor a bench.json");
    if (rows->type != TT_JSON_ARRAY || !rows->first) return tt_fail(TT_FAILED, "it has no rows");
    for (const struct tt_json *row = rows->first; row; row = row->next) {
        struct tt_compared *r;
        TT_TRY(new_run(c, &r));
        const char *label = tt_json_string(row, "label", "");
        if (label[0])
            snprintf(r->label, sizeof r->label, "%.90s", label);
        else
            snprintf(r->label, sizeof r->label, "%.30s %.30s %.20s", tt_json_string(row, "size", "?"),
                     tt_json_string(row, "version", "?"), tt_json_string(root, "precision", ""));
        snprintf(r->profile.run.device, sizeof r->profile.run.device, "%.127s", tt_json_string(root, "device", ""));
        snprintf(r->profile.run.backend, sizeof r->profile.run.backend, "%.15s", tt_json_string(root, "backend", ""));
        snprintf(r->profile.run.precision, sizeof r->profile.run.precision, "%.15s",
                 tt_json_string(root, "precision", ""));
        snprintf(r->profile.run.version, sizeof r->profile.run.version, "%.15s", tt_json_string(row, "version", ""));
        snprintf(r->profile.run.preset, sizeof r->profile.run.preset, "%.31s", tt_json_string(row, "size", ""));
        r->seconds = 1e-3 * tt_json_number(row, "median_ms", NAN);
        r->tokens_per_second = tt_json_number(row, "tokens_per_second", NAN);
        r->mfu_percent = tt_json_number(row, "mfu_percent", NAN);
        r->profile.efficiency.gemm_flops_per_second = tt_json_number(root, "gemm_flops_per_second", NAN);
        r->profile.run.load = tt_json_number(root, "load", NAN);
        r->memory_bytes = tt_json_number(row, "peak_memory_bytes", NAN);
        r->kernels = tt_json_number(row, "operations_per_step", NAN);
        const struct tt_json *refused = tt_json_get(row, "flash_refused");
        r->profile.run.flash_refused = refused && refused->type == TT_JSON_BOOL && refused->boolean;
        take_bench_shape(&r->profile.run, row);
        TT_TRY(take_bench_steps(&r->profile, row));
        if (row != rows->first) take_turns(r, root);
    }
    return TT_OK;
}

static tt_status add_line(struct tt_profile *p, size_t *room, const struct tt_json *line)
{
    struct tt_profile_sample s = {.seconds = NAN};
    if (!tt_json_get(line, "loss") || !tt_json_int(line, "step", 0, INT64_MAX, &s.step))
        return TT_OK; /* a validation */
    s.loss = tt_json_number(line, "loss", NAN);
    s.grad_norm = tt_json_number(line, "grad_norm", NAN);
    return add_sample(p, room, s);
}

static bool says_true(const struct tt_yaml *config, const char *key)
{
    const struct tt_yaml *value = tt_yaml_get(config, key);
    return value && value->kind == TT_YAML_BOOL && !strcmp(value->text, "true");
}

static const char *word_of(const struct tt_yaml *config, const char *key)
{
    const struct tt_yaml *value = tt_yaml_get(config, key);
    return value && value->text ? value->text : "";
}

static int choice_of(const struct tt_yaml *config, const char *key, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        if (!strcmp(names[i], word_of(config, key))) return i;
    return 0;
}

/* Options that tt profile writes as several words. One that an older checkpoint does not have is not known. */
static void take_words(struct tt_profile_run *run, const struct tt_yaml *config)
{
    struct tt_config c = {.fp8 = choice_of(config, "fp8", tt_fp8_names),
                          .fp8_scaling = choice_of(config, "fp8-scaling", tt_fp8_scaling_names),
                          .update = choice_of(config, "update", tt_update_names),
                          .update_count = strtoll(word_of(config, "update-count"), NULL, 10),
                          .update_every = strtoll(word_of(config, "update-every"), NULL, 10),
                          .update_level = choice_of(config, "update-level", tt_update_level_names),
                          .update_by = choice_of(config, "update-by", tt_update_by_names),
                          .update_rest = choice_of(config, "update-rest", tt_update_rest_names)};
    snprintf(c.update_share, sizeof c.update_share, "%.23s", word_of(config, "update-share"));
    if (tt_yaml_get(config, "update")) tt_update_words(&c, run->update);
    if (!strcmp(run->precision, "fp8")) snprintf(run->fp8, sizeof run->fp8, "%s", tt_fp8_words(&c));
}

static void take_config(struct tt_profile_run *run, const struct tt_yaml *config)
{
    const struct {
        const char *key;
        int64_t *to;
    } numbers[] = {{"hidden-dim", &run->hidden_dim}, {"num-layers", &run->num_layers},
                   {"num-heads", &run->num_heads},   {"num-kv-heads", &run->num_kv_heads},
                   {"head-dim", &run->head_dim},
                   {"ffn-dim", &run->ffn_dim},       {"vocab-size", &run->vocab_size},
                   {"seq-len", &run->seq_len},       {"batch-size", &run->batch_size},
                   {"grad-accum", &run->grad_accum}, {"seed", &run->seed}};
    const struct {
        const char *key;
        char *to;
        size_t size;
    } words[] = {{"version", run->version, sizeof run->version},
                 {"precision", run->precision, sizeof run->precision},
                 {"recompute", run->recompute, sizeof run->recompute},
                 {"preset", run->preset, sizeof run->preset},
                 {"fuse", run->fuse, sizeof run->fuse},
                 {"rope-scaling", run->rope_scaling, sizeof run->rope_scaling},
                 {"documents", run->documents, sizeof run->documents},
                 {"data", run->data, sizeof run->data}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const struct tt_yaml *value = tt_yaml_get(config, numbers[i].key);
        if (value && value->kind == TT_YAML_INT) *numbers[i].to = strtoll(value->text, NULL, 10);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const struct tt_yaml *value = tt_yaml_get(config, words[i].key);
        if (value && value->text) snprintf(words[i].to, words[i].size, "%s", value->text);
    }
    const struct tt_yaml *global = tt_yaml_get(config, "global-batch"); /* the rows of a step over all ranks */
    int64_t rows = global && global->kind == TT_YAML_INT ? strtoll(global->text, NULL, 10) : 0;
    if (rows > 0 && run->batch_size > 0) run->grad_accum = rows / run->batch_size;
    run->qkv_bias = says_true(config, "qkv-bias");
    run->qk_norm = says_true(config, "qk-norm");
    if (!run->head_dim && run->num_heads > 0) run->head_dim = run->hidden_dim / run->num_heads;
    take_words(run, config);
}

/* The options of a run are in its checkpoints. A run without one, or with damaged ones, can still be compared. */
static void take_training_config(struct tt_profile_run *run, const char *folder)
{
    struct tt_progress progress;
    struct tt_yaml *config = NULL;
    char *checkpoint = NULL, *text = NULL;
    tt_status st = tt_checkpoint_find(folder, NULL, NULL, &checkpoint);
    if (!st && checkpoint) st = tt_checkpoint_peek(checkpoint, &progress, &text);
    if (!st && text) st = tt_yaml_parse(text, strlen(text), &config);
    if (!st && config) take_config(run, config);
    if (config) tt_yaml_free(config);
    tt_status_free(st);
    free(text);
    free(checkpoint);
}

/* Whether the machine was busy, from run.json, where the run says so. */
static void take_training_load(struct tt_profile_run *run, const char *folder)
{
    enum { LIMIT = 1 << 20 };
    char path[1200], *text = NULL;
    size_t size;
    struct tt_json *j = NULL;
    snprintf(path, sizeof path, "%s/run.json", folder);
    if (!tt_is_file(path)) return;
    tt_status st = tt_file_read(path, LIMIT, &text, &size);
    if (!st) st = tt_json_parse(text, size, &j);
    run->load = tt_json_number(j, "load", NAN);
    run->waited = tt_json_number(j, "waited", NAN);
    tt_json_free(j);
    free(text);
    tt_status_free(st); /* a damaged file tells nothing */
}

/* The mean speed of a run. The rate of each line is weighted by the steps since the line before, so that a short fast
 * moment does not count too much. */
struct pace {
    double steps, seconds, last; /* seconds: over a step's tokens; last: step of the line before */
    double waiting;              /* the rate of the first line, until the second tells how many steps it is of */
};

static void take_pace(struct pace *p, double steps, double rate)
{
    p->steps += steps;
    p->seconds += steps / rate;
}

/* A line is about the steps since the line before. The first line has none before it, and a resumed run does not begin
 * at step 0: it is taken to be about as many steps as the second, but no more than its own number. */
static void add_pace(struct pace *p, const struct tt_json *line)
{
    double rate = tt_json_number(line, "tokens_per_second", NAN), step = tt_json_number(line, "step", NAN);
    if (!(rate > 0)) return;
    double steps = step > p->last ? step - p->last : 1;
    if (p->waiting > 0) take_pace(p, fmin(p->last, steps), p->waiting);
    if (p->steps > 0)
        take_pace(p, steps, rate);
    else
        p->waiting = rate;
    if (p->steps > 0) p->waiting = 0;
    if (step > 0) p->last = step;
}

/* Line by line: the file of a long run is larger than what should be in memory. */
static tt_status read_lines(FILE *f, struct tt_profile *p, struct pace *pace)
{
    char *text = NULL;
    size_t size = 0, room = 0;
    tt_status st = TT_OK;
    ssize_t n;
    for (long long number = 1; !st && (n = getline(&text, &size, f)) > 0; number++) {
        struct tt_json *line;
        if (n == 1 && text[0] == '\n') continue;
        st = tt_json_parse(text, (size_t)n, &line);
        if (st && text[n - 1] != '\n') { /* half written by a run that goes on */
            tt_status_free(st);
            st = TT_OK;
            break;
        }
        if (st) {
            st = tt_context(st, "line %lld of metrics.jsonl", number);
            break;
        }
        st = add_line(p, &room, line);
        add_pace(pace, line);
        tt_json_free(line);
    }
    if (!st && ferror(f)) st = tt_file_error(errno, "read", "metrics.jsonl");
    free(text);
    return st;
}

/* metrics.jsonl of a training run: a line per step. */
static tt_status add_training(struct tt_comparison *c, const char *folder, const char *path)
{
    struct tt_compared *r;
    struct pace pace = {0};
    TT_TRY(new_run(c, &r));
    label_by_path(r, folder);
    take_training_config(&r->profile.run, folder);
    take_training_load(&r->profile.run, folder);
    FILE *f = fopen(path, "r");
    if (!f) return tt_file_error(errno, "open", path);
    tt_status st = read_lines(f, &r->profile, &pace);
    fclose(f);
    TT_TRY(st);
    if (!r->profile.samples_count) return tt_fail(TT_FAILED, "metrics.jsonl has no step");
    if (pace.waiting > 0) take_pace(&pace, 1, pace.waiting);
    r->tokens_per_second = pace.steps > 0 ? pace.steps / pace.seconds : NAN;
    r->loss = r->profile.samples[r->profile.samples_count - 1].loss;
    return TT_OK;
}

tt_status tt_compare_add(struct tt_comparison *c, const char *path)
{
    char inside[1200], *text = NULL;
    size_t n;
    tt_status st;
    bool folder = tt_is_dir(path);
    snprintf(inside, sizeof inside, "%s/profile.json", path);
    if (folder && tt_is_file(inside)) return add_profile(c, inside);
    snprintf(inside, sizeof inside, "%s/%s", path, "metrics.jsonl");
    bool training = folder && tt_is_file(inside);
    if (folder && !training) snprintf(inside, sizeof inside, "%s/bench.json", path);
    if (folder && !training && !tt_is_file(inside))
        return tt_fail(TT_USAGE,
                       "%s holds neither profile.json nor bench.json nor metrics.jsonl; name the folder of a profile, "
                       "a bench or a run",
                       path);
    if (training) return tt_context(add_training(c, path, inside), "%s", path);
    TT_TRY(tt_file_read(folder ? inside : path, largest, &text, &n));
    if (text[strspn(text, " \t\r\n")] != '{') {
        free(text);
        return tt_fail(TT_USAGE, "%s is neither a profile.json nor a bench.json; name the folder or file of one", path);
    }
    struct tt_json *root = NULL;
    st = tt_json_parse(text, n, &root);
    if (!st && tt_json_get(root, "operators"))
        st = add_profile(c, path);
    else if (!st)
        st = add_bench_rows(c, root);
    if (root) tt_json_free(root);
    free(text);
    return st ? tt_context(st, "%s", path) : TT_OK;
}
