/* The course and tt compare say the same of two runs: one interval, from one function. */
#include "exercises/engine/formula_parts.h"
#include "tests/profiling/compare_fixture.h"

static struct tt_json *read_json(const char *name)
{
    char path[220], *text = NULL;
    size_t size = 0;
    struct tt_json *j = NULL;
    snprintf(path, sizeof path, "%s/%s/profile.json", folder, name);
    CHECK_OK(tt_file_read(path, 1 << 24, &text, &size));
    CHECK_OK(tt_json_parse(text, size, &j));
    free(text);
    return j;
}

/* The softmax is another kernel; what is alike took `alike` times as long. */
static struct tt_profile changed(double step, double alike, const char *backend)
{
    struct tt_profile p = by_hand(step);
    strcpy(p.operators[2].name, "flash");
    strcpy(p.run.backend, backend);
    for (int i = 0; i < 4; i++)
        if (i != 2) p.operators[i].share *= alike / step;
    return p;
}

static void one_interval_for_one_pair(void)
{
    static const struct {
        double step, alike;
        const char *backend;
        bool decided;
    } cases[] = {{0.92, 1, "cuda", true}, {0.92, 1, "cpu", false}, {0.8, 1, "cpu", true}, {0.92, 0.88, "cuda", false},
                 {0.8, 0.77, "cpu", false}, {1.3, 1.14, "cuda", true}, {1.1, 1.11, "cuda", false},
                 {1.4, 1.6, "cpu", false}, {0.5, 1.6, "cpu", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_profile first = by_hand(1), second = changed(cases[i].step, cases[i].alike, cases[i].backend);
        struct tt_comparison *c = calloc(1, sizeof *c);
        double low, high;
        strcpy(first.run.backend, cases[i].backend);
        save(&first, "first");
        save(&second, "second");
        CHECK_OK(compare("first", "second", c));
        struct tt_json *a = read_json("first"), *b = read_json("second");
        const struct tt_range *range = &c->runs[1].range;
        CHECK(tt_exercise_range(a, b, &low, &high), "case %zu", i);
        CHECK(fabs(low - range->low) < 1e-6 && fabs(high - range->high) < 1e-6,
              "case %zu: %g to %g here, %g to %g in tt compare", i, low, high, range->low, range->high);
        CHECK((low > 1 || high < 1) == cases[i].decided, "case %zu: %g to %g", i, low, high);
        tt_json_free(a);
        tt_json_free(b);
        tt_compare_free(c);
        free(c);
    }
}

int main(void)
{
    if (!mkdtemp(folder)) return 1;
    TEST(one_interval_for_one_pair);
    CHECK_OK(tt_remove_tree(folder));
    return test_end();
}
