/* Charts, report.html and advice, from profiles made by hand. */
#include "profiling/report/svg_parts.h"
#include "profiling/bound.h"
#include "profiling/profile_write.h"
#include "profiling/report/advice.h"
#include "profiling/report/html.h"
#include "profiling/report/html_sections.h"
#include "profiling/report/svg.h"
#include "tests/profiling/by_hand.h"

/* ---- charts ---- */

static void escapes_what_markup_would_take(void)
{
    struct tt_text t = {0};
    tt_escape(&t, "a<b> & \"c\" \x01 \xff ü");
    CHECK(strcmp(t.s, "a&lt;b&gt; &amp; &quot;c&quot; \xef\xbf\xbd \xef\xbf\xbd ü") == 0, "%s", t.s);
    tt_text_free(&t);
}

static void says_numbers(void)
{
    char s[32];
    CHECK(strcmp(tt_si(0, s), "0") == 0 && strcmp(tt_si(1234, s), "1.23 k") == 0 &&
              strcmp(tt_si(999.6, s), "1.00 k") == 0,
          "%s", s);
    CHECK(strcmp(tt_si(-45.6e12, s), "-45.6 T") == 0, "%s", s);
    CHECK(strcmp(tt_si(NAN, s), "n/a") == 0 && strcmp(tt_si(INFINITY, s), "n/a") == 0);
    CHECK(strcmp(tt_si_time(0.0123, s), "12.3 ms") == 0, "%s", s);
    CHECK(strcmp(tt_si_time(4.5e-6, s), "4.50 µs") == 0, "%s", s);
    CHECK(strcmp(tt_si_bytes(1.5 * 1024 * 1024, s), "1.50 MiB") == 0, "%s", s);
}

/* Nothing, NaN, infinity, one point, huge spans: a chart all the same, and every number in it is a number. */
static void draws_odd_values(void)
{
    const double odd[] = {NAN, INFINITY, -INFINITY, 0, -1, 1e300, 1e-300, 5};
    const char *names[] = {"a", "b<", "", "d", "e", "f", "g", "h"};
    for (int n = 0; n <= 8; n++) {
        struct tt_text t = {0};
        struct tt_bar bars[8];
        struct tt_roof_point points[8];
        struct tt_span spans[8];
        for (int i = 0; i < n; i++) {
            bars[i] = (struct tt_bar){.label = names[i], .value = odd[i], .color = i + 9, .noise = odd[7 - i]};
            points[i] = (struct tt_roof_point){names[i], odd[i], odd[7 - i], odd[i], i};
            spans[i] = (struct tt_span){names[i], odd[i], odd[7 - i], i % 3, i};
        }
        struct tt_line line = {"l", odd, odd, n, true};
        tt_svg_bars(&t, "bars", bars, n);
        tt_svg_stacked(&t, &(struct tt_stack){"stacked", TT_IN_SECONDS, names, names, n, 1, odd, 0});
        tt_svg_grouped(&t, &(struct tt_stack){"grouped", TT_IN_BYTES, names, names, n, 1, odd, 0});
        for (int log = 0; log < 2; log++)
            tt_svg_lines(&t, &(struct tt_lines){"lines", "x", "y", &line, 1, log, log, !log});
        tt_svg_roofline(&t, &(struct tt_roof){"roof", n ? 1e12 : NAN, 1e11, NAN, NAN, points, n});
        tt_svg_timeline(&t, &(struct tt_timeline){"timeline", names, 3, spans, n});
        well_formed(t.s, "odd values");
        CHECK(!strstr(t.s, "\"nan") && !strstr(t.s, "\"-nan") && !strstr(t.s, "\"inf") && !strstr(t.s, "\"-inf") &&
                  !strstr(t.s, ",nan") && !strstr(t.s, " nan") && !strstr(t.s, ",inf"),
              "%d values: a coordinate is no number", n);
        tt_text_free(&t);
    }
}

/* The height of the flat part of a roof: the last of its points. NAN: there is none. */
static double flat_of(const char *svg, const char *class)
{
    const char *line = strstr(svg, class), *end = line ? strstr(line, "\"/>") : NULL;
    while (end && end > line && *end != ',') end--;
    return end ? atof(end + 1) : NAN;
}

