/* Formulas of exercises, and texts with formulas in them, with a small profile and a few definitions.
 * needs: exercises/engine/template.h */
#include <math.h>

#include "exercises/engine/template.h"
#include "tests/fuzz/fuzz.h"

static const char profile_text[] =
    "{\"run\": {\"version\": \"flash\", \"graph\": true}, \"step\": {\"seconds\": 0.25, \"kernels\": 40, "
    "\"none\": null},\"groups\": [{\"name\": \"norm\", \"share\": 0.2}, {\"name\": \"ffn\", \"share\": null}, "
    "{\"kind\": \"x\", \"share\": 0.5}, 7],\"empty\": []}";

static const char define_text[] =
    "far: 2 * step.seconds\ngain(x): groups[$x].share\nboth(a, x): $a:step.seconds > $x\n";

static void check(const struct tt_formula_value *v)
{
    PROMISE(v->kind != TT_FORMULA_NUMBER || isfinite(v->number));
    PROMISE(v->kind != TT_FORMULA_TRUTH || v->number == 0 || v->number == 1);
    PROMISE(memchr(v->word, 0, sizeof v->word));
    PROMISE(v->count <= 4 && (v->count == 0 || v->cells));
    for (int i = 0; i < v->count; i++) {
        PROMISE(v->cells[i].row && tt_formula_row_name(v->cells[i].row));
        double x = tt_formula_cell_number(&v->cells[i]);
        PROMISE(isfinite(x) || isnan(x));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct tt_json *profile;
    static struct tt_yaml *define;
    if (!profile) PROMISE(!fuzz_refused(tt_json_parse(profile_text, sizeof profile_text - 1, &profile)));
    if (!define) PROMISE(!fuzz_refused(tt_yaml_parse(define_text, sizeof define_text - 1, &define)));
    const struct tt_formula_run runs[] = {{"a", profile}, {"b", NULL}};
    struct tt_formula_scope scope = {.runs = runs, .count = 2, .define = define, .closeness = 0.1};
    struct tt_formula_value v;
    char *text = malloc(n + 1);
    if (!text) return 0;
    if (n) memcpy(text, data, n);
    text[n] = 0;
    if (!fuzz_refused(tt_formula(text, &scope, &v))) check(&v);
    tt_formula_free(&v);
    PROMISE(!scope.bound && !scope.nested);
    const struct tt_template t = {.scope = &scope, .missing = "n/a"};
    struct tt_text filled = {0};
    bool there;
    fuzz_refused(tt_template_fill(&t, text, &filled, &there));
    PROMISE(!scope.bound && !scope.nested);
    tt_text_free(&filled);
    free(text);
    return 0;
}
