/* exercise.json: the settings that an exercise was started with, and its commands filled in with them. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/file.h"
#include "core/config/options.h"
#include "core/config/presets.h"
#include "exercises/engine/course.h"
#include "exercises/engine/exercise.h"

/* The variables of exercises/README.md: a preset, whole numbers, and a link. */
static const char *const variables[] = {"PRESET", "STEPS", "LONG", "SMALL", "LARGE", "RANKS", "LINK", "SEED"};

/* ---- writing ---- */

static bool is_count(const char *text)
{
    return strlen(text) < 10 && strspn(text, "0123456789") == strlen(text) && atol(text) > 0;
}

static tt_status check_preset(const char *name)
{
    if (tt_preset_find(name)) return TT_OK;
    struct tt_text all = {0};
    tt_join(&all, tt_preset_names, ", ");
    const char *near = tt_nearest(name, tt_preset_names, tt_preset_count);
    tt_status st = tt_fail(TT_USAGE, "PRESET=%.60s: there is no such preset; %s %s%s", name,
                           near ? "did you mean" : "choose from", near ? near : all.failed ? "..." : all.s,
                           near ? "?" : "");
    tt_text_free(&all);
    return st;
}

static tt_status check_variable(const char *variable, const char *value)
{
    if (!strcmp(variable, "PRESET")) return check_preset(value);
    if (!strcmp(variable, "LINK")) return tt_context(tt_course_check_link(value), "LINK");
    if (is_count(value)) return TT_OK;
    return tt_fail(TT_USAGE, "%s=%.60s: it must be a whole number from 1 on", variable, value);
}

static bool names(const struct tt_exercise *e, const char *variable)
{
    char use[40];
    bool found = false;
    snprintf(use, sizeof use, "${%s", variable);
    for (int i = 0; i < e->run_count; i++) found |= strstr(e->runs[i].command, use) != NULL;
    return found;
}

/* The value of a variable if it is set and the exercise uses it; else NULL. */
static const char *value_of(const struct tt_exercise *e, const char *variable)
{
    const char *value = getenv(variable);
    return value && value[0] && names(e, variable) ? value : NULL;
}

tt_status tt_exercise_check_sizes(const struct tt_exercise *e)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = value_of(e, variables[i]);
        if (value) TT_TRY(check_variable(variables[i], value));
    }
    return TT_OK;
}

static void put_sizes(struct tt_json_writer *w, const struct tt_exercise *e)
{
    tt_json_begin(w, "sizes", '{');
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = value_of(e, variables[i]);
        if (value) tt_json_put_string(w, variables[i], value);
    }
    tt_json_end(w, '}');
}

tt_status tt_exercise_note(const struct tt_exercise *e, const char *folder)
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
    put_sizes(&w, e);
    tt_json_end(&w, '}');
    tt_text_puts(&w.text, "\n");
    snprintf(path, sizeof path, "%s/exercise.json", folder);
    tt_status st = tt_text_status(&w.text);
    if (!st) st = tt_file_replace(path, w.text.s, w.text.n);
    tt_text_free(&w.text);
    return st;
}

/* ---- reading ---- */

/* If there is no note, *out is NULL, without an error. */
static tt_status read_note(const char *folder, struct tt_json **out)
{
    char path[1400], *text;
    size_t n;
    *out = NULL;
    snprintf(path, sizeof path, "%s/exercise.json", folder);
    if (!tt_is_file(path)) return TT_OK;
    TT_TRY(tt_file_read(path, 1 << 16, &text, &n));
    tt_status st = tt_json_parse(text, n, out);
    free(text);
    return tt_context(st, "%s", path);
}

tt_status tt_exercise_noted(const char *folder, int64_t *number)
{
    struct tt_json *note;
    *number = 0;
    TT_TRY(read_note(folder, &note));
    tt_json_int(note, "exercise", 0, 1000, number);
    tt_json_free(note);
    return TT_OK;
}

