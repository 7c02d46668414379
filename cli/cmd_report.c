/* tt report: shows a training run or a profile, or reads what another profiler exported into the same tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/open_page.h"
#include "core/base/file.h"
#include "core/base/folder_lock.h"
#include "core/base/markdown.h"
#include "profiling/import/import.h"
#include "profiling/report/advice.h"
#include "profiling/report/html.h"
#include "profiling/report/html_run.h"
#include "profiling/report/svg.h"

/* ---- options ---- */

struct report_options {
    char runs[16384], import[16384]; /* one a line */
    bool open;
};

#define AT(field) TT_FIELD(TT_OF_COMMAND, struct report_options, field)
// clang-format off
static const struct tt_option rows[] = {
    {"run", AT(runs), "What to read", 1 << TT_CMD_REPORT, "", NULL, "DIR",
     .help = "folder of a training run or of a profile, or a profile.json", .list = '\n', .here = true},
    {"import", AT(import), "What to read", 1 << TT_CMD_REPORT, "", NULL, "FILE",
     .help = "file that another profiler exported; several may follow", .list = '\n', .here = true},
    {"num-steps", TT_RUN_FIELD(num_steps), "What to read", 1 << TT_CMD_REPORT, "1", "[1, 1000000000]", "N",
     .help = "number of steps in the imported files; without it, what the files say"},
    {"out", TT_RUN_FIELD(out), TT_S_OUTPUT, 1 << TT_CMD_REPORT, "", NULL, "DIR",
     .help = "folder for the report; \"\" = that of the run or profile, or imported if there is neither", .here = true},
    {"open", AT(open), TT_S_OUTPUT, 1 << TT_CMD_REPORT, "false", NULL, NULL,
     .help = "open the report in a browser"},
};
// clang-format on
const struct tt_rows tt_report_rows = TT_ROWS(rows);
TT_OWN_FITS(struct report_options);

enum { PATHS = 64 };

struct report {
    const struct tt_config *c;
    const struct report_options *own;
    double steps;       /* in what is imported; 0 = as the files say */
    char profile[1024]; /* the folder or file of a profile; "" = none */
    char imports[PATHS][1024];
    const char *import_list[PATHS];
    int import_count;
};

static bool is_profile(const char *path)
{
    size_t n = strlen(path);
    return tt_is_dir(path) || (n >= 12 && strcmp(path + n - 12, "profile.json") == 0);
}

static tt_status add_import(struct report *r, const char *path)
{
    if (r->import_count == PATHS) return tt_fail(TT_USAGE, "more than %d files to import; leave some out", PATHS);
    snprintf(r->imports[r->import_count], sizeof r->imports[0], "%s", path);
    r->import_list[r->import_count] = r->imports[r->import_count];
    r->import_count++;
    return TT_OK;
}

/* Words without dashes are the profile, and the files after the first of --import. */
static tt_status sort_words(struct report *r)
{
    char word[1024];
    for (const char *at = r->own->import; tt_list_next(&at, '\n', word, sizeof word);) TT_TRY(add_import(r, word));
    for (const char *at = r->own->runs; tt_list_next(&at, '\n', word, sizeof word);) {
        if (!is_profile(word))
            TT_TRY(add_import(r, word));
        else if (r->profile[0])
            return tt_fail(TT_USAGE, "a report shows one run or profile; put %s and %s side by side with tt compare",
                           r->profile, word);
        else
            snprintf(r->profile, sizeof r->profile, "%s", word);
    }
    if (r->profile[0] || r->import_count) return TT_OK;
    return tt_fail(TT_USAGE,
                   "nothing to report; name the folder of a training run or of a profile, or give files of other "
                   "profilers with --import");
}

