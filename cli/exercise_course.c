/* tt exercise list, hint, solution: finds the folder of the course and prints from it. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/exercise.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "exercises/engine/fault.h"

/* ---- where the course lies ---- */

static bool holds_course(const char *path)
{
    char file[1200];
    snprintf(file, sizeof file, "%s/CHECKS.md", path);
    return tt_is_file(file);
}

tt_status tt_exercise_find_course(char out[1024])
{
    char self[512];
    const char *own = getenv("TT_EXERCISES");
    if (own && own[0]) {
        snprintf(out, 1024, "%s", own);
        return holds_course(out) ? TT_OK : tt_fail(TT_USAGE, "TT_EXERCISES=%s is not the folder of the exercises: it "
                                                             "has no CHECKS.md", own);
    }
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash = n > 0 ? (self[n] = 0, strrchr(self, '/')) : NULL;
    if (slash) {
        *slash = 0;
        snprintf(out, 1024, "%s/../share/tt/exercises", self);
        if (holds_course(out)) return TT_OK;
    }
    snprintf(out, 1024, "%s", TT_SOURCE_EXERCISES);
    if (holds_course(out)) return TT_OK;
    return tt_fail(TT_FAILED, "the exercises are not where they were installed; set TT_EXERCISES to their folder");
}

/* The folder of the exercise with the number in `word`: its name begins with that number. */
static tt_status find_exercise(const struct tt_exercise_call *k, const char *word, char *out, size_t size)
{
    char *end;
    long number = strtol(word, &end, 10);
    DIR *d = *end || end == word ? NULL : opendir(k->root);
    bool found = false;
    for (struct dirent *e; d && !found && (e = readdir(d));) {
        char *rest;
        found = strtol(e->d_name, &rest, 10) == number && rest > e->d_name && *rest == '-';
        if (found) snprintf(out, size, "%s/%s", k->root, e->d_name);
    }
    if (d) closedir(d);
    return found ? TT_OK : tt_fail(TT_USAGE, "there is no exercise %.40s; tt exercise list shows them", word);
}

tt_status tt_exercise_open_in(const struct tt_exercise_call *k, const char *folder, struct tt_exercise *e)
{
    int64_t number;
    char found[1300], word[24];
    TT_TRY(tt_exercise_noted(folder, &number));
    if (!number)
        return tt_fail(TT_USAGE, "tt exercise %s needs the number of an exercise, or the folder of one; tt exercise "
                                 "list shows them", k->words[0]);
    snprintf(word, sizeof word, "%lld", (long long)number);
    TT_TRY(find_exercise(k, word, found, sizeof found));
    return tt_exercise_read(found, e);
}

tt_status tt_exercise_open(const struct tt_exercise_call *k, struct tt_exercise *e)
{
    char folder[1300];
    if (k->n < 2) return tt_exercise_open_in(k, ".", e);
    TT_TRY(find_exercise(k, k->words[1], folder, sizeof folder));
    return tt_exercise_read(folder, e);
}

/* ---- list ---- */

static double points_of(const struct tt_exercise *e)
{
    double points = 0;
    for (int i = 0; i < e->question_count; i++) points += e->questions[i].optional ? 0 : e->questions[i].points;
    return points;
}

static void put_exercise(struct tt_json_writer *w, const struct tt_exercise *e)
{
    tt_json_begin(w, NULL, '{');
    tt_json_put_int(w, "exercise", e->number);
    tt_json_put_string(w, "title", e->title);
    tt_json_put_int(w, "minutes", e->minutes);
    tt_json_put_int(w, "questions", e->question_count);
    tt_json_put_number(w, "points", points_of(e));
    tt_json_put_string(w, "folder", e->folder);
    tt_json_end(w, '}');
}

/* Writes JSON with `writer`; if that is NULL, prints a line. */
static tt_status list_one(const struct tt_exercise *e, void *writer)
{
    if (writer)
        put_exercise(writer, e);
    else
        printf("%4lld  %-44s %4lld min  %2d questions, %g points\n", (long long)e->number, e->title,
               (long long)e->minutes, e->question_count, points_of(e));
    return TT_OK;
}

static tt_status visit_one(const char *root, const char *name,
                           tt_status (*visit)(const struct tt_exercise *e, void *context), void *context)
{
    char folder[1300];
    struct tt_exercise e;
    snprintf(folder, sizeof folder, "%s/%s", root, name);
    tt_status st = tt_exercise_read(folder, &e);
    if (!st) st = visit(&e, context);
    tt_exercise_free(&e);
    return st;
}

tt_status tt_exercise_each(const struct tt_exercise_call *k,
                           tt_status (*visit)(const struct tt_exercise *e, void *context), void *context)
{
    struct dirent **names;
    tt_status st = TT_OK;
    int n = scandir(k->root, &names, NULL, alphasort);
    if (n < 0) return tt_file_error(errno, "read", k->root);
    for (int i = 0; i < n; i++) {
        char path[1600];
        snprintf(path, sizeof path, "%s/%s/check.yaml", k->root, names[i]->d_name);
        if (!st && tt_is_file(path)) st = visit_one(k->root, names[i]->d_name, visit, context);
        free(names[i]);
    }
    free(names);
    return st;
}

