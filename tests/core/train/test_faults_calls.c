/* Every system call of a run fails once: the n-th write, fsync, rename, open, mkdir, read, stat, flock, for every n,
 * and the n-th malloc, alone or with all that follow. The clocks go backwards, and a SIGTERM comes before every write.
 * Whatever happens, the process either ends by itself with a message, or continues and gives the right bits; and the
 * previous checkpoint is never lost.
 *
 * The program defines these functions itself, so tt's calls come here. Each run is a child process, because a process
 * that has started threads cannot be forked safely. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/commands.h"
#include "core/base/file.h"
#include "core/checkpoint/checkpoint.h"
#include "tests/test.h"

enum call {
    NONE,
    WRITE,
    FSYNC,
    RENAME,
    OPEN,
    MKDIR,
    UNLINK,
    READ,
    TRUNCATE,
    LOCK,
    LINK,
    STAT,
    READDIR,
    MALLOC,
    MALLOC_AND_ON,
    CLOCK,
    SIGNAL,
    CALLS
};
static const char *const names[CALLS] = {"none",
                                         "write",
                                         "fsync",
                                         "rename",
                                         "open",
                                         "mkdir",
                                         "unlink",
                                         "read",
                                         "truncate",
                                         "flock",
                                         "link",
                                         "stat",
                                         "readdir",
                                         "malloc",
                                         "malloc and all after it",
                                         "clock",
                                         "SIGTERM"};
static const int reasons[CALLS] = {
    [WRITE] = ENOSPC, [FSYNC] = EIO,    [RENAME] = EIO,  [OPEN] = EMFILE, [MKDIR] = ENOSPC,  [UNLINK] = EACCES,
    [READ] = EIO,     [TRUNCATE] = EIO, [LOCK] = ENOLCK, [LINK] = EIO,    [STAT] = EIO,      [READDIR] = EIO,
    [MALLOC] = ENOMEM, [MALLOC_AND_ON] = ENOMEM};

static char root[] = "/tmp/tt-test-calls-XXXXXX";
static const char *keep = "3";  /* checkpoints to keep */
static enum call failing;       /* in a child: the call that fails */
static long countdown, counted; /* how many succeed before it fails; how many there were */

static bool fails(enum call kind)
{
    if (failing != kind) return false;
    counted++;
    bool now = countdown == 0;
    if (countdown >= 0) countdown--;
    if (now) errno = reasons[kind];
    return now;
}

static bool ours(const char *path) { return !strncmp(path, root, sizeof root - 1); }

/* ---- the calls ---- */

ssize_t write(int fd, const void *data, size_t n)
{
    if (fd > 2 && fails(SIGNAL)) raise(SIGTERM);
    return fd > 2 && fails(WRITE) ? -1 : syscall(SYS_write, fd, data, n);
}

ssize_t read(int fd, void *data, size_t n) { return fd > 2 && fails(READ) ? -1 : syscall(SYS_read, fd, data, n); }

ssize_t pread(int fd, void *data, size_t n, off_t at)
{
    return fd > 2 && fails(READ) ? -1 : syscall(SYS_pread64, fd, data, n, at);
}

/* Does nothing, to save time: without fsync only a crash of the machine loses data, not the end of a process. */
int fsync(int fd)
{
    (void)fd;
    return fails(FSYNC) ? -1 : 0;
}

