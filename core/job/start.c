/* Starts the ranks of a job on this machine: copies of this program with the same arguments, directly or through
 * mpirun. The environment is set in the child between fork and exec, which is safe only while this process has one
 * thread; so ranks are started before a device is opened. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/allowance.h"
#include "core/job/address.h"
#include "core/job/children.h"
#include "core/job/place.h"

struct start {
    int ranks;
    char **argv;
    char exe[PATH_MAX];
    char word[TT_SHA256_DIGITS + 1]; /* TT_STARTED */
    int listener, port;              /* rank 0's */
    struct tt_children children;
};

static void find_exe(struct start *s)
{
    ssize_t n = readlink("/proc/self/exe", s->exe, sizeof s->exe - 1);
    s->exe[n > 0 ? n : 0] = 0;
    if (access(s->exe, X_OK)) snprintf(s->exe, sizeof s->exe, "/proc/self/exe"); /* the file was replaced */
}

static void set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
}

/* Each rank gets its share of the cores, unless OMP_NUM_THREADS is set. */
static void share_cores(int ranks)
{
    if (tt_env("OMP_NUM_THREADS")) return;
    int cores = tt_cores() / ranks;
    set_number("OMP_NUM_THREADS", cores > 1 ? cores : 1);
}

static _Noreturn void become(const char *program, char **argv)
{
    execvp(program, argv);
    dprintf(STDERR_FILENO, "tt: cannot start %s: %s\n", program, strerror(errno));
    _exit(TT_FAILED); /* in the child, which shares the parent's stdio */
}

/* ---- directly ---- */

static tt_status open_listener(struct start *s)
{
    struct tt_address where = {.host = "127.0.0.1"};
    tt_status st = tt_listen(&where, &s->listener);
    s->port = where.port;
    return st;
}

static _Noreturn void become_rank(const struct start *s, int rank)
{
    set_number("RANK", rank);
    set_number("WORLD_SIZE", s->ranks);
    set_number("LOCAL_RANK", rank);
    set_number("LOCAL_WORLD_SIZE", s->ranks);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    set_number("MASTER_PORT", s->port);
    unsetenv("TORCHELASTIC_USE_AGENT_STORE"); /* from a torchrun around us: this port is free */
    setenv(TT_STARTED, s->word, 1);
    unsetenv(TT_LISTEN);
    if (rank == 0) {
        set_number(TT_LISTEN, s->listener);
        fcntl(s->listener, F_SETFD, 0);
    }
    share_cores(s->ranks);
    become(s->exe, s->argv);
}

static tt_status start_ranks(struct start *s)
{
    for (int rank = 0; rank < s->ranks; rank++) {
        pid_t pid = tt_children_fork(&s->children);
        if (pid == 0) become_rank(s, rank);
        if (pid < 0) return tt_fail(TT_FAILED, "cannot start rank %d of %d: %s", rank, s->ranks, strerror(errno));
    }
    return TT_OK;
}

static tt_status start_directly(struct start *s, int *code)
{
    TT_TRY(open_listener(s));
    tt_status st = tt_children_open(&s->children, s->ranks);
    if (!st) {
        st = start_ranks(s);
        close(s->listener);
        s->listener = -1;
        if (!st) st = tt_children_wait(&s->children, code);
        tt_children_close(&s->children);
    }
    if (s->listener >= 0) close(s->listener);
    return st;
}

/* ---- through mpirun ---- */

/* The output of `mpirun --version`. */
static tt_status ask_version(const char *mpirun, char *out, size_t size)
{
    int ends[2], status;
    if (pipe2(ends, O_CLOEXEC)) return tt_fail(TT_FAILED, "cannot ask %s for its version: %s", mpirun, strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        execlp(mpirun, mpirun, "--version", (char *)NULL);
        _exit(127); /* as a shell would */
    }
    close(ends[1]);
    size_t have = 0;
    for (ssize_t n; pid > 0 && (n = read(ends[0], out + have, size - 1 - have)) > 0;) have += (size_t)n;
    out[have] = 0;
    close(ends[0]);
    bool ran = pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) != 127;
    if (ran) return TT_OK;
    return tt_fail(TT_NO_TOOL,
                   "cannot start %s, which the ranks need; install Open MPI or MPICH (Debian: "
                   "openmpi-bin)",
                   mpirun);
}

static void set_new(const char *name, const char *value) { setenv(name, value, 0); }

