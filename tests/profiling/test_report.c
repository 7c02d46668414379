/* Charts, report.html, advice and comparisons, from profiles made by hand. */
#include <unistd.h>

#include "core/base/file.h"
#include "profiling/bound.h"
#include "profiling/compare/compare.h"
#include "profiling/report/advice.h"
#include "profiling/report/html.h"
#include "profiling/report/svg.h"
#include "tests/profiling/markup.h"
#include "tests/test.h"

static char folder[] = "/tmp/tt_report_XXXXXX";

static const char *in(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void well_formed(const char *page, const char *what)
{
    const char *fault = markup_fault(page, NULL);
    CHECK(!fault[0], "%s: %s", what, fault);
}

/* ---- a profile by hand: 10 ms a step, half of it in attention that keeps S x S ---- */

static void add_group(struct tt_profile *p, const char *name, double ms)
{
    struct tt_profile_row *g = &p->groups[p->groups_count++], *op = &p->operators[p->operators_count++];
    *g = (struct tt_profile_row){.count = 4,
                                 .seconds = 1e-3 * ms,
                                 .median = 0.25e-3 * ms,
                                 .share = ms / 10,
                                 .flops = 1e9 * ms,
                                 .bytes = 1e8,
                                 .intensity = 10 * ms,
                                 .flops_per_second = 1e12,
                                 .bytes_per_second = 1e11 / ms,
                                 .roof_percent = 40,
                                 .bound = "memory"};
    snprintf(g->name, sizeof g->name, "%s", name);
    snprintf(g->group, sizeof g->group, "%s", name);
    *op = *g;
    snprintf(op->name, sizeof op->name, "%s", strcmp(name, "attention_softmax") ? "gemm" : "softmax");
    snprintf(op->shape, sizeof op->shape, "%s", strcmp(name, "attention_softmax") ? "64x64x64" : "");
    strcpy(op->phase, "forward");
}

static struct tt_profile by_hand(double scale)
{
    struct tt_profile p = {0};
    p.groups = calloc(8, sizeof *p.groups);
    p.operators = calloc(8, sizeof *p.operators);
    p.samples = calloc(20, sizeof *p.samples);
    p.gradients = calloc(3, sizeof *p.gradients);
    p.memory_kinds = calloc(2, sizeof *p.memory_kinds);
    p.events = calloc(3, sizeof *p.events);
    p.phases = calloc(1, sizeof *p.phases);
    p.sweeps = calloc(2, sizeof *p.sweeps);
    strcpy(p.run.source, "tt profile");
    strcpy(p.run.device, "<GPU> & \"friends\"");
    strcpy(p.run.version, "baseline");
    strcpy(p.run.precision, "fp32");
    strcpy(p.run.backend, "cuda");
    strcpy(p.run.data, "random");
    p.run.steps = 10;
    p.run.num_layers = 2;
    p.run.batch_size = 8;
    p.run.seq_len = 128;
    add_group(&p, "qkv_projection", 2);
    add_group(&p, "attention_scores", 2);
    add_group(&p, "attention_softmax", 3);
    add_group(&p, "swiglu_gate_up", 2);
    p.groups[p.groups_count] = (struct tt_profile_row){.name = "gaps",
                                                       .group = "gaps",
                                                       .seconds = 1e-3,
                                                       .share = 0.1,
                                                       .median = NAN,
                                                       .flops = NAN,
                                                       .bytes = NAN,
                                                       .intensity = NAN,
                                                       .flops_per_second = NAN,
                                                       .bytes_per_second = NAN,
                                                       .roof_percent = NAN};
    p.groups_count++;
    for (int i = 0; i < 4; i++) p.operators[i].seconds *= scale, p.groups[i].seconds *= scale;
    p.step = (struct tt_profile_step){.seconds = 10e-3 * scale,
                                      .mean = 10e-3 * scale,
                                      .kernel_seconds = 9e-3 * scale,
                                      .gap_seconds = 1e-3,
                                      .tokens_per_second = 102400 / scale,
                                      .samples_per_second = 800 / scale,
                                      .kernels = 40,
                                      .loss = 4,
                                      .grad_norm = 1,
                                      .peak_memory_bytes = 1e9,
                                      .p95 = NAN,
                                      .fastest = NAN,
                                      .wall_seconds = NAN};
    p.efficiency.mfu_percent = 30;
    strcpy(p.efficiency.mfu_class, "moderate");
    p.efficiency.gemm_flops_per_second = 5e12;
    p.efficiency.copy_bytes_per_second = 1e12;
    p.efficiency.datasheet_flops_per_second = NAN;
    p.launch.launch_seconds = 5e-6;
    p.memory = (struct tt_profile_memory){.predicted_bytes = 1e9,
                                          .measured_bytes = 1e9,
                                          .arena_bytes = 8e8,
                                          .live_bytes = 8e8,
                                          .device_free_bytes = 1.1e9,
                                          .peak_phase = "backward",
                                          .peak_operation = "softmax_backward",
                                          .peak_layer = 1};
    p.memory_kinds[p.memory_kinds_count++] = (struct tt_profile_memory_kind){"activations", 8e8, 8e8};
    p.memory_kinds[p.memory_kinds_count++] = (struct tt_profile_memory_kind){"workspace", NAN, 1e8};
    p.sweeps[p.sweeps_count++] = (struct tt_profile_sweep){"batch", 8, 1e9, 8e8, 1e9, 1e-2};
    p.sweeps[p.sweeps_count++] = (struct tt_profile_sweep){"batch", 16, 1.8e9, 1.6e9, NAN, NAN};
    p.phases[p.phases_count++] = (struct tt_profile_phase){"forward", 40, 9e-3, 1e-3, 8e-3, 1e9, 1e8};
    p.events[p.events_count++] =
        (struct tt_profile_event){"compute", "gemm", "kernel", "qkv_projection", 0, 0, 0, 2e-3, 0};
    p.events[p.events_count++] =
        (struct tt_profile_event){"compute", "softmax", "kernel", "attention_softmax", 0, 0, 2e-3, 3e-3, 0};
    for (int i = 0; i < 20; i++)
        p.samples[p.samples_count++] =
            (struct tt_profile_sample){i + 1, 10e-3 * scale * (1 + 0.01 * (i % 3 - 1)), 4 - 0.01 * i, 1};
    for (int i = 0; i < 3; i++) {
        p.gradients[i] = (struct tt_profile_gradient){.count = 100, .norm = 1 + i, .first_norm = 1 + i};
        snprintf(p.gradients[i].name, sizeof p.gradients[i].name, "layers.%d.weight", i);
    }
    p.gradients_count = 3;
    return p;
}

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
            bars[i] = (struct tt_bar){.label = names[i], .value = odd[i], .color = i + 9};
            points[i] = (struct tt_roof_point){names[i], odd[i], odd[7 - i], odd[i], i};
            spans[i] = (struct tt_span){names[i], odd[i], odd[7 - i], i % 3, i};
        }
        struct tt_line line = {"l", odd, odd, n, true};
        tt_svg_bars(&t, "bars", bars, n);
        tt_svg_stacked(&t, &(struct tt_stack){"stacked", "ms", names, names, n, 1, odd});
        tt_svg_grouped(&t, &(struct tt_stack){"grouped", "ms", names, names, n, 1, odd});
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

