/* Compares profiles, benchmarks and training runs, with profiles made by hand. */
#include "tests/profiling/compare_fixture.h"

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
    CHECK(c->runs[1].same_task && c->runs[1].loss_difference == 0 && c->runs[1].gradient_difference == 0);
    CHECK(c->warnings.n && strstr(c->warnings.s, "do the same work as those of slow, and took 0.50 times"), "%s",
          c->warnings.s);
    CHECK(c->group_count == 5 && fabs(c->groups[2].seconds[0] - 3e-3) < 1e-12 &&
          fabs(c->groups[2].seconds[1] - 1.5e-3) < 1e-12);
    CHECK(strncmp(c->operators[0].name, "softmax", 7) == 0, "%s changed most", c->operators[0].name);
    tt_compare_text(c, &text);
    CHECK(strstr(text.s, "interval: 95 % or as noted, from the steps of these runs, no narrower than the difference"),
          "what the interval covers: %s", text.s);
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
    CHECK(c->warnings.n && strstr(c->warnings.s, "higher: its MFU is relative to a measured 2.5 TFLOP/s, that of lower "
                                                "to 2:"),
          "%s", c->warnings.s);
    tt_compare_free(c);
    CHECK_OK(compare("lower", "lower", c));
    CHECK(!c->warnings.n, "%s", c->warnings.s);
    tt_compare_free(c);

    struct tt_profile wide = by_hand(4), longer = by_hand(4);
    longer.run.seq_len *= 2;
    save(&longer, "longer");
    CHECK_OK(compare("slow", "longer", c));
    CHECK(strstr(c->warnings.s, "longer: its sequences differ in length from those of slow") &&
          !strstr(c->warnings.s, "model differs"), "%s", c->warnings.s);
    tt_compare_free(c);
    wide.run.hidden_dim = 64;
    save(&wide, "wide");
    CHECK_OK(compare("slow", "wide", c));
    CHECK(!c->runs[1].same_model && strstr(c->warnings.s, "its model differs"), "%s", c->warnings.s);
    CHECK_FAILS(gate(c, "slower:5%"), "cannot judge");
    tt_compare_text(c, &text);
    CHECK(strstr(text.s, "hidden 0 -> 64"), "%s", text.s);
    tt_text_free(&text);
    tt_compare_free(c);
    wide = by_hand(4);
    wide.run.num_layers = 2;
    save(&wide, "plain");
    wide = by_hand(4);
    wide.run.num_layers = 2;
    strcpy(wide.run.rope_scaling, "linear,factor=2");
    wide.run.qkv_bias = true;
    save(&wide, "biased");
    CHECK_OK(compare("plain", "biased", c));
    CHECK(!c->runs[1].same_model, "a model with biases and scaled RoPE is taken for one without");
    tt_compare_text(c, &text);
    CHECK(strstr(text.s, "rope-scaling - -> linear,factor=2") && strstr(text.s, "qkv-bias 0 -> 1"), "%s", text.s);
    tt_text_free(&text);
    tt_compare_free(c);

    wide = by_hand(4);
    wide.run.num_layers = 2;
    strcpy(wide.run.documents, "joined");
    strcpy(wide.run.fp8, "linear");
    strcpy(wide.run.update, "all");
    save(&wide, "joined");
    wide = by_hand(4);
    wide.run.num_layers = 2;
    strcpy(wide.run.documents, "separate");
    strcpy(wide.run.fp8, "all");
    strcpy(wide.run.update, "top-k share 0.1");
    save(&wide, "separate");
    CHECK_OK(compare("joined", "separate", c));
    CHECK(c->runs[1].same_model && !c->runs[1].same_task, "losses of other attention are compared");
    tt_compare_text(c, &text);
    CHECK(strstr(text.s, "documents joined -> separate, fp8 linear -> all, update all -> top-k share 0.1"), "%s",
          text.s);
    CHECK_FAILS(gate(c, "loss:0.5"), "cannot be compared");
    tt_text_free(&text);
    tt_compare_free(c);
    CHECK_OK(compare("plain", "separate", c)); /* an older profile does not record it */
    CHECK(c->runs[1].same_task, "%s", c->warnings.s);
    tt_compare_free(c);
    free(c);
}

