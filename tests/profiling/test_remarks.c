/* What a page says about its figures: time outside the kernels, doubtful roofs, disturbed steps. */
#include "profiling/bound.h"
#include "profiling/profile_write.h"
#include "profiling/report/advice.h"
#include "profiling/report/html.h"
#include "profiling/report/html_sections.h"
#include "tests/profiling/by_hand.h"

/* Figures of small models on a GPU: the graph of fused at 8 x 128 and 16 x 256, and steps that evaluate. */
static void names_what_is_beyond_the_kernels(void)
{
    struct tt_profile p = by_hand(1);
    struct tt_advice advice[TT_ADVICE_LIMIT];
    char words[400], gaps[TT_RECORDING_WORDS];
    p.run.graph = true;
    p.step.seconds = 6.428e-3, p.step.launched_seconds = 7.940e-3, p.step.kernel_seconds = 8.049e-3;
    p.step.gap_seconds = -1.621e-3, p.step.gap_fraction = -0.252;
    tt_gap_remark(&p, words);
    CHECK(strstr(words, "runs some of them at the same time") && !strstr(words, "slower"), "%s", words);
    CHECK(!strstr(tt_gap_words(&p, gaps), "noise") && strstr(gaps, "25.2 % more time than the graph"), "%s", gaps);
    p.step.seconds = 24.439e-3, p.step.launched_seconds = 22.341e-3, p.step.kernel_seconds = 22.427e-3;
    p.step.gap_seconds = 2.012e-3, p.step.gap_fraction = 0.082;
    tt_gap_remark(&p, words);
    CHECK(strstr(words, "launched one by one the step takes 2.10 ms less"), "%s", words);
    int n = tt_advise(&p, advice), found = 0;
    for (int i = 0; i < n; i++) found += strstr(advice[i].what, "no-overlap") && fabs(advice[i].gain - 1.094) < 1e-3;
    CHECK(found == 1, "%d of %d", found, n);
    p.step.seconds = 4.916e-3, p.step.launched_seconds = 5.473e-3, p.step.kernel_seconds = 2.280e-3;
    p.step.gap_seconds = 2.636e-3, p.step.gap_fraction = 0.536;
    p.launch.recorded_overhead = -0.544, p.launch.event_seconds = 1.5e-6;
    strcpy(p.phases[0].name, "other"), p.phases[0].wall = 3.264e-3, p.phases_count = 1;
    tt_gap_remark(&p, words);
    CHECK(strstr(words, "host's work between steps") && strstr(words, "3.26 ms"), "%s", words);
    CHECK(!strcmp(tt_recording_words(&p, gaps), "54.4 % less: the host's work between steps is not in it"), "%s", gaps);
    n = tt_advise(&p, advice), found = 0;
    for (int i = 0; i < n; i++) found += strstr(advice[i].reason, "between steps") != NULL;
    CHECK(found == 1, "%d", n);
    p.run.graph = false, strcpy(p.run.backend, "cpu"), p.phases_count = 0;
    p.step.seconds = p.step.launched_seconds = 100e-3, p.step.kernel_seconds = 88e-3, p.step.gap_seconds = 2e-3;
    tt_gap_remark(&p, words);
    CHECK(strstr(words, "10.0 ms longer than the recorded ones") && strstr(words, "noise of this machine"), "%s",
          words);
    tt_profile_free(&p);
}

