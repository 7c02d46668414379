/* tt_job_start: this program starts copies of itself, which do what their second argument says. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/job/job.h"
#include "core/job/place.h"
#include "tests/test.h"

static char folder[] = "/tmp/tt-test-start-XXXXXX";

static void rest(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&t, &t) && errno == EINTR) {}
}

/* ---- in a rank ---- */

static struct tt_place place;

/* Writes a complete file of this rank. */
static void note(const char *what, long value)
{
    char path[300], text[32];
    snprintf(path, sizeof path, "%s/%s-%d", getenv("TT_TEST_FOLDER"), what, place.rank);
    int n = snprintf(text, sizeof text, "%ld", value);
    tt_status_free(tt_file_replace(path, text, (size_t)n));
}

/* What a rank has noted; -1: nothing yet. */
static long noted(const char *what, int rank)
{
    char path[300], *text;
    size_t n;
    snprintf(path, sizeof path, "%s/%s-%d", getenv("TT_TEST_FOLDER"), what, rank);
    tt_status st = tt_file_read(path, 100, &text, &n);
    long value = st ? -1 : atol(text);
    if (!st) free(text);
    tt_status_free(st);
    return value;
}

static int with_job(tt_status (*body)(struct tt_job *))
{
    struct tt_job_options o = {.place = place, .timeout = 10};
    struct tt_job *j = NULL;
    tt_status st = tt_job_open(&o, &j);
    if (!st) st = body(j);
    tt_job_close(j, st);
    int code = st ? (int)st->code : 0;
    if (st) fprintf(stderr, "%s\n", st->text);
    tt_status_free(st);
    return code;
}

static tt_status sum(struct tt_job *j)
{
    double value = place.rank + 1;
    TT_TRY(tt_job_sum(j, &value));
    note("sum", (long)value);
    note("threads", atol(getenv("OMP_NUM_THREADS") ? getenv("OMP_NUM_THREADS") : "-1"));
    return TT_OK;
}

static tt_status fail_one(struct tt_job *j)
{
    double value = 1;
    if (place.rank == 1) return tt_fail(TT_USAGE, "rank 1 fails");
    return tt_job_sum(j, &value);
}

static tt_status kill_one(struct tt_job *j)
{
    double value = 1;
    if (place.rank == 1) raise(SIGKILL);
    return tt_job_sum(j, &value);
}

static volatile sig_atomic_t signals, asked;
static void count(int number) { number == SIGUSR1 ? asked++ : signals++; }

/* Exits like a run that was asked to stop, and notes how often it was asked. A second signal from the terminal would
 * stop a real run at once; SIGUSR1 may come any number of times. */
