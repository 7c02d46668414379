#include "cli/ranks.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/allowance.h"
#include "core/base/terminal.h"
#include "core/job/place.h"
#include "core/train/stop.h"

char **tt_words;

static bool on_cpu(void) { return !strcmp(tt_backend_name(), "cpu"); }

/* ---- starting copies ---- */

tt_status tt_ranks_start(int ranks, char **words)
{
    int code = 0;
    if (on_cpu() && !tt_backend_mpirun())
        return tt_fail(TT_NO_TOOL, "this tt was built without MPI, which ranks on a CPU need for their collectives; "
                                   "install it (Debian: apt-get install libopenmpi-dev openmpi-bin) and build again");
    TT_TRY(tt_job_start(ranks, words, on_cpu() ? tt_backend_mpirun() : NULL, &code));
    return code ? tt_fail((enum tt_code)code, "%s", "") : TT_OK;
}

void tt_ranks_words(const struct tt_config *c, char out[TT_RANKS_WORDS])
{
    out[0] = 0;
    if (c->ranks < 2) return;
    snprintf(out, TT_RANKS_WORDS, " --ranks %lld", (long long)c->ranks);
    size_t n = strlen(out);
    if (c->shard != TT_SHARD_NONE) snprintf(out + n, TT_RANKS_WORDS - n, " --shard %s", tt_shard_names[c->shard]);
}

/* ---- commands of one process ---- */

static bool is_for_ranks(const struct tt_options *o)
{
    return o->command == TT_CMD_TRAIN || o->command == TT_CMD_PROFILE || o->command == TT_CMD_DIAGNOSE ||
           (o->command == TT_CMD_BENCH && tt_option_given(o, "ranks"));
}

bool tt_left_to_rank_0(const struct tt_options *o)
{
    struct tt_place place;
    tt_status st = tt_place_find(&place);
    bool several = !st && place.ranks > 1 && !is_for_ranks(o);
    tt_status_free(st); /* a command of one process does not mind a broken environment */
    if (several && place.rank == 0)
        tt_say("%s has started %d processes; tt %s is done by rank 0 alone", place.starter, place.ranks,
               tt_command_names[o->command]);
    return several && place.rank > 0;
}

/* ---- where this rank computes ---- */

static tt_status choose_device(const struct tt_member *w, struct tt_options *o)
{
    int devices = tt_backend_devices(), local = w->place.local_ranks;
    const char *shared = getenv("TT_TEST_RANKS_ON_ONE_GPU");
    bool one = shared && !strcmp(shared, "1");
    if (on_cpu() || tt_option_given(o, "device") || one || devices < 1) return TT_OK;
    if (devices > 1 && devices < local)
        return tt_fail(TT_USAGE, "%d ranks on this machine, but only %d GPUs: each rank needs its own; start fewer",
                       local, devices);
    o->c.device = devices == 1 ? 0 : w->place.local_rank;
    return TT_OK;
}

/* Cores that this process may use, and whether somebody has chosen them for it. */
static int cores(bool *chosen)
{
    cpu_set_t set;
    long all = sysconf(_SC_NPROCESSORS_ONLN);
    int mine = sched_getaffinity(0, sizeof set, &set) ? (int)all : CPU_COUNT(&set);
    *chosen = mine < all;
    return *chosen ? mine : tt_cores();
}

static void choose_threads(const struct tt_member *w, struct tt_config *c)
{
    bool chosen;
    int n = cores(&chosen);
    if (!on_cpu() || c->threads || getenv("OMP_NUM_THREADS")) return;
    if (!chosen) n /= w->place.local_ranks;
    c->threads = n > 1 ? n : 1;
}

/* ---- the others ---- */

/* Rank 0 alone prints. */
static void be_silent(void)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    fflush(stdout);
    if (null >= 0) dup2(null, STDOUT_FILENO);
    if (null >= 0) close(null);
    tt_say_nothing();
}

/* Prints to the starter's own stream and not through mpirun. Where that fails, mpirun forwards it. */
static void print_into(const char *name, FILE *stream)
{
    const char *path = tt_env(TT_STARTED) ? tt_env(name) : NULL;
    int fd = path ? open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC) : -1; /* does not wait for a reader that is gone */
    if (fd < 0) return;
    fflush(stream);
    if (!fcntl(fd, F_SETFL, 0)) dup2(fd, fileno(stream));
    close(fd);
}

