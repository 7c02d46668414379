/* The rendezvous: rank 0 waits until all other ranks have connected, then tells them to start.
 *
 *     rank n                          rank 0
 *     greeting (token, rank)   ->     checks the token
 *                              <-     answer (proof that it knows the token too)
 *     READY                    ->     the connection is admitted
 *                              <-     WAITING, once in a while
 *                              <-     GO, or ENDED with the reason
 *
 * The token is a hash of the job's id or, if there is a comm file, of the secret in it. A connection stays pending
 * until it has sent the right token; so a port scanner or a rank of another job is never admitted. It has a few seconds
 * and a fixed number of bytes for that, while other connections are served. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/job/address.h"
#include "core/job/internal.h"

enum { GREETING = 0x74746867, ANSWER = 0x74746161, REASON = 200 };
static const double GREETING_SECONDS = 3; /* for one attempt to connect and greet */

struct greeting {
    uint32_t magic, channel;
    int32_t rank, ranks;
    char token[TT_SHA256_DIGITS], host[TT_HOST];
};

struct answer {
    uint32_t magic, refused;
    char proof[TT_SHA256_DIGITS], host[TT_HOST], reason[REASON];
};

struct rendezvous {
    struct tt_job *j;
    double until;
    char token[TT_SHA256_DIGITS + 1], proof[TT_SHA256_DIGITS + 1];
};

static void make_token(struct rendezvous *m, const char *id, const char *secret)
{
    struct tt_text text = {0};
    tt_text_printf(&text, "tt job %s secret %s", secret[0] ? "" : id, secret);
    tt_sha256(text.s ? text.s : "", text.n, m->token);
    tt_text_printf(&text, " rank 0");
    tt_sha256(text.s ? text.s : "", text.n, m->proof);
    tt_text_free(&text);
}