static tt_status list_json(const struct tt_exercise_call *k)
{
    struct tt_json_writer w = {.pretty = true};
    tt_json_begin(&w, NULL, '[');
    tt_status st = tt_exercise_each(k, list_one, &w);
    tt_json_end(&w, ']');
    if (!st) st = tt_text_status(&w.text);
    if (!st) puts(w.text.s);
    tt_text_free(&w.text);
    return st;
}

tt_status tt_exercise_list(const struct tt_exercise_call *k)
{
    if (k->c->json) return list_json(k);
    tt_status st = tt_exercise_each(k, list_one, NULL);
    if (!st) printf("\nBegin with: tt exercise start 1 my-first\nThe walkthroughs lie in %s\n", k->root);
    return st;
}

/* ---- hint, solution ---- */

static tt_status read_text(const struct tt_exercise *e, const char *name, char **out)
{
    char path[1200];
    size_t size;
    snprintf(path, sizeof path, "%s/%s", e->folder, name);
    return tt_file_read(path, TT_EXERCISE_TEXT, out, &size);
}

/* Whether a heading has the word. "## 3 step_ms, kernels" is the third hint, and the questions it helps with. */
static bool is_heading(const char *line, const char *word)
{
    size_t n = strlen(word), end = strcspn(line, "\n");
    for (const char *s = line + 3; s + n <= line + end; s++) {
        bool begins = strchr(" ,", s[-1]) != NULL, ends = s + n == line + end || strchr(" ,", s[n]);
        if (begins && ends && !strncmp(s, word, n)) return true;
    }
    return false;
}

static const char *next_heading(const char *text)
{
    const char *at = strstr(text, "\n## ");
    return at ? at + 1 : NULL;
}

/* Prints the hint with this number or for this question; false: there is none. */
static bool print_hint(const char *text, const char *word)
{
    const char *at = !strncmp(text, "## ", 3) ? text : next_heading(text);
    while (at && !is_heading(at, word)) at = next_heading(at);
    if (!at) return false;
    const char *end = next_heading(at), *body = strchr(at, '\n');
    body = body ? body + 1 : "";
    printf("hint %.*s\n%.*s\n", (int)strcspn(at + 3, "\n"), at + 3,
           (int)(end ? end - body - 1 : (ptrdiff_t)strlen(body)), body);
    return true;
}

static int count_hints(const char *text)
{
    int n = !strncmp(text, "## ", 3);
    for (const char *p = text; (p = next_heading(p)); p++) n++;
    return n;
}

/* Prints what the check would say about a question for which there is no hint; false: there is no such question. */
static bool print_look(const struct tt_exercise *e, const char *id)
{
    for (int i = 0; i < e->question_count; i++) {
        const struct tt_question *q = &e->questions[i];
        if (strcmp(q->id, id)) continue;
        printf("hint %s\n", id);
        if (q->look) printf("Look: %s.\n", q->look);
        if (q->why) printf("%s\n", q->why);
        if (!q->look && !q->why) printf("%s\n", q->text);
        return true;
    }
    return false;
}

static tt_status no_hint(const struct tt_exercise *e, const char *word, int all)
{
    const char *names[256];
    int n = 0;
    for (; n < e->question_count && n < 256; n++) names[n] = e->questions[n].id;
    const char *near = tt_nearest(word, names, n);
    return tt_fail(TT_USAGE, "exercise %lld has the hints 1 to %d, and hints by the name of a question%s%s%s",
                   (long long)e->number, all, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* hint N K, hint N NAME, and hint NAME in the folder of the exercise. */
static tt_status hint_of(const struct tt_exercise *e, const char *word)
{
    char *text;
    long number = strtol(word, NULL, 10);
    TT_TRY(read_text(e, "hints.md", &text));
    int all = count_hints(text);
    tt_status st = TT_OK;
    if (!print_hint(text, word) && !print_look(e, word))
        st = no_hint(e, word, all);
    else if (number && number < all)
        printf("The next of %d: tt exercise hint %lld %ld; for one question: tt exercise hint %lld NAME\n", all,
               (long long)e->number, number + 1, (long long)e->number);
    free(text);
    return st;
}

tt_status tt_exercise_hint(const struct tt_exercise_call *k)
{
    struct tt_exercise e = {0};
    bool here = k->n == 2 && !strspn(k->words[1], "0123456789"); /* a question of the current folder */
    tt_status st = here ? tt_exercise_open_in(k, ".", &e) : tt_exercise_open(k, &e);
    if (!st) st = hint_of(&e, here ? k->words[1] : k->n > 2 ? k->words[2] : "1");
    tt_exercise_free(&e);
    return st;
}

tt_status tt_exercise_solution(const struct tt_exercise_call *k)
{
    struct tt_exercise e = {0};
    char *text = NULL;
    if (k->own->fault[0]) {
        enum tt_fault f;
        TT_TRY(tt_fault_find(k->own->fault, &f));
        printf("%s: %s\n", tt_fault_names[f], tt_fault_texts[f]);
        return TT_OK;
    }
    tt_status st = tt_exercise_open(k, &e);
    if (!st) st = read_text(&e, "solution.md", &text);
    if (!st) fputs(text, stdout);
    free(text);
    tt_exercise_free(&e);
    return st;
}
