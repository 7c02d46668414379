/* tt profile: measure a training step and write the profile as a folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/profile_print.h"
#include "cli/profile_with.h"
#include "cli/ranks.h"
#include "core/base/cache.h"
#include "core/base/file.h"
#include "core/base/folder_lock.h"
#include "core/config/batch.h"
#include "exercises/engine/course.h"
#include "exercises/engine/fault.h"
#include "profiling/import/tools.h"
#include "profiling/measure/measure.h"
#include "profiling/profile_write.h"
#include "profiling/report/xspace.h"
#include "profiling/seal.h"

/* ---- options ---- */

static const char *const sweep_names[] = {"batch", "seq", NULL};

#define AT(field) TT_FIELD(TT_OF_COMMAND, struct tt_profile_command, field)
// clang-format off
static const struct tt_option rows[] = {
    {"warmup", AT(warmup), "What to measure", 1 << TT_CMD_PROFILE, "3", "[1, 1000]", "N",
     .help = "warm-up steps before anything is measured; at least 2 are run"},
    {"num-steps", TT_RUN_FIELD(num_steps), "What to measure", 1 << TT_CMD_PROFILE, "10", "[1, 1000]", "N",
     .help = "steps measured in each of three passes: undisturbed, by phase, by operation"},
    {"sweep", AT(sweep), "What to measure", 1 << TT_CMD_PROFILE, "", NULL, "LIST",
     .help = "also run other batch sizes (batch) or sequence lengths (seq); their memory is predicted in any case",
     .choices = sweep_names, .list = ','},
    {"remeasure", AT(remeasure), "What to measure", 1 << TT_CMD_PROFILE, "false", NULL, NULL,
     .help = "measure the peak rates of the device again, instead of taking those kept in ~/.cache/tt by an earlier "
             "run",
     .here = true},
    {"with", AT(with), "What to measure", 1 << TT_CMD_PROFILE, "", TT_CHOICE,
     .help = "run the steps under this profiler of the GPU's vendor instead; its files go into --out",
     .choices = tt_tool_names, .flag_only = true},
    {"bare", AT(bare), "What to measure", 1 << TT_CMD_PROFILE, "false", NULL, NULL,
     .help = "only run the steps, marked by the range " TT_TOOL_RANGE ", for a profiler that runs around tt",
     .flag_only = true},
    {"out", TT_RUN_FIELD(out), TT_S_OUTPUT, 1 << TT_CMD_PROFILE, "profile", NULL, "DIR",
     .help = "folder for the profile; replaces an earlier profile in it", .here = true, .required = true},
    {"tensorboard", TT_RUN_FIELD(tensorboard), TT_S_OUTPUT, 1 << TT_CMD_PROFILE, "", NULL, "DIR",
     .help = "also write the trace into this folder, for TensorBoard's profile plugin; \"\" = do not", .here = true},
};
// clang-format on
const struct tt_rows tt_profile_rows = TT_ROWS(rows);
TT_OWN_FITS(struct tt_profile_command);

static tt_status open_data(const struct tt_config *c, struct tt_data **out)
{
    return tt_open_data(c, c->vocab_size, NULL, out);
}

static void say(const char *what) { fprintf(stderr, "\r\033[K%s ...", what); }

static bool in_list(const char *list, const char *word)
{
    char item[32];
    for (const char *at = list; tt_list_next(&at, ',', item, sizeof item);)
        if (!strcmp(item, word)) return true;
    return false;
}

static tt_status measure(struct tt_member *m, const struct tt_config *c, const struct tt_profile_command *own,
                         struct tt_profile *p)
{
    char cache[1200];
    struct tt_backend backend = {0};
    bool terminal = !c->quiet && !c->rank && isatty(STDERR_FILENO);
    tt_status st = tt_job_agree(m->job, tt_open_backend(c, &backend));
    if (!st) st = tt_job_agree(m->job, tt_member_join(m, &backend));
    struct tt_profile_options options = {.backend = &backend,
                                         .job = m->job,
                                         .config = c,
                                         .open_data = open_data,
                                         .steps = c->num_steps,
                                         .warmup = own->warmup,
                                         .ceilings = tt_cache_path("ceilings.json", cache, sizeof cache),
                                         .measure_ceilings = own->remeasure,
                                         .sweep_batch = in_list(own->sweep, "batch"),
                                         .sweep_seq = in_list(own->sweep, "seq"),
                                         .say = terminal ? say : NULL};
    if (!st) st = tt_profile_measure(&options, p);
    if (!st) st = tt_course_label(c, &backend, &p->run);
    if (terminal) fputs("\r\033[K", stderr);
    if (backend.ops) tt_backend_close(&backend);
    snprintf(p->job.starter, sizeof p->job.starter, "%s", m->job ? m->place.starter : "");
    return st;
}

