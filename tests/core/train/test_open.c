/* Opening text for a run: with the requested number of threads, and which of them shows the progress. */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/train/open.h"
#include "tests/test.h"

static char folder[] = "/tmp/tt-open-XXXXXX", path[64];
static struct tt_config config;

static void write_text(void)
{
    snprintf(path, sizeof path, "%s/text.txt", folder);
    FILE *f = fopen(path, "w");
    for (int i = 0; f && i < 40000; i++) fputs("a line of the text\n", f);
    CHECK(f && !fclose(f));
}

static void open_text(void)
{
    struct tt_data *d = NULL;
    snprintf(config.data, sizeof config.data, "%s", path);
    config.seq_len = 8;
    CHECK_OK(tt_open_data(&config, 0, NULL, &d));
    tt_data_close(d);
}

/* ---- threads ---- */

static atomic_int started;

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*work)(void *), void *arg)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    atomic_fetch_add(&started, 1);
    return create(thread, how, work, arg);
}

static void threads_read(void)
{
    for (int threads = 1; threads <= 3; threads++) {
        config = (struct tt_config){.threads = threads};
        started = 0;
        open_text();
        CHECK(started == threads - 1, "%d threads: %d were started", threads, (int)started);
    }
}

/* ---- the line on the terminal ---- */

/* What opening the text wrote to the terminal; the kernel delivers it a little later. */
static size_t painted(int master)
{
    char bytes[4096];
    size_t all = 0;
    struct pollfd seen = {.fd = master, .events = POLLIN};
    open_text();
    while (poll(&seen, 1, 300) > 0 && (seen.revents & POLLIN)) {
        ssize_t n = read(master, bytes, sizeof bytes);
        if (n <= 0) break;
        all += (size_t)n;
    }
    return all;
}

static void who_paints(void)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK), own = dup(STDERR_FILENO);
    if (master < 0 || grantpt(master) || unlockpt(master)) SKIP("no pseudo-terminal here");
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    CHECK(terminal >= 0 && own >= 0);
    setenv("TERM", "xterm", 1);
    unsetenv("OMPI_COMM_WORLD_RANK");
    dup2(terminal, STDERR_FILENO);
    config = (struct tt_config){.paints = true};
    size_t command = painted(master);
    config = (struct tt_config){.paints = true, .quiet = true};
    size_t quiet = painted(master);
    config = (struct tt_config){.paints = true, .rank = 1};
    size_t other_rank = painted(master);
    config = (struct tt_config){0};
    size_t library = painted(master);
    dup2(own, STDERR_FILENO);
    CHECK(command > 0, "the command shows nothing");
    CHECK(!quiet && !other_rank && !library, "%zu, %zu, %zu bytes", quiet, other_rank, library);
    close(own);
    close(terminal);
    close(master);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    write_text();
    TEST(threads_read);
    TEST(who_paints);
    CHECK_OK(tt_remove_tree(folder));
    return test_end();
}
