#include "cli/common.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/text.h"
#include "core/train/loop.h"
#include "exercises/engine/course.h"
#include "exercises/engine/fault.h"

const char *tt_cache_path(const char *name, char *out, size_t size)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (base && base[0] == '/')
        snprintf(out, size, "%s/tt", base);
    else if (home && home[0] == '/')
        snprintf(out, size, "%s/.cache/tt", home);
    else
        return NULL;
    size_t n = strlen(out);
    tt_status st = tt_make_dirs(out);
    bool usable = !st && n + strlen(name) + 2 <= size;
    tt_status_free(st);
    if (usable) snprintf(out + n, size - n, "/%s", name);
    return usable ? out : NULL;
}

tt_status tt_open_backend(const struct tt_config *c, struct tt_backend *out)
{
    char cache[1200];
    if (c->device > 0 && !strcmp(tt_backend_name(), "cpu"))
        fprintf(stderr, "tt: note: --device %lld chooses a GPU; this tt was built for cpu and runs there\n", (long long)c->device);
    struct tt_backend_options options = {.threads = (int)c->threads, .device = (int)c->device, .precision = c->precision,
                                         .kernels = c->kernels, .gemm_tune = c->gemm_tune};
    if (strcmp(tt_backend_name(), "cpu")) options.gemm_cache = tt_cache_path("gemm.txt", cache, sizeof cache); /* only GPUs choose */
    TT_TRY(tt_backend_open(&options, out));
    return tt_course_wrap(c, out);
}

void tt_warn(const char *line, void *arg)
{
    (void)arg;
    fprintf(stderr, "tt: %s\n", line);
}

/* ---- which tokenizer: the one named, the one a checkpoint has, or the one that lies beside token files ---- */

static const char *const tokenizer_kinds[] = {"bytes", "chars", "bpe"};

static bool is_kind(const char *name)
{
    for (int i = 0; i < 3; i++)
        if (!strcmp(name, tokenizer_kinds[i])) return true;
    return !name[0];
}

static void take_if_there(const char *dir, int length, char *tokenizer, size_t size)
{
    char path[1100];
    snprintf(path, sizeof path, "%.*s/tokenizer.json", length, dir);
    if (tt_is_file(path)) snprintf(tokenizer, size, "%s", path);
}

static bool are_tokens(const char *data)
{
    size_t n = strlen(data);
    return n >= 4 && !strcmp(data + n - 4, ".bin");
}

static void beside_tokens(const char *data, char *tokenizer, size_t size)
{
    if (!are_tokens(data)) return;
    const char *slash = strrchr(data, '/');
    take_if_there(slash ? data : ".", slash ? (int)(slash - data) : 1, tokenizer, size);
}

