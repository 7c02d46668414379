/* Answers of learners to the questions of the course: which of them are right as they were written, and which mistake
 * each of the others is. */
#include "tests/exercises/course_fixture.h"

struct answer {
    const char *folder, *id, *given, *says; /* NULL: it is right */
};

static void check_answers(const struct answer *cases, size_t n, struct tt_formula_run *r, int runs)
{
    for (size_t i = 0; i < n; i++) {
        struct tt_exercise e;
        struct tt_mark m;
        char folder[80];
        snprintf(folder, sizeof folder, "exercises/%s", cases[i].folder);
        CHECK_OK(tt_exercise_read(folder, &e));
        enum tt_mark_kind kind = ask(&e, r, runs, cases[i].id, cases[i].given, &m);
        CHECK(cases[i].says ? kind == TT_MARK_WRONG && strstr(m.reason, cases[i].says) : kind == TT_MARK_RIGHT,
              "%s %s: %s", cases[i].id, cases[i].given, m.reason);
        tt_exercise_free(&e);
    }
}

/* Answers that were given, and which mistake each of them is. */
static void mistakes_are_named_as_they_were_made(void)
{
    static const struct answer cases[] = {
        {"01-baseline", "double_times", "2.094", NULL},
        {"01-baseline", "double_times", "2.0058", "that is what the run again gives in the place of baseline"},
        {"01-baseline", "ideal_ms", "80.3", NULL},
        {"01-baseline", "ideal_ms", "82.7", "with all of S x S"},
        {"01-baseline", "ideal_ms", "82.6", NULL},
        {"01-baseline", "equals_percent", "4", "rounded too far"},
        {"01-baseline", "largest_group", "optimiser", NULL},
        {"05-flash", "bytes_ratio", "1.09", "ratio of the FLOPs"},
        {"05-flash", "bytes_ratio", "1.072", "half of what is wanted"},
        {"11-scaling", "strong_limit", "0.823", "it is n/(n-1) times as long"},
        {"11-scaling", "strong_limit", "0.41", NULL},
        {"03-bottlenecks", "step_ms", "148", NULL},
        {"03-bottlenecks", "step_ms", "150.9", "that is the mean"},
        {"03-bottlenecks", "step_ms", "152.83", "that is the sum of the kernels"},
        {"03-bottlenecks", "step_ms", "153.0", "with an event after each operation"},
        {"05-flash", "online_l", "1.135", NULL},
        {"05-flash", "online_l", "1.20", "that is l in the end"},
        {"05-flash", "online_final", "1.14", "that is l after the first two"},
        {"05-flash", "online_l", "-1.135", "not negative"},
        {"05-flash", "fused_growth", "4", "by so much the sequence grows"},
        {"05-flash", "fused_growth", "4.014", "that is all memory"},
        {"05-flash", "fused_growth", "6.65", "the row activations of the ledger, which leaves out the logits"},
        {"11-scaling", "exposed_ms", "269.3", NULL},
        {"11-scaling", "exposed_ms", "135", "a difference of two medians, about what is hidden"},
        {"11-scaling", "exposed_ms", "257.6", "hidden_ms is the median over pairs"},
        {"11-scaling", "late_hidden", "78.2", "hidden_ms is the median over pairs"},
        {"11-scaling", "shard_saves", "15.97", NULL},
        {"11-scaling", "shard_saves", "16.75", "a MiB is 1048576 bytes"},
        {"11-scaling", "shard_saves", "16.5", "too large for this run"}};
    struct tt_json *p[] = {json("{\"run\": {\"backend\": \"cpu\", \"load\": 0.1, \"waited\": 0, \"steps\": 3}, "
                                "\"step\": {\"seconds\": 0.148109, \"mean\": 0.1509, \"fastest\": 0.147, "
                                "\"p95\": 0.16, \"kernel_seconds\": 0.15283, "
                                "\"deviation\": 0.001, \"samples_per_second\": 54, \"tokens_per_second\": 6914}, "
                                "\"launch\": {\"recorded_seconds\": 0.153}, "
                                "\"efficiency\": {\"mfu_percent\": 54.21, \"mfu_full_percent\": 55.84, "
                                "\"mfu_class\": \"good\"}, \"groups\": [{\"name\": \"optimizer\", \"share\": "
                                "0.4}]}"),
                           json("{\"step\": {\"seconds\": 0.15465, \"tokens_per_second\": 6621}}"),
                           json("{\"run\": {\"backend\": \"cpu\", \"load\": 0.1, \"waited\": 0, \"steps\": 3}, "
                                "\"step\": {\"seconds\": 0.310194, \"deviation\": 0.02, \"tokens_per_second\": 6602}}"),
                           json("{\"efficiency\": {\"plan_bytes\": 2.1434e9, \"plan_flops\": 129.64e9}, "
                                "\"run\": {\"seq_len\": 512}, \"memory\": {\"live_bytes\": 6e8}, \"memory_kinds\": ["
                                "{\"kind\": \"activations\", \"predicted\": 6e8}], "
                                "\"step\": {\"peak_memory_bytes\": 4.014e8}}"),
                           json("{\"efficiency\": {\"plan_bytes\": 1e9, \"plan_flops\": 118.94e9}}"),
                           json("{\"rows\": [{\"median_ms\": 287.43}, {\"communication_ms\": 349.07, "
                                "\"ranks\": 2}]}"),
                           json("{\"run\": {\"seq_len\": 128}, \"memory\": {\"live_bytes\": 1e8}, \"memory_kinds\": [{"
                                "\"kind\": \"activations\", \"predicted\": 9.0226e7}], \"step\": {"
                                "\"peak_memory_bytes\": 1e8}}"),
                           json("{\"rows\": [{\"median_ms\": 218}, {\"communication_ms\": 392.56, \"hidden_ms\": "
                                "123.3, \"one_stream_ms\": 721.4, \"median_ms\": 586.4, "
                                "\"each\": [{\"work_ms\": 350}], \"hidden_noise_ms\": 105, "
                                "\"peak_memory_bytes\": 33492992}]}"),
                           json("{\"load\": 0.1, \"rows\": [{}, {\"hidden_ms\": 51.59, \"one_stream_ms\": 653.1, "
                                "\"median_ms\": 574.9}]}"),
                           json("{\"rows\": [{}, {\"peak_memory_bytes\": 16747233}]}")};
    static const char *const names[] = {"baseline", "again", "double", "fused_long", "flash_long", "strong", "fused",
                                        "weak", "late", "sharded"};
    struct tt_formula_run r[10];
    for (int i = 0; i < 10; i++) r[i] = (struct tt_formula_run){.name = names[i], .profile = p[i]};
    check_answers(cases, sizeof cases / sizeof *cases, r, 10);
    for (int i = 0; i < 10; i++) tt_json_free(p[i]);
}