static void says_what_the_figures_hide(void)
{
    struct tt_profile p = by_hand(1);
    struct tt_advice advice[TT_ADVICE_LIMIT];
    char words[400];
    tt_gap_remark(&p, words);
    CHECK(!words[0], "%s", words);
    p.step.gap_seconds = -2e-3;
    p.step.gap_fraction = -0.2;
    char gaps[TT_RECORDING_WORDS];
    CHECK(!strcmp(tt_gap_words(&p, gaps), "none visible: the recorded kernels take 20.0 % more time than the step"),
          "%s", gaps);
    p.step.launched_seconds = 10e-3, p.step.kernels = 100;
    p.launch.event_seconds = 2e-6, p.launch.recorded_overhead = 0.02;
    CHECK(!strcmp(tt_recording_words(&p, gaps), "2.0 % more"), "%s", gaps);
    p.launch.recorded_overhead = -0.228;
    CHECK(!strcmp(tt_recording_words(&p, gaps), "22.8 % less: its kernels do not wait for their launches"), "%s", gaps);
    strcpy(p.run.backend, "cpu");
    tt_gap_remark(&p, words);
    CHECK(strstr(words, "2.00 ms (20.0 %) more") && strstr(words, "shares are relative to the recorded sum"), "%s",
          words);
    for (int i = 0; i < p.groups_count; i++) p.groups[i].flops_per_second = 1e12;
    p.efficiency.flops_per_second = 1.5e12;
    tt_roof_remark(&p, words);
    CHECK(!words[0], "an older profile does not tell: %s", words);
    p.efficiency.roofs_kept = true;
    strcpy(p.efficiency.roofs_measured, "2025-01-31T12:00:00Z");
    tt_roof_remark(&p, words);
    CHECK(strstr(words, "at 2025-01-31T12:00:00Z and kept; --remeasure") && !strstr(words, "busy"), "%s", words);
    strcpy(p.run.created, "2025-03-01T00:10:00Z");
    p.efficiency.roofs_load = 0.3;
    tt_roof_remark(&p, words);
    CHECK(strstr(words, "at 2025-01-31T12:00:00Z, 29 days before this run, and kept;") &&
          strstr(words, "The load was 0.3 per processor then."), "%s", words);
    strcpy(p.run.created, "2025-02-01T00:10:00Z");
    tt_roof_remark(&p, words);
    CHECK(!strstr(words, "days"), "a day is nothing: %s", words);
    p.efficiency.roofs_kept = false;
    tt_roof_remark(&p, words);
    CHECK(strstr(words, "by this run. The load"), "nothing was kept: %s", words);
    p.efficiency.roofs_earlier = true;
    tt_roof_remark(&p, words);
    CHECK(strstr(words, "by this run; another measurement gave a higher rate"), "%s", words);
    struct tt_profile_row product = p.operators[0];
    strcpy(p.operators[0].name, "gemm");
    p.operators[0].median = 1e-3;
    p.operators[0].flops_per_second = 1.04 * p.efficiency.gemm_flops_per_second;
    tt_roof_remark(&p, words);
    CHECK(!strstr(words, "too low"), "as near as two measurements: %s", words);
    p.operators[0].flops_per_second = 1.06 * p.efficiency.gemm_flops_per_second;
    tt_roof_remark(&p, words);
    CHECK(strstr(words, "the roof is too low"), "a product beats the roof: %s", words);
    p.operators[0].median = 1e-5;
    tt_roof_remark(&p, words);
    CHECK(!strstr(words, "too low"), "too short to tell: %s", words);
    p.operators[0] = product;
    p.groups[0].flops_per_second = 6e12;
    tt_roof_remark(&p, words);
    CHECK(strstr(words, "busy"), "a group beats the roof: %s", words);
    strcpy(p.efficiency.bound, "compute");
    tt_bound_remark(&p, words);
    CHECK(strstr(words, "under the compute roof. The class"), "%s", words);
    p.efficiency.bound[0] = 0;
    tt_bound_remark(&p, words);
    CHECK(!words[0], "%s", words);
    p.run.version[0] = 0; /* a profile of another program */
    int n = tt_advise(&p, advice);
    for (int i = 0; i < n; i++)
        CHECK(!strstr(advice[i].what, "--version") && !strstr(advice[i].what, "--graph"), "%s", advice[i].what);
    CHECK(n > 0);
    tt_profile_free(&p);
}

/* A busy machine once measured a memory roof of 8.4 GB/s instead of 57.8; work at 3.7 % of it was called "compute". */
static void bounds_are_borne_out(void)
{
    struct tt_roofs roofs = {.flops = 22e9, .bandwidth = 57.8e9};
    CHECK(!strcmp(tt_bound_by(&roofs, 0.67e9, 1e9, 0.67e9 / (0.037 * 22e9)), "latency"));
    CHECK(!strcmp(tt_bound_by(&roofs, 1e6, 57.8e9, 2), "memory"));
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 1e6, 2), "compute"));
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 50e9, 1.1), "compute"));
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 1e6, 6), "latency"));
    CHECK(!strcmp(tt_bound_by(&roofs, 0, 0, 1), ""));
    roofs.doubtful = true;
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 50e9, 1.1), "uncertain"));
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 1e9, 1.1), "compute"));
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 1e6, 6), "latency"));
    roofs.waited = 0.5, roofs.slowed = 4; /* this explains why little is reached, not why much is */
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 1e6, 6), "compute"), "a third of the time that it had");
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 50e9, 6), "uncertain"), "of the two roofs");
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 1e6, 12), "uncertain"), "a sixth, and others share caches too");
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 1e6, 21), "latency"), "they do not explain that");
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 1e9, 1.1), "compute"));
    CHECK(!strcmp(tt_bound_by(&roofs, 22e7, 1e4, 0.049), "compute"), "10 of 49 ms");
    CHECK(!strcmp(tt_bound_by(&roofs, 132e6, 1e4, 0.045), "uncertain"), "6 of 45 ms, which may not have waited");
    CHECK(!strcmp(tt_bound_by(&roofs, 264e6, 1e4, 0.09), "compute"), "12 of 90 ms, of which others had half");
    CHECK(!strcmp(tt_bound_by(&roofs, 22e6, 1e4, 0.02), "uncertain"), "1 of 20 ms, of which 4 may be a turn of others");
    roofs.waited = 0, roofs.slowed = 1.5; /* slowed down by something else */
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 1e6, 4), "compute"));
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 1e6, 6), "uncertain"));
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 1e6, 8), "latency"));
}