static tt_status check_tokenizer(const char *name)
{
    if (is_kind(name) || tt_is_file(name)) return TT_OK;
    const char *near = tt_nearest(name, tokenizer_kinds, 3);
    return tt_fail(TT_USAGE, "--tokenizer %s is neither bytes, chars or bpe nor a tokenizer file%s%s%s", name,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* Token files tell of their tokenizer only by the one beside them, if there is one. */
static bool other_tokenizer_beside(const struct tt_tokenizer *own, const char *data)
{
    char path[1100] = "";
    struct tt_tokenizer *theirs = NULL;
    beside_tokens(data, path, sizeof path);
    if (path[0]) tt_status_free(tt_tokenizer_load(path, &theirs)); /* it is not used: it need not be good */
    bool other = theirs && !tt_tokenizers_agree(own, theirs);
    tt_tokenizer_free(theirs);
    return other;
}

static void warn_of_other_tokens(const struct tt_config *c, const char *checkpoint, const struct tt_data *data)
{
    char path[1100] = "", line[1300];
    struct tt_tokenizer *own = NULL;
    const struct tt_tokenizer *now = tt_data_tokenizer(data);
    take_if_there(checkpoint, (int)strlen(checkpoint), path, sizeof path);
    if (path[0]) tt_status_free(tt_tokenizer_load(path, &own));
    if (own && ((now && !tt_tokenizers_agree(own, now)) || other_tokenizer_beside(own, c->data) ||
                other_tokenizer_beside(own, c->val_data))) {
        snprintf(line, sizeof line, "warning: the data are of another tokenizer than %s: their ids mean other tokens to it", checkpoint);
        tt_warn(line, NULL);
    }
    tt_tokenizer_free(own);
}

tt_status tt_open_data(const struct tt_config *c, int64_t vocab_size, const char *tokenizer_dir, struct tt_data **out)
{
    char tokenizer[1100];
    if (!strcmp(c->data, TT_NO_DATA))
        return tt_fail(TT_USAGE, "this model was imported and has no data of its own; name some with --data");
    snprintf(tokenizer, sizeof tokenizer, "%s", c->tokenizer);
    if (is_kind(tokenizer)) beside_tokens(c->data, tokenizer, sizeof tokenizer);
    if (tokenizer_dir) take_if_there(tokenizer_dir, (int)strlen(tokenizer_dir), tokenizer, sizeof tokenizer);
    TT_TRY(check_tokenizer(tokenizer));
    struct tt_data_options options = {.source = c->data, .val_source = c->val_data, .tokenizer = tokenizer,
                                      .val_fraction = c->val_fraction, .seq_len = c->seq_len, .vocab_size = vocab_size,
                                      .seed = (uint64_t)c->seed};
    TT_TRY(tt_data_open(&options, out));
    if (tokenizer_dir) warn_of_other_tokens(c, tokenizer_dir, *out);
    return TT_OK;
}

tt_status tt_need_tokenizer(const struct tt_config *c, const char *checkpoint)
{
    char path[1100] = "";
    bool no_text = are_tokens(c->data) || !strcmp(c->data, "builtin") || !strcmp(c->data, "random") || !strcmp(c->data, TT_NO_DATA);
    take_if_there(checkpoint, (int)strlen(checkpoint), path, sizeof path);
    if (no_text || path[0]) return TT_OK;
    return tt_fail(TT_USAGE, "%s is text, and %s has no tokenizer to turn it into the model's tokens; give token files (.bin) that were "
                   "made with the model's own, or train with a tokenizer named by --tokenizer", c->data, checkpoint);
}

tt_status tt_open_training_data(struct tt_options *o, const char *from, struct tt_data **out)
{
    struct tt_config *c = &o->c;
    bool fixed = from || tt_option_given(o, "vocab-size") || !strcmp(c->data, "builtin") || !strcmp(c->data, "random");
    if (from && !tt_option_given(o, "tokenizer")) TT_TRY(tt_need_tokenizer(c, from));
    TT_TRY(tt_open_data(c, fixed ? c->vocab_size : 0, from, out));
    c->vocab_size = tt_data_vocab(*out);
    return TT_OK;
}

tt_status tt_take_vocabulary(struct tt_options *o)
{
    struct tt_data *data;
    TT_TRY(tt_open_training_data(o, NULL, &data));
    tt_data_close(data);
    return TT_OK;
}

tt_status tt_check_validation(const struct tt_options *o, const struct tt_data *data, bool *validates)
{
    const struct tt_config *c = &o->c;
    *validates = c->val_interval > 0 && tt_data_validates(data);
    if (*validates || tt_fault_of(c) == TT_FAULT_EVAL_EVERY_STEP) return tt_evaluate_check(c, data);
    if (!c->val_interval) return TT_OK;
    if (c->patience > 0)
        return tt_fail(TT_USAGE, "--patience %lld counts validations, but with --val-fraction 0 there is nothing to validate on; name data for "
                       "it with --val-data, or set --patience 0", (long long)c->patience);
    if (tt_option_given(o, "val-interval"))
        fprintf(stderr, "tt: note: --val-interval %lld does nothing: with --val-fraction 0 and no --val-data there is nothing to validate on\n",
                (long long)c->val_interval);
    return TT_OK;
}

/* ---- checkpoints ---- */

static bool matches(const char *pattern)
{
    glob_t found = {0};
    bool any = tt_is_file(pattern) || glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
    globfree(&found);
    return any;
}

/* A relative path of a checkpoint is looked for from here, as after the whole tree was moved; when it leads nowhere, from
 * where the run was started. */
static void find_again(struct tt_options *o, const char *option, char *path, size_t size, const char *folder)
{
    char there[4096];
    if (tt_option_given(o, option) || !path[0] || path[0] == '/' || matches(path)) return;
    int n = snprintf(there, sizeof there, "%s/%s", folder, path);
    if (n > 0 && (size_t)n < size && matches(there)) memcpy(path, there, (size_t)n + 1);
}

static tt_status find_files(struct tt_options *o, const char *checkpoint)
{
    char *folder;
    TT_TRY(tt_checkpoint_folder(checkpoint, &folder));
    if (!folder) return TT_OK;
    find_again(o, "data", o->c.data, sizeof o->c.data, folder);
    find_again(o, "val-data", o->c.val_data, sizeof o->c.val_data, folder);
    find_again(o, "tokenizer", o->c.tokenizer, sizeof o->c.tokenizer, folder);
    free(folder);
    return TT_OK;
}

static tt_status take_config(struct tt_options *o, const char *checkpoint)
{
    struct tt_progress progress;
    char *config = NULL;
    TT_TRY(tt_checkpoint_peek(checkpoint, &progress, &config));
    tt_status st = config ? tt_options_apply_yaml(o, config, TT_FROM_CHECKPOINT) : TT_OK;
    free(config);
    if (!st) st = find_files(o, checkpoint);
    return tt_context(st, "%s", checkpoint);
}

tt_status tt_use_newest(struct tt_options *o, const char *dir, char **checkpoint)
{
    enum tt_file_kind kind;
    *checkpoint = NULL;
    TT_TRY(tt_file_kind(dir, &kind));
    if (kind != TT_FOLDER) return TT_OK;
    TT_TRY(tt_checkpoint_find(dir, tt_warn, NULL, checkpoint));
    if (!*checkpoint) return TT_OK;
    tt_status st = take_config(o, *checkpoint);
    if (!st) return TT_OK;
    free(*checkpoint);
    *checkpoint = NULL;
    return st;
}

tt_status tt_use_checkpoint(struct tt_options *o, const char *path, char **checkpoint)
{
    char manifest[1200];
    enum tt_file_kind kind;
    snprintf(manifest, sizeof manifest, "%s/checkpoint.json", path);
    *checkpoint = NULL;
    TT_TRY(tt_file_kind(manifest, &kind));
    if (kind == TT_REGULAR_FILE) {
        TT_TRY(take_config(o, path));
        *checkpoint = strdup(path);
        return *checkpoint ? TT_OK : tt_fail(TT_FAILED, "out of memory");
    }
    TT_TRY(tt_use_newest(o, path, checkpoint));
    if (*checkpoint) return TT_OK;
    if (tt_is_file(path))
        return tt_fail(TT_USAGE, "%s is a file; name the folder of a run, or one of its checkpoints", path);
    return tt_fail(TT_USAGE, "%s holds no checkpoint; make one with: tt train --out %s", path, path);
}

void tt_stay_in_run(struct tt_options *o, const char *checkpoint)
{
    size_t n = strlen(checkpoint), name;
    while (n > 1 && checkpoint[n - 1] == '/') n--;
    for (name = n; name > 0 && checkpoint[name - 1] != '/';) name--;
    if (tt_option_given(o, "out") || n - name < 5 || strncmp(checkpoint + name, "step-", 5)) return;
    while (name > 1 && checkpoint[name - 1] == '/') name--;
    snprintf(o->c.out, sizeof o->c.out, "%.*s", name ? (int)name : 1, name ? checkpoint : ".");
}

void tt_format_count(double n, char out[32])
{
    if (n >= 1e12)
        snprintf(out, 32, "%.2f T", n / 1e12);
    else if (n >= 1e9)
        snprintf(out, 32, "%.2f G", n / 1e9);
    else if (n >= 1e6)
        snprintf(out, 32, "%.2f M", n / 1e6);
    else if (n >= 1e3)
        snprintf(out, 32, "%.1f k", n / 1e3);
    else
        snprintf(out, 32, "%.0f", n);
}

void tt_format_bytes(double n, char out[32])
{
    if (n >= 0x1p30)
        snprintf(out, 32, "%.2f GiB", n / 0x1p30);
    else if (n >= 0x1p20)
        snprintf(out, 32, "%.1f MiB", n / 0x1p20);
    else
        snprintf(out, 32, "%.1f KiB", n / 0x1p10);
}

void tt_print_device(const struct tt_backend *b)
{
    struct tt_device_info info;
    tt_status st = b->ops->info(b->self, &info);
    if (!st) printf("device  %s: %s; %s\n", b->ops->name, info.name, info.library);
    tt_status_free(st);
}

void tt_print_model(const struct tt_session *s)
{
    const struct tt_config *c = &s->model->config;
    char params[32], flops[32], memory[32], note[160];
    tt_format_count((double)tt_model_param_count(s->model), params);
    printf("model   %lld layers, hidden %lld, %lld heads (%lld key/value) of %lld, ffn %lld, vocabulary %lld: %sparameters\n",
           (long long)c->num_layers, (long long)c->hidden_dim, (long long)c->num_heads, (long long)c->num_kv_heads,
           (long long)s->model->head_dim, (long long)c->ffn_dim, (long long)c->vocab_size, strcat(params, " "));
    tt_format_count(tt_model_step_flops(s->model), flops);
    tt_format_bytes((double)tt_engine_total(&s->engine), memory);
    if (s->step)
        printf("step    %s, %s, %lld x %lld tokens%s, %d operations, %sFLOP, %s of device memory\n", tt_version_names[c->version],
               tt_precision_names[c->precision], (long long)c->batch_size, (long long)c->seq_len,
               c->grad_accum > 1 ? " per micro-batch" : "", s->step->count, flops, memory);
    tt_model_note(s->model, note);
    if (note[0]) printf("note    %s\n", note);
}

tt_status tt_upload_tokens(struct tt_session *s, struct tt_data *data)
{
    const struct tt_config *c = &s->model->config;
    int64_t rows = c->batch_size * c->grad_accum, width = c->seq_len + 1;
    int32_t *tokens = malloc((size_t)(rows * width) * sizeof *tokens);
    if (!tokens) return tt_fail(TT_FAILED, "out of memory for the tokens of a step");
    size_t bytes = (size_t)(rows * width) * sizeof *tokens;
    tt_status st = TT_OK;
    for (int slot = 0; slot < TT_TOKEN_SLOTS && !st; slot++) {
        for (int64_t r = 0; r < rows && !st; r++)
            st = tt_data_sample(data, TT_TRAIN, (uint64_t)(slot * rows + r), tokens + r * width);
        if (!st) st = tt_engine_upload(&s->engine, TT_X_TOKENS, (size_t)slot * bytes, tokens, bytes);
    }
    free(tokens);
    return st;
}