static void pause_for(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

/* ---- rank 0 ---- */

struct pending {
    int fd; /* -1: none */
    double until;
    size_t have;
    struct {
        struct greeting greeting;
        struct tt_frame ready;
    } in;
};

struct listener {
    struct rendezvous *m;
    int fd;
    struct pending *pending;
    int slots, missing; /* of pending; connections of ranks that have not come yet */
    struct pollfd *polls;
    tt_status failure; /* the rendezvous cannot succeed */
};

static void drop(struct pending *s)
{
    if (s->fd >= 0) close(s->fd);
    s->fd = -1;
}

/* If no slot is free, the oldest pending connection is dropped. */
static void accept_connections(struct listener *d)
{
    for (int fd; (fd = accept(d->fd, NULL, NULL)) >= 0;) {
        struct pending *slot = &d->pending[0];
        for (int i = 0; i < d->slots; i++) {
            struct pending *s = &d->pending[i];
            if (s->fd < 0 || (slot->fd >= 0 && s->until < slot->until)) slot = s;
        }
        drop(slot);
        tt_wire_set_up(fd);
        *slot = (struct pending){.fd = fd, .until = tt_seconds() + GREETING_SECONDS};
    }
}

static bool is_ours(const struct listener *d, const struct greeting *g)
{
    return g->magic == GREETING && memcmp(g->token, d->m->token, sizeof g->token) == 0 && g->channel < TT_CHANNELS &&
           memchr(g->host, 0, sizeof g->host);
}

/* The error if this rank of our job was started wrongly. */
static tt_status contradicts(const struct listener *d, const struct greeting *g)
{
    const struct tt_job *j = d->m->j;
    if (g->ranks != j->ranks)
        return tt_fail(TT_USAGE, "rank %d (%s) says that there are %d ranks, rank 0 (%s) that there are %d; start "
                       "all with the same number (WORLD_SIZE)", g->rank, g->host, g->ranks, j->host, j->ranks);
    if (g->rank < 0 || g->rank >= j->ranks)
        return tt_fail(TT_USAGE, "a process on %s says that it is rank %d of %d", g->host, g->rank, g->ranks);
    if (g->rank == 0) return tt_fail(TT_USAGE, "two processes are rank 0: one on %s, one on %s; give each its own RANK",
                                    j->host, g->host);
    const struct tt_peer *p = &j->peers[g->rank];
    if (p->fd[g->channel] < 0) return TT_OK;
    return tt_fail(TT_USAGE, "two processes are rank %d: one on %s, one on %s; give each its own RANK", g->rank,
                   p->host, g->host);
}

static bool answer(struct listener *d, struct pending *s)
{
    if (!is_ours(d, &s->in.greeting)) return false;
    struct answer a = {.magic = ANSWER};
    memcpy(a.proof, d->m->proof, sizeof a.proof);
    memcpy(a.host, d->m->j->host, sizeof a.host);
    tt_status wrong = contradicts(d, &s->in.greeting);
    if (wrong) {
        a.refused = 1;
        snprintf(a.reason, sizeof a.reason, "%.*s", REASON - 1, wrong->text);
        if (!d->failure)
            d->failure = wrong;
        else
            tt_status_free(wrong);
    }
    return tt_wire_write(s->fd, &a, sizeof a, 0) == TT_WIRE_OK && !a.refused;
}

static bool admit(struct listener *d, struct pending *s)
{
    const struct greeting *g = &s->in.greeting;
    if (!tt_frame_is_sound(&s->in.ready, 0) || s->in.ready.kind != TT_READY) return false;
    struct tt_peer *p = &d->m->j->peers[g->rank];
    if (p->fd[g->channel] >= 0) return false;
    memcpy(p->host, g->host, sizeof p->host);
    p->fd[g->channel] = s->fd;
    s->fd = -1;
    d->missing--;
    return true;
}

/* Reads what has arrived. False: drop the connection. */
static bool read_from(struct listener *d, struct pending *s)
{
    for (;;) {
        size_t want = s->have < sizeof s->in.greeting ? sizeof s->in.greeting : sizeof s->in;
        ssize_t n = recv(s->fd, (char *)&s->in + s->have, want - s->have, 0);
        if (n < 0) return errno == EAGAIN || errno == EINTR;
        if (n == 0) return false;
        s->have += (size_t)n;
        if (s->have == sizeof s->in.greeting && !answer(d, s)) return false;
        if (s->have == sizeof s->in) return admit(d, s);
    }
}

static void serve_pending(struct listener *d)
{
    double now = tt_seconds();
    for (int i = 0; i < d->slots; i++) {
        struct pending *s = &d->pending[i];
        if (s->fd >= 0 && (!read_from(d, s) || now > s->until)) drop(s);
    }
}

/* Admitted ranks send nothing until GO, so anything readable means that the connection has ended. */
static void check_ranks(struct listener *d, bool send_waiting)
{
    struct tt_job *j = d->m->j;
    for (int r = 1; r < j->ranks && !d->failure; r++) {
        char byte;
        int fd = j->peers[r].fd[TT_CALLS];
        if (fd < 0) continue;
        bool gone = recv(fd, &byte, 1, MSG_PEEK) >= 0 || (errno != EAGAIN && errno != EINTR);
        if (send_waiting && !gone) gone = tt_wire_send(fd, TT_WAITING, 0, NULL, 0, 0) == TT_WIRE_CLOSED;
        if (gone)
            d->failure =
                tt_fail(TT_RANK_LOST, "rank %d (%s) ended before the job began; see its output", r, j->peers[r].host);
    }
}

static int gather_polls(const struct listener *d)
{
    int n = 0;
    d->polls[n++] = (struct pollfd){.fd = d->fd, .events = POLLIN};
    for (int i = 0; i < d->slots; i++)
        if (d->pending[i].fd >= 0) d->polls[n++] = (struct pollfd){.fd = d->pending[i].fd, .events = POLLIN};
    for (int r = 1; r < d->m->j->ranks; r++)
        if (d->m->j->peers[r].fd[TT_CALLS] >= 0)
            d->polls[n++] = (struct pollfd){.fd = d->m->j->peers[r].fd[TT_CALLS], .events = POLLIN};
    return n;
}

/* "ranks 3, 5 and 12 more of 16 did not connect". */
static tt_status too_few(const struct listener *d)
{
    const struct tt_job *j = d->m->j;
    enum { NAMED = 8 };
    char names[NAMED * 8] = "";
    int missing = 0;
    for (int r = 1; r < j->ranks; r++) {
        if (j->peers[r].fd[TT_CALLS] >= 0 && j->peers[r].fd[TT_WATCH] >= 0) continue;
        size_t n = strlen(names);
        if (missing++ < NAMED) snprintf(names + n, sizeof names - n, "%s%d", n ? ", " : "", r);
    }
    char more[32] = "";
    if (missing > NAMED) snprintf(more, sizeof more, " and %d more", missing - NAMED);
    return tt_fail(TT_RANK_LOST,
                   "rank%s %s%s of %d did not connect to rank 0 (%s) within %g s; see their output, and check "
                   "whether their machines reach this one",
                   missing > 1 ? "s" : "", names, more, j->ranks, j->host, j->timeout);
}

static tt_status wait_for_ranks(struct listener *d)
{
    double sent = tt_seconds(), period = tt_period(d->m->j);
    while (d->missing && !d->failure) {
        double now = tt_seconds();
        if (now >= d->m->until) return too_few(d);
        bool send_waiting = now - sent >= period;
        if (send_waiting) sent = now;
        check_ranks(d, send_waiting);
        poll(d->polls, (nfds_t)gather_polls(d), 200);
        serve_pending(d);
        accept_connections(d);
    }
    return d->failure;
}

/* Raises the limit of open files: each rank has two connections to this process. */
static void allow_connections(int ranks)
{
    struct rlimit files;
    rlim_t need = 2 * (rlim_t)ranks + 256;
    if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur >= need) return;
    files.rlim_cur = files.rlim_max < need ? files.rlim_max : need;
    setrlimit(RLIMIT_NOFILE, &files);
}

