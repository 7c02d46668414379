/* Sentences of exercises 1, 3 and 9: a number counts as the figure of what it is said to be of. */
#include "tests/exercises/course_fixture.h"

/* Two runs whose steps take 100 and 367 ms, all of it beside the kernels. */
static struct tt_json *run_of(double waited, double seconds, double memory, int feed_forward, int batch)
{
    char text[1500];
    snprintf(text, sizeof text,
             "{\"run\": {\"batch_size\": %d, \"grad_accum\": %d, \"seq_len\": 64, "
             "\"backend\": \"cpu\", \"device\": \"Xeon, 1 thread\", \"load\": 0.1, \"waited\": %g, \"steps\": 10}, "
             "\"step\": {\"kernels\": "
             "143, \"loss\": 4.1, \"seconds\": %g, \"deviation\": 0.0001, \"gap_seconds\": %g, \"grad_norm\": 7.7, "
             "\"peak_memory_bytes\": %.0f, \"tokens_per_second\": %g, \"samples_per_second\": %g}, \"efficiency\": "
             "{\"mfu_percent\": %g}, \"launch\": {\"waits\": 1}, \"phases\": [{\"name\": \"other\", \"wall\": %g}], "
             "\"samples\": [{\"step\": 1, \"loss\": 4.2, \"grad_norm\": 2.6}], \"groups\": [{\"name\": \"copies\", "
             "\"count\": 1, \"bytes\": 8294, \"seconds\": 6e-6}, {\"name\": \"swiglu_gate_up\", \"count\": %d, "
             "\"bytes\": 0, \"seconds\": 0.1}], \"gradients\": [{\"name\": \"w\", \"norm\": 1, \"first_norm\": 1}]}",
             batch, 32 / batch, waited, seconds, seconds - 0.1, memory, 2048 / seconds, 32.1 / seconds,
             2.01 / seconds, seconds - 0.1,
             feed_forward);
    return json(text);
}

static void evidence_is_any_speed(void)
{
    static const struct said cases[] = {
        {"Only 5580 tokens a second instead of 20480", true}, {"20480 tokens a second", false},
        {"5580 kernels", false}, {"87.5 samples/s instead of 321", true}, {"The MFU is 5.48 % instead of 20.1 %", true},
        {"The MFU is 20.1 %", false}, {"The speed-up is 0.27", true}, {"It takes 267 ms more", true},
        {"the step takes 267 % more time", true}, {"It is 3.67 times slower", true},
        {"There is 3.67 times as much memory", false}, {"3.67 times as many kernels", false},
        {"swiglu_gate_up has 1028 kernels instead of 12", true}, {"copies has 1028 kernels", false},
        {"swiglu_gate_up has 12 kernels", false}, {"8.1 KiB more memory", true}, {"8 KiB more memory", true},
        {"8.13 KiB more memory", true}, {"7.9 KiB more memory", false}, {"9 KiB more memory", false}};
    struct tt_json *healthy = run_of(0, 0.1, 5e7, 12, 32), *patient = run_of(0, 0.367, 5e7 + 8328, 1028, 32);
    check_evidence(cases, sizeof cases / sizeof *cases, healthy, patient);
}

