/* The checks of the course against figures that were measured on a quiet H200 and a quiet CPU of 16 cores: what a
 * learner measured there is not called wrong, and what is impossible is. */
#include <stdlib.h>

#include "core/base/file.h"
#include "exercises/engine/parts.h"
#include "tests/test.h"

static const char baseline_text[] =
    "{\"run\": {\"backend\": \"cuda\", \"num_layers\": 8, \"load\": 0.1, \"steps\": 10}, \"step\": {\"seconds\": "
    "0.011855, \"deviation\": 6.5e-5, \"kernel_seconds\": 0.012403, \"tokens_per_second\": 86379, \"kernels\": 1232}, "
    "\"launch\": {\"total_seconds\": 0.005207, \"idle_seconds\": 0, "
    "\"empty_kernel_seconds\": 1.7477e-6, \"graph_kernel_seconds\": "
    "0.9572e-6}, \"efficiency\": {\"mfu_percent\": 33.2}, \"groups\": ["
    "{\"name\": \"qkv_projection\", \"share\": 0.1385, \"roof_percent\": 29.6}, "
    "{\"name\": \"swiglu_gate_up\", \"share\": 0.2721, \"roof_percent\": 60.2}, "
    "{\"name\": \"swiglu_down\", \"share\": 0.1312, \"roof_percent\": 62.4}, "
    "{\"name\": \"attention_output\", \"share\": 0.0845, \"roof_percent\": 30.3}, "
    "{\"name\": \"rms_norm\", \"share\": 0.0714, \"roof_percent\": 23}, "
    "{\"name\": \"optimizer\", \"share\": 0.1203, \"roof_percent\": 28.6}], \"operators\": ["
    "{\"name\": \"gemm\", \"group\": \"qkv_projection\", \"share\": 0.1385}, "
    "{\"name\": \"gemm\", \"group\": \"swiglu_gate_up\", \"share\": 0.2721}, "
    "{\"name\": \"gemm\", \"group\": \"swiglu_down\", \"share\": 0.1312}, "
    "{\"name\": \"gemm\", \"group\": \"attention_output\", \"share\": 0.0788}, "
    "{\"name\": \"gemm\", \"group\": \"attention_scores\", \"share\": 0.018}, "
    "{\"name\": \"gemm\", \"group\": \"loss_calculation\", \"share\": 0.0084}]}";
static const char fused_text[] =
    "{\"run\": {\"load\": 0.1, \"steps\": 10}, \"step\": {\"seconds\": 0.006428, \"deviation\": 2e-5, "
    "\"tokens_per_second\": 159299}, \"efficiency\": {\"mfu_percent\": 61.3}}";
static const char weak_text[] =
    "{\"rows\": [{\"median_ms\": 60.78}, {\"communication_ms\": 345.4, \"hidden_ms\": 0, \"hidden_noise_ms\": 6.16}]}";
static const char late_text[] =
    "{\"rows\": [{}, {\"communication_ms\": 342.8, \"hidden_ms\": 0, \"hidden_noise_ms\": 4.48}]}";
static const char fits_text[] =
    "{\"rows\": [{\"median_ms\": 250}, {\"communication_ms\": 166, \"hidden_ms\": 88, \"hidden_noise_ms\": 6}]}";

static struct tt_json *json(const char *text)
{
    struct tt_json *j = NULL;
    CHECK_OK(tt_json_parse(text, strlen(text), &j));
    return j;
}

