#include "core/job/children.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"

/* Seconds that the other children have to end by themselves once one has failed. TO_NOTICE: until a watcher notices.
 * TO_FOLLOW: after one has noticed and told the others. TO_END: after SIGTERM; also for mpirun once a rank has said
 * that the job ends, since mpirun may wait forever for a rank that was killed while it connected to it. */
static const double TO_NOTICE = 60, TO_FOLLOW = 10, TO_END = 5;

static bool is_ignored(int number)
{
    struct sigaction a;
    return !sigaction(number, NULL, &a) && a.sa_handler == SIG_IGN;
}

/* The signals that the parent forwards or handles. SIGHUP is left out if nohup has the process ignore it, since a
 * blocked signal would be kept and taken all the same. */
static sigset_t awaited(void)
{
    const int signals[] = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGQUIT, SIGTSTP, SIGCHLD};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaddset(&set, signals[i]);
    if (!is_ignored(SIGHUP)) sigaddset(&set, SIGHUP);
    return set;
}

tt_status tt_children_open(struct tt_children *c, int most)
{
    *c = (struct tt_children){.pids = calloc((size_t)most, sizeof *c->pids), .killed = -1, .said = {-1, -1}};
    if (!c->pids) return tt_no_memory("%d processes", most);
    (void)!pipe2(c->said, O_CLOEXEC | O_NONBLOCK); /* without it, one line too many at worst */
    signal(SIGCHLD, SIG_DFL); /* if it is inherited as ignored, children leave no exit code */
    sigset_t set = awaited();
    sigprocmask(SIG_BLOCK, &set, &c->before);
    return TT_OK;
}

/* SIGTERM lets mpirun end its own children. */
static void settle_child(const struct tt_children *c, pid_t parent)
{
    setpgid(0, c->group);
    prctl(PR_SET_PDEATHSIG, c->through_mpirun ? SIGTERM : SIGKILL);
    if (getppid() != parent) abort(); /* the parent was killed before the prctl */
    sigprocmask(SIG_SETMASK, &c->before, NULL);
}

pid_t tt_children_fork(struct tt_children *c)
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) settle_child(c, parent);
    if (pid <= 0) return pid;
    if (!c->group) c->group = pid;
    setpgid(pid, c->group); /* parent and child both call it, since either may run first */
    c->pids[c->started++] = pid;
    c->left++;
    return pid;
}

/* ---- forwarding signals ---- */

/* SIGINT and SIGTERM would make mpirun kill its ranks before they save. It forwards SIGUSR1, which also asks a run to
 * save and stop. */
static void pass_on(struct tt_children *c, int number)
{
    bool again = c->asked++ > 0;
    if (c->through_mpirun)
        kill(c->group, again || number == SIGUSR2 ? number : SIGUSR1);
    else
        kill(-c->group, number);
}

/* Ctrl-Z: stops the children, then this process; continues them when it is continued. */
static void stop_together(struct tt_children *c)
{
    kill(c->through_mpirun ? c->group : -c->group, c->through_mpirun ? SIGTSTP : SIGSTOP);
    raise(SIGSTOP);
    kill(c->through_mpirun ? c->group : -c->group, SIGCONT);
}

/* ---- the end of the children ---- */

static void hurry_within(struct tt_children *c, double seconds)
{
    double at = tt_seconds() + seconds;
    if (!c->deadline || at < c->deadline) c->deadline = at;
}

/* TT_RANK_LOST only follows from the end of another rank, so any other code takes precedence over it. */
static void note_end(struct tt_children *c, int child, int status)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : TT_RANK_LOST;
    if (!code) return;
    bool of_rank =
        c->through_mpirun && !c->asked && code > 128 && code != TT_INTERRUPTED; /* a rank was killed by a signal */
    if (of_rank) {
        c->by = code - 128;
        code = TT_RANK_LOST;
    }
    if (WIFSIGNALED(status) && c->killed < 0) {
        c->killed = child;
        c->by = WTERMSIG(status);
    }
    bool noticed = WIFEXITED(status) && code == TT_RANK_LOST;
    if (WIFEXITED(status) && (!c->code || (c->code == TT_RANK_LOST && !noticed))) c->code = code;
    if (!c->hurried) hurry_within(c, noticed ? TO_FOLLOW : TO_NOTICE);
}

static void reap(struct tt_children *c)
{
    for (int i = 0; i < c->started; i++) {
        int status;
        if (!c->pids[i] || waitpid(c->pids[i], &status, WNOHANG) != c->pids[i]) continue;
        c->pids[i] = 0;
        c->left--;
        note_end(c, i, status);
    }
}

static void hurry(struct tt_children *c)
{
    kill(-c->group, c->hurried ? SIGKILL : SIGTERM);
    c->hurried++;
    c->deadline = tt_seconds() + TO_END;
}

static void listen_to_ranks(struct tt_children *c)
{
    char byte;
    if (c->told || read(c->said[0], &byte, 1) != 1) return;
    c->told = true;
    hurry_within(c, TO_END);
}

static void await_signal(struct tt_children *c)
{
    bool repeats = c->asked && c->through_mpirun && !c->deadline;
    double left = c->deadline ? c->deadline - tt_seconds() : c->through_mpirun ? 1 : 3600;
    if (left < 0) left = 0;
    struct timespec t = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
    sigset_t set = awaited();
    siginfo_t info;
    int number = sigtimedwait(&set, &info, &t);
    if (number == SIGCHLD)
        reap(c);
    else if (number == SIGINT && info.si_code == SI_KERNEL && is_ignored(SIGINT))
        return; /* Ctrl-C at the terminal of a script that runs it in the background */
    else if (number == SIGTSTP)
        stop_together(c);
    else if (number > 0)
        pass_on(c, number);
    else if (errno == EAGAIN && c->deadline)
        hurry(c);
    else if (errno == EAGAIN && repeats)
        kill(c->group, SIGUSR1); /* again: an mpirun that was still starting has ignored it */
    if (c->through_mpirun) listen_to_ranks(c);
}

/* A rank of mpirun was killed, and no other was left to say so. */
static bool died_silently(const struct tt_children *c)
{
    return c->through_mpirun && c->code == TT_RANK_LOST && c->by && !c->told;
}

tt_status tt_children_wait(struct tt_children *c, int *code)
{
    while (c->left) await_signal(c);
    *code = c->code;
    if (c->asked && (c->code || c->killed >= 0)) *code = TT_INTERRUPTED; /* whatever mpirun returned */
    if (c->told && c->hurried) *code = TT_RANK_LOST;
    if (c->asked || (c->told && c->hurried) || (c->code ? !died_silently(c) : c->killed < 0)) return TT_OK;
    *code = TT_RANK_LOST;
    char who[40] = "a rank";
    if (c->killed >= 0) snprintf(who, sizeof who, c->through_mpirun ? "mpirun" : "rank %d", c->killed);
    return tt_fail(TT_RANK_LOST, "%s was killed by signal %d (%s); if the run has saved a checkpoint, resume it with "
                   "--resume auto", who, c->by, strsignal(c->by));
}

void tt_children_close(struct tt_children *c)
{
    if (c->left) kill(-c->group, SIGKILL);
    for (int i = 0; i < c->started; i++)
        if (c->pids[i]) waitpid(c->pids[i], NULL, 0);
    for (int i = 0; i < 2; i++)
        if (c->said[i] >= 0) close(c->said[i]);
    free(c->pids);
    sigprocmask(SIG_SETMASK, &c->before, NULL);
}
