/* The checks of the course against figures that were measured on a quiet H200 and a quiet CPU of 16 cores: what a
 * learner measured there is not called wrong, and what is impossible is. */
#include "tests/exercises/course_fixture.h"

/* A figure is right as it is printed, and its meaning gives the figures behind it. */
static void figures_are_right_as_they_are_printed(void)
{
    struct tt_json *a = json(baseline_text), *b = json(fused_text);
    struct tt_formula_run r[] = {{.name = "baseline", .profile = a}, {.name = "fused", .profile = b}};
    static const struct asked q[] = {
        {"gemm_percent", "65", TT_MARK_RIGHT, NULL},
        {"gemm_percent", "64.7", TT_MARK_RIGHT, NULL},
        {"gemm_percent", "64", TT_MARK_WRONG, NULL},
        {"amdahl_rest", "1.546", TT_MARK_RIGHT, "is not bound by it"},
        {"analysis_first", "Q, K, V and gate, up: at most 1.7 times", TT_MARK_RIGHT, NULL},
        {"analysis_first", "fusing, at most 1.55 times", TT_MARK_RIGHT, NULL},
        {"box_graph", "first", TT_MARK_RIGHT, "8.22 % of the step: 0 % that the device waits for launches"},
        {"box_graph", "later", TT_MARK_WRONG, NULL},
        {"host_or_device", "host", TT_MARK_RIGHT, "back-pressure"},
        {"host_or_device", "device", TT_MARK_WRONG, NULL},
        {"speedup_small", "1.844", TT_MARK_RIGHT, "The interval is 1.82 to 1.87"},
        {"gate_throughput", "holds", TT_MARK_RIGHT, NULL},
        {"open_gate", "throughput", TT_MARK_WRONG, NULL}};
    ask_all("exercises/03-bottlenecks", r, 2, q, sizeof q / sizeof *q);
    tt_json_free(a);
    tt_json_free(b);
}

/* On a CPU nothing waits for launches, so time beside the kernels does not count as launches. */
static void a_cpu_waits_for_no_launch(void)
{
    struct tt_json *a = json(
        "{\"run\": {\"backend\": \"cpu\", \"num_layers\": 4, \"waited\": 0.01, \"steps\": 3}, \"step\": {"
        "\"seconds\": 1.5137, \"deviation\": 0.02, \"kernel_seconds\": 1.45, \"kernels\": 636}, \"launch\": {"
        "\"total_seconds\": 0.00028, \"idle_seconds\": 0.0599, \"empty_kernel_seconds\": 1e-7, "
        "\"graph_kernel_seconds\": null}, \"memory\": {\"arena_bytes\": 1002, \"live_bytes\": 1000}, \"groups\": ["
        "{\"name\": \"qkv_projection\", \"share\": 0.2}, {\"name\": \"attention_scores\", \"share\": 0.05}, "
        "{\"name\": \"attention_softmax\", \"share\": 0.03}, {\"name\": \"attention_output\", \"share\": 0.1}, "
        "{\"name\": \"swiglu_gate_up\", \"share\": 0.3}, {\"name\": \"swiglu_activation\", \"share\": 0.02}, "
        "{\"name\": \"swiglu_down\", \"share\": 0.12}, {\"name\": \"rms_norm\", \"share\": 0.033}, "
        "{\"name\": \"residual\", \"share\": 0.02}], \"sweeps\": [{\"axis\": \"seq\", \"value\": 128, "
        "\"seconds\": 1.514}, {\"axis\": \"seq\", \"value\": 512, \"seconds\": 2.967}]}");
    struct tt_formula_run r[] = {{.name = "baseline", .profile = a}};
    static const struct asked q[] = {
        {"host_or_device", "neither", TT_MARK_RIGHT, NULL},
        {"host_or_device", "host", TT_MARK_WRONG, NULL},
        {"launch_percent", "0.0185", TT_MARK_RIGHT, "The device idles 0 % of the step."},
        {"launch_percent", "1.85", TT_MARK_WRONG, "by 100 twice"},
        {"launch_percent", "0.000185", TT_MARK_WRONG, "not a fraction"},
        {"products_saved", "24", TT_MARK_WRONG, "backward pass alone"},
        {"token_time", "0.49", TT_MARK_RIGHT, NULL},
        {"token_time", "1", TT_MARK_WRONG, "only grew with the tokens"},
        {"bottlenecks", "feed_forward, qkv, attention, norms, fragmentation, launches", TT_MARK_UNKNOWN, NULL},
        {"bottlenecks", "feed_forward, projections, attention, norms, fragmentation, launches", TT_MARK_RIGHT,
         "launches 0 %"},
        {"bottlenecks", "feed_forward, projections, norms, attention, fragmentation, launches", TT_MARK_WRONG,
         "norms is not number 3"},
        {"bottlenecks", "fragmentation, projections, feed_forward, attention, norms, launches", TT_MARK_WRONG, NULL},
        {"box_graph", "later", TT_MARK_RIGHT, NULL},
        {"box_graph", "first", TT_MARK_WRONG, NULL},
        {"box_graph", "undecided", TT_MARK_WRONG, NULL}};
    ask_all("exercises/03-bottlenecks", r, 1, q, sizeof q / sizeof *q);
    tt_json_free(a);
}

