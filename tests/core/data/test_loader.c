/* The loader: the same samples in the same order as when read directly, errors passed on, and closing at any moment. */
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/data/data.h"
#include "tests/test.h"

enum { S = 16, ROWS = 5, STEP = ROWS * (S + 1) };

static char folder[] = "/tmp/tt-loader-XXXXXX";

static struct tt_data *open_data(const char *source)
{
    struct tt_data *d = NULL;
    CHECK_OK(tt_data_open(&(struct tt_data_options){.source = source, .seq_len = S, .seed = 4}, &d));
    return d;
}

/* `count` of three buffers that the caller owns. */
static struct tt_loader *open_loader(struct tt_data *d, uint64_t position, int count)
{
    static int32_t memory[3][STEP];
    int32_t *buffers[3] = {memory[0], memory[1], memory[2]};
    struct tt_loader *l = NULL;
    CHECK_OK(tt_loader_open(&(struct tt_loader_options){.data = d,
                                                        .split = TT_TRAIN,
                                                        .rows = ROWS,
                                                        .seq_len = S,
                                                        .position = position,
                                                        .buffers = buffers,
                                                        .count = count},
                            &l));
    return l;
}

static bool is_step(struct tt_data *d, const int32_t *buffer, uint64_t position)
{
    int32_t row[S + 1];
    for (uint64_t i = 0; i < ROWS; i++) {
        CHECK_OK(tt_data_sample(d, TT_TRAIN, position + i, row));
        if (memcmp(row, buffer + i * (S + 1), sizeof row)) return false;
    }
    return true;
}

static void order_is_that_of_the_data(void)
{
    struct tt_data *d = open_data("builtin");
    for (int count = 1; count <= 3; count++) {
        struct tt_loader *l = open_loader(d, 1000, count);
        for (uint64_t step = 0; step < 50; step++) {
            int32_t *buffer = NULL;
            CHECK_OK(tt_loader_next(l, &buffer));
            CHECK(buffer && is_step(d, buffer, 1000 + step * ROWS), "%d buffers, step %d", count, (int)step);
            if (step % 7 == 0) usleep(500); /* lets the loader thread fill its queue */
            CHECK(is_step(d, buffer, 1000 + step * ROWS), "not overwritten before it is released");
            tt_loader_release(l);
        }
        CHECK(tt_loader_waited(l) >= 0 && tt_loader_waited(l) < 60);
        tt_loader_close(l);
    }
    tt_data_close(d);
}

static void several_steps_can_be_held(void)
{
    struct tt_data *d = open_data("builtin");
    struct tt_loader *l = open_loader(d, 0, 3);
    int32_t *held[3], *more = NULL;
    for (int i = 0; i < 3; i++) CHECK_OK(tt_loader_next(l, &held[i]));
    CHECK(held[0] != held[1] && held[1] != held[2] && held[0] != held[2]);
    CHECK_FAILS(tt_loader_next(l, &more), "release one");
    for (uint64_t i = 0; i < 3; i++) CHECK(is_step(d, held[i], i * ROWS));
    tt_loader_release(l);
    CHECK_OK(tt_loader_next(l, &more));
    CHECK(more == held[0] && is_step(d, more, 3 * ROWS));
    for (int i = 0; i < 10; i++) tt_loader_release(l); /* more than were taken: harmless */
    CHECK_OK(tt_loader_next(l, &more));
    CHECK(is_step(d, more, 4 * ROWS));
    tt_loader_close(l);
    tt_data_close(d);
}

static void closes_at_any_moment(void)
{
    struct tt_data *d = open_data("builtin");
    alarm(30); /* ends the test if it hangs */
    for (int i = 0; i < 200; i++) {
        struct tt_loader *l = open_loader(d, 0, 1 + i % 3);
        int32_t *buffer;
        for (int k = 0; k < i % 4; k++) {
            if (k) tt_loader_release(l);
            CHECK_OK(tt_loader_next(l, &buffer));
        }
        if (i % 5 == 0) usleep(200);
        tt_loader_close(l);
    }
    alarm(0);
    tt_loader_close(NULL);
    tt_data_close(d);
}

