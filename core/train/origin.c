#include "core/train/origin.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/checkpoint/checkpoint.h"
#include "core/train/open.h"

static bool matches(const char *pattern)
{
    glob_t found = {0};
    bool any = tt_is_file(pattern) || glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
    globfree(&found);
    return any;
}

/* A relative path in a checkpoint is tried from the current folder first, which works after the whole tree was moved.
 * If nothing is there, it is tried from the folder where the run was started. */
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

/* Resets an option to its default, if only the checkpoint has set it. */
static tt_status forget(struct tt_options *o, const char *name)
{
    const struct tt_option *row = tt_schema_find_any(o->schema, o->command, name);
    if (!row || *tt_option_source(o, row) != TT_FROM_CHECKPOINT) return TT_OK;
    *tt_option_source(o, row) = TT_FROM_DEFAULT;
    return tt_value_set(row, o, row->value, false);
}

/* Options for selective updates that are given now replace those of the checkpoint that would contradict them. */
static tt_status replace_choice(struct tt_options *o)
{
    static const char *const names[] = {"update-share", "update-count", "update-every",
                                        "update-level", "update-by",    "update-rest"};
    for (size_t i = 0; o->c.update == TT_UPDATE_ALL && i < sizeof names / sizeof *names; i++)
        TT_TRY(forget(o, names[i]));
    if (tt_option_given(o, "update-count")) TT_TRY(forget(o, "update-share"));
    return tt_option_given(o, "update-share") ? forget(o, "update-count") : TT_OK;
}

/* The same for other options that exclude each other: a text is in one field or in two, and --fp8 and --fp8-scaling are
 * for one precision only. */
static tt_status replace_partners(struct tt_options *o)
{
    bool pair = tt_option_given(o, "prompt-field") || tt_option_given(o, "completion-field");
    if (pair) TT_TRY(forget(o, "text-field"));
    if (tt_option_given(o, "text-field")) {
        TT_TRY(forget(o, "prompt-field"));
        TT_TRY(forget(o, "completion-field"));
    }
    if (o->c.precision == TT_PREC_FP8) return TT_OK;
    TT_TRY(forget(o, "fp8"));
    return forget(o, "fp8-scaling");
}

static tt_status take_config(struct tt_options *o, const char *checkpoint)
{
    struct tt_progress progress;
    char *config = NULL;
    TT_TRY(tt_checkpoint_peek(checkpoint, &progress, &config));
    tt_status st = config ? tt_options_apply_yaml(o, config, TT_FROM_CHECKPOINT) : TT_OK;
    free(config);
    if (!st) st = replace_choice(o);
    if (!st) st = replace_partners(o);
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

/* Refuses a model that tt import must first turn into a checkpoint. */
static tt_status refuse_other_model(const char *path)
{
    static const char *const weights[] = {"model.safetensors", "model.safetensors.index.json"};
    char file[1200];
    size_t n = strlen(path);
    bool gguf = n > 5 && !strcmp(path + n - 5, ".gguf") && tt_is_file(path), folder = false;
    for (int i = 0; i < 2; i++) {
        snprintf(file, sizeof file, "%s/%s", path, weights[i]);
        folder |= tt_is_file(file);
    }
    snprintf(file, sizeof file, "%s/config.json", path);
    if (!gguf && !(folder && tt_is_file(file))) return TT_OK;
    return tt_fail(TT_USAGE, "%s is a model for %s, not a checkpoint; make one of it: tt import %s --out runs/model",
                   path, gguf ? "llama.cpp" : "transformers", path);
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
        return *checkpoint ? TT_OK : tt_no_memory("a path");
    }
    TT_TRY(tt_use_newest(o, path, checkpoint));
    if (*checkpoint) return TT_OK;
    TT_TRY(refuse_other_model(path));
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