static bool doubtful(double load, double waited, double flops_spread, double bytes_spread)
{
    return tt_roofs_doubtful(&(struct tt_roofs_measured){load, waited, flops_spread, bytes_spread});
}

/* A roof of 0.0448 TFLOP/s instead of 0.362: its samples agreed, because all of them waited. */
static void roofs_of_threads_that_waited_are_doubtful(void)
{
    struct tt_profile p = by_hand(1);
    struct tt_profile_efficiency *e = &p.efficiency;
    char words[400];
    CHECK(doubtful(9, NAN, 0.01, 0.01) && doubtful(0.5, NAN, 0.01, 0.6) && doubtful(NAN, NAN, 0.6, NAN));
    CHECK(!doubtful(0.5, NAN, 0.1, 0.1) && !doubtful(NAN, NAN, NAN, NAN) && !doubtful(0.5, 0.01, 0.1, 0.1));
    CHECK(doubtful(0.69, 0.5, 0.0006, 0.0001));
    strcpy(p.run.backend, "cpu");
    p.run.load = e->roofs_load = 0.69, e->gemm_spread = 0.0006, e->copy_spread = 0.0001, e->roofs_waited = 0.5;
    strcpy(e->roofs_measured, "2025-01-31T12:00:00Z");
    tt_roof_remark(&p, words);
    CHECK(tt_profile_roofs_doubtful(&p) && strstr(words, "They may be far too low, even if their samples agree: "
          "threads waited 50 % of their time for a processor during that measurement"), "%s", words);
    e->roofs_waited = NAN; /* an old profile: the waiting of its own run, if that measured them */
    CHECK(!tt_profile_roofs_doubtful(&p));
    p.run.waited = 0.5;
    CHECK(tt_profile_roofs_doubtful(&p));
    e->roofs_kept = true;
    CHECK(!tt_profile_roofs_doubtful(&p));
    e->roofs_kept = false, strcpy(p.run.backend, "cuda");
    CHECK(!tt_profile_roofs_doubtful(&p), "a device waits for no processor");
    tt_profile_free(&p);
}

/* The note stands beside every table and chart of groups, operators and components. */
static void pages_say_what_is_disturbed(void)
{
    struct tt_profile p = by_hand(1);
    for (int disturbed = 0; disturbed < 2; disturbed++) {
        char *page, *summary;
        size_t size;
        p.step.launched_seconds = p.step.seconds, p.launch.recorded_overhead = disturbed ? 0.544 : 0;
        CHECK_OK(tt_profile_write_html(&p, NULL, in("disturbed.html")));
        CHECK_OK(tt_profile_write_summary(&p, in("disturbed.md")));
        CHECK_OK(tt_file_read(in("disturbed.html"), 1 << 24, &page, &size));
        CHECK_OK(tt_file_read(in("disturbed.md"), 1 << 20, &summary, &size));
        int said = 0;
        for (const char *at = page; (at = strstr(at, "These come from disturbed steps: ")); at++) said++;
        CHECK(said == (disturbed ? 3 : 0), "groups, operators, roofline: %d", said);
        const char *groups =
            strstr(summary, "## Groups\n\nThese come from disturbed steps: the recorded steps took 54 %");
        CHECK((groups != NULL) == disturbed, "%s", summary);
        CHECK((strstr(summary, "and MFU come from other steps") != NULL) == disturbed, "%s", summary);
        free(page);
        free(summary);
    }
    tt_profile_free(&p);
}

