/* The folder of a profile: the tables as CSV and JSON, and the files together. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/csv.h"
#include "core/base/file.h"
#include "core/base/writable.h"
#include "profiling/profile_write.h"
#include "profiling/report/html.h"

/* ---- operators.csv ---- */

static void put_row(struct tt_text *t, const char *kind, const struct tt_profile_row *r)
{
    const char *words[] = {kind, r->name, r->shape, r->group, r->phase};
    const double figures[] = {1e3 * r->seconds, 1e6 * r->median, 100 * r->share, r->flops, r->bytes, r->intensity,
                              r->flops_per_second / 1e12, r->bytes_per_second / 1e12, r->roof_percent};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) tt_csv_put(t, words[i]);
    tt_csv_put_int(t, r->count);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) tt_csv_put_number(t, figures[i]);
    tt_csv_put_number(t, r->host_seconds > 0 ? 1e3 * r->host_seconds : NAN);
    tt_csv_put(t, r->bound);
    tt_csv_end(t);
}

tt_status tt_profile_write_operators(const struct tt_profile *p, const char *path)
{
    struct tt_text t = {0};
    tt_text_puts(
        &t, "kind,name,shape,group,phase,count,total_ms,median_us,share_percent,flops,bytes,flop_per_byte,tflop_per_s,"
            "tb_per_s,roof_percent,host_ms,bound\n");
    for (int i = 0; i < p->operators_count; i++) put_row(&t, "operator", &p->operators[i]);
    for (int i = 0; i < p->groups_count; i++) put_row(&t, "group", &p->groups[i]);
    if (t.n) t.s[--t.n] = 0; /* saving adds the newline at the end */
    return tt_profile_save(&t, path);
}

/* ---- memory.json, roofline.json: parts of profile.json with the same keys ---- */

static tt_status write_parts(const struct tt_profile *p, const char *const *keys, const char *path)
{
    struct tt_json_writer w = {.pretty = true};
    tt_json_begin(&w, NULL, '{');
    tt_json_put_int(&w, "schema", TT_PROFILE_SCHEMA);
    for (; *keys; keys++) tt_profile_put(&w, p, *keys);
    tt_json_end(&w, '}');
    return tt_profile_save(&w.text, path);
}

tt_status tt_profile_write_memory(const struct tt_profile *p, const char *path)
{
    static const char *const keys[] = {"run", "memory", "memory_kinds", "memory_phases", "activations", "sweeps", NULL};
    return write_parts(p, keys, path);
}

tt_status tt_profile_write_roofline(const struct tt_profile *p, const char *path)
{
    static const char *const keys[] = {"run", "efficiency", "roofs", "points", NULL};
    return write_parts(p, keys, path);
}

/* ---- the folder ---- */

static bool holds_things(const char *dir)
{
    DIR *d = opendir(dir);
    bool found = false;
    for (struct dirent *e; d && !found && (e = readdir(d));) found = strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    if (d) closedir(d);
    return found;
}

static tt_status path_in(const char *dir, const char *name, char *out, size_t size)
{
    if (snprintf(out, size, "%s/%s", dir, name) < (int)size) return TT_OK;
    return tt_fail(TT_USAGE, "%s: the path is too long", dir);
}

/* Refuses a folder that holds things but not `file`, by which folders of this kind are known. */
static tt_status other_things(const char *dir, const char *file, const char *what)
{
    char path[4096];
    TT_TRY(path_in(dir, file, path, sizeof path));
    if (!holds_things(dir) || tt_is_file(path)) return TT_OK;
    return tt_fail(TT_USAGE, "%s holds other files and no %s; choose another folder with --out, or empty it", dir,
                   what);
}

tt_status tt_folder_check(const char *dir, const char *file, const char *what)
{
    TT_TRY(tt_could_fill(dir, "--out"));
    return other_things(dir, file, what);
}

tt_status tt_profile_check_folder(const char *dir) { return tt_folder_check(dir, "profile.json", "profile"); }

tt_status tt_folder_prepare(const char *dir, const char *file, const char *what)
{
    TT_TRY(tt_make_dirs(dir));
    if (access(dir, W_OK | X_OK)) return tt_file_error(errno, "write into", dir);
    return other_things(dir, file, what);
}

tt_status tt_profile_prepare(const char *dir) { return tt_folder_prepare(dir, "profile.json", "profile"); }

static tt_status write_report(const struct tt_profile *p, const char *path)
{
    return tt_profile_write_html(p, NULL, path);
}

static const struct {
    const char *name;
    tt_status (*write)(const struct tt_profile *p, const char *path);
} files[] = {
    {"operators.csv", tt_profile_write_operators}, {"trace.json", tt_profile_write_trace},
    {"memory.json", tt_profile_write_memory},      {"roofline.json", tt_profile_write_roofline},
    {"summary.md", tt_profile_write_summary},      {"report.html", write_report},
    {"profile.json", tt_profile_write_json},
};

enum { FILES = sizeof files / sizeof *files };

/* The path of the i-th file while it is written, beside the file that it will replace. */
static tt_status new_path(const char *dir, int i, char *out, size_t size)
{
    char name[64];
    snprintf(name, sizeof name, "%s.new", files[i].name);
    return path_in(dir, name, out, size);
}

static tt_status write_beside(const struct tt_profile *p, const char *dir)
{
    char path[4096];
    for (int i = 0; i < FILES; i++) {
        TT_TRY(new_path(dir, i, path, sizeof path));
        TT_TRY(files[i].write(p, path));
    }
    return TT_OK;
}

static tt_status take_over(const char *dir, int i)
{
    char from[4096], to[4096];
    TT_TRY(new_path(dir, i, from, sizeof from));
    TT_TRY(path_in(dir, files[i].name, to, sizeof to));
    return rename(from, to) ? tt_file_error(errno, "write", to) : TT_OK;
}

static void forget(const char *dir, int i)
{
    char path[4096];
    tt_status st = new_path(dir, i, path, sizeof path);
    if (!st) remove(path);
    tt_status_free(st);
}

/* Writes all files or, where one cannot be written, none: files of two profiles would look like one profile. */
tt_status tt_profile_write(const struct tt_profile *p, const char *dir)
{
    TT_TRY(tt_profile_prepare(dir));
    tt_status st = write_beside(p, dir);
    for (int i = 0; i < FILES && !st; i++) st = take_over(dir, i);
    for (int i = 0; i < FILES && st; i++) forget(dir, i);
    return st;
}