static void print_directly(void)
{
    print_into(TT_OUTPUT, stdout);
    print_into(TT_ERRORS, stderr);
}

static tt_status take_place(struct tt_member *w, struct tt_options *o)
{
    struct tt_config *c = &o->c;
    if (tt_option_given(o, "ranks") && c->ranks != w->place.ranks)
        return tt_fail(TT_USAGE, "--ranks %lld, but %s has started %d; leave --ranks out", (long long)c->ranks,
                       w->place.starter, w->place.ranks);
    c->ranks = w->place.ranks;
    c->rank = w->place.rank;
    TT_TRY(choose_device(w, o));
    choose_threads(w, c);
    return TT_OK;
}

/* Leaves the message to rank 0 and gives it a second: there is no job yet to wait in, and a launcher may kill rank 0
 * once this rank has failed. */
static void leave_to_rank_0(tt_status st)
{
    st->text[0] = 0;
    poll(NULL, 0, 1000);
}

tt_status tt_member_open(struct tt_member *w, struct tt_options *o)
{
    struct tt_config *c = &o->c;
    *w = (struct tt_member){0};
    TT_TRY(tt_place_find(&w->place));
    w->done = w->place.ranks == 0 && c->ranks > 1;
    if (w->done) return tt_ranks_start((int)c->ranks, tt_words);
    if (w->place.ranks == 0) return TT_OK;
    tt_status st = take_place(w, o);
    if (st && w->place.rank > 0) leave_to_rank_0(st);
    if (st || w->place.ranks == 1) return st;
    if (o->command == TT_CMD_TRAIN) tt_stop_catch(); /* a signal that asks all to stop must not end this one first */
    struct tt_job_options options = {.place = w->place, .file = c->comm_file, .timeout = c->comm_timeout};
    TT_TRY(tt_job_open(&options, &w->job));
    if (c->rank)
        be_silent();
    else
        print_directly();
    return TT_OK;
}

/* ---- together ---- */

tt_status tt_member_join(struct tt_member *w, const struct tt_backend *b)
{
    if (!w->job) return TT_OK;
    struct tt_ranks ranks = {.rank = w->place.rank, .count = w->place.ranks, .share = tt_job_share_for_device,
                             .user = w->job};
    if (!b->ops->join)
        return tt_fail(TT_NO_TOOL, "this tt was built without %s, which ranks need for their collectives; install it "
                                   "and build again", on_cpu() ? "MPI" : "NCCL or RCCL");
    return b->ops->join(b->self, &ranks);
}

/* Options that may differ from rank to rank. */
static bool is_own(const char *line)
{
    static const char *const names[] = {"device:", "threads:", "comm-file:"};
    for (int i = 0; i < 3; i++)
        if (!strncmp(line, names[i], strlen(names[i]))) return true;
    return false;
}

/* The length of a line without the comment behind it, "  # ...". */
static size_t without_comment(const char *line, size_t n)
{
    size_t end = n;
    for (size_t i = 0; i + 4 <= n; i++)
        if (!memcmp(line + i, "  # ", 4)) end = i;
    while (end > 0 && line[end - 1] == ' ') end--;
    return end;
}

tt_status tt_member_compare(struct tt_member *w, const struct tt_options *o, const char *more)
{
    struct tt_text all = {0}, text = {0};
    if (!w->job) return TT_OK;
    tt_text_printf(&text, "version: %s (%s)\n%s", TT_VERSION_STRING, tt_backend_name(), more);
    tt_options_print(o, &all);
    for (const char *line = all.s; line && *line;) {
        size_t n = strcspn(line, "\n");
        if (!is_own(line)) {
            tt_text_add(&text, line, without_comment(line, n));
            tt_text_puts(&text, "\n");
        }
        line += n + (line[n] == '\n');
    }
    tt_status st = tt_job_agree(w->job, tt_text_status(&text));
    if (!st) st = tt_job_same(w->job, "program, options, model or data", text.s);
    tt_text_free(&all);
    tt_text_free(&text);
    return st;
}

tt_status tt_member_close(struct tt_member *w, tt_status st)
{
    bool together = w->together || tt_job_agreed_to_end(w->job) || (st && st->code == TT_INTERRUPTED);
    if (!w->job) return st;
    fflush(stdout);
    /* Before any of them ends: mpirun kills the others when one has failed. */
    if (st && w->place.rank == 0) tt_say("%s", st->text);
    tt_job_close(w->job, together ? TT_OK : st);
    if (st) st->text[0] = 0;
    return st;
}