/* What names the measured roof stands above both roofs, so that no line runs through it. */
static void the_roof_has_its_name_above_it(void)
{
    struct tt_roof_point point = {"gemm", 600, 7e14, 0.5, 1};
    static const double datasheets[] = {9.89e14, 7e14, NAN};
    for (int i = 0; i < 3; i++) {
        struct tt_text t = {0};
        tt_svg_roofline(&t, &(struct tt_roof){"roof", 7.5e14, 4.13e12, datasheets[i], i < 2 ? 4.8e12 : NAN, &point, 1});
        const char *name = strstr(t.s, "FLOP/s measured");
        while (name && name > t.s && *name != '<') name--;
        double y = name ? atof(strstr(name, "y=\"") + 3) : NAN;
        CHECK(y < flat_of(t.s, "class=\"roof\"") && (i == 2 || y < flat_of(t.s, "class=\"sheet\"")), "%d: at %g", i, y);
        CHECK(!strstr(t.s, "dashed: datasheet") == (i == 2));
        tt_text_free(&t);
    }
}

static void bars_are_as_long_as_their_values(void)
{
    struct tt_text t = {0};
    struct tt_bar bars[] = {{.label = "a", .value = 2}, {.label = "b", .value = 1}};
    double a, b;
    tt_svg_bars(&t, "bars", bars, 2);
    const char *first = strstr(t.s, "<rect"), *second = strstr(first + 1, "<rect");
    CHECK(sscanf(strstr(first, "width=\"") + 7, "%lf", &a) == 1 &&
          sscanf(strstr(second, "width=\"") + 7, "%lf", &b) == 1);
    CHECK(a > 100 && fabs(a - 2 * b) < 0.02, "%g %g", a, b);
    tt_text_free(&t);
}

/* As the tables beside them have them, and with names that are told apart by their end. */
static void grouped_bars_have_units_and_whole_names(void)
{
    struct tt_text t = {0};
    const char *rows[] = {"gemm 1024x256x1024 in swiglu_gate_up, backward_pass", "short"}, *series[] = {"a", "b"};
    const double seconds[] = {1.5, 0.25, 2, 3e-6}, bytes[] = {3 * 0x1p30, 0x1p20, 1, 0};
    tt_svg_grouped(&t, &(struct tt_stack){"times", TT_IN_SECONDS, rows, series, 2, 2, seconds, 0});
    for (const char *const *words = (const char *const[]){">gemm 1024x256x1024<", ">in swiglu_gate_up, backward_pass<",
                                                          ">short<", ">1.50 s<", ">250 ms<", ">3.00 µs<", ">500 ms<",
                                                          ">1 s<", NULL};
         *words; words++)
        CHECK(strstr(t.s, *words), "no %s", *words);
    tt_text_free(&t);
    tt_svg_grouped(&t, &(struct tt_stack){"memory", TT_IN_BYTES, rows, series, 2, 2, bytes, 0});
    CHECK(strstr(t.s, ">3.00 GiB<") && strstr(t.s, ">1.00 MiB<") && strstr(t.s, ">1 GiB<"), "%s", t.s);
    tt_text_free(&t);
}

static void the_checker_finds_faults(void)
{
    CHECK(markup_fault("<p>a</p>", NULL)[0] == 0 && markup_fault("<br><p a=\"<x>\">b</p>", NULL)[0] == 0);
    CHECK(markup_fault("<p>a", NULL)[0] && markup_fault("<p><b></p></b>", NULL)[0] && markup_fault("a & b", NULL)[0]);
    CHECK(markup_fault("1 < 2", NULL)[0] && markup_fault("<p a=\"b>", NULL)[0] && markup_fault("</p>", NULL)[0]);
}

/* ---- the report ---- */

