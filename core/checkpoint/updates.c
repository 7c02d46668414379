#include "core/checkpoint/updates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checkpoint/safetensors.h"

static const char file_name[] = "updates.safetensors", tensor_name[] = "updates";

/* Rows of two numbers: one for each group, then one for the choices. */
static int64_t rows_of(const struct tt_checkpoint *c) { return (int64_t)c->params->groups.count + 1; }

static int32_t narrow(int64_t x) { return x < INT32_MAX ? (int32_t)x : INT32_MAX; }

tt_status tt_updates_write(const char *folder, const struct tt_checkpoint *c, struct tt_manifest *m)
{
    int64_t rows = rows_of(c);
    int32_t *words = malloc(2 * (size_t)rows * sizeof *words);
    char *path = NULL;
    struct tt_manifest_file *file = &m->files[m->n++];
    snprintf(file->name, sizeof file->name, "%s", file_name);
    tt_status st = words && asprintf(&path, "%s/%s", folder, file_name) > 0 ? TT_OK : tt_no_memory("a checkpoint");
    for (int64_t i = 0; i < rows && !st; i++)
        words[2 * i] = narrow(c->updates[i].updates), words[2 * i + 1] = narrow(c->updates[i].last);
    struct tt_tensor_source tensor = {.name = tensor_name, .rank = 2, .shape = {rows, 2}, .data = words, .type = "I32"};
    const struct tt_metadata metadata[] = {{"format", "tt"}};
    if (!st) st = tt_safetensors_write(path, &tensor, 1, metadata, 1, &file->size, &file->crc);
    free(words);
    free(path);
    return st;
}

static tt_status other_groups(const char *folder, int64_t there, int64_t here)
{
    return tt_fail(TT_FAILED, "%s was trained with %lld groups of weights, and here there are %lld; give "
                   "--update-level as it was then, or --update all", folder, (long long)there, (long long)here);
}

static tt_status read_file(const char *folder, const struct tt_safetensors *s, struct tt_checkpoint *c)
{
    int64_t rows = rows_of(c);
    const struct tt_tensor *t = tt_safetensors_find(s, tensor_name);
    if (!t || t->rank != 2 || t->shape[1] != 2 || t->shape[0] < 2)
        return tt_fail(TT_FAILED, "%s: %s does not say how often groups were chosen; use another checkpoint", folder,
                       file_name);
    if (t->shape[0] != rows) return other_groups(folder, t->shape[0] - 1, rows - 1);
    int32_t *words = malloc(2 * (size_t)rows * sizeof *words);
    tt_status st = words ? tt_safetensors_read_i32(s, t, words) : tt_no_memory("a checkpoint");
    for (int64_t i = 0; i < rows && !st; i++)
        c->updates[i] = (struct tt_update_group){words[2 * i], words[2 * i + 1]};
    free(words);
    return st;
}

tt_status tt_updates_read(const char *folder, const struct tt_manifest *m, struct tt_checkpoint *c)
{
    const struct tt_manifest_file *f = tt_manifest_find(m, file_name);
    int64_t rows = rows_of(c), updates = m->progress.step - m->progress.skipped;
    if (!f) {
        for (int64_t i = 0; i < rows; i++) c->updates[i] = (struct tt_update_group){updates, updates};
        c->updates[rows - 1] = (struct tt_update_group){0};
        return TT_OK;
    }
    struct tt_safetensors *s = NULL;
    char *path;
    TT_TRY(tt_context(tt_manifest_check_file(folder, f), "%s cannot be used", folder));
    if (asprintf(&path, "%s/%s", folder, file_name) < 0) return tt_no_memory("a checkpoint");
    tt_status st = tt_safetensors_open(path, &s);
    if (!st) st = read_file(folder, s, c);
    tt_safetensors_close(s);
    free(path);
    return st;
}
