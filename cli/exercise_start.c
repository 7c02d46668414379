/* tt exercise start: a learner's folder. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/exercise.h"
#include "core/base/file.h"
#include "core/base/folder_lock.h"

static bool kept_back(const char *name)
{
    return !strcmp(name, "check.yaml") || !strcmp(name, "hints.md") || !strcmp(name, "solution.md") ||
           !strcmp(name, "report.md");
}

static bool is_markdown(const char *name)
{
    size_t n = strlen(name);
    return n > 3 && !strcmp(name + n - 3, ".md");
}

static tt_status copy_text(const char *text, const char *folder, const char *to)
{
    struct tt_text copy = {0};
    tt_exercise_links(text, folder, kept_back, &copy);
    tt_status st = tt_text_status(&copy);
    if (!st) st = tt_file_replace(to, copy.s, copy.n);
    tt_text_free(&copy);
    return st;
}

static tt_status copy_file(const char *folder, const char *name, const char *to)
{
    char path[2400], *data;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!tt_is_file(path)) return TT_OK;
    TT_TRY(tt_file_read(path, TT_EXERCISE_TEXT, &data, &size));
    tt_status st = is_markdown(name) ? copy_text(data, folder, to) : tt_file_replace(to, data, size);
    free(data);
    return st;
}

static tt_status copy_folder(const char *from, const char *to)
{
    struct dirent **names;
    tt_status st = tt_make_dirs(to);
    if (st) return st;
    int n = scandir(from, &names, NULL, alphasort);
    if (n < 0) return tt_file_error(errno, "read", from);
    for (int i = 0; i < n; i++) {
        char target[2400];
        snprintf(target, sizeof target, "%s/%s", to, names[i]->d_name);
        if (!st && !kept_back(names[i]->d_name)) st = copy_file(from, names[i]->d_name, target);
        free(names[i]);
    }
    free(names);
    return st;
}

static tt_status write_worksheet(const struct tt_exercise *e, const char *folder)
{
    char path[2400];
    struct tt_text sheet = {0};
    snprintf(path, sizeof path, "%s/worksheet.yaml", folder);
    tt_exercise_worksheet(e, &sheet);
    tt_status st = tt_text_status(&sheet);
    if (!st) st = tt_file_replace(path, sheet.s, sheet.n);
    tt_text_free(&sheet);
    return st;
}

static bool taken(const char *folder)
{
    DIR *d = opendir(folder);
    bool any = !d && errno != ENOENT;
    for (struct dirent *e; d && !any && (e = readdir(d));) any = strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    if (d) closedir(d);
    return any;
}

static tt_status use_recorded(const struct tt_exercise_call *k, const struct tt_exercise *e, const char *folder)
{
    int used = 0;
    for (int i = 0; i < e->run_count; i++) {
        char from[2300], to[2300];
        if (!e->runs[i].recorded) continue;
        snprintf(from, sizeof from, "%s/recorded/%s", k->root, e->runs[i].recorded);
        snprintf(to, sizeof to, "%s/%s", folder, e->runs[i].name);
        if (!taken(to)) TT_TRY(copy_folder(from, to));
        printf("run     %s is %s, recorded\n", e->runs[i].name, e->runs[i].recorded);
        used++;
    }
    if (!used) printf("note    there is no recorded run for this exercise\n");
    return TT_OK;
}

static tt_status start_in(const struct tt_exercise_call *k, const struct tt_exercise *e, const char *folder)
{
    int64_t begun = 0;
    if (k->own->recorded) TT_TRY(tt_exercise_noted(folder, &begun));
    if (begun == e->number) return use_recorded(k, e, folder);
    if (taken(folder)) return tt_fail(TT_USAGE, "%s is there already and not empty; name a new folder", folder);
    TT_TRY(copy_folder(e->folder, folder));
    TT_TRY(write_worksheet(e, folder));
    TT_TRY(tt_exercise_note(e, folder));
    printf("exercise %lld: %s, about %lld minutes\n", (long long)e->number, e->title, (long long)e->minutes);
    if (k->own->recorded) TT_TRY(use_recorded(k, e, folder));
    bool below = folder[0] != '/' && strncmp(folder, "../", 3);
    if (below && tt_is_file("exercise.json"))
        printf("note    you are in the folder of an exercise already; the new one lies inside it\n");
    printf("go      cd %s\nfollow  README.md, which has the commands\nfill in worksheet.yaml\nthen    tt exercise "
           "check\n", folder);
    return TT_OK;
}

static tt_status start(const struct tt_exercise_call *k, const struct tt_exercise *e, const char *folder)
{
    int lock;
    TT_TRY(tt_folder_lock(folder, 0, &lock));
    tt_status st = start_in(k, e, folder);
    tt_folder_unlock(&lock);
    return st;
}

tt_status tt_exercise_start(const struct tt_exercise_call *k)
{
    struct tt_exercise e = {0};
    if (k->n != 3)
        return tt_fail(TT_USAGE, "tt exercise start needs a number and a new folder: tt exercise start 1 my-first");
    tt_status st = tt_exercise_open(k, &e);
    if (!st) st = tt_exercise_check_sizes(&e);
    if (!st) st = start(k, &e, k->words[2]);
    tt_exercise_free(&e);
    return st;
}
