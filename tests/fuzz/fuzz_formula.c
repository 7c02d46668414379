/* Formulas of exercises, evaluated over a small profile. needs: exercises/engine/formula.h */
#include <math.h>

#include "exercises/engine/formula.h"
#include "tests/fuzz/fuzz.h"

static const char profile_text[] =
    "{\"run\": {\"version\": \"flash\", \"graph\": true}, \"step\": {\"seconds\": 0.25, \"kernels\": 40, "
    "\"none\": null},\"groups\": [{\"name\": \"norm\", \"share\": 0.2}, {\"name\": \"ffn\", \"share\": null}, "
    "{\"kind\": \"x\", \"share\": 0.5}, 7],\"empty\": []}";

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
    if (!profile) PROMISE(!fuzz_refused(tt_json_parse(profile_text, sizeof profile_text - 1, &profile)));
    const struct tt_formula_run runs[] = {{"a", profile}, {"b", NULL}};
    struct tt_formula_scope scope = {.runs = runs, .count = 2, .closeness = 0.1};
    struct tt_formula_value v;
    char *text = malloc(n + 1);
    if (!text) return 0;
    if (n) memcpy(text, data, n);
    text[n] = 0;
    if (!fuzz_refused(tt_formula(text, &scope, &v))) check(&v);
    tt_formula_free(&v);
    free(text);
    return 0;
}