static tt_status listen_for_ranks(struct listener *d)
{
    int ranks = d->m->j->ranks;
    d->slots = 64 + 2 * ranks;
    d->missing = TT_CHANNELS * (ranks - 1);
    d->pending = calloc((size_t)d->slots, sizeof *d->pending);
    d->polls = calloc((size_t)d->slots + (size_t)ranks + 1, sizeof *d->polls);
    if (!d->pending || !d->polls) return tt_no_memory("connecting %d ranks", ranks);
    for (int i = 0; i < d->slots; i++) d->pending[i].fd = -1;
    return wait_for_ranks(d);
}

/* Tells all connected ranks to start, or why they cannot. */
static tt_status announce(struct tt_job *j, tt_status st)
{
    struct tt_failure failure = {.code = st ? (int32_t)st->code : 0};
    if (st) memcpy(failure.text, st->text, sizeof failure.text);
    for (int r = 1; r < j->ranks; r++) {
        if (j->peers[r].fd[TT_CALLS] < 0) continue;
        enum tt_message kind = st ? TT_ENDED : TT_GO;
        tt_wire_send(j->peers[r].fd[TT_CALLS], kind, 0, &failure, st ? sizeof failure : 0, tt_seconds() + 1);
    }
    return st;
}

static tt_status lead(struct rendezvous *m, const struct tt_job_options *options)
{
    struct tt_address where;
    bool in_file;
    struct listener d = {.m = m, .fd = -1};
    TT_TRY(tt_address_find(options, &where, &in_file));
    make_token(m, options->place.id, where.secret);
    allow_connections(m->j->ranks);
    TT_TRY(tt_listen(&where, &d.fd));
    tt_status st = in_file ? tt_address_write(options->file, &where) : TT_OK;
    if (!st) st = listen_for_ranks(&d);
    for (int i = 0; d.pending && i < d.slots; i++) drop(&d.pending[i]);
    if (in_file) tt_address_remove(options->file, &where);
    free(d.pending);
    free(d.polls);
    close(d.fd);
    return announce(m->j, st);
}

/* ---- the others ---- */

/* A connection on which rank 0 of this job has answered, or -1 with the reason in `why`. If *refused is set, trying
 * again is useless. */
static int try_channel(struct rendezvous *m, const struct tt_address *where, enum tt_channel channel, char *why,
                       tt_status *refused)
{
    struct tt_job *j = m->j;
    double until = tt_seconds() + GREETING_SECONDS;
    if (until > m->until) until = m->until;
    int fd = tt_connect(where, until, why, REASON);
    if (fd < 0) return -1;
    struct greeting g = {.magic = GREETING, .channel = channel, .rank = j->rank, .ranks = j->ranks};
    memcpy(g.token, m->token, sizeof g.token);
    memcpy(g.host, j->host, sizeof g.host);
    struct answer a;
    snprintf(why, REASON, "the program that answers there is not rank 0 of this job");
    bool good = tt_wire_write(fd, &g, sizeof g, until) == TT_WIRE_OK &&
                tt_wire_read(fd, &a, sizeof a, until) == TT_WIRE_OK && a.magic == ANSWER &&
                memcmp(a.proof, m->proof, sizeof a.proof) == 0;
    if (good && a.refused) *refused = tt_fail(TT_USAGE, "%.*s", REASON - 1, a.reason);
    if (good && !a.refused && tt_wire_send(fd, TT_READY, 0, NULL, 0, until) == TT_WIRE_OK) {
        a.host[sizeof a.host - 1] = 0;
        memcpy(j->peers[0].host, a.host, sizeof a.host);
        return fd;
    }
    close(fd);
    return -1;
}

