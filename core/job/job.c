/* The calls of job.h. Every collective call has a number, which all its frames carry, so that two ranks notice if they
 * are not in the same call. A call waits without a timeout; the watcher (watch.c) detects lost ranks. */
#include "core/job/job.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/job/address.h"
#include "core/job/internal.h"
#include "core/job/place.h"

static void free_job(struct tt_job *j)
{
    for (int r = 0; j->peers && r < j->ranks; r++)
        for (int c = 0; c < TT_CHANNELS; c++)
            if (j->peers[r].fd[c] >= 0) close(j->peers[r].fd[c]);
    free(j->peers);
    free(j);
}

void tt_tell_starter(void)
{
    const char *path = tt_env(TT_SAID);
    int fd = path ? open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    if (fd < 0) return;
    (void)!write(fd, "", 1);
    close(fd);
}

tt_status tt_job_open(const struct tt_job_options *options, struct tt_job **out)
{
    const struct tt_place *p = &options->place;
    *out = NULL;
    if (p->ranks <= 1) return TT_OK;
    struct tt_job *j = calloc(1, sizeof *j);
    if (!j) return tt_no_memory("a job");
    j->rank = p->rank;
    j->ranks = p->ranks;
    j->timeout = options->timeout;
    tt_host_name(j->host, sizeof j->host);
    atomic_init(&j->progress.step, -1);
    atomic_init(&j->progress.met, -1);
    atomic_init(&j->progress.busy, true); /* until the first call: setting up may take long */
    j->peers = calloc((size_t)j->ranks, sizeof *j->peers);
    tt_status st = j->peers ? TT_OK : tt_no_memory("a job of %d ranks", j->ranks);
    for (int r = 0; j->peers && r < j->ranks; r++)
        for (int c = 0; c < TT_CHANNELS; c++) j->peers[r].fd[c] = -1;
    if (!st) st = tt_rendezvous(j, options);
    if (!st) st = tt_watch_start(j);
    if (st) {
        free_job(j);
        tt_tell_starter();
    } else {
        *out = j;
    }
    return st;
}

int tt_job_rank(const struct tt_job *j) { return j ? j->rank : 0; }
int tt_job_ranks(const struct tt_job *j) { return j ? j->ranks : 1; }

/* ---- signs of life ---- */

static void sign_of_life(struct tt_job *j, bool busy)
{
    atomic_store(&j->progress.busy, busy);
    atomic_fetch_add(&j->progress.signs, 1);
}

static uint64_t enter(struct tt_job *j)
{
    atomic_store(&j->over, false); /* the job continues after an agreed failure: watch the ranks again */
    uint64_t number = atomic_fetch_add(&j->progress.calls, 1) + 1;
    sign_of_life(j, false);
    return number;
}

void tt_job_alive(struct tt_job *j, int64_t step)
{
    if (!j) return;
    atomic_store(&j->progress.step, step);
    sign_of_life(j, false);
}

void tt_job_busy(struct tt_job *j)
{
    if (j) sign_of_life(j, true);
}

/* All ranks make the same calls in the same order: whoever has entered this one has done the steps before it. */
static void met(struct tt_job *j) { atomic_store(&j->progress.met, atomic_load(&j->progress.step)); }

void tt_job_ask(struct tt_job *j, uint32_t bits)
{
    if (j) atomic_fetch_or(&j->progress.asks, bits);
}

/* ---- sending and receiving ---- */

/* When a connection has ended, the watcher sees that too and ends this process with the reason. So this waits for it.
 */
static tt_status broken(struct tt_job *j, int rank, enum tt_wire how)
{
    const char *host = j->peers[rank].host;
    if (how == TT_WIRE_WRONG)
        return tt_fail(TT_FAILED,
                       "rank %d (%s) is not in the same call as rank %d (%s), call %llu; this is an error "
                       "in tt",
                       rank, host, j->rank, j->host, (unsigned long long)atomic_load(&j->progress.calls));
    double until = tt_seconds() + j->timeout + 2;
    while (how == TT_WIRE_CLOSED && !atomic_load(&j->over) && tt_seconds() < until)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return tt_fail(TT_RANK_LOST, "rank %d (%s) %s", rank, host,
                   how == TT_WIRE_LATE ? "does not read its messages" : "is gone");
}

