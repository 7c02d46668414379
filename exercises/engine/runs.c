/* The profiles a worksheet is about: which are taken, and why others are not. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/base/file.h"
#include "exercises/engine/exercise.h"
#include "profiling/seal.h"

enum { LARGEST = 1 << 28 };

static void refuse(struct tt_marked_run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void refuse(struct tt_marked_run *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->refusal, sizeof r->refusal, format, args);
    va_end(args);
    tt_json_free(r->profile);
    r->profile = NULL;
}

/* ---- what a profile has to be ---- */

/* The value of a profile at a path, as text: to compare with what a YAML file says. */
static void text_at(const struct tt_json *profile, const char *path, char *out, size_t size)
{
    char key[64];
    const struct tt_json *at = profile;
    for (const char *p = path; *p && at;) {
        size_t n = strcspn(p, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, p);
        at = tt_json_get(at, key);
        p += n + (p[n] == '.');
    }
    const char *text = !at ? "" : at->type == TT_JSON_BOOL ? (at->boolean ? "true" : "false")
                                                           : at->string ? at->string : "";
    snprintf(out, size, "%s", text);
}

/* The same for a path or a formula such as run.batch_size * run.grad_accum; "": the profile does not have it. */
static void value_at(const struct tt_json *profile, const char *what, char *out, size_t size)
{
    struct tt_formula_run run = {.name = "run", .profile = profile};
    struct tt_formula_scope scope = {.runs = &run, .count = 1};
    struct tt_formula_value v;
    if (!strpbrk(what, "+-*/ (")) {
        text_at(profile, what, out, size);
        return;
    }
    tt_status st = tt_formula(what, &scope, &v);
    snprintf(out, size, "%s", "");
    if (!st && v.kind == TT_FORMULA_NUMBER) snprintf(out, size, "%.15g", v.number);
    tt_status_free(st);
    tt_formula_free(&v);
}

static bool one_of(const struct tt_yaml *wanted, const char *text)
{
    if (wanted->kind != TT_YAML_LIST) return !strcmp(wanted->text ? wanted->text : "", text);
    for (const struct tt_yaml *y = wanted->first; y; y = y->next)
        if (!strcmp(y->text ? y->text : "", text)) return true;
    return false;
}

/* Writes what is wanted: "fp32", or for a list "fp32" or "tf32". */
static void name_wanted(const struct tt_yaml *y, char *out, size_t size)
{
    size_t n = 0;
    snprintf(out, size, "\"%s\"", y->text ? y->text : "");
    for (const struct tt_yaml *one = y->kind == TT_YAML_LIST ? y->first : NULL; one && n < size; one = one->next)
        n += (size_t)snprintf(out + n, size - n, "%s\"%s\"", n ? " or " : "", one->text ? one->text : "");
}

/* Whether the profile's `text` is what is wanted. "${LONG}" stands for the size that the exercise was started with; if
 * none was noted, every size will do. */
static bool as_started(const struct tt_marked *m, const struct tt_yaml *y, const char *text, char wanted[300])
{
    bool size = y->text && y->text[0] == '$';
    name_wanted(y, wanted, 300);
    if (!size) return one_of(y, text);
    char noted[160];
    tt_exercise_expand(m, y->text, noted, sizeof noted);
    snprintf(wanted, 300, "\"%s\"", noted);
    return noted[0] == '$' || !strcmp(noted, text);
}

static void check_required(const struct tt_marked *m, const struct tt_exercise_run *run, struct tt_marked_run *r)
{
    char text[160], wanted[300], command[400];
    tt_exercise_expand(m, run->command, command, sizeof command);
    for (const struct tt_yaml *y = run->require ? run->require->first : NULL; y && r->profile; y = y->next) {
        text_at(r->profile, y->key, text, sizeof text);
        if (as_started(m, y, text, wanted)) continue;
        bool size = y->text && y->text[0] == '$';
        refuse(r, "its %.60s is \"%.80s\", and %s %.299s%s; measure it with: %.260s", y->key, text,
               size ? "this folder was started for" : "the exercise asks for", wanted,
               size ? " (see exercise.json)" : "", command);
    }
}

static void check_time(const char *started, struct tt_marked_run *r)
{
    if (r->profile && !r->recorded && strcmp(r->created, started) < 0)
        refuse(r, "it was measured at %s, before this exercise was started (%s); measure it here", r->created, started);
}