/* The seal names the profile; a worksheet of an exercise asks for it. `when` may be NULL. */
static tt_status read_seal(const char *folder, char seal[TT_SHA256_DIGITS + 1], char when[32])
{
    char path[1200], *text;
    size_t size;
    struct tt_json *profile;
    snprintf(path, sizeof path, "%s/profile.json", folder);
    TT_TRY(tt_file_read(path, (size_t)1 << 28, &text, &size));
    tt_seal_read(text, size, seal);
    tt_status st = when ? tt_json_parse(text, size, &profile) : TT_OK;
    free(text);
    if (st || !when) return st;
    snprintf(when, 32, "%s", tt_json_string(tt_json_get(profile, "run"), "created", ""));
    tt_json_free(profile);
    return TT_OK;
}

static tt_status print_saved(const char *folder)
{
    char seal[TT_SHA256_DIGITS + 1];
    TT_TRY(read_seal(folder, seal, NULL));
    printf("saved   %s, seal %.8s\n", folder, seal);
    return TT_OK;
}

/* A line about the profile that the new one replaces; "" where there is none. */
static void describe_earlier(const char *folder, char out[160])
{
    char path[1200], seal[TT_SHA256_DIGITS + 1] = "", when[32] = "";
    out[0] = 0;
    snprintf(path, sizeof path, "%s/profile.json", folder);
    if (!tt_is_file(path)) return;
    tt_status_free(read_seal(folder, seal, when)); /* what cannot be read is replaced as well */
    snprintf(out, 160, "note    an earlier profile was replaced%s%s%s%.8s", when[0] ? ": " : "", when,
             seal[0] ? ", seal " : "", seal);
}

static tt_status show(const struct tt_config *c, const struct tt_profile *p, const char *earlier, const char *board)
{
    bool results_only = c->json || c->quiet;
    if (results_only && earlier[0]) fprintf(stderr, "%s\n", earlier);
    if (c->json) return tt_profile_print_json(p);
    tt_profile_print(p, c->quiet);
    if (!results_only && earlier[0]) printf("%s\n", earlier);
    TT_TRY(print_saved(c->out));
    if (c->tensorboard[0] && !results_only)
        printf("look    tensorboard --logdir %s (needs its profile plugin: pip install xprof); the profile is called "
               "%s\n", c->tensorboard, board);
    return TT_OK;
}

struct profiling {
    struct tt_member member;
    struct tt_options o;   /* as given, with the data's vocabulary */
    struct tt_config runs; /* with what a fault changes */
    struct tt_profile profile;
    char earlier[160], board[256]; /* the profile that it replaces; its name in TensorBoard */
};

/* A name that the board does not have yet: "small", "small-2", ... */
static void number_board(const char *board, char *name, size_t size)
{
    size_t end = strlen(name);
    char path[4096];
    for (int n = 2;; n++) {
        snprintf(path, sizeof path, "%s/plugins/profile/%s", board, name);
        if (!tt_is_dir(path)) return;
        snprintf(name + end, size - end, "-%d", n);
    }
}

/* Writes the trace under the name of the profile's folder, so that several profiles stand side by side. */
static tt_status write_board(struct profiling *p, const char *out)
{
    const char *board = p->o.c.tensorboard;
    size_t end = strlen(out), start;
    if (!board[0]) return TT_OK;
    while (end > 1 && out[end - 1] == '/') end--;
    for (start = end; start > 0 && out[start - 1] != '/';) start--;
    snprintf(p->board, sizeof p->board, "%.*s", (int)(end - start < 200 ? end - start : 200), out + start);
    number_board(board, p->board, sizeof p->board);
    return tt_profile_write_xspace(&p->profile, board, p->board);
}