/* With another number of steps in total, the same step has another learning rate: a different loss is no regression. */
static void other_numbers_of_steps_have_other_losses(void)
{
    static const struct {
        int64_t steps, warmup;
        const char *option;
    } others[] = {{20, 0, "--num-steps"}, {0, 9, "--warmup"}};
    struct tt_comparison *c = calloc(1, sizeof *c);
    struct tt_text text = {0};
    for (int i = 0; i < 2; i++) {
        struct tt_profile few = by_hand(1), many = by_hand(1);
        few.run.steps = 3;
        few.run.warmup = 3;
        many.run.steps = others[i].steps ? others[i].steps : 3;
        many.run.warmup = others[i].warmup ? others[i].warmup : 3;
        many.samples[1].loss += 0.2;
        save(&few, "few");
        save(&many, "many");
        CHECK_OK(compare("few", "many", c));
        CHECK(c->runs[1].same_task && !c->runs[1].same_steps && isnan(c->runs[1].loss_difference), "case %d", i);
        CHECK(strstr(c->warnings.s, "learning rates differ and their losses cannot be compared") &&
                  strstr(c->warnings.s, others[i].option) && !strstr(c->warnings.s, "do not compute the same"), "%s",
              c->warnings.s);
        undecided(c, "loss:0.01");
        undecided(c, "loss:1");
        CHECK_FAILS(gate(c, "loss:0.01"), "different numbers of steps");
        CHECK_OK(gate(c, "gradients"));
        tt_compare_text(c, &text);
        CHECK(strstr(text.s, "losses are not compared, since the runs measured different numbers of steps, norms of "
                             "gradients in the first step differ by at most 0 %"), "%s", text.s);
        tt_text_free(&text);
        tt_compare_free(c);
    }
    struct tt_profile few = by_hand(1), unknown = by_hand(1);
    few.run.steps = 3;
    unknown.run.steps = 0; /* an import does not know */
    save(&few, "few");
    save(&unknown, "unknown");
    CHECK_OK(compare("few", "unknown", c));
    CHECK(c->runs[1].same_steps && c->runs[1].loss_difference == 0, "%s", c->warnings.s);
    tt_compare_free(c);
    free(c);
}

/* After many steps on random tokens two runs differ. What counts is the first step, which both took from the same
 * weights. */
