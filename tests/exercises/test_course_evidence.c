/* The evidence of exercise 9: sentences that name what tells a patient from healthy, wherever tt has printed it. */
#include "tests/exercises/sick_fixture.h"

/* What tt compare and the summary print of a patient is a figure of it. */
static void evidence_is_what_compare_prints(void)
{
    struct tt_exercise e;
    struct tt_json *healthy = sick(0, 4.1, 3.3, 1, 4.3, 1), *patient = sick(0, 4.1, 3.3, 2, 4.527, 0.81);
    struct tt_formula_run r[] = {{.name = "healthy", .profile = healthy}, {.name = "patient", .profile = patient}};
    struct tt_mark m;
    static const char *const right[] = {"losses differ by up to 0.227", "19 % difference of the norm of a gradient",
                                        "The test counts 2 copies per step where 1 is healthy",
                                        "2 host waits instead of 1",
                                        "waits per step, which were 2", "copies went from 1 to 2",
                                        "a test asserts that waits per step stay 1; here they were 2",
                                        "2.00 waits instead of 1.00"};
    CHECK_OK(tt_exercise_read("exercises/09-faults", &e));
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        CHECK(ask(&e, r, 2, i % 2 ? "cure" : "evidence", right[i], &m) == TT_MARK_RIGHT, "%s: %s", right[i], m.reason);
    CHECK(ask(&e, r, 2, "evidence", "it is bad, for 2 reasons", &m) == TT_MARK_UNKNOWN, "%s", m.means);
    CHECK(ask(&e, r, 2, "evidence", "The host does not wait", &m) == TT_MARK_UNKNOWN, "%s", m.means);
    CHECK(ask(&e, r, 2, "evidence", "In healthy the host waits 1 time", &m) == TT_MARK_UNKNOWN &&
          strstr(m.reason, "1 is a figure of the run healthy"), "%s%s", m.reason, m.means);
    r[1].profile = healthy;
    CHECK(ask(&e, r, 2, "cure", right[2], &m) == TT_MARK_PASSED && strstr(m.reason, "tells the two runs apart"),
          "nothing differs: %s", m.reason);
    tt_exercise_free(&e);
    tt_json_free(healthy);
    tt_json_free(patient);
}

