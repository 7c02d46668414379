/* tt exercise: the course. list, start N DIR, hint N [K], check N DIR, solution N, class DIR..., roadmap DIR. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/commands.h"
#include "core/fault.h"
#include "core/file.h"
#include "profiling/exercise.h"

enum { WORDS = 256, RESULTS = 4096, LARGEST = 1 << 26 };

struct call {
    const struct tt_config *c;
    char (*words)[1024];
    int n;
    char root[1024]; /* the folder exercises */
};

/* ---- where the course lies ---- */

static bool holds_course(const char *path)
{
    char file[1200];
    snprintf(file, sizeof file, "%s/CHECKS.md", path);
    return tt_is_file(file);
}

static tt_status find_course(char out[1024])
{
    char self[512];
    const char *own = getenv("TT_EXERCISES");
    if (own && own[0]) {
        snprintf(out, 1024, "%s", own);
        return holds_course(out) ? TT_OK : tt_fail(TT_USAGE, "TT_EXERCISES=%s is not the folder of the exercises: it has no CHECKS.md", own);
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

/* The folder of exercise `number`: the one whose name begins with it. */
static tt_status find_exercise(const struct call *k, const char *word, char *out, size_t size)
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

static tt_status open_exercise(const struct call *k, struct tt_exercise *e)
{
    char folder[1300];
    if (k->n < 2) return tt_fail(TT_USAGE, "tt exercise %s needs the number of an exercise; tt exercise list shows them", k->words[0]);
    TT_TRY(find_exercise(k, k->words[1], folder, sizeof folder));
    return tt_exercise_read(folder, e);
}

/* ---- list ---- */

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static tt_status list_one(const char *root, const char *name)
{
    char folder[1300];
    struct tt_exercise e;
    snprintf(folder, sizeof folder, "%s/%s", root, name);
    tt_status st = tt_exercise_read(folder, &e);
    if (!st) printf("%4lld  %-44s %4lld min  %2d questions\n", (long long)e.number, e.title, (long long)e.minutes, e.question_count);
    tt_exercise_free(&e);
    return st;
}

static tt_status list(const struct call *k)
{
    struct dirent **names;
    tt_status st = TT_OK;
    int n = scandir(k->root, &names, NULL, by_name);
    if (n < 0) return tt_file_error(errno, "read", k->root);
    for (int i = 0; i < n; i++) {
        char path[1600];
        snprintf(path, sizeof path, "%s/%s/check.yaml", k->root, names[i]->d_name);
        if (!st && tt_is_file(path)) st = list_one(k->root, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    if (!st) printf("\nBegin with: tt exercise start 1 my-first\nThe walkthroughs lie in %s\n", k->root);
    return st;
}

/* ---- start ---- */

static tt_status copy_file(const char *from, const char *to)
{
    char *data;
    size_t size;
    TT_TRY(tt_file_read(from, LARGEST, &data, &size));
    tt_status st = tt_file_replace(to, data, size);
    free(data);
    return st;
}

static bool kept_back(const char *name)
{
    return !strcmp(name, "check.yaml") || !strcmp(name, "hints.md") || !strcmp(name, "solution.md");
}

static tt_status copy_folder(const char *from, const char *to)
{
    struct dirent **names;
    tt_status st = tt_make_dirs(to);
    if (st) return st;
    int n = scandir(from, &names, NULL, by_name);
    if (n < 0) return tt_file_error(errno, "read", from);
    for (int i = 0; i < n; i++) {
        char source[2400], target[2400];
        snprintf(source, sizeof source, "%s/%s", from, names[i]->d_name);
        snprintf(target, sizeof target, "%s/%s", to, names[i]->d_name);
        if (!st && tt_is_file(source) && !kept_back(names[i]->d_name)) st = copy_file(source, target);
        free(names[i]);
    }
    free(names);
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

static tt_status note_start(const struct tt_exercise *e, const char *folder)
{
    char path[1200], now[32];
    time_t t = time(NULL);
    struct tm utc;
    struct tt_json_writer w = {.pretty = true};
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &utc));
    tt_json_begin(&w, NULL, '{');
    tt_json_put_int(&w, "exercise", e->number);
    tt_json_put_string(&w, "tt", TT_VERSION_STRING);
    tt_json_put_string(&w, "started", now);
    tt_json_end(&w, '}');
    tt_text_puts(&w.text, "\n");
    snprintf(path, sizeof path, "%s/exercise.json", folder);
    tt_status st = tt_text_status(&w.text);
    if (!st) st = tt_file_replace(path, w.text.s, w.text.n);
    tt_text_free(&w.text);
    return st;
}

static tt_status use_recorded(const struct call *k, const struct tt_exercise *e, const char *folder)
{
    int used = 0;
    for (int i = 0; i < e->run_count; i++) {
        char from[2300], to[2300];
        if (!e->runs[i].recorded) continue;
        snprintf(from, sizeof from, "%s/recorded/%s", k->root, e->runs[i].recorded);
        snprintf(to, sizeof to, "%s/%s", folder, e->runs[i].name);
        TT_TRY(copy_folder(from, to));
        printf("run     %s is %s, recorded\n", e->runs[i].name, e->runs[i].recorded);
        used++;
    }
    if (!used) printf("note    nothing is recorded for this exercise\n");
    return TT_OK;
}

static tt_status start_in(const struct call *k, const struct tt_exercise *e, const char *folder)
{
    if (taken(folder)) return tt_fail(TT_USAGE, "%s is there already and not empty; name a new folder", folder);
    TT_TRY(copy_folder(e->folder, folder));
    TT_TRY(note_start(e, folder));
    printf("exercise %lld: %s, about %lld minutes\n", (long long)e->number, e->title, (long long)e->minutes);
    if (k->c->recorded) TT_TRY(use_recorded(k, e, folder));
    printf("read    %s/README.md\nfill in %s/worksheet.yaml\n", folder, folder);
    if (e->run_count && !(k->c->recorded && e->runs[0].recorded)) printf("first   cd %s && %s\n", folder, e->runs[0].command);
    printf("then    tt exercise check %lld %s\n", (long long)e->number, folder);
    return TT_OK;
}

static tt_status start(const struct call *k)
{
    struct tt_exercise e = {0};
    if (k->n != 3) return tt_fail(TT_USAGE, "tt exercise start needs a number and a new folder: tt exercise start 1 my-first");
    tt_status st = open_exercise(k, &e);
    if (!st) st = start_in(k, &e, k->words[2]);
    tt_exercise_free(&e);
    return st;
}

/* ---- hint, solution ---- */

static tt_status read_text(const struct tt_exercise *e, const char *name, char **out)
{
    char path[1200];
    size_t size;
    snprintf(path, sizeof path, "%s/%s", e->folder, name);
    return tt_file_read(path, LARGEST, out, &size);
}

/* The text under "## number". */
static bool print_hint(const char *text, long number)
{
    char heading[32];
    snprintf(heading, sizeof heading, "## %ld\n", number);
    const char *at = !strncmp(text, heading, strlen(heading)) ? text : NULL;
    for (const char *p = text; !at && (p = strstr(p, heading)); p++)
        if (p[-1] == '\n') at = p;
    if (!at) return false;
    at += strlen(heading);
    const char *end = strstr(at, "\n## ");
    printf("hint %ld\n%.*s\n", number, (int)(end ? end - at : (ptrdiff_t)strlen(at)), at);
    return true;
}

static int count_hints(const char *text)
{
    int n = !strncmp(text, "## ", 3);
    for (const char *p = text; (p = strstr(p, "\n## ")); p++) n++;
    return n;
}

static tt_status hint_of(const struct call *k, const struct tt_exercise *e)
{
    char *text, *end = "";
    long number = k->n > 2 ? strtol(k->words[2], &end, 10) : 1;
    TT_TRY(read_text(e, "hints.md", &text));
    int all = count_hints(text);
    tt_status st = TT_OK;
    if (*end || number < 1 || !print_hint(text, number))
        st = tt_fail(TT_USAGE, "exercise %lld has the hints 1 to %d", (long long)e->number, all);
    else if (number < all)
        printf("The next of %d: tt exercise hint %lld %ld\n", all, (long long)e->number, number + 1);
    free(text);
    return st;
}

static tt_status hint(const struct call *k)
{
    struct tt_exercise e = {0};
    tt_status st = open_exercise(k, &e);
    if (!st) st = hint_of(k, &e);
    tt_exercise_free(&e);
    return st;
}

static tt_status solution(const struct call *k)
{
    struct tt_exercise e = {0};
    char *text = NULL;
    if (k->c->fault[0]) {
        enum tt_fault f;
        TT_TRY(tt_fault_find(k->c->fault, &f));
        printf("%s: %s\n", tt_fault_names[f], tt_fault_texts[f]);
        return TT_OK;
    }
    tt_status st = open_exercise(k, &e);
    if (!st) st = read_text(&e, "solution.md", &text);
    if (!st) fputs(text, stdout);
    free(text);
    tt_exercise_free(&e);
    return st;
}

/* ---- check, class, roadmap ---- */

static tt_status show_marked(const struct call *k, const struct tt_marked *m)
{
    char path[1200];
    struct tt_text text = {0}, json = {0};
    tt_marked_text(m, k->c->reveal, &text);
    tt_marked_json(m, k->c->reveal, &json);
    tt_text_puts(&json, "\n");
    tt_status st = tt_text_status(&text);
    if (!st) st = tt_text_status(&json);
    snprintf(path, sizeof path, "%s/result.json", m->folder);
    if (!st) st = tt_file_replace(path, json.s, json.n);
    if (!st) fputs(k->c->json ? json.s : text.s, stdout);
    tt_text_free(&text);
    tt_text_free(&json);
    if (st || m->passed) return st;
    return tt_fail(TT_WARNED, "exercise %lld is not solved yet: %g of %g points; tt exercise hint %lld helps", (long long)m->exercise->number,
                   m->points, m->most, (long long)m->exercise->number);
}

static tt_status check(const struct call *k)
{
    struct tt_exercise e = {0};
    struct tt_marked *m = calloc(1, sizeof *m);
    char recorded[1200];
    if (!m) return tt_fail(TT_FAILED, "out of memory");
    snprintf(recorded, sizeof recorded, "%s/recorded", k->root);
    tt_status st = k->n == 3 ? open_exercise(k, &e)
                             : tt_fail(TT_USAGE, "tt exercise check needs a number and your folder: tt exercise check 1 my-first");
    if (!st && !tt_is_dir(k->words[2]))
        st = tt_fail(TT_USAGE, "%s is no folder; make it with: tt exercise start %s %s", k->words[2], k->words[1], k->words[2]);
    if (!st) st = tt_exercise_mark(&e, k->words[2], recorded, m);
    if (!st) st = show_marked(k, m);
    tt_marked_free(m);
    free(m);
    tt_exercise_free(&e);
    return st;
}

static tt_status show_class(const struct call *k, struct tt_json *const *results, int n)
{
    struct tt_text text = {0}, csv = {0};
    tt_class_text(results, n, &text);
    tt_class_csv(results, n, &csv);
    tt_status st = tt_text_status(&text);
    if (!st) st = tt_text_status(&csv);
    if (!st && k->c->csv[0]) st = tt_file_replace(k->c->csv, csv.s, csv.n);
    if (!st) fputs(text.s, stdout);
    tt_text_free(&text);
    tt_text_free(&csv);
    return st;
}

static tt_status whole_class(const struct call *k)
{
    const char *paths[WORDS];
    int count = 0;
    if (k->n < 2) return tt_fail(TT_USAGE, "tt exercise class needs the learners' folders: tt exercise class learners/*");
    for (int i = 1; i < k->n; i++) paths[i - 1] = k->words[i];
    struct tt_json **results = calloc(RESULTS, sizeof *results);
    if (!results) return tt_fail(TT_FAILED, "out of memory");
    tt_status st = tt_class_read(paths, k->n - 1, results, RESULTS, &count);
    if (!st) st = show_class(k, results, count);
    for (int i = 0; i < count; i++) tt_json_free(results[i]);
    free(results);
    return st;
}

static tt_status roadmap(const struct call *k)
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

/* ---- the command ---- */

static const struct {
    const char *name;
    tt_status (*run)(const struct call *k);
    bool without_course;
} actions[] = {{"list", list, false},         {"start", start, false},       {"hint", hint, false},      {"check", check, false},
               {"solution", solution, false}, {"class", whole_class, true}, {"roadmap", roadmap, true}};

static tt_status act(struct call *k)
{
    const char *names[sizeof actions / sizeof *actions];
    int n = sizeof actions / sizeof *actions;
    for (int i = 0; i < n; i++) {
        names[i] = actions[i].name;
        if (strcmp(k->words[0], actions[i].name)) continue;
        if (!actions[i].without_course) TT_TRY(find_course(k->root));
        return actions[i].run(k);
    }
    const char *near = tt_nearest(k->words[0], names, n);
    return tt_fail(TT_USAGE, "tt exercise does not know \"%.60s\"; %s%s%s", k->words[0], near ? "did you mean " : "it knows list, start, hint, check, solution, class, roadmap",
                   near ? near : "", near ? "?" : "");
}

tt_status tt_cmd_exercise(const struct tt_options *o)
{
    struct call k = {.c = &o->c, .words = calloc(WORDS, sizeof *k.words)};
    if (!k.words) return tt_fail(TT_FAILED, "out of memory");
    for (const char *at = o->c.words; k.n < WORDS && tt_list_next(&at, '\n', k.words[k.n], sizeof k.words[k.n]);) k.n++;
    if (!k.n) snprintf(k.words[k.n++], sizeof *k.words, "list");
    tt_status st = act(&k);
    free(k.words);
    return st;
}