/* The folder that the report goes to. */
static void choose_folder(const struct report *r, char out[1024])
{
    size_t n = strlen(r->profile);
    if (r->c->out[0])
        snprintf(out, 1024, "%s", r->c->out);
    else if (!r->profile[0])
        strcpy(out, "imported");
    else if (tt_is_dir(r->profile))
        snprintf(out, 1024, "%s", r->profile);
    else if (n > 13)
        snprintf(out, 1024, "%.*s", (int)(n - 13), r->profile); /* without /profile.json */
    else
        strcpy(out, ".");
}

static void print_operators(const struct tt_profile *p)
{
    char time[32];
    for (int i = 0; i < p->operators_count && i < 10; i++)
        printf("%5.1f %%  %10s  %6lld x  %-40.40s %s\n", 100 * p->operators[i].share,
               tt_si_time(p->operators[i].seconds, time), (long long)p->operators[i].count, p->operators[i].name,
               p->operators[i].group);
}

/* `imported` beside a profile of tt; NULL: there is none. */
static void print(const struct tt_profile *p, const struct tt_profile *imported, const char *log, const char *folder,
                  bool quiet)
{
    enum { SHOWN = 4 };
    struct tt_advice advice[TT_ADVICE_LIMIT];
    char line[400];
    int n = tt_advise(p, advice);
    if (log && !quiet) fputs(log, stdout);
    if (p->run.scope[0]) printf("%s\n", p->run.scope);
    tt_headline(p, line);
    printf("%s\n", line);
    if (!quiet) print_operators(p);
    if (imported && !quiet) {
        tt_headline(imported, line);
        printf("\n%s: %s\n%s\n", imported->run.source, line, imported->run.scope);
        print_operators(imported);
        putchar('\n');
    }
    for (int i = 0; i < n && i < SHOWN && !quiet; i++) printf("try     %s: %s\n", advice[i].what, advice[i].reason);
    printf("saved   %s/report.html\n", folder);
}

/* What another profiler saw, after the summary of the profile. */
static tt_status add_to_summary(const struct tt_profile *imported, const char *path)
{
    enum { LIMIT = 1 << 26, SHOWN = 20 };
    struct tt_text t = {0};
    char *summary, line[400], time[32];
    size_t n;
    TT_TRY(tt_file_read(path, LIMIT, &summary, &n));
    tt_headline(imported, line);
    tt_text_puts(&t, summary);
    tt_text_puts(&t, "\n## What another profiler saw: ");
    tt_md_text(&t, imported->run.source);
    tt_text_printf(&t, "\n\n%s\n\n", line);
    tt_md_text(&t, imported->run.scope);
    tt_text_puts(&t, "\n\n");
    tt_md_head(&t, "operator|group|a step:|time:|share %:");
    for (int i = 0; i < imported->operators_count && i < SHOWN; i++) {
        const struct tt_profile_row *row = &imported->operators[i];
        tt_md_cell(&t, row->name);
        tt_md_cell(&t, row->group);
        tt_md_cellf(&t, "%lld", (long long)row->count);
        tt_md_cell(&t, tt_si_time(row->seconds, time));
        tt_md_cellf(&t, "%.1f", 100 * row->share);
        tt_md_end(&t);
    }
    free(summary);
    tt_status st = tt_text_status(&t);
    if (!st) st = tt_file_replace(path, t.s, t.n);
    tt_text_free(&t);
    return st;
}

/* An imported profile must not replace one that tt measured. */
static tt_status keep_profile(const char *folder)
{
    struct tt_profile there = {0};
    char path[1100];
    snprintf(path, sizeof path, "%s/profile.json", folder);
    if (!tt_is_file(path)) return TT_OK;
    tt_status st = tt_profile_read(folder, &there);
    bool measured = !st && !strcmp(there.run.source, "tt profile");
    tt_status_free(st); /* what cannot be read is replaced */
    tt_profile_free(&there);
    if (!measured) return TT_OK;
    return tt_fail(TT_USAGE,
                   "%s holds a profile of tt; show both with: tt report %s --import FILE, or choose another --out",
                   folder, folder);
}

