/* The watcher: a thread of every rank that sends heartbeats and detects lost ranks.
 *
 * Rank 0 gets heartbeats from every rank, and every rank gets those of rank 0. A rank is lost when
 *   - its connection ends without a TT_LEAVES: its process is gone;
 *   - it is silent for the timeout: its process or its machine hangs;
 *   - its main thread makes no progress, and ranks that are ahead have waited for the timeout (see find_stuck).
 * Rank 0 prints which rank it is, tells the others, and all end. If rank 0 itself is lost, the first rank on each
 * machine that notices prints it. The others have no connection but that to rank 0; they tell it in case it wakes up.
 *
 * They end with _exit, and only here: the main thread may hang in a collective whose partner is gone, and nothing can
 * interrupt it. So it cannot return a status, and exit handlers would hang too. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/job/internal.h"

static const double DRAIN_SECONDS = 2; /* for the others to read the last message */

struct beat {
    uint64_t calls, signs;
    int64_t step;
    uint64_t busy, asks;
};

/* What is known about a rank. Times are of this process's clock. */
struct seen {
    double heard, moved; /* time of the last message; of the last heartbeat that showed progress */
    struct beat beat;
    bool left, ended, blocked; /* it sent TT_LEAVES; its connection has ended; nothing more can be sent to it */
    bool silent;               /* too long: it may still read the last message, but nobody waits for an answer */
    size_t have;
    struct {
        struct tt_frame frame;
        union {
            struct beat beat;
            struct tt_failure failure;
        } body;
    } in;
};

struct tt_watch {
    struct tt_job *j;
    pthread_t thread;
    int wake[2];
    double period, woke;
    struct seen *seen;         /* (ranks) */
    struct pollfd *polls;      /* (ranks + 1): the last one is `wake` */
    struct tt_failure failure; /* for the last message */
    _Atomic bool leaving;      /* set after `failure`; then the thread is woken through `wake` */
};

/* The ranks that this one is connected to: rank 0, or for rank 0 all others. */
static int first(const struct tt_watch *w) { return w->j->rank == 0 ? 1 : 0; }
static int last(const struct tt_watch *w) { return w->j->rank == 0 ? w->j->ranks - 1 : 0; }

static int socket_of(const struct tt_watch *w, int rank) { return w->j->peers[rank].fd[TT_WATCH]; }

/* Never blocks. If the socket buffer is full, the message is dropped: such a rank has not read for long and will soon
 * count as lost. */
static void send_now(struct tt_watch *w, int rank, enum tt_message kind, const void *bytes, size_t size)
{
    struct {
        struct tt_frame frame;
        char bytes[sizeof(struct tt_failure)];
    } packet = {.frame = tt_frame_of(kind, 0, size)};
    struct seen *s = &w->seen[rank];
    if (s->ended || s->blocked) return;
    if (size) memcpy(packet.bytes, bytes, size);
    ssize_t all = (ssize_t)(sizeof packet.frame + size),
            n = send(socket_of(w, rank), &packet, (size_t)all, MSG_NOSIGNAL);
    if (n >= 0 && n < all) s->blocked = true; /* half a message was sent, so the stream is unusable */
}

static void send_to_all(struct tt_watch *w, enum tt_message kind, const void *bytes, size_t size)
{
    for (int r = first(w); r <= last(w); r++) send_now(w, r, kind, bytes, size);
}

/* ---- the end of this process ---- */

/* Shuts down writing and reads until the others have closed too. Closing a socket with unread data would reset the
 * connection, and the last message could be lost. */
static void drain(struct tt_watch *w)
{
    double until = tt_seconds() + DRAIN_SECONDS;
    for (int r = first(w); r <= last(w); r++) shutdown(socket_of(w, r), SHUT_WR);
    for (int r = first(w); r <= last(w); r++) {
        char rest[256];
        bool speaks = !w->seen[r].ended && !w->seen[r].silent;
        while (speaks && tt_wire_read(socket_of(w, r), rest, 1, until) == TT_WIRE_OK) {}
    }
}

