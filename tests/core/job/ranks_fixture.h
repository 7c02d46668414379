/* Ranks as forked processes of a test, each with its own job, and their exit codes and messages. */
#ifndef TT_RANKS_FIXTURE_H
#define TT_RANKS_FIXTURE_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/job/job.h"
#include "tests/test.h"

enum { MOST = 8 };

static struct {
    int ranks, port;
    double timeout;
    const char *file;
    int jobs;   /* so far */
    bool nameless, parents; /* rank 0's host name cannot be resolved; every rank has another job id */
    bool hasty; /* for tests of times: skips the leak check at exit, which takes seconds */
    pid_t pids[MOST];
    int codes[MOST]; /* exit codes, or 1000 + the signal */
    int err;         /* receives all their messages */
    char text[20000];
} crew;

static inline void rest(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&t, &t)) {}
}

static inline int free_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    bool bound = !bind(fd, (struct sockaddr *)&a, n) && !getsockname(fd, (struct sockaddr *)&a, &n);
    close(fd);
    return bound ? ntohs(a.sin_port) : 0;
}

static inline struct tt_job_options options_of(int rank)
{
    struct tt_job_options o = {.file = crew.file, .timeout = crew.timeout};
    o.place = (struct tt_place){.rank = rank, .ranks = crew.ranks, .local_rank = rank, .local_ranks = crew.ranks};
    const char *address = crew.nameless ? "no.such.host.invalid" : "127.0.0.1";
    snprintf(o.place.address, sizeof o.place.address, "%s", crew.file ? "" : address);
    snprintf(o.place.id, sizeof o.place.id, "parent %d", crew.parents ? rank : 0);
    o.place.port = crew.port;
    return o;
}

/* In a rank: turns the status into an exit code, as main() does. */
static inline int end_with(struct tt_job *j, tt_status st)
{
    tt_job_close(j, st);
    if (!st) return 0;
    fprintf(stderr, "main of rank: %s\n", st->text);
    int code = (int)st->code;
    tt_status_free(st);
    return code;
}

static inline int open_and_run(int rank, tt_status (*body)(struct tt_job *, int))
{
    struct tt_job_options o = options_of(rank);
    struct tt_job *j = NULL;
    tt_status st = tt_job_open(&o, &j);
    return end_with(j, st ? st : body(j, rank));
}

static inline void start_rank(int rank, tt_status (*body)(struct tt_job *, int))
{
    fflush(stdout);
    crew.pids[rank] = fork();
    if (crew.pids[rank]) return;
    dup2(crew.err, STDERR_FILENO);
    int code = open_and_run(rank, body);
    fflush(NULL);
    bool looks = rank == 0 || crew.jobs <= 6; /* for leaks, in sanitizer builds; takes seconds in each process */
    if (crew.hasty || !looks) _exit(code);
    exit(code);
}

static inline void prepare(int ranks, double timeout)
{
    crew.jobs++;
    crew.ranks = ranks;
    crew.timeout = timeout;
    crew.port = crew.file ? 0 : free_port();
    FILE *err = tmpfile();
    crew.err = dup(fileno(err));
    fclose(err);
}

static inline void start_all(int ranks, double timeout, tt_status (*body)(struct tt_job *, int))
{
    prepare(ranks, timeout);
    for (int r = ranks - 1; r >= 0; r--) start_rank(r, body);
}

static inline int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status); }

static inline void await(int rank)
{
    int status;
    crew.codes[rank] = waitpid(crew.pids[rank], &status, 0) < 0 ? -1 : code_of(status);
}

static inline void read_messages(void)
{
    ssize_t n = pread(crew.err, crew.text, sizeof crew.text - 1, 0);
    crew.text[n > 0 ? n : 0] = 0;
    close(crew.err);
}

static inline void await_all(void)
{
    for (int r = 0; r < crew.ranks; r++) await(r);
    read_messages();
}

static inline int times(const char *words)
{
    int n = 0;
    for (const char *p = crew.text; (p = strstr(p, words)); p++) n++;
    return n;
}

/* In a rank: a failed check ends it. */
#define WANT(cond)                                                                                                     \
    do {                                                                                                               \
        if (!(cond)) return tt_fail(TT_FAILED, "%s:%d: %s", __FILE__, __LINE__, #cond);                                \
    } while (0)

#define CHECK_ALL_END_WITH(code)                                                                                       \
    for (int r_ = 0; r_ < crew.ranks; r_++)                                                                            \
        CHECK(crew.codes[r_] == (code), "rank %d ended with %d: %s", r_, crew.codes[r_], crew.text)

#endif
