#include "core/data/sources.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/grow.h"
#include "core/data/token_file.h"

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static tt_status add_path(struct tt_sources *s, const char *path)
{
    char *copy = strdup(path);
    if (copy && tt_grow(&s->paths, sizeof *s->paths, (size_t)s->count, &s->room)) {
        s->paths[s->count++] = copy;
        return TT_OK;
    }
    free(copy);
    return tt_no_memory("the names of files");
}

static tt_status add_pattern(struct tt_sources *s, const char *pattern)
{
    glob_t found = {0};
    tt_status st = TT_OK;
    int error = glob(pattern, GLOB_NOSORT, NULL, &found);
    if (error == GLOB_NOMATCH)
        st = tt_fail(TT_USAGE,
                     "no file matches %s; check the pattern, and quote it with '' so that the shell leaves it as it is",
                     pattern);
    else if (error)
        st = tt_fail(TT_FAILED, "cannot look for files that match %s; check the folder and its permissions", pattern);
    for (size_t i = 0; !st && i < found.gl_pathc; i++) st = add_path(s, found.gl_pathv[i]);
    globfree(&found);
    return st;
}

static bool called_text(const char *name)
{
    static const char *const ends[] = {".txt", ".text", ".md", ".jsonl", ".ndjson"};
    static const char *const packed[] = {"", ".gz", ".zst"};
    char end[16];
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 3; k++) {
            size_t n = strlen(name), m = (size_t)snprintf(end, sizeof end, "%s%s", ends[i], packed[k]);
            if (n > m && !strcmp(name + n - m, end)) return true;
        }
    return false;
}

static tt_status add_entry(struct tt_sources *s, const char *folder, const char *name)
{
    char path[4096];
    if (name[0] == '.' || snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return TT_OK;
    s->unread += tt_is_dir(path);
    return called_text(name) && tt_is_file(path) ? add_path(s, path) : TT_OK;
}

static tt_status no_text(const char *folder, bool has_folders)
{
    if (has_folders)
        return tt_fail(TT_USAGE, "%s has folders but no text (.txt, .md, .jsonl, also .gz or .zst) itself, and "
                                 "folders in a folder are not read; give one of them, or a pattern such as "
                                 "'%s/*/*.txt'",
                       folder, folder);
    return tt_fail(TT_USAGE, "%s is a folder without text (.txt, .md, .jsonl, also .gz or .zst); give a file, or a "
                             "pattern such as '%s/train_*.bin'",
                   folder, folder);
}

static tt_status add_folder(struct tt_sources *s, const char *folder)
{
    int before = s->count, unread = s->unread;
    tt_status st = TT_OK;
    DIR *d = opendir(folder);
    if (!d) return tt_file_error(errno, "open", folder);
    for (const struct dirent *e = NULL; !st && (e = readdir(d));) st = add_entry(s, folder, e->d_name);
    closedir(d);
    return !st && s->count == before ? no_text(folder, s->unread > unread) : st;
}

tt_status tt_sources_add(struct tt_sources *s, const char *source)
{
    int before = s->count;
    if (strpbrk(source, "*?[") && !tt_is_file(source) && !tt_is_dir(source))
        TT_TRY(add_pattern(s, source));
    else
        TT_TRY(tt_is_dir(source) ? add_folder(s, source) : add_path(s, source));
    qsort(s->paths + before, (size_t)(s->count - before), sizeof *s->paths, by_name);
    return TT_OK;
}

void tt_sources_free(struct tt_sources *s)
{
    for (int i = 0; i < s->count; i++) free(s->paths[i]);
    free(s->paths);
    *s = (struct tt_sources){0};
}

tt_status tt_sources_sniff(const struct tt_sources *s, const char *source, bool *are_tokens)
{
    static const char *const kind[] = {"text", "a token file"};
    for (int i = 0; i < s->count; i++) {
        bool is = false;
        TT_TRY(tt_token_file_sniff(s->paths[i], &is));
        if (!i) *are_tokens = is;
        if (is != *are_tokens)
            return tt_fail(TT_USAGE, "%s, which matches %s, is %s, and %s is %s; give files of one kind", s->paths[i],
                           source, kind[is], s->paths[0], kind[!is]);
    }
    return TT_OK;
}