/* A figure that was read from another run's file is not right because the two are near each other. */
static void a_figure_of_another_run_is_told_within_the_tolerance(void)
{
    static const struct {
        const char *given;
        bool right;
    } cases[] = {{"132.262", true}, {"132", true}, {"134.062", false}, {"134.1", false}, {"134", true},
                 {"133.5", true}, {"132.903", true}, {"132.902", false}};
    struct tt_exercise e;
    struct tt_json *baseline = json("{\"run\": {\"steps\": 5}, \"step\": {\"seconds\": 0.132262, \"fastest\": 0.13083, "
                                    "\"mean\": 0.1327, \"kernel_seconds\": 0.14, \"p95\": 0.135}, "
                                    "\"launch\": {\"recorded_seconds\": 0.14}}"),
                   *again = json("{\"step\": {\"seconds\": 0.134062, \"mean\": 0.1345, \"fastest\": 0.133}}"),
                   *twice = json("{\"step\": {\"seconds\": 0.132902, \"mean\": 0.1345, \"fastest\": 0.131}}");
    struct tt_formula_run r[] = {{.name = "baseline", .profile = baseline}, {.name = "again", .profile = again},
                                 {.name = "double", .profile = twice}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/01-baseline", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum tt_mark_kind kind = ask(&e, r, 3, "step_ms", cases[i].given, &m);
        CHECK(cases[i].right ? kind == TT_MARK_RIGHT : kind == TT_MARK_WRONG && strstr(m.reason, "of the run "),
              "%s: %s", cases[i].given, m.reason);
    }
    tt_exercise_free(&e);
    tt_json_free(baseline);
    tt_json_free(again);
    tt_json_free(twice);

    static const struct answer losses[] = {{"09-faults", "healthy_first", "4.18908", NULL},
                                           {"09-faults", "healthy_first", "4.187", NULL},
                                           {"09-faults", "healthy_first", "4.1869", "of the run patient"},
                                           {"09-faults", "healthy_first", "4.186879", "of the run patient"},
                                           {"09-faults", "healthy_first", "4.18687916", "of the run patient"}};
    struct tt_json *healthy = json("{\"run\": {\"vocab_size\": 64}, \"step\": {\"loss\": 3.9}, "
                                   "\"samples\": [{\"loss\": 4.18907642}]}"),
                   *patient = json("{\"step\": {\"loss\": 3.9}, \"samples\": [{\"loss\": 4.18687916}]}");
    struct tt_formula_run sick[] = {{.name = "healthy", .profile = healthy}, {.name = "patient", .profile = patient}};
    check_answers(losses, sizeof losses / sizeof *losses, sick, 2);
    tt_json_free(healthy);
    tt_json_free(patient);
}

