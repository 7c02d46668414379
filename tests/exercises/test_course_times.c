/* Which times count as evidence in exercise 9, because they tell a patient from healthy. */
#include "tests/exercises/sick_fixture.h"

/* A run with these times of a step, of its copies and of the phase other, in seconds. */
static struct tt_json *with_times(double waited, double step, double copy, double other)
{
    char text[1200];
    snprintf(text, sizeof text,
             "{\"run\": {\"batch_size\": 32, \"grad_accum\": 1, \"seq_len\": 64, \"device\": \"c, 2 threads\", "
             "\"backend\": \"cpu\", \"waited\": %g, \"steps\": 3}, \"step\": {"
             "\"kernels\": 143, \"loss\": 4.1, \"seconds\": %g, \"gap_seconds\": 0, "
             "\"grad_norm\": %g, \"peak_memory_bytes\": 5e7, " NO_SPEED "\"launch\": {\"waits\": 1}, \"phases\": [{"
             "\"name\": \"other\", \"wall\": %g}], \"samples\": [{\"step\": 1, \"loss\": 4.2, \"grad_norm\": 2.6, "
             "\"seconds\": %g}, {\"step\": 2, \"loss\": 4.1, \"grad_norm\": 2.6, \"seconds\": %g}, "
             "{\"step\": 3, \"loss\": 4.05, \"grad_norm\": 2.6, \"seconds\": %g}], \"groups\": [{"
             "\"name\": \"copies\", \"count\": 1, \"bytes\": 4444, \"seconds\": %g}], \"gradients\": []}",
             waited, step, copy > 5e-6 ? 7.1 : 7.7, other, step, step, step, copy);
    return json(text);
}

/* The step counts if its interval excludes 1, on a busy machine too. Copies and the phase other count if they grew by
 * more than a tenth of the step, and in a disturbed run by more than a whole step. */
static void evidence_is_no_scatter(void)
{
    static const char little[] = "more than 5.62 ms", others[] = "a whole step",
                      open[] = "the interval of healthy over patient, 0.26 or more,";
    static const struct {
        double waited, step, copy, other;
        const char *sentence, *says; /* NULL: it is right */
    } cases[] = {{0, 0.0566, 5.8e-6, 4e-6, "the copy took 0.0058 ms, so the batches lie in pageable memory", little},
                 {0, 0.0566, 5.8e-3, 4e-6, "the copy took 5.8 ms", NULL},
                 {0.19, 0.0903, 5.8e-3, 4e-6, "the copies take 5.8 ms", others},
                 {0, 0.0566, 5.8e-6, 0.0051, "The phase other takes 5.1 ms", little},
                 {0, 0.3801, 5.8e-6, 0.3201, "The phase other takes 320.1 ms", NULL},
                 {0.25, 0.1101, 5.8e-6, 0.0501, "The phase other takes 50.1 ms", others},
                 {0.25, 0.4226, 5.8e-6, 0.3201, "The phase other takes 320.1 ms", NULL},
                 {0, 0.0566, 5.8e-6, 4e-6, "The step takes 56.6 ms", little},
                 {0.25, 0.4226, 5.8e-6, 0.3201, "The step takes 422.6 ms", NULL}, /* far beyond what waiting explains */
                 {0.84, 0.2, 5.8e-6, 0.1201, "The step takes 200.0 ms", open}};
    struct tt_exercise e;
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/09-faults", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_json *healthy = with_times(0, 0.0562, 4.6e-6, 4e-6),
                       *patient = with_times(cases[i].waited, cases[i].step, cases[i].copy, cases[i].other);
        struct tt_formula_run r[] = {{.name = "healthy", .profile = healthy}, {.name = "patient", .profile = patient}};
        enum tt_mark_kind kind = ask(&e, r, 2, i % 2 ? "cure" : "evidence", cases[i].sentence, &m);
        CHECK(cases[i].says ? kind == TT_MARK_UNKNOWN && strstr(m.reason, cases[i].says) : kind == TT_MARK_RIGHT,
              "%s: %s", cases[i].sentence, m.reason);
        ask(&e, r, 2, "evidence", "", &m);
        CHECK(i || strstr(m.right, "a sentence with 7.1 as the norm of the gradients of patient"),
              "scatter is shown: %s", m.right);
        tt_json_free(healthy);
        tt_json_free(patient);
    }
    tt_exercise_free(&e);
}

/* If the kernels are the same as in healthy and all took longer, the machine was slower, and the step does not count.
 * It counts if time was added beside the kernels, or by other kernels. */
static void evidence_is_no_slower_kernel(void)
{
    static const char format[] =
        "{\"run\": {\"batch_size\": 32, \"grad_accum\": 1, \"seq_len\": 64, \"build\": \"x\", "
        "\"backend\": \"cpu\", \"waited\": 0, \"steps\": 3}, \"step\": {"
        "\"kernels\": %d, \"loss\": 4.1, \"seconds\": %g, \"gap_seconds\": 0, "
        "\"grad_norm\": %g, \"peak_memory_bytes\": 5e7, " NO_SPEED "\"launch\": {\"waits\": 1}, \"phases\": [{"
        "\"name\": \"other\", \"wall\": 4e-6}], \"samples\": [{\"step\": 1, \"loss\": 4.2, \"grad_norm\": 2.6, "
        "\"seconds\": %g}, {\"step\": 2, \"loss\": 4.1, \"grad_norm\": 2.6, \"seconds\": %g}, "
        "{\"step\": 3, \"loss\": 4.05, \"grad_norm\": 2.6, \"seconds\": %g}], "
        "\"groups\": [{\"name\": \"copies\", \"count\": 1, \"bytes\": 4444, \"seconds\": 6e-6}], \"operators\": ["
        "{\"name\": \"gemm\", \"count\": %d, \"flops\": 8, \"bytes\": 2, \"share\": %g}], \"gradients\": []}";
    static const struct {
        int kernels;
        double share; /* of the products */
        bool right;
    } cases[] = {{143, 0.9, false}, {143, 0.9 * 0.0685 / 0.1129, true}, {4421, 0.9, true}};
    static const char sentence[] = "The step takes 112.9 ms instead of 68.5 ms";
    struct tt_exercise e;
    struct tt_mark m;
    char text[2][1200];
    CHECK_OK(tt_exercise_read("exercises/09-faults", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text[0], sizeof text[0], format, 143, 0.0685, 7.7, 0.0685, 0.0685, 0.0685, 143, 0.9);
        snprintf(text[1], sizeof text[1], format, cases[i].kernels, 0.1129, 7.1, 0.1129, 0.1129, 0.1129,
                 cases[i].kernels, cases[i].share);
        struct tt_json *healthy = json(text[0]), *patient = json(text[1]);
        struct tt_formula_run r[] = {{.name = "healthy", .profile = healthy}, {.name = "patient", .profile = patient}};
        enum tt_mark_kind kind = ask(&e, r, 2, i % 2 ? "cure" : "evidence", sentence, &m);
        CHECK(cases[i].right ? kind == TT_MARK_RIGHT
                             : kind == TT_MARK_UNKNOWN && strstr(m.reason, "healthy over patient, 0.56 to 1.08,"),
              "case %zu: %s%s", i, m.reason, m.means);
        tt_json_free(healthy);
        tt_json_free(patient);
    }
    tt_exercise_free(&e);
}

int main(void)
{
    TEST(evidence_is_no_scatter);
    TEST(evidence_is_no_slower_kernel);
    return test_end();
}
