/* The checks of the course against figures that were measured on a quiet H200 and a quiet CPU of 16 cores: what a
 * learner measured there is not called wrong, and what is impossible is. */
#include "core/config/config.h"
#include "tests/exercises/course_fixture.h"

static const char weak_text[] =
    "{\"rows\": [{\"median_ms\": 60.78}, {\"communication_ms\": 345.4, \"hidden_ms\": 0, \"hidden_noise_ms\": 6.16, "
    "\"hidden_known\": true}]}";
static const char late_text[] =
    "{\"rows\": [{\"median_ms\": 61.2}, {\"communication_ms\": 342.8, \"hidden_ms\": 0, \"hidden_noise_ms\": 4.48, "
    "\"hidden_known\": true}]}";

static void a_plan_may_reach_what_was_measured(void)
{
    struct tt_exercise e;
    struct tt_json *a = json(baseline_text), *b = json(fused_text);
    struct tt_formula_run r[] = {{.name = "baseline", .profile = a}, {.name = "fused", .profile = b}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/03-bottlenecks", &e));
    CHECK(ask(&e, r, 2, "gemm_percent", "65", &m) == TT_MARK_RIGHT && ask(&e, r, 2, "gemm_percent", "64.7", &m) ==
          TT_MARK_RIGHT && ask(&e, r, 2, "gemm_percent", "64", &m) == TT_MARK_WRONG, "64.7: a figure that is read");
    CHECK(ask(&e, r, 2, "amdahl_rest", "1.546", &m) == TT_MARK_RIGHT && strstr(m.means, "is not bound by it"), "%s",
          m.means);
    CHECK(ask(&e, r, 2, "phase_2", "1.6 to 1.9", &m) == TT_MARK_RIGHT && strstr(m.means, "within your range. "), "%s%s",
          m.reason, m.means);
    CHECK(ask(&e, r, 2, "phase_2", "1.2 to 1.5", &m) == TT_MARK_RIGHT && strstr(m.means, "above your range. "), "%s",
          m.means);
    CHECK(ask(&e, r, 2, "phase_2", "1.2 to 1.83", &m) == TT_MARK_RIGHT &&
          strstr(m.means, "above your range, but the noise of the runs leaves that open. "), "%s", m.means);
    CHECK(ask(&e, r, 2, "phase_2", "1.2 to 2.6", &m) == TT_MARK_WRONG, "beyond the roof of the products");
    CHECK(ask(&e, r, 2, "target_tokens", "86379 -> 159299", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(ask(&e, r, 2, "target_tokens", "86379 -> 250000", &m) == TT_MARK_WRONG);
    CHECK(ask(&e, r, 2, "target_mfu", "33.2 -> 61.3", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(ask(&e, r, 2, "target_mfu", "33.2 -> 101", &m) == TT_MARK_WRONG, "no MFU is above 100 %%");
    CHECK(ask(&e, r, 2, "phase_1", "1 to 1.7", &m) == TT_MARK_RIGHT, "1.697, as it is printed: %s", m.reason);
    CHECK(ask(&e, r, 2, "phase_1", "1 to 1.72", &m) == TT_MARK_WRONG && strstr(m.reason, "ends above"), "%s", m.reason);
    CHECK(ask(&e, r, 2, "target_tokens", "86379 -> 86379", &m) == TT_MARK_WRONG, "no gain is no target");
    CHECK(ask(&e, r, 2, "target_tokens", "159299 -> 200000", &m) == TT_MARK_WRONG &&
          !strcmp(m.reason, "before: that is the figure of the run fused; that of baseline is wanted") && m.misput,
          "%s", m.reason);
    CHECK(ask(&e, r, 2, "target_tokens", "86379 -> 250000", &m) == TT_MARK_WRONG && !m.misput, "why it cannot be");
    CHECK(ask(&e, r, 2, "target_mfu", "61.3 -> 70", &m) == TT_MARK_WRONG && strstr(m.reason, "of the run fused"), "%s",
          m.reason);
    CHECK(ask(&e, r, 2, "target_mfu", "61 -> 70", &m) == TT_MARK_WRONG && !strstr(m.reason, "of the run"),
          "two digits are a figure of some run by chance: %s", m.reason);
    CHECK(ask(&e, r, 2, "target_mfu", "61.06 -> 70", &m) == TT_MARK_WRONG && !strstr(m.reason, "of the run"),
          "no figure of a run is so far off: %s", m.reason);
    CHECK(ask(&e, r, 2, "target_mfu", "36.14 -> 50", &m) == TT_MARK_WRONG && strstr(m.reason, "all of S x S"), "%s",
          m.reason);
    CHECK(ask(&e, r, 2, "analysis_first", "Q, K, V and gate, up: at most 1.7 times", &m) == TT_MARK_RIGHT &&
          ask(&e, r, 2, "analysis_first", "fusing, at most 1.55 times", &m) == TT_MARK_RIGHT, "limits: %s", m.reason);
    CHECK(ask(&e, r, 2, "phase_3", "1.8 to 2.4", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(ask(&e, r, 2, "box_graph", "first", &m) == TT_MARK_RIGHT && strstr(m.means, "8.2"), "%s", m.means);
    CHECK(ask(&e, r, 2, "box_graph", "later", &m) == TT_MARK_WRONG);
    CHECK(ask(&e, r, 2, "host_or_device", "host", &m) == TT_MARK_RIGHT && strstr(m.means, "back-pressure"), "%s",
          m.means);
    CHECK(ask(&e, r, 2, "host_or_device", "device", &m) == TT_MARK_WRONG);
    CHECK(ask(&e, r, 2, "target_mfu", "33.2 -> 61", &m) == TT_MARK_RIGHT && strstr(m.means, "is not decided"), "%s",
          m.means);
    CHECK(ask(&e, r, 2, "target_mfu", "33.2 -> 55", &m) == TT_MARK_RIGHT && strstr(m.means, "is reached"), "%s",
          m.means);
    CHECK(ask(&e, r, 2, "target_tokens", "86379 -> 160000", &m) == TT_MARK_RIGHT && strstr(m.means, "is not decided"),
          "as that of MFU: %s", m.means);
    tt_exercise_free(&e);
    tt_json_free(a);
    tt_json_free(b);
}

/* The products that both runs have alike became slower: where the gate is open, a target below it is too. */
static void a_target_is_as_open_as_the_gate(void)
{
    static const char text[] =
        "{\"schema\": 1, \"run\": {\"steps\": 10, \"backend\": \"cpu\", \"load\": 0.1, \"waited\": 0}, "
        "\"step\": {\"seconds\": %g, \"deviation\": 0.0001, \"tokens_per_second\": %g}, "
        "\"efficiency\": {\"mfu_percent\": %g}, \"groups\": [{\"name\": \"qkv_projection\", \"share\": 0.3, "
        "\"roof_percent\": 40}, {\"name\": \"swiglu_gate_up\", \"share\": 0, \"roof_percent\": 40}], "
        "\"operators\": [{\"name\": \"gemm\", \"group\": \"qkv_projection\", \"count\": 4, \"flops\": 8, "
        "\"bytes\": 2, \"share\": %g}, {\"name\": \"%s\", \"count\": 1, \"flops\": 8, \"bytes\": 2, "
        "\"share\": 0.3}]}";
    char first[800], second[800];
    snprintf(first, sizeof first, text, 0.169, 6055.0, 36.5, 0.55, "softmax");
    snprintf(second, sizeof second, text, 0.1675, 6112.0, 36.84, 0.75, "flash");
    struct tt_json *a = json(first), *b = json(second);
    struct tt_formula_run r[] = {{.name = "baseline", .profile = a}, {.name = "fused", .profile = b}};
    struct tt_exercise e;
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/03-bottlenecks", &e));
    CHECK(ask(&e, r, 2, "gate_throughput", "undecided", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(ask(&e, r, 2, "target_tokens", "6055 -> 7500", &m) == TT_MARK_RIGHT && strstr(m.means, "is not decided"),
          "1.24 times: %s %s", m.reason, m.means);
    CHECK(ask(&e, r, 2, "target_mfu", "36.5 -> 45", &m) == TT_MARK_RIGHT && strstr(m.means, "is not decided"), "%s %s",
          m.reason, m.means);
    CHECK(ask(&e, r, 2, "target_tokens", "6055 -> 9000", &m) == TT_MARK_RIGHT && strstr(m.means, "is missed"), "%s %s",
          m.reason, m.means);
    tt_exercise_free(&e);
    tt_json_free(a);
    tt_json_free(b);
}

/* What ranks hide: what to do where it is undecided, and what a 0 is. */
static void what_is_hidden_says_how_sure_it_is(void)
{
    static const char format[] = "{\"load\": 0.1, \"rows\": [{\"median_ms\": 168.4, \"hidden_known\": false}, {"
                                 "\"ranks\": 2, \"communication_ms\": %g, \"hidden_ms\": %g, \"hidden_noise_ms\": %g, "
                                 "\"one_stream_ms\": 300, \"median_ms\": 310, \"hidden_known\": %s}]}";
    static const struct {
        double communication, hidden, noise;
        const char *known, *id, *answer, *says;
    } cases[] = {{127, 40, 129, "false", "hides", "undecided", "take more STEPS: LINK fits the step of one rank, and "
                                                                 "the difference of the two may be off by 258 ms"},
                 {500, 40, 129, "false", "hides", "undecided", "take another LINK (step 1)"},
                 {127, 0, 6, "true", "late_hidden", "0", "It is 0, as it should be"},
                 {127, 0, 182, "false", "late_hidden", "0", "this 0 is not measured"}};
    struct tt_exercise e;
    struct tt_mark m;
    char text[600];
    CHECK_OK(tt_exercise_read("exercises/11-scaling", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, format, cases[i].communication, cases[i].hidden, cases[i].noise, cases[i].known);
        struct tt_json *a = json(text);
        struct tt_formula_run r[] = {{.name = "weak", .profile = a}, {.name = "late", .profile = a}};
        CHECK(ask(&e, r, 2, cases[i].id, cases[i].answer, &m) == TT_MARK_RIGHT && strstr(m.means, cases[i].says),
              "case %zu: %s %s", i, m.reason, m.means);
        tt_json_free(a);
    }
    tt_exercise_free(&e);
}

/* Kept roofs of a quiet moment, and a run of a busy one: the reason is the run's. */
static void a_busy_run_has_its_own_uncertainty(void)
{
    struct tt_exercise e;
    struct tt_json *a = json("{\"run\": {\"backend\": \"cpu\", \"load\": 6, \"waited\": 0.6, \"steps\": 5}, \"step\": {"
                             "\"seconds\": 1, \"deviation\": 0.001}, \"efficiency\": {\"bound\": \"uncertain\", "
                             "\"intensity\": 16.6, \"ridge\": 11.4, \"mfu_percent\": 8}, \"launch\": {"
                             "\"idle_seconds\": 0}, \"groups\": [{\"name\": \"gaps\", \"share\": 0, "
                             "\"roof_percent\": null}], \"operators\": [{\"name\": \"adamw\", \"bound\": \"memory\", "
                             "\"share\": 0.053}, {"
                             "\"bound\": \"uncertain\", \"share\": 0.811}]}");
    struct tt_formula_run r[] = {{.name = "baseline", .profile = a}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/03-bottlenecks", &e));
    CHECK(ask(&e, r, 1, "side", "undecided", &m) == TT_MARK_RIGHT &&
          strstr(m.means, "The recorded steps were disturbed") && !strstr(m.means, "too low") &&
          !strstr(m.means, "5.3 %"), "%s", m.means);
    CHECK(ask(&e, r, 1, "analysis_limit", "81.1 % of the step is in operators whose bound is uncertain", &m) ==
          TT_MARK_RIGHT, "%s", m.reason);
    tt_exercise_free(&e);
    tt_json_free(a);
}

/* What a step is bound by, where some of its operators are uncertain and where the roofs are. */
static void what_is_uncertain_decides_where_it_can(void)
{
    static const struct {
        double compute, memory, uncertain;
        const char *bound, *id, *right, *wrong; /* words, a blank between them */
    } cases[] = {{0.645, 0.208, 0.146, "uncertain", "workload", "compute", "memory mixed overhead undecided"},
                 {0.5, 0.35, 0.15, "uncertain", "workload", "compute mixed undecided", "memory overhead"},
                 {0.1, 0.1, 0.8, "uncertain", "workload", "compute memory mixed overhead undecided", ""},
                 {0.605, 0.39, 0, "compute", "workload", "compute mixed undecided", "memory overhead"},
                 {0.5, 0.49, 0, "compute", "workload", "mixed", "compute memory undecided"},
                 {0.645, 0.208, 0.146, "uncertain", "side", "compute undecided", "memory"},
                 {0.645, 0.208, 0.146, "compute", "side", "compute", "memory undecided"}};
    struct tt_exercise e;
    struct tt_mark m;
    char text[1000], word[40];
    CHECK_OK(tt_exercise_read("exercises/03-bottlenecks", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text,
                 "{\"run\": {\"backend\": \"cpu\", \"load\": 0.1, \"waited\": 0, \"steps\": 5}, \"step\": {"
                 "\"seconds\": 1, \"deviation\": 0.001}, \"efficiency\": {\"bound\": \"%s\", \"intensity\": 16.6, "
                 "\"ridge\": 10.8}, \"launch\": {\"empty_kernel_seconds\": 4e-7}, "
                 "\"groups\": [{\"name\": \"gaps\", \"share\": 0}], \"operators\": [{"
                 "\"bound\": \"compute\", \"share\": %g}, {\"bound\": \"memory\", \"share\": %g}, {"
                 "\"bound\": \"uncertain\", \"share\": %g, \"intensity\": 12}]}",
                 cases[i].bound, cases[i].compute, cases[i].memory, cases[i].uncertain);
        struct tt_json *a = json(text);
        struct tt_formula_run r[] = {{.name = "baseline", .profile = a}};
        for (const char *at = cases[i].right; tt_list_next(&at, ' ', word, sizeof word);)
            CHECK(ask(&e, r, 1, cases[i].id, word, &m) == TT_MARK_RIGHT, "case %zu, %s: %s", i, word, m.reason);
        for (const char *at = cases[i].wrong; tt_list_next(&at, ' ', word, sizeof word);)
            CHECK(ask(&e, r, 1, cases[i].id, word, &m) == TT_MARK_WRONG, "case %zu, %s: %s", i, word, m.means);
        ask(&e, r, 1, "side", "compute", &m);
        CHECK(!strstr(m.means, "may be too low") == !!strcmp(cases[i].bound, "uncertain"), "case %zu: %s", i, m.means);
        CHECK(!strstr(m.means, "are bound by compute and by memory") == (cases[i].uncertain > 0.1),
              "shares that leave out what is uncertain: %s", m.means);
        tt_json_free(a);
    }
    tt_exercise_free(&e);
}

/* 147.03 MiB were measured after 201.0: what is no gain is no target, and what is printed is reached. */
static void a_target_is_met_as_it_is_printed(void)
{
    struct tt_exercise e;
    struct tt_json *a = json("{\"step\": {\"peak_memory_bytes\": 210763776}, \"memory\": {\"predicted_bytes\": "
                             "210763776, \"arena_bytes\": 120000000}}"),
                   *b = json("{\"step\": {\"peak_memory_bytes\": 154172130}}");
    struct tt_formula_run r[] = {{.name = "baseline", .profile = a}, {.name = "fused", .profile = b}};
    struct tt_mark m;
    static const char *const reached[] = {"201 -> 147", "201 -> 147.03", "201 -> 150", "201 -> 180"};
    CHECK_OK(tt_exercise_read("exercises/03-bottlenecks", &e));
    for (int i = 0; i < 4; i++)
        CHECK(ask(&e, r, 2, "target_memory", reached[i], &m) == TT_MARK_RIGHT && strstr(m.means, "is reached"),
              "%s: %s %s", reached[i], m.reason, m.means);
    CHECK(ask(&e, r, 2, "target_memory", "201 -> 146", &m) == TT_MARK_RIGHT && strstr(m.means, "is missed"), "%s",
          m.means);
    CHECK(ask(&e, r, 2, "target_memory", "201 -> 201", &m) == TT_MARK_WRONG, "%s", m.means);
    tt_exercise_free(&e);
    tt_json_free(a);
    tt_json_free(b);
}

/* 0.1203 is near the third, 0.1312, which is near the second; but 0.1385, which is left out, is not near it. */
static void a_ranking_leaves_out_none_that_is_larger(void)
{
    struct tt_json *a = json(baseline_text);
    struct tt_formula_run r[] = {{.name = "baseline", .profile = a}};
    struct tt_formula_scope scope = {.runs = r, .count = 1};
    struct tt_question q = {.id = "q", .kind = TT_ASK_RANKING, .answer = "groups.share", .count = 3, .tolerance = 0.1};
    struct tt_yaml given = {.kind = TT_YAML_STRING, .text = "swiglu_gate_up, swiglu_down, optimizer"};
    struct tt_mark m;
    CHECK_OK(tt_exercise_judge(&q, &given, &scope, &m));
    CHECK(m.kind == TT_MARK_WRONG && strstr(m.reason, "qkv_projection"), "%s", m.reason);
    given.text = "swiglu_gate_up, swiglu_down, qkv_projection";
    CHECK_OK(tt_exercise_judge(&q, &given, &scope, &m));
    CHECK(m.kind == TT_MARK_RIGHT, "%s", m.reason);
    tt_json_free(a);
}

/* Whatever was measured, if more than the slack, is before what is nothing at all, however wide its span. */
static void nothing_comes_last(void)
{
    struct tt_json *a = json("{\"x\": 0.03, \"y\": 0.003}");
    struct tt_formula_run r[] = {{.name = "baseline", .profile = a}};
    struct tt_formula_scope scope = {.runs = r, .count = 1};
    struct tt_yaml *items = NULL;
    static const char text[] = "most: \"0.5\"\nsome: span(x, 0, 0.2)\nleast: span(y, 0, 0.2)\nnone: \"0\"\n";
    static const struct {
        char *order;
        bool right;
    } cases[] = {{"most, some, least, none", true}, {"most, some, none, least", true},
                 {"most, least, some, none", true}, {"most, none, some, least", false}};
    CHECK_OK(tt_yaml_parse(text, sizeof text - 1, &items));
    struct tt_question q = {.id = "q", .kind = TT_ASK_RANKING, .items = items, .count = 4, .tolerance = 0.15,
                            .slack = 0.005};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_yaml given = {.kind = TT_YAML_STRING, .text = cases[i].order};
        struct tt_mark m;
        CHECK_OK(tt_exercise_judge(&q, &given, &scope, &m));
        CHECK((m.kind == TT_MARK_RIGHT) == cases[i].right, "%s: %s", cases[i].order, m.reason);
    }
    tt_yaml_free(items);
    tt_json_free(a);
}

static void hiding_is_decided_beyond_the_noise(void)
{
    struct tt_exercise e;
    struct tt_json *weak = json(weak_text), *late = json(late_text), *fits = json(fits_text);
    struct tt_formula_run r[] = {{.name = "weak", .profile = weak}, {.name = "late", .profile = late}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/11-scaling", &e));
    CHECK(ask(&e, r, 2, "hides", "undecided", &m) == TT_MARK_RIGHT && strstr(m.means, "another LINK") &&
          !strstr(m.means, "no LINK fits both"), "%s", m.means);
    CHECK(ask(&e, r, 2, "hides", "weak", &m) == TT_MARK_WRONG && ask(&e, r, 2, "hides", "late", &m) == TT_MARK_WRONG);
    r[0].profile = fits;
    CHECK(ask(&e, r, 2, "hides", "weak", &m) == TT_MARK_RIGHT &&
          strstr(m.means, "One rank alone took 250 ms in weak and 61.2 in late."), "%s", m.means);
    CHECK(ask(&e, r, 2, "hides", "undecided", &m) == TT_MARK_WRONG);
    tt_exercise_free(&e);
    tt_json_free(weak);
    tt_json_free(late);
    tt_json_free(fits);
}

/* What is asked of a program that counts bytes is a number, with the slips of one. */
static void tiles_move_what_they_move(void)
{
    static const struct {
        const char *given, *says; /* NULL: it is right */
    } cases[] = {{"3.18", NULL}, {"3.17", NULL}, {"3.2", NULL}, {"3", "rounded too far"},
                 {"3.3", "too large"}, {"0.3145", "reciprocal"},
                 {"3.67", "K and V alone"}, {"4", "too large"}};
    struct tt_exercise e;
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/05-flash", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum tt_mark_kind kind = ask(&e, NULL, 0, "moved_ratio", cases[i].given, &m);
        CHECK(cases[i].says ? kind == TT_MARK_WRONG && strstr(m.reason, cases[i].says) : kind == TT_MARK_RIGHT,
              "%s: %s", cases[i].given, m.reason);
    }
    tt_exercise_free(&e);
}

/* 300 and 330 ms: what again differs by, in percent, and what it is not. */
static void two_runs_differ_by_percent(void)
{
    static const struct {
        const char *given, *says;
    } cases[] = {{"10", NULL}, {"1.1", "that is the quotient; subtract 1"}, {"110", "subtract 100"},
                 {"30", "that is in ms"}, {"0.1", "not a fraction"}, {"9.1", "percent of the step of again"}};
    struct tt_exercise e;
    struct tt_mark m;
    struct tt_json *a = json("{\"step\": {\"seconds\": 0.3}}"), *b = json("{\"step\": {\"seconds\": 0.33}}");
    struct tt_formula_run r[] = {{.name = "baseline", .profile = a}, {.name = "again", .profile = b}};
    CHECK_OK(tt_exercise_read("exercises/01-baseline", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum tt_mark_kind kind = ask(&e, r, 2, "equals_percent", cases[i].given, &m);
        CHECK(cases[i].says ? kind == TT_MARK_WRONG && strstr(m.reason, cases[i].says) : kind == TT_MARK_RIGHT,
              "%s: %s", cases[i].given, m.reason);
    }
    tt_exercise_free(&e);
    tt_json_free(a);
    tt_json_free(b);
}

/* What a right answer means depends on the noise of its runs: two of 148 and 155 ms, and one of twice the batch. */
static void a_meaning_is_within_the_noise(void)
{
    static const struct {
        double again, doubled; /* what the steps scatter by, in s */
        const char *percent, *times, *off;
    } cases[] = {{0.001, 0.02, "More steps do not make it smaller.", "That is 2 within the noise", "off by 9.56 %"},
                 {0.03, 0.001, "More steps make it smaller.", "That is 2 within the noise", "off by 23.2 %"}};
    static const char format[] = "{\"run\": {\"backend\": \"cpu\", \"load\": 0.1, \"waited\": 0, \"steps\": 3}, "
                                 "\"step\": {\"seconds\": %g, \"deviation\": %g, \"tokens_per_second\": %g}}";
    struct tt_exercise e;
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/01-baseline", &e));
    for (int i = 0; i < 2; i++) {
        char text[4][300];
        snprintf(text[0], sizeof text[0], format, 0.1481, 0.001, 1024 / 0.1481);
        snprintf(text[1], sizeof text[1], format, 0.15465, cases[i].again, 1024 / 0.15465);
        snprintf(text[2], sizeof text[2], format, 0.3102, cases[i].doubled, 2048 / 0.3102);
        snprintf(text[3], sizeof text[3], format, 0.15465, cases[i].again, 2048 / 0.15465);
        struct tt_json *a = json(text[0]), *b = json(text[1]), *c = json(text[2]), *d = json(text[3]);
        struct tt_formula_run r[] = {{.name = "baseline", .profile = a}, {.name = "again", .profile = b},
                                     {.name = "double", .profile = c}};
        CHECK(ask(&e, r, 3, "two_percent", "hidden", &m) == TT_MARK_RIGHT && strstr(m.means, cases[i].percent), "%s",
              m.means);
        CHECK(ask(&e, r, 3, "double_times", "2.095", &m) == TT_MARK_RIGHT && strstr(m.means, cases[i].times), "%s",
              m.means);
        CHECK(ask(&e, r, 3, "predicted_double", "2", &m) == TT_MARK_RIGHT && strstr(m.means, cases[i].off), "%s",
              m.means); /* the larger noise, of again or of double */
        r[2].profile = d; /* far below 2 */
        CHECK(i || (ask(&e, r, 3, "double_times", "1.044", &m) == TT_MARK_RIGHT && strstr(m.means, "Below 2: ")), "%s",
              m.means);
        tt_json_free(d);
        tt_json_free(a);
        tt_json_free(b);
        tt_json_free(c);
    }
    tt_exercise_free(&e);
}

/* A run that was busy says nothing of the other two: what these decide is right, and undecided too. */
static void a_busy_run_leaves_a_gain_open(void)
{
    static const char format[] = "{\"run\": {\"backend\": \"cpu\", \"device\": \"c, 1 thread\", \"load\": 0.1, "
                                 "\"waited\": %g, \"steps\": 9}, \"step\": {\"seconds\": %g, \"deviation\": 0.001, "
                                 "\"tokens_per_second\": %g}}";
    struct tt_exercise e;
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/01-baseline", &e));
    for (int busy = 0; busy < 2; busy++) {
        char text[3][300];
        snprintf(text[0], sizeof text[0], format, 0., 0.2, 5000.);
        snprintf(text[1], sizeof text[1], format, busy ? 0.4 : 0., busy ? 0.27 : 0.2, 1000 / (busy ? 0.27 : 0.2));
        snprintf(text[2], sizeof text[2], format, 0., 0.55, 2000 / 0.55);
        struct tt_json *a = json(text[0]), *b = json(text[1]), *c = json(text[2]);
        struct tt_formula_run r[] = {{.name = "baseline", .profile = a}, {.name = "again", .profile = b},
                                     {.name = "double", .profile = c}};
        CHECK(ask(&e, r, 3, "double_gain", "fewer", &m) == TT_MARK_RIGHT, "%s", m.reason);
        CHECK(ask(&e, r, 3, "double_gain", "undecided", &m) == (busy ? TT_MARK_RIGHT : TT_MARK_WRONG) &&
                  !strstr(m.means, "may be nothing") == !busy, "%s%s", m.reason, m.means);
        CHECK(ask(&e, r, 3, "double_gain", "more", &m) == TT_MARK_WRONG, "%s", m.means);
        tt_json_free(a);
        tt_json_free(b);
        tt_json_free(c);
    }
    tt_exercise_free(&e);
}

/* Of a machine that changed between two runs of one program, the other one decides as little. */
static void a_gain_holds_against_both_runs(void)
{
    static const char format[] = "{\"run\": {\"backend\": \"cpu\", \"load\": 0.1, \"waited\": 0, \"steps\": 9}, "
                                 "\"step\": {\"seconds\": %g, \"deviation\": 0.001, \"tokens_per_second\": %g}}";
    static const double doubled[] = {0.557, 0.7}; /* baseline takes 215 ms, again 260 */
    struct tt_exercise e;
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/01-baseline", &e));
    for (int i = 0; i < 2; i++) {
        char text[3][300];
        snprintf(text[0], sizeof text[0], format, 0.215, 1000 / 0.215);
        snprintf(text[1], sizeof text[1], format, 0.26, 1000 / 0.26);
        snprintf(text[2], sizeof text[2], format, doubled[i], 2000 / doubled[i]);
        struct tt_json *a = json(text[0]), *b = json(text[1]), *c = json(text[2]);
        struct tt_formula_run r[] = {{.name = "baseline", .profile = a}, {.name = "again", .profile = b},
                                     {.name = "double", .profile = c}};
        CHECK(ask(&e, r, 3, "double_gain", "undecided", &m) == (i ? TT_MARK_WRONG : TT_MARK_RIGHT), "%s", m.means);
        CHECK(ask(&e, r, 3, "double_gain", "fewer", &m) == TT_MARK_RIGHT &&
                  (strstr(m.means, "against again") == NULL) == i, "%s", m.means);
        snprintf(text[0], sizeof text[0], "%.3f", doubled[i] / 0.215);
        CHECK(ask(&e, r, 3, "double_times", text[0], &m) == TT_MARK_RIGHT &&
                  strstr(m.means, i ? "Above 2" : "differed by 20.9 %: this says little of the batch"),
              "%s", m.means);
        tt_json_free(a);
        tt_json_free(b);
        tt_json_free(c);
    }
    tt_exercise_free(&e);
}

/* What two runs of one program differ by says nothing of the batch either. */
static void a_gain_is_no_less_than_what_two_runs_differ_by(void)
{
    static const char format[] = "{\"run\": {\"backend\": \"cpu\", \"load\": 0.1, \"waited\": 0, \"steps\": 3}, "
                                 "\"step\": {\"seconds\": %g, \"deviation\": %g, \"tokens_per_second\": %g}}";
    static const double again[] = {0.1873, 0.148, 0.148};
    struct tt_exercise e;
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/01-baseline", &e));
    for (int i = 0; i < 3; i++) { /* 2: a loss of 15 %, within a noise of 25 % */
        char text[3][300];
        snprintf(text[0], sizeof text[0], format, 0.1473, 0.001, 6950.0);
        snprintf(text[1], sizeof text[1], format, again[i], i == 2 ? 0.03 : 0.001, 1023.735 / again[i]);
        snprintf(text[2], sizeof text[2], format, 0.3756, 0.001, i == 2 ? 5900.0 : 5451.0);
        struct tt_json *a = json(text[0]), *b = json(text[1]), *c = json(text[2]);
        struct tt_formula_run r[] = {{.name = "baseline", .profile = a}, {.name = "again", .profile = b},
                                     {.name = "double", .profile = c}};
        CHECK(ask(&e, r, 3, "double_gain", "undecided", &m) == (i == 1 ? TT_MARK_WRONG : TT_MARK_RIGHT), "%s %s",
              m.reason, m.means);
        CHECK(ask(&e, r, 3, "double_times", "2.55", &m) == TT_MARK_RIGHT &&
              strstr(m.means, i == 1 ? "Above 2" : "That is 2 within the noise"), "%s", m.means);
        tt_json_free(a);
        tt_json_free(b);
        tt_json_free(c);
    }
    tt_exercise_free(&e);
}

int main(void)
{
    TEST(a_plan_may_reach_what_was_measured);
    TEST(a_target_is_as_open_as_the_gate);
    TEST(what_is_uncertain_decides_where_it_can);
    TEST(a_busy_run_has_its_own_uncertainty);
    TEST(what_is_hidden_says_how_sure_it_is);
    TEST(a_target_is_met_as_it_is_printed);
    TEST(a_ranking_leaves_out_none_that_is_larger);
    TEST(nothing_comes_last);
    TEST(hiding_is_decided_beyond_the_noise);
    TEST(tiles_move_what_they_move);
    TEST(two_runs_differ_by_percent);
    TEST(a_meaning_is_within_the_noise);
    TEST(a_busy_run_leaves_a_gain_open);
    TEST(a_gain_holds_against_both_runs);
    TEST(a_gain_is_no_less_than_what_two_runs_differ_by);
    return test_end();
}
