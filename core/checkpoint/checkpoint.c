/* Saves checkpoints so that a crash at any moment leaves a complete one.
 *
 * Names in the folder of a run:
 *   step-00000100        complete
 *   step-00000100.tmp    being written or being removed; useless after a crash
 *   step-00000100.old    complete, and about to be replaced by another of the same step; remains only after a crash
 *   step-00000100.damaged, .damaged.1, …   set aside for the user; no longer checkpoints of the run */
#include "core/checkpoint/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/checkpoint/checkpoint_list.h"
#include "core/checkpoint/manifest.h"
#include "core/checkpoint/safetensors.h"
#include "core/checkpoint/safetensors_sharded.h"
#include "core/checkpoint/scales.h"
#include "core/checkpoint/updates.h"

/* ---- writing ---- */

static struct tt_tensor_source source_of(const struct tt_param *p, const char *name, const float *arena)
{
    struct tt_tensor_source t = {.name = name, .rank = p->shape[1] ? 2 : 1, .data = arena + p->offset};
    t.shape[0] = p->shape[0];
    t.shape[1] = p->shape[1];
    return t;
}

/* Whether every rank writes its parts; otherwise rank 0 has everything and writes alone. */
static bool is_sharded(const struct tt_checkpoint *c) { return c->params->sharded[TT_X_MOMENT1]; }

/* Writes the tensors of several arenas to one file; the names of each arena get its prefix. */
static tt_status write_tensors(const char *folder, const char *name, const struct tt_checkpoint *c,
                               const float *const *arenas, const bool *parts, const char *const *prefixes, int n_arenas,
                               struct tt_manifest *m)
{
    int n = c->params->n;
    struct tt_tensor_source *tensors = calloc((size_t)n * (size_t)n_arenas + 1, sizeof *tensors);
    struct tt_placed *places = calloc((size_t)n * (size_t)n_arenas + 1, sizeof *places);
    char(*names)[128] = calloc((size_t)n * (size_t)n_arenas + 1, sizeof *names), *path = NULL;
    char step[24];
    snprintf(step, sizeof step, "%lld", (long long)c->progress.step);
    const struct tt_metadata metadata[] = {{"format", "tt"}, {"step", step}};
    struct tt_manifest_file *file = &m->files[m->n++];
    snprintf(file->name, sizeof file->name, "%s", name);

    tt_status st = TT_OK;
    if (!tensors || !places || !names || asprintf(&path, "%s/%s", folder, name) < 0) st = tt_no_memory("a checkpoint");
    for (int a = 0; a < n_arenas && !st; a++) {
        for (int i = 0; i < n; i++) {
            int at = a * n + i;
            snprintf(names[at], sizeof names[at], "%s%s", prefixes[a], c->params->items[i].name);
            tensors[at] = source_of(&c->params->items[i], names[at], arenas[a]);
            if (parts[a]) tensors[at].data = arenas[a];
            places[at] = (struct tt_placed){c->params->items[i].offset, parts[a]};
        }
    }
    if (is_sharded(c)) {
        st = tt_job_agree(c->job, st);
        if (!st)
            st = tt_safetensors_write_sharded(path, tensors, places, n * n_arenas, metadata, 2, c->params, c->job,
                                              &file->size, &file->crc);
    } else if (!st) {
        st = tt_safetensors_write(path, tensors, n * n_arenas, metadata, 2, &file->size, &file->crc);
    }
    free(tensors);
    free(places);
    free(names);
    free(path);
    return st;
}

static tt_status write_tokenizer(const char *folder, const struct tt_tokenizer *t, struct tt_manifest *m)
{
    struct tt_manifest_file *file = &m->files[m->n++];
    strcpy(file->name, "tokenizer.json");
    char *path;
    if (asprintf(&path, "%s/%s", folder, file->name) < 0) return tt_no_memory("a checkpoint");
    tt_status st = tt_tokenizer_save(t, path);
    if (!st) st = tt_manifest_measure(path, &file->size, &file->crc);
    free(path);
    return st;
}