/* ---- comparisons ---- */

static void says_what_the_figures_hide(void)
{
    struct tt_profile p = by_hand(1);
    struct tt_advice advice[TT_ADVICE_LIMIT];
    char words[400];
    tt_gap_remark(&p, words);
    CHECK(!words[0], "%s", words);
    p.step.gap_seconds = -2e-3;
    p.step.gap_fraction = -0.2;
    char gaps[100];
    CHECK(!strchr(tt_gap_words(&p, gaps), '-') && strstr(gaps, "noise of the two sums is 20.0 %"), "%s", gaps);
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
    CHECK(tt_roofs_doubtful(9, 0.01, 0.01) && tt_roofs_doubtful(0.5, 0.01, 0.6) && tt_roofs_doubtful(NAN, 0.6, NAN));
    CHECK(!tt_roofs_doubtful(0.5, 0.1, 0.1) && !tt_roofs_doubtful(NAN, NAN, NAN));
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
    CHECK(strstr(words, "the machine was busy: 3.2 processes waited for each processor"), "%s", words);
    p.efficiency.roofs_kept = true;
    strcpy(p.efficiency.roofs_measured, "2025-01-31T12:00:00Z");
    p.efficiency.roofs_load = 9;
    p.efficiency.gemm_spread = 0.1;
    p.efficiency.copy_spread = 0.75;
    tt_roof_remark(&p, words);
    CHECK(strstr(words, "may be too low: 9.0 processes") && strstr(words, "75 % (copies)"), "%s", words);
    strcpy(p.efficiency.bound, "latency");
    tt_bound_remark(&p, words);
    CHECK(strstr(words, "less than a fifth") && !strstr(words, "under the roof"), "%s", words);
    strcpy(p.efficiency.bound, "uncertain");
    tt_bound_remark(&p, words);
    CHECK(strstr(words, "is uncertain"), "%s", words);
    tt_profile_free(&p);
}