/* More than the memory's rate first of all means a cache. */
static void caches_are_told_from_low_roofs(void)
{
    struct tt_profile p = by_hand(1);
    char words[400];
    tt_roof_remark(&p, words);
    CHECK(!words[0], "%s", words);
    p.groups[1].roof_percent = 103.2, p.groups[1].share = 0.0023;
    tt_roof_remark(&p, words);
    CHECK(!strcmp(words, "attention_scores, 0.23 % of the step, reaches 103 % of the memory roof: its bytes came "
                         "from a cache, or that roof is too low."), "%s", words);
    p.groups[1].flops_per_second = 6e12;
    tt_roof_remark(&p, words);
    CHECK(!strstr(words, "so the roof is too low"), "too small to tell of a roof: %s", words);
    p.groups[1].share = 0.3;
    tt_roof_remark(&p, words);
    CHECK(strstr(words, "so the roof is too low") && !strstr(words, "cache"), "%s", words);
    p.groups[1].flops_per_second = 1e12;
    p.efficiency.roofs_kept = true;
    strcpy(p.efficiency.roofs_measured, "2025-01-31T12:00:00Z");
    p.efficiency.roofs_load = 9, p.efficiency.gemm_spread = 0.1, p.efficiency.copy_spread = 0.75;
    tt_roof_remark(&p, words);
    CHECK(strstr(words, "75 % (copies) or more. attention_scores, 30 % of the step, reaches 103 % of the memory "
                        "roof: its bytes came from a cache, or that roof is too low."), "%s", words);
    strcpy(p.groups[1].bound, "compute");
    tt_roof_remark(&p, words);
    CHECK(!strstr(words, "cache"), "%s", words);
    tt_profile_free(&p);
}

static void busy_machines_are_told(void)
{
    struct tt_profile p = by_hand(1);
    char words[400];
    p.run.load = 1;
    tt_busy_remark(&p, words);
    CHECK(!words[0], "%s", words);
    p.run.load = NAN;
    tt_busy_remark(&p, words);
    CHECK(!words[0], "%s", words);
    p.run.load = 3.2;
    tt_busy_remark(&p, words);
    CHECK(strstr(words, "the machine was busy: a load of 3.2 per processor"), "%s", words);
    p.run.load = 0.4; /* the load was low and rose with the run */
    p.run.waited = 0.002;
    tt_busy_remark(&p, words);
    CHECK(!words[0], "%s", words);
    p.run.waited = 0.41;
    tt_busy_remark(&p, words);
    CHECK(strstr(words, "the machine was busy: threads waited 41 % of their time for a processor"), "%s", words);
    p.run.waited = NAN;
    tt_busy_remark(&p, words);
    CHECK(!words[0], "%s", words);
    p.run.load = 3.2;
    p.efficiency.roofs_kept = true;
    strcpy(p.efficiency.roofs_measured, "2025-01-31T12:00:00Z");
    p.efficiency.roofs_load = 9;
    p.efficiency.gemm_spread = 0.1;
    p.efficiency.copy_spread = 0.75;
    tt_roof_remark(&p, words);
    CHECK(strstr(words, "too low: the load was 9.0 per processor") && strstr(words, "75 % (copies)"), "%s", words);
    strcpy(p.efficiency.bound, "latency");
    tt_bound_remark(&p, words);
    CHECK(strstr(words, "less than a fifth") && !strstr(words, "lies under"), "%s", words);
    strcpy(p.efficiency.bound, "uncertain");
    tt_bound_remark(&p, words);
    CHECK(strstr(words, "is uncertain"), "%s", words);
    tt_profile_free(&p);
}

/* On a device that shares the host, host time is no overhead. Kernels of one pass may take longer than their phase in
 * another. */