static void check_sheet(const struct tt_yaml *sheet, const char *name, struct tt_marked_run *r)
{
    const struct tt_yaml *runs = tt_yaml_get(sheet, "runs"), *noted = runs ? tt_yaml_get(runs, name) : NULL;
    if (!r->profile || !noted || !noted->text || !noted->text[0]) return;
    size_t n = strlen(noted->text);
    if (n >= 6 && n <= TT_SHA256_DIGITS && !strncmp(noted->text, r->seal, n)) return;
    if (n < 6) {
        refuse(r, "the worksheet has \"%s\" for its seal; write at least 6 characters of it, best the 8 that tt "
                  "profile printed", noted->text);
        return;
    }
    refuse(r, "the worksheet was filled in from a run with the seal \"%.16s\", and this one has %.8s; read its figures "
              "anew", noted->text,
           r->seal);
}

/* ---- opening ---- */

static tt_status seal_of(const char *path, char seal[TT_SHA256_DIGITS + 1])
{
    char *text;
    size_t size;
    seal[0] = 0;
    TT_TRY(tt_file_read(path, LARGEST, &text, &size));
    tt_seal_read(text, size, seal);
    free(text);
    return TT_OK;
}

/* Whether the profile is the recorded one that comes with the course. */
static bool is_recorded(const struct tt_exercise_run *run, const char *folder, const char *seal)
{
    char path[1400], other[TT_SHA256_DIGITS + 1];
    if (!run->recorded || !folder) return false;
    snprintf(path, sizeof path, "%s/%s/%s", folder, run->recorded, run->file);
    tt_status st = seal_of(path, other);
    bool same = !st && !strcmp(other, seal);
    tt_status_free(st);
    return same;
}

static void note_time(const char *path, struct tt_marked_run *r)
{
    struct stat file;
    struct tm utc;
    if (!stat(path, &file) && gmtime_r(&file.st_mtime, &utc))
        strftime(r->written, sizeof r->written, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static tt_status open_file(const char *path, struct tt_marked_run *r)
{
    char *text;
    size_t size;
    note_time(path, r);
    TT_TRY(tt_file_read(path, LARGEST, &text, &size));
    bool sealed = tt_seal_read(text, size, r->seal);
    tt_status st = tt_json_parse(text, size, &r->profile);
    free(text);
    if (!st && !sealed)
        refuse(r, "its seal is broken or missing: it is not as tt wrote it; measure again");
    return st;
}

static void open_run(const struct tt_marked *m, const struct tt_exercise_run *run, const char *recorded,
                     struct tt_marked_run *r)
{
    char path[1400], command[400];
    snprintf(path, sizeof path, "%s/%s/%s", m->folder, run->name, run->file);
    r->absent = !tt_is_file(path);
    if (r->absent) {
        tt_exercise_expand(m, run->command, command, sizeof command);
        refuse(r, "it is not there; make it with: %s", command);
        return;
    }
    tt_status st = open_file(path, r);
    if (st) refuse(r, "it cannot be read: %.300s", st->text);
    tt_status_free(st);
    if (!r->profile) return;
    text_at(r->profile, "run.created", r->created, sizeof r->created);
    text_at(r->profile, "run.device", r->device, sizeof r->device);
    r->recorded = is_recorded(run, recorded, r->seal);
    check_required(m, run, r);
}

/* ---- together ---- */

static void check_distinct(struct tt_marked *m, int i)
{
    struct tt_marked_run *r = &m->runs[i];
    for (int j = 0; j < i && r->profile; j++)
        if (m->runs[j].profile && !strcmp(m->runs[j].seal, r->seal))
            refuse(r, "it is the same profile as %s; measure each of them", m->exercise->runs[j].name);
}

/* Compares with the first of the learner's own runs. Recorded ones are left out: they are from another machine. */
static void check_same(struct tt_marked *m, const struct tt_yaml *paths, int i)
{
    char first[160], own[160];
    int j = 0;
    while (j < i && (!m->runs[j].profile || m->runs[j].recorded)) j++;
    if (m->runs[i].recorded) return;
    for (const struct tt_yaml *y = paths ? paths->first : NULL; y && j < i && m->runs[i].profile; y = y->next) {
        if (!y->text) continue;
        value_at(m->runs[j].profile, y->text, first, sizeof first);
        value_at(m->runs[i].profile, y->text, own, sizeof own);
        if (strcmp(first, own))
            refuse(&m->runs[i], "its %.60s is \"%.80s\", and that of %.60s is \"%.80s\"; only runs that agree in it "
                                "can be compared, so measure one of them again", y->text,
                   own, m->exercise->runs[j].name, first);
    }
}

void tt_exercise_open_runs(struct tt_marked *m, const struct tt_yaml *sheet, const char *recorded)
{
    for (int i = 0; i < m->exercise->run_count; i++) {
        open_run(m, &m->exercise->runs[i], recorded, &m->runs[i]);
        check_time(m->started, &m->runs[i]);
        check_sheet(sheet, m->exercise->runs[i].name, &m->runs[i]);
        check_distinct(m, i);
        check_same(m, m->exercise->same, i);
        check_same(m, m->exercise->runs[i].same, i);
    }
}