/* Closing is quick even while the thread gathers a very long step: it checks between rows. */
static void closes_in_the_middle_of_a_step(void)
{
    enum { MANY = 2000000 };
    struct tt_data *d = open_data("builtin");
    int32_t *buffer = malloc((size_t)MANY * (S + 1) * sizeof *buffer);
    struct tt_loader *l = NULL;
    CHECK_OK(tt_loader_open(
        &(struct tt_loader_options){
            .data = d, .split = TT_VAL, .rows = MANY, .seq_len = S, .buffers = &buffer, .count = 1},
        &l));
    usleep(1000);
    alarm(20);
    tt_loader_close(l);
    alarm(0);
    free(buffer);
    tt_data_close(d);
}

static void errors_of_the_thread_come_out(void)
{
    enum { N = 4000 };
    static int32_t tokens[N];
    char path[64];
    snprintf(path, sizeof path, "%s/data.bin", folder);
    for (int i = 0; i < N; i++) tokens[i] = i % 100;
    CHECK_OK(tt_tokens_write(path, tokens, N, 100, 0));
    struct tt_data *d = open_data(path);
    struct tt_loader *l = open_loader(d, 0, 3);
    int32_t *buffer = NULL;
    for (int i = 0; i < 3; i++) { /* whole epochs, in order */
        CHECK_OK(tt_loader_next(l, &buffer));
        CHECK(is_step(d, buffer, (uint64_t)i * ROWS));
        tt_loader_release(l);
    }
    CHECK(!truncate(path, 1024));
    tt_status st = TT_OK;
    int good = 0;
    for (; !st && good < 100; good += !st) {
        st = tt_loader_next(l, &buffer);
        if (!st) tt_loader_release(l);
    }
    CHECK(good <= 4, "%d steps came after the file was gone", good); /* those gathered before */
    CHECK(st && strstr(st->text, "data.bin") && strstr(st->text, "shorter"), "%s", st ? st->text : "no error");
    tt_status_free(st);
    CHECK_FAILS(tt_loader_next(l, &buffer), "shorter"); /* the error stays */
    tt_loader_close(l);
    tt_data_close(d);
}

/* Counts the threads of this process that block SIGUSR1. Threads of libraries may block it or not. */
static int blocking_threads(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *e; tasks && (e = readdir(tasks));) {
        char path[300], line[256];
        unsigned long long mask = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", e->d_name);
        FILE *f = fopen(path, "r");
        while (f && fgets(line, sizeof line, f)) sscanf(line, "SigBlk: %llx", &mask);
        if (f) fclose(f);
        count += (int)(mask >> (SIGUSR1 - 1) & 1);
    }
    if (tasks) closedir(tasks);
    return count;
}

/* The loader's thread blocks signals, so that they reach the main thread. */
static void leaves_signals_alone(void)
{
    struct tt_data *d = open_data("builtin");
    int before = blocking_threads();
    struct tt_loader *l = open_loader(d, 0, 2);
    CHECK(blocking_threads() == before + 1, "%d threads, then %d", before, blocking_threads());
    tt_loader_close(l);
    CHECK(blocking_threads() == before);
    tt_data_close(d);
}

static void refuses_nonsense(void)
{
    struct tt_loader *l = NULL;
    int32_t *buffer = NULL;
    CHECK_FAILS(tt_loader_open(&(struct tt_loader_options){.rows = 1, .seq_len = S, .buffers = &buffer}, &l),
                "one buffer");
    CHECK_FAILS(tt_loader_open(&(struct tt_loader_options){.count = 1, .seq_len = S, .buffers = &buffer}, &l),
                "one row");
    CHECK(!l);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    TEST(order_is_that_of_the_data);
    TEST(several_steps_can_be_held);
    TEST(closes_at_any_moment);
    TEST(closes_in_the_middle_of_a_step);
    TEST(errors_of_the_thread_come_out);
    TEST(leaves_signals_alone);
    TEST(refuses_nonsense);
    CHECK_OK(tt_remove_tree(folder));
    return test_end();
}