/* What follows from counts, or from figures of four digits, is right as it is rounded and not 3 % beside. */
static void what_is_computed_from_a_table_is_near(void)
{
    static const struct answer cases[] = {
        {"01-baseline", "gemm_ratio", "2", NULL},
        {"01-baseline", "gemm_ratio", "2.00", NULL},
        {"01-baseline", "gemm_ratio", "2x", NULL},
        {"01-baseline", "gemm_ratio", "1.98", "too small"},
        {"01-baseline", "gemm_ratio", "2.25", "that is of their times"},
        {"03-bottlenecks", "products_mfu", "58.97", NULL},
        {"03-bottlenecks", "products_mfu", "59", NULL},
        {"03-bottlenecks", "products_mfu", "58.9", NULL},
        {"03-bottlenecks", "products_mfu", "59.0 %", NULL},
        {"03-bottlenecks", "products_mfu", "61", "all of S x S"},
        {"03-bottlenecks", "products_mfu", "60.7", "all of S x S"},
        {"03-bottlenecks", "products_mfu", "60", "too large"},
        {"03-bottlenecks", "products_mfu", "58", "too small"},
        {"03-bottlenecks", "products_mfu", "0.5897", "a percentage is wanted, not a fraction"}};
    struct tt_json *a = json("{\"run\": {\"backend\": \"cpu\", \"load\": 0.1, \"waited\": 0, \"steps\": 5}, "
                             "\"step\": {\"seconds\": 0.131162, \"deviation\": 0.001}, "
                             "\"launch\": {\"recorded_overhead\": 0.002}, "
                             "\"efficiency\": {\"mfu_percent\": 47.02, \"mfu_full_percent\": 48.44}, \"operators\": ["
                             "{\"name\": \"gemm\", \"phase\": \"forward_pass\", \"count\": 37, \"seconds\": 0.03218, "
                             "\"share\": 0.245}, {\"name\": \"gemm\", \"phase\": \"backward_pass\", \"count\": 74, "
                             "\"seconds\": 0.0724, \"share\": 0.552}]}");
    struct tt_formula_run r[] = {{.name = "baseline", .profile = a}};
    check_answers(cases, sizeof cases / sizeof *cases, r, 1);
    tt_json_free(a);
}

/* A figure of another run is that run's also where the question's is a definition, and of two mistakes that fit it is
 * the nearer one. */
