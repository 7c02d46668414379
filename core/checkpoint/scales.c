#include "core/checkpoint/scales.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/kernels.h"
#include "core/checkpoint/safetensors.h"

static const char file_name[] = "scales.safetensors", tensor_name[] = "scales";

/* The rows of the tensor: the scales of the next step as they lie in memory, then one row per step of the history. */
enum { ROWS = TT_FP8_APART + TT_FP8_HISTORY };

tt_status tt_scales_write(const char *folder, const struct tt_checkpoint *c, struct tt_manifest *m)
{
    char *path;
    struct tt_manifest_file *file = &m->files[m->n++];
    snprintf(file->name, sizeof file->name, "%s", file_name);
    if (asprintf(&path, "%s/%s", folder, file_name) < 0) return tt_no_memory("a checkpoint");
    struct tt_tensor_source tensor = {.name = tensor_name, .rank = 2, .shape = {ROWS, c->scale_count},
                                      .data = c->scales};
    const struct tt_metadata metadata[] = {{"format", "tt"}};
    tt_status st = tt_safetensors_write(path, &tensor, 1, metadata, 1, &file->size, &file->crc);
    free(path);
    return st;
}

static tt_status read_file(const struct tt_safetensors *s, struct tt_checkpoint *c)
{
    const struct tt_tensor *t = tt_safetensors_find(s, tensor_name);
    bool fits = t && t->rank == 2 && t->shape[0] == ROWS && t->shape[1] == c->scale_count && !strcmp(t->type, "F32");
    if (fits) TT_TRY(tt_safetensors_read(s, t, c->scales));
    c->scales_found = fits;
    return TT_OK;
}

tt_status tt_scales_read(const char *folder, const struct tt_manifest *m, struct tt_checkpoint *c)
{
    const struct tt_manifest_file *f = tt_manifest_find(m, file_name);
    struct tt_safetensors *s = NULL;
    char *path;
    c->scales_found = false;
    if (!f) return TT_OK;
    TT_TRY(tt_context(tt_manifest_check_file(folder, f), "%s cannot be used", folder));
    if (asprintf(&path, "%s/%s", folder, file_name) < 0) return tt_no_memory("a checkpoint");
    tt_status st = tt_safetensors_open(path, &s);
    if (!st) st = read_file(s, c);
    tt_safetensors_close(s);
    free(path);
    return st;
}
