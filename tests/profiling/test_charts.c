/* Charts: every number in them is finite, and each element is as long, as high and as rounded as it should be. */
#include "profiling/report/svg_parts.h"
#include "profiling/report/html.h"
#include "profiling/report/svg.h"
#include "tests/profiling/by_hand.h"

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

/* Nothing, NaN, infinity, one point, huge ranges: there is still a chart, and every number in it is finite. */
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

/* The height of the flat part of a roof, which is the y of its last point; NAN if there is none. */
static double flat_of(const char *svg, const char *class)
{
    const char *line = strstr(svg, class), *end = line ? strstr(line, "\"/>") : NULL;
    while (end && end > line && *end != ',') end--;
    return end ? atof(end + 1) : NAN;
}

/* The label of the measured roof is above both roofs, so that no line crosses it. */
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

/* Units as in the tables beside the chart, and whole names, since some differ only at the end. */
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

/* The ticks 1000001 to 1000010 are not all labelled 1 M. */
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
    TEST(escapes_what_markup_would_take);
    TEST(says_numbers);
    TEST(draws_odd_values);
    TEST(the_roof_has_its_name_above_it);
    TEST(bars_are_as_long_as_their_values);
    TEST(grouped_bars_have_units_and_whole_names);
    TEST(the_checker_finds_faults);
    TEST(ticks_are_told_apart);
    return test_end();
}