/* Every clock, even the monotonic one. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
    int result = (int)syscall(SYS_clock_gettime, clock, t);
    if (failing == CLOCK) t->tv_sec -= ++counted * 1000;
    return result;
}

int rename(const char *from, const char *to)
{
    return ours(from) && fails(RENAME) ? -1 : renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int mkdir(const char *path, mode_t mode) { return ours(path) && fails(MKDIR) ? -1 : mkdirat(AT_FDCWD, path, mode); }

int unlinkat(int dir, const char *name, int flags)
{
    return fails(UNLINK) ? -1 : (int)syscall(SYS_unlinkat, dir, name, flags);
}

int truncate(const char *path, off_t length)
{
    return ours(path) && fails(TRUNCATE) ? -1 : (int)syscall(SYS_truncate, path, length);
}

int flock(int fd, int operation) { return fails(LOCK) ? -1 : (int)syscall(SYS_flock, fd, operation); }

int link(const char *from, const char *to)
{
    return ours(from) && fails(LINK) ? -1 : linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int stat(const char *path, struct stat *st)
{
    return ours(path) && fails(STAT) ? -1 : fstatat(AT_FDCWD, path, st, 0);
}

int lstat(const char *path, struct stat *st)
{
    return ours(path) && fails(STAT) ? -1 : fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

struct dirent *readdir(DIR *d)
{
    static struct dirent *(*real)(DIR *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "readdir");
    return fails(READDIR) ? NULL : real(d);
}

int open(const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & (O_CREAT | O_DIRECTORY) ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return ours(path) && fails(OPEN) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

#if !defined(SANITIZED) && defined(__GLIBC__)
enum { CAN_FAIL_MALLOC = 1 };

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

/* Only calls by tt, and by the C library for it. What OpenMP and BLAS do without memory is not tested. */
static bool no_memory(void *caller)
{
    Dl_info info, mine;
    if (failing != MALLOC && failing != MALLOC_AND_ON) return false;
    if (!dladdr(caller, &info) || !dladdr((void *)&no_memory, &mine)) return false;
    if (strcmp(info.dli_fname, mine.dli_fname) && !strstr(info.dli_fname, "libc.so")) return false;
    if (failing == MALLOC_AND_ON && countdown < 0) {
        errno = ENOMEM;
        return true;
    }
    return fails(failing);
}

#define CALLER __builtin_return_address(0)
void *malloc(size_t n) { return no_memory(CALLER) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return no_memory(CALLER) ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return no_memory(CALLER) ? NULL : __libc_realloc(p, n); }
#else
enum { CAN_FAIL_MALLOC = 0 };
#endif

/* ---- a run in a child ---- */

struct outcome {
    int code; /* tt's; -1: the child was killed */
    int signal;
    long counted; /* calls of this kind */
    char text[1000];
};

static void become_tt(enum call kind, long n, const char *out, int tell)
{
    struct tt_options o;
    struct outcome result = {0};
    char said[300];
    char *words[] = {"--hidden-dim",    "16",   "--num-layers", "1",        "--num-heads",   "2", "--num-kv-heads", "1",
                     "--ffn-dim",       "24",   "--seq-len",    "8",        "--batch-size",  "2", "--num-steps",    "4",
                     "--save-interval", "1",    "--keep",       (char *)keep, "--val-batches", "1", "--threads",
                          "1",
                     "--resume",        "auto", "--out",        (char *)out};
    int null = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY, 0);
    dup2(null, 1);
    snprintf(said, sizeof said, "%s/said", root);
    dup2((int)syscall(SYS_openat, AT_FDCWD, said, O_WRONLY | O_CREAT | O_TRUNC, 0666), 2);
    failing = kind;
    countdown = n;
    tt_status st = tt_options_parse(&o, TT_CMD_TRAIN, sizeof words / sizeof *words, words);
    if (!st) st = tt_cmd_train(&o);
    failing = NONE;
    result.counted = counted;
    result.code = st ? (int)st->code : 0;
    if (st) memcpy(result.text, st->text, sizeof result.text);
    if (syscall(SYS_write, tell, &result, sizeof result) != sizeof result) _exit(99);
    fflush(NULL);
    _exit(0);
}

static struct outcome run(enum call kind, long n, const char *out)
{
    struct outcome result = {.code = -1};
    int ends[2], status;
    if (pipe(ends)) exit(1);
    fflush(NULL);
    pid_t child = fork();
    if (!child) become_tt(kind, n, out, ends[1]);
    close(ends[1]);
    struct outcome got;
    if (syscall(SYS_read, ends[0], &got, sizeof got) == sizeof got) result = got;
    close(ends[0]);
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
    return result;
}

