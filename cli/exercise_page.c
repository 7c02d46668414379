/* tt exercise page: what a learner did, as a page for a browser; and the page of a class that is written again and
 * again. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/exercise.h"
#include "core/base/file.h"
#include "exercises/engine/page.h"

enum { FOLDERS = 64, COURSE = 64 }; /* more than anybody has */

struct found {
    char folders[FOLDERS][1024];
    int n;
};

/* ---- which folders ---- */

static tt_status add_folder(struct found *f, const char *path)
{
    if (f->n == FOLDERS) return tt_fail(TT_USAGE, "more than %d folders of exercises; give fewer at a time", FOLDERS);
    snprintf(f->folders[f->n++], sizeof *f->folders, "%s", path);
    return TT_OK;
}

static bool is_started(const char *folder)
{
    int64_t number = 0;
    tt_status_free(tt_exercise_noted(folder, &number));
    return number > 0;
}

/* Adds the folder itself if an exercise was started in it, else the folders in it where one was, sorted by name. */
static tt_status find_folders(struct found *f, const char *folder)
{
    struct dirent **names;
    tt_status st = TT_OK;
    int before = f->n, n;
    if (!tt_is_dir(folder)) return tt_fail(TT_USAGE, "%s is no folder", folder);
    if (is_started(folder)) return add_folder(f, folder);
    n = scandir(folder, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char path[1400];
        bool here = !strcmp(folder, ".");
        snprintf(path, sizeof path, "%s%s%s", here ? "" : folder, here ? "" : "/", names[i]->d_name);
        if (!st && names[i]->d_name[0] != '.' && strlen(path) < 1024 && is_started(path)) st = add_folder(f, path);
        free(names[i]);
    }
    if (n >= 0) free(names);
    if (!st && f->n == before)
        st = tt_fail(TT_USAGE,
                     "%s is not the folder of an exercise, and holds none; make one with: tt exercise start 1 DIR",
                     folder);
    return st;
}

/* ---- what they hold ---- */

static tt_status mark_part(const struct tt_exercise_call *k, struct tt_page_part *part)
{
    char recorded[1200];
    snprintf(recorded, sizeof recorded, "%s/recorded", k->root);
    TT_TRY(tt_exercise_open_in(k, part->folder, &part->exercise));
    tt_status st = tt_exercise_mark(&part->exercise, part->folder, recorded, &part->marked);
    if (st) snprintf(part->failure, sizeof part->failure, "%s", st->text);
    tt_status_free(st);
    return TT_OK;
}

static tt_status take_exercise(const struct tt_exercise *e, void *context)
{
    struct tt_page *p = context;
    if (p->course_count == COURSE) return TT_OK;
    return tt_exercise_read(e->folder, &p->course[p->course_count++]);
}

static int by_number(const void *a, const void *b)
{
    const struct tt_page_part *x = a, *y = b;
    return (x->exercise.number > y->exercise.number) - (x->exercise.number < y->exercise.number);
}

static tt_status write_page(const struct tt_exercise_call *k, struct tt_page *p, const struct found *f)
{
    const char *path = k->own->html[0] ? k->own->html : "page.html";
    TT_TRY(tt_exercise_each(k, take_exercise, p));
    for (int i = 0; i < f->n; i++) {
        p->parts[i].folder = f->folders[i];
        p->part_count++;
        TT_TRY(mark_part(k, &p->parts[i]));
    }
    qsort(p->parts, (size_t)p->part_count, sizeof *p->parts, by_number);
    for (int i = 0; i < p->part_count; i++) p->parts[i].marked.exercise = &p->parts[i].exercise;
    TT_TRY(tt_page_write(p, path));
    printf("page    %s, of %d folder%s\n", path, p->part_count, p->part_count == 1 ? "" : "s");
    return TT_OK;
}

tt_status tt_exercise_page(const struct tt_exercise_call *k)
{
    struct found *f = calloc(1, sizeof *f);
    struct tt_page p = {.course = calloc(COURSE, sizeof *p.course), .parts = calloc(FOLDERS, sizeof *p.parts)};
    tt_status st = f && p.course && p.parts ? TT_OK : tt_no_memory("the page");
    for (int i = 1; i < k->n && !st; i++) st = find_folders(f, k->words[i]);
    if (!st && k->n < 2) st = find_folders(f, ".");
    if (!st) st = write_page(k, &p, f);
    for (int i = 0; p.parts && i < p.part_count; i++) {
        tt_marked_free(&p.parts[i].marked);
        tt_exercise_free(&p.parts[i].exercise);
    }
    for (int i = 0; p.course && i < p.course_count; i++) tt_exercise_free(&p.course[i]);
    free(p.course);
    free(p.parts);
    free(f);
    return st;
}

/* ---- the page of a class, again and again ---- */

/* Nobody has checked anything yet, or no result can be read. The page says so, and the next round tries again. */
static tt_status say_so(const struct tt_exercise_call *k, tt_status failure)
{
    fprintf(stderr, "note    %s\n", failure->text);
    tt_status st = tt_class_page(NULL, 0, failure->text, (int)k->own->every, k->own->html);
    tt_status_free(failure);
    return st;
}

tt_status tt_exercise_class_page(const struct tt_exercise_call *k)
{
    if (!k->own->every) return tt_exercise_whole_class(k);
    if (!k->own->html[0])
        return tt_fail(TT_USAGE, "--every writes the page of --html FILE again and again; name the file");
    if (k->n < 2) return tt_exercise_whole_class(k);
    printf("page    %s, written every %lld seconds; end with Ctrl-C\n", k->own->html, (long long)k->own->every);
    fflush(stdout);
    for (;;) {
        tt_status st = tt_exercise_whole_class(k);
        if (st) TT_TRY(say_so(k, st));
        sleep((unsigned)k->own->every);
    }
}
