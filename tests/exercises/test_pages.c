/* The pages of the course as markup: whole and balanced for any learner, and charts of figures that nobody checked. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "exercises/engine/page_parts.h"
#include "tests/profiling/markup.h"
#include "tests/test.h"

static char folder[] = "/tmp/test_pages_XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static struct tt_json *parsed(const char *text)
{
    struct tt_json *j = NULL;
    CHECK_OK(tt_json_parse(text, strlen(text), &j));
    return j;
}

/* The page at `path`, which is well-formed; free it. */
static char *read_page(const char *path)
{
    char *page = NULL;
    size_t size;
    CHECK_OK(tt_file_read(path, 1 << 26, &page, &size));
    const char *fault = page ? markup_fault(page, NULL) : "no page";
    CHECK(!fault[0], "%s", fault);
    return page ? page : calloc(1, 1);
}

static void write_sheet(const struct tt_exercise *e, const char *path)
{
    struct tt_text sheet = {0};
    tt_exercise_worksheet(e, &sheet);
    CHECK_OK(tt_file_replace(path, sheet.s, sheet.n));
    tt_text_free(&sheet);
}

static void a_page_of_every_exercise(void)
{
    static const char *const names[] = {"01-baseline", "02-memory",     "03-bottlenecks", "04-fused",
                                        "05-flash",    "06-host",       "07-precision",   "08-two-vendors",
                                        "09-faults",   "10-own-kernel", "11-scaling"};
    enum { N = sizeof names / sizeof *names };
    for (int i = 0; i < N; i++) {
        char path[200];
        struct tt_page_part part = {.folder = folder};
        snprintf(path, sizeof path, "exercises/%s", names[i]);
        CHECK_OK(tt_exercise_read(path, &part.exercise));
        write_sheet(&part.exercise, in_folder("worksheet.yaml"));
        CHECK_OK(tt_exercise_note(&part.exercise, folder));
        CHECK_OK(tt_exercise_mark(&part.exercise, folder, NULL, &part.marked));
        struct tt_mark *first = &part.marked.marks[0]; /* as if it were right, but shown before */
        first->kind = TT_MARK_RIGHT;
        first->revealed = true;
        part.marked.revealed = 1;
        snprintf(first->means, sizeof first->means, "so <much> of it");
        struct tt_page page = {.course = &part.exercise, .course_count = 1, .parts = &part, .part_count = 1};
        CHECK_OK(tt_page_write(&page, in_folder("page.html")));
        char *text = read_page(in_folder("page.html"));
        CHECK(strstr(text, "<img src=\"data:image/svg+xml,%3Csvg"), "%s has no picture", names[i]);
        CHECK(strstr(text, "After it was shown, without points. so &lt;much&gt; of it"), "%s", names[i]);
        CHECK(strstr(text, "answers shown by --reveal"), "%s", names[i]);
        for (int q = 0; q < part.exercise.question_count; q++) {
            char id[200];
            snprintf(id, sizeof id, "<code>%s</code>", part.exercise.questions[q].id);
            CHECK(strstr(text, id), "%s: %s", names[i], id);
        }
        free(text);
        tt_marked_free(&part.marked);
        tt_exercise_free(&part.exercise);
    }
}

/* A sentence is named, never right, and a folder whose sheet has no name is no learner. */
static void the_class_counts_what_it_says(void)
{
    static const char *const texts[] = {
        "{\"exercise\": 1, \"learner\": \"Ada\", \"questions\": [{\"id\": \"why\", \"mark\": \"named\"}, {\"id\": "
        "\"ms\", \"mark\": \"right\"}]}",
        "{\"exercise\": 1, \"folder\": \"b/ex1\", \"learner\": \"\", \"questions\": [{\"id\": \"why\", \"mark\": "
        "\"empty\"}, {\"id\": \"ms\", \"mark\": \"right\"}]}"};
    struct tt_json *results[2];
    struct tt_text out = {0};
    for (int i = 0; i < 2; i++) results[i] = parsed(texts[i]);
    tt_class_text(results, 2, &out);
    CHECK(strstr(out.s, "named: 1 of 2") && strstr(out.s, "right: 2 of 2"), "%s", out.s);
    CHECK(strstr(out.s, "1 of 2 sheets have no learner: their folders stand for one"), "%s", out.s);
    tt_text_free(&out);
    CHECK_OK(tt_class_page(results, 2, NULL, 0, in_folder("class.html")));
    char *text = read_page(in_folder("class.html"));
    CHECK(strstr(text, "1 learner, 1 folder whose sheet names no learner, 1 exercise; "), "%.1500s", text);
    CHECK(strstr(text, "1 of 2 named") && strstr(text, "2 of 2 right"));
    free(text);
    for (int i = 0; i < 2; i++) tt_json_free(results[i]);
}