/* One answer to one question of an exercise as it is. */
static enum tt_mark_kind ask(const struct tt_exercise *e, struct tt_formula_run *runs, int n, const char *id,
                             const char *answer, struct tt_mark *m)
{
    struct tt_formula_scope scope = {.runs = runs, .count = n, .define = e->define};
    struct tt_yaml given = {.kind = TT_YAML_STRING, .text = (char *)answer};
    for (int i = 0; i < e->question_count; i++) {
        if (strcmp(e->questions[i].id, id)) continue;
        CHECK_OK(tt_exercise_judge(&e->questions[i], &given, &scope, m));
        return m->kind;
    }
    CHECK(false, "no question %s", id);
    return TT_MARK_KINDS;
}

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
    CHECK(ask(&e, r, 2, "phase_2", "1.6 to 1.9", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(ask(&e, r, 2, "phase_2", "1.2 to 2.6", &m) == TT_MARK_WRONG, "beyond the roof of the products");
    CHECK(ask(&e, r, 2, "target_tokens", "86379 -> 159299", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(ask(&e, r, 2, "target_tokens", "86379 -> 250000", &m) == TT_MARK_WRONG);
    CHECK(ask(&e, r, 2, "target_mfu", "33.2 -> 61.3", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(ask(&e, r, 2, "target_mfu", "33.2 -> 101", &m) == TT_MARK_WRONG, "no MFU is above 100 %%");
    CHECK(ask(&e, r, 2, "phase_1", "1 to 1.7", &m) == TT_MARK_RIGHT, "1.697, as it is printed: %s", m.reason);
    CHECK(ask(&e, r, 2, "phase_1", "1 to 1.72", &m) == TT_MARK_WRONG && strstr(m.reason, "ends above"), "%s", m.reason);
    CHECK(ask(&e, r, 2, "target_tokens", "86379 -> 86379", &m) == TT_MARK_WRONG, "no gain is no target");
    CHECK(ask(&e, r, 2, "phase_3", "1.8 to 2.4", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(ask(&e, r, 2, "box_graph", "first", &m) == TT_MARK_RIGHT && strstr(m.means, "8.2"), "%s", m.means);
    CHECK(ask(&e, r, 2, "box_graph", "later", &m) == TT_MARK_WRONG);
    CHECK(ask(&e, r, 2, "host_or_device", "host", &m) == TT_MARK_RIGHT && strstr(m.means, "back-pressure"), "%s",
          m.means);
    CHECK(ask(&e, r, 2, "host_or_device", "device", &m) == TT_MARK_WRONG);
    tt_exercise_free(&e);
    tt_json_free(a);
    tt_json_free(b);
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

static void hiding_is_decided_beyond_the_noise(void)
{
    struct tt_exercise e;
    struct tt_json *weak = json(weak_text), *late = json(late_text), *fits = json(fits_text);
    struct tt_formula_run r[] = {{.name = "weak", .profile = weak}, {.name = "late", .profile = late}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/11-scaling", &e));
    CHECK(ask(&e, r, 2, "hides", "undecided", &m) == TT_MARK_RIGHT && strstr(m.means, "another LINK"), "%s", m.means);
    CHECK(ask(&e, r, 2, "hides", "weak", &m) == TT_MARK_WRONG && ask(&e, r, 2, "hides", "late", &m) == TT_MARK_WRONG);
    r[0].profile = fits;
    CHECK(ask(&e, r, 2, "hides", "weak", &m) == TT_MARK_RIGHT);
    CHECK(ask(&e, r, 2, "hides", "undecided", &m) == TT_MARK_WRONG);
    tt_exercise_free(&e);
    tt_json_free(weak);
    tt_json_free(late);
    tt_json_free(fits);
}

/* ---- a busy machine ---- */

static const char busy_text[] =
    "{\"run\": {\"backend\": \"cpu\", \"num_layers\": 4, \"load\": 5.2, \"steps\": 3, \"batch_size\": 8}, "
    "\"step\": {\"seconds\": 1.5137, \"deviation\": 0.02, \"kernel_seconds\": 1.45, \"tokens_per_second\": 676, "
    "\"kernels\": 636, \"launched_seconds\": 1.5137}, \"launch\": {\"total_seconds\": 0.00028, \"idle_seconds\": "
    "0.0599, \"empty_kernel_seconds\": 1e-7, \"graph_kernel_seconds\": null, \"event_seconds\": 4e-8, "
    "\"recorded_overhead\": 0.023}, \"memory\": {\"arena_bytes\": 1002, "
    "\"live_bytes\": 1000}, \"efficiency\": {\"mfu_percent\": 19.2, "
    "\"mfu_full_percent\": 21, \"mfu_class\": \"low\"}, \"phases\": ["
    "{\"name\": \"forward\", \"device\": 0.5}, {\"name\": \"backward\", \"device\": 0.865}], \"groups\": ["
    "{\"name\": \"qkv_projection\", \"share\": 0.2}, {\"name\": \"attention_scores\", \"share\": 0.05}, "
    "{\"name\": \"attention_softmax\", \"share\": 0.03}, {\"name\": \"attention_output\", \"share\": 0.1}, "
    "{\"name\": \"swiglu_gate_up\", \"share\": 0.3}, {\"name\": \"swiglu_activation\", \"share\": 0.02}, "
    "{\"name\": \"swiglu_down\", \"share\": 0.12}, {\"name\": \"rms_norm\", \"share\": 0.033}, "
    "{\"name\": \"residual\", \"share\": 0.02}, {\"name\": \"gradient_clip\", \"share\": 0.01}, "
    "{\"name\": \"optimizer\", \"share\": 0.05}], \"sweeps\": [{\"axis\": \"seq\", \"value\": 128, "
    "\"seconds\": 1.514}, {\"axis\": \"seq\", \"value\": 512, \"seconds\": 2.967}]}";
static const char busy_fused_text[] = "{\"run\": {\"load\": 5.2, \"steps\": 3, \"batch_size\": 16}, \"step\": "
                                      "{\"seconds\": 0.6761, \"deviation\": 0.01, \"tokens_per_second\": 1514}}";
static const char busy_far_text[] = "{\"run\": {\"load\": 5.2, \"steps\": 3, \"batch_size\": 16}, \"step\": "
                                      "{\"seconds\": 0.225367, \"deviation\": 0.01, \"tokens_per_second\": 1514}}";

/* What is between two boxes may be called undecided, as the question offers it. */
static void a_box_may_stay_open(void)
{
    struct tt_exercise e;
    struct tt_json *a = json(busy_text);
    struct tt_formula_run r[] = {{.name = "baseline", .profile = a}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/03-bottlenecks", &e));
    static const char *const norms[] = {"first", "later", "undecided"};
    for (int i = 0; i < 3; i++) CHECK(ask(&e, r, 1, "box_norm", norms[i], &m) == TT_MARK_RIGHT, "%s", norms[i]);
    CHECK(ask(&e, r, 1, "box_optimizer", "undecided", &m) == TT_MARK_RIGHT, "6 %%: %s", m.reason);
    CHECK(ask(&e, r, 1, "box_qkv", "undecided", &m) == TT_MARK_WRONG && ask(&e, r, 1, "box_flash", "undecided", &m) ==
          TT_MARK_WRONG, "far from the border");
    CHECK(ask(&e, r, 1, "box_softmax", "undecided", &m) == TT_MARK_WRONG, "3 %%");
    tt_exercise_free(&e);
    tt_json_free(a);
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
    CHECK(ask(&e, r, 2, "speedup_small", "2.239", &m) == TT_MARK_RIGHT && strstr(m.means, "neither gain nor loss"),
          "%s", m.means);
    CHECK(ask(&e, r, 2, "gate_throughput", "undecided", &m) == TT_MARK_RIGHT &&
          strstr(m.means, "the noise is not known, since the machine was busy. A gate that is left open"), "%s",
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
    CHECK(ask(&e, r, 2, "speedup_small", "1.844", &m) == TT_MARK_RIGHT && strstr(m.means, "More than the noise"), "%s",
          m.means);
    CHECK(ask(&e, r, 2, "gate_throughput", "holds", &m) == TT_MARK_RIGHT && strstr(m.means, "noise is 1.41 %"), "%s",
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
    CHECK(ask(&e, r, 3, "backward_over_forward", "1.73", &m) == TT_MARK_RIGHT && strstr(m.means, "Not 2"), "%s",
          m.means);
    CHECK(ask(&e, r, 3, "two_percent", "undecided", &m) == TT_MARK_RIGHT && !strstr(m.means, "100 %") &&
          strstr(m.means, "not known, since the machine was busy"), "%s", m.means);
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

static void tiles_of_a_busy_machine_have_no_order(void)
{
    struct tt_exercise e;
    char text[4][200];
    struct tt_json *tile[4], *heads = json("{\"operators\": [{\"name\": \"flash\", \"flops\": 134}, {\"name\": "
                                           "\"flash_backward\", \"flops\": 325}]}");
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
        CHECK(ask(&e, r, 5, "best_tile", "undecided", &m) == (busy ? TT_MARK_RIGHT : TT_MARK_WRONG), "%s", m.reason);
        CHECK(ask(&e, r, 5, "best_tile", "16x128", &m) == (busy ? TT_MARK_WRONG : TT_MARK_RIGHT), "%s", m.reason);
        CHECK(ask(&e, r, 5, "best_tile", "64x64", &m) == (busy ? TT_MARK_WRONG : TT_MARK_RIGHT), "3.5 %% apart");
        CHECK(ask(&e, r, 5, "best_tile", "8x8", &m) == TT_MARK_WRONG &&
              strstr(m.reason, busy ? "your runs do not decide it" : "ahead of it"), "%s", m.reason);
        CHECK(ask(&e, r, 5, "tile_8x8_ratio", "2.27", &m) == TT_MARK_RIGHT && !strstr(m.means, "busy") == !busy, "%s",
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

/* 9997 against 5585 ms on a busy machine: right, and no gain; and more than attention could give. */
static void a_busy_quotient_is_no_gain_of_attention(void)
{
    struct tt_exercise e;
    static const char groups[] = "\"groups\": [{\"name\": \"attention_scores\", \"share\": 0.1}, {\"name\": "
                                 "\"attention_softmax\", \"share\": 0.1, \"intensity\": 3}, {\"name\": "
                                 "\"attention_output\", \"share\": 0.16, \"roof_percent\": 7}]";
    char text[2][800];
    struct tt_json *run[2];
    struct tt_formula_run r[2] = {{.name = "fused_long"}, {.name = "flash_long"}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/05-flash", &e));
    for (int busy = 0; busy < 2; busy++) {
        for (int i = 0; i < 2; i++) {
            snprintf(text[i], sizeof text[i], "{\"run\": {\"seq_len\": 512, \"waited\": %g, \"steps\": 3}, "
                     "\"step\": {\"seconds\": %g, \"launched_seconds\": %g, \"deviation\": 0.01, "
                     "\"peak_memory_bytes\": 349175808}, \"memory\": {\"live_bytes\": 1e8}, "
                     "\"efficiency\": {\"plan_bytes\": 7, \"plan_flops\": 118.942e9}, %s}", busy ? 0.84 : 0.01,
                     i ? 5.585 : 9.997, i ? 5.585 : 9.997, groups);
            r[i].profile = run[i] = json(text[i]);
        }
        CHECK(ask(&e, r, 2, "speedup_long", "1.79", &m) == TT_MARK_RIGHT && !strstr(m.means, "busy") == !busy, "%s",
              m.means);
        CHECK(ask(&e, r, 2, "attention_percent", "36", &m) == TT_MARK_RIGHT &&
              strstr(m.means, "at most 1.56 times as fast. Your speedup_long is above that"), "%s", m.means);
        CHECK(ask(&e, r, 2, "attention_percent", "16", &m) == TT_MARK_WRONG && strstr(m.reason, "output alone"), "%s",
              m.reason);
        CHECK(ask(&e, r, 2, "recompute", "Undecided, since threads waited 84 % of their time", &m) ==
              (busy ? TT_MARK_RIGHT : TT_MARK_UNKNOWN), "%s", m.reason);
        static const char *const said[] = {"The fused step takes 10.0 s, flash 5.6 s", "it does 118.942 GFLOP",
                                           "memory fell to 333 MiB", "softmax has 10 % of the step"};
        for (int i = 0; i < 4; i++)
            CHECK(ask(&e, r, 2, "recompute", said[i], &m) == TT_MARK_RIGHT, "%s: %s", said[i], m.reason);
        for (int i = 0; i < 2; i++) tt_json_free(run[i]);
    }
    CHECK(ask(&e, r, 0, "online_shrink", "0.135", &m) == TT_MARK_RIGHT && ask(&e, r, 0, "online_shrink", "0.14", &m) ==
          TT_MARK_RIGHT && ask(&e, r, 0, "online_shrink", "0.13", &m) == TT_MARK_WRONG, "two decimals: %s", m.reason);
    CHECK(ask(&e, r, 0, "online_l", "1.14", &m) == TT_MARK_RIGHT && ask(&e, r, 0, "online_l", "1.1", &m) ==
          TT_MARK_WRONG && ask(&e, r, 0, "online_final", "1.2", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(ask(&e, r, 0, "online_l", "1", &m) == TT_MARK_WRONG && strstr(m.reason, "the largest score alone"), "%s",
          m.reason);
    tt_exercise_free(&e);
}

/* A healthy run and a patient that rebuilds its mask: one more wait, one more copy, and as many bytes. */
static const char sick_format[] =
    "{\"run\": {\"backend\": \"cpu\", \"load\": %g, \"waited\": %g, \"steps\": 10}, \"step\": {\"kernels\": 143, "
    "\"loss\": %g, \"seconds\": %g, \"deviation\": 0.01, \"gap_seconds\": 0, \"grad_norm\": 7.7, "
    "\"peak_memory_bytes\": 5e7}, \"launch\": {\"waits\": %d}, \"phases\": [{\"name\": \"other\", \"wall\": 0}], "
    "\"samples\": [{\"step\": 2, \"loss\": %g}, {\"step\": 3, \"loss\": 4.1}], \"groups\": [{\"name\": "
    "\"copies\", \"count\": %d, \"bytes\": 4444, \"seconds\": 6e-6}], \"gradients\": [{\"name\": \"w\", "
    "\"norm\": 1, \"first_norm\": %g}]}";

static struct tt_json *sick(double waited, double loss, double seconds, int count, double first, double norm)
{
    char text[1000];
    snprintf(text, sizeof text, sick_format, waited > 0.1 ? 5.6 : 0.1, waited, loss, seconds, count, first, count,
             norm);
    return json(text);
}

/* What tt compare and the summary print of a patient is a figure of it, however the count is worded. */
static void evidence_is_what_compare_prints(void)
{
    struct tt_exercise e;
    struct tt_json *healthy = sick(0, 4.1, 3.3, 1, 4.3, 1), *patient = sick(0, 4.1, 3.3, 2, 4.527, 0.81);
    struct tt_formula_run r[] = {{.name = "healthy", .profile = healthy}, {.name = "patient", .profile = patient}};
    struct tt_mark m;
    static const char *const right[] = {"losses differ by up to 0.227", "19 % difference of the norm of a gradient",
                                        "The test counts 2 copies per step where 1 is healthy",
                                        "1 wait more each step", "2 host waits instead of 1",
                                        "waits per step, which were 2", "The host waits twice per step",
                                        "two copies a step", "copies went from 1 to 2",
                                        "a test asserts that waits per step stay 1; here they were 2",
                                        "a second copy, and one more wait", "2.00 instead of 1.00"};
    CHECK_OK(tt_exercise_read("exercises/09-faults", &e));
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        CHECK(ask(&e, r, 2, i % 2 ? "cure" : "evidence", right[i], &m) == TT_MARK_RIGHT, "%s: %s", right[i], m.reason);
    CHECK(ask(&e, r, 2, "evidence", "it is 2 times as bad", &m) == TT_MARK_UNKNOWN);
    CHECK(ask(&e, r, 2, "evidence", "The host waits 1 time a step", &m) == TT_MARK_UNKNOWN, "as healthy does");
    r[1].profile = healthy;
    CHECK(ask(&e, r, 2, "cure", right[2], &m) == TT_MARK_PASSED && strstr(m.reason, "tells the two runs apart"),
          "nothing differs: %s", m.reason);
    tt_exercise_free(&e);
    tt_json_free(healthy);
    tt_json_free(patient);
}

/* What healthy has as well is no evidence, nor is a time that differs by less than the noise. */
static void evidence_tells_the_patient_from_healthy(void)
{
    struct tt_exercise e;
    struct tt_json *healthy = sick(0, 4.189, 3.3, 1, 4.3, 1), *patient = sick(0, 4.1963, 3.4, 2, 4.3, 1),
                   *slow = sick(0, 4.189, 4.5, 2, 4.3, 1), *busy = sick(0.78, 4.189, 4.5, 2, 4.3, 1);
    struct tt_formula_run r[] = {{.name = "healthy", .profile = healthy}, {.name = "patient", .profile = patient}};
    struct tt_mark m;
    static const char *const common[] = {"the step has 143 kernels", "the norm of its gradients is 7.7",
                                         "the loss of the last step is 4.189", "the loss ends at 4.2"};
    CHECK_OK(tt_exercise_read("exercises/09-faults", &e));
    for (int i = 0; i < 4; i++)
        CHECK(ask(&e, r, 2, "evidence", common[i], &m) == TT_MARK_UNKNOWN &&
              strstr(m.reason, "is also a figure of the run healthy"), "%s: %s", common[i], m.reason);
    CHECK(ask(&e, r, 2, "evidence", "the loss ends at 4.1963, not at 4.189", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(ask(&e, r, 2, "evidence", "its step takes 3400 ms", &m) == TT_MARK_UNKNOWN, "3 %% on a CPU are noise");
    r[1].profile = slow;
    CHECK(ask(&e, r, 2, "evidence", "its step takes 4500 ms", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(ask(&e, r, 2, "cure", "a test of the time: 1.36 times that of healthy", &m) == TT_MARK_RIGHT, "%s", m.reason);
    r[1].profile = busy;
    CHECK(ask(&e, r, 2, "evidence", "its step takes 4500 ms", &m) == TT_MARK_UNKNOWN, "a busy machine shows no time");
    CHECK(ask(&e, r, 2, "evidence", "threads waited 78 % of their time", &m) == TT_MARK_UNKNOWN, "no sign of a fault");
    tt_exercise_free(&e);
    tt_json_free(healthy);
    tt_json_free(patient);
    tt_json_free(slow);
    tt_json_free(busy);
}

/* The table of layers that tt check grads printed, where the walkthrough keeps it. */
static void evidence_is_in_the_table_of_layers(void)
{
    static const char table[] = "layer            norm   difference   most in\n"
                                "0            0.349042        0.698   attention.wq, 1.42\n"
                                "2            0.187011         1.33   feed_forward.w2, 1.57\n"
                                "rest         0.299004       0.0001   tok_embeddings, 0.0002\n\n"
                                "grads   38 of 38 tensors have a gradient\n";
    struct tt_exercise e;
    struct tt_json *healthy = sick(0, 4.1, 3.3, 1, 4.3, 1), *patient = sick(0, 4.11, 3.3, 1, 4.3, 1);
    struct tt_formula_run r[] = {{.name = "healthy", .profile = healthy}, {.name = "patient", .profile = patient}};
    struct tt_formula_scope scope = {.runs = r, .count = 2};
    struct tt_mark m;
    char folder[64] = "/tmp/tt-layers-XXXXXX", path[128];
    CHECK_OK(tt_exercise_read("exercises/09-faults", &e));
    scope.define = e.define;
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/patient", folder);
    CHECK_OK(tt_make_dirs(path));
    snprintf(path, sizeof path, "%s/patient/layers.txt", folder);
    CHECK_OK(tt_file_replace(path, table, sizeof table - 1));
    static const struct {
        const char *sentence;
        bool there, kept;
    } cases[] = {{"Layer 2 is off by 1.33 of its norm", true, true}, {"wq is off by 1.42", true, true},
                 {"Layer 2 is off by 1.33 of its norm", false, false}, {"layer 0 has a norm of 0.349", true, false},
                 {"the rest is off by 0.0001", true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_yaml given = {.kind = TT_YAML_STRING, .text = (char *)cases[i].sentence};
        const struct tt_question *q = e.questions;
        while (strcmp(q->id, "evidence")) q++;
        scope.folder = cases[i].there ? folder : NULL;
        CHECK_OK(tt_exercise_judge(q, &given, &scope, &m));
        CHECK((m.kind == TT_MARK_RIGHT) == cases[i].kept, "%s: %s", cases[i].sentence, m.reason);
    }
    CHECK_OK(tt_remove_tree(folder));
    tt_exercise_free(&e);
    tt_json_free(healthy);
    tt_json_free(patient);
}

/* Where the curves of step 5 ended is the symptom of faults that need learning to show. */
static void evidence_is_in_the_curves(void)
{
    static const struct {
        const char *run, *steps, *end;
    } trains[] = {{"healthy.train", "{\"step\":39,\"loss\":2.8}\n{\"step\":40,\"loss\":2.69}\n",
                   "{\"loss\": 2.7066, \"floor\": 2.0783}"},
                  {"patient.train", "{\"step\":39,\"loss\":3.77}\n{\"step\":40,\"loss\":3.641}\n",
                   "{\"loss\": 3.6372, \"floor\": 2.0783}"}};
    static const struct {
        const char *sentence;
        bool right;
    } cases[] = {{"The loss after 40 steps was 3.64 where healthy had 2.71.", true},
                 {"gap 75.0 % to the floor instead of 30.2 %", true}, {"0.97 is the largest difference", true},
                 {"healthy ended at 2.71", false}};
    struct tt_exercise e;
    struct tt_json *healthy = sick(0, 4.1, 3.3, 1, 4.3, 1), *patient = sick(0, 4.1, 3.3, 1, 4.3, 1);
    struct tt_formula_run r[] = {{.name = "healthy", .profile = healthy}, {.name = "patient", .profile = patient}};
    struct tt_mark m;
    char folder[64] = "/tmp/tt-curves-XXXXXX", path[128];
    CHECK_OK(tt_exercise_read("exercises/09-faults", &e));
    CHECK(mkdtemp(folder) != NULL);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, trains[i].run);
        CHECK_OK(tt_make_dirs(path));
        snprintf(path, sizeof path, "%s/%s/metrics.jsonl", folder, trains[i].run);
        CHECK_OK(tt_file_replace(path, trains[i].steps, strlen(trains[i].steps)));
        snprintf(path, sizeof path, "%s/%s/run.json", folder, trains[i].run);
        CHECK_OK(tt_file_replace(path, trains[i].end, strlen(trains[i].end)));
    }
    struct tt_formula_scope scope = {.runs = r, .count = 2, .define = e.define, .folder = folder};
    const struct tt_question *q = e.questions;
    while (strcmp(q->id, "evidence")) q++;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_yaml given = {.kind = TT_YAML_STRING, .text = (char *)cases[i].sentence};
        CHECK_OK(tt_exercise_judge(q, &given, &scope, &m));
        CHECK((m.kind == TT_MARK_RIGHT) == cases[i].right, "%s: %s", cases[i].sentence, m.reason);
    }
    CHECK_OK(tt_remove_tree(folder));
    tt_exercise_free(&e);
    tt_json_free(healthy);
    tt_json_free(patient);
}

/* A suspicion that does not reproduce says which figure is another one, also where tt compare rounds it away. */
static void a_suspicion_says_what_differs(void)
{
    static const char format[] =
        "{\"run\": {\"fault\": \"unpinned-copies\"}, \"step\": {\"loss\": 3.8, \"grad_norm\": 0.7, \"kernels\": 143}, "
        "\"launch\": {\"waits\": %d}, \"memory\": {\"measured_bytes\": %d}, \"groups\": [{\"name\": \"copies\", "
        "\"count\": 1}]}";
    static const struct {
        int waits, bytes;
        const char *says; /* NULL: it is right */
    } cases[] = {{1, 79980880, "if only by bytes"}, {2, 79989208, "another number of waits"}, {1, 79989208, NULL}};
    struct tt_exercise e;
    CHECK_OK(tt_exercise_read("exercises/09-faults", &e));
    for (int i = 0; i < 3; i++) {
        char text[2][400];
        struct tt_mark m;
        snprintf(text[0], sizeof text[0], format, 1, 79989208);
        snprintf(text[1], sizeof text[1], format, cases[i].waits, cases[i].bytes);
        struct tt_json *patient = json(text[0]), *suspect = json(text[1]);
        struct tt_formula_run r[] = {{.name = "patient", .profile = patient}, {.name = "suspect", .profile = suspect}};
        CHECK(ask(&e, r, 2, "diagnosis", "mask-rebuild", &m) == TT_MARK_WRONG &&
              !strcmp(m.reason, "suspect was made with unpinned-copies; make it with mask-rebuild"), "%s", m.reason);
        enum tt_mark_kind kind = ask(&e, r, 2, "diagnosis", "unpinned-copies", &m);
        CHECK(kind == (cases[i].says ? TT_MARK_WRONG : TT_MARK_RIGHT) &&
              (!cases[i].says || strstr(m.reason, cases[i].says)), "case %d: %s", i, m.reason);
        tt_json_free(patient);
        tt_json_free(suspect);
    }
    tt_exercise_free(&e);
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
    given.text = "the MFU is 83 % here, and so it is fast";
    CHECK_OK(tt_exercise_judge(&q, &given, &scope, &m));
    CHECK(m.kind == TT_MARK_UNKNOWN, "that is another quantity: %s", m.means);
    given.text = "undecided: threads waited 1.34 % of their time";
    CHECK_OK(tt_exercise_judge(&q, &given, &scope, &m));
    CHECK(m.kind == TT_MARK_UNKNOWN, "a quiet machine is no excuse");
    CHECK_OK(tt_exercise_judge(&q, &(struct tt_yaml){0}, &scope, &m));
    CHECK(!strcmp(m.right, "a sentence with 99"), "%s", m.right);
    tt_yaml_free(names);
    CHECK_OK(tt_yaml_parse("- 0 * step.kernels in %\n", 24, &names));
    q.names = names;
    given.text = "the device idles 0 % of it";
    CHECK_OK(tt_exercise_judge(&q, &given, &scope, &m));
    CHECK(m.kind == TT_MARK_RIGHT && !strcmp(m.right, "a sentence with 0"), "%s: %s", m.right, m.reason);
    tt_yaml_free(names);
    tt_json_free(busy);
    tt_json_free(quiet);
}

/* A rank is named by its number or by its name, in both questions. */
static void ranks_have_names_and_numbers(void)
{
    struct tt_exercise e;
    struct tt_json *slow = json("{\"rows\": [{}, {\"slowest_rank\": 1, \"each\": [{\"name\": \"rank_0\", "
                                "\"operations\": 700}, {\"name\": \"rank_1\", \"operations\": 900}]}]}");
    struct tt_formula_run r[] = {{.name = "slow", .profile = slow}};
    struct tt_mark m;
    static const char *const right[] = {"1", "rank_1", "rank 1"}, *const wrong[] = {"0", "rank_0"};
    CHECK_OK(tt_exercise_read("exercises/11-scaling", &e));
    for (int i = 0; i < 3; i++)
        CHECK(ask(&e, r, 1, "named_rank", right[i], &m) == TT_MARK_RIGHT && ask(&e, r, 1, "slow_rank", right[i], &m) ==
              TT_MARK_RIGHT, "%s: %s", right[i], m.reason);
    for (int i = 0; i < 2; i++)
        CHECK(ask(&e, r, 1, "named_rank", wrong[i], &m) == TT_MARK_WRONG && ask(&e, r, 1, "slow_rank", wrong[i], &m) ==
              TT_MARK_WRONG, "%s: %s", wrong[i], m.reason);
    CHECK(ask(&e, r, 1, "named_rank", "layer_1", &m) == TT_MARK_UNKNOWN && ask(&e, r, 1, "slow_rank", "7", &m) ==
          TT_MARK_UNKNOWN);
    tt_exercise_free(&e);
    tt_json_free(slow);
}

static void busy_ranks_decide_nothing(void)
{
    struct tt_exercise e;
    static const char weak_rows[] =
        "{\"run\": {\"link\": \"0.05\"}, \"load\": 3.08, \"busy\": true, \"rows\": [{\"ranks\": 1, \"median_ms\": "
        "860}, {\"ranks\": 2, \"communication_ms\": 406, \"hidden_ms\": 227, \"hidden_noise_ms\": 28, "
        "\"one_stream_ms\": 1395, \"sent_bytes\": 16777216, \"efficiency_percent\": 73.6, \"median_ms\": 1168, "
        "\"tokens_per_second\": 1753, \"collectives\": 5, \"peak_memory_bytes\": 1e8}]}";
    static const char strong_rows[] =
        "{\"run\": {\"link\": \"0.05\"}, \"load\": 0.4, \"rows\": [{\"ranks\": 1, \"median_ms\": 860}, "
        "{\"ranks\": 2, \"communication_ms\": 400, \"hidden_ms\": 0, \"hidden_noise_ms\": 20, \"one_stream_ms\": "
        "900, \"sent_bytes\": 16777216, \"efficiency_percent\": 57.8, \"median_ms\": 744, \"tokens_per_second\": "
        "1376, \"collectives\": 5, \"peak_memory_bytes\": 9e7}]}";
    struct tt_json *weak = json(weak_rows), *strong = json(strong_rows), *fits = json(fits_text);
    struct tt_formula_run r[] = {{.name = "weak", .profile = weak}, {.name = "strong", .profile = strong},
                                 {.name = "late", .profile = strong}, {.name = "sharded", .profile = strong}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/11-scaling", &e));
    CHECK(ask(&e, r, 4, "hides", "undecided", &m) == TT_MARK_RIGHT && strstr(m.means, "The machine was busy") &&
          strstr(m.means, "227 of 406 ms in weak, 0 of 400 ms in late"), "%s", m.means);
    CHECK(ask(&e, r, 4, "late_when", "undecided", &m) == TT_MARK_RIGHT && ask(&e, r, 4, "late_when", "after", &m) ==
          TT_MARK_RIGHT && strstr(m.means, "do not show it"), "%s", m.means);
    CHECK(ask(&e, r, 4, "hides", "weak", &m) == TT_MARK_WRONG);
    CHECK(ask(&e, r, 4, "exposed_ms", "179", &m) == TT_MARK_RIGHT && strstr(m.means, "off by 28 ms."), "%s", m.means);
    CHECK(ask(&e, r, 4, "late_hidden", "0", &m) == TT_MARK_RIGHT && strstr(m.means, "the rest is scatter"), "%s",
          m.means);
    r[2].profile = weak;
    CHECK(ask(&e, r, 4, "late_hidden", "227", &m) == TT_MARK_RIGHT && strstr(m.means, "should be 0") &&
          strstr(m.means, "a busy machine"), "%s", m.means);
    CHECK(ask(&e, r, 4, "late_hidden", "0", &m) == TT_MARK_WRONG && strstr(m.reason, "what it should be"), "%s",
          m.reason);
    r[2].profile = strong;
    CHECK(ask(&e, r, 4, "strong_part", "undecided", &m) == TT_MARK_RIGHT && strstr(m.means, "was busy"), "%s %s",
          m.reason, m.means);
    CHECK(ask(&e, r, 4, "strong_part", "strong", &m) == TT_MARK_WRONG);
    CHECK(ask(&e, r, 4, "cure", "strong reaches 57.8 %: accumulate, or a larger batch", &m) == TT_MARK_RIGHT &&
          ask(&e, r, 4, "cure", "of 406 ms communication less would be sent", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(ask(&e, r, 4, "cure", "its 1 and only way, 2 more", &m) == TT_MARK_UNKNOWN);
    r[0].profile = fits;
    CHECK(ask(&e, r, 4, "late_when", "undecided", &m) == TT_MARK_WRONG);
    CHECK(ask(&e, r, 4, "hides", "weak", &m) == TT_MARK_RIGHT && ask(&e, r, 4, "hides", "undecided", &m) ==
          TT_MARK_WRONG);
    tt_exercise_free(&e);
    tt_json_free(weak);
    tt_json_free(strong);
    tt_json_free(fits);
}

int main(void)
{
    TEST(a_box_may_stay_open);
    TEST(a_cpu_waits_for_no_launch);
    TEST(busy_runs_show_no_gain);
    TEST(busy_runs_mean_something_else);
    TEST(tiles_of_a_busy_machine_have_no_order);
    TEST(quiet_cpus_differ_from_run_to_run);
    TEST(a_busy_quotient_is_no_gain_of_attention);
    TEST(evidence_is_what_compare_prints);
    TEST(evidence_tells_the_patient_from_healthy);
    TEST(evidence_is_in_the_table_of_layers);
    TEST(evidence_is_in_the_curves);
    TEST(a_suspicion_says_what_differs);
    TEST(busy_machines_are_a_reason);
    TEST(ranks_have_names_and_numbers);
    TEST(busy_ranks_decide_nothing);
    TEST(a_plan_may_reach_what_was_measured);
    TEST(a_target_is_met_as_it_is_printed);
    TEST(a_ranking_leaves_out_none_that_is_larger);
    TEST(hiding_is_decided_beyond_the_noise);
    return test_end();
}
