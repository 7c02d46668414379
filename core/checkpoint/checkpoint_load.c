/* Loads a checkpoint. Checksums, names and shapes are all checked before the first float is written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checkpoint/arena.h"
#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/manifest.h"
#include "core/checkpoint/safetensors.h"
#include "core/checkpoint/scales.h"
#include "core/checkpoint/updates.h"

static tt_status mismatch(const char *path, const char *name, const char *there, const char *here)
{
    return tt_fail(TT_USAGE,
                   "%s does not fit this model: tensor '%.200s' is %s in the checkpoint and %s here; leave out the "
                   "options that give the model another shape, or train a new one",
                   path, name, there, here);
}

static tt_status check_param(const char *path, const struct tt_safetensors *s, const char *name,
                             const struct tt_param *p)
{
    char here[128], there[128];
    int rank = p->shape[1] ? 2 : 1;
    const struct tt_tensor *t = tt_safetensors_find(s, name);
    bool same_shape = t && t->rank == rank && !memcmp(t->shape, p->shape, (size_t)rank * sizeof p->shape[0]);
    if (same_shape && !strcmp(t->type, "F32")) return TT_OK;
    tt_tensor_shape_text(rank, p->shape, here, sizeof here);
    if (!t) return mismatch(path, name, "missing", here);
    tt_tensor_shape_text(t->rank, t->shape, there, sizeof there);
    size_t n = strlen(there);
    if (strcmp(t->type, "F32") != 0) snprintf(there + n, sizeof there - n, " of %s", t->type);
    return mismatch(path, name, there, here);
}

static bool is_param(const struct tt_params *params, const char *name)
{
    for (int i = 0; i < params->n; i++)
        if (!strcmp(params->items[i].name, name)) return true;
    return false;
}

static tt_status name_the_extra(const char *path, const struct tt_safetensors *s, const struct tt_params *params,
                                const char *const *prefixes, int n)
{
    for (int i = 0; i < tt_safetensors_count(s); i++) {
        const struct tt_tensor *t = tt_safetensors_at(s, i);
        bool known = false;
        for (int a = 0; a < n && !known; a++) {
            size_t skip = strlen(prefixes[a]);
            known = !strncmp(t->name, prefixes[a], skip) && is_param(params, t->name + skip);
        }
        if (known) continue;
        char there[128];
        tt_tensor_shape_text(t->rank, t->shape, there, sizeof there);
        return mismatch(path, t->name, there, "missing");
    }
    return TT_OK;
}

/* The file must hold exactly the tensors of the parameter table, once for each prefix. */
static tt_status check_tensors(const char *path, const struct tt_safetensors *s, const struct tt_params *params,
                               const char *const *prefixes, int n)
{
    for (int a = 0; a < n; a++) {
        for (int i = 0; i < params->n; i++) {
            char name[128];
            snprintf(name, sizeof name, "%s%s", prefixes[a], params->items[i].name);
            TT_TRY(check_param(path, s, name, &params->items[i]));
        }
    }
    return tt_safetensors_count(s) == n * params->n ? TT_OK : name_the_extra(path, s, params, prefixes, n);
}

/* Fills one piece of the arena. The padding between tensors becomes 0, as in a new arena. All tensors are F32. */
static tt_status fill_piece(const struct tt_safetensors *s, const struct tt_params *params, const char *prefix,
                            int64_t begin, int64_t count, float *arena)
{
    memset(arena + begin, 0, (size_t)count * sizeof *arena);
    for (int i = 0; i < params->n; i++) {
        const struct tt_param *p = &params->items[i];
        int64_t from = p->offset > begin ? p->offset : begin, end = p->offset + p->count;
        if (end > begin + count) end = begin + count;
        if (from >= end) continue;
        char name[128];
        snprintf(name, sizeof name, "%s%s", prefix, p->name);
        struct tt_tensor t = *tt_safetensors_find(s, name);
        t.offset += (uint64_t)(from - p->offset) * sizeof *arena;
        t.count = end - from;
        t.size = (uint64_t)t.count * sizeof *arena;
        TT_TRY(tt_safetensors_read(s, &t, arena + from));
    }
    return TT_OK;
}

