/* The lines `noise:` of a check: which runs were disturbed, and which speed-ups, roofs and ranks show nothing. */
#include "exercises/engine/formula_parts.h"
#include "tests/exercises/course_fixture.h"
#include "tests/exercises/runs_fixture.h"

enum { MOST = 8 };

/* A learner's folder with a profile for each name (NULL: it is missing) and questions that are all marked `kind`. */
struct folder {
    const char *names[MOST];
    struct tt_json *profiles[MOST];
    struct tt_question questions[2];
    int question_count;
    enum tt_mark_kind kind;
};

/* The lines of that folder. Frees the profiles; the caller frees the text. */
static struct tt_text noise_of(struct folder *f)
{
    struct tt_exercise e = {.questions = f->questions, .question_count = f->question_count};
    struct tt_mark marks[2] = {{.kind = f->kind}, {.kind = f->kind}};
    struct tt_marked m = {.exercise = &e, .marks = marks};
    struct tt_text out = {0};
    for (int i = 0; i < MOST && f->names[i]; i++) {
        e.runs[e.run_count].name = f->names[i];
        m.runs[e.run_count++].profile = f->profiles[i];
    }
    tt_exercise_noise(&m, &out);
    if (!out.n) tt_text_puts(&out, "");
    for (int i = 0; i < e.run_count; i++) tt_json_free(f->profiles[i]);
    return out;
}

static int lines_of(const struct tt_text *t)
{
    int n = 0;
    for (const char *at = t->s; (at = strchr(at, '\n')); at++) n++;
    return n;
}

/* What a profile records of its own run, and words of the reason that the line gives (NULL: it was not disturbed). */
static const struct {
    const char *what, *run, *launch, *reason;
} noted[] = {
    {"nothing is known", "\"backend\": \"cpu\"", "", NULL},
    {"quiet", "\"backend\": \"cpu\", \"load\": 0.2, \"waited\": 0.01, \"recorded_waited\": 0.01", "", NULL},
    {"threads waited", "\"backend\": \"cpu\", \"load\": 0.2, \"waited\": 0.3", "",
     "threads waited 30 % of their time for a processor"},
    {"a load before the run", "\"backend\": \"cpu\", \"load\": 4.5", "",
     "a load of 4.5 per processor in the minute before"},
    {"the load ended before the run", "\"backend\": \"cpu\", \"load\": 4.5, \"waited\": 0.01", "", NULL},
    {"recorded steps waited", "\"backend\": \"cpu\", \"waited\": 0.01, \"recorded_waited\": 0.4", "",
     "threads waited 40 % of their time for a processor in the recorded steps"},
    {"recorded steps took longer", "\"backend\": \"cpu\", \"waited\": 0.01", "\"recorded_overhead\": 0.54",
     "the recorded steps took 54 % more time than the others"},
    {"no longer than steps vary", "\"backend\": \"cpu\", \"waited\": 0.01", "\"recorded_overhead\": 0.08", NULL},
    {"the host of a GPU waited in the recorded steps",
     "\"backend\": \"cuda\", \"waited\": 0.01, \"recorded_waited\": 0.4", "", NULL},
    {"a GPU was interrupted", "\"backend\": \"cuda\", \"waited\": 0, \"interrupted\": 2.23", "",
     "operations or steps took 2.2 times their medians"},
    {"a GPU was not", "\"backend\": \"cuda\", \"waited\": 0, \"interrupted\": 1.1", "", NULL}};
enum { NOTED = sizeof noted / sizeof *noted };

static struct tt_json *noted_run(int i)
{
    char text[400];
    snprintf(text, sizeof text, "{\"run\": {%s}, \"step\": {\"seconds\": 1, \"launched_seconds\": 1}, \"launch\": {"
                                "\"event_seconds\": 1e-8%s%s}}",
             noted[i].run, noted[i].launch[0] ? ", " : "", noted[i].launch);
    return json(text);
}

/* Whether a run was disturbed, and the reason, come from its own profile. */
static void a_disturbed_run_has_a_reason(void)
{
    char words[120];
    for (int i = 0; i < NOTED; i++) {
        struct tt_json *j = noted_run(i);
        struct tt_formula_run r[] = {{.name = "a", .profile = j}};
        struct tt_formula_scope scope = {.runs = r, .count = 1};
        struct tt_formula_value v = eval("disturbed('a')", &scope);
        tt_exercise_disturbed_words(j, words);
        CHECK(v.kind == TT_FORMULA_TRUTH && (v.number == 1) == (noted[i].reason != NULL), "%s", noted[i].what);
        CHECK(noted[i].reason ? strstr(words, noted[i].reason) != NULL : !words[0], "%s: %s", noted[i].what, words);
        tt_json_free(j);
    }
}