static void results_of_anybody(void)
{
    static const char *const texts[] = {
        "{\"exercise\": 1, \"questions\": []}",
        "{\"exercise\": \"<b>\", \"title\": 7, \"learner\": \"</td>\", \"points\": \"x\", \"questions\": [1, null, "
        "{}]}",
        "{\"exercise\": 1e300, \"points\": -1e308, \"most\": 0, \"revealed\": -5, \"noise\": \"</main>&\", \"runs\": "
        "{},"
        " \"questions\": [{\"id\": \"<\", \"mark\": \"wrong\", \"given\": \"\\u202e\", \"reason\": "
        "\"\\\"><script>\"}]}",
        "{\"exercise\": 1, \"learner\": \"&\", \"points\": 3, \"most\": 2, \"passed\": true, \"runs\": [{\"refusal\": "
        "\"<\"}],"
        " \"questions\": [{\"id\": \"a\", \"mark\": \"right\"}, {\"id\": \"a\", \"mark\": \"right\"}]}"};
    enum { N = 4 };
    struct tt_json *results[N];
    for (int i = 0; i < N; i++) results[i] = parsed(texts[i]);
    CHECK_OK(tt_class_page(results, N, "note    <left out>\n", 5, in_folder("class.html")));
    char *text = read_page(in_folder("class.html"));
    CHECK(strstr(text, "&lt;left out&gt;"));
    CHECK(strstr(text, "content=\"5\""));
    CHECK(!strstr(text, "inf") && !strstr(text, "nan"));
    free(text);
    CHECK_OK(tt_class_page(NULL, 0, NULL, 0, in_folder("class.html")));
    text = read_page(in_folder("class.html"));
    CHECK(strstr(text, "No result can be shown yet."));
    CHECK(!strstr(text, "http-equiv"));
    free(text);
    for (int i = 0; i < N; i++) tt_json_free(results[i]);
}

/* ranks.json: what of a step is communication that nothing hides. */
static void runs_of_several_ranks(void)
{
    struct tt_exercise e = {.run_count = 2,
                            .runs = {{.name = "weak", .file = "ranks.json", .command = "tt bench"},
                                     {.name = "odd", .file = "ranks.json", .command = "tt bench"}}};
    struct tt_marked m = {.exercise = &e};
    m.runs[0].profile = parsed("{\"rows\": [{\"ranks\": 1, \"median_ms\": 80}, {\"ranks\": 2, \"median_ms\": 100, "
                               "\"communication_ms\": 50, \"hidden_ms\": 20}]}");
    m.runs[1].profile =
        parsed("{\"rows\": [{\"ranks\": \"x\"}, {\"ranks\": 4, \"median_ms\": 10, \"communication_ms\": "
               "1e308, \"hidden_ms\": -1e308}, {\"ranks\": 5, \"median_ms\": -1}, 7]}");
    struct tt_text t = {0};
    page_runs(&t, &m);
    const char *fault = markup_fault(t.s, NULL);
    CHECK(!fault[0], "%s", fault);
    CHECK(strstr(t.s, "A step of each run") && strstr(t.s, "exposed communication"));
    CHECK(strstr(t.s, "weak, 2 ranks") && strstr(t.s, ": 30") && strstr(t.s, ": 70"), "exposed 30 ms, all else 70");
    CHECK(strstr(t.s, "odd, 4 ranks") && !strstr(t.s, "5 ranks") && !strstr(t.s, "inf"));
    tt_text_free(&t);
    tt_json_free(m.runs[0].profile);
    tt_json_free(m.runs[1].profile);
}

static int count(const char *text, const char *words)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, words)); at++) n++;
    return n;
}

