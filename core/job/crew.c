#include "core/job/crew.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"

/* Seconds for the others to end by themselves once one has failed: until they notice, which their watchers do; after
 * one has noticed, because it tells the others; and after SIGTERM. */
static const double TO_NOTICE = 60, TO_FOLLOW = 10, TO_END = 5;

/* All that ask a run to stop, and those that mean something to a debugger or to nobody. */
static sigset_t awaited(void)
{
    const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT, SIGTSTP, SIGCHLD};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaddset(&set, signals[i]);
    return set;
}

tt_status tt_crew_open(struct tt_crew *c, int most)
{
    *c = (struct tt_crew){.pids = calloc((size_t)most, sizeof *c->pids), .killed = -1};
    if (!c->pids) return tt_no_memory("%d processes", most);
    signal(SIGCHLD, SIG_DFL); /* whoever started this process may ignore it, and then children leave no exit code */
    sigset_t set = awaited();
    sigprocmask(SIG_BLOCK, &set, &c->before);
    return TT_OK;
}

/* SIGTERM lets mpirun end its own children. */
static void settle_child(const struct tt_crew *c, pid_t parent)
{
    setpgid(0, c->group);
    prctl(PR_SET_PDEATHSIG, c->through_mpirun ? SIGTERM : SIGKILL);
    if (getppid() != parent) abort(); /* it was killed before that */
    sigprocmask(SIG_SETMASK, &c->before, NULL);
}

pid_t tt_crew_fork(struct tt_crew *c)
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) settle_child(c, parent);
    if (pid <= 0) return pid;
    if (!c->group) c->group = pid;
    setpgid(pid, c->group); /* here too, as it is not known which of the two is first */
    c->pids[c->started++] = pid;
    c->left++;
    return pid;
}

/* ---- passing signals on ---- */

/* mpirun ends its ranks at once by what asks a run to save and stop, but passes SIGUSR1 on, which asks the same. */
static void pass_on(struct tt_crew *c, int number)
{
    bool again = c->asked++ > 0;
    if (c->through_mpirun)
        kill(c->group, again || number == SIGUSR2 ? number : SIGUSR1);
    else
        kill(-c->group, number);
}

/* Ctrl-Z: they stop, then this process does; and they go on when it does. */
static void stop_together(struct tt_crew *c)
{
    kill(c->through_mpirun ? c->group : -c->group, c->through_mpirun ? SIGTSTP : SIGSTOP);
    raise(SIGSTOP);
    kill(c->through_mpirun ? c->group : -c->group, SIGCONT);
}

/* ---- how they end ---- */

static void hurry_within(struct tt_crew *c, double seconds)
{
    double at = tt_seconds() + seconds;
    if (!c->deadline || at < c->deadline) c->deadline = at;
}

/* That a rank was lost is what follows from another one's end, which says more. */
static void note_end(struct tt_crew *c, int child, int status)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : TT_RANK_LOST;
    if (!code) return;
    bool of_rank = c->through_mpirun && !c->asked && code > 128 && code != TT_INTERRUPTED; /* a signal ended a rank */
    if (of_rank) code = TT_RANK_LOST;
    if (WIFSIGNALED(status) && c->killed < 0) {
        c->killed = child;
        c->by = WTERMSIG(status);
    }
    bool noticed = WIFEXITED(status) && code == TT_RANK_LOST;
    if (WIFEXITED(status) && (!c->code || (c->code == TT_RANK_LOST && !noticed))) c->code = code;
    if (!c->hurried) hurry_within(c, noticed ? TO_FOLLOW : TO_NOTICE);
}

static void reap(struct tt_crew *c)
{
    for (int i = 0; i < c->started; i++) {
        int status;
        if (!c->pids[i] || waitpid(c->pids[i], &status, WNOHANG) != c->pids[i]) continue;
        c->pids[i] = 0;
        c->left--;
        note_end(c, i, status);
    }
}

static void hurry(struct tt_crew *c)
{
    kill(-c->group, c->hurried ? SIGKILL : SIGTERM);
    c->hurried++;
    c->deadline = tt_seconds() + TO_END;
}

static void await_signal(struct tt_crew *c)
{
    bool repeats = c->asked && c->through_mpirun && !c->deadline;
    double left = c->deadline ? c->deadline - tt_seconds() : repeats ? 1 : 3600;
    if (left < 0) left = 0;
    struct timespec t = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
    sigset_t set = awaited();
    int number = sigtimedwait(&set, NULL, &t);
    if (number == SIGCHLD)
        reap(c);
    else if (number == SIGTSTP)
        stop_together(c);
    else if (number > 0)
        pass_on(c, number);
    else if (errno == EAGAIN && c->deadline)
        hurry(c);
    else if (errno == EAGAIN && repeats)
        kill(c->group, SIGUSR1); /* an mpirun that was not ready has lost it */
}

tt_status tt_crew_wait(struct tt_crew *c, int *code)
{
    while (c->left) await_signal(c);
    *code = c->code;
    if (c->asked && (c->code || c->killed >= 0)) *code = TT_INTERRUPTED; /* however mpirun puts it */
    if (c->code || c->asked || c->killed < 0) return TT_OK;
    *code = TT_RANK_LOST;
    return tt_fail(TT_RANK_LOST, "%s %d was ended by signal %d (%s); a run that has saved goes on with --resume auto",
                   c->through_mpirun ? "mpirun, process" : "rank", c->killed, c->by, strsignal(c->by));
}

void tt_crew_close(struct tt_crew *c)
{
    if (c->left) kill(-c->group, SIGKILL);
    for (int i = 0; i < c->started; i++)
        if (c->pids[i]) waitpid(c->pids[i], NULL, 0);
    free(c->pids);
    sigprocmask(SIG_SETMASK, &c->before, NULL);
}