/* A workload is what bounds more than 60 % of the step, else mixed. Near 60 % both words are right. `undecided` is
 * right too if more than 10 % is uncertain; for the side of the ridge, if tt calls the step uncertain. */
static void what_a_step_is_bound_by(void)
{
    static const struct {
        double compute, memory, uncertain;
        const char *bound, *id, *right, *wrong; /* words, a blank between them */
    } cases[] = {{0.645, 0.208, 0.05, "compute", "workload", "compute", "memory mixed overhead undecided"},
                 {0.645, 0.208, 0.146, "uncertain", "workload", "compute undecided", "memory mixed overhead"},
                 {0.5, 0.35, 0.15, "uncertain", "workload", "mixed undecided", "compute memory overhead"},
                 {0.1, 0.1, 0.8, "uncertain", "workload", "mixed undecided", "compute memory overhead"},
                 {0.605, 0.39, 0, "compute", "workload", "compute mixed undecided", "memory overhead"},
                 {0.3, 0.7, 0, "memory", "workload", "memory", "compute mixed overhead undecided"},
                 {0.5, 0.49, 0, "compute", "workload", "mixed", "compute memory undecided"},
                 {0.645, 0.208, 0.146, "uncertain", "side", "compute undecided", "memory"},
                 {0.645, 0.208, 0.146, "compute", "side", "compute", "memory undecided"}};
    struct tt_exercise e;
    char text[1000];
    CHECK_OK(tt_exercise_read("exercises/03-bottlenecks", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text,
                 "{\"run\": {\"backend\": \"cpu\", \"waited\": 0}, \"step\": {\"seconds\": 1}, \"launch\": {"
                 "\"idle_seconds\": 0}, \"efficiency\": {\"bound\": \"%s\", \"intensity\": 16.6, \"ridge\": 10.8, "
                 "\"mfu_percent\": 8}, \"groups\": [{\"name\": \"gaps\", \"share\": 0, \"roof_percent\": null}], "
                 "\"operators\": [{\"bound\": \"compute\", \"share\": %g}, {\"bound\": \"memory\", "
                 "\"share\": %g}, {\"bound\": \"uncertain\", \"share\": %g}]}",
                 cases[i].bound, cases[i].compute, cases[i].memory, cases[i].uncertain);
        struct tt_json *a = json(text);
        struct tt_formula_run r[] = {{.name = "baseline", .profile = a}};
        snprintf(text, sizeof text, "case %zu", i);
        check_words(&e, r, 1, cases[i].id, cases[i].right, cases[i].wrong, text);
        static const struct asked limit = {"analysis_limit", "80 % of the step is in operators of an uncertain bound",
                                           TT_MARK_RIGHT, "80 %: the share whose bound is uncertain"};
        if (cases[i].uncertain > 0.5) ask_all("exercises/03-bottlenecks", r, 1, &limit, 1);
        tt_json_free(a);
    }
    tt_exercise_free(&e);
}