static void save(struct tt_profile *p, const char *name)
{
    CHECK_OK(tt_make_dirs(in(name)));
    char path[220];
    snprintf(path, sizeof path, "%s/%s/profile.json", folder, name);
    CHECK_OK(tt_profile_write_json(p, path));
    tt_profile_free(p);
}

static tt_status compare(const char *a, const char *b, struct tt_comparison *c)
{
    char first[200], second[200];
    const char *paths[] = {first, second};
    snprintf(first, sizeof first, "%s/%s", folder, a);
    snprintf(second, sizeof second, "%s/%s", folder, b);
    return tt_compare(paths, 2, c);
}

static tt_status gate(const struct tt_comparison *c, const char *conditions)
{
    struct tt_text said = {0};
    tt_status st = tt_compare_gate(c, conditions, &said);
    CHECK(st || strstr(said.s, "passed"), "%s: a gate that passes says so", conditions);
    tt_text_free(&said);
    return st;
}

static void undecided(const struct tt_comparison *c, const char *conditions)
{
    tt_status st = gate(c, conditions);
    CHECK(st && st->code == TT_UNDECIDED, "%s: %s", conditions, st ? st->text : "passed");
    tt_status_free(st);
}

static void compares_profiles(void)
{
    struct tt_profile slow = by_hand(1), fast = by_hand(0.5), broken = by_hand(0.25);
    struct tt_comparison *c = calloc(1, sizeof *c);
    struct tt_text text = {0};
    strcpy(fast.run.version, "fused");
    broken.gradients[0].zeros = 100;
    broken.gradients[0].norm = 0;
    for (int i = 0; i < 20; i++) broken.samples[i].loss = 7;
    save(&slow, "slow");
    save(&fast, "fast");
    save(&broken, "broken");

    CHECK_OK(compare("slow", "fast", c));
    CHECK(c->n == 2 && fabs(c->runs[1].speedup - 2) < 1e-9, "%g", c->runs[1].speedup);
    CHECK(c->runs[1].range.low > 1.9 && c->runs[1].range.low <= 2 && c->runs[1].range.high >= 2 &&
              c->runs[1].range.high < 2.1,
          "%g to %g", c->runs[1].range.low, c->runs[1].range.high);
    CHECK(c->runs[1].same_task && c->runs[1].loss_difference == 0 && c->runs[1].gradient_difference == 0 &&
          !c->warnings.n);
    CHECK(c->group_count == 5 && fabs(c->groups[2].seconds[0] - 3e-3) < 1e-12 &&
          fabs(c->groups[2].seconds[1] - 1.5e-3) < 1e-12);
    CHECK(strncmp(c->operators[0].name, "softmax", 7) == 0, "%s changed most", c->operators[0].name);
    tt_compare_text(c, &text);
    CHECK(strstr(text.s, "2.00x") && strstr(text.s, "version baseline -> fused") &&
              strstr(text.s, "3 of 3 tensors have a gradient"),
          "%s", text.s);
    tt_text_free(&text);
    tt_compare_json(c, &text);
    CHECK(strstr(text.s, "\"speedup\": 2,"), "%s", text.s);
    tt_text_free(&text);
    char *page;
    size_t n;
    CHECK_OK(tt_compare_write_html(c, in("compare.html")));
    CHECK_OK(tt_file_read(in("compare.html"), 1 << 24, &page, &n));
    well_formed(page, "compare.html");
    free(page);
    CHECK_OK(gate(c, "slower:5%,memory:10%,loss:0.01,gradients"));
    tt_compare_free(c);

    CHECK_OK(compare("fast", "slow", c));
    CHECK_FAILS(gate(c, "slower:5%"), "100.0 % more time");
    CHECK_OK(gate(c, "slower:110%"));
    tt_status st = gate(c, "slower:5%");
    CHECK(st && st->code == TT_GATE);
    tt_status_free(st);
    tt_compare_free(c);

    CHECK_OK(compare("slow", "broken", c));
    CHECK(strstr(c->warnings.s, "1 of 3 tensors got no gradient") && strstr(c->warnings.s, "do not compute the same"),
          "%s", c->warnings.s);
    CHECK_FAILS(gate(c, "gradients"), "1 of 3");
    CHECK_FAILS(gate(c, "loss:0.5"), "differs");
    tt_compare_free(c);

    struct tt_profile lower = by_hand(1), higher = by_hand(1);
    lower.efficiency.gemm_flops_per_second = 2e12;
    higher.efficiency.gemm_flops_per_second = 2.5e12;
    lower.efficiency.mfu_percent = 50;
    higher.efficiency.mfu_percent = 40;
    save(&lower, "lower");
    save(&higher, "higher");
    CHECK_OK(compare("lower", "higher", c));
    CHECK(c->warnings.n && strstr(c->warnings.s, "higher: its MFU is of a measured 2.5 TFLOP/s, that of lower of 2:"),
          "%s", c->warnings.s);
    tt_compare_free(c);
    CHECK_OK(compare("lower", "lower", c));
    CHECK(!c->warnings.n, "%s", c->warnings.s);
    tt_compare_free(c);

    struct tt_profile wide = by_hand(4);
    wide.run.hidden_dim = 64;
    save(&wide, "wide");
    CHECK_OK(compare("slow", "wide", c));
    CHECK(!c->runs[1].same_model && strstr(c->warnings.s, "its model differs"), "%s", c->warnings.s);
    CHECK_FAILS(gate(c, "slower:5%"), "cannot judge");
    tt_compare_text(c, &text);
    CHECK(strstr(text.s, "hidden 0 -> 64"), "%s", text.s);
    tt_text_free(&text);
    tt_compare_free(c);
    free(c);
}