static void print(const char *text)
{
    char line[TT_MESSAGE + 8];
    int n = snprintf(line, sizeof line, "tt: %s\n", text);
    (void)!write(STDERR_FILENO, line, (size_t)n); /* not stdio: the main thread may hold its lock */
    tt_tell_starter();
}

static _Noreturn void end(void) { _exit(TT_RANK_LOST); }

/* When rank 0 is lost: whether this rank is the first on its machine to take the job's name as an abstract socket,
 * which the system frees when the process ends. Any of the others may be gone too, so none is chosen beforehand. */
static bool is_first_here(const struct tt_job *j)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    size_t n = strlen(j->name);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    memcpy(a.sun_path + 1, j->name, n);
    return fd < 0 || !bind(fd, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n));
}

/* Rank 0 is lost. Whoever says so keeps the name until the others have noticed too. */
static _Noreturn void end_without_rank_0(struct tt_watch *w, const char *text, const struct tt_failure *v)
{
    bool first = is_first_here(w->j);
    if (first) print(text);
    send_to_all(w, TT_LOST, v, sizeof *v);
    if (first) poll(NULL, 0, (int)(w->period * 1000) + 500);
    end();
}

static _Noreturn void end_all(struct tt_watch *w, int rank, const char *text)
{
    struct tt_failure v = {.code = TT_RANK_LOST, .rank = rank};
    snprintf(v.text, sizeof v.text, "%s", text);
    if (rank == 0 && w->j->rank > 0) end_without_rank_0(w, text, &v);
    print(text);
    send_to_all(w, TT_LOST, &v, sizeof v);
    if (w->j->rank == 0) drain(w);
    end();
}

static const char *host_of(const struct tt_watch *w, int rank)
{
    return rank == w->j->rank ? w->j->host : w->j->peers[rank].host;
}

/* "rank 3 (host) <what> at step 5: <why>". */
static _Noreturn void report_lost(struct tt_watch *w, int rank, const char *what, const char *why)
{
    char text[TT_MESSAGE], when[48] = "before its first step";
    int64_t met = atomic_load(&w->j->progress.met), heard = w->seen[rank].beat.step;
    long long step = (long long)(met > heard ? met : heard); /* beats are seconds apart, calls need not be */
    if (step >= 0) snprintf(when, sizeof when, "at step %lld", step);
    snprintf(text, sizeof text, "rank %d (%s) %s %s: %.800s", rank, host_of(w, rank), what, when, why);
    end_all(w, rank, text);
}

static _Noreturn void report_timeout(struct tt_watch *w, int rank, const char *what, const char *why)
{
    char text[200];
    snprintf(text, sizeof text, "%s for %g s; if the run has saved a checkpoint, resume it with --resume auto", why,
             w->j->timeout);
    report_lost(w, rank, what, text);
}

static void connection_ended(struct tt_watch *w, int rank)
{
    w->seen[rank].ended = true;
    if (w->seen[rank].left || atomic_load(&w->j->over)) return;
    report_lost(
        w, rank, "is gone, last heard of",
        "its connection has ended; see its output; if the run has saved a checkpoint, resume it with --resume auto");
}

/* ---- receiving ---- */

static void note_beat(struct seen *s, const struct beat *b, double now)
{
    if (b->signs != s->beat.signs) s->moved = now;
    s->beat = *b;
}

/* Rank 0 decides with what the others ask for. */
static void note_asks(struct tt_watch *w, const struct beat *b)
{
    if (w->j->rank == 0) atomic_fetch_or(&w->j->progress.asks, (uint32_t)b->asks);
}

