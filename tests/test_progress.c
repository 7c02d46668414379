/* What a run shows of itself: the time it still takes, curves for TensorBoard, colours. */
#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include "core/crc32.h"
#include "core/eta.h"
#include "core/file.h"
#include "core/rng.h"
#include "core/tensorboard.h"
#include "core/terminal.h"
#include "tests/test.h"

/* ---- the time left, on a clock of our own ---- */

struct simulated {
    int64_t steps, val_interval, save_interval;
    double (*step)(int64_t i); /* seconds of step i, from 1 */
    double validation, save;
};

enum { MOST_STEPS = 4000 };

/* Seconds that pass from the end of step i to the end of the run. */
static void remaining(const struct simulated *r, double *left)
{
    left[r->steps] = 0;
    for (int64_t i = r->steps; i > 0; i--) {
        bool last = i == r->steps;
        double pause = r->val_interval && (i % r->val_interval == 0 || last) ? r->validation : 0;
        pause += (r->save_interval && i % r->save_interval == 0) || last ? r->save : 0;
        left[i] += pause;
        left[i - 1] = left[i] + r->step(i);
    }
}

/* The worst error of the estimate from a tenth of the run on, until a tenth of it is left, as a part of what is left. The
 * estimate is that of a log line: after the step, before what may pause it. */
static double worst_error(const struct simulated *r)
{
    static double left[MOST_STEPS + 1];
    struct tt_eta e;
    double now = 1000, worst = 0;
    remaining(r, left);
    tt_eta_start(&e, now);
    for (int64_t i = 1; i <= r->steps; i++) {
        bool last = i == r->steps;
        tt_eta_step(&e, now += r->step(i));
        struct tt_eta_work work = {.steps = r->steps - i, .validation_steps = 8.0 / 3};
        work.pauses[TT_PAUSE_VALIDATION] = tt_eta_times(i - 1, r->steps, r->val_interval);
        work.pauses[TT_PAUSE_SAVE] = tt_eta_times(i - 1, r->steps, r->save_interval ? r->save_interval : r->steps);
        if (i >= r->steps / 10 && i <= r->steps - r->steps / 10)
            worst = fmax(worst, fabs(tt_eta_left(&e, &work) - left[i]) / left[i]);
        if (r->val_interval && (i % r->val_interval == 0 || last)) {
            tt_eta_wait(&e, now);
            tt_eta_pause(&e, TT_PAUSE_VALIDATION, now += r->validation);
        }
        if ((r->save_interval && i % r->save_interval == 0) || last) tt_eta_pause(&e, TT_PAUSE_SAVE, now += r->save);
    }
    return worst;
}

static double steady(int64_t i) { return i == 1 ? 5 : i == 2 ? 1 : 0.05; }
static double noisy(int64_t i) { return (i == 1 ? 3 : 0.02) * exp(0.25 * tt_normal(1, 2, (uint64_t)i)); }
static double hiccups(int64_t i) { return i % 20 ? 0.02 : 0.1; }
static double slower(int64_t i) { return 0.02 * (1 + 0.05 * (double)i / 1000); }

static double recorded(int64_t i)
{
    static double times[300];
    if (times[0] == 0) {
        FILE *f = fopen("tests/fixtures/step_times.txt", "r");
        for (int k = 0; k < 300; k++) CHECK(f && fscanf(f, "%lf", &times[k]) == 1, "step %d", k);
        if (f) fclose(f);
    }
    return times[i - 1] * 1e-6;
}

static void time_left(void)
{
    const struct simulated runs[] = {
        {300, 0, 0, recorded, 0, 0},        {300, 100, 0, recorded, 0.015, 0.004}, {300, 0, 0, steady, 0, 0},
        {1000, 100, 50, steady, 0.15, 3},     {1000, 50, 0, noisy, 0.1, 0},          {1000, 0, 0, hiccups, 0, 0},
        {4000, 100, 1000, slower, 0.1, 0},  {40, 0, 0, steady, 0, 0},              {1000, 90, 90, steady, 1, 1},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        double error = worst_error(&runs[i]);
        CHECK(error < 0.1, "run %zu: off by %.1f %%", i, 100 * error);
    }
    /* a pause that nobody can know of is seen: the test does see errors */
    CHECK(worst_error(&(struct simulated){1000, 0, 0, hiccups, 0, 300}) > 0.1);
}

static void times(void)
{
    CHECK(tt_eta_times(0, 300, 100) == 3 && tt_eta_times(100, 300, 100) == 2 && tt_eta_times(99, 300, 100) == 3);
    CHECK(tt_eta_times(0, 250, 100) == 3 && tt_eta_times(240, 250, 100) == 1 && tt_eta_times(250, 250, 100) == 0);
    CHECK(tt_eta_times(0, 250, 0) == 0 && tt_eta_times(5, 10, 10) == 1);
    struct tt_eta e;
    struct tt_eta_work work = {.steps = 10};
    tt_eta_start(&e, 5);
    CHECK(tt_eta_left(&e, &work) == 0);
    tt_eta_step(&e, 6);
    CHECK(tt_eta_left(&e, &work) == 10);
    tt_eta_step(&e, 4); /* a clock that goes back */
    CHECK(tt_eta_left(&e, &work) >= 0);
}