static int await_signal(void)
{
    int awaited[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    for (int i = 0; i < 4; i++) sigaction(awaited[i], &(struct sigaction){.sa_handler = count}, NULL);
    note("pid", (long)getpid());
    for (double until = tt_seconds() + 60; !signals && !asked && tt_seconds() < until;) rest(0.01);
    rest(0.5);
    note("asked", asked);
    note("signals", signals);
    for (int r = 0; r < place.ranks; r++) /* when the first rank exits with a code, mpirun kills the others */
        for (double until = tt_seconds() + 20; noted("signals", r) < 0 && tt_seconds() < until;) rest(0.01);
    return TT_INTERRUPTED;
}

/* One rank reports a lost rank; the others ignore everything, even SIGTERM. */
static int does_not_end(void)
{
    if (place.rank == 1) return TT_RANK_LOST;
    signal(SIGTERM, SIG_IGN);
    rest(60);
    return 0;
}

static int again(char **argv)
{
    int code;
    tt_status st = tt_job_start(2, argv, NULL, &code);
    bool refused = st && strstr(st->text, "tt started this process as a rank");
    tt_status_free(st);
    return refused ? 0 : 1;
}

static int be_rank(char **argv)
{
    const char *what = argv[2];
    tt_status st = tt_place_find(&place);
    if (st || !place.ranks) return 99;
    if (!strcmp(what, "sum")) return with_job(sum);
    if (!strcmp(what, "fail")) return with_job(fail_one);
    if (!strcmp(what, "kill")) return with_job(kill_one);
    if (!strcmp(what, "die")) return raise(SIGKILL);
    if (!strcmp(what, "signal")) return await_signal();
    if (!strcmp(what, "deaf")) return does_not_end();
    if (!strcmp(what, "again")) return again(argv);
    return 98;
}

/* ---- the tests ---- */

static tt_status start(int ranks, const char *what, const char *mpirun, int *code)
{
    char *argv[] = {"test_start", "rank", (char *)what, NULL};
    return tt_job_start(ranks, argv, mpirun, code);
}

static void forget(void)
{
    tt_status_free(tt_remove_tree(folder));
    CHECK_OK(tt_make_dirs(folder));
}

static bool has_mpirun(void) { return system("mpirun --version >/dev/null 2>&1") == 0; }

static int share_of(int ranks)
{
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return cores / ranks > 1 ? cores / ranks : 1;
}

static void check_sum(const char *mpirun)
{
    int code = -1;
    forget();
    unsetenv("OMP_NUM_THREADS");
    CHECK_OK(start(3, "sum", mpirun, &code));
    CHECK(code == 0, "%d", code);
    for (int r = 0; r < 3; r++) CHECK(noted("sum", r) == 6 && noted("threads", r) == share_of(3), "rank %d", r);
    setenv("OMP_NUM_THREADS", "7", 1);
    CHECK_OK(start(3, "sum", mpirun, &code));
    for (int r = 0; r < 3; r++) CHECK(noted("threads", r) == 7, "rank %d", r);
    unsetenv("OMP_NUM_THREADS");
}

static void ranks_start(void) { check_sum(NULL); }

static void their_code_is_returned(void)
{
    int code = -1;
    CHECK_OK(start(3, "fail", NULL, &code));
    CHECK(code == TT_USAGE, "%d", code); /* not the code of the ranks that lost it */
    CHECK_OK(start(3, "kill", NULL, &code));
    CHECK(code == TT_RANK_LOST, "%d", code);
    CHECK_FAILS(start(3, "die", NULL, &code), "was killed by signal 9 (Killed)");
    CHECK_OK(start(3, "again", NULL, &code));
    CHECK(code == 0, "%d", code);
    CHECK_FAILS(start(0, "sum", NULL, &code), "0 ranks; give 1");
}

static void who_does_not_end_is_ended(void)
{
    int code = -1;
    double from = tt_seconds();
    CHECK_OK(start(3, "deaf", NULL, &code));
    double took = tt_seconds() - from;
    CHECK(code == TT_RANK_LOST && took > 14 && took < 45, "%d after %.1f s", code, took);
}

/* A process that starts ranks which wait for a signal. Returns when they are ready. */
static pid_t start_waiting(const char *mpirun)
{
    forget();
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int code = 97;
        tt_status_free(start(3, "signal", mpirun, &code));
        _exit(code);
    }
    for (int i = 0; i < 6000; i++) {
        if (noted("pid", 0) > 0 && noted("pid", 1) > 0 && noted("pid", 2) > 0) break;
        rest(0.01);
    }
    return pid;
}

static int code_of(pid_t pid)
{
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void check_signal(const char *mpirun, int number)
{
    pid_t pid = start_waiting(mpirun);
    kill(pid, number);
    int code = code_of(pid);
    CHECK(code == TT_INTERRUPTED, "%d after signal %d", code, number);
    for (int r = 0; r < 3; r++) {
        long signals_there = noted("signals", r), asked_there = noted("asked", r);
        if (mpirun) /* mpirun is asked again each second, until it has passed the request on */
            CHECK(signals_there == 0 && asked_there >= 1, "rank %d: %ld, %ld", r, signals_there, asked_there);
        else
            CHECK(signals_there == 1 && asked_there == 0, "rank %d: %ld, %ld", r, signals_there, asked_there);
    }
}

static void signals_are_passed_on_once(void)
{
    check_signal(NULL, SIGINT);
    check_signal(NULL, SIGTERM);
    check_signal(NULL, SIGHUP);
}

/* As started by nohup: a hang-up does not reach the ranks, and SIGTERM still does. */
static void a_hangup_may_be_ignored(void)
{
    signal(SIGHUP, SIG_IGN);
    pid_t pid = start_waiting(NULL);
    signal(SIGHUP, SIG_DFL);
    kill(pid, SIGHUP);
    rest(0.7);
    for (int r = 0; r < 3; r++) CHECK(noted("signals", r) < 0, "rank %d: %ld", r, noted("signals", r));
    kill(pid, SIGTERM);
    int code = code_of(pid);
    CHECK(code == TT_INTERRUPTED, "%d", code);
}

/* Every process on the terminal gets its Ctrl-C. */
static void a_terminal_interrupts_once(void)
{
    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0 || grantpt(terminal) || unlockpt(terminal)) SKIP("there are no pseudo-terminals");
    forget();
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        int slave = open(ptsname(terminal), O_RDWR);
        ioctl(slave, TIOCSCTTY, 0);
        int code = 97;
        tt_status_free(start(3, "signal", NULL, &code));
        _exit(code);
    }
    for (int i = 0; i < 6000 && (noted("pid", 0) < 0 || noted("pid", 1) < 0 || noted("pid", 2) < 0); i++) rest(0.01);
    CHECK(write(terminal, "\x03", 1) == 1);
    int code = code_of(pid);
    CHECK(code == TT_INTERRUPTED, "%d", code);
    for (int r = 0; r < 3; r++) CHECK(noted("signals", r) == 1, "rank %d: %ld", r, noted("signals", r));
    close(terminal);
}

