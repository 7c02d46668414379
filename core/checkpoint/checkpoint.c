/* Checkpoints: saved so that a crash at any moment leaves a whole one, and found again by what is really undamaged.
 *
 * Names in the folder of a run:
 *   step-00000100        complete
 *   step-00000100.tmp    being written or being removed; worth nothing after a crash
 *   step-00000100.old    complete, while another of the same step takes its place; only a crash in between leaves it
 *   step-00000100.damaged, .damaged.1, …   set aside for their owner; not checkpoints of the run any more */
#include "core/checkpoint/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/grow.h"
#include "core/checkpoint/manifest.h"
#include "core/checkpoint/safetensors.h"
#include "core/checkpoint/together.h"
#include "core/checkpoint/updates.h"

/* ---- names ---- */

enum kind { COMPLETE, OLD, TEMPORARY, KINDS };

static const char *const suffixes[KINDS] = {"", ".old", ".tmp"};

struct entry {
    int64_t step;
    enum kind kind;
};

struct listing {
    struct entry *items;
    int n;
    size_t room;
};

static char *path_of(const char *dir, int64_t step, enum kind kind)
{
    char *path;
    return asprintf(&path, "%s/step-%08lld%s", dir, (long long)step, suffixes[kind]) < 0 ? NULL : path;
}

/* Only names that this program writes: anything else in the folder is not ours. */
static bool parse_name(const char *name, struct entry *e)
{
    if (strncmp(name, "step-", 5) != 0 || strlen(name) > 32 || name[5] < '0' || name[5] > '9') return false;
    errno = 0;
    e->step = strtoll(name + 5, NULL, 10);
    if (errno) return false;
    for (e->kind = 0; e->kind < KINDS; e->kind++) {
        char canonical[48];
        snprintf(canonical, sizeof canonical, "step-%08lld%s", (long long)e->step, suffixes[e->kind]);
        if (!strcmp(name, canonical)) return true;
    }
    return false;
}

static int newest_first(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->step != y->step) return x->step > y->step ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

static bool append(struct listing *l, struct entry e)
{
    if (!tt_grow(&l->items, sizeof *l->items, (size_t)l->n, &l->room)) return false;
    l->items[l->n++] = e;
    return true;
}

/* Newest first; of one step the complete one first. A folder that does not exist holds none. */
static tt_status list(const char *dir, struct listing *l)
{
    *l = (struct listing){0};
    DIR *d = opendir(dir);
    if (!d) return errno == ENOENT ? TT_OK : tt_file_error(errno, "look for checkpoints in", dir);
    tt_status st = TT_OK;
    struct entry e;
    errno = 0;
    for (struct dirent *f; !st && (f = readdir(d)); errno = 0)
        if (parse_name(f->d_name, &e) && !append(l, e)) st = tt_no_memory("a checkpoint");
    if (!st && errno) st = tt_file_error(errno, "look for checkpoints in", dir);
    closedir(d);
    if (l->n) qsort(l->items, (size_t)l->n, sizeof *l->items, newest_first);
    return st;
}

/* ---- writing ---- */

static struct tt_tensor_source source_of(const struct tt_param *p, const char *name, const float *arena)
{
    struct tt_tensor_source t = {.name = name, .rank = p->shape[1] ? 2 : 1, .data = arena + p->offset};
    t.shape[0] = p->shape[0];
    t.shape[1] = p->shape[1];
    return t;
}

/* Whether every rank writes what it has; else rank 0 has all of it, and writes alone. */
static bool together(const struct tt_checkpoint *c) { return c->params->sharded[TT_X_MOMENT1]; }

/* The arenas one after the other, the names of each behind its prefix. */
static tt_status write_tensors(const char *folder, const char *name, const struct tt_checkpoint *c,
                               const float *const *arenas, const char *const *prefixes, int n_arenas,
                               struct tt_manifest *m)
{
    int n = c->params->n;
    struct tt_tensor_source *tensors = calloc((size_t)n * (size_t)n_arenas + 1, sizeof *tensors);
    int64_t *offsets = calloc((size_t)n * (size_t)n_arenas + 1, sizeof *offsets);
    char(*names)[128] = calloc((size_t)n * (size_t)n_arenas + 1, sizeof *names), *path = NULL;
    char step[24];
    snprintf(step, sizeof step, "%lld", (long long)c->progress.step);
    const struct tt_metadata metadata[] = {{"format", "tt"}, {"step", step}};
    struct tt_manifest_file *file = &m->files[m->n++];
    snprintf(file->name, sizeof file->name, "%s", name);

