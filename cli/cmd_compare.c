/* tt compare: runs side by side, and a gate for regressions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/ranks.h"
#include "cli/turns.h"
#include "core/base/file.h"
#include "core/base/folder_lock.h"
#include "core/base/terminal.h"
#include "profiling/compare/compare.h"

/* ---- options ---- */

struct compare_options {
    char runs[16384]; /* one a line */
    char fail_if[256];
    int64_t turns;
};

#define AT(field) TT_FIELD(TT_OF_COMMAND, struct compare_options, field)
// clang-format off
static const struct tt_option rows[] = {
    {"run", AT(runs), "What to read", 1 << TT_CMD_COMPARE, "", NULL, "PATH",
     .help = "folder of a profile or of a training run, or a bench.json; several may follow; or two sets of options "
             "to run in turns", .list = '\n', .here = true},
    {"turns", AT(turns), "What to read", 1 << TT_CMD_COMPARE, "6", "[1, 1000]", "N",
     .help = "with two sets of options: turns of each"},
    {"fail-if", AT(fail_if), "What to read", 1 << TT_CMD_COMPARE, "", NULL, "LIST",
     .help = "conditions to fail on, some of slower:5%,memory:10%,loss:0.02,gradients", .check = tt_compare_gate_check},
    {"out", TT_RUN_FIELD(out), TT_S_OUTPUT, 1 << TT_CMD_COMPARE, "", NULL, "DIR",
     .help = "folder for compare.html, compare.json and compare.txt; \"\" = print only", .here = true},
};
// clang-format on
const struct tt_rows tt_compare_rows = TT_ROWS(rows);
TT_OWN_FITS(struct compare_options);

static tt_status write_files(const struct tt_comparison *c, const char *folder, const struct tt_text *text,
                             const struct tt_text *json)
{
    char path[1200];
    TT_TRY(tt_folder_prepare(folder, "compare.json", "comparison"));
    TT_TRY(tt_write_text(folder, "compare.txt", text));
    TT_TRY(tt_write_text(folder, "compare.json", json));
    snprintf(path, sizeof path, "%s/compare.html", folder);
    return tt_compare_write_html(c, path);
}

static tt_status write_folder(const struct tt_comparison *c, const char *folder, const struct tt_text *text,
                              const struct tt_text *json)
{
    int lock;
    TT_TRY(tt_folder_lock(folder, TT_LOCK_WAIT, &lock));
    tt_status st = write_files(c, folder, text, json);
    tt_folder_unlock(&lock);
    return st;
}

static tt_status show(const struct tt_comparison *c, const struct tt_config *config)
{
    struct tt_text text = {0}, brief = {0}, json = {0};
    tt_compare_text(c, &text);
    tt_compare_brief(c, &brief);
    tt_compare_json(c, &json);
    tt_status st = tt_text_status(&text);
    if (!st) st = tt_text_status(&brief);
    if (!st) st = tt_text_status(&json);
    if (!st && config->out[0]) st = write_folder(c, config->out, &text, &json);
    if (!st && config->json) puts(json.s);
    if (!st && !config->json) fputs(config->quiet ? brief.s : text.s, stdout);
    if (!st && config->out[0] && !config->json) printf("saved    %s/compare.html\n", config->out);
    tt_text_free(&text);
    tt_text_free(&brief);
    tt_text_free(&json);
    return st;
}

/* Prints the result of conditions that passed, too: a silent gate may not have judged. */
static tt_status judge(const struct tt_comparison *c, const struct tt_config *config, const struct compare_options *own)
{
    struct tt_text said = {0};
    tt_status st = tt_compare_gate(c, own->fail_if, &said);
    if (said.n && !config->json) fputs(said.s, stdout);
    tt_text_free(&said);
    return st;
}

/* ---- options instead of folders: run first ---- */

/* Options begin with dashes, or with a version, which stands for --version unless a folder has its name. */
static bool is_to_run(const char *item)
{
    size_t n = strcspn(item, " ");
    if (!strncmp(item, "--", 2)) return true;
    for (int v = 0; v < TT_VERSIONS; v++)
        if (strlen(tt_version_names[v]) == n && !strncmp(item, tt_version_names[v], n)) return access(item, F_OK) != 0;
    return false;
}

/* Runs the two in turns with tt bench --against. Its JSON goes to a temporary file without a name, which `path` leads
 * to. */
static tt_status run_in_turns(const char *const *list, int n, int64_t turns, char path[64], int *file)
{
    char a[1100], b[1100], number[40], name[] = "/tmp/tt_compare_XXXXXX";
    if (n != 2) return tt_fail(TT_USAGE, "--run takes two sets of options: tt compare --run fused flash");
    snprintf(a, sizeof a, "--against=%s", list[0]);
    snprintf(b, sizeof b, "--against=%s", list[1]);
    snprintf(number, sizeof number, "--turns=%lld", (long long)turns);
    char *words[] = {tt_words[0], "bench", a, b, number, "--json", NULL};
    tt_say("running %s and %s in %lld turns each", list[0], list[1], (long long)turns);
    *file = mkstemp(name);
    if (*file < 0) return tt_fail(TT_FAILED, "no temporary file for the output of the runs: %s", strerror(errno));
    (void)unlink(name);
    snprintf(path, 64, "/proc/self/fd/%d", *file);
    return tt_copy(words, *file, -1, "--against");
}

tt_status tt_cmd_compare(const struct tt_options *o)
{
    const struct compare_options *own = tt_own(o);
    char paths[TT_COMPARE_LIMIT][1024];
    const char *list[TT_COMPARE_LIMIT];
    int n = 0;
    char one[1024];
    for (const char *at = own->runs; tt_list_next(&at, '\n', one, sizeof one); n++) {
        if (n == TT_COMPARE_LIMIT) return tt_fail(TT_USAGE, "tt compare takes %d runs at most", TT_COMPARE_LIMIT);
        list[n] = memcpy(paths[n], one, sizeof one);
    }
    if (!n)
        return tt_fail(
            TT_USAGE,
            "nothing to compare; name the folders of two profiles or runs: tt compare profiles/baseline "
            "profiles/flash");
    struct tt_comparison *c = calloc(1, sizeof *c);
    if (!c) return tt_no_memory("the command");
    char ran[64];
    int file = -1;
    bool runs = is_to_run(list[0]);
    tt_status st = runs && o->c.out[0] ? tt_folder_check(o->c.out, "compare.json", "comparison") : TT_OK;
    if (!st && runs) st = run_in_turns(list, n, own->turns, ran, &file);
    if (!st && file >= 0) list[0] = ran, n = 1;
    if (!st) st = tt_compare(list, n, c);
    if (file >= 0) close(file);
    if (!st) st = show(c, &o->c);
    if (!st) st = judge(c, &o->c, own);
    tt_compare_free(c);
    free(c);
    return st;
}