/* Each disturbed run has a line with its reason. One more sentence is for all of them. Quiet runs are not named. */
static void disturbed_runs_have_a_line_each(void)
{
    static const int of[] = {1, 2, 6, 9}; /* in the table above */
    struct folder f = {.names = {"quiet", "waits", "slow", "gpu", "missing"}};
    char lines[4][300] = {""}, words[120];
    for (int i = 0; i < 4; i++) {
        f.profiles[i] = noted_run(of[i]);
        tt_exercise_disturbed_words(f.profiles[i], words);
        snprintf(lines[i], sizeof lines[i], "noise: %s: %s\n", f.names[i], words);
    }
    struct tt_text out = noise_of(&f);
    for (int i = 1; i < 4; i++) CHECK(strstr(out.s, lines[i]), "no \"%s\" in %s", lines[i], out.s);
    CHECK(strstr(out.s, "noise: answers are marked by what the runs show."), "%s", out.s);
    CHECK(lines_of(&out) == 4 && !strstr(out.s, "quiet:") && !strstr(out.s, "missing"), "%s", out.s);
    tt_text_free(&out);
    f = (struct folder){.names = {"quiet"}, .profiles = {noted_run(1)}};
    out = noise_of(&f);
    CHECK(!out.n, "nothing is said of quiet runs: %s", out.s);
    tt_text_free(&out);
}

/* A row of ranks.json is judged by what its own ranks waited, since ranks also wait for each other up to a limit. The
 * run is disturbed if one of its rows is, and the line gives the largest figure. */
static void rows_have_their_own_ranks(void)
{
    static const struct {
        double one, two;
        const char *says; /* NULL: nothing */
    } cases[] = {{0.65, 0.41, "threads waited 65 %"}, {0.01, 0.41, "threads waited 41 %"},
                 {0.65, 0, "threads waited 65 %"}, {0.1, 0.1, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "{\"run\": {\"waited\": %g}, \"backend\": \"cpu\", \"rows\": [{\"ranks\": 1, \"threads\": 1, "
                 "\"waited\": %g}, {\"ranks\": 2, \"threads\": 1, \"waited\": %g}]}",
                 fmax(cases[i].one, cases[i].two), cases[i].one, cases[i].two);
        struct tt_json *j = json(text);
        const struct tt_json *row = tt_json_get(j, "rows")->first;
        CHECK(tt_exercise_disturbed(j) == (cases[i].says != NULL), "%zu", i);
        CHECK(tt_exercise_row_disturbed(j, row) == (cases[i].one > 0.15) &&
              tt_exercise_row_disturbed(j, row->next) == (cases[i].two > 0.15), "%zu: rows by themselves", i);
        struct folder f = {.names = {"weak"}, .profiles = {j}};
        struct tt_text out = noise_of(&f);
        CHECK(cases[i].says ? strstr(out.s, "noise: weak: the machine was busy: ") && strstr(out.s, cases[i].says)
                            : !out.n, "%zu: %s", i, out.s);
        tt_text_free(&out);
    }
    struct tt_json *load = json("{\"run\": {}, \"load\": 3.1, \"rows\": [{\"ranks\": 1}]}");
    CHECK(tt_exercise_disturbed(load), "ranks.json has the load beside the run");
    tt_json_free(load);
}

/* Roofs may be too low if the machine was busy while they were measured, or if their samples differ. */
static void doubtful_roofs_are_named(void)
{
    static const char format[] = "{\"run\": {\"backend\": \"cpu\", \"waited\": 0.01}, \"efficiency\": {%s}}";
    static const struct {
        const char *efficiency;
        bool doubtful;
    } cases[] = {{"\"roofs_load\": 5.6", true}, {"\"roofs_load\": 0.2, \"copy_spread\": 0.6", true},
                 {"\"roofs_load\": 0.2, \"roofs_waited\": 0.3", true},
                 {"\"roofs_load\": 0.2, \"roofs_waited\": 0.01, \"gemm_spread\": 0.1", false}, {"", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300];
        snprintf(text, sizeof text, format, cases[i].efficiency);
        struct folder f = {.names = {"a", "b"}, .profiles = {json(text), json(text)}};
        struct tt_text out = noise_of(&f);
        CHECK(cases[i].doubtful ? strstr(out.s, "noise: a, b: the roofs may be too low") != NULL : !out.n, "%zu: %s",
              i, out.s);
        tt_text_free(&out);
    }
}