/* Three steps of each give an interval, and say how seldom it fails; two give one that decides nothing. */
static void few_steps_are_told(void)
{
    struct tt_comparison *c = calloc(1, sizeof *c);
    struct tt_text text = {0};
    const char *names[] = {"few-a", "few-b"};
    for (int n = 3; n >= 1; n--) {
        for (int k = 0; k < 2; k++) {
            struct tt_profile p = by_hand(1 + k);
            for (int i = 0; i < 20; i++) p.samples[i].seconds = i < n ? 10e-3 * (1 + k) * (1 + 0.01 * i) : NAN;
            save(&p, names[k]);
        }
        CHECK_OK(compare("few-a", "few-b", c));
        const struct tt_range *range = &c->runs[1].range;
        CHECK(range->low <= 0.5 && range->low > 0.48 && range->high >= 0.5 && range->high < 0.52, "%g to %g",
              range->low, range->high);
        tt_compare_text(c, &text);
        if (n == 3) {
            CHECK(fabs(range->confidence - 0.9) < 1e-12 && strstr(text.s, "to 0.51 (90 %)"), "%s", text.s);
            CHECK_FAILS(gate(c, "slower:5%"), "100.0 % more time");
        } else {
            CHECK(strstr(text.s, "warning  few-b: few steps were timed"), "%s", text.s);
            undecided(c, "slower:5%");
        }
        tt_text_free(&text);
        tt_compare_free(c);
    }
    free(c);
}

/* After many steps on random tokens two runs differ; what counts is the step that both took from the same weights. */
static void only_first_gradients_compare(void)
{
    struct tt_profile a = by_hand(1), drifted = by_hand(1), wrong = by_hand(1);
    struct tt_comparison *c = calloc(1, sizeof *c);
    drifted.gradients[1].norm *= 50;
    wrong.gradients[1].first_norm *= 1.5;
    save(&a, "a");
    save(&drifted, "drifted");
    save(&wrong, "wrong");
    CHECK_OK(compare("a", "drifted", c));
    CHECK(c->runs[1].gradient_difference == 0 && !c->warnings.n, "%s", c->warnings.s);
    tt_compare_free(c);
    CHECK_OK(compare("a", "wrong", c));
    CHECK(strstr(c->warnings.s, "a gradient of the first step differs from that of a by 33 %"), "%s", c->warnings.s);
    tt_compare_free(c);
    free(c);
}