/* ---- folders ---- */

static void path_in(char path[300], const char *name) { snprintf(path, 300, "%s/%s", root, name); }

static bool same_file(const char *a, const char *b)
{
    char *x = NULL, *y = NULL;
    size_t n = 0, k = 1;
    tt_status one = tt_file_read(a, 1 << 22, &x, &n), two = tt_file_read(b, 1 << 22, &y, &k);
    bool same = !one && !two && n == k && !memcmp(x, y, n);
    tt_status_free(one);
    tt_status_free(two);
    free(x);
    free(y);
    return same;
}

static bool has_right_bits(const char *run_dir)
{
    static const char *const files[] = {"model.safetensors", "state.safetensors"};
    char whole[400], here[400];
    for (int i = 0; i < 2; i++) {
        snprintf(whole, sizeof whole, "%s/whole/step-00000004/%s", root, files[i]);
        snprintf(here, sizeof here, "%s/step-00000004/%s", run_dir, files[i]);
        if (!same_file(whole, here)) return false;
    }
    return true;
}

/* A run that was stopped after step 2, copied from the complete run. It has one earlier checkpoint too. */
static void begin_again(const char *run_dir)
{
    char command[3000];
    snprintf(command, sizeof command,
             "rm -rf '%s' '%s'.* && mkdir '%s' && cp -r '%s/first/step-00000001' '%s/whole/step-00000002' '%s/' && "
             "head -n 2 '%s/whole/metrics.jsonl' >'%s/metrics.jsonl'",
             run_dir, run_dir, run_dir, root, root, run_dir, root, run_dir);
    CHECK(!system(command));
}

static long newest(const char *dir)
{
    char *path = NULL;
    tt_status st = tt_checkpoint_find(dir, NULL, NULL, &path);
    long step = st ? -2 : path ? strtol(strstr(path, "/step-") + 6, NULL, 10) : -1;
    tt_status_free(st);
    free(path);
    return step;
}

/* A checkpoint that cannot be read this time must not be called damaged, renamed or skipped. */
static bool passed_over(const char *dir)
{
    char path[400], *text = NULL;
    size_t n;
    path_in(path, "said");
    tt_status st = tt_file_read(path, 1 << 20, &text, &n);
    bool said = st || strstr(text, "damaged");
    tt_status_free(st);
    free(text);
    snprintf(path, sizeof path, "%s/step-00000002.damaged", dir);
    bool renamed = tt_is_dir(path);
    snprintf(path, sizeof path, "%s.1", dir);
    return said || renamed || tt_is_dir(path);
}

/* ---- the tests ---- */

static void check_outcome(enum call kind, long n, const struct outcome *r, const char *dir)
{
    CHECK(!r->signal && r->code >= 0, "%s %ld: the process died of signal %d", names[kind], n, r->signal);
    CHECK(r->code >= 0 && r->code <= 3, "%s %ld: exit code %d", names[kind], n, r->code);
    if (r->code == 0)
        CHECK(has_right_bits(dir), "%s %ld: done, but with other bits", names[kind], n);
    else
        CHECK(strlen(r->text) > 10, "%s %ld: fails without a word", names[kind], n);
    CHECK(!passed_over(dir), "%s %ld: a good checkpoint was called damaged", names[kind], n);
    CHECK(newest(dir) >= 2, "%s %ld: the checkpoint from before is lost (%ld): %s", names[kind], n, newest(dir),
          r->text);
}

