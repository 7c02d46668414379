#include "core/train/open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cache.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/terminal.h"
#include "core/base/text.h"
#include "core/config/hooks.h"
#include "core/train/evaluate.h"

tt_status tt_open_device(const struct tt_config *c, struct tt_backend *out)
{
    char cache[1200];
    if (c->device > 0 && !strcmp(tt_backend_name(), "cpu"))
        tt_say("note: --device %lld chooses a GPU; this tt was built for cpu and runs there", (long long)c->device);
    struct tt_backend_options options = {.threads = (int)c->threads, .device = (int)c->device,
                                         .precision = c->precision, .kernels = c->kernels, .gemm_tune = c->gemm_tune};
    /* only GPU backends choose among GEMM algorithms, and remember their choice */
    if (strcmp(tt_backend_name(), "cpu")) options.gemm_cache = tt_cache_path("gemm.txt", cache, sizeof cache);
    return tt_backend_open(&options, out);
}

void tt_warn(const char *line, void *arg)
{
    (void)arg;
    tt_say("%s", line);
}

/* ---- a folder that tt data made ---- */

/* "folder/split_*.bin", where there are such files. Wildcards in the folder's own name are escaped. */
static bool shards_in(const char *folder, const char *split, char *out, size_t size)
{
    char first[1200], *to = out, *end = out + size - sizeof "/train_*.bin";
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/') n--;
    snprintf(first, sizeof first, "%.*s/%s_000000.bin", (int)n, folder, split);
    if (!tt_is_file(first)) return false;
    for (size_t i = 0; i < n; i++) {
        if (strchr("*?[\\", folder[i])) *to++ = '\\';
        if (to >= end) return false;
        *to++ = folder[i];
    }
    snprintf(to, (size_t)(out + size - to), "/%s_*.bin", split);
    return true;
}

