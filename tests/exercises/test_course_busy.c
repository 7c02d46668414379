/* The checks of the course on runs of a busy machine, whose times decide nothing: undecided is right there, and no
 * reply draws a conclusion from them. */
#include "tests/exercises/course_fixture.h"

static const char busy_text[] =
    "{\"run\": {\"backend\": \"cpu\", \"device\": \"Xeon, 1 thread\", "
    "\"num_layers\": 4, \"waited\": 0.5984, \"steps\": 3, \"batch_size\": 8}, "
    "\"step\": {\"seconds\": 1.5137, \"deviation\": 0.02, \"p95\": 1.52, \"fastest\": 1.51, "
    "\"kernel_seconds\": 1.45, \"tokens_per_second\": 676, \"kernels\": 636, "
    "\"launched_seconds\": 1.5137}, \"launch\": {\"total_seconds\": 0.00028, \"idle_seconds\": 0.0599, "
    "\"empty_kernel_seconds\": 1e-7, \"graph_kernel_seconds\": null, \"event_seconds\": 4e-8, "
    "\"recorded_overhead\": 0.023}, \"memory\": {\"arena_bytes\": 1002, "
    "\"live_bytes\": 1000}, \"efficiency\": {\"mfu_percent\": 19.2, "
    "\"mfu_full_percent\": 21, \"mfu_class\": \"low\"}, \"phases\": ["
    "{\"name\": \"forward\", \"device\": 0.5}, {\"name\": \"backward\", \"device\": 0.865}], \"operators\": ["
    "{\"name\": \"gemm\", \"phase\": \"forward_pass\", \"seconds\": 0.4, \"share\": 0.3}, "
    "{\"name\": \"gemm\", \"phase\": \"backward_pass\", \"seconds\": 0.7, \"share\": 0.5}], \"groups\": ["
    "{\"name\": \"qkv_projection\", \"share\": 0.2, \"roof_percent\": 2.2}, "
    "{\"name\": \"attention_scores\", \"share\": 0.05}, "
    "{\"name\": \"attention_softmax\", \"share\": 0.03}, {\"name\": \"attention_output\", \"share\": 0.1}, "
    "{\"name\": \"swiglu_gate_up\", \"share\": 0.3, \"roof_percent\": 4.6}, "
    "{\"name\": \"swiglu_activation\", \"share\": 0.02}, "
    "{\"name\": \"swiglu_down\", \"share\": 0.12}, {\"name\": \"rms_norm\", \"share\": 0.033}, "
    "{\"name\": \"residual\", \"share\": 0.02}, {\"name\": \"gradient_clip\", \"share\": 0.01}, "
    "{\"name\": \"optimizer\", \"share\": 0.05}], \"sweeps\": [{\"axis\": \"seq\", \"value\": 128, "
    "\"seconds\": 1.514}, {\"axis\": \"seq\", \"value\": 512, \"seconds\": 2.967}]}";
static const char busy_fused_text[] = "{\"run\": {\"device\": \"Xeon, 1 thread\", \"waited\": 0.5984, "
                                      "\"steps\": 3, \"batch_size\": 16}, \"step\": "
                                      "{\"seconds\": 0.6761, \"deviation\": 0.01, \"tokens_per_second\": 1514}, "
                                      "\"efficiency\": {\"mfu_percent\": 43}}";
static const char busy_far_text[] = "{\"run\": {\"device\": \"Xeon, 1 thread\", \"waited\": 0.5984, "
                                      "\"steps\": 3, \"batch_size\": 16}, \"step\": "
                                      "{\"seconds\": 0.225367, \"deviation\": 0.01, \"tokens_per_second\": 1514}}";

/* The same run on a machine that was not busy. */
static struct tt_json *quiet_json(void)
{
    char text[sizeof busy_text];
    memcpy(text, busy_text, sizeof text);
    memcpy(strstr(text, "0.5984"), "0.0100", 6);
    return json(text);
}