/* Sets `name` to a path under which rank 0 can open this pipe. The path is valid as long as the process that started
 * mpirun exists, and that process waits for mpirun. */
static void name_pipe(const char *name, int fd)
{
    struct stat file;
    char path[40];
    unsetenv(name);
    if (fstat(fd, &file) || !S_ISFIFO(file.st_mode)) return;
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getppid(), fd);
    setenv(name, path, 1);
}

/* The major version of Open MPI, from the output of --version; 0: another MPI. Before version 5 some say "OpenRTE". */
static int open_mpi_of(const char *version)
{
    const char *name = strstr(version, "(Open MPI) ");
    int major = name ? atoi(name + strlen("(Open MPI) ")) : 0;
    return major > 0 ? major : strstr(version, "Open MPI") || strstr(version, "OpenRTE") ? 4 : 0;
}

/* Ranks have several threads, so they are not bound to cores, and there may be more ranks than cores. A rank that fails
 * prints why, so the mpirun of Open MPI gets --quiet, which version 5 no longer has. */
static _Noreturn void become_mpirun(const struct start *s, const char *mpirun, int open_mpi)
{
    char number[16];
    int words = 0, n = 0;
    while (s->argv[words]) words++;
    char **argv = calloc((size_t)words + 16, sizeof *argv);
    if (!argv) _exit(TT_FAILED);
    snprintf(number, sizeof number, "%d", s->ranks);
    char *first[] = {(char *)mpirun, "-n", number};
    char *more[] = {"--bind-to", "none", "--map-by", "slot:OVERSUBSCRIBE"};
    for (int i = 0; i < 3; i++) argv[n++] = first[i];
    for (int i = 0; open_mpi && i < 4; i++) argv[n++] = more[i];
    if (open_mpi && open_mpi < 5) argv[n++] = "--quiet";
    argv[n++] = (char *)s->exe;
    for (int i = 1; i < words; i++) argv[n++] = s->argv[i];

    setenv(TT_STARTED, s->word, 1);
    name_pipe(TT_OUTPUT, STDOUT_FILENO);
    name_pipe(TT_ERRORS, STDERR_FILENO);
    name_pipe(TT_SAID, s->children.said[1]);
    if (!isatty(STDOUT_FILENO)) set_new("NO_COLOR", "1"); /* ranks of Open MPI always see a terminal */
    if (open_mpi && geteuid() == 0) {
        set_new("OMPI_ALLOW_RUN_AS_ROOT", "1");
        set_new("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    }
    set_new("I_MPI_PIN", "off"); /* Intel MPI: do not bind */
    signal(SIGUSR1, SIG_IGN);    /* until mpirun installs its handler, which forwards it */
    share_cores(s->ranks);
    become(mpirun, argv);
}

static tt_status start_mpirun(struct start *s, const char *mpirun, int *code)
{
    char version[2000];
    TT_TRY(ask_version(mpirun, version, sizeof version));
    int open_mpi = open_mpi_of(version);
    TT_TRY(tt_children_open(&s->children, 1));
    s->children.through_mpirun = true;
    pid_t pid = tt_children_fork(&s->children);
    if (pid == 0) become_mpirun(s, mpirun, open_mpi);
    tt_status st = pid < 0 ? tt_fail(TT_FAILED, "cannot start %s: %s", mpirun, strerror(errno))
                           : tt_children_wait(&s->children, code);
    tt_children_close(&s->children);
    return st;
}

tt_status tt_job_start(int ranks, char **argv, const char *mpirun, int *code)
{
    *code = 0;
    if (ranks < 1 || ranks > TT_MOST_RANKS)
        return tt_fail(TT_USAGE, "cannot start %d ranks; give 1 to %d", ranks, TT_MOST_RANKS);
    if (tt_env(TT_STARTED))
        return tt_fail(TT_FAILED, "tt started this process as a rank, but the environment does not say which; does "
                                  "mpirun pass variables on?");
    struct start *s = calloc(1, sizeof *s);
    if (!s) return tt_no_memory("starting %d ranks", ranks);
    s->ranks = ranks;
    s->argv = argv;
    s->listener = -1;
    find_exe(s);
    tt_status st = tt_random_word(s->word);
    if (!st) st = mpirun ? start_mpirun(s, mpirun, code) : start_directly(s, code);
    free(s);
    return st;
}