static tt_status send_to(struct tt_job *j, int rank, enum tt_message kind, uint64_t number, const void *bytes,
                         size_t size, double until)
{
    enum tt_wire how = tt_wire_send(j->peers[rank].fd[TT_CALLS], kind, number, bytes, size, until);
    return how ? broken(j, rank, how) : TT_OK;
}

static tt_status send_to_all(struct tt_job *j, enum tt_message kind, uint64_t number, const void *bytes, size_t size,
                             double until)
{
    for (int r = 1; r < j->ranks; r++) TT_TRY(send_to(j, r, kind, number, bytes, size, until));
    return TT_OK;
}

static tt_status receive_from(struct tt_job *j, int rank, enum tt_message kind, uint64_t number, void *bytes,
                              size_t size)
{
    enum tt_wire how = tt_wire_receive(j->peers[rank].fd[TT_CALLS], kind, number, bytes, size, TT_FOREVER);
    return how ? broken(j, rank, how) : TT_OK;
}

static tt_status receive_up_to(struct tt_job *j, int rank, enum tt_message kind, uint64_t number, void *bytes,
                               size_t *size)
{
    enum tt_wire how = tt_wire_receive_up_to(j->peers[rank].fd[TT_CALLS], kind, number, bytes, size, TT_FOREVER);
    return how ? broken(j, rank, how) : TT_OK;
}

/* ---- the calls ---- */

tt_status tt_job_share(struct tt_job *j, void *bytes, size_t size)
{
    if (!j) return TT_OK;
    uint64_t number = enter(j);
    if (j->rank == 0) return send_to_all(j, TT_SHARE, number, bytes, size, TT_FOREVER);
    return receive_from(j, 0, TT_SHARE, number, bytes, size);
}

tt_status tt_job_share_for_device(void *user, void *bytes, size_t size) { return tt_job_share(user, bytes, size); }

tt_status tt_job_gather(struct tt_job *j, const void *mine, size_t size, void *all)
{
    char *part = all;
    if (size) memmove(part + (size_t)tt_job_rank(j) * size, mine, size);
    if (!j) return TT_OK;
    uint64_t number = enter(j);
    if (j->rank > 0) {
        TT_TRY(send_to(j, 0, TT_GATHER, number, mine, size, TT_FOREVER));
        TT_TRY(receive_from(j, 0, TT_GATHER, number, all, size * (size_t)j->ranks));
        met(j);
        return TT_OK;
    }
    for (int r = 1; r < j->ranks; r++) TT_TRY(receive_from(j, r, TT_GATHER, number, part + (size_t)r * size, size));
    met(j);
    return send_to_all(j, TT_GATHER, number, all, size * (size_t)j->ranks, TT_FOREVER);
}

tt_status tt_job_collect(struct tt_job *j, const void *mine, const size_t *sizes, void *all)
{
    char *part = all;
    if (!j || j->rank == 0) memcpy(part, mine, sizes[0]);
    if (!j) return TT_OK;
    uint64_t number = enter(j);
    if (j->rank > 0) return send_to(j, 0, TT_GATHER, number, mine, sizes[j->rank], TT_FOREVER);
    for (int r = 1; r < j->ranks; r++) {
        part += sizes[r - 1];
        TT_TRY(receive_from(j, r, TT_GATHER, number, part, sizes[r]));
    }
    return TT_OK;
}