static void writes_a_whole_page(void)
{
    struct tt_profile p = by_hand(1);
    char *page;
    size_t n;
    int marks;
    CHECK_OK(tt_profile_write_html(&p, NULL, in("report.html")));
    CHECK_OK(tt_file_read(in("report.html"), 1 << 24, &page, &n));
    const char *fault = markup_fault(page, &marks);
    CHECK(!fault[0], "%s", fault);
    CHECK(marks > 20, "%d marks", marks);
    static const char *const parts[] = {"id=\"time\"",
                                        "id=\"operators\"",
                                        "id=\"phases\"",
                                        "id=\"timeline\"",
                                        "id=\"roofline\"",
                                        "id=\"efficiency\"",
                                        "id=\"memory\"",
                                        "id=\"components\"",
                                        "id=\"training\"",
                                        "id=\"next\"",
                                        "prefers-color-scheme:dark",
                                        "@media print",
                                        "n/a",
                                        "&lt;GPU&gt; &amp; &quot;friends&quot;",
                                        "name=\"viewport\""};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) CHECK(strstr(page, parts[i]), "no %s", parts[i]);
    /* no network: nothing is fetched, and the only address is the name of SVG */
    CHECK(!strstr(page, "src=") && !strstr(page, "@import") && !strstr(page, "url("));
    for (const char *at = page; (at = strstr(at, "http")); at++)
        CHECK(strncmp(at, "http://www.w3.org/2000/svg", 26) == 0, "%.40s", at);
    CHECK(!strstr(page, "nan") && !strstr(page, ">inf"), "a figure that could not be had is not n/a");
    free(page);

    CHECK_OK(tt_profile_write_html(&p, &p, in("both.html")));
    CHECK_OK(tt_file_read(in("both.html"), 1 << 24, &page, &n));
    well_formed(page, "with an import");
    CHECK(strstr(page, "id=\"imported\""));
    free(page);
    tt_profile_free(&p);
}

static void an_empty_profile_is_a_page_too(void)
{
    struct tt_profile p = {0};
    char *page;
    size_t n;
    CHECK_OK(tt_profile_write_html(&p, NULL, in("empty.html")));
    CHECK_OK(tt_file_read(in("empty.html"), 1 << 24, &page, &n));
    well_formed(page, "empty");
    free(page);
}

static void advises_by_what_was_measured(void)
{
    struct tt_profile p = by_hand(1);
    struct tt_advice a[TT_ADVICE_LIMIT];
    char line[400];
    int n = tt_advise(&p, a), flash = -1, gaps = -1;
    for (int i = 0; i < n; i++) {
        if (strstr(a[i].what, "--version flash")) flash = i;
        if (strstr(a[i].reason, "device waits 10 %")) gaps = i;
        if (i) CHECK(isnan(a[i].gain) || a[i].gain <= a[i - 1].gain, "the most promising first");
    }
    CHECK(flash >= 0 && gaps > flash, "%d %d", flash, gaps);
    CHECK(fabs(a[flash].gain - 2) < 1e-9, "half of the step: at most twice as fast, not %g", a[flash].gain);
    CHECK(strstr(a[flash].reason, "50 %") && strstr(a[flash].reason, "60 %"), "%s", a[flash].reason);
    tt_headline(&p, line);
    CHECK(strstr(line, "10.0 ms: 50 % of it in attention") && strstr(line, "device waits 10 %"), "%s", line);

    strcpy(p.run.version, "flash");
    p.groups[2].share = p.groups[2].seconds = 0;
    n = tt_advise(&p, a);
    for (int i = 0; i < n; i++) CHECK(!strstr(a[i].what, "--version flash"), "%s", a[i].what);
    p.gradients[1].zeros = p.gradients[1].count;
    n = tt_advise(&p, a);
    CHECK(n && strstr(a[0].what, "gradients"), "%s", a[0].what);
    for (int i = 0; i < n; i++) CHECK(!strstr(a[i].reason, "other ranks"), "%s", a[i].reason);
    p.gradients[1].zeros = 0;
    strcpy(p.groups[0].name, "communication");
    p.groups[0].share = 0.75;
    p.job = (struct tt_profile_job){.ranks = 2, .communication = 4, .hidden = 1, .exposed = 3};
    n = tt_advise(&p, a);
    CHECK(n && strstr(a[0].what, "--grad-accum") && fabs(a[0].gain - 4) < 1e-9, "%s", a[0].what);
    CHECK(strstr(a[0].reason, "75 % of the step wait for other ranks; of the communication 25 % are"), "%s",
          a[0].reason);
    tt_profile_free(&p);
}