static tt_status write_folder(const char *folder, const struct tt_checkpoint *c)
{
    struct tt_manifest m = {.progress = c->progress, .config = (char *)c->config, .folder = (char *)c->folder,
                            .timed = c->timed};
    TT_TRY(write_tensors(folder, "model.safetensors", c, (const float *[]){c->w}, c->parts, (const char *[]){""}, 1,
                         &m));
    TT_TRY(write_tensors(folder, "state.safetensors", c, (const float *[]){c->m, c->v}, c->parts + 1,
                         (const char *[]){"m.", "v."}, 2, &m));
    if (!tt_job_leads(c->job)) return TT_OK;
    if (c->updates) TT_TRY(tt_updates_write(folder, c, &m));
    if (c->scales) TT_TRY(tt_scales_write(folder, c, &m));
    if (c->tokenizer) TT_TRY(write_tokenizer(folder, c->tokenizer, &m));
    TT_TRY(tt_manifest_write(folder, &m));
    return tt_sync_dir(folder);
}

/* ---- renaming to the final name ---- */

struct paths {
    char *complete, *old, *temporary;
};

/* An existing checkpoint of the same step is first renamed to .old, which tt_checkpoint_find accepts too. */
static tt_status replace(const char *dir, const struct paths *p)
{
    TT_TRY(tt_remove_tree(p->old));
    if (rename(p->complete, p->old)) return tt_file_error(errno, "replace", p->complete);
    if (rename(p->temporary, p->complete)) {
        tt_status st = tt_file_error(errno, "replace", p->complete);
        (void)!rename(p->old, p->complete);
        return st;
    }
    TT_TRY(tt_sync_dir(dir));
    tt_status_free(tt_remove_tree(p->old)); /* the next save tries again */
    return TT_OK;
}

static tt_status publish(const char *dir, const struct paths *p)
{
    if (tt_is_dir(p->complete)) return replace(dir, p);
    if (rename(p->temporary, p->complete)) return tt_file_error(errno, "write", p->complete);
    return tt_sync_dir(dir);
}

/* ---- cleaning up: the next save retries what fails here ---- */

static void discard(const char *dir, int64_t step, enum tt_checkpoint_kind kind)
{
    char *from = tt_checkpoint_path(dir, step, kind), *to = tt_checkpoint_path(dir, step, TT_CHECKPOINT_TMP);
    /* Rename first, so that a crash does not leave an incomplete folder under the name of a complete one. */
    if (from && to && (kind == TT_CHECKPOINT_TMP || !rename(from, to))) tt_status_free(tt_remove_tree(to));
    free(from);
    free(to);
}

void tt_checkpoint_remove(const char *dir, int64_t step) { discard(dir, step, TT_CHECKPOINT_COMPLETE); }

/* If a crash left only the .old folder of a step, it gets its name back; otherwise it is removed. */
static void settle_old(const char *dir, int64_t step)
{
    char *complete = tt_checkpoint_path(dir, step, TT_CHECKPOINT_COMPLETE),
         *old = tt_checkpoint_path(dir, step, TT_CHECKPOINT_OLD);
    if (complete && old) {
        if (tt_is_dir(complete))
            tt_status_free(tt_remove_tree(old));
        else
            (void)!rename(old, complete);
    }
    free(complete);
    free(old);
}

static bool looks_complete(const char *dir, int64_t step)
{
    struct tt_manifest m = {0};
    char *path = tt_checkpoint_path(dir, step, TT_CHECKPOINT_COMPLETE);
    tt_status st = path ? tt_manifest_read(path, &m) : tt_no_memory("a checkpoint");
    if (!st) st = tt_manifest_check_sizes(path, &m);
    bool complete = !st;
    tt_status_free(st);
    tt_manifest_free(&m);
    free(path);
    return complete;
}

/* Keeps the checkpoint just saved and the newest complete ones. Damaged ones do not count and are not removed. */
static void remove_beyond(const char *dir, int64_t saved, int64_t keep)
{
    struct tt_checkpoint_list l;
    tt_status_free(tt_checkpoint_list(dir, &l));
    int64_t kept = 1;
    for (int i = 0; i < l.n; i++) {
        int64_t step = l.items[i].step;
        if (l.items[i].kind != TT_CHECKPOINT_COMPLETE || step == saved || !looks_complete(dir, step)) continue;
        if (kept < keep)
            kept++;
        else
            discard(dir, step, TT_CHECKPOINT_COMPLETE);
    }
    free(l.items);
}