/* Fills an array of the arena; if it is sharded, only this rank's parts of it. */
static tt_status fill(const struct tt_safetensors *s, const struct tt_params *params, enum tt_external x,
                      const char *prefix, float *arena)
{
    if (!params->sharded[x]) return fill_piece(s, params, prefix, 0, params->total, arena);
    for (int i = 0; i < params->bucket_count; i++) {
        struct tt_part part = tt_part_of(params, i);
        TT_TRY(fill_piece(s, params, prefix, part.begin, part.count, arena));
    }
    return TT_OK;
}

/* If there are several ranks, only rank 0 reads the whole file for its checksum. */
static tt_status check_file(const char *path, const struct tt_manifest *m, const struct tt_manifest_file *f, int rank)
{
    tt_status st = rank ? tt_manifest_check_sizes(path, m) : tt_manifest_check_file(path, f);
    return tt_context(st, "%s cannot be used", path);
}

static tt_status open_checked(const char *path, const struct tt_manifest *m, const char *name,
                              const struct tt_params *params, const char *const *prefixes, int n,
                              struct tt_safetensors **out)
{
    const struct tt_manifest_file *f = tt_manifest_find(m, name);
    if (!f) return tt_fail(TT_FAILED, "%s: checkpoint.json lists no %s; use another checkpoint", path, name);
    TT_TRY(check_file(path, m, f, params->rank));
    char *file;
    if (asprintf(&file, "%s/%s", path, name) < 0) return tt_no_memory("a checkpoint");
    tt_status st = tt_safetensors_open(file, out);
    free(file);
    if (st) st->code = TT_FAILED; /* not TT_USAGE: the file existed when it was checked */
    return st ? st : check_tensors(path, *out, params, prefixes, n);
}

static tt_status load_tensors(const char *path, const struct tt_manifest *m, struct tt_checkpoint *c)
{
    static const char *const none[] = {""}, *const moments[] = {"m.", "v."};
    struct tt_safetensors *model = NULL, *state = NULL;
    tt_status st;
    TT_GOTO(st, done, open_checked(path, m, "model.safetensors", c->params, none, 1, &model));
    if (c->m || c->v) TT_GOTO(st, done, open_checked(path, m, "state.safetensors", c->params, moments, 2, &state));
    if (c->updates) TT_GOTO(st, done, tt_updates_read(path, m, c));
    if (c->scales) TT_GOTO(st, done, tt_scales_read(path, m, c));
    TT_GOTO(st, done, fill(model, c->params, TT_X_WEIGHTS, "", c->w));
    if (c->m) TT_GOTO(st, done, fill(state, c->params, TT_X_MOMENT1, "m.", c->m));
    if (c->v) TT_GOTO(st, done, fill(state, c->params, TT_X_MOMENT2, "v.", c->v));
done:
    tt_safetensors_close(model);
    tt_safetensors_close(state);
    return st;
}

tt_status tt_checkpoint_peek(const char *path, struct tt_progress *progress, char **config)
{
    struct tt_manifest m;
    *config = NULL;
    TT_TRY(tt_context(tt_manifest_read(path, &m), "%s cannot be used", path));
    *progress = m.progress;
    *config = m.config;
    free(m.folder);
    return TT_OK;
}

tt_status tt_checkpoint_folder(const char *path, char **folder)
{
    struct tt_manifest m;
    *folder = NULL;
    TT_TRY(tt_context(tt_manifest_read(path, &m), "%s cannot be used", path));
    *folder = m.folder;
    free(m.config);
    return TT_OK;
}

tt_status tt_checkpoint_load(const char *path, struct tt_checkpoint *c)
{
    struct tt_manifest m;
    TT_TRY(tt_context(tt_manifest_read(path, &m), "%s cannot be used", path));
    const struct tt_manifest_file *tokenizer = tt_manifest_find(&m, "tokenizer.json");
    tt_status st = tokenizer ? tt_context(tt_manifest_check_file(path, tokenizer), "%s cannot be used", path) : TT_OK;
    if (!st) st = load_tensors(path, &m, c);
    if (st) {
        tt_manifest_free(&m);
        return st;
    }
    c->progress = m.progress;
    c->config = m.config;
    free(m.folder);
    return TT_OK;
}
