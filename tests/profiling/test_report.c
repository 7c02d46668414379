/* report.html and the advice, with profiles made by hand. */
#include "profiling/profile_write.h"
#include "profiling/report/advice.h"
#include "profiling/report/html.h"
#include "tests/profiling/by_hand.h"

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
    CHECK(strstr(a[0].reason, "waiting for other ranks takes 75 % of the step; 25 % of the communication is hidden"),
          "%s", a[0].reason);
    tt_profile_free(&p);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    TEST(writes_a_whole_page);
    TEST(an_empty_profile_is_a_page_too);
    TEST(advises_by_what_was_measured);
    CHECK_OK(tt_remove_tree(folder));
    return test_end();
}