    tt_status st = TT_OK;
    if (!tensors || !offsets || !names || asprintf(&path, "%s/%s", folder, name) < 0) st = tt_no_memory("a checkpoint");
    for (int a = 0; a < n_arenas && !st; a++) {
        for (int i = 0; i < n; i++) {
            int at = a * n + i;
            snprintf(names[at], sizeof names[at], "%s%s", prefixes[a], c->params->items[i].name);
            tensors[at] = source_of(&c->params->items[i], names[at], arenas[a]);
            offsets[at] = c->params->items[i].offset;
        }
    }
    if (together(c)) {
        st = tt_job_agree(c->job, st);
        if (!st)
            st = tt_safetensors_write_together(path, tensors, offsets, n * n_arenas, metadata, 2, c->params, c->job,
                                               &file->size, &file->crc);
    } else if (!st) {
        st = tt_safetensors_write(path, tensors, n * n_arenas, metadata, 2, &file->size, &file->crc);
    }
    free(tensors);
    free(offsets);
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
    struct tt_manifest m = {.progress = c->progress, .config = (char *)c->config, .folder = (char *)c->folder};
    TT_TRY(write_tensors(folder, "model.safetensors", c, (const float *[]){c->w}, (const char *[]){""}, 1, &m));
    TT_TRY(write_tensors(folder, "state.safetensors", c, (const float *[]){c->m, c->v}, (const char *[]){"m.", "v."}, 2,
                         &m));
    if (!tt_job_leads(c->job)) return TT_OK;
    if (c->updates) TT_TRY(tt_updates_write(folder, c, &m));
    if (c->tokenizer) TT_TRY(write_tokenizer(folder, c->tokenizer, &m));
    TT_TRY(tt_manifest_write(folder, &m));
    return tt_sync_dir(folder);
}

/* ---- putting it in place ---- */

struct paths {
    char *complete, *old, *temporary;
};

/* A checkpoint of the same step is renamed, to a name that find() knows, until the new one is in place. */
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

/* ---- tidying up: what fails here is tried again after the next save ---- */

static void discard(const char *dir, int64_t step, enum kind kind)
{
    char *from = path_of(dir, step, kind), *to = path_of(dir, step, TEMPORARY);
    /* renamed first: a crash in the middle must not leave half of it under the name of a complete one */
    if (from && to && (kind == TEMPORARY || !rename(from, to))) tt_status_free(tt_remove_tree(to));
    free(from);
    free(to);
}

void tt_checkpoint_remove(const char *dir, int64_t step) { discard(dir, step, COMPLETE); }

/* Where a crash left only the old one of a step, it gets its name back. */
static void settle_old(const char *dir, int64_t step)
{
    char *complete = path_of(dir, step, COMPLETE), *old = path_of(dir, step, OLD);
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
    char *path = path_of(dir, step, COMPLETE);
    tt_status st = path ? tt_manifest_read(path, &m) : tt_no_memory("a checkpoint");
    if (!st) st = tt_manifest_check_sizes(path, &m);
    bool complete = !st;
    tt_status_free(st);
    tt_manifest_free(&m);
    free(path);
    return complete;
}

/* The one just saved is known to be good and always stays. Damaged ones do not count, and are left for their owner. */
static void remove_beyond(const char *dir, int64_t saved, int64_t keep)
{
    struct listing l;
    tt_status_free(list(dir, &l));
    int64_t kept = 1;
    for (int i = 0; i < l.n; i++) {
        int64_t step = l.items[i].step;
        if (l.items[i].kind != COMPLETE || step == saved || !looks_complete(dir, step)) continue;
        if (kept < keep)
            kept++;
        else
            discard(dir, step, COMPLETE);
    }
    free(l.items);
}

static void tidy(const char *dir, int64_t saved, int64_t keep)
{
    struct listing l;
    tt_status_free(list(dir, &l));
    for (int i = 0; i < l.n; i++) {
        if (l.items[i].kind == OLD) settle_old(dir, l.items[i].step);
        if (l.items[i].kind == TEMPORARY) discard(dir, l.items[i].step, TEMPORARY);
    }
    free(l.items);
    if (keep > 0) remove_beyond(dir, saved, keep);
}

/* Rank 0 prepares the folder and puts it in place; what is written in it in between is written by it alone, or by all
 * ranks. Each returns what it knows itself. */
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
    tt_status st = leads || together(c) ? write_folder(p->temporary, c) : TT_OK;
    if (!leads) return st;
    if (!st) st = publish(dir, p);
    if (st) tt_status_free(tt_remove_tree(p->temporary));
    return st;
}