/* ---- what a page says of its figures ---- */

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
    CHECK(strstr(words, "runs some of them beside each other") && !strstr(words, "slower"), "%s", words);
    CHECK(!strstr(tt_gap_words(&p, gaps), "noise") && strstr(gaps, "25.2 % more than the graph"), "%s", gaps);
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
    CHECK(!strcmp(tt_gap_words(&p, gaps), "none to be seen: recorded, the kernels take 20.0 % more than the step"),
          "%s", gaps);
    p.step.launched_seconds = 10e-3, p.step.kernels = 100;
    p.launch.event_seconds = 2e-6, p.launch.recorded_overhead = 0.02;
    CHECK(!strcmp(tt_recording_words(&p, gaps), "2.0 % more"), "%s", gaps);
    p.launch.recorded_overhead = -0.228;
    CHECK(!strcmp(tt_recording_words(&p, gaps), "22.8 % less: in it no kernel waits for its launch"), "%s", gaps);
    strcpy(p.run.backend, "cpu");
    tt_gap_remark(&p, words);
    CHECK(strstr(words, "2.00 ms (20.0 %) more") && strstr(words, "shares are of the recorded sum"), "%s", words);
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
    CHECK(strstr(words, "by this run; one was higher in an earlier measurement"), "%s", words);
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
    CHECK(strstr(words, "under the roof of compute. The class"), "%s", words);
    p.efficiency.bound[0] = 0;
    tt_bound_remark(&p, words);
    CHECK(!words[0], "%s", words);
    p.run.version[0] = 0; /* another program */
    int n = tt_advise(&p, advice);
    for (int i = 0; i < n; i++)
        CHECK(!strstr(advice[i].what, "--version") && !strstr(advice[i].what, "--graph"), "%s", advice[i].what);
    CHECK(n > 0);
    tt_profile_free(&p);
}

/* Where a loaded machine had shown a memory roof of 8.4 GB/s for 57.8, work at 3.7 % of it was "compute". */
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
    roofs.waited = 0.5, roofs.slowed = 4; /* which explain that little is reached, not that much is */
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 1e6, 6), "compute"), "a third of the time that it had");
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 50e9, 6), "uncertain"), "of the two roofs");
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 1e6, 12), "uncertain"), "a sixth, and others share caches too");
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 1e6, 21), "latency"), "they do not explain that");
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 1e9, 1.1), "compute"));
    CHECK(!strcmp(tt_bound_by(&roofs, 22e7, 1e4, 0.049), "compute"), "10 of 49 ms");
    CHECK(!strcmp(tt_bound_by(&roofs, 132e6, 1e4, 0.045), "uncertain"), "6 of 45 ms, which may not have waited");
    CHECK(!strcmp(tt_bound_by(&roofs, 264e6, 1e4, 0.09), "compute"), "12 of 90 ms, of which others had half");
    CHECK(!strcmp(tt_bound_by(&roofs, 22e6, 1e4, 0.02), "uncertain"), "1 of 20 ms, of which 4 may be a turn of others");
    roofs.waited = 0, roofs.slowed = 1.5; /* slowed by something else */
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 1e6, 4), "compute"));
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 1e6, 6), "uncertain"));
    CHECK(!strcmp(tt_bound_by(&roofs, 22e9, 1e6, 8), "latency"));
    CHECK(tt_roofs_doubtful(9, 0.01, 0.01) && tt_roofs_doubtful(0.5, 0.01, 0.6) && tt_roofs_doubtful(NAN, 0.6, NAN));
    CHECK(!tt_roofs_doubtful(0.5, 0.1, 0.1) && !tt_roofs_doubtful(NAN, NAN, NAN));
}

/* Beside every table and chart of groups, operators and components. */
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
        for (const char *at = page; (at = strstr(at, "These are of disturbed steps: ")); at++) said++;
        CHECK(said == (disturbed ? 3 : 0), "groups, operators, roofline: %d", said);
        const char *groups = strstr(summary, "## Groups\n\nThese are of disturbed steps: the recorded steps took 54 %");
        CHECK((groups != NULL) == disturbed, "%s", summary);
        CHECK((strstr(summary, "and MFU are of other steps") != NULL) == disturbed, "%s", summary);
        free(page);
        free(summary);
    }
    tt_profile_free(&p);
}