static void phases_of_two_passes(void)
{
    struct tt_profile p = by_hand(1);
    char words[400];
    struct tt_text chart = {0};
    strcpy(p.phases[0].name, "backward_pass");
    p.phases_count = 1;
    const struct {
        const char *backend;
        double device, waited;
        const char *words;
    } cases[] = {{"cpu", 0.391, 0, "the host runs the kernels: its time is not spent launching them."},
                 {"cpu", 0.487, 0, "them. Wall and device times come from different steps, so the kernels of backward"},
                 {"cpu", 0.487, 0.5, "on a busy machine, so the kernels"}, {"cuda", 0.487, 0.5, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        strcpy(p.run.backend, cases[i].backend);
        p.phases[0].wall = 0.390, p.phases[0].device = cases[i].device, p.run.waited = cases[i].waited;
        tt_phase_remark(&p, words);
        CHECK(cases[i].words[0] ? strstr(words, cases[i].words) != NULL : !words[0], "case %zu: %s", i, words);
        html_phase_chart(&chart, &p);
        CHECK((strstr(chart.s, "host computes") != NULL) == !strcmp(cases[i].backend, "cpu") &&
              (strstr(chart.s, "host enqueues") != NULL) == !strcmp(cases[i].backend, "cuda"), "case %zu", i);
        tt_text_free(&chart);
    }
    tt_profile_free(&p);
}

/* On a busy CPU other programs are the explanation, not the step itself. */
static void busy_machines_explain_themselves(void)
{
    struct tt_profile p = by_hand(1);
    struct tt_advice advice[TT_ADVICE_LIMIT];
    char quiet[400], busy[400], recording[2][TT_RECORDING_WORDS];
    strcpy(p.run.backend, "cpu");
    strcpy(p.efficiency.bound, "latency");
    p.launch.recorded_overhead = -0.058;
    p.step.launched_seconds = p.step.seconds;
    for (int i = 0; i < p.operators_count; i++) p.operators[i].roof_percent = 0.8; /* little even if slowed 72 times */
    int few = 0, more = 0;
    for (int i = 0; i < 2; i++) {
        p.run.load = i ? 5 : 0.2;
        tt_bound_remark(&p, i ? busy : quiet);
        tt_recording_words(&p, recording[i]);
        *(i ? &more : &few) = tt_advise(&p, advice);
    }
    CHECK(!strstr(quiet, "other programs") && strstr(busy, "latency or overhead does."), "%s", busy);
    CHECK(strstr(quiet, "says that for each group.") && strstr(busy, "group. Where it is uncertain"), "%s", busy);
    strcpy(p.efficiency.bound, "uncertain");
    tt_bound_remark(&p, busy);
    CHECK(strstr(busy, "Which roof the step lies under is uncertain: the roofs may be too low."), "%s", busy);
    p.efficiency.intensity = 16.6, p.efficiency.ridge = 1.38; /* a factor of 12 decides, whatever the load */
    p.efficiency.roofs_load = 9;
    tt_bound_remark(&p, busy);
    CHECK(strstr(busy, "lies under the compute roof. It reaches less than a fifth of it; whether latency or other "
                       "programs are the reason is uncertain. The class") && busy[strlen(busy) - 1] == '.', "%s", busy);
    p.efficiency.ridge = 6;
    tt_bound_remark(&p, busy);
    CHECK(strstr(busy, "is uncertain: the roofs may be too low."), "%s", busy);
    p.efficiency.roofs_load = 0;
    CHECK(strstr(recording[1], "so this is noise") && !strstr(recording[0], "busy"), "%s", recording[1]);
    CHECK(more == few + 1 && strstr(advice[0].what, "when the machine is quiet") &&
          strstr(advice[0].reason, "a load of 5.0"), "%d, %d: %s", few, more, advice[0].what);
    for (int i = 1; i < more; i++)
        CHECK(isnan(advice[i].gain) == !strstr(advice[i].reason, "(busy machine)"), "%s", advice[i].reason);
    p.gradients[1].zeros = p.gradients[1].count;
    CHECK(tt_advise(&p, advice) == more + 1 && strstr(advice[0].what, "gradients") &&
          strstr(advice[1].what, "when the machine is quiet"), "%s", advice[1].what);
    p.gradients[1].zeros = 0;
    strcpy(p.phases[0].name, "other"), p.phases[0].wall = 0.5 * p.step.seconds, p.phases_count = 1;
    p.step.gap_seconds = 0.1 * p.step.seconds;
    p.run.load = 5;
    tt_gap_remark(&p, busy);
    p.run.load = 0.2;
    tt_gap_remark(&p, quiet);
    CHECK(strstr(busy, "or time that other programs took") && !strstr(quiet, "other programs"), "%s | %s", busy, quiet);
    tt_profile_free(&p);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    TEST(names_what_is_beyond_the_kernels);
    TEST(says_what_the_figures_hide);
    TEST(bounds_are_borne_out);
    TEST(roofs_of_threads_that_waited_are_doubtful);
    TEST(pages_say_what_is_disturbed);
    TEST(caches_are_told_from_low_roofs);
    TEST(busy_machines_are_told);
    TEST(phases_of_two_passes);
    TEST(busy_machines_explain_themselves);
    CHECK_OK(tt_remove_tree(folder));
    return test_end();
}