/* What is compared may have been measured beside other work. */
static void busy_runs_are_told(void)
{
    struct tt_profile quiet = by_hand(1), busy = by_hand(1);
    struct tt_comparison *c = calloc(1, sizeof *c);
    busy.run.load = 7;
    save(&quiet, "quiet");
    save(&busy, "busy");
    CHECK_OK(compare("quiet", "busy", c));
    CHECK(c->warnings.s && strstr(c->warnings.s, "busy: when it was measured, the machine was busy: 7.0 processes") &&
          !strstr(c->warnings.s, "quiet: when"), "%s", c->warnings.s);
    tt_compare_free(c);
    free(c);
}

/* Steps that scatter by a fifth: a median that is 6 % off says nothing, and the gate knows. */
static void noise_is_no_regression(void)
{
    struct tt_profile a = by_hand(1), b = by_hand(1.06);
    struct tt_comparison *c = calloc(1, sizeof *c);
    for (int i = 0; i < 20; i++) {
        a.samples[i].seconds = 10e-3 * (0.8 + 0.02 * ((i * 7) % 20));
        b.samples[i].seconds = 10.6e-3 * (0.8 + 0.02 * ((i * 3) % 20));
    }
    save(&a, "a");
    save(&b, "b");
    CHECK_OK(compare("a", "b", c));
    CHECK(c->runs[1].range.low < 1 && c->runs[1].range.high > 1, "%g to %g", c->runs[1].range.low,
          c->runs[1].range.high);
    CHECK(c->runs[1].range.confidence >= 0.95);
    undecided(c, "slower:5%");
    CHECK_OK(gate(c, "slower:100%"));
    /* Also beside others: what holds counts more, what passes counts less, and all are said. */
    struct tt_text said = {0};
    tt_status st = tt_compare_gate(c, "memory:10%,slower:5%,loss:0.02", &said);
    CHECK(st && st->code == TT_UNDECIDED);
    tt_status_free(st);
    CHECK(strstr(said.s, "memory:10% passed") && strstr(said.s, "slower:5% undecided") &&
          strstr(said.s, "loss:0.02 passed"), "%s", said.s);
    tt_text_free(&said);
    tt_compare_free(c);
    free(c);
}

static void write_text(const char *name, const char *text) { CHECK_OK(tt_file_replace(in(name), text, strlen(text))); }