static void tidy(const char *dir, int64_t saved, int64_t keep)
{
    struct tt_checkpoint_list l;
    tt_status_free(tt_checkpoint_list(dir, &l));
    for (int i = 0; i < l.n; i++) {
        if (l.items[i].kind == TT_CHECKPOINT_OLD) settle_old(dir, l.items[i].step);
        if (l.items[i].kind == TT_CHECKPOINT_TMP) discard(dir, l.items[i].step, TT_CHECKPOINT_TMP);
    }
    free(l.items);
    if (keep > 0) remove_beyond(dir, saved, keep);
}

static bool is_timed(const char *dir, int64_t step)
{
    struct tt_manifest m = {0};
    char *path = tt_checkpoint_path(dir, step, TT_CHECKPOINT_COMPLETE);
    tt_status st = path ? tt_manifest_read(path, &m) : tt_no_memory("a checkpoint");
    bool timed = !st && m.timed;
    tt_status_free(st);
    tt_manifest_free(&m);
    free(path);
    return timed;
}

bool tt_checkpoint_continue_timed(const char *dir, int64_t step)
{
    struct tt_checkpoint_list l;
    bool timed = false;
    tt_status_free(tt_checkpoint_list(dir, &l));
    for (int i = 0; i < l.n; i++) {
        const struct tt_checkpoint_entry *e = &l.items[i];
        if (e->kind != TT_CHECKPOINT_COMPLETE || e->step > step || !is_timed(dir, e->step)) continue;
        if (e->step == step)
            timed = true;
        else
            discard(dir, e->step, TT_CHECKPOINT_COMPLETE);
    }
    free(l.items);
    return timed;
}

/* ---- saving ---- */

/* Rank 0 creates the temporary folder and renames it at the end. In between, rank 0 alone or all ranks write into it.
 * Each rank returns its own status. */
static tt_status make_folder(const char *dir, const struct tt_checkpoint *c, const struct paths *p)
{
    if (!tt_job_leads(c->job)) return TT_OK;
    TT_TRY(tt_make_dirs(dir));
    TT_TRY(tt_remove_tree(p->temporary));
    return tt_make_dirs(p->temporary);
}

static tt_status fill_folder(const char *dir, const struct tt_checkpoint *c, const struct paths *p)
{
    bool leads = tt_job_leads(c->job);
    tt_status st = leads || is_sharded(c) ? write_folder(p->temporary, c) : TT_OK;
    if (!leads) return st;
    if (!st) st = publish(dir, p);
    if (st) tt_status_free(tt_remove_tree(p->temporary));
    return st;
}

tt_status tt_checkpoint_save(const char *dir, const struct tt_checkpoint *c, int64_t keep)
{
    int64_t step = c->progress.step;
    bool writes = tt_job_leads(c->job) || is_sharded(c);
    if (step < 0 || (writes && (!c->w || !c->m || !c->v)))
        return tt_fail(TT_FAILED, "a checkpoint needs a step, weights and moments");
    struct paths p = {tt_checkpoint_path(dir, step, TT_CHECKPOINT_COMPLETE),
                      tt_checkpoint_path(dir, step, TT_CHECKPOINT_OLD),
                      tt_checkpoint_path(dir, step, TT_CHECKPOINT_TMP)};
    tt_status st = p.complete && p.old && p.temporary ? TT_OK : tt_no_memory("a checkpoint");
    if (!st) st = make_folder(dir, c, &p);
    st = tt_job_agree(c->job, st);
    if (!st) st = tt_job_agree(c->job, fill_folder(dir, c, &p));
    if (!st && tt_job_leads(c->job)) tidy(dir, step, keep);
    free(p.complete);
    free(p.old);
    free(p.temporary);
    return tt_context(st, "the checkpoint of step %lld was not saved", (long long)step);
}