/* Finds the path of a folder in this one where the exercise was started; "": there is none. */
static void below(const struct tt_marked *m, char *out, size_t size)
{
    DIR *d = opendir(m->folder);
    out[0] = 0;
    for (struct dirent *e = d ? readdir(d) : NULL; e && !out[0]; e = readdir(d)) {
        int64_t number = 0;
        char path[1300];
        snprintf(path, sizeof path, "%s%s%s", strcmp(m->folder, ".") ? m->folder : "",
                 strcmp(m->folder, ".") ? "/" : "", e->d_name);
        if (e->d_name[0] != '.') tt_status_free(tt_exercise_noted(path, &number));
        if (number == m->exercise->number) snprintf(out, size, "%s", path);
    }
    if (d) closedir(d);
}

/* Says which folder was probably meant: often the one that was given is the folder of a profile, or the one above. */
static tt_status not_started(const struct tt_marked *m)
{
    char above[1400], inside[1300];
    snprintf(above, sizeof above, "%s/../exercise.json", m->folder);
    if (tt_is_file(above))
        return tt_fail(TT_USAGE, "%s is not the folder of an exercise, but the one above it is: tt exercise check %lld "
                                 "%s/..", m->folder,
                       (long long)m->exercise->number, m->folder);
    below(m, inside, sizeof inside);
    if (inside[0])
        return tt_fail(TT_USAGE, "%s is not the folder of an exercise, but %s is: tt exercise check %lld %s", m->folder,
                       inside, (long long)m->exercise->number, inside);
    return tt_fail(TT_USAGE, "%s is not the folder of an exercise; make one with: tt exercise start %lld %s", m->folder,
                   (long long)m->exercise->number, strcmp(m->folder, ".") ? m->folder : "DIR");
}

tt_status tt_exercise_started(struct tt_marked *m)
{
    int64_t number = 0;
    TT_TRY(read_note(m->folder, &m->note));
    if (!m->note) return not_started(m);
    tt_json_int(m->note, "exercise", 0, 1000, &number);
    snprintf(m->started, sizeof m->started, "%s", tt_json_string(m->note, "started", ""));
    if (number == m->exercise->number) return TT_OK;
    return tt_fail(TT_USAGE, "%s is a folder of exercise %lld, not of %lld", m->folder, (long long)number,
                   (long long)m->exercise->number);
}

/* ---- commands ---- */

/* Reads "${NAME}" or "${NAME:-otherwise}" at `text`. Returns its length, and its value in `value`; 0: it is neither, or
 * has no value. */
static size_t variable(const struct tt_marked *m, const char *text, char value[160])
{
    char name[32];
    size_t n = strspn(text + 2, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"), end = strcspn(text, "}");
    const char *rest = text + 2 + n;
    if (!n || n >= sizeof name || !text[end] || (*rest != '}' && strncmp(rest, ":-", 2))) return 0;
    snprintf(name, sizeof name, "%.*s", (int)n, text + 2);
    const char *noted = tt_json_string(tt_json_get(m->note, "sizes"), name, NULL);
    if (noted)
        snprintf(value, 160, "%s", noted);
    else if (*rest == ':')
        snprintf(value, 160, "%.*s", (int)(text + end - rest - 2), rest + 2);
    else
        return 0;
    return end + 1;
}

void tt_exercise_expand(const struct tt_marked *m, const char *text, char *out, size_t size)
{
    size_t at = 0, n;
    char value[160];
    while (*text && at + 1 < size) {
        bool here = !strncmp(text, "DIR ", 4);
        n = here ? 3 : !strncmp(text, "${", 2) ? variable(m, text, value) : 0;
        at += (size_t)snprintf(out + at, size - at, "%s", here ? m->folder : n ? value : (char[2]){*text, 0});
        text += n ? n : 1;
    }
    out[at < size ? at : size - 1] = 0;
}