/* Where the address of rank 0 comes from (address.c), as a question. */
static void where_from(const struct tt_job_options *options, const struct tt_address *where, char out[400])
{
    const struct tt_place *p = &options->place;
    if (where->secret[0])
        snprintf(out, 400, "does it have the same --comm-file, %.300s?", options->file);
    else if (!strcmp(where->host, p->address))
        snprintf(out, 400, "is MASTER_ADDR its machine?");
    else if (p->port)
        snprintf(out, 400, "does it have the same MASTER_PORT? LOCAL_WORLD_SIZE says that it is on this machine");
    else
        snprintf(out, 400, "did the same process start it? Else set MASTER_ADDR and MASTER_PORT for all ranks");
}

static tt_status no_answer(const struct tt_job_options *options, const struct tt_address *where, const char *why)
{
    char from[400];
    if (!where->host[0] && access(options->file, F_OK) == 0)
        return tt_fail(TT_RANK_LOST, "%s is not a file of rank 0, and rank 0 did not replace it within %g s; is it "
                       "started, with the same --comm-file?", options->file, options->timeout);
    if (!where->host[0])
        return tt_fail(TT_RANK_LOST,
                       "rank 0 did not write its address to %s within %g s; is it started, and is the "
                       "folder shared?",
                       options->file, options->timeout);
    where_from(options, where, from);
    return tt_fail(TT_RANK_LOST, "rank 0 did not answer at %s port %d within %g s: %s; is it started, and %s",
                   where->host, where->port, options->timeout, why, from);
}

/* Tries until the timeout: rank 0 may start later, and the comm file may be a leftover of an earlier job. */
static tt_status reach(struct rendezvous *m, const struct tt_job_options *options)
{
    struct tt_address where;
    bool in_file;
    char why[REASON] = "nothing was tried";
    TT_TRY(tt_address_find(options, &where, &in_file));
    make_token(m, options->place.id, where.secret);
    if (in_file) where = (struct tt_address){0};
    for (int channel = 0; channel < TT_CHANNELS;) {
        if (tt_seconds() >= m->until) return no_answer(options, &where, why);
        if (in_file && channel == 0 && tt_address_read(options->file, &where))
            make_token(m, options->place.id, where.secret);
        tt_status refused = TT_OK;
        int fd = where.host[0] ? try_channel(m, &where, (enum tt_channel)channel, why, &refused) : -1;
        if (refused) return refused;
        m->j->peers[0].fd[channel] = fd;
        if (fd >= 0)
            channel++;
        else
            pause_for(0.05);
    }
    snprintf(m->j->name, sizeof m->j->name, "tt-%.32s-%d", m->token, where.port);
    return TT_OK;
}

static tt_status wait_for_go(struct tt_job *j)
{
    int fd = j->peers[0].fd[TT_CALLS];
    for (;;) {
        struct tt_frame f;
        struct tt_failure v;
        double until = tt_seconds() + j->timeout;
        enum tt_wire got = tt_wire_read(fd, &f, sizeof f, until);
        if (!got && !tt_frame_is_sound(&f, sizeof v)) got = TT_WIRE_WRONG;
        if (!got && f.kind == TT_GO && !f.size) return TT_OK;
        if (!got && f.kind == TT_WAITING && !f.size) continue;
        if (!got && f.kind == TT_ENDED && f.size == sizeof v && !tt_wire_read(fd, &v, sizeof v, until)) {
            v.text[sizeof v.text - 1] = 0;
            return tt_fail(v.code == TT_USAGE ? TT_USAGE : TT_RANK_LOST, "%s", v.text);
        }
        return tt_fail(TT_RANK_LOST, "rank 0 (%s) %s before the job began; see its output", j->peers[0].host,
                       got == TT_WIRE_LATE ? "is silent" : "ended");
    }
}

tt_status tt_rendezvous(struct tt_job *j, const struct tt_job_options *options)
{
    struct rendezvous m = {.j = j, .until = tt_seconds() + j->timeout};
    if (j->rank == 0) return lead(&m, options);
    TT_TRY(reach(&m, options));
    return wait_for_go(j);
}
