#include "core/checkpoint/checkpoint_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/grow.h"

static const char *const suffixes[TT_CHECKPOINT_KINDS] = {"", ".old", ".tmp"};

char *tt_checkpoint_path(const char *dir, int64_t step, enum tt_checkpoint_kind kind)
{
    char *path;
    return asprintf(&path, "%s/step-%08lld%s", dir, (long long)step, suffixes[kind]) < 0 ? NULL : path;
}

/* Accepts only names that this program writes; other files in the folder belong to the user. */
static bool parse_name(const char *name, struct tt_checkpoint_entry *e)
{
    if (strncmp(name, "step-", 5) != 0 || strlen(name) > 32 || name[5] < '0' || name[5] > '9') return false;
    errno = 0;
    e->step = strtoll(name + 5, NULL, 10);
    if (errno) return false;
    for (e->kind = 0; e->kind < TT_CHECKPOINT_KINDS; e->kind++) {
        char canonical[48];
        snprintf(canonical, sizeof canonical, "step-%08lld%s", (long long)e->step, suffixes[e->kind]);
        if (!strcmp(name, canonical)) return true;
    }
    return false;
}

static int newest_first(const void *a, const void *b)
{
    const struct tt_checkpoint_entry *x = a, *y = b;
    if (x->step != y->step) return x->step > y->step ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

static bool append(struct tt_checkpoint_list *l, struct tt_checkpoint_entry e)
{
    if (!tt_grow(&l->items, sizeof *l->items, (size_t)l->n, &l->room)) return false;
    l->items[l->n++] = e;
    return true;
}

tt_status tt_checkpoint_list(const char *dir, struct tt_checkpoint_list *l)
{
    *l = (struct tt_checkpoint_list){0};
    DIR *d = opendir(dir);
    if (!d) return errno == ENOENT ? TT_OK : tt_file_error(errno, "look for checkpoints in", dir);
    tt_status st = TT_OK;
    struct tt_checkpoint_entry e;
    errno = 0;
    for (struct dirent *f; !st && (f = readdir(d)); errno = 0)
        if (parse_name(f->d_name, &e) && !append(l, e)) st = tt_no_memory("a checkpoint");
    if (!st && errno) st = tt_file_error(errno, "look for checkpoints in", dir);
    closedir(d);
    if (l->n) qsort(l->items, (size_t)l->n, sizeof *l->items, newest_first);
    return st;
}