tt_status tt_checkpoint_save(const char *dir, const struct tt_checkpoint *c, int64_t keep)
{
    int64_t step = c->progress.step;
    bool writes = tt_job_leads(c->job) || together(c);
    if (step < 0 || (writes && (!c->w || !c->m || !c->v)))
        return tt_fail(TT_FAILED, "a checkpoint needs a step, weights and moments");
    struct paths p = {path_of(dir, step, COMPLETE), path_of(dir, step, OLD), path_of(dir, step, TEMPORARY)};
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

/* ---- finding ---- */

static tt_status verify(const char *path, int64_t step)
{
    struct tt_manifest m;
    TT_TRY(tt_manifest_read(path, &m));
    tt_status st = tt_manifest_check_sizes(path, &m);
    if (!st && m.progress.step != step)
        st = tt_fail(TT_DAMAGED, "it was saved at step %lld; rename the folder", (long long)m.progress.step);
    if (!st && !tt_manifest_find(&m, "state.safetensors"))
        st = tt_fail(TT_DAMAGED, "checkpoint.json lists no state.safetensors");
    for (int i = 0; i < m.n && !st; i++) st = tt_manifest_check_file(path, &m.files[i]);
    tt_manifest_free(&m);
    return st;
}

static void tell(void (*warn)(const char *, void *), void *arg, const char *path, const char *why)
{
    char line[1500];
    snprintf(line, sizeof line, "skipping the damaged checkpoint %s: %s", path, why);
    if (warn) warn(line, arg);
}

struct search {
    const char *dir;
    void (*warn)(const char *line, void *arg);
    void *arg;
    int skipped;
    int64_t gone; /* step of one that was removed while it was read; -1: none */
};

static bool is_gone(const char *path)
{
    enum tt_file_kind kind;
    tt_status st = tt_file_kind(path, &kind);
    bool gone = !st && kind == TT_NO_FILE;
    tt_status_free(st);
    return gone;
}

static tt_status disappeared(const struct search *s)
{
    return tt_fail(TT_FAILED,
                   "%s/step-%08lld disappeared while it was read; see what removes checkpoints there, and try again",
                   s->dir, (long long)s->gone);
}

/* Only what is certainly damaged is passed over: whatever keeps a good one from being read now would cost the steps
 * since the one before. */
static tt_status pass_over(struct search *s, const char *path, int64_t step, tt_status why, bool *again)
{
    *again = is_gone(path);
    if (!*again && why->code != TT_DAMAGED) {
        why->code = TT_FAILED;
        return tt_context(why, "the checkpoint %s cannot be read, and is left as it is", path);
    }
    if (*again)
        s->gone = step;
    else
        tell(s->warn, s->arg, path, why->text), s->skipped++;
    tt_status_free(why);
    return TT_OK;
}

/* A run that is going on removes old ones, but then there are newer ones. */
static tt_status look_through(struct search *s, const struct listing *l, char **path, bool *again)
{
    for (int i = 0; i < l->n; i++) {
        int64_t step = l->items[i].step;
        if (l->items[i].kind == TEMPORARY) continue;
        if (step < s->gone) return disappeared(s);
        char *candidate = path_of(s->dir, step, l->items[i].kind);
        if (!candidate) return tt_no_memory("a checkpoint");
        tt_status st = verify(candidate, step);
        if (!st) {
            *path = candidate;
            return TT_OK;
        }
        st = pass_over(s, candidate, step, st, again);
        free(candidate);
        if (st || *again) return st;
    }
    return TT_OK;
}

tt_status tt_checkpoint_find(const char *dir, void (*warn)(const char *line, void *arg), void *arg, char **path)
{
    enum { TRIES = 10 };
    struct search s = {.dir = dir, .warn = warn, .arg = arg, .gone = -1};
    tt_status st = TT_OK;
    bool again = true;
    *path = NULL;
    for (int i = 0; i < TRIES && again && !st; i++) {
        struct listing l;
        again = false;
        st = list(dir, &l);
        if (!st) st = look_through(&s, &l, path, &again);
        free(l.items);
    }
    if (st || *path) return st;
    if (s.gone >= 0) return disappeared(&s);
    if (!s.skipped) return TT_OK;
    return tt_fail(TT_DAMAGED, "every checkpoint in %s is damaged; restore one, or start anew with another --out", dir);
}

/* ---- setting aside ---- */

static void rename_damaged(const char *path, void (*warn)(const char *, void *), void *arg)
{
    char line[1500], number[24] = "", *to = NULL;
    for (int i = 1;; i++) {
        if (asprintf(&to, "%s.damaged%s", path, number) < 0) return;
        if (access(to, F_OK)) break;
        free(to);
        snprintf(number, sizeof number, ".%d", i);
    }
    snprintf(line, sizeof line, "the damaged checkpoint %s is now %s; remove it when it is of no use", path, to);
    if (!rename(path, to) && warn) warn(line, arg);
    free(to);
}

void tt_checkpoint_set_aside(const char *dir, int64_t after, void (*warn)(const char *line, void *arg), void *arg)
{
    struct listing l;
    tt_status_free(list(dir, &l));
    for (int i = 0; i < l.n && l.items[i].step > after; i++) {
        if (l.items[i].kind != COMPLETE) continue;
        char *path = path_of(dir, l.items[i].step, COMPLETE);
        tt_status bad = path ? verify(path, l.items[i].step) : TT_OK;
        if (bad && bad->code == TT_DAMAGED) rename_damaged(path, warn, arg);
        tt_status_free(bad);
        free(path);
    }
    free(l.items);
}