static bool are_gone(double within)
{
    for (double until = tt_seconds() + within; tt_seconds() < until; rest(0.01)) {
        int there = 0;
        for (int r = 0; r < 3; r++) there += kill((pid_t)noted("pid", r), 0) == 0;
        if (!there) return true;
    }
    return false;
}

static void no_orphans_stay(void)
{
    pid_t pid = start_waiting(NULL);
    kill(pid, SIGKILL);
    CHECK(code_of(pid) == 1000 + SIGKILL);
    CHECK(are_gone(30));
}

static bool is_stopped(long pid)
{
    char path[64], line[400] = "";
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    for (double until = tt_seconds() + 30; tt_seconds() < until && !strstr(line, ") T "); rest(0.01)) {
        FILE *f = fopen(path, "r");
        if (f && !fgets(line, sizeof line, f)) line[0] = 0;
        if (f) fclose(f);
    }
    return strstr(line, ") T ") != NULL;
}

/* Ctrl-Z stops the ranks with this process, and they resume with it. */
static void they_stop_together(void)
{
    pid_t pid = start_waiting(NULL);
    kill(pid, SIGTSTP);
    int status = 0;
    CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
    for (int r = 0; r < 3; r++) CHECK(is_stopped(noted("pid", r)), "rank %d", r);
    kill(pid, SIGCONT);
    kill(pid, SIGINT);
    CHECK(code_of(pid) == TT_INTERRUPTED);
}

static void through_mpirun(void)
{
    int code = -1;
    CHECK_FAILS(start(2, "sum", "no-such-mpirun", &code), "cannot start no-such-mpirun");
    if (!has_mpirun()) SKIP("mpirun is not installed");
    check_sum("mpirun");
    check_signal("mpirun", SIGINT);
    CHECK_OK(start(3, "kill", "mpirun", &code));
    CHECK(code == TT_RANK_LOST, "%d", code);
    CHECK_OK(start(3, "again", "mpirun", &code));
    CHECK(code == 0, "%d", code);
    pid_t pid = start_waiting("mpirun");
    kill(pid, SIGKILL);
    CHECK(code_of(pid) == 1000 + SIGKILL);
    CHECK(are_gone(30));
}

/* A fake mpirun that runs these shell commands. */
static const char *stand_in(const char *does)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/mpirun", folder);
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (fd < 0) return path;
    dprintf(fd, "#!/bin/sh\n[ \"$1\" = --version ] && exec echo 'mpirun (Open MPI) 4.1.4'\n%s\n", does);
    close(fd);
    return path;
}

/* Checks who reports why the job ended, and both ways in which mpirun may behave then: it exits with the signal of a
 * rank, or waits for it for ever. */
static void an_mpirun_that_does_not_end(void)
{
    int code = -1;
    CHECK_FAILS(start(2, "sum", stand_in("exit 137"), &code), "a rank was killed by signal 9 (Killed)");
    CHECK(code == TT_RANK_LOST, "%d", code);
    CHECK_OK(start(2, "sum", stand_in("echo >\"$TT_SAID\"; exit 137"), &code));
    CHECK(code == TT_RANK_LOST, "%d", code);
    double from = tt_seconds();
    CHECK_OK(start(2, "sum", stand_in("echo >\"$TT_SAID\"; exec sleep 60"), &code));
    CHECK(code == TT_RANK_LOST && tt_seconds() - from < 20, "%d after %.1f s", code, tt_seconds() - from);
}

int main(int argc, char **argv)
{
    /* Skips the leak check of sanitizer builds, which takes seconds: here times matter, and test_job.c checks for
     * leaks. */
    if (argc > 2 && !strcmp(argv[1], "rank")) _exit(be_rank(argv));
    if (!mkdtemp(folder)) return 1;
    setenv("TT_TEST_FOLDER", folder, 1);
    TEST(ranks_start);
    TEST(their_code_is_returned);
    TEST(signals_are_passed_on_once);
    TEST(a_hangup_may_be_ignored);
    TEST(a_terminal_interrupts_once);
    TEST(no_orphans_stay);
    TEST(they_stop_together);
    TEST(through_mpirun);
    TEST(an_mpirun_that_does_not_end);
    TEST(who_does_not_end_is_ended);
    tt_status_free(tt_remove_tree(folder));
    return test_end();
}