/* Runs with another measured roof than the first are named, since their MFU is of that roof. Another precision always
 * has another roof. */
static void other_roofs_are_named(void)
{
    static const char format[] = "{\"run\": {\"backend\": \"cpu\", \"precision\": \"%s\"}, \"efficiency\": "
                                 "{\"gemm_flops_per_second\": %g}}";
    static const struct {
        const char *name, *precision;
        double roof;
    } of[] = {{"base", "fp32", 0.266e12}, {"same", "fp32", 0.267e12}, {"wide", "fp32", 0.413e12},
              {"half", "bf16", 2e12}};
    struct folder f = {.question_count = 0};
    for (int i = 0; i < 4; i++) {
        char text[200];
        snprintf(text, sizeof text, format, of[i].precision, of[i].roof);
        f.names[i] = of[i].name, f.profiles[i] = json(text);
    }
    struct tt_text out = noise_of(&f);
    CHECK(strstr(out.s, "noise: wide (0.413 TFLOP/s): MFU and roof % are of another measured roof than those of base "
                        "(0.266 TFLOP/s)"), "%s", out.s);
    tt_text_free(&out);
}

/* ---- speed-ups ---- */

static struct tt_json *timed(double seconds, double deviation, int steps)
{
    char text[300];
    snprintf(text, sizeof text, "{\"run\": {\"backend\": \"cuda\", \"steps\": %d}, \"step\": {\"seconds\": %g, "
                                "\"deviation\": %g}}", steps, seconds, deviation);
    return json(text);
}