/* False: an invalid message. */
static bool handle(struct tt_watch *w, int rank)
{
    struct seen *s = &w->seen[rank];
    uint64_t size = s->in.frame.size;
    s->in.body.failure.text[TT_MESSAGE - 1] = 0;
    switch (s->in.frame.kind) {
    case TT_BEAT:
        if (size != sizeof s->in.body.beat) return false;
        note_beat(s, &s->in.body.beat, s->heard);
        note_asks(w, &s->in.body.beat);
        return true;
    case TT_LEAVES:
        s->left = true;
        return size == 0;
    case TT_FAILS:
        if (size != sizeof s->in.body.failure) return false;
        if (!atomic_load(&w->j->over)) report_lost(w, rank, "failed", s->in.body.failure.text);
        return true;
    case TT_LOST:
        if (size != sizeof s->in.body.failure) return false;
        if (!atomic_load(&w->j->over)) end(); /* rank 0 has printed it, or the others have: rank 0 was silent */
        return true;
    default:
        return false;
    }
}

/* How many bytes are missing of the current message; 0: none, or its frame is invalid. */
static size_t wanted(const struct seen *s)
{
    if (s->have < sizeof s->in.frame) return sizeof s->in.frame - s->have;
    if (!tt_frame_is_sound(&s->in.frame, sizeof s->in.body)) return 0;
    return sizeof s->in.frame + (size_t)s->in.frame.size - s->have;
}

static void read_messages(struct tt_watch *w, int rank)
{
    struct seen *s = &w->seen[rank];
    while (!s->ended) {
        size_t want = wanted(s);
        ssize_t n = want ? recv(socket_of(w, rank), (char *)&s->in + s->have, want, 0) : 0;
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n <= 0) {
            connection_ended(w, rank);
            return;
        }
        s->heard = tt_seconds();
        s->have += (size_t)n;
        if (s->have < sizeof s->in.frame || wanted(s)) continue;
        if (!tt_frame_is_sound(&s->in.frame, sizeof s->in.body)) continue; /* ends above */
        s->have = 0;
        if (!handle(w, rank)) connection_ended(w, rank);
    }
}

/* ---- detecting lost ranks ---- */

static bool is_before(const struct beat *a, const struct beat *b)
{
    return a->calls != b->calls ? a->calls < b->calls : a->step < b->step;
}

static int furthest_behind(const struct tt_watch *w)
{
    int behind = 0;
    for (int r = 1; r < w->j->ranks; r++) {
        const struct seen *s = &w->seen[r], *b = &w->seen[behind];
        if (is_before(&s->beat, &b->beat) || (!is_before(&b->beat, &s->beat) && s->moved < b->moved)) behind = r;
    }
    return behind;
}

/* All ranks make the same calls in the same order, so the others wait for the rank that is furthest behind. It is stuck
 * when it has shown no progress for the timeout, and a rank ahead of it has not either. While it is busy, or while all
 * are equally far (a long step), no rank is stuck. */
static void find_stuck(struct tt_watch *w, double now)
{
    int behind = furthest_behind(w);
    const struct seen *b = &w->seen[behind];
    if (b->beat.busy || now - b->moved <= w->j->timeout) return;
    for (int r = 0; r < w->j->ranks; r++) {
        const struct seen *s = &w->seen[r];
        if (!s->beat.busy && is_before(&b->beat, &s->beat) && now - s->moved > w->j->timeout)
            report_timeout(w, behind, "is stuck", "the others have waited for it");
    }
}

static void check_ranks(struct tt_watch *w, double now)
{
    if (atomic_load(&w->j->over)) return;
    for (int r = first(w); r <= last(w); r++) {
        struct seen *s = &w->seen[r];
        if (s->left && w->j->rank == 0) report_lost(w, r, "left the job", "the others go on; this is an error in tt");
        if (s->left || now - s->heard <= w->j->timeout) continue;
        s->silent = true;
        report_timeout(w, r, "is gone, last heard of", "it has been silent");
    }
    if (w->j->rank == 0) find_stuck(w, now);
}

static void beat(struct tt_watch *w, double now)
{
    struct tt_job_progress *p = &w->j->progress;
    struct beat b = {atomic_load(&p->calls), atomic_load(&p->signs), atomic_load(&p->step), atomic_load(&p->busy),
                     atomic_load(&p->asks)};
    note_beat(&w->seen[w->j->rank], &b, now);
    send_to_all(w, TT_BEAT, &b, sizeof b);
}