static void fail_each(enum call kind, long most)
{
    char dir[300];
    path_in(dir, "run");
    long n = 0, failed = 0;
    for (; n < most; n += n < 60 ? 1 : 13) {
        begin_again(dir);
        struct outcome r = run(kind, n, dir);
        check_outcome(kind, n, &r, dir);
        failed += r.code != 0;
        if (r.code >= 0 && r.counted <= n) break;
        if (n % 5 || r.code == 0) continue;
        bool complete = newest(dir) == 4; /* it failed after the last checkpoint */
        if (!complete) r = run(NONE, 0, dir);
        CHECK((complete || r.code == 0) && has_right_bits(dir), "%s %ld: afterwards: %s", names[kind], n, r.text);
    }
    CHECK(n < most, "%s is called more than %ld times", names[kind], most);
    CHECK(n > 1 || kind == TRUNCATE, "%s is never called", names[kind]);
    printf("     %s: %ld calls, %ld runs failed\n", names[kind], n, failed);
}

static void a_whole_run_is_made(void)
{
    char dir[300];
    path_in(dir, "whole");
    struct outcome r = run(NONE, 0, dir);
    CHECK(r.code == 0 && newest(dir) == 4, "%s", r.text);
}

static void every_system_call_may_fail(void)
{
    for (int kind = WRITE; kind < MALLOC; kind++) fail_each((enum call)kind, 2000);
}

static void every_malloc_may_fail(void)
{
    if (!CAN_FAIL_MALLOC) SKIP("the allocator is the sanitizer's");
    fail_each(MALLOC, 5000);
    fail_each(MALLOC_AND_ON, 5000);
}

static void a_clock_may_go_backwards(void)
{
    char dir[300], path[400], *text = NULL;
    size_t n;
    path_in(dir, "clock");
    struct outcome r = run(CLOCK, 0, dir);
    CHECK(r.code == 0 && has_right_bits(dir), "%s", r.text);
    CHECK(r.counted > 3, "nobody looks at the clock");
    snprintf(path, sizeof path, "%s/metrics.jsonl", dir);
    CHECK_OK(tt_file_read(path, 1 << 20, &text, &n));
    CHECK(text && strstr(text, "\"step\":4") && !strstr(text, "tokens_per_second\":-"), "%s", text ? text : "");
    free(text);
}

/* Every write of a run belongs to a checkpoint; a SIGTERM comes before each. */
static void a_signal_may_come_during_a_save(void)
{
    char dir[300];
    path_in(dir, "run");
    long n = 0, stopped = 0;
    for (; n < 2000; n += 3) {
        begin_again(dir);
        struct outcome r = run(SIGNAL, n, dir);
        if (r.code >= 0 && r.counted <= n) break;
        stopped += r.code == 130;
        CHECK(!r.signal && (r.code == 130 || (r.code == 0 && newest(dir) == 4)), "SIGTERM at write %ld: exit %d: %s", n,
              r.code, r.text);
        CHECK(r.code == 0 || strstr(r.text, "saved. Go on with"), "%s", r.text);
        CHECK(newest(dir) >= 3, "SIGTERM at write %ld: the step is not saved", n);
        if (r.code) r = run(NONE, 0, dir);
        CHECK(r.code == 0 && has_right_bits(dir), "SIGTERM at write %ld, afterwards: %s", n, r.text);
    }
    CHECK(n > 10 && n < 2000 && stopped > 2, "%ld signals, %ld stops", n / 3, stopped);
}

int main(void)
{
    char dir[300];
    if (!mkdtemp(root)) return 1;
    signal(SIGXFSZ, SIG_IGN);
    path_in(dir, "first");
    keep = "4";
    struct outcome first = run(NONE, 0, dir); /* in a child: a GPU opened here could not be used there */
    if (first.code == 3) {
        printf("skipped: %s\n", first.text);
        CHECK_OK(tt_remove_tree(root));
        return 77;
    }
    keep = "3";
    TEST(a_whole_run_is_made);
    TEST(every_system_call_may_fail);
    TEST(every_malloc_may_fail);
    TEST(a_clock_may_go_backwards);
    TEST(a_signal_may_come_during_a_save);
    CHECK_OK(tt_remove_tree(root));
    return test_end();
}