/* ---- TensorBoard ---- */

static char folder[] = "/tmp/tt-test-progress-XXXXXX";

static char *only_file(const char *dir, size_t *size)
{
    char pattern[256], *data = NULL;
    glob_t found = {0};
    snprintf(pattern, sizeof pattern, "%s/events.out.tfevents.*", dir);
    CHECK(!glob(pattern, 0, NULL, &found) && found.gl_pathc == 1);
    if (found.gl_pathc == 1) CHECK_OK(tt_file_read(found.gl_pathv[0], 1 << 20, &data, size));
    globfree(&found);
    return data;
}

static uint32_t masked(const void *p, size_t n)
{
    uint32_t crc = tt_crc32c(p, n);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/* The data of record k; NULL when there is none. Checks the sums on the way. */
static const char *record(const char *data, size_t size, int k, size_t *length)
{
    for (size_t at = 0; at + 16 <= size;) {
        uint64_t n;
        uint32_t sum;
        memcpy(&n, data + at, 8);
        memcpy(&sum, data + at + 8, 4);
        CHECK(sum == masked(data + at, 8));
        if (n > size - at - 16) break;
        memcpy(&sum, data + at + 12 + n, 4);
        CHECK(sum == masked(data + at + 12, (size_t)n));
        *length = (size_t)n;
        if (!k--) return data + at + 12;
        at += 16 + (size_t)n;
    }
    return NULL;
}

static void checksums(void)
{
    CHECK(tt_crc32c("123456789", 9) == 0xe3069283);
    CHECK(tt_crc32c("", 0) == 0);
    char zeros[32] = {0};
    CHECK(tt_crc32c(zeros, 32) == 0x8a9136aa);
}

static void curves(void)
{
    struct tt_tensorboard *t;
    char dir[128];
    size_t size = 0, n = 0;
    snprintf(dir, sizeof dir, "%s/a/b", folder);
    CHECK_OK(tt_tensorboard_open(dir, 0, &t));
    tt_tensorboard_add(t, 300, (struct tt_scalar[]){{"loss/train", 2.5}, {"x", -1}}, 2);
    CHECK_OK(tt_tensorboard_close(t));
    char *data = only_file(dir, &size);
    const char *first = record(data, size, 0, &n);
    CHECK(first && n == 9 + 15 && first[0] == 0x09 && !memcmp(first + 9, "\x1a\x0d" "brain.Event:2", 15));
    const char *second = record(data, size, 1, &n);
    static const char wanted[] = "\x10\xac\x02"                                     /* step 300 */
                                 "\x2a\x1d"                                         /* summary */
                                 "\x0a\x11\x0a\x0aloss/train\x15\x00\x00\x20\x40"   /* 2.5 */
                                 "\x0a\x08\x0a\x01x\x15\x00\x00\x80\xbf";           /* -1 */
    CHECK(second && n == 9 + sizeof wanted - 1 && !memcmp(second + 9, wanted, sizeof wanted - 1));
    CHECK(!record(data, size, 2, &n));
    free(data);

    snprintf(dir, sizeof dir, "%s/resumed", folder);
    CHECK_OK(tt_tensorboard_open(dir, 99, &t));
    CHECK_OK(tt_tensorboard_close(t));
    data = only_file(dir, &size);
    second = record(data, size, 1, &n);
    CHECK(second && n == 9 + 6 && !memcmp(second + 9, "\x10\x64\x3a\x02\x08\x01", 6)); /* from step 100 on, START */
    free(data);
    CHECK_FAILS(tt_tensorboard_open("/dev/null/x", 0, &t), "in the way");
}

/* ---- colours ---- */

static void colours(void)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) || unlockpt(master)) {
        printf("no pseudo-terminal here\n");
        return;
    }
    FILE *terminal = fopen(ptsname(master), "w"), *file = tmpfile();
    CHECK(terminal && file);
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    CHECK(tt_is_terminal(terminal) && !tt_is_terminal(file));
    CHECK(tt_colour(terminal, TT_BAD)[0] == '\033' && !*tt_colour(file, TT_BAD));
    setenv("NO_COLOR", "1", 1);
    CHECK(!*tt_colour(terminal, TT_BAD) && tt_is_terminal(terminal));
    setenv("NO_COLOR", "", 1); /* empty counts as not set */
    CHECK(*tt_colour(terminal, TT_BAD));
    setenv("TERM", "dumb", 1);
    CHECK(!*tt_colour(terminal, TT_BAD) && !tt_is_terminal(terminal));
    fclose(terminal);
    fclose(file);
    close(master);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    TEST(time_left);
    TEST(times);
    TEST(checksums);
    TEST(curves);
    TEST(colours);
    tt_status_free(tt_remove_tree(folder));
    return test_end();
}
