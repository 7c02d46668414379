/* The evidence of exercise 9 in files that commands of the walkthrough left: the table of layers and the curves. */
#include <stdlib.h>

#include "core/base/file.h"
#include "core/checkpoint/checkpoint.h"
#include "tests/exercises/sick_fixture.h"

/* The table of layers that tt check grads printed, where the walkthrough keeps it. */
static void evidence_is_in_the_table_of_layers(void)
{
    static const char table[] = "layer            norm   difference   most in\n"
                                "0            0.349042        0.698   attention.wq, 1.42\n"
                                "2            0.187011         1.33   feed_forward.w2, 1.57\n"
                                "rest         0.299004       0.0001   tok_embeddings, 0.0002\n\n"
                                "grads   38 of 38 tensors have a gradient\n"
                                "against fused: loss 4.189076, 0 of 38 tensors within 0.001\n";
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
                 {"The step is 1.33 times as long", true, false}, {"1.42 times the memory", true, false},
                 {"the loss is 1.42 times larger", true, false}, {"layer 2 is off by 1.33 times its norm", true, true},
                 {"the rest is off by 0.0001", true, false}, {"0 of 38 tensors agree within 0.001", true, true},
                 {"It is 1.33 times as much", true, false}, {"Layer 0 is off by 0.349", true, false},
                 {"38 of 38 tensors differ from fused", true, true}, {"38 tensors differ", true, true},
                 {"38 tensors differ", false, false}, {"0 tensors agree within 0.001", false, false}};
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
                 {"gap 75.0 % to the floor instead of 30.2 %", true}, {"0.97 is what I saw", false},
                 {"the losses differ by 0.97 at most", true},
                 {"healthy ended at 2.71", false}, {"the loss rose to 3.77", true}, {"the loss was 2.8", false},
                 {"the loss was 3.75", false},
                 {"a loss of 3.74", false},
                 {"The gap to the floor is 1.56", true}, {"The step is 1.56 times as long.", false}};
    struct tt_exercise e;
    struct tt_json *healthy = sick(0, 4.1, 3.3, 1, 3.74, 1), *patient = sick(0, 4.1, 3.3, 1, 3.74, 1);
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
    snprintf(path, sizeof path, "%s/healthy.train/metrics.jsonl", folder);
    CHECK_OK(tt_file_replace(path, trains[0].steps, strlen(trains[0].steps) / 2)); /* one step less */
    struct tt_yaml apart = {.kind = TT_YAML_STRING, .text = "the losses differ by 0.97 at most"};
    CHECK_OK(tt_exercise_judge(q, &apart, &scope, &m));
    CHECK(m.kind != TT_MARK_RIGHT, "curves of other numbers of steps: %s", m.means);
    CHECK_OK(tt_remove_tree(folder));
    tt_exercise_free(&e);
    tt_json_free(healthy);
    tt_json_free(patient);
}

/* What a run of two steps leaves, with a checkpoint that says which fault it had. */
static void leave_run(const char *folder, const char *run, const char *fault, double loss)
{
    char path[200], text[100];
    float zeros[64] = {0};
    struct tt_param item = {.name = "norm.weight", .shape = {4, 0}, .offset = 0, .count = 4};
    struct tt_params params = {.items = &item, .n = 1, .total = 64, .decay_end = 0};
    struct tt_checkpoint c = {.config = text, .params = &params, .w = zeros, .m = zeros, .v = zeros,
                              .progress = {.step = 2, .best_val = INFINITY, .loss_scale = 1}};
    snprintf(path, sizeof path, "%s/%s", folder, run);
    snprintf(text, sizeof text, "version: fused\nfault: \"%s\"\n", fault);
    CHECK_OK(tt_make_dirs(path));
    CHECK_OK(tt_checkpoint_save(path, &c, 0));
    snprintf(path, sizeof path, "%s/%s/metrics.jsonl", folder, run);
    snprintf(text, sizeof text, "{\"step\":1,\"loss\":4.2}\n{\"step\":2,\"loss\":%g}\n", loss);
    CHECK_OK(tt_file_replace(path, text, strlen(text)));
    snprintf(path, sizeof path, "%s/%s/run.json", folder, run);
    snprintf(text, sizeof text, "{\"loss\": %g, \"floor\": 2.0783}", loss);
    CHECK_OK(tt_file_replace(path, text, strlen(text)));
}