static tt_status write_files(const char *folder, const struct tt_profile *p, const struct tt_profile *imported,
                             bool fresh)
{
    char path[1100];
    if (fresh) TT_TRY(keep_profile(folder));
    if (fresh) TT_TRY(tt_profile_write(p, folder));
    snprintf(path, sizeof path, "%s/summary.md", folder);
    TT_TRY(tt_profile_write_summary(p, path));
    if (imported) TT_TRY(add_to_summary(imported, path));
    snprintf(path, sizeof path, "%s/report.html", folder);
    return tt_profile_write_html(p, imported, path);
}

static tt_status write_report(const struct report *r, const struct tt_profile *p, const struct tt_profile *imported,
                              bool fresh)
{
    char folder[1024];
    int lock;
    choose_folder(r, folder);
    TT_TRY(tt_folder_lock(folder, TT_LOCK_WAIT, &lock));
    tt_status st = write_files(folder, p, imported, fresh);
    tt_folder_unlock(&lock);
    return st;
}

static tt_status report_profile(const struct report *r, const char *folder)
{
    struct tt_profile profile = {0}, imported = {0};
    struct tt_text log = {0};
    tt_status st = TT_OK;
    if (r->import_count) st = tt_import(r->import_list, r->import_count, r->steps, &imported, &log);
    if (!st && r->profile[0]) st = tt_profile_read(r->profile, &profile);
    const struct tt_profile *shown = r->profile[0] ? &profile : &imported;
    const struct tt_profile *beside = r->profile[0] && r->import_count ? &imported : NULL;
    if (!st) st = write_report(r, shown, beside, !r->profile[0]);
    if (!st) print(shown, beside, log.s, folder, r->c->quiet);
    tt_profile_free(&profile);
    tt_profile_free(&imported);
    tt_text_free(&log);
    return st;
}

/* ---- a training run ---- */

static bool has(const char *folder, const char *name)
{
    char path[1100];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return folder[0] && tt_is_file(path);
}

/* The run may still be going on and own its folder; the page is replaced in one step, so it needs no lock. */
static tt_status report_run(const struct report *r, const char *path)
{
    struct tt_curve curve;
    tt_status st = tt_curve_read(r->profile, &curve);
    if (!st) st = tt_curve_write_html(&curve, r->profile, path);
    if (!st && !r->c->quiet)
        printf("run     %s, until step %.0f\n", r->profile, curve.steps[curve.n - 1].step);
    if (!st) printf("saved   %s\n", path);
    tt_curve_free(&curve);
    return st;
}

/* A run has report.html, and training.html where a profile lies in the same folder. */
static tt_status run(struct report *r)
{
    char folder[1024], path[1100], training[1100];
    TT_TRY(sort_words(r));
    choose_folder(r, folder);
    bool trained = has(r->profile, "metrics.jsonl"), profiled = !trained || has(r->profile, "profile.json");
    if (!profiled && r->import_count)
        return tt_fail(TT_USAGE, "%s is a training run; what another profiler saw goes beside a profile: tt report "
                       "PROFILE --import FILE", r->profile);
    snprintf(path, sizeof path, "%s/report.html", folder);
    snprintf(training, sizeof training, "%s/training.html", folder);
    if (trained) TT_TRY(tt_make_dirs(folder));
    if (profiled) TT_TRY(report_profile(r, folder));
    if (trained) TT_TRY(report_run(r, profiled ? training : path));
    if (r->own->open) tt_open_page(path);
    return TT_OK;
}

tt_status tt_cmd_report(const struct tt_options *o)
{
    struct report *r = calloc(1, sizeof *r);
    if (!r) return tt_no_memory("the command");
    r->c = &o->c;
    r->own = tt_own(o);
    r->steps = tt_option_given(o, "num-steps") ? (double)o->c.num_steps : 0;
    tt_status st = run(r);
    free(r);
    return st;
}