/* After a stop of this process (Ctrl-Z and fg), the messages of the others are still unread: start their timeouts anew.
 */
static void forgive_pause(struct tt_watch *w, double now)
{
    if (now - w->woke > 2 * w->period + 1)
        for (int r = 0; r < w->j->ranks; r++) w->seen[r].heard = w->seen[r].moved = now;
    w->woke = now;
}

/* Reads messages until the time. True: the main thread has called tt_watch_stop. */
static bool listen_until(struct tt_watch *w, double until)
{
    double left = until - tt_seconds();
    for (int r = first(w); r <= last(w); r++)
        w->polls[r] = (struct pollfd){.fd = w->seen[r].ended ? -1 : socket_of(w, r), .events = POLLIN};
    struct pollfd *from = w->polls + first(w), *wake = w->polls + last(w) + 1;
    *wake = (struct pollfd){.fd = w->wake[0], .events = POLLIN};
    poll(from, (nfds_t)(wake - from + 1), left > 0 ? (int)(left * 1000) + 1 : 0);
    forgive_pause(w, tt_seconds());
    for (int r = first(w); r <= last(w); r++)
        if (w->polls[r].fd >= 0 && w->polls[r].revents) read_messages(w, r);
    return atomic_load(&w->leaving);
}

static void send_last_message(struct tt_watch *w)
{
    if (!w->failure.code)
        send_to_all(w, TT_LEAVES, NULL, 0);
    else
        send_to_all(w, w->j->rank == 0 ? TT_LOST : TT_FAILS, &w->failure, sizeof w->failure);
    drain(w);
}

static void *watch(void *arg)
{
    struct tt_watch *w = arg;
    for (double next = tt_seconds();;) {
        double now = tt_seconds();
        if (now >= next) {
            beat(w, now);
            check_ranks(w, now);
            next = now + w->period;
        }
        if (listen_until(w, next)) break;
    }
    send_last_message(w);
    return NULL;
}

/* ---- called by the main thread ---- */

static void free_watch(struct tt_watch *w)
{
    for (int i = 0; i < 2; i++)
        if (w->wake[i] >= 0) close(w->wake[i]);
    free(w->seen);
    free(w->polls);
    free(w);
}

/* All signals are blocked in the thread, so that the main thread gets them. */
static int start_thread(struct tt_watch *w)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&w->thread, NULL, watch, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

tt_status tt_watch_start(struct tt_job *j)
{
    struct tt_watch *w = calloc(1, sizeof *w);
    if (!w) return tt_no_memory("watching %d ranks", j->ranks);
    *w = (struct tt_watch){.j = j, .wake = {-1, -1}, .period = tt_period(j)};
    w->seen = calloc((size_t)j->ranks, sizeof *w->seen);
    w->polls = calloc((size_t)j->ranks + 1, sizeof *w->polls);
    w->woke = tt_seconds();
    for (int r = 0; w->seen && r < j->ranks; r++) {
        w->seen[r].heard = w->seen[r].moved = w->woke;
        w->seen[r].beat = (struct beat){.step = -1, .busy = 1};
    }
    int error = !w->seen || !w->polls ? ENOMEM : pipe2(w->wake, O_CLOEXEC) ? errno : start_thread(w);
    if (error) {
        free_watch(w);
        return tt_fail(TT_FAILED, "cannot watch the other ranks: %s", strerror(error));
    }
    j->watch = w;
    return TT_OK;
}

void tt_watch_stop(struct tt_job *j, tt_status st)
{
    struct tt_watch *w = j->watch;
    if (st) {
        w->failure.code = (int32_t)st->code;
        w->failure.rank = j->rank;
        memcpy(w->failure.text, st->text, sizeof w->failure.text);
    }
    atomic_store(&w->leaving, true);
    (void)!write(w->wake[1], "", 1);
    pthread_join(w->thread, NULL);
    free_watch(w);
    j->watch = NULL;
}