/* Near a limit both words are right, and `undecided` if it is one of the choices. */
static void near_a_limit_both_words_are_right(void)
{
    static const struct {
        const char *folder, *run, *id;
        double mfu, intensity, launches, products;
        const char *right, *wrong;
    } cases[] = {{"03-bottlenecks", "baseline", "efficiency_class", 19.5, 5, 0, 0, "low moderate", "good high"},
                 {"03-bottlenecks", "baseline", "efficiency_class", 15, 5, 0, 0, "low", "moderate good high"},
                 {"03-bottlenecks", "baseline", "efficiency_class", 70, 5, 0, 0, "high", "low moderate good"},
                 {"03-bottlenecks", "baseline", "side", 15, 9.5, 0, 0, "memory compute undecided", ""},
                 {"03-bottlenecks", "baseline", "side", 15, 5, 0, 0, "memory", "compute undecided"},
                 {"03-bottlenecks", "baseline", "side", 15, 20, 0, 0, "compute", "memory undecided"},
                 {"06-host", "plain", "shortest_step", 0, 0, 0.001, 0, "true y", "false"},
                 {"06-host", "plain", "shortest_step", 0, 0, 0.95, 0, "true false", ""},
                 {"06-host", "plain", "shortest_step", 0, 0, 3, 0, "false no", "true"},
                 {"01-baseline", "baseline", "mostly_gemm", 0, 0, 0, 0.83, "false no N", "true yes"},
                 {"01-baseline", "baseline", "mostly_gemm", 0, 0, 0, 0.3, "true yes", "false"},
                 {"01-baseline", "baseline", "mostly_gemm", 0, 0, 0, 0.502, "true false", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_exercise e;
        char text[400], folder[80];
        snprintf(text, sizeof text,
                 "{\"run\": {\"backend\": \"cpu\", \"waited\": 0}, \"step\": {\"seconds\": 1}, \"launch\": {"
                 "\"total_seconds\": %g}, \"efficiency\": {\"mfu_percent\": %g, \"bound\": \"memory\", "
                 "\"intensity\": %g, \"ridge\": 10}, \"operators\": [{\"name\": \"gemm\", \"share\": %g}]}",
                 cases[i].launches, cases[i].mfu, cases[i].intensity, cases[i].products);
        struct tt_json *a = json(text);
        struct tt_formula_run r[] = {{.name = cases[i].run, .profile = a}};
        snprintf(folder, sizeof folder, "exercises/%s", cases[i].folder);
        snprintf(text, sizeof text, "case %zu", i);
        CHECK_OK(tt_exercise_read(folder, &e));
        check_words(&e, r, 1, cases[i].id, cases[i].right, cases[i].wrong, text);
        tt_exercise_free(&e);
        tt_json_free(a);
    }
}

/* A group above its roof has nothing to gain: its bytes came from a cache. */
static void a_cache_is_no_low_roof(void)
{
    static const struct {
        double gate_up; /* what it reaches of its roof, in percent */
        const char *right, *wrong;
    } cases[] = {{97.6, "swiglu_activation", "swiglu_gate_up rms_norm optimizer"},
                 {130, "swiglu_activation", "swiglu_gate_up rms_norm optimizer"},
                 {50, "swiglu_gate_up", "swiglu_activation rms_norm optimizer"},
                 {92.4, "swiglu_gate_up swiglu_activation", "rms_norm optimizer"}};
    struct tt_exercise e;
    struct tt_mark m;
    char text[700];
    CHECK_OK(tt_exercise_read("exercises/01-baseline", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text,
                 "{\"run\": {}, \"groups\": [{\"name\": \"swiglu_gate_up\", \"share\": 0.4, \"roof_percent\": "
                 "%g}, {\"name\": \"swiglu_activation\", \"share\": 0.0423, \"roof_percent\": 25.7}, {\"name\": "
                 "\"rms_norm\", \"share\": 0.2, \"roof_percent\": 104.2}, {\"name\": \"optimizer\", \"share\": "
                 "0.0182, \"roof_percent\": 59.7}]}", cases[i].gate_up);
        struct tt_json *a = json(text);
        struct tt_formula_run r[] = {{.name = "baseline", .profile = a}};
        check_words(&e, r, 1, "most_to_gain", cases[i].right, cases[i].wrong, "a roof");
        ask(&e, r, 1, "most_to_gain", "swiglu_activation", &m);
        const char *close = strstr(m.means, "swiglu_activation has 3.14 % of the step to gain, swiglu_gate_up 3.04: "
                                            "that close, either counts as first.");
        CHECK((close != NULL) == (i == 3), "%s", m.means);
        tt_json_free(a);
    }
    tt_exercise_free(&e);
}

/* A limit of 1.1 is that of attention in tiles, 1.102, and not that of Q, K, V, which is 1.12. */
static void of_two_the_nearer_is_named(void)
{
    struct tt_json *a = json(
        "{\"run\": {\"backend\": \"cpu\"}, \"step\": {\"seconds\": 1}, \"launch\": {\"idle_seconds\": 0}, "
        "\"groups\": [{\"name\": \"qkv_projection\", \"share\": 0.107, \"roof_percent\": 50}, {\"name\": "
        "\"attention_scores\", \"share\": 0.0397}, {\"name\": \"attention_softmax\", \"share\": 0.017}, {\"name\": "
        "\"attention_output\", \"share\": 0.0876}], \"operators\": [{\"name\": \"gemm\", \"group\": "
        "\"attention_output\", \"shape\": \"64x64x64\", \"share\": 0.0513}]}");
    struct tt_formula_run r[] = {{.name = "baseline", .profile = a}};
    static const struct asked q = {"analysis_first", "flash first, limit 1.1 times", TT_MARK_RIGHT,
                                   "1.1: the limit of attention without its output projection"};
    ask_all("exercises/03-bottlenecks", r, 1, &q, 1);
    tt_json_free(a);
}

/* A speed-up is printed with enough digits to tell it from 1. */
static void figures_have_the_digits_they_need(void)
{
    static const struct {
        double share;
        const char *says;
    } cases[] = {{0.0199, "1.99 % of the step: at most 1.02 times"},
                 {0.0028, "0.28 % of the step: at most 1.003 times"}};
    for (int i = 0; i < 2; i++) {
        char text[300];
        snprintf(text, sizeof text, "{\"run\": {}, \"groups\": [{\"name\": \"optimizer\", \"share\": %g}, {"
                                    "\"name\": \"gradient_clip\", \"share\": 0}]}", cases[i].share);
        struct tt_json *a = json(text);
        struct tt_formula_run r[] = {{.name = "baseline", .profile = a}};
        ask_all("exercises/03-bottlenecks", r, 1,
                &(struct asked){"box_optimizer", "later", TT_MARK_RIGHT, cases[i].says}, 1);
        tt_json_free(a);
    }
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

/* A figure within the slack may be swapped with 0; a larger one comes before it. */
static void nothing_comes_last(void)
{
    struct tt_formula_scope scope = {.count = 0};
    struct tt_yaml *items = NULL;
    static const char text[] = "most: \"0.5\"\nsome: \"0.03\"\nleast: \"0.003\"\nnone: \"0\"\n";
    static const struct {
        char *order;
        bool right;
    } cases[] = {{"most, some, least, none", true}, {"most, some, none, least", true},
                 {"most, least, some, none", false}, {"most, none, some, least", false}};
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

int main(void)
{
    TEST(figures_are_right_as_they_are_printed);
    TEST(a_cpu_waits_for_no_launch);
    TEST(what_a_step_is_bound_by);
    TEST(near_a_limit_both_words_are_right);
    TEST(a_cache_is_no_low_roof);
    TEST(of_two_the_nearer_is_named);
    TEST(figures_have_the_digits_they_need);
    TEST(a_ranking_leaves_out_none_that_is_larger);
    TEST(nothing_comes_last);
    TEST(tiles_move_what_they_move);
    TEST(two_runs_differ_by_percent);
    return test_end();
}
