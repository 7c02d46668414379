/* Linked into the program, before main(): where the address space is limited, OpenBLAS must not begin threads of its
 * own.
 *
 * It does so while it is loaded, one for each processor, though we use it on one thread at a time. Each of them asks
 * for a buffer until it gets one. Under 'ulimit -v' that may be never, and the program would wait for them at its end;
 * and where a thread cannot be begun at all, OpenBLAS ends the program by a signal. How many it begins it reads from
 * the environment, before any of our code but this has run. So the program is started once more, with that variable
 * set. */
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static char setting[] = "OPENBLAS_NUM_THREADS=1";

/* The environment with the setting in it; NULL when it is there already, or there is no memory. */
static char **with_setting(char **environment)
{
    size_t name = strcspn(setting, "=") + 1, n = 0;
    while (environment[n]) n++;
    char **out = mmap(NULL, (n + 2) * sizeof *out, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (out == MAP_FAILED) return NULL; /* not malloc: the libraries are not set up yet */
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
    execve(path, argv, changed); /* where that fails, we go on as we are */
}

__attribute__((section(".preinit_array"), used))
static void (*const before_the_libraries)(int, char **, char **) = start_once_more;
