/* Finds the newest undamaged checkpoint of a run, and sets damaged ones aside. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/checkpoint/checkpoint.h"
#include "core/checkpoint/checkpoint_list.h"
#include "core/checkpoint/manifest.h"

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

/* Skips a checkpoint only if it is certainly damaged. Skipping an undamaged one that cannot be read right now would
 * lose the steps since the one before it. */
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

/* If a checkpoint disappears while it is read, lists again: a run in progress removes old ones, but then there is a
 * newer one. If there is none, something else removes them: an error. */
static tt_status look_through(struct search *s, const struct tt_checkpoint_list *l, char **path, bool *again)
{
    for (int i = 0; i < l->n; i++) {
        int64_t step = l->items[i].step;
        if (l->items[i].kind == TT_CHECKPOINT_TMP) continue;
        if (step < s->gone) return disappeared(s);
        char *candidate = tt_checkpoint_path(s->dir, step, l->items[i].kind);
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
        struct tt_checkpoint_list l;
        again = false;
        st = tt_checkpoint_list(dir, &l);
        if (!st) st = look_through(&s, &l, path, &again);
        free(l.items);
    }
    if (st || *path) return st;
    if (s.gone >= 0) return disappeared(&s);
    if (!s.skipped) return TT_OK;
    return tt_fail(TT_DAMAGED,
                   "every checkpoint in %s is damaged; restore one, or start a new run with another --out; to "
                   "generate, evaluate or export with one whose weights are intact, name it, such as %s/step-00000100",
                   dir, dir);
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
    snprintf(line, sizeof line, "renamed the damaged checkpoint %s to %s; remove it if you do not need it", path, to);
    if (!rename(path, to) && warn) warn(line, arg);
    free(to);
}

void tt_checkpoint_set_aside(const char *dir, int64_t after, void (*warn)(const char *line, void *arg), void *arg)
{
    struct tt_checkpoint_list l;
    tt_status_free(tt_checkpoint_list(dir, &l));
    for (int i = 0; i < l.n && l.items[i].step > after; i++) {
        if (l.items[i].kind != TT_CHECKPOINT_COMPLETE) continue;
        char *path = tt_checkpoint_path(dir, l.items[i].step, TT_CHECKPOINT_COMPLETE);
        tt_status bad = path ? verify(path, l.items[i].step) : TT_OK;
        if (bad && bad->code == TT_DAMAGED) rename_damaged(path, warn, arg);
        tt_status_free(bad);
        free(path);
    }
    free(l.items);
}