/* Near the border of two boxes undecided is right beside the one that the share is in, and never the other one. */
static void a_box_may_stay_open(void)
{
    struct tt_exercise e;
    struct tt_json *a = quiet_json();
    struct tt_formula_run r[] = {{.name = "baseline", .profile = a}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/03-bottlenecks", &e));
    static const char *const near[] = {"box_norm", "box_optimizer"}; /* 5.3 and 6 % */
    for (int i = 0; i < 2; i++)
        CHECK(ask(&e, r, 1, near[i], "first", &m) == TT_MARK_RIGHT && ask(&e, r, 1, near[i], "undecided", &m) ==
              TT_MARK_RIGHT && ask(&e, r, 1, near[i], "later", &m) == TT_MARK_WRONG, "%s: %s", near[i], m.reason);
    CHECK(ask(&e, r, 1, "box_qkv", "undecided", &m) == TT_MARK_WRONG && ask(&e, r, 1, "box_flash", "undecided", &m) ==
          TT_MARK_WRONG, "far from the border");
    CHECK(ask(&e, r, 1, "box_softmax", "undecided", &m) == TT_MARK_WRONG, "3 %%");
    CHECK(ask(&e, r, 1, "bottlenecks", "norms, projections, feed_forward, attention, fragmentation, launches", &m) ==
          TT_MARK_WRONG, "norms have least");
    tt_exercise_free(&e);
    tt_json_free(a);
}

/* Shares of a busy run tell neither boxes of one effort apart nor the order of groups. */
static void shares_of_a_busy_run_decide_nothing(void)
{
    struct tt_exercise e;
    struct tt_json *a = json(busy_text), *b = json(busy_fused_text);
    struct tt_formula_run r[] = {{.name = "baseline", .profile = a}};
    struct tt_formula_run two[] = {{.name = "baseline", .profile = a}, {.name = "fused", .profile = b}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/03-bottlenecks", &e));
    static const char *const low[] = {"box_qkv", "box_gate_up", "box_norm", "box_optimizer"};
    for (int i = 0; i < 4; i++)
        CHECK(ask(&e, r, 1, low[i], "first", &m) == TT_MARK_RIGHT && ask(&e, r, 1, low[i], "later", &m) ==
              TT_MARK_RIGHT && ask(&e, r, 1, low[i], "undecided", &m) == TT_MARK_RIGHT &&
              strstr(m.means, "were disturbed") && ask(&e, r, 1, low[i], "never", &m) == TT_MARK_WRONG, "%s: %s",
              low[i], m.means);
    CHECK(ask(&e, r, 1, "box_softmax", "project", &m) == TT_MARK_RIGHT && ask(&e, r, 1, "box_softmax", "first", &m) ==
          TT_MARK_WRONG && ask(&e, r, 1, "box_flash", "undecided", &m) == TT_MARK_RIGHT, "%s", m.means);
    CHECK(ask(&e, r, 1, "bottlenecks", "norms, projections, feed_forward, attention, fragmentation, launches", &m) ==
          TT_MARK_RIGHT && strstr(m.means, "may stand in either order"), "%s %s", m.reason, m.means);
    CHECK(ask(&e, r, 1, "bottlenecks", "fragmentation, projections, feed_forward, attention, norms, launches", &m) ==
          TT_MARK_WRONG, "memory is no time");
    static const char *const limits[][2] = {{"phase_1", "1.1 to 3"}, {"phase_2", "1.1 to 4"}, {"phase_3", "1.1 to 4"},
                                            {"target_tokens", "676 -> 3500"}, {"target_mfu", "19.2 -> 90"}};
    for (int i = 0; i < 5; i++)
        CHECK(ask(&e, two, 2, limits[i][0], limits[i][1], &m) == TT_MARK_RIGHT, "%s: %s, %s", limits[i][0], m.reason,
              m.right);
    CHECK(ask(&e, two, 2, "phase_2", "1.1 to 987654321", &m) == TT_MARK_WRONG && strstr(m.right, "and 4.51"), "%s",
          m.right);
    CHECK(ask(&e, two, 2, "phase_1", "1.1 to 1.3", &m) == TT_MARK_RIGHT && strstr(m.means, "were disturbed"), "%s %s",
          m.reason, m.means);
    static const char *const said[][2] = {{"amdahl_rest", "1.25"}, {"gemm_percent", "80"},
                                          {"amdahl_gate_up", "1.119"}, {"top10_percent", "80"}};
    for (int i = 0; i < 4; i++)
        CHECK(ask(&e, two, 2, said[i][0], said[i][1], &m) == TT_MARK_RIGHT && strstr(m.means, "12.4 times as long") &&
              !strstr(m.means, "decide:"), "%s: %s %s", said[i][0], m.reason, m.means);
    CHECK(ask(&e, two, 2, "products_mfu", "26.4", &m) == TT_MARK_RIGHT && strstr(m.means, "surrounds the products"),
          "%s %s", m.reason, m.means);
    struct tt_json *seconds = (struct tt_json *)tt_json_get(tt_json_get(a, "step"), "seconds");
    seconds->number = 1.05; /* shorter than its recorded products, 1.1 s */
    CHECK(ask(&e, two, 2, "products_mfu", "18.3", &m) == TT_MARK_RIGHT && strstr(m.means, "says nothing") &&
          !strstr(m.means, "surrounds"), "%s %s", m.reason, m.means);
    tt_json_free(b);
    tt_exercise_free(&e);
    tt_json_free(a);
}

/* A roof that was measured under load, or that another run has higher, bounds no target and decides no class. */
static void a_low_roof_decides_nothing(void)
{
    static const char text[] =
        "{\"run\": {\"backend\": \"cpu\", \"device\": \"x\", \"waited\": 0.01, \"steps\": 3}, \"step\": {\"seconds\": "
        "0.2, \"deviation\": 0.001, \"tokens_per_second\": %g}, \"launch\": {\"recorded_overhead\": 0}, "
        "\"efficiency\": {\"mfu_percent\": %g, \"mfu_full_percent\": 99, \"gemm_flops_per_second\": %g, "
        "\"roofs_load\": %g}, \"operators\": [{"
        "\"name\": \"gemm\", \"seconds\": 0.15, \"share\": 0.3, \"group\": \"x\"}], \"groups\": [{\"name\": "
        "\"qkv_projection\", \"share\": 0.1, \"roof_percent\": %g}, {\"name\": \"swiglu_gate_up\", \"share\": 0.2, "
        "\"roof_percent\": 60}]}";
    static const struct {
        double load, roof_of_fused, mfu_of_fused;
        bool low;
    } cases[] = {{0.1, 1.5e11, 113, false}, {5, 1.5e11, 113, true}, {0.1, 4.5e11, 37.6, true}};
    struct tt_exercise e;
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/03-bottlenecks", &e));
    for (int i = 0; i < 3; i++) {
        char first[900], second[900];
        bool low = cases[i].low;
        snprintf(first, sizeof first, text, 5000., 90., 1.5e11, cases[i].load, low ? 136. : 90.);
        snprintf(second, sizeof second, text, 6267., cases[i].mfu_of_fused, cases[i].roof_of_fused, 0.1, 60.);
        struct tt_json *a = json(first), *b = json(second);
        struct tt_formula_run r[] = {{.name = "baseline", .profile = a}, {.name = "fused", .profile = b}};
        CHECK(ask(&e, r, 2, "efficiency_class", "high", &m) == TT_MARK_RIGHT &&
              (strstr(m.means, "the roof may be too low") != NULL) == low, "%d: %s", i, m.means);
        CHECK((ask(&e, r, 2, "efficiency_class", "undecided", &m) == TT_MARK_RIGHT) == low, "%d", i);
        CHECK((ask(&e, r, 2, "target_tokens", "5000 -> 6500", &m) == TT_MARK_RIGHT) == low, "%d: %s", i, m.right);
        CHECK(ask(&e, r, 2, "target_tokens", "5000 -> 5500", &m) == TT_MARK_RIGHT, "%d: %s", i, m.right);
        CHECK((ask(&e, r, 2, "target_mfu", "90 -> 110", &m) == TT_MARK_RIGHT) == low, "%d: %s", i, m.right);
        CHECK(ask(&e, r, 2, "target_mfu", "90 -> 95", &m) == TT_MARK_RIGHT && strstr(m.means, "Measured 112.8 %") &&
              (strstr(m.means, "the roof of fused is another") != NULL) == (i == 2), "%d: %s", i, m.means);
        CHECK(ask(&e, r, 2, "products_mfu", "120", &m) == TT_MARK_RIGHT && strstr(m.means, "the roof is too low") &&
              !strstr(m.means, "In what is left"), "%d: %s", i, m.means);
        CHECK(ask(&e, r, 2, "amdahl_rest", "3.33", &m) == TT_MARK_RIGHT &&
              (strstr(m.means, "roof, which is too low to tell") != NULL) == low &&
              (strstr(m.means, "(90 and 60 % now)") != NULL) == !low, "%d: %s", i, m.means);
        tt_json_free(a);
        tt_json_free(b);
    }
    tt_exercise_free(&e);
}

/* On a CPU nothing waits for launches: what the step takes beyond its kernels is no launch. */
static void a_cpu_waits_for_no_launch(void)
{
    struct tt_exercise e;
    struct tt_json *a = json(busy_text);
    struct tt_formula_run r[] = {{.name = "baseline", .profile = a}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/03-bottlenecks", &e));
    CHECK(ask(&e, r, 1, "launch_percent", "0.0185", &m) == TT_MARK_RIGHT && strstr(m.means, "also computes it") &&
          strstr(m.means, "idles 0 %"), "%s", m.means);
    CHECK(ask(&e, r, 1, "launch_percent", "1.85", &m) == TT_MARK_WRONG && strstr(m.reason, "by 100 twice"), "%s",
          m.reason);
    CHECK(ask(&e, r, 1, "launch_percent", "0.000185", &m) == TT_MARK_WRONG && strstr(m.reason, "not a fraction"), "%s",
          m.reason);
    CHECK(ask(&e, r, 1, "products_saved", "24", &m) == TT_MARK_WRONG && strstr(m.reason, "backward pass alone"), "%s",
          m.reason);
    CHECK(ask(&e, r, 1, "token_time", "1", &m) == TT_MARK_WRONG && strstr(m.reason, "only grew with the tokens"), "%s",
          m.reason);
    CHECK(ask(&e, r, 1, "bottlenecks", "feed_forward, qkv, attention, norms, fragmentation, launches", &m) ==
          TT_MARK_UNKNOWN);
    CHECK(ask(&e, r, 1, "bottlenecks", "feed_forward, projections, attention, norms, fragmentation, launches", &m) ==
          TT_MARK_RIGHT && strstr(m.means, "launches 0 %"), "%s %s", m.reason, m.means);
    CHECK(ask(&e, r, 1, "box_graph", "later", &m) == TT_MARK_RIGHT && ask(&e, r, 1, "box_graph", "first", &m) ==
          TT_MARK_WRONG && ask(&e, r, 1, "box_graph", "undecided", &m) == TT_MARK_WRONG);
    tt_exercise_free(&e);
    tt_json_free(a);
}

/* A quotient of 2.24 is no gain where it says how busy the machine was. */
static void busy_runs_show_no_gain(void)
{
    struct tt_exercise e;
    struct tt_json *a = json(busy_text), *b = json(busy_fused_text), *quiet = json(baseline_text),
                   *fast = json(fused_text);
    struct tt_formula_run r[] = {{.name = "baseline", .profile = a}, {.name = "fused", .profile = b}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/03-bottlenecks", &e));
    CHECK(ask(&e, r, 2, "speedup_small", "2.239", &m) == TT_MARK_RIGHT &&
              strstr(m.means, "The machine was busy: it shows neither gain nor loss"),
          "%s", m.means);
    CHECK(ask(&e, r, 2, "gate_throughput", "undecided", &m) == TT_MARK_RIGHT &&
          strstr(m.means, "interval is 0.17 to 29.45. A gate that is left open"), "%s",
          m.means);
    CHECK(ask(&e, r, 2, "gate_throughput", "holds", &m) == TT_MARK_WRONG && strstr(m.reason, "do not decide it"), "%s",
          m.reason);
    CHECK(ask(&e, r, 2, "open_gate", "throughput", &m) == TT_MARK_RIGHT && ask(&e, r, 2, "open_gate", "deterministic",
          &m) == TT_MARK_RIGHT && ask(&e, r, 2, "open_gate", "memory", &m) == TT_MARK_WRONG);
    CHECK(ask(&e, r, 2, "efficiency_class", "undecided", &m) == TT_MARK_RIGHT && ask(&e, r, 2, "efficiency_class",
          "low", &m) == TT_MARK_RIGHT && strstr(m.means, "another class"), "%s %s", m.reason, m.means);
    CHECK(ask(&e, r, 2, "token_time", "0.49", &m) == TT_MARK_RIGHT && strstr(m.means, "busy"), "%s", m.means);
    r[0].profile = quiet;
    r[1].profile = fast;
    CHECK(ask(&e, r, 2, "speedup_small", "1.844", &m) == TT_MARK_RIGHT && strstr(m.means, "leaves out 1"), "%s",
          m.means);
    CHECK(ask(&e, r, 2, "gate_throughput", "holds", &m) == TT_MARK_RIGHT && strstr(m.means, "is 1.82 to 1.87"), "%s",
          m.means);
    CHECK(!strstr(m.means, "fails"), "%s", m.means);
    CHECK(ask(&e, r, 2, "open_gate", "throughput", &m) == TT_MARK_WRONG);
    CHECK(ask(&e, r, 2, "efficiency_class", "undecided", &m) == TT_MARK_WRONG);
    /* five times as fast on a busy machine, at one size more than at the other, is as open as any other quotient */
    struct tt_json *far = json(busy_far_text);
    struct tt_formula_run four[] = {{.name = "baseline", .profile = a}, {.name = "fused", .profile = far},
                                    {.name = "wide", .profile = a}, {.name = "fused_wide", .profile = b}};
    CHECK(ask(&e, four, 4, "gate_throughput", "undecided", &m) == TT_MARK_RIGHT && strstr(m.means, "left open"), "%s",
          m.means);
    CHECK(ask(&e, four, 4, "open_gate", "throughput", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(ask(&e, four, 4, "gain_large", "undecided", &m) == TT_MARK_RIGHT && strstr(m.means, "leaves it open"), "%s",
          m.means);
    tt_json_free(far);
    tt_exercise_free(&e);
    tt_json_free(a);
    tt_json_free(b);
    tt_json_free(quiet);
    tt_json_free(fast);
}

static struct tt_json *steps_of(double a, double b, double c)
{
    char text[400];
    double middle = fmax(fmin(a, b), fmin(fmax(a, b), c));
    snprintf(text, sizeof text,
             "{\"run\": {\"backend\": \"cpu\", \"load\": 0.5, \"waited\": 0.01, \"steps\": 3}, "
             "\"step\": {\"seconds\": %g, \"deviation\": 0.02}, \"samples\": [{\"step\": 1, \"seconds\": null}, "
             "{\"seconds\": %g}, {\"seconds\": %g}, {\"seconds\": %g}]}", middle, a, b, c);
    return json(text);
}

/* check and tt compare have one interval for a quotient: 0.65 to 1.15 is open, 1.07 to 1.77 is a gain, and as the two
 * overlap nobody knows where the gain is larger. */
static void gains_are_decided_by_their_intervals(void)
{
    struct tt_exercise e;
    struct tt_json *a = steps_of(0.1562, 0.1653, 0.1933), *b = steps_of(0.2237, 0.1688, 0.2398),
                   *c = steps_of(0.7795, 1.014, 0.8057), *d = steps_of(0.5724, 0.7273, 0.6646),
                   *slow = steps_of(2.1, 2.2, 2.3);
    struct tt_formula_run r[] = {{.name = "baseline", .profile = a}, {.name = "fused", .profile = b},
                                 {.name = "wide", .profile = c}, {.name = "fused_wide", .profile = d}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/03-bottlenecks", &e));
    CHECK(ask(&e, r, 4, "speedup_small", "0.739", &m) == TT_MARK_RIGHT && strstr(m.means, "Within the noise") &&
          strstr(m.means, "0.65 to 1.15"), "%s", m.means);
    CHECK(ask(&e, r, 4, "speedup_large", "1.21", &m) == TT_MARK_RIGHT && strstr(m.means, "leaves out 1") &&
          strstr(m.means, "1.07 to 1.77"), "%s", m.means);
    CHECK(ask(&e, r, 4, "gain_large", "undecided", &m) == TT_MARK_RIGHT && strstr(m.means, "leaves it open") &&
          !strstr(m.means, "gain more") && ask(&e, r, 4, "gain_large", "larger", &m) == TT_MARK_WRONG, "%s", m.means);
    CHECK(ask(&e, r, 4, "gate_throughput", "fails", &m) == TT_MARK_RIGHT, "%s", m.means);
    r[2].profile = slow;
    CHECK(ask(&e, r, 4, "gain_large", "larger", &m) == TT_MARK_RIGHT && strstr(m.means, "gain more") &&
          ask(&e, r, 4, "gain_large", "undecided", &m) == TT_MARK_WRONG, "%s", m.means);
    tt_exercise_free(&e);
    struct tt_json *const all[] = {a, b, c, d, slow};
    for (int i = 0; i < 5; i++) tt_json_free(all[i]);
}

/* What a right figure means is not what it would mean on a quiet machine. */
static void busy_runs_mean_something_else(void)
{
    struct tt_exercise e;
    struct tt_json *a = json(busy_text), *b = json(busy_fused_text);
    struct tt_formula_run r[] = {{.name = "baseline", .profile = a}, {.name = "double", .profile = b},
                                 {.name = "again", .profile = b}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/01-baseline", &e));
    CHECK(ask(&e, r, 3, "double_times", "0.4467", &m) == TT_MARK_RIGHT && strstr(m.means, "busy") &&
          !strstr(m.means, "does not grow"), "%s", m.means);
    CHECK(ask(&e, r, 3, "predicted_double", "2", &m) == TT_MARK_RIGHT && strstr(m.means, "says little") &&
          ask(&e, r, 3, "predicted_backward", "2", &m) == TT_MARK_RIGHT && strstr(m.means, "says little"), "%s",
          m.means);
    CHECK(ask(&e, r, 3, "ideal_ms", "290.6", &m) == TT_MARK_RIGHT && strstr(m.means, "other programs took"), "%s",
          m.means);
    CHECK(ask(&e, r, 3, "recording_percent", "2.3", &m) == TT_MARK_RIGHT && strstr(m.means, "Far more than the events")
          && strstr(m.means, "636 events cost 0.0254 ms"), "%s", m.means);
    CHECK(ask(&e, r, 3, "backward_over_forward", "1.73", &m) == TT_MARK_RIGHT &&
          strstr(m.means, "disturbed, so that this says little: the products alone took 1.75 times as long, and what "
                          "is no product 1.65 times."), "%s", m.means);
    static const char *const shares[][2] = {{"mostly_gemm", "false"}, {"gemm_percent", "80"},
                                            {"largest_group", "swiglu_gate_up"}};
    for (int i = 0; i < 3; i++)
        CHECK(ask(&e, r, 3, shares[i][0], shares[i][1], &m) == TT_MARK_RIGHT && strstr(m.means, "12.4 times as long"),
              "%s: %s %s", shares[i][0], m.reason, m.means);
    CHECK(ask(&e, r, 3, "double_times", "2", &m) == TT_MARK_WRONG && !strstr(m.reason, "reciprocal"), "%s", m.reason);
    CHECK(ask(&e, r, 3, "two_percent", "undecided", &m) == TT_MARK_RIGHT && !strstr(m.means, "100 %") &&
          strstr(m.means, "up to 13.2 times, since the machine was busy"), "%s", m.means);
    CHECK(ask(&e, r, 3, "double_gain", "undecided", &m) == TT_MARK_RIGHT && !strstr(m.means, "100"), "%s", m.means);
    CHECK(ask(&e, r, 3, "equals_percent", "55.3", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(ask(&e, r, 3, "ideal_ms", "7884", &m) == TT_MARK_WRONG && strstr(m.reason, "the step over MFU"), "%s",
          m.reason);
    CHECK(ask(&e, r, 3, "equals_percent", "124", &m) == TT_MARK_WRONG && strstr(m.reason, "tt compare prints that"),
          "%s", m.reason);
    tt_exercise_free(&e);
    tt_json_free(a);
    tt_json_free(b);
}

/* 2 as the sum of 2.5 and 1.25 is no rule of products, and 2.25 within the noise of two runs of one program is no
 * exception to it. */
static void two_passes_may_be_two_by_chance(void)
{
    static const struct {
        double products, rest, noise;
        const char *answer, *says;
    } runs[] = {{2, 2, 0.001, "2", "Close to 2, as products demand"},
                {2.5, 1.25, 0.001, "2", "About 2, but as the sum of two others: the products alone took 2.5 times as "
                                        "long, and what is no product 1.25 times."},
                {2.5, 1.875, 0.001, "2.25", "Not 2: the products alone took 2.5 times"},
                {2.5, 1.875, 0.5, "2.25", "within the noise of this machine"}};
    struct tt_exercise e;
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/01-baseline", &e));
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char text[900];
        snprintf(text, sizeof text,
                 "{\"run\": {\"backend\": \"cpu\", \"waited\": 0.01, \"load\": 0.1, \"steps\": 4}, \"step\": "
                 "{\"seconds\": 10, \"deviation\": %g}, \"phases\": [{\"name\": \"forward\", \"device\": %g}, "
                 "{\"name\": \"backward\", \"device\": %g}], \"operators\": ["
                 "{\"name\": \"gemm\", \"phase\": \"forward_pass\", \"seconds\": 3}, "
                 "{\"name\": \"gemm\", \"phase\": \"backward_pass\", \"seconds\": %g}]}",
                 10 * runs[i].noise, 5.0, 3 * runs[i].products + 2 * runs[i].rest,
                 3 * runs[i].products);
        struct tt_json *a = json(text);
        struct tt_formula_run r[] = {{.name = "baseline", .profile = a}, {.name = "again", .profile = a}};
        CHECK(ask(&e, r, 2, "backward_over_forward", runs[i].answer, &m) == TT_MARK_RIGHT &&
              strstr(m.means, runs[i].says), "%zu: %s %s", i, m.reason, m.means);
        tt_json_free(a);
    }
    tt_exercise_free(&e);
}

static void tiles_of_a_busy_machine_have_no_order(void)
{
    struct tt_exercise e;
    char text[4][200];
    struct tt_json *tile[4], *heads = json("{\"operators\": [{\"name\": \"flash\", \"flops\": 134, \"seconds\": 1}, {"
                                           "\"name\": \"flash_backward\", \"flops\": 325, \"seconds\": 3}]}");
    static const char *const names[] = {"tile_8x8", "tile_16x128", "tile_128x16", "tile_64x64"};
    static const double seconds[] = {0.5, 0.2129, 0.3, 0.2204};
    struct tt_formula_run r[5] = {{.name = "flash_long", .profile = heads}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/05-flash", &e));
    for (int busy = 0; busy < 2; busy++) {
        for (int i = 0; i < 4; i++) {
            snprintf(text[i], sizeof text[i], "{\"run\": {\"load\": %g, \"steps\": 3}, \"step\": {\"seconds\": 1, "
                                              "\"deviation\": 0.01}, \"operators\": [{\"name\": \"flash\", "
                                              "\"seconds\": %g}]}", busy ? 4.1 : 0.2, seconds[i]);
            tile[i] = json(text[i]);
            r[i + 1] = (struct tt_formula_run){.name = names[i], .profile = tile[i]};
        }
        CHECK(ask(&e, r, 5, "best_tile", "undecided", &m) == TT_MARK_RIGHT, "%s", m.reason);
        CHECK(busy || strstr(m.means, "In your run 16x128 has 0.213 s, 64x64 0.22: by the noise"), "%s", m.means);
        CHECK((strstr(m.means, "cannot be told from it") == NULL) == busy, "%s", m.means);
        CHECK(ask(&e, r, 5, "best_tile", "16x128", &m) == (busy ? TT_MARK_WRONG : TT_MARK_RIGHT), "%s", m.reason);
        CHECK(busy || strstr(m.means, "16x128 has 0.213 s, 64x64 0.22: by the noise"), "the first: %s", m.means);
        CHECK(ask(&e, r, 5, "best_tile", "64x64", &m) == (busy ? TT_MARK_WRONG : TT_MARK_RIGHT), "3.5 %% apart");
        CHECK(ask(&e, r, 5, "best_tile", "8x8", &m) == TT_MARK_WRONG &&
              strstr(m.reason, busy ? "your runs do not decide it" : "ahead of it"), "%s", m.reason);
        CHECK(ask(&e, r, 5, "tile_8x8_ratio", "2.27", &m) == TT_MARK_RIGHT && !strstr(m.means, "busy") == !busy, "%s",
              m.means);
        r[4].profile = tile[0]; /* the second is 0.3 s then */
        CHECK(busy || (ask(&e, r, 5, "best_tile", "undecided", &m) == TT_MARK_WRONG &&
                       strstr(m.reason, "one of them is ahead in your run")), "%s", m.reason);
        CHECK(busy || (ask(&e, r, 5, "best_tile", "16x128", &m) == TT_MARK_RIGHT && !strstr(m.means, "ahead")), "%s",
              m.means);
        for (int i = 0; i < 4; i++) tt_json_free(tile[i]);
    }
    CHECK(ask(&e, r, 1, "backward_flops", "2.43", &m) == TT_MARK_RIGHT, "heads of 32: %s", m.reason);
    CHECK(ask(&e, r, 1, "backward_flops", "2.5", &m) == TT_MARK_WRONG && strstr(m.reason, "the softmax too"), "%s",
          m.reason);
    tt_exercise_free(&e);
    tt_json_free(heads);
}

/* Two runs of one program, each with steps that hardly scatter, on 16 quiet cores. */
static void quiet_cpus_differ_from_run_to_run(void)
{
    struct tt_exercise e;
    struct tt_json *a = json("{\"run\": {\"backend\": \"cpu\", \"load\": 0.1, \"steps\": 10}, \"step\": "
                             "{\"seconds\": 0.160454, \"deviation\": 0.002}}"),
                   *b = json("{\"run\": {\"backend\": \"cpu\", \"load\": 0.1, \"steps\": 10}, \"step\": "
                             "{\"seconds\": 0.173932, \"deviation\": 0.002}}");
    struct tt_formula_run r[] = {{.name = "baseline", .profile = a}, {.name = "again", .profile = b}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/01-baseline", &e));
    CHECK(ask(&e, r, 2, "two_percent", "undecided", &m) == TT_MARK_RIGHT && strstr(m.means, "is 8.49 %"), "%s",
          m.means);
    CHECK(ask(&e, r, 2, "two_percent", "hidden", &m) == TT_MARK_RIGHT && ask(&e, r, 2, "two_percent", "shows", &m) ==
          TT_MARK_WRONG);
    tt_exercise_free(&e);
    tt_json_free(a);
    tt_json_free(b);
}

/* The honest answer of a machine that decides nothing, wherever a sentence is asked for. */
static void busy_machines_are_a_reason(void)
{
    struct tt_json *busy = json("{\"run\": {\"load\": 5.6, \"waited\": 0.834}, \"step\": {\"kernels\": 99}}"),
                   *quiet = json("{\"run\": {\"load\": 0.1, \"waited\": 0.0134}, \"step\": {\"kernels\": 99}}");
    struct tt_yaml *names = NULL, given = {.kind = TT_YAML_STRING, .text = "undecided: threads waited 83 %"};
    CHECK_OK(tt_yaml_parse("- step.kernels\n", 15, &names));
    struct tt_question q = {.id = "q", .kind = TT_ASK_TEXT, .names = names};
    struct tt_formula_run r[] = {{.name = "baseline", .profile = quiet}, {.name = "fused", .profile = busy}};
    struct tt_formula_scope scope = {.runs = r, .count = 2};
    struct tt_mark m;
    CHECK_OK(tt_exercise_judge(&q, &given, &scope, &m));
    CHECK(m.kind == TT_MARK_RIGHT, "%s", m.reason);
    given.text = "a load of 5.6 per processor, so it says nothing";
    CHECK_OK(tt_exercise_judge(&q, &given, &scope, &m));
    CHECK(m.kind == TT_MARK_RIGHT, "%s", m.reason);
    given.text = "undecided: threads waited 1.34 % of their time";
    CHECK_OK(tt_exercise_judge(&q, &given, &scope, &m));
    CHECK(m.kind == TT_MARK_UNKNOWN, "a quiet machine is no excuse");
    CHECK_OK(tt_exercise_judge(&q, &(struct tt_yaml){0}, &scope, &m));
    CHECK(!strcmp(m.right, "a sentence with 99 as a figure of your runs"), "%s", m.right);
    tt_yaml_free(names);
    CHECK_OK(tt_yaml_parse("- 0 * step.kernels in %\n", 24, &names));
    q.names = names;
    given.text = "the device idles 0 % of it";
    CHECK_OK(tt_exercise_judge(&q, &given, &scope, &m));
    CHECK(m.kind == TT_MARK_RIGHT, "%s: %s", m.right, m.reason);
    tt_yaml_free(names);
    tt_json_free(busy);
    tt_json_free(quiet);
}

static void busy_ranks_decide_nothing(void)
{
    struct tt_exercise e;
    static const char weak_rows[] =
        "{\"run\": {\"link\": \"0.05\"}, \"load\": 3.08, \"busy\": true, \"rows\": [{\"ranks\": 1, \"median_ms\": "
        "860}, {\"ranks\": 2, \"communication_ms\": 406, \"hidden_ms\": 227, \"hidden_noise_ms\": 28, "
        "\"hidden_known\": false, "
        "\"one_stream_ms\": 1395, \"sent_bytes\": 16777216, \"efficiency_percent\": 73.6, \"median_ms\": 1168, "
        "\"tokens_per_second\": 1753, \"collectives\": 5, \"peak_memory_bytes\": 1e8, \"each\": [{\"work_ms\": "
        "900}, {\"work_ms\": 1000}]}]}";
    static const char strong_rows[] =
        "{\"run\": {\"link\": \"0.05\"}, \"load\": 0.4, \"rows\": [{\"ranks\": 1, \"median_ms\": 860}, "
        "{\"ranks\": 2, \"communication_ms\": 400, \"hidden_ms\": 0, \"hidden_noise_ms\": 20, "
        "\"hidden_known\": true, \"one_stream_ms\": "
        "900, \"sent_bytes\": 16777216, \"efficiency_percent\": 57.8, \"median_ms\": 744, \"tokens_per_second\": "
        "1376, \"collectives\": 5, \"peak_memory_bytes\": 9e7, \"each\": [{\"work_ms\": 480}, {\"work_ms\": 520}]}]}";
    static const char vague_rows[] =
        "{\"run\": {\"link\": \"0.05\"}, \"load\": 0.4, \"rows\": [{\"ranks\": 1, \"median_ms\": 189}, "
        "{\"ranks\": 2, \"communication_ms\": 345.5, \"hidden_ms\": 51.6, \"hidden_noise_ms\": 142, "
        "\"hidden_known\": false}]}";
    struct tt_json *weak = json(weak_rows), *strong = json(strong_rows), *fits = json(fits_text),
                   *vague = json(vague_rows);
    struct tt_formula_run r[] = {{.name = "weak", .profile = weak}, {.name = "strong", .profile = strong},
                                 {.name = "late", .profile = strong}, {.name = "sharded", .profile = strong}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/11-scaling", &e));
    CHECK(ask(&e, r, 4, "hides", "undecided", &m) == TT_MARK_RIGHT && strstr(m.means, "The machine was busy") &&
          strstr(m.means, "227 of 406 ms in weak, 0 of 400 ms in late") && !strstr(m.means, "One rank alone took") &&
          strstr(m.means, "begin again with step 1"), "a link of a busy step fits no quiet one: %s", m.means);
    CHECK(ask(&e, r, 4, "same_losses", "slow", &m) == TT_MARK_RIGHT && strstr(m.means, "This check has not seen"), "%s",
          m.means);
    CHECK(ask(&e, r, 4, "late_when", "undecided", &m) == TT_MARK_RIGHT && ask(&e, r, 4, "late_when", "after", &m) ==
          TT_MARK_RIGHT && strstr(m.means, "do not show it"), "%s", m.means);
    CHECK(ask(&e, r, 4, "hides", "weak", &m) == TT_MARK_WRONG);
    CHECK(ask(&e, r, 4, "exposed_ms", "218", &m) == TT_MARK_WRONG && strstr(m.reason, "the step less the work"), "%s",
          m.reason);
    CHECK(ask(&e, r, 4, "exposed_ms", "179", &m) == TT_MARK_RIGHT && strstr(m.means, "off by 28 ms."), "%s", m.means);
    CHECK(ask(&e, r, 4, "late_hidden", "0", &m) == TT_MARK_RIGHT && strstr(m.means, "0, as it should be") &&
          !strstr(m.means, "scatter"), "%s", m.means);
    r[2].profile = weak;
    CHECK(ask(&e, r, 4, "late_hidden", "227", &m) == TT_MARK_RIGHT && strstr(m.means, "should be 0") &&
          strstr(m.means, "a busy machine"), "%s", m.means);
    CHECK(ask(&e, r, 4, "late_hidden", "0", &m) == TT_MARK_WRONG && strstr(m.reason, "what it should be"), "%s",
          m.reason);
    r[2].profile = strong;
    CHECK(ask(&e, r, 4, "strong_part", "undecided", &m) == TT_MARK_RIGHT && strstr(m.means, "was busy"), "%s %s",
          m.reason, m.means);
    CHECK(ask(&e, r, 4, "strong_part", "strong", &m) == TT_MARK_RIGHT && strstr(m.means, "80 % in strong"), "%s",
          m.means);
    CHECK(ask(&e, r, 4, "strong_part", "weak", &m) == TT_MARK_WRONG);
    CHECK(ask(&e, r, 4, "cure", "strong reaches 57.8 %: accumulate, or a larger batch", &m) == TT_MARK_RIGHT &&
          ask(&e, r, 4, "cure", "of 406 ms communication less would be sent", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(ask(&e, r, 4, "cure", "strong hides 57.8 % of its communication", &m) == TT_MARK_RIGHT &&
          strstr(m.means, "57.8 %: the efficiency of strong"), "%s%s", m.reason, m.means);
    CHECK(ask(&e, r, 4, "cure", "The efficiency of weak is 73.6 %", &m) == TT_MARK_RIGHT &&
          strstr(m.means, "may be far off") && ask(&e, r, 4, "cure", "The efficiency of strong is 57.8 %", &m) ==
          TT_MARK_RIGHT && !strstr(m.means, "busy"), "%s", m.means);
    CHECK(ask(&e, r, 4, "cure", "its 1 and only way, 2 more", &m) == TT_MARK_UNKNOWN);
    CHECK(ask(&e, r, 4, "cure", "fewer than 5 collectives a step", &m) == TT_MARK_RIGHT &&
          ask(&e, r, 4, "cure", "I would stop, after 5 tries", &m) == TT_MARK_UNKNOWN, "%s", m.reason);
    r[0].profile = fits;
    CHECK(ask(&e, r, 4, "late_when", "undecided", &m) == TT_MARK_WRONG);
    r[2].profile = vague;
    CHECK(ask(&e, r, 4, "late_when", "undecided", &m) == TT_MARK_RIGHT && strstr(m.means, "not measurable") &&
          ask(&e, r, 4, "late_when", "after", &m) == TT_MARK_RIGHT && ask(&e, r, 4, "late_when", "beside", &m) ==
          TT_MARK_WRONG && strstr(m.reason, "your runs do not show that"), "51.6 +- 142 of 345.5 ms: %s", m.means);
    r[2].profile = strong;
    CHECK(ask(&e, r, 4, "hides", "weak", &m) == TT_MARK_RIGHT && strstr(m.means, "One rank alone took"), "%s", m.means);
    CHECK(ask(&e, r, 4, "hides", "undecided", &m) == TT_MARK_WRONG);
    tt_exercise_free(&e);
    tt_json_free(weak);
    tt_json_free(strong);
    tt_json_free(fits);
    tt_json_free(vague);
}

/* A quiet baseline and a fused run beside another program on the same GPU: 12 and 14 ms show no loss. */
static void an_interrupted_device_decides_nothing(void)
{
    char text[200];
    struct tt_json *baseline = json(baseline_text), *fused[2];
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "{\"run\": {\"backend\": \"cuda\", \"load\": 0.1, \"waited\": 0, \"steps\": 10, "
                                    "\"interrupted\": %g}, \"step\": {\"seconds\": 0.014, \"deviation\": 2e-5}}",
                 i ? 2.23 : 1.01);
        fused[i] = json(text);
        struct tt_formula_run r[] = {{.name = "baseline", .profile = baseline}, {.name = "fused", .profile = fused[i]}};
        struct tt_exercise e;
        struct tt_mark m;
        CHECK_OK(tt_exercise_read("exercises/03-bottlenecks", &e));
        CHECK(ask(&e, r, 2, "gate_throughput", "undecided", &m) == (i ? TT_MARK_RIGHT : TT_MARK_WRONG), "%s%s",
              m.reason, m.means);
        CHECK(ask(&e, r, 2, "gate_throughput", "fails", &m) == (i ? TT_MARK_WRONG : TT_MARK_RIGHT), "%s%s", m.reason,
              m.means);
        tt_exercise_free(&e);
        tt_json_free(fused[i]);
    }
    tt_json_free(baseline);
}

int main(void)
{
    TEST(an_interrupted_device_decides_nothing);
    TEST(a_box_may_stay_open);
    TEST(shares_of_a_busy_run_decide_nothing);
    TEST(a_low_roof_decides_nothing);
    TEST(a_cpu_waits_for_no_launch);
    TEST(busy_runs_show_no_gain);
    TEST(gains_are_decided_by_their_intervals);
    TEST(busy_runs_mean_something_else);
    TEST(two_passes_may_be_two_by_chance);
    TEST(tiles_of_a_busy_machine_have_no_order);
    TEST(quiet_cpus_differ_from_run_to_run);
    TEST(busy_machines_are_a_reason);
    TEST(busy_ranks_decide_nothing);
    return test_end();
}