/* Locks the folder before the first step, so that no other process writes there meanwhile. */
static tt_status own_folder(const char *out, int *lock)
{
    tt_status st = tt_profile_check_folder(out);
    if (st && !tt_is_dir(out)) return st;
    tt_status_free(st); /* it may be a profile that another process is still writing: then the lock fails */
    TT_TRY(tt_folder_lock(out, 0, lock));
    return tt_profile_check_folder(out);
}

static tt_status measure_into(struct profiling *p, const char *out)
{
    const struct tt_profile_command *own = tt_own(&p->o);
    bool made = !tt_is_dir(out), writes = tt_job_leads(p->member.job);
    int lock = -1;
    tt_status st = tt_job_agree(p->member.job, writes ? own_folder(out, &lock) : TT_OK);
    if (!st) st = measure(&p->member, &p->runs, own, &p->profile);
    if (!st && writes) {
        describe_earlier(out, p->earlier);
        st = tt_profile_write(&p->profile, out);
        if (!st) st = write_board(p, out);
    }
    if (st && made && lock >= 0) (void)rmdir(out); /* a failed profile leaves no empty folder behind */
    tt_folder_unlock(&lock);
    return st;
}

/* Refuses what makes no sense with several ranks. */
static tt_status refuse_for_ranks(const struct profiling *p)
{
    const struct tt_profile_command *own = tt_own(&p->o);
    if (p->o.c.ranks <= 1 && !p->member.job) return TT_OK;
    if (own->with[0])
        return tt_fail(TT_USAGE, "--with runs a tool over one process; for several ranks start the tool for each, as "
                                 "in mpirun -n 2 %s ... tt profile --bare", own->with);
    if (own->sweep[0]) return tt_fail(TT_USAGE, "--sweep is for one rank; leave out --ranks, or --sweep");
    return TT_OK;
}

static tt_status choose(struct profiling *p)
{
    TT_TRY(refuse_for_ranks(p));
    TT_TRY(tt_batch_fit(&p->o));
    p->runs = p->o.c; /* with its place */
    tt_fault_configure(&p->runs);
    TT_TRY(tt_config_check(&p->runs));
    TT_TRY(tt_take_vocabulary(&p->o));
    p->runs.vocab_size = p->o.c.vocab_size;
    p->runs.end_token = p->o.c.end_token;
    return tt_config_check(&p->runs);
}

/* Before anything is measured. */
static tt_status make_board(const char *folder)
{
    if (access(folder, F_OK) == 0 && !tt_is_dir(folder))
        return tt_fail(TT_USAGE, "--tensorboard %s is a file; name a folder", folder);
    return folder[0] ? tt_make_dirs(folder) : TT_OK;
}

static tt_status run_member(struct profiling *p)
{
    const char *out = p->o.c.out;
    const struct tt_profile_command *own = tt_own(&p->o);
    TT_TRY(tt_job_agree(p->member.job, choose(p)));
    if (own->with[0]) return tt_profile_with_tool(&p->o);
    TT_TRY(tt_member_compare(&p->member, &p->o, ""));
    if (own->bare) return tt_profile_bare(&p->member, &p->runs, own->warmup);
    TT_TRY(tt_job_agree(p->member.job, make_board(p->o.c.tensorboard)));
    TT_TRY(measure_into(p, out));
    return tt_job_leads(p->member.job) ? show(&p->o.c, &p->profile, p->earlier, p->board) : TT_OK;
}

static tt_status run(struct profiling *p)
{
    tt_status st = refuse_for_ranks(p);
    if (!st) st = tt_member_open(&p->member, &p->o);
    if (!st && !p->member.done) st = run_member(p);
    return tt_member_close(&p->member, st);
}

tt_status tt_cmd_profile(const struct tt_options *o)
{
    struct profiling *p = calloc(1, sizeof *p);
    if (!p) return tt_no_memory("the command");
    p->o = *o;
    tt_status st = run(p);
    tt_profile_free(&p->profile);
    free(p);
    return st;
}