void tt_take_folders(struct tt_config *c)
{
    char folder[sizeof c->data], held[sizeof c->val_data];
    memcpy(folder, c->data, sizeof folder);
    memcpy(held, c->val_data[0] ? c->val_data : folder, sizeof held);
    if (!shards_in(held, "val", c->val_data, sizeof c->val_data) && c->val_data[0])
        shards_in(held, "train", c->val_data, sizeof c->val_data);
    shards_in(folder, "train", c->data, sizeof c->data);
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

/* Looks for a tokenizer in the folder of the token files. In a pattern a backslash escapes a wildcard, so it is not
 * part of the folder's name. */
static void beside_tokens(const char *data, char *tokenizer, size_t size)
{
    char folder[1100] = ".";
    bool pattern = strpbrk(data, "*?[") != NULL;
    const char *slash = strrchr(data, '/');
    size_t n = 0;
    if (!are_tokens(data)) return;
    for (const char *at = data; at < slash && n < sizeof folder - 1; at++)
        if (!pattern || *at != '\\') folder[n++] = *at;
    if (slash) folder[n] = 0;
    take_if_there(folder, (int)strlen(folder), tokenizer, size);
}

static tt_status check_tokenizer(const char *name)
{
    if (is_kind(name) || tt_is_file(name)) return TT_OK;
    const char *near = tt_nearest(name, tokenizer_kinds, 3);
    return tt_fail(TT_USAGE, "--tokenizer %s is neither bytes, chars or bpe nor a tokenizer file%s%s%s", name,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* Token files do not say which tokenizer made them; one beside them does. */
static bool other_tokenizer_beside(const struct tt_tokenizer *own, const char *data)
{
    char path[1100] = "";
    struct tt_tokenizer *theirs = NULL;
    beside_tokens(data, path, sizeof path);
    if (path[0]) tt_status_free(tt_tokenizer_load(path, &theirs)); /* only for comparison: it may be damaged */
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
        snprintf(line, sizeof line,
                 "warning: the data were made with another tokenizer than that of %s, so their ids mean other tokens "
                 "to the model", checkpoint);
        tt_warn(line, NULL);
    }
    tt_tokenizer_free(own);
}

struct tt_text_options tt_text_options_of(const struct tt_config *c)
{
    return (struct tt_text_options){.text_field = c->text_field, .prompt_field = c->prompt_field,
                                    .completion_field = c->completion_field, .skip_bad = c->skip_bad_lines,
                                    .separate = c->documents == TT_DOCUMENTS_SEPARATE, .end_token = c->end_token,
                                    .max_chars = c->max_chars};
}

static void paint_reading(const char *what, int64_t done, int64_t total, void *arg)
{
    double *painted = arg, now = tt_seconds();
    bool begun = *painted > 0, over = done >= total;
    if (!begun) *painted = now;
    if (!begun || !tt_is_terminal(stderr) || (now - *painted < 0.2 && !over)) return; /* short work needs no line */
    *painted = now;
    fprintf(stderr, "\r\033[K%s: %.0f %%%s", what, 100 * (double)done / (double)(total ? total : 1),
            over ? "\r\033[K" : "");
}

tt_reading tt_reading_progress(const struct tt_config *c)
{
    return c->paints && !c->quiet && !c->rank ? paint_reading : NULL;
}

void tt_reading_done(const struct tt_config *c, double painted)
{
    if (painted > 0 && tt_reading_progress(c) && tt_is_terminal(stderr)) fputs("\r\033[K", stderr);
}

static tt_status open_sources(const struct tt_config *c, int64_t vocab_size, const char *tokenizer_dir,
                              struct tt_data **out)
{
    char tokenizer[1100];
    double painted = 0;
    if (!strcmp(c->data, TT_NO_DATA))
        return tt_fail(TT_USAGE, "this model was imported and has no data of its own; name some with --data");
    snprintf(tokenizer, sizeof tokenizer, "%s", c->tokenizer);
    if (is_kind(tokenizer)) beside_tokens(c->data, tokenizer, sizeof tokenizer);
    if (tokenizer_dir) take_if_there(tokenizer_dir, (int)strlen(tokenizer_dir), tokenizer, sizeof tokenizer);
    TT_TRY(check_tokenizer(tokenizer));
    struct tt_data_options options = {.source = c->data, .val_source = c->val_data, .tokenizer = tokenizer,
                                      .text = tt_text_options_of(c), .val_fraction = c->val_fraction,
                                      .seq_len = c->seq_len, .vocab_size = vocab_size, .seed = (uint64_t)c->seed,
                                      .threads = (int)c->threads, .progress = tt_reading_progress(c), .arg = &painted};
    tt_status st = tt_data_open(&options, out);
    tt_reading_done(c, painted);
    TT_TRY(st);
    if (tokenizer_dir) warn_of_other_tokens(c, tokenizer_dir, *out);
    return TT_OK;
}

tt_status tt_open_data(const struct tt_config *c, int64_t vocab_size, const char *tokenizer_dir, struct tt_data **out)
{
    struct tt_config *own;
    TT_TRY(tt_config_copy(c, &own));
    tt_take_folders(own);
    tt_status st = open_sources(own, vocab_size, tokenizer_dir, out);
    free(own);
    return st;
}

tt_status tt_need_tokenizer(const struct tt_config *c, const char *checkpoint)
{
    char path[1100] = "";
    bool no_text = are_tokens(c->data) || !strcmp(c->data, "builtin") || !strcmp(c->data, "random") ||
                   !strcmp(c->data, TT_NO_DATA);
    take_if_there(checkpoint, (int)strlen(checkpoint), path, sizeof path);
    if (no_text || path[0]) return TT_OK;
    return tt_fail(TT_USAGE, "%s is text, but %s has no tokenizer, so it cannot be encoded; give token files (.bin) "
                             "made with the model's own tokenizer, or train with one named by --tokenizer",
                   c->data, checkpoint);
}

tt_status tt_take_end_token(struct tt_config *c, const struct tt_data *data)
{
    bool joined = c->documents == TT_DOCUMENTS_JOINED;
    if (c->end_token < 0 && !(joined && tt_data_tokenizer(data))) c->end_token = tt_data_end_token(data);
    if (joined) return TT_OK;
    TT_TRY(tt_check_end_token(c));
    bool there = false;
    TT_TRY(tt_data_contains(data, (int32_t)c->end_token, &there));
    if (!there)
        tt_say("note: --documents separate does nothing: token %lld, which ends documents, is not in %s, so every "
               "sequence is one document; give JSON Lines, or name another token with --document-end",
               (long long)c->end_token, c->data);
    return TT_OK;
}

tt_status tt_note_data(const struct tt_config *c, const struct tt_data *data, struct tt_progress *progress)
{
    int64_t end = c->end_token >= 0 ? c->end_token : tt_data_end_token(data);
    bool there = false;
    if (end >= 0) TT_TRY(tt_data_contains(data, (int32_t)end, &there));
    progress->data_mark = tt_data_mark(data);
    progress->data_end = there ? end + 1 : 0;
    return TT_OK;
}

int64_t tt_text_end(const struct tt_config *c, const struct tt_tokenizer *t)
{
    int64_t end = c->end_token >= 0 ? c->end_token : t ? tt_tokenizer_end(t) : -1;
    return end < c->vocab_size ? end : -1;
}

bool tt_ends_text(const struct tt_text_ends *ends, int64_t token)
{
    for (int i = 0; i < ends->count; i++)
        if (ends->tokens[i] == token) return true;
    return false;
}

struct tt_text_ends tt_text_ends(const struct tt_config *c, const struct tt_tokenizer *t)
{
    struct tt_text_ends ends = {.tokens = {tt_text_end(c, t)}};
    int64_t more[TT_ENDS_MOST];
    int count = 0;
    ends.count = ends.tokens[0] >= 0;
    tt_status_free(tt_ends_read(c->end_tokens, more, &count)); /* the options have checked it */
    for (int i = 0; i < count; i++)
        if (more[i] < c->vocab_size && !tt_ends_text(&ends, more[i])) ends.tokens[ends.count++] = more[i];
    return ends;
}

static tt_status start_token(int64_t token, int32_t **tokens, int64_t *count)
{
    *tokens = malloc(sizeof **tokens);
    if (!*tokens) return tt_no_memory("the prompt");
    **tokens = (int32_t)token;
    *count = 1;
    return TT_OK;
}

tt_status tt_text_start(const struct tt_tokenizer *t, int64_t vocab_size, int64_t data_end, int32_t **tokens,
                        int64_t *count)
{
    int32_t begin = t ? tt_tokenizer_begin(t) : -1;
    if (begin >= 0 && begin < vocab_size) return start_token(begin, tokens, count);
    if (data_end > 0 && data_end <= vocab_size) return start_token(data_end - 1, tokens, count);
    /* sentences of the built-in language begin after token 0, a full stop */
    if (!t || !strcmp(tt_tokenizer_kind(t), "words")) return start_token(0, tokens, count);
    tt_status st = tt_tokenizer_encode(t, "\n", 1, tokens, count);
    if (!st && *count > 0) return TT_OK;
    tt_status_free(st); /* it knows no line end */
    free(*tokens);
    return start_token(0, tokens, count);
}

/* Warns if --tokenizer names a tokenizer that neither the data nor the checkpoint use. */
static void warn_of_unused_tokenizer(const struct tt_config *c, const char *checkpoint)
{
    char path[1100] = "";
    struct tt_tokenizer *used = NULL, *named = NULL;
    bool other = true, tokens = are_tokens(c->data);
    if (checkpoint) take_if_there(checkpoint, (int)strlen(checkpoint), path, sizeof path);
    bool taken = path[0] != 0;
    if (!taken && is_kind(c->tokenizer)) beside_tokens(c->data, path, sizeof path);
    if (!taken && (!tokens || !is_kind(c->tokenizer))) return;
    if (path[0]) tt_status_free(tt_tokenizer_load(path, &used)); /* whoever needs it reports what is wrong */
    if (used && is_kind(c->tokenizer))
        other = strcmp(tt_tokenizer_kind(used), c->tokenizer) != 0;
    else if (used)
        tt_status_free(tt_tokenizer_load(c->tokenizer, &named));
    if (named) other = !tt_tokenizers_agree(used, named);
    if (other && taken)
        tt_say("note: --tokenizer %s does nothing: %s has its own", c->tokenizer, checkpoint);
    else if (other)
        tt_say("note: --tokenizer %s does nothing: %s are tokens already", c->tokenizer, c->data);
    tt_tokenizer_free(used);
    tt_tokenizer_free(named);
}

tt_status tt_open_training_data(struct tt_options *o, const char *from, struct tt_data **out)
{
    struct tt_config *c = &o->c;
    tt_take_folders(c);
    bool fixed = from || tt_option_given(o, "vocab-size") || !strcmp(c->data, "builtin") || !strcmp(c->data, "random");
    if (from && !tt_option_given(o, "tokenizer")) TT_TRY(tt_need_tokenizer(c, from));
    if (tt_option_given(o, "tokenizer")) warn_of_unused_tokenizer(c, from);
    TT_TRY(tt_open_data(c, fixed ? c->vocab_size : 0, from, out));
    c->vocab_size = tt_data_vocab(*out);
    return tt_take_end_token(c, *out);
}

tt_status tt_take_vocabulary(struct tt_options *o)
{
    struct tt_data *data;
    TT_TRY(tt_open_training_data(o, NULL, &data));
    tt_data_close(data);
    return TT_OK;
}

tt_status tt_check_validation(const struct tt_options *o, struct tt_data *data, bool *validates)
{
    const struct tt_config *c = &o->c;
    *validates = c->val_interval > 0 && tt_data_validates(data);
    if (*validates || tt_hooks_validate(c)) return tt_evaluate_check(c, data);
    if (!c->val_interval) return TT_OK;
    if (c->patience > 0)
        return tt_fail(TT_USAGE, "--patience %lld counts validations, but with --val-fraction 0 there is nothing to "
                       "validate on; name data for it with --val-data, or set --patience 0", (long long)c->patience);
    if (tt_option_given(o, "val-interval"))
        tt_say("note: --val-interval %lld does nothing: with --val-fraction 0 and no --val-data there is nothing to "
               "validate on", (long long)c->val_interval);
    return TT_OK;
}