/* A curve that stays from another SEED is of another fault, and none of its figures is the patient's. */
static void evidence_is_not_in_an_old_curve(void)
{
    static const char format[] =
        "{\"run\": {\"batch_size\": 32, \"grad_accum\": 1, \"seq_len\": 64, "
        "\"backend\": \"cpu\", \"load\": 0.1, \"waited\": 0, \"steps\": 10, \"fault\": \"%s\", "
        "\"fault_seed\": \"%s\"}, \"step\": {\"kernels\": %d, \"loss\": 4.1, \"seconds\": 3.3, \"deviation\": 0.01, "
        "\"gap_seconds\": 0, \"grad_norm\": 7.7, \"peak_memory_bytes\": 5e7, " NO_SPEED "\"launch\": {\"waits\": 1}, "
        "\"phases\": [{\"name\": \"other\", \"wall\": 0}], \"samples\": [{\"step\": 1, \"loss\": 4.2, "
        "\"grad_norm\": 2.6}], \"groups\": [{\"name\": \"copies\", \"count\": 1, \"bytes\": 4444, \"seconds\": 6e-6}], "
        "\"gradients\": [{\"name\": \"w\", \"norm\": 1, \"first_norm\": 1}]}";
    static const struct {
        const char *seed, *healthy, *sentence, *says; /* NULL: it is right */
    } cases[] = {{"8", "", "it ended with a loss of 3.64", NULL},
                 {"", "", "it ended with a loss of 3.64", NULL}, /* a profile that does not know its seed */
                 {"7", "", "it ended with a loss of 3.64",
                  "patient.train was made with random:8, and patient with random:7: remove the folder patient.train"},
                 {"7", "", "the step has 144 kernels", NULL},
                 {"8", "no-init", "it ended with a loss of 3.64",
                  "healthy.train was made with no-init, and healthy with no fault"}};
    struct tt_exercise e;
    CHECK_OK(tt_exercise_read("exercises/09-faults", &e));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char folder[64] = "/tmp/tt-curves-XXXXXX", text[2][1200];
        CHECK(mkdtemp(folder) != NULL);
        leave_run(folder, "healthy.train", cases[i].healthy, 2.71);
        leave_run(folder, "patient.train", "random:8", 3.64);
        snprintf(text[0], sizeof text[0], format, "", "", 143);
        snprintf(text[1], sizeof text[1], format, "hidden", cases[i].seed, 144);
        struct tt_json *healthy = json(text[0]), *patient = json(text[1]);
        struct tt_formula_run r[] = {{.name = "healthy", .profile = healthy}, {.name = "patient", .profile = patient}};
        struct tt_formula_scope scope = {.runs = r, .count = 2, .define = e.define, .folder = folder};
        struct tt_yaml given = {.kind = TT_YAML_STRING, .text = (char *)cases[i].sentence};
        const struct tt_question *q = e.questions;
        struct tt_mark m;
        while (strcmp(q->id, "evidence")) q++;
        CHECK_OK(tt_exercise_judge(q, &given, &scope, &m));
        CHECK(cases[i].says ? m.kind == TT_MARK_UNKNOWN && strstr(m.reason, cases[i].says) : m.kind == TT_MARK_RIGHT,
              "case %zu: %s", i, m.reason);
        CHECK_OK(tt_remove_tree(folder));
        tt_json_free(healthy);
        tt_json_free(patient);
    }
    tt_exercise_free(&e);
}

int main(void)
{
    TEST(evidence_is_in_the_table_of_layers);
    TEST(evidence_is_in_the_curves);
    TEST(evidence_is_not_in_an_old_curve);
    return test_end();
}