static void compares_benchmarks_and_training_runs(void)
{
    struct tt_comparison *c = calloc(1, sizeof *c);
    char bench[200];
    const char *paths[] = {bench};
    write_text("bench.json", "{\"device\": \"d\", \"precision\": \"bf16\", \"rows\": [{\"size\": \"small\", "
                             "\"version\": \"baseline\", \"median_ms\": 8, "
                             "\"tokens_per_second\": 1000, \"peak_memory_bytes\": 100, \"operations_per_step\": 50}, "
                             "{\"size\": \"small\", \"version\": "
                             "\"flash\", \"median_ms\": 2, \"tokens_per_second\": 4000, \"peak_memory_bytes\": 40}]}");
    snprintf(bench, sizeof bench, "%s", in("bench.json"));
    CHECK_OK(tt_compare(paths, 1, c));
    CHECK(c->n == 2 && c->runs[1].speedup == 4 && isnan(c->runs[1].range.low) && c->runs[0].kernels == 50 &&
          isnan(c->runs[1].kernels));
    CHECK_OK(gate(c, "memory:0%"));
    CHECK_FAILS(gate(c, "loss:1"), "cannot judge");
    CHECK_FAILS(gate(c, "gradients"), "cannot judge");
    tt_compare_free(c);

    /* Other sizes do not compare; without single steps there is no telling a slowdown from noise. */
    write_text("bench.json", "{\"rows\": [{\"size\": \"small\", \"tokens_per_second\": 1000}, "
                             "{\"size\": \"large\", \"tokens_per_second\": 500}]}");
    CHECK_OK(tt_compare(paths, 1, c));
    CHECK(c->warnings.s && strstr(c->warnings.s, "its model differs"));
    CHECK_FAILS(gate(c, "slower:5%"), "cannot judge");
    tt_compare_free(c);
    write_text("bench.json", "{\"rows\": [{\"size\": \"small\", \"tokens_per_second\": 1000}, "
                             "{\"size\": \"small\", \"tokens_per_second\": 500}]}");
    CHECK_OK(tt_compare(paths, 1, c));
    CHECK_FAILS(gate(c, "slower:5%"), "cannot judge");
    tt_compare_free(c);
    write_text("bench.json", "{\"rows\": [{\"size\": \"small\", \"median_ms\": 1, \"tokens_per_second\": 1000, "
                             "\"num_layers\": 2, \"steps_ms\": [1, 1, 1.1, 1]}, {\"size\": \"small\", "
                             "\"median_ms\": 2, \"tokens_per_second\": 500, \"num_layers\": 2, \"steps_ms\": [2, 2, "
                             "2.1, 2]}]}");
    CHECK_OK(tt_compare(paths, 1, c));
    CHECK_FAILS(gate(c, "slower:5%"), "100.0 % more time");
    CHECK(isnan(c->runs[1].loss_difference));
    tt_compare_free(c);

    CHECK_OK(tt_make_dirs(in("run1")));
    CHECK_OK(tt_make_dirs(in("run2")));
    write_text("run1/metrics.jsonl", "{\"step\":1,\"loss\":4.0,\"tokens_per_second\":100}\n{\"step\":1,\"val_loss\":3}"
                                     "\n{\"step\":2,\"loss\":3.5,\"tokens_per_second\":100}\n");
    write_text(
        "run2/metrics.jsonl",
        "{\"step\":1,\"loss\":4.0,\"tokens_per_second\":150}\n{\"step\":2,\"loss\":3.25,\"tokens_per_second\":150}\n");
    CHECK_OK(compare("run1", "run2", c));
    CHECK(c->runs[1].speedup == 1.5 && c->runs[1].loss_difference == 0.25 && c->runs[1].loss == 3.25);
    tt_compare_free(c);

    /* a fast moment counts for no more time than it was: 20 steps at 100 and 10000 are 20 / (10/100 + 10/10000) */
    write_text("run2/metrics.jsonl", "{\"step\":10,\"loss\":4.0,\"tokens_per_second\":100}\n"
                                     "{\"step\":20,\"loss\":3.25,\"tokens_per_second\":10000}\n");
    CHECK_OK(compare("run1", "run2", c));
    CHECK(fabs(c->runs[1].tokens_per_second - 20 / 0.101) < 1e-9, "%g tokens/s", c->runs[1].tokens_per_second);
    tt_compare_free(c);

    write_text("run2/metrics.jsonl", "{\"step\":1,\"loss\":4.0}\n{\"step\":2,\"lo\n");
    CHECK_FAILS(compare("run1", "run2", c), "line 2 of metrics.jsonl");
    tt_compare_free(c);
    CHECK_FAILS(compare("run1", "nowhere", c), "nowhere");
    tt_compare_free(c);
    write_text("bench.json", "{\"rows\": []}");
    CHECK_FAILS(tt_compare(paths, 1, c), "no rows");
    tt_compare_free(c);
    CHECK_OK(tt_make_dirs(in("none")));
    CHECK_FAILS(compare("run1", "none", c), "neither profile.json");
    tt_compare_free(c);
    free(c);
}

static void reads_conditions(void)
{
    CHECK_OK(tt_compare_gate_check("slower:5%, memory:2.5%,loss:0.1,gradients"));
    static const char *const bad[] = {"slower",    "slower:",     "slower:x%", "faster:5%",
                                      "gradients:1", "loss:-1",  "slower:-5%"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK_FAILS(tt_compare_gate_check(bad[i]), "conditions are");
    CHECK_FAILS(tt_compare_gate_check("slower:5"), "write slower:5%");
}

int main(void)
{
    CHECK(mkdtemp(folder));
    TEST(escapes_what_markup_would_take);
    TEST(says_numbers);
    TEST(the_checker_finds_faults);
    TEST(draws_odd_values);
    TEST(bars_are_as_long_as_their_values);
    TEST(writes_a_whole_page);
    TEST(an_empty_profile_is_a_page_too);
    TEST(advises_by_what_was_measured);
    TEST(says_what_the_figures_hide);
    TEST(bounds_are_borne_out);
    TEST(busy_machines_are_told);
    TEST(compares_profiles);
    TEST(noise_is_no_regression);
    TEST(few_steps_are_told);
    TEST(busy_runs_are_told);
    TEST(only_first_gradients_compare);
    TEST(compares_benchmarks_and_training_runs);
    TEST(reads_conditions);
    CHECK_OK(tt_remove_tree(folder));
    return test_end();
}