tt_status tt_job_sum(struct tt_job *j, double *value)
{
    if (!j) return TT_OK;
    double *all = malloc((size_t)j->ranks * sizeof *all);
    if (!all) return tt_no_memory("a sum over %d ranks", j->ranks);
    tt_status st = tt_job_gather(j, value, sizeof *value, all);
    double sum = 0;
    for (int r = 0; !st && r < j->ranks; r++) sum += all[r];
    if (!st) *value = sum;
    free(all);
    return st;
}

/* Rank 0 sends the result to all. After a failure all know that the job ends before the first of them can leave. */
static tt_status announce(struct tt_job *j, enum tt_message kind, uint64_t number, const struct tt_failure *v)
{
    if (v->code) atomic_store(&j->over, true);
    TT_TRY(send_to_all(j, kind, number, v, v->code ? sizeof *v : 0, TT_FOREVER));
    return v->code ? tt_fail((enum tt_code)v->code, "%s", v->text) : TT_OK;
}

static tt_status receive_failure(struct tt_job *j, enum tt_message kind, uint64_t number)
{
    struct tt_failure v;
    size_t size = sizeof v;
    TT_TRY(receive_up_to(j, 0, kind, number, &v, &size));
    if (!size) return TT_OK;
    if (size != sizeof v || !v.code) return broken(j, 0, TT_WIRE_WRONG);
    atomic_store(&j->over, true);
    v.text[sizeof v.text - 1] = 0;
    return tt_fail((enum tt_code)v.code, "%s", v.text);
}

static void fill_failure(struct tt_failure *v, const struct tt_job *j, int rank, enum tt_code code, const char *text)
{
    *v = (struct tt_failure){.code = (int32_t)code, .rank = rank};
    const char *host = rank == j->rank ? j->host : j->peers[rank].host;
    tt_status st = tt_context(tt_fail(code, "%s", text), "rank %d (%s)", rank, host);
    memcpy(v->text, st->text, sizeof v->text);
    tt_status_free(st);
}

/* The failure of the first rank that has one. */
static tt_status receive_failures(struct tt_job *j, uint64_t number, struct tt_failure *first)
{
    for (int r = 1; r < j->ranks; r++) {
        struct tt_failure v;
        size_t size = sizeof v;
        TT_TRY(receive_up_to(j, r, TT_AGREE, number, &v, &size));
        if (!size) continue;
        if (size != sizeof v || !v.code) return broken(j, r, TT_WIRE_WRONG);
        v.text[sizeof v.text - 1] = 0;
        if (!first->code) fill_failure(first, j, r, (enum tt_code)v.code, v.text);
    }
    return TT_OK;
}

static tt_status agree_on(struct tt_job *j, tt_status st)
{
    uint64_t number = enter(j);
    struct tt_failure v = {0};
    if (j->rank == 0) {
        if (st) fill_failure(&v, j, 0, st->code, st->text);
        TT_TRY(receive_failures(j, number, &v));
        met(j);
        return announce(j, TT_AGREE, number, &v);
    }
    if (st) {
        v.code = (int32_t)st->code;
        memcpy(v.text, st->text, sizeof v.text);
    }
    TT_TRY(send_to(j, 0, TT_AGREE, number, &v, st ? sizeof v : 0, TT_FOREVER));
    return receive_failure(j, TT_AGREE, number);
}

tt_status tt_job_agree(struct tt_job *j, tt_status st)
{
    if (!j) return st;
    tt_status all = agree_on(j, st);
    if (!st) return all;
    tt_status_free(all);
    return st;
}

bool tt_job_agreed_to_end(const struct tt_job *j) { return j && atomic_load(&j->over); }

/* ---- the same text on all ranks ---- */

enum { LONGEST_TEXT = 1 << 20 };

static int line_at(const char *s)
{
    size_t n = strcspn(s, "\n");
    return n > 200 ? 200 : (int)n;
}

