/* What a run shows of its progress: the time left, and colours. */
#include <fcntl.h>
#include <unistd.h>

#include "core/base/rng.h"
#include "core/base/terminal.h"
#include "core/train/eta.h"
#include "core/train/live.h"
#include "core/train/usage.h"
#include "tests/test.h"

/* ---- the time left, with a simulated clock ---- */

struct simulated {
    int64_t steps, val_interval, save_interval;
    double (*step)(int64_t i); /* seconds of step i, from 1 */
    double validation, save;
};

enum { MOST_STEPS = 4000 };

/* The seconds from the end of each step i to the end of the run. */
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

/* The largest error of the estimate relative to the time left, while a tenth to nine tenths of the run is done. The
 * estimate is that of a log line: after the step, before a possible pause. */
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
        {300, 0, 0, recorded, 0, 0},       {300, 100, 0, recorded, 0.015, 0.004},
        {300, 0, 0, steady, 0, 0},         {1000, 100, 50, steady, 0.15, 3},
        {1000, 50, 0, noisy, 0.1, 0},      {1000, 0, 0, hiccups, 0, 0},
        {4000, 100, 1000, slower, 0.1, 0}, {40, 0, 0, steady, 0, 0},
        {1000, 90, 90, steady, 1, 1},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        double error = worst_error(&runs[i]);
        CHECK(error < 0.1, "run %zu: off by %.1f %%", i, 100 * error);
    }
    /* the test can fail: an unpredictable pause shows as an error */
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

/* ---- the progress line of a terminal ---- */

static void shown(const char *line, int width)
{
    struct tt_live l = {0};
    char text[200];
    tt_live_add(&l, 100, "step %d/%d", 5, 300);
    tt_live_add(&l, 50, "(overall 5.1)");
    tt_live_add(&l, 90, "%s", ""); /* an unknown value takes no room */
    tt_live_add(&l, 70, "gpu 98 %%");
    tt_live_add(&l, 85, "eta 7 s");
    tt_live_text(&l, width, text, sizeof text);
    CHECK(!strcmp(text, line), "in %d columns: \"%s\"", width, text);
}

static void line_fits(void)
{
    shown("step 5/300  (overall 5.1)  gpu 98 %  eta 7 s", 44);
    shown("step 5/300  gpu 98 %  eta 7 s", 43);
    shown("step 5/300  eta 7 s", 28);
    shown("step 5/300", 18);
    shown("", 3);
    shown("", -1);
}

static void rates(void)
{
    char recent[32], overall[32];
    tt_live_rates(5.6, 0.5, recent, overall);
    CHECK(!strcmp(recent, "5.60 steps/s") && !strcmp(overall, "(overall 0.50)"), "%s %s", recent, overall);
    tt_live_rates(0.5, 2, recent, overall); /* a slow step */
    CHECK(!strcmp(recent, "2.00 s/step") && !strcmp(overall, "(overall 0.50)"), "%s %s", recent, overall);
    tt_live_rates(812.3, 801, recent, overall);
    CHECK(!strcmp(recent, "812 steps/s") && !strcmp(overall, "(overall 801)"), "%s %s", recent, overall);
}

/* ---- how busy the device is ---- */

static struct {
    int asked;
    double busy, total;
    bool fails;
} device;

static tt_status device_usage(void *self, struct tt_usage *out)
{
    (void)self;
    device.asked++;
    if (device.fails) return tt_fail(TT_UNSUPPORTED, "nobody knows");
    *out = (struct tt_usage){.busy = device.busy, .memory_used = device.total / 2, .memory_total = device.total};
    return TT_OK;
}

static void utilisation(void)
{
    static const struct tt_backend_ops ops = {.usage = device_usage}, none = {0};
    struct tt_backend b = {&ops, NULL}, silent = {&none, NULL};
    struct tt_usage_log u;
    char text[32], memory[48];
    device.total = 0x1p33;
    tt_usage_open(&u, &b, 100);
    CHECK(device.asked == 1 && !tt_usage_known(&u) && isnan(tt_usage_mean(&u)));
    tt_usage_text(&u, text);
    CHECK(!text[0], "%s", text);
    device.busy = 0.5;
    for (double now = 100; now < 103; now += 0.125) tt_usage_ask(&u, now);
    CHECK(device.asked == 3, "asked %d times in 3 seconds", device.asked);
    device.busy = 1;
    tt_usage_ask(&u, 106);
    tt_usage_end(&u, 106.5); /* the device is queried at most once a second */
    CHECK(device.asked == 4 && fabs(tt_usage_mean(&u) - (2 * 0.5 + 4 * 1) / 6) < 1e-9, "%g", tt_usage_mean(&u));
    tt_usage_text(&u, text);
    tt_usage_memory_text(&u, memory);
    CHECK(!strcmp(text, "gpu 100 %") && !strcmp(memory, "4.0 of 8.0 GiB"), "%s %s", text, memory);
    device.fails = true;
    tt_usage_ask(&u, 108);
    tt_usage_ask(&u, 110); /* after a failure the device is not queried again */
    CHECK(device.asked == 5 && !tt_usage_known(&u) && tt_usage_mean(&u) > 0.8);
    device.fails = false, device.total = 0, device.busy = 0.25;
    tt_usage_open(&u, &b, 200);
    tt_usage_end(&u, 200.5); /* a run of half a second */
    tt_usage_text(&u, text);
    tt_usage_memory_text(&u, memory);
    CHECK(tt_usage_mean(&u) == 0.25 && !strcmp(text, "threads 25 %") && !memory[0], "%s", text);
    tt_usage_open(&u, &silent, 0);
    tt_usage_ask(&u, 5);
    tt_usage_end(&u, 6);
    CHECK(isnan(tt_usage_mean(&u)));
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
    setenv("NO_COLOR", "", 1); /* empty counts as unset */
    CHECK(*tt_colour(terminal, TT_BAD));
    setenv("TERM", "dumb", 1);
    CHECK(!*tt_colour(terminal, TT_BAD) && !tt_is_terminal(terminal));
    fclose(terminal);
    fclose(file);
    close(master);
}

int main(void)
{
    TEST(time_left);
    TEST(times);
    TEST(line_fits);
    TEST(rates);
    TEST(utilisation);
    TEST(colours);
    return test_end();
}
