/* tt exercise check, report, class, roadmap: what learners did. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/exercise.h"
#include "cli/wrap.h"
#include "core/base/file.h"
#include "exercises/engine/page.h"

enum { RESULTS = 4096 };

/* What is said of a question stands behind its mark and its name. */
static int after_the_name(const char *line) { return !strncmp(line, "  ", 2) ? TT_MARK_COLUMN : 4; }

static void print_marks(const struct tt_exercise_call *k, const char *text, const char *json)
{
    if (k->c->json)
        fputs(json, stdout);
    else
        tt_print_wrapped(stdout, text, after_the_name);
}

static tt_status show_marked(const struct tt_exercise_call *k, struct tt_marked *m)
{
    char path[1200];
    struct tt_text text = {0}, json = {0};
    if (k->own->reveal) tt_marked_reveal(m);
    tt_marked_text(m, k->own->reveal, &text);
    tt_marked_json(m, k->own->reveal, &json);
    tt_text_puts(&json, "\n");
    tt_status st = tt_text_status(&text);
    if (!st) st = tt_text_status(&json);
    snprintf(path, sizeof path, "%s/result.json", m->folder);
    if (!st) st = tt_file_replace(path, json.s, json.n);
    if (!st) print_marks(k, text.s, json.s);
    tt_text_free(&text);
    tt_text_free(&json);
    if (st || m->passed) return st;
    return tt_fail(TT_WARNED, "exercise %lld is not solved yet: %g of %g points; tt exercise hint %lld NAME helps "
                              "with a question",
                   (long long)m->exercise->number, m->points, m->most, (long long)m->exercise->number);
}

/* check N DIR; check DIR, where the folder knows its number; check N and check alone, in the folder itself. */
static tt_status open_folder(const struct tt_exercise_call *k, struct tt_exercise *e, const char **folder)
{
    bool only_folder = k->n == 2 && tt_is_dir(k->words[1]);
    *folder = only_folder ? k->words[1] : k->n > 2 ? k->words[2] : ".";
    if (k->n > 3)
        return tt_fail(TT_USAGE, "tt exercise %s takes a number and your folder: tt exercise %s 1 my-first",
                       k->words[0], k->words[0]);
    if (k->n == 2 && !only_folder && !strspn(k->words[1], "0123456789"))
        return tt_fail(TT_USAGE, "%s is neither a folder here nor the number of an exercise; give one of them",
                       k->words[1]);
    TT_TRY(only_folder ? tt_exercise_open_in(k, *folder, e) : tt_exercise_open(k, e));
    if (tt_is_dir(*folder)) return TT_OK;
    return tt_fail(TT_USAGE, "there is no folder %s; make it with: tt exercise start %s %s",
                             *folder, k->words[1], *folder);
}

/* Marks the folder that the call names, and passes the marks to `then`. */
static tt_status with_marked(const struct tt_exercise_call *k,
                             tt_status (*then)(const struct tt_exercise_call *k, struct tt_marked *m))
{
    struct tt_exercise e = {0};
    struct tt_marked *m = calloc(1, sizeof *m);
    char recorded[1200];
    const char *folder;
    if (!m) return tt_no_memory("the marks");
    snprintf(recorded, sizeof recorded, "%s/recorded", k->root);
    tt_status st = open_folder(k, &e, &folder);
    if (!st) st = tt_exercise_mark(&e, folder, recorded, m);
    if (!st) st = then(k, m);
    tt_marked_free(m);
    free(m);
    tt_exercise_free(&e);
    return st;
}

tt_status tt_exercise_check(const struct tt_exercise_call *k) { return with_marked(k, show_marked); }

static tt_status write_report(const struct tt_exercise_call *k, struct tt_marked *m)
{
    char path[1200], page[1200];
    struct tt_text text = {0};
    (void)k;
    snprintf(path, sizeof path, "%s/report.md", m->folder);
    snprintf(page, sizeof page, "%s/report.html", m->folder);
    tt_status st = tt_marked_report(m, &text);
    if (!st) st = tt_file_replace(path, text.s, text.n);
    if (!st) st = tt_marked_report_page(m, text.s, page);
    tt_text_free(&text);
    if (!st) printf("wrote   %s and %s\n", path, page);
    if (st || m->passed) return st;
    return tt_fail(TT_WARNED, "exercise %lld is not solved yet: %g of %g points; what is not right is marked in the "
                              "report", (long long)m->exercise->number, m->points, m->most);
}

tt_status tt_exercise_report(const struct tt_exercise_call *k) { return with_marked(k, write_report); }

static tt_status show_class(const struct tt_exercise_call *k, struct tt_json *const *results, int n, const char *notes)
{
    struct tt_text text = {0}, csv = {0};
    tt_class_text(results, n, &text);
    tt_class_csv(results, n, &csv);
    tt_status st = tt_text_status(&text);
    if (!st) st = tt_text_status(&csv);
    if (!st && k->own->csv[0]) st = tt_file_replace(k->own->csv, csv.s, csv.n);
    if (!st && k->own->html[0]) st = tt_class_page(results, n, notes, (int)k->own->every, k->own->html);
    if (!st && !k->own->every) fputs(text.s, stdout);
    tt_text_free(&text);
    tt_text_free(&csv);
    return st;
}

tt_status tt_exercise_whole_class(const struct tt_exercise_call *k)
{
    const char *paths[TT_EXERCISE_WORDS];
    int count = 0;
    if (k->n < 2)
        return tt_fail(TT_USAGE, "tt exercise class needs the learners' folders: tt exercise class learners/*");
    for (int i = 1; i < k->n; i++) paths[i - 1] = k->words[i];
    struct tt_json **results = calloc(RESULTS, sizeof *results);
    if (!results) return tt_no_memory("the marks");
    struct tt_text notes = {0};
    tt_status st = tt_class_read(paths, k->n - 1, results, RESULTS, &count, &notes);
    if (!st) st = tt_text_status(&notes);
    if (!st) st = show_class(k, results, count, notes.s);
    if (!st && notes.s && !k->own->every) fputs(notes.s, stdout);
    tt_text_free(&notes);
    for (int i = 0; i < count; i++) tt_json_free(results[i]);
    free(results);
    return st;
}

tt_status tt_exercise_roadmap(const struct tt_exercise_call *k)
{
    struct tt_text text = {0};
    bool passed = false;
    if (k->n != 2) return tt_fail(TT_USAGE, "tt exercise roadmap needs the folder with roadmap.yaml in it");
    tt_status st = tt_roadmap(k->words[1], &text, &passed);
    if (!st) st = tt_text_status(&text);
    if (!st) fputs(text.s, stdout);
    tt_text_free(&text);
    return st || passed ? st : tt_fail(TT_WARNED, "not every gate holds");
}