static void definitions_are_those_of_the_run(void)
{
    static const struct answer cases[] = {
        {"03-bottlenecks", "products_mfu", "50.18", NULL},
        {"03-bottlenecks", "products_mfu", "65.6", "figure of the run fused"},
        {"03-bottlenecks", "products_mfu", "45.2", "too small"}, /* of a run's times and another's MFU: nobody's */
        {"03-bottlenecks", "amdahl_gate_up", "1.1623", NULL},
        {"03-bottlenecks", "amdahl_gate_up", "1.162", NULL},
        {"03-bottlenecks", "amdahl_gate_up", "1.1447", "figure of the run fused"},
        {"03-bottlenecks", "amdahl_gate_up", "1.1440", "swiglu_gate_up alone"},
        {"03-bottlenecks", "amdahl_gate_up", "1.1668", "figure of the run wide"},
        {"01-baseline", "step_ms", "272.705", "sum of the kernels"},
        {"01-baseline", "step_ms", "272.72", "with an event after each operation"},
        {"01-baseline", "equals_percent", "85", "too large"},
        {"01-baseline", "chance_loss", "6.931", NULL},
        {"01-baseline", "chance_loss", "6.957", "loss of the first step"},
        {"01-baseline", "chance_loss", "6.9570", "loss of the first step"},
        {"01-baseline", "chance_loss", "6.9645", "loss of the last step"},
        {"01-baseline", "chance_loss", "6.9557", "too large"}, /* of another step */
        {"05-flash", "backward_flops", "2.5", "five against two"},
        {"05-flash", "backward_flops", "2.48", "of their times"},
        {"11-scaling", "efficiency_unhidden", "58.5", NULL},
        {"11-scaling", "efficiency_unhidden", "59.6", "too large"},
        {"11-scaling", "efficiency_unhidden", "59.5", "figure of the run strong"}};
    struct tt_json *p[] = {
        json("{\"run\": {\"backend\": \"cpu\", \"load\": 0.1, \"waited\": 0, \"steps\": 3, \"vocab_size\": 1024}, "
             "\"step\": {\"seconds\": 0.278, \"deviation\": 0.001, \"kernel_seconds\": 0.27270544, \"mean\": 0.28, "
             "\"fastest\": 0.26, \"p95\": 0.29, \"loss\": 6.96449}, "
             "\"samples\": [{\"loss\": 6.95697}], "
             "\"launch\": {\"recorded_seconds\": 0.272721, \"recorded_overhead\": -0.001}, \"efficiency\": "
             "{\"mfu_percent\": 47.217, \"mfu_full_percent\": 48.44}, \"groups\": [{\"name\": \"swiglu_gate_up\", "
             "\"share\": 0.3776}, {\"name\": \"swiglu_activation\", \"share\": 0.0414}], \"operators\": [{\"name\": "
             "\"gemm\", \"seconds\": 0.2616, \"share\": 0.9}]}"),
        json("{\"run\": {\"backend\": \"cpu\"}, \"step\": {\"seconds\": 0.2092}, \"efficiency\": {\"mfu_percent\": "
             "68.49}, \"groups\": [{\"name\": \"swiglu_gate_up\", \"share\": 0.3492}, {\"name\": "
             "\"swiglu_activation\", \"share\": 0.03}], \"operators\": [{\"name\": \"gemm\", \"seconds\": 0.21839, "
             "\"share\": 0.9}]}"),
        json("{\"step\": {\"seconds\": 1.1}, \"groups\": [{\"name\": \"swiglu_gate_up\", \"share\": 0.3885}, "
             "{\"name\": \"swiglu_activation\", \"share\": 0.04036}], \"operators\": [{\"name\": \"gemm\", "
             "\"seconds\": 1.01, \"share\": 0.92}], \"efficiency\": {\"mfu_percent\": 30}}"),
        json("{\"step\": {\"seconds\": 0.3028}}"),
        json("{\"operators\": [{\"name\": \"flash\", \"flops\": 1e9, \"seconds\": 1}, {\"name\": "
             "\"flash_backward\", \"flops\": 2.29e9, \"seconds\": 2.482}]}"),
        json("{\"rows\": [{\"median_ms\": 585}, {\"communication_ms\": 415, \"efficiency_percent\": 80}]}"),
        json("{\"rows\": [{\"median_ms\": 595.05}, {\"communication_ms\": 404.95, \"efficiency_percent\": 81}]}")};
    static const char *const names[] = {"baseline", "fused", "wide", "again", "flash_long", "weak", "strong"};
    struct tt_formula_run r[7];
    for (int i = 0; i < 7; i++) r[i] = (struct tt_formula_run){.name = names[i], .profile = p[i]};
    check_answers(cases, sizeof cases / sizeof *cases, r, 7);
    for (int i = 0; i < 7; i++) tt_json_free(p[i]);
}

/* What is meant counts, not how it is written. */
static void words_are_taken_as_they_are_written(void)
{
    static const struct {
        const char *folder, *id, *right, *wrong; /* words, a comma between them */
    } cases[] = {{"01-baseline", "disturbed", "mean,average,the mean", "median"},
                 {"05-flash", "tile_side", "rows,row,Rows", "cols,columns,column,the columns"},
                 {"05-flash", "order", "S,linear,linearly,O(S)", "S*S,S^2,S\xc2\xb2,S squared,quadratic,O(S^2),S x S"},
                 {"09-faults", "init_rule", "ln(vocabulary),ln(vocab),log(vocab_size)", "0,zero,ln(batch)"}};
    struct tt_json *a = json("{\"run\": {\"seq_len\": 128}, \"memory\": {\"live_bytes\": 1e8}}"),
                   *b = json("{\"run\": {\"seq_len\": 1024}, \"memory\": {\"live_bytes\": 8.1e8}}");
    struct tt_formula_run r[] = {{.name = "flash", .profile = a}, {.name = "flash_long", .profile = b}};
    struct tt_mark m;
    char folder[80], word[40];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_exercise e;
        snprintf(folder, sizeof folder, "exercises/%s", cases[i].folder);
        CHECK_OK(tt_exercise_read(folder, &e));
        for (const char *at = cases[i].right; tt_list_next(&at, ',', word, sizeof word);)
            CHECK(ask(&e, r, 2, cases[i].id, word, &m) == TT_MARK_RIGHT, "%s %s: %s", cases[i].id, word, m.reason);
        for (const char *at = cases[i].wrong; tt_list_next(&at, ',', word, sizeof word);)
            CHECK(ask(&e, r, 2, cases[i].id, word, &m) == TT_MARK_WRONG, "%s %s: %s", cases[i].id, word, m.reason);
        tt_exercise_free(&e);
    }
    tt_json_free(a);
    tt_json_free(b);
}

int main(void)
{
    TEST(mistakes_are_named_as_they_were_made);
    TEST(a_figure_of_another_run_is_told_within_the_tolerance);
    TEST(what_is_computed_from_a_table_is_near);
    TEST(definitions_are_those_of_the_run);
    TEST(words_are_taken_as_they_are_written);
    return test_end();
}