static void only_first_gradients_compare(void)
{
    struct tt_profile a = by_hand(1), drifted = by_hand(1), wrong = by_hand(1), large = by_hand(1), none = by_hand(1);
    struct tt_text text = {0};
    struct tt_comparison *c = calloc(1, sizeof *c);
    drifted.gradients[1].norm *= 50;
    wrong.gradients[1].first_norm *= 1.5;
    large.gradients[1].first_norm *= 1644.7;
    none.gradients[1].first_norm = 0;
    save(&a, "a");
    save(&drifted, "drifted");
    save(&wrong, "wrong");
    save(&large, "large");
    save(&none, "gone");
    CHECK_OK(compare("a", "drifted", c));
    CHECK(c->runs[1].gradient_difference == 0 && !c->warnings.n, "%s", c->warnings.s);
    tt_compare_free(c);
    CHECK_OK(compare("a", "wrong", c));
    CHECK(strstr(c->warnings.s, "a gradient of the first step differs from that of a by 50 %"), "%s", c->warnings.s);
    tt_compare_free(c);
    CHECK_OK(compare("a", "large", c));
    tt_compare_text(c, &text);
    CHECK(strstr(text.s, "norms of gradients in the first step are up to 1645 times as large;") &&
              strstr(text.s, "a gradient of the first step is 1645 times as large as that of a"), "%s", text.s);
    tt_text_free(&text);
    tt_compare_free(c);
    CHECK_OK(compare("a", "gone", c));
    tt_compare_text(c, &text);
    CHECK(strstr(text.s, "norms of gradients in the first step by at most 100 %"), "%s", text.s);
    tt_text_free(&text);
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

    /* Other sizes are not compared. Without times of single steps, a slowdown cannot be told from noise. */
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
    CHECK(!strstr(c->warnings.s, "busy"), "%s", c->warnings.s);
    tt_compare_free(c);
    write_text("run1/run.json", "{\"load\": 0.2, \"waited\": 0.53}");
    write_text("run2/run.json", "{\"load\": 5, \"wai"); /* damaged: nothing is known */
    CHECK_OK(compare("run1", "run2", c));
    CHECK(strstr(c->warnings.s, "run1: when it was measured, the machine was busy: threads waited 53 %") &&
          !strstr(c->warnings.s, "run2: when"), "%s", c->warnings.s);
    tt_compare_free(c);

    /* a fast moment counts only with its own time: 20 steps at 100 and 10000 are 20 / (10/100 + 10/10000) */
    write_text("run2/metrics.jsonl", "{\"step\":10,\"loss\":4.0,\"tokens_per_second\":100}\n"
                                     "{\"step\":20,\"loss\":3.25,\"tokens_per_second\":10000}\n");
    CHECK_OK(compare("run1", "run2", c));
    CHECK(fabs(c->runs[1].tokens_per_second - 20 / 0.101) < 1e-9, "%g tokens/s", c->runs[1].tokens_per_second);
    tt_compare_free(c);

    /* a resumed run begins at step 101: its first line is about one step, not 101 */
    write_text("run2/metrics.jsonl", "{\"step\":101,\"loss\":4.0,\"tokens_per_second\":100}\n"
                                     "{\"step\":102,\"loss\":3.25,\"tokens_per_second\":300}\n"
                                     "{\"step\":103,\"loss\":3.25,\"tokens_per_second\":300}\n");
    CHECK_OK(compare("run1", "run2", c));
    CHECK(fabs(c->runs[1].tokens_per_second - 180) < 1e-9, "%g tokens/s", c->runs[1].tokens_per_second);
    tt_compare_free(c);

    write_text("run2/metrics.jsonl", "{\"step\":1,\"loss\":4.0}\n{\"step\":2,\"lo\n");
    CHECK_FAILS(compare("run1", "run2", c), "line 2 of metrics.jsonl");
    tt_compare_free(c);
    write_text("run2/metrics.jsonl", "{\"step\":1,\"loss\":4.0}\n{\"step\":2,\"lo");
    CHECK_OK(compare("run1", "run2", c)); /* a run that is still going */
    CHECK(c->runs[1].profile.samples_count == 1);
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

/* A line has only as many points as can be seen, however long the run was. */
static void long_runs_make_small_pages(void)
{
    struct tt_comparison *c = calloc(1, sizeof *c);
    struct tt_text lines = {0};
    char *page = NULL;
    size_t n = 0;
    for (int step = 1; step <= 100001; step++)
        tt_text_printf(&lines, "{\"step\":%d,\"loss\":%s,\"grad_norm\":1.5}\n", step, step < 168 ? "null" : "2.25");
    CHECK_OK(tt_make_dirs(in("long")));
    write_text("long/metrics.jsonl", lines.s);
    CHECK_OK(tt_make_dirs(in("short")));
    write_text("short/metrics.jsonl", "{\"step\":1,\"loss\":4.0}\n{\"step\":2,\"loss\":3.0}\n");
    CHECK_OK(compare("long", "short", c));
    CHECK(c->runs[0].profile.samples_count == 100001);
    CHECK_OK(tt_compare_write_html(c, in("compare.html")));
    CHECK_OK(tt_file_read(in("compare.html"), 1 << 24, &page, &n));
    CHECK(n < 100000, "%zu bytes", n);
    CHECK(strstr(page, "Each point is the mean of 167 steps."));
    well_formed(page, "compare.html");
    free(page);
    tt_text_free(&lines);
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

/* Two benchmarks of two rows each: the gate compares each row with the one of the same name, not with the first of
 * all. */
static void holds_rows_against_their_like(void)
{
    struct tt_comparison *c = calloc(1, sizeof *c);
    char old[200], now[200];
    const char *paths[] = {old, now};
    static const char row[] = "{\"size\": \"small\", \"version\": \"%s\", \"median_ms\": %d, \"num_layers\": 2, "
                              "\"tokens_per_second\": %d, \"steps_ms\": [%d, %d, %d, %d]}";
    for (int i = 0; i < 2; i++) {
        char a[400], b[400], all[900];
        int flash = i ? 15 : 10;
        snprintf(a, sizeof a, row, "baseline", 20, 50, 20, 20, 20, 20);
        snprintf(b, sizeof b, row, "flash", flash, 1000 / flash, flash, flash, flash, flash);
        snprintf(all, sizeof all, "{\"precision\": \"fp32\", \"rows\": [%s, %s]}", a, b);
        write_text(i ? "now.json" : "old.json", all);
    }
    snprintf(old, sizeof old, "%s", in("old.json"));
    snprintf(now, sizeof now, "%s", in("now.json"));
    CHECK_OK(tt_compare(paths, 2, c));
    CHECK(c->n == 4 && c->rows == 2 && c->runs[3].base == 1 && c->runs[2].base == 0 && c->runs[1].base == 0);
    CHECK(fabs(c->runs[3].speedup - 0.66) < 0.01 && c->runs[2].speedup == 1, "%g", c->runs[3].speedup);
    CHECK(!strcmp(c->runs[3].label, "small flash fp32, now.json"), "%s", c->runs[3].label);
    CHECK_FAILS(gate(c, "slower:5%"), "more time than small flash fp32, old.json");
    tt_compare_free(c);
    free(c);
}

/* Two files of tt bench --against: each ran its own pair alternately, but the two files did not alternate with each
 * other. */
static void turns_of_another_file_are_none(void)
{
    struct tt_comparison *c = calloc(1, sizeof *c);
    char old[200], now[200];
    const char *paths[] = {old, now};
    static const char file[] =
        "{\"backend\": \"cpu\", \"load\": %d, "
        "\"against\": {\"ratio\": 2, \"low\": 1.9, \"high\": 2.1, \"confidence\": 0.97}, \"rows\": ["
        "{\"label\": \"A\", \"num_layers\": 2, \"tokens_per_second\": %d, \"median_ms\": %d, "
        "\"steps_ms\": [%d, %d, %d, %d]}, "
        "{\"label\": \"B\", \"num_layers\": 2, \"tokens_per_second\": %d, \"median_ms\": %d, "
        "\"steps_ms\": [%d, %d, %d, %d]}]}";
    for (int i = 0; i < 2; i++) {
        char all[900];
        int a = i ? 30 : 20, b = i ? 15 : 10;
        snprintf(all, sizeof all, file, i ? 4 : 0, 6000 / a, a, a, a, a, a, 6000 / b, b, b, b, b, b);
        write_text(i ? "now.json" : "old.json", all);
    }
    snprintf(old, sizeof old, "%s", in("old.json"));
    snprintf(now, sizeof now, "%s", in("now.json"));
    CHECK_OK(tt_compare(paths, 2, c));
    CHECK(c->runs[1].in_turns && c->runs[1].speedup == 2 && !c->runs[3].in_turns && c->runs[3].base == 1);
    CHECK(strstr(c->warnings.s, "B, now.json: when it was measured"), "%s", c->warnings.s);
    tt_status st = gate(c, "slower:5%");
    CHECK(st && st->code == TT_UNDECIDED, "a busy machine fails the gate: %s", st ? st->text : "passed");
    tt_status_free(st);
    tt_compare_free(c);
    free(c);
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    TEST(compares_profiles);
    TEST(long_runs_make_small_pages);
    TEST(other_numbers_of_steps_have_other_losses);
    TEST(only_first_gradients_compare);
    TEST(compares_benchmarks_and_training_runs);
    TEST(holds_rows_against_their_like);
    TEST(turns_of_another_file_are_none);
    TEST(reads_conditions);
    CHECK_OK(tt_remove_tree(folder));
    return test_end();
}