/* Waits, as the walkthrough words them, and one of two, which is no factor 2; memory, as a difference. */
static void evidence_is_a_wait_for_each_tensor(void)
{
    struct tt_exercise e;
    struct tt_json *healthy = sick(0, 4.1, 3.3, 1, 4.3, 1), *norm = sick(0, 4.1, 3.3, 39, 4.3, 1),
                   *mask = sick(0, 4.1, 3.3, 2, 4.3, 1), *small = sick(0, 4.1, 3.3, 1, 4.3, 1);
    struct tt_formula_run r[] = {{.name = "healthy", .profile = healthy}, {.name = "patient", .profile = norm}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/09-faults", &e));
    CHECK(ask(&e, r, 2, "evidence", "One wait for each of 38 tensors", &m) == TT_MARK_RIGHT &&
          strstr(m.means, "38: the host waits of patient minus those of healthy"), "%s%s", m.reason, m.means);
    CHECK(ask(&e, r, 2, "evidence", "I looked at 38 tests", &m) == TT_MARK_UNKNOWN, "%s", m.means);
    ((struct tt_json *)tt_json_get(tt_json_get(small, "step"), "peak_memory_bytes"))->number = 2e7;
    r[1].profile = small;
    CHECK(ask(&e, r, 2, "evidence", "it takes 28.6 MiB less memory", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(ask(&e, r, 2, "evidence", "it takes 47.7 MiB of memory", &m) == TT_MARK_UNKNOWN, "healthy's: %s", m.means);
    tt_json_free(small);
    r[1].profile = mask;
    CHECK(ask(&e, r, 2, "evidence", "One wait for each of 38 tensors", &m) == TT_MARK_UNKNOWN, "%s", m.means);
    CHECK(ask(&e, r, 2, "patient_waits", "2.00", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(ask(&e, r, 2, "patient_waits", "1", &m) == TT_MARK_WRONG && !strstr(m.reason, "factor"), "%s", m.reason);
    tt_exercise_free(&e);
    tt_json_free(healthy);
    tt_json_free(norm);
    tt_json_free(mask);
}

/* A norm that is many times as large, as tt compare and profile.json have it. */
static void evidence_is_a_norm(void)
{
    static const struct said cases[] = {
        {"the norm is 1644 times as large", true}, {"the norm of w is 11.64 instead of 0.0071", true},
        {"the norm of w is 0.0071", false}, {"it takes 11.64 minutes", false},
        {"the norm of a gradient is 100 % off", false}, {"it is 1645 of something", false}};
    struct tt_json *healthy = sick(0, 4.1, 3.3, 1, 4.3, 0.0070776), *patient = sick(0, 4.1, 3.3, 1, 4.3, 11.64045);
    check_evidence(cases, sizeof cases / sizeof *cases, healthy, patient);
}

/* A figure that healthy has as well is no evidence, nor is a step whose interval includes 1. */
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
              strstr(m.reason, "is a figure of the run healthy"), "%s: %s", common[i], m.reason);
    CHECK(ask(&e, r, 2, "evidence", "the loss ends at 4.1963, not at 4.189", &m) == TT_MARK_RIGHT, "%s", m.reason);
    CHECK(ask(&e, r, 2, "evidence", "its step takes 3400 ms", &m) == TT_MARK_UNKNOWN, "its interval holds 1");
    CHECK(ask(&e, r, 2, "evidence", "it has 2 host waits", &m) == TT_MARK_RIGHT, "%s", m.reason);
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

/* Losses and norms of single steps, where healthy has others in the same steps; the last and the largest are its. */
static void evidence_is_in_single_steps(void)
{
    static const struct {
        const char *sentence;
        bool right;
    } cases[] = {{"The loss of step 2 is 3.71, and then it rises", true}, {"in step 2 the loss is 3.7087", true},
                 {"the norm of the gradients was 3.754 in step 2", true}, {"it begins with a loss of 4.2019", false},
                 {"in step 2 the loss was 4.092", false}, {"the norm is 1.10 in step 3", false}};
    struct tt_exercise e;
    struct tt_json *healthy = sick_then(0, 3.95, 3.3, 1, 4.2019, 1, 4.0923, 2.567),
                   *patient = sick_then(0, 3.95, 3.3, 1, 4.2019, 1, 3.7087, 3.7544);
    struct tt_formula_run r[] = {{.name = "healthy", .profile = healthy}, {.name = "patient", .profile = patient}};
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/09-faults", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK((ask(&e, r, 2, "evidence", cases[i].sentence, &m) == TT_MARK_RIGHT) == cases[i].right, "%s: %s",
              cases[i].sentence, m.reason);
    tt_exercise_free(&e);
    tt_json_free(healthy);
    tt_json_free(patient);
}

/* A run with twelve tensors, of which one may have no gradient. */
static struct tt_json *with_gradients(double first, double seconds, double scatter, bool dropped)
{
    char text[2000];
    int n = snprintf(text, sizeof text,
                     "{\"run\": {\"batch_size\": 32, \"grad_accum\": 1, \"seq_len\": 64, \"backend\": \"cpu\", "
                     "\"waited\": 0, \"steps\": 3}, \"step\": {\"kernels\": 143, \"loss\": 4.05, \"seconds\": %g, "
                     "\"gap_seconds\": 0, \"grad_norm\": 7.7, \"peak_memory_bytes\": 5e7, " NO_SPEED
                     "\"launch\": {\"waits\": 1}, \"phases\": [{\"name\": \"other\", \"wall\": 0}], "
                     "\"samples\": [{\"step\": 1, \"loss\": %g, \"grad_norm\": 2.6, \"seconds\": %g}, "
                     "{\"step\": 2, \"loss\": 4.1, \"grad_norm\": 2.6, \"seconds\": %g}, "
                     "{\"step\": 3, \"loss\": 4.1, \"grad_norm\": 2.6, \"seconds\": %g}], \"groups\": ["
                     "{\"name\": \"copies\", \"count\": 1, \"bytes\": 4444, \"seconds\": 6e-6}], \"gradients\": [",
                     seconds, first, seconds - scatter, seconds, seconds + scatter);
    for (int i = 0; i < 12; i++)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "%s{\"name\": \"layers.%d.w2\", \"norm\": %d, \"first_norm\": 1}", i ? ", " : "", i,
                      !(dropped && i == 7));
    snprintf(text + n, sizeof text - (size_t)n, "]}");
    return json(text);
}

/* What is missing is a figure, and what healthy has is none, whichever of the patient's is near it. */
static void evidence_is_not_what_healthy_has(void)
{
    static const char also[] = "is a figure of the run healthy", none[] = "none of the figures",
                      noise[] = "the interval of healthy over patient, 0.92 to 1.68,";
    static const struct {
        bool dropped;
        const char *sentence, *says; /* NULL: it is right */
    } cases[] = {{true, "11 of 12 tensors have a gradient", NULL}, {true, "only 11 tensors have a gradient", NULL},
                 {true, "layers.7.w2 has a gradient of zero", NULL}, {true, "The norm of layers.7.w2 is 0", NULL},
                 {true, "The norm of layers.6.w2 is 0", none},
                 {true, "all 12 tensors have a gradient, so nothing is wrong", also},
                 {false, "11 of 12 tensors have a gradient", also}, {false, "12 tensors were looked at", also},
                 {false, "the loss of the first step is 4.1869", NULL},
                 {false, "the loss of the first step is 4.1891", also}, {false, "I saw 4.19", "4.19 counts only"},
                 {false, "its step takes 2700 ms, not 3300", noise}};
    struct tt_exercise e;
    struct tt_mark m;
    CHECK_OK(tt_exercise_read("exercises/09-faults", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_json *healthy = with_gradients(4.1891, 3.3, 0.33, false),
                       *patient = with_gradients(4.1869, 2.7, 0.54, cases[i].dropped);
        struct tt_formula_run r[] = {{.name = "healthy", .profile = healthy}, {.name = "patient", .profile = patient}};
        enum tt_mark_kind kind = ask(&e, r, 2, i % 2 ? "cure" : "evidence", cases[i].sentence, &m);
        CHECK(cases[i].says ? kind == TT_MARK_UNKNOWN && strstr(m.reason, cases[i].says) : kind == TT_MARK_RIGHT,
              "%s: %s", cases[i].sentence, m.reason);
        CHECK(strlen(m.reason) < sizeof m.reason - 1, "the end is cut off: %s", m.reason);
        tt_json_free(healthy);
        tt_json_free(patient);
    }
    tt_exercise_free(&e);
}

/* A suspicion that does not reproduce says which figure is another one, also where tt compare rounds it away. */
static void a_suspicion_says_what_differs(void)
{
    static const char format[] =
        "{\"run\": {\"batch_size\": 32, \"grad_accum\": 1, \"seq_len\": 64, "
        "\"fault\": \"unpinned-copies\"}, \"step\": {\"loss\": 3.8, \"grad_norm\": 0.7, \"kernels\": 143}, "
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
                  !strcmp(m.reason, "suspect was made with unpinned-copies, so it shows nothing of mask-rebuild: only "
                                    "a run that was made with the fault that you name can"),
              "%s", m.reason);
        enum tt_mark_kind kind = ask(&e, r, 2, "diagnosis", "unpinned-copies", &m);
        CHECK(kind == (cases[i].says ? TT_MARK_WRONG : TT_MARK_RIGHT) &&
              (!cases[i].says || strstr(m.reason, cases[i].says)), "case %d: %s", i, m.reason);
        tt_json_free(patient);
        tt_json_free(suspect);
    }
    tt_exercise_free(&e);
}

/* A count is that of many things, and needs a word of what it counts; what is beside a figure is none. */
static void a_count_needs_its_noun(void)
{
    static const char format[] =
        "{\"run\": {\"batch_size\": 32, \"grad_accum\": 1, \"seq_len\": 64, "
        "\"backend\": \"cpu\", \"load\": 0.1, \"waited\": 0, \"steps\": 3, \"fault\": \"\"}, "
        "\"step\": {\"seconds\": 1, \"deviation\": 0.01, \"loss\": %g, \"grad_norm\": 0.7, \"kernels\": 143, "
        "\"gap_seconds\": 0, \"peak_memory_bytes\": 1e8, " NO_SPEED
        "\"launch\": {\"waits\": 1}, \"groups\": [{\"name\": "
        "\"copies\", \"count\": 1, \"bytes\": 10, \"seconds\": 1e-6}], \"phases\": [{\"name\": \"other\", "
        "\"wall\": 0}], \"samples\": [{\"loss\": %g, \"grad_norm\": 0.5}], \"gradients\": [%s]}";
    static const struct {
        const char *sentence;
        bool right;
    } cases[] = {{"only 12 tensors have a gradient", true}, {"12 of 13 have a gradient", true},
                 {"the test counts tensors with a gradient: 12", true}, {"I ran 12 tests", false},
                 {"after 12 minutes of looking at tensors", false},
                 {"the loss was 3.842", true}, {"the loss was 3.86", false}, {"the loss was 3.907", false},
                 {"the loss was 3.89", false}};
    char gradients[2000], texts[2][3000];
    struct tt_json *profiles[2];
    struct tt_exercise e;
    struct tt_mark m;
    for (int k = 0; k < 2; k++) {
        gradients[0] = 0;
        for (int i = 0; i < 13; i++) {
            size_t n = strlen(gradients);
            snprintf(gradients + n, sizeof gradients - n, "%s{\"name\": \"w%d\", \"norm\": %d, \"first_norm\": 1}",
                     i ? ", " : "", i, k && i == 5 ? 0 : 1);
        }
        snprintf(texts[k], sizeof texts[k], format, k ? 3.8420 : 3.9073, 4.1, gradients);
        profiles[k] = json(texts[k]);
    }
    struct tt_formula_run r[] = {{.name = "healthy", .profile = profiles[0]},
                                 {.name = "patient", .profile = profiles[1]}};
    CHECK_OK(tt_exercise_read("exercises/09-faults", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK((ask(&e, r, 2, "evidence", cases[i].sentence, &m) == TT_MARK_RIGHT) == cases[i].right, "%s: %s%s",
              cases[i].sentence, m.reason, m.means);
    tt_exercise_free(&e);
    for (int k = 0; k < 2; k++) tt_json_free(profiles[k]);
}

int main(void)
{
    TEST(evidence_is_what_compare_prints);
    TEST(evidence_is_a_wait_for_each_tensor);
    TEST(evidence_is_a_norm);
    TEST(evidence_tells_the_patient_from_healthy);
    TEST(evidence_is_in_single_steps);
    TEST(evidence_is_not_what_healthy_has);
    TEST(a_suspicion_says_what_differs);
    TEST(a_count_needs_its_noun);
    return test_end();
}