/* Communication that a disturbed run, or the noise of a quiet one, made look hidden is not drawn as hidden. */
static void noise_hides_no_communication(void)
{
    struct tt_exercise e = {.run_count = 3,
                            .runs = {{.name = "late", .file = "ranks.json", .command = "tt bench"},
                                     {.name = "quiet", .file = "ranks.json", .command = "tt bench"},
                                     {.name = "strong", .file = "ranks.json", .command = "tt bench"}}};
    struct tt_marked m = {.exercise = &e};
    static const char format[] = "{\"load\": %g, \"rows\": [{\"ranks\": 2, \"median_ms\": 3473, \"communication_ms\": "
                                 "570, \"hidden_ms\": %d, \"hidden_noise_ms\": 40, \"hidden_known\": %s}]}";
    char text[300];
    struct tt_text t = {0};
    snprintf(text, sizeof text, format, 10.4, 570, "true");
    m.runs[0].profile = parsed(text);
    snprintf(text, sizeof text, format, 0.1, 20, "true");
    m.runs[1].profile = parsed(text);
    snprintf(text, sizeof text, format, 0.1, 570, "false");
    m.runs[2].profile = parsed(text);
    page_runs(&t, &m);
    CHECK(strstr(t.s, "late, 2 ranks (disturbed), communication: what of it is exposed is not known: 570"), "%s",
          t.s);
    CHECK(!strstr(t.s, "late, 2 ranks (disturbed), exposed communication"), "%s", t.s);
    CHECK(strstr(t.s, "quiet, 2 ranks, exposed communication: 510"), "570 - 20 - 40: %s", t.s);
    CHECK(strstr(t.s, "quiet, 2 ranks, the step less what is, or may be, exposed: 2.90") &&
              strstr(t.s, "as much more of the step is work"),
          "3473 - 570: %s", t.s);
    CHECK(strstr(t.s, "quiet, 2 ranks, communication: what of it is exposed is not known: 60"), "%s", t.s);
    CHECK(strstr(t.s, "strong, 2 ranks, communication: what of it is exposed is not known: 570"), "%s", t.s);
    CHECK(!strstr(t.s, "strong, 2 ranks, exposed"), "%s", t.s);
    CHECK(count(t.s, "class=\"unsure\"") == 3, "%s", t.s);
    CHECK(strstr(t.s, "not measurable"));
    tt_text_free(&t);
    for (int i = 0; i < 3; i++) tt_json_free(m.runs[i].profile);
}

/* Bars of a disturbed run and of a single step are pale; others have a line of what they may be off by. */
static void bars_carry_their_noise(void)
{
    struct tt_exercise e = {.run_count = 3,
                            .runs = {{.name = "quiet", .file = "profile.json", .command = "tt profile"},
                                     {.name = "busy", .file = "profile.json", .command = "tt profile"},
                                     {.name = "single", .file = "profile.json", .command = "tt profile"}}};
    struct tt_marked m = {.exercise = &e};
    static const char format[] = "{\"schema\": 1, \"run\": {\"backend\": \"cpu\", \"steps\": %d, \"waited\": %g, "
                                 "\"batch_size\": 8, \"seq_len\": 64}, \"step\": {\"seconds\": 0.5, "
                                 "\"deviation\": %s}}";
    static const char *const said[] = {"quiet: 500 ms, 8 x 64 tokens", "busy: 500 ms (disturbed), 8 x 64 tokens",
                                       "single: 500 ms, 8 x 64 tokens"};
    char text[300];
    struct tt_text t = {0};
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, format, i == 2 ? 1 : 10, i == 1 ? 0.83 : 0, i == 2 ? "null" : "0.01");
        m.runs[i].profile = parsed(text);
    }
    page_runs(&t, &m);
    for (int i = 0; i < 3; i++) CHECK(strstr(t.s, said[i]), "%s: %s", said[i], t.s);
    const char *line = strstr(t.s, "class=\"noise\""), *pale = strstr(t.s, "class=\"unsure\"");
    CHECK(line && pale && line < pale, "each has its own mark");
    CHECK(count(t.s, "class=\"noise\"") == 1 && count(t.s, "class=\"unsure\"") == 2, "and no other: %s", t.s);
    tt_text_free(&t);
    for (int i = 0; i < 3; i++) tt_json_free(m.runs[i].profile);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    TEST(a_page_of_every_exercise);
    TEST(results_of_anybody);
    TEST(the_class_counts_what_it_says);
    TEST(runs_of_several_ranks);
    TEST(noise_hides_no_communication);
    TEST(bars_carry_their_noise);
    static const char *const left[] = {"worksheet.yaml", "exercise.json", "page.html", "class.html"};
    for (int i = 0; i < 4; i++) unlink(in_folder(left[i]));
    rmdir(folder);
    return test_end();
}