/* Right answers that are quotients of two steps are named if their interval includes 1. */
static void quotients_that_show_nothing_are_named(void)
{
    static const char gain[] = "slow:step.seconds / fast:step.seconds";
    static const struct {
        double seconds, deviation;
        int steps;
        const char *answer;
        enum tt_mark_kind kind;
        const char *says; /* NULL: nothing */
    } cases[] = {{0.99, 0.001, 4, gain, TT_MARK_RIGHT, "noise: gain (1.00 to 1.02): that is right, but the interval"},
                 {0.98, 0.1, 4, gain, TT_MARK_RIGHT, "the runs show neither gain nor loss"},
                 {0.98, 0.001, 4, gain, TT_MARK_RIGHT, NULL},
                 {0.5, 0.1, 4, gain, TT_MARK_RIGHT, NULL},
                 {0.98, 0.1, 1000, gain, TT_MARK_RIGHT, NULL},
                 {0.98, 0.1, 0, gain, TT_MARK_RIGHT, "noise: gain (anything)"},
                 {0.98, 0.1, 4, gain, TT_MARK_EMPTY, NULL},
                 {0.98, 0.1, 4, gain, TT_MARK_WRONG, NULL},
                 {0.98, 0.1, 4, "slow:step.seconds / fast:step.seconds - 1", TT_MARK_RIGHT, NULL},
                 {0.98, 0.1, 4, "slow:step.seconds / gone:step.seconds", TT_MARK_RIGHT, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct folder f = {.names = {"slow", "fast"},
                           .profiles = {timed(1, cases[i].deviation, cases[i].steps),
                                        timed(cases[i].seconds, cases[i].deviation, cases[i].steps)},
                           .questions = {{.id = "gain", .kind = TT_ASK_NUMBER, .answer = cases[i].answer}},
                           .question_count = 1, .kind = cases[i].kind};
        struct tt_text out = noise_of(&f);
        CHECK(cases[i].says ? strstr(out.s, cases[i].says) && lines_of(&out) == 1 : !out.n, "case %zu: %s", i, out.s);
        tt_text_free(&out);
    }
    struct folder two = {.names = {"slow", "fast"}, .profiles = {timed(1, 0.1, 4), timed(0.99, 0.1, 4)},
                         .questions = {{.id = "gain", .kind = TT_ASK_NUMBER, .answer = gain},
                                       {.id = "loss", .kind = TT_ASK_NUMBER,
                                        .answer = "fast:step.seconds / slow:step.seconds"}},
                         .question_count = 2, .kind = TT_MARK_RIGHT};
    struct tt_text out = noise_of(&two);
    CHECK(!strncmp(out.s, "noise: gain (", 13) && strstr(out.s, "), loss (") && strstr(out.s, "these are right") &&
          lines_of(&out) == 1, "several in one line: %s", out.s);
    tt_text_free(&out);
}

/* ---- ranks ---- */

/* An efficiency far above 100 % means that the machine was slower while one rank ran alone. */
static void ranks_faster_than_one_are_named(void)
{
    struct folder f = {.names = {"weak"},
                       .profiles = {json("{\"run\": {\"load\": 0.9}, \"rows\": [{\"ranks\": 1, \"efficiency_percent\": "
                                         "100}, {\"ranks\": 2, \"efficiency_percent\": 231}]}")}};
    struct tt_text out = noise_of(&f);
    CHECK(strstr(out.s, "noise: weak: an efficiency of 231 % on 2 ranks: one rank alone was slower"), "%s", out.s);
    CHECK(!strstr(out.s, "100 % on 1"), "%s", out.s);
    tt_text_free(&out);
}

/* One rank alone is the same program in several files, so its times should agree. Files with another batch, and
 * disturbed runs, are not compared. */
static void one_rank_that_differs_is_named(void)
{
    static const char format[] = "{\"run\": {\"waited\": %g}, \"backend\": \"cpu\", \"rows\": [{\"ranks\": 1, "
                                 "\"size\": \"tiny\", \"version\": \"flash\", \"threads\": 1, \"batch_size\": %d, "
                                 "\"median_ms\": %g, \"each\": [{\"operations\": 107}]}]}";
    static const struct {
        double waited, ms;
        int batch;
        const char *says; /* of it and weak, which took 211 ms; NULL: nothing */
    } cases[] = {{0, 467, 8, "noise: weak, slow: one rank alone is the same program in each, and took 211 to 467 ms"},
                 {0, 190, 8, "took 190 to 211 ms"}, {0, 225, 8, NULL}, {0, 467, 4, NULL}, {0.6, 467, 8, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2][400];
        snprintf(text[0], sizeof text[0], format, 0., 8, 211.);
        snprintf(text[1], sizeof text[1], format, cases[i].waited, cases[i].batch, cases[i].ms);
        struct folder f = {.names = {"weak", "slow"}, .profiles = {json(text[0]), json(text[1])}};
        struct tt_text out = noise_of(&f);
        CHECK((strstr(out.s, cases[i].says ? cases[i].says : "one rank alone") != NULL) == (cases[i].says != NULL),
              "case %zu: %s", i, out.s);
        tt_text_free(&out);
    }
}

/* Runs that nothing disturbed are named if what they hide is not measurable. */
static void what_is_not_measurable_is_named(void)
{
    static const char format[] = "{\"run\": {\"waited\": %g}, \"rows\": [{\"ranks\": 1, \"communication_ms\": 0, "
                                 "\"hidden_known\": false}, {\"ranks\": 2, \"communication_ms\": 345, "
                                 "\"hidden_known\": %s}]}";
    char text[3][300];
    snprintf(text[0], sizeof text[0], format, 0., "true");
    snprintf(text[1], sizeof text[1], format, 0., "false");
    snprintf(text[2], sizeof text[2], format, 0.6, "false");
    struct folder f = {.names = {"weak", "late", "busy"}, .profiles = {json(text[0]), json(text[1]), json(text[2])}};
    struct tt_text out = noise_of(&f);
    CHECK(strstr(out.s, "noise: late: what is hidden is not measurable"), "%s", out.s);
    tt_text_free(&out);
}

int main(void)
{
    TEST(a_disturbed_run_has_a_reason);
    TEST(disturbed_runs_have_a_line_each);
    TEST(rows_have_their_own_ranks);
    TEST(doubtful_roofs_are_named);
    TEST(other_roofs_are_named);
    TEST(quotients_that_show_nothing_are_named);
    TEST(ranks_faster_than_one_are_named);
    TEST(one_rank_that_differs_is_named);
    TEST(what_is_not_measurable_is_named);
    return test_end();
}
