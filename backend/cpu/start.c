/* Runs before main(): with a limited address space, OpenBLAS must not start threads of its own.
 *
 * It starts one per processor while it is loaded, although we set it to one thread. Each of them tries to allocate a
 * buffer until it succeeds. Under 'ulimit -v' that may never happen, and the program would hang at exit. If a thread
 * cannot be started at all, OpenBLAS raises a signal. It reads the number of threads from the environment before any
 * other code of ours runs. So this executes the program again with OPENBLAS_NUM_THREADS=1. */
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static char setting[] = "OPENBLAS_NUM_THREADS=1";

/* The environment with the setting added; NULL if it is set already or there is no memory. */
static char **with_setting(char **environment)
{
    size_t name = strcspn(setting, "=") + 1, n = 0;
    while (environment[n]) n++;
    char **out = mmap(NULL, (n + 2) * sizeof *out, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (out == MAP_FAILED) return NULL; /* mmap, because malloc is not initialised yet */
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(environment[i], setting)) return NULL;
        if (strncmp(environment[i], setting, name) != 0) out[kept++] = environment[i];
    }
    out[kept] = setting;
    return out;
}

static void start_once_more(int argc, char **argv, char **environment)
{
    (void)argc;
    struct rlimit limit;
    char path[PATH_MAX];
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return;
    char **changed = with_setting(environment);
    ssize_t n = changed ? readlink("/proc/self/exe", path, sizeof path - 1) : -1;
    if (n <= 0) return;
    path[n] = 0;
    execve(path, argv, changed); /* if it fails, continue without */
}

__attribute__((section(".preinit_array"), used))
static void (*const before_the_libraries)(int, char **, char **) = start_once_more;