static void compare(struct tt_failure *v, const struct tt_job *j, int rank, const char *what, const char *mine,
                    const char *theirs)
{
    if (v->code || strcmp(mine, theirs) == 0) return;
    size_t same = 0, start = 0;
    for (; mine[same] && mine[same] == theirs[same]; same++)
        if (mine[same] == '\n') start = same + 1;
    tt_status st = tt_fail(TT_USAGE,
                           "%s is not the same on all ranks: rank %d (%s) has \"%.*s\", rank 0 (%s) has "
                           "\"%.*s\"; start all ranks with the same options and the same files",
                           what, rank, j->peers[rank].host, line_at(theirs + start), theirs + start, j->host,
                           line_at(mine + start), mine + start);
    v->code = (int32_t)st->code;
    v->rank = rank;
    memcpy(v->text, st->text, sizeof v->text);
    tt_status_free(st);
}

static tt_status compare_all(struct tt_job *j, uint64_t number, const char *what, const char *text, char *theirs)
{
    struct tt_failure v = {0};
    for (int r = 1; r < j->ranks; r++) {
        size_t size = LONGEST_TEXT;
        TT_TRY(receive_up_to(j, r, TT_SAME, number, theirs, &size));
        theirs[size] = 0;
        compare(&v, j, r, what, text, theirs);
    }
    return announce(j, TT_SAME, number, &v);
}

tt_status tt_job_same(struct tt_job *j, const char *what, const char *text)
{
    if (!j) return TT_OK;
    size_t size = strlen(text);
    if (size > LONGEST_TEXT) return tt_fail(TT_FAILED, "%s is too long to compare: %zu bytes", what, size);
    uint64_t number = enter(j);
    if (j->rank > 0) {
        TT_TRY(send_to(j, 0, TT_SAME, number, text, size, TT_FOREVER));
        return receive_failure(j, TT_SAME, number);
    }
    char *theirs = malloc(LONGEST_TEXT + 1);
    if (!theirs) return tt_no_memory("%s", what);
    tt_status st = compare_all(j, number, what, text, theirs);
    free(theirs);
    return st;
}

/* ---- rank 0's decision after a step ---- */

struct decision {
    int64_t step;
    uint64_t bits;
};

/* A small message without an answer. The socket buffers hold thousands of them for a rank that is behind. */
tt_status tt_job_decide(struct tt_job *j, int64_t step, uint32_t *decision)
{
    if (!j) return TT_OK;
    uint64_t number = enter(j);
    if (j->rank == 0) *decision |= atomic_load(&j->progress.asks);
    struct decision d = {step, *decision};
    if (j->rank == 0) return send_to_all(j, TT_DECIDE, number, &d, sizeof d, tt_seconds() + j->timeout);
    TT_TRY(receive_from(j, 0, TT_DECIDE, number, &d, sizeof d));
    if (d.step != step) return broken(j, 0, TT_WIRE_WRONG);
    met(j);
    *decision = (uint32_t)d.bits;
    return TT_OK;
}

/* ---- the end ---- */

static tt_status wait_for_the_others(struct tt_job *j)
{
    uint64_t number = enter(j);
    if (j->rank > 0) {
        TT_TRY(send_to(j, 0, TT_CLOSE, number, NULL, 0, TT_FOREVER));
        TT_TRY(receive_from(j, 0, TT_CLOSE, number, NULL, 0));
        atomic_store(&j->over, true);
        return TT_OK;
    }
    for (int r = 1; r < j->ranks; r++) TT_TRY(receive_from(j, r, TT_CLOSE, number, NULL, 0));
    atomic_store(&j->over, true);
    return send_to_all(j, TT_CLOSE, number, NULL, 0, TT_FOREVER);
}

void tt_job_close(struct tt_job *j, tt_status st)
{
    if (!j) return;
    tt_status late = st || atomic_load(&j->over) ? TT_OK : wait_for_the_others(j);
    tt_watch_stop(j, atomic_load(&j->over) ? TT_OK : st ? st : late);
    tt_status_free(late);
    free_job(j);
}