/* On a busy machine the step does not tell the runs apart, and no speed that is computed from it does. */
static void no_speed_of_a_busy_run_is_evidence(void)
{
    static const char *const none[] = {"Only 5580 tokens a second", "The MFU is 5.48 %", "The speed-up is 0.27",
                                       "It is 3.67 times slower"};
    struct tt_exercise e;
    struct tt_json *healthy = run_of(0, 0.1, 5e7, 12, 32), *patient = run_of(0.6, 0.367, 5e7, 13, 32);
    struct tt_formula_run r[] = {{.name = "healthy", .profile = healthy}, {.name = "patient", .profile = patient}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/09-faults", &e));
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        CHECK(ask(&e, r, 2, "evidence", none[i], &m) == TT_MARK_UNKNOWN && strstr(m.reason, "the machine was busy"),
              "%s: %s%s", none[i], m.reason, m.means);
    tt_exercise_free(&e);
    tt_json_free(healthy);
    tt_json_free(patient);
}

/* What tells a tiny batch from a large one is the batch, and a speed-up is no loss, even where the two are alike. */
static void evidence_is_a_batch(void)
{
    static const struct said cases[] = {
        {"The batch is 1 instead of 32", true}, {"32 accumulations instead of 1", true},
        {"The products of the batch have 64 rows instead of 2048", true}, {"The batch is 32", false},
        {"The products have 2048 rows", false}, {"The speed-up is 4.27 here", false}, {"The rate is 4.27", false},
        {"The price is 2.75 dollars", false}, {"The loss of a batch is 4.27", true}, {"It begins at 4.27", false},
        {"The wealth of nations is 4.27", false},
        {"The norm of the gradients is 2.75", true}};
    struct tt_json *healthy = run_of(0, 0.1, 5e7, 12, 32), *patient = run_of(0, 0.1, 5e7, 12, 1);
    struct tt_json *sample = tt_json_get(patient, "samples")->first;
    ((struct tt_json *)tt_json_get(sample, "loss"))->number = 4.27;
    ((struct tt_json *)tt_json_get(sample, "grad_norm"))->number = 2.75;
    check_evidence(cases, sizeof cases / sizeof *cases, healthy, patient);
}

/* How two runs differ is no count of one of them. */
static void evidence_is_a_count_or_a_difference(void)
{
    static const struct said cases[] = {
        {"one more wait than healthy", true}, {"two more waits than healthy", false}, {"2 more waits", false},
        {"2 waits more than healthy", false}, {"patient waits two times more often", false},
        {"2 waits in a step instead of 1", true}, {"the host waits twice in each step", true}};
    struct tt_json *healthy = run_of(0, 0.1, 5e7, 12, 32), *patient = run_of(0, 0.1, 5e7, 12, 32);
    ((struct tt_json *)tt_json_get(tt_json_get(patient, "launch"), "waits"))->number = 2;
    check_evidence(cases, sizeof cases / sizeof *cases, healthy, patient);
}

/* What other programs may have added is taken off the phase other, which lies in the gaps, and not in the kernels. */
static void gaps_of_a_busy_run_hold_its_phases(void)
{
    static const struct said cases[] = {
        {"the gaps of patient are 900 ms", true}, {"the phase other of patient takes 900 ms", true},
        {"the kernels of patient take 900 ms", false}, {"outside the kernels patient takes 900 ms", true}};
    struct tt_json *healthy = run_of(0, 0.1, 5e7, 12, 32), *patient = run_of(0.6, 1, 5e7, 12, 32);
    check_evidence(cases, sizeof cases / sizeof *cases, healthy, patient);
}

/* Which way round the patient differs, its quotients, and the part of a phase, as people say them. */
static void evidence_has_a_direction(void)
{
    static const struct said cases[] = {
        {"It takes 267 ms less than that of healthy", false}, {"The step is 3.67 times as fast as healthy", false},
        {"The step is 3.67 times as long", true}, {"healthy takes 267 ms less", true},
        {"healthy takes 267 ms more", false}, {"The step of healthy is 367 ms", false}, {"It is 73 % slower", true},
        {"It is 73 % faster", false},
        {"It takes 7.95 KiB less memory", false}, {"It takes 7.95 KiB more memory", true},
        {"73 % of the step are in the phase other", true}, {"73 % of the answers are right", false},
        {"tt compare says 0.27x", true}, {"The speed-up is 0.27x", true}, {"It is 0.27 dollars", false},
        {"The norm of the gradients is 1.30 times as large", true}, {"The norm is 1.30 times smaller", false},
        {"The memory is 1.30 times as large", false}};
    struct tt_json *healthy = run_of(0, 0.1, 5e7, 12, 32), *patient = run_of(0, 0.367, 5e7 + 8141, 1028, 32);
    ((struct tt_json *)tt_json_get(tt_json_get(patient, "step"), "grad_norm"))->number = 10.01;
    check_evidence(cases, sizeof cases / sizeof *cases, healthy, patient);
}

/* What a group has to lose is said of neither its share nor its roof, and of no MFU. */
static void what_a_group_has_to_lose_is_no_share(void)
{
    static const struct {
        const char *sentence, *named; /* NULL: it names nothing */
    } cases[] = {{"optimizer loses 19.1 %", "what optimizer has to lose"},
                 {"most to gain: optimizer 19.1 %", "what optimizer has to lose"},
                 {"optimizer has 19.1 % of the step to lose", "what optimizer has to lose"},
                 {"share times (1 - roof) of optimizer is 19.1 %", "what optimizer has to lose"},
                 {"share times 1 minus roof of optimizer is 19.1 %", "what optimizer has to lose"},
                 {"MFU is 19.40 % in baseline", NULL}, {"MFU is 19.1 %", NULL},
                 {"MFU is 9.83 %", "the MFU of baseline"},
                 {"optimizer reaches 19.1 % of its roof", NULL}, {"19.1 % of the tokens", NULL},
                 {"optimizer takes 12.38 % of the step", NULL},
                 {"optimizer takes 20.1 % of the step", "the share of optimizer in baseline"},
                 {"attention_scores would gain 12.45 %", "what attention_scores has to lose"},
                 {"swiglu_down takes 12.38 % of the step", "the share of swiglu_down in baseline"}};
    struct tt_exercise e;
    struct tt_mark m;
    struct tt_json *a = json("{\"run\": {\"backend\": \"cpu\", \"load\": 0.1, \"waited\": 0.01, \"steps\": 3}, "
                             "\"step\": {\"seconds\": 1, \"p95\": 1.1, \"fastest\": 0.9, \"kernels\": 636, "
                             "\"tokens_per_second\": 1024, \"samples_per_second\": 8, \"peak_memory_bytes\": 1e8}, "
                             "\"efficiency\": {\"mfu_percent\": 9.83}, \"operators\": [], \"groups\": ["
                             "{\"name\": \"optimizer\", \"share\": 0.201, \"roof_percent\": 5, \"seconds\": 0.201}, "
                             "{\"name\": \"swiglu_down\", \"share\": 0.1238, \"roof_percent\": 60, \"seconds\": "
                             "0.1238}, {\"name\": \"attention_scores\", \"share\": 0.166, \"roof_percent\": 25, "
                             "\"seconds\": 0.166}]}");
    struct tt_formula_run r[] = {{"baseline", a}, {"again", a}, {"double", a}};
    CHECK_OK(tt_exercise_read("exercises/01-baseline", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum tt_mark_kind kind = ask(&e, r, 3, "first_idea", cases[i].sentence, &m);
        const char *named = cases[i].named;
        CHECK(named ? kind == TT_MARK_RIGHT && strstr(m.means, named) : kind == TT_MARK_UNKNOWN, "%s: %s%s",
              cases[i].sentence, m.reason, m.means);
    }
    tt_exercise_free(&e);
    tt_json_free(a);
}

int main(void)
{
    TEST(evidence_has_a_direction);
    TEST(evidence_is_a_batch);
    TEST(evidence_is_a_count_or_a_difference);
    TEST(gaps_of_a_busy_run_hold_its_phases);
    TEST(evidence_is_any_speed);
    TEST(no_speed_of_a_busy_run_is_evidence);
    TEST(what_a_group_has_to_lose_is_no_share);
    return test_end();
}