/* More than memory allows is first of all a cache. */
static void caches_are_told_from_low_roofs(void)
{
    struct tt_profile p = by_hand(1);
    char words[400];
    tt_roof_remark(&p, words);
    CHECK(!words[0], "%s", words);
    p.groups[1].roof_percent = 103.2, p.groups[1].share = 0.0023;
    tt_roof_remark(&p, words);
    CHECK(!strcmp(words, "attention_scores, 0.23 % of the step, reaches 103 % of the roof of memory: its bytes came "
                         "from a cache."), "%s", words);
    p.groups[1].flops_per_second = 6e12;
    tt_roof_remark(&p, words);
    CHECK(!strstr(words, "too low"), "too small to tell of a roof: %s", words);
    p.groups[1].share = 0.3;
    tt_roof_remark(&p, words);
    CHECK(strstr(words, "so the roof is too low") && !strstr(words, "cache"), "%s", words);
    p.groups[1].flops_per_second = 1e12;
    p.efficiency.roofs_kept = true;
    strcpy(p.efficiency.roofs_measured, "2025-01-31T12:00:00Z");
    p.efficiency.roofs_load = 9, p.efficiency.gemm_spread = 0.1, p.efficiency.copy_spread = 0.75;
    tt_roof_remark(&p, words);
    CHECK(strstr(words, "75 % (copies) or more. attention_scores, 30 % of the step, reaches 103 % of the roof of "
                        "memory: its bytes came from a cache, or that roof is too low."), "%s", words);
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
    p.run.load = 0.4; /* the load was low, and rose with the run */
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
    CHECK(strstr(words, "less than a fifth") && !strstr(words, "under the roof"), "%s", words);
    strcpy(p.efficiency.bound, "uncertain");
    tt_bound_remark(&p, words);
    CHECK(strstr(words, "is uncertain"), "%s", words);
    tt_profile_free(&p);
}

/* Where the host computes, its time is no overhead; kernels of one pass may take longer than their phase did in
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
                 {"cpu", 0.487, 0, "them. Wall and device are of different steps, so the kernels of backward"},
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

/* On a busy CPU other programs explain what else would be explained by the step itself. */
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
    CHECK(strstr(quiet, "says it of each group.") && strstr(busy, "of what is uncertain there"), "%s", busy);
    strcpy(p.efficiency.bound, "uncertain");
    tt_bound_remark(&p, busy);
    CHECK(strstr(busy, "Which roof the step lies under is uncertain: the roofs may be too low."), "%s", busy);
    p.efficiency.intensity = 16.6, p.efficiency.ridge = 1.38; /* 12 times decide, whatever the load */
    p.efficiency.roofs_load = 9;
    tt_bound_remark(&p, busy);
    CHECK(strstr(busy, "lies under the roof of compute. It reaches less than a fifth of that, and whether latency or "
                       "other programs are why is uncertain. The class") && busy[strlen(busy) - 1] == '.', "%s", busy);
    p.efficiency.ridge = 6;
    tt_bound_remark(&p, busy);
    CHECK(strstr(busy, "is uncertain: the roofs may be too low."), "%s", busy);
    p.efficiency.roofs_load = 0;
    CHECK(strstr(recording[1], "this is its noise") && !strstr(recording[0], "busy"), "%s", recording[1]);
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
    CHECK(strstr(busy, "or what other programs took") && !strstr(quiet, "other programs"), "%s | %s", busy, quiet);
    tt_profile_free(&p);
}

/* Steps 1000001 to 1000010 are not all 1 M. */
static void ticks_are_told_apart(void)
{
    char a[32], b[32];
    svg_tick_label(1000002, 2, a), svg_tick_label(1000004, 2, b);
    CHECK(!strcmp(a, "1000002") && !strcmp(b, "1000004"), "%s, %s", a, b);
    svg_tick_label(2.0705, 0.0005, a), svg_tick_label(2.071, 0.0005, b);
    CHECK(!strcmp(a, "2.0705") && !strcmp(b, "2.071"), "%s, %s", a, b);
    CHECK(!strcmp(svg_tick_label(200000, 50000, a), "200 k"), "%s", a);
    CHECK(!strcmp(svg_tick_label(1000, 0, a), "1 k") && !strcmp(svg_tick_label(0, 0.5, b), "0"), "%s, %s", a, b);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    TEST(escapes_what_markup_would_take);
    TEST(says_numbers);
    TEST(the_checker_finds_faults);
    TEST(draws_odd_values);
    TEST(the_roof_has_its_name_above_it);
    TEST(bars_are_as_long_as_their_values);
    TEST(grouped_bars_have_units_and_whole_names);
    TEST(writes_a_whole_page);
    TEST(an_empty_profile_is_a_page_too);
    TEST(advises_by_what_was_measured);
    TEST(names_what_is_beyond_the_kernels);
    TEST(says_what_the_figures_hide);
    TEST(bounds_are_borne_out);
    TEST(pages_say_what_is_disturbed);
    TEST(caches_are_told_from_low_roofs);
    TEST(busy_machines_are_told);
    TEST(busy_machines_explain_themselves);
    TEST(phases_of_two_passes);
    CHECK_OK(tt_remove_tree(folder));
    TEST(ticks_are_told_apart);
    return test_end();
}
