/* The figures that a sentence may name:
 * - the formulas that its question lists
 * - tables and curves that commands left in the learner's folder
 * - what the report says of a disturbed run: the honest answer where the run decides nothing */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "exercises/engine/formula_parts.h"
#include "exercises/engine/parts.h"

enum { NAMES = 64, TABLE = 1 << 20 };

struct figures {
    const struct tt_question *q;
    struct tt_figure f[TT_FIGURES];
    struct tt_formula_value v[NAMES]; /* figures point to the words in these */
    int n, values;
    char stale[300]; /* which curve was made with another fault than its run, and what to do; "": none */
};

static void add(struct figures *all, struct tt_figure f)
{
    if (all->n < TT_FIGURES) all->f[all->n++] = f;
}

/* Evaluates the formula with the question's run `unlike` in place of a run that it reads (`reads`): the first for which
 * that gives a value. Without `unlike`, *out is missing. */
static tt_status of_other(const struct tt_question *q, const char *formula, const struct tt_formula_scope *scope,
                          unsigned reads, struct tt_formula_value *out)
{
    int unlike = q->unlike ? tt_formula_place(scope, q->unlike) : 0;
    tt_status st = TT_OK;
    *out = (struct tt_formula_value){0};
    if (unlike < 0) return tt_fail(TT_USAGE, "line %d: there is no run %s", q->line, q->unlike);
    for (int i = 0; q->unlike && i < scope->count && !st && !out->kind; i++) {
        struct tt_formula_scope instead = *scope;
        instead.from = i, instead.to = unlike;
        if (i != unlike && reads >> i & 1) st = tt_formula(formula, &instead, out);
    }
    return st;
}

/* Adds every number of a column, each with the number in the same place of the other run's column. */
static void add_column(struct figures *all, const struct tt_formula_value *v, const struct tt_formula_value *other,
                       const struct tt_figure *like)
{
    int beside = other->kind == TT_FORMULA_ROWS ? other->count : 0;
    for (int i = 0; i < v->count; i++) {
        struct tt_figure f = *like;
        f.column = true;
        f.value = tt_formula_cell_number(&v->cells[i]);
        f.other = i < beside ? tt_formula_cell_number(&other->cells[i]) : NAN;
        snprintf(f.row, sizeof f.row, "%s", tt_formula_row_name(v->cells[i].row));
        if (isfinite(f.value)) add(all, f);
    }
}

/* Splits "1000 * step.seconds in ms as the step" into the formula, its unit (returned) and its name. Unit and name are
 * NULL where they are not given. */
static const struct tt_unit *without_unit(const char *text, char *formula, size_t size, const char **name)
{
    const char *in = NULL, *as = strstr(text, " as ");
    size_t end = as ? (size_t)(as - text) : strlen(text);
    for (const char *s = text; (s = strstr(s, " in ")) && s < text + end; s++) in = s;
    const struct tt_unit *unit = in ? tt_exercise_unit(in + 4) : NULL;
    snprintf(formula, size, "%.*s", (int)(unit ? (size_t)(in - text) : end), text);
    *name = as ? as + 4 : NULL;
    return unit;
}

static const char *text_of(const struct tt_yaml *y, const char *key)
{
    const struct tt_yaml *found = y->kind == TT_YAML_MAP ? tt_yaml_get(y, key) : NULL;
    return found ? found->text : NULL;
}

/* Adds the figures of a row of `names`: a formula, or a map with the formula and other words for it. */
static tt_status add_formula(struct figures *all, const struct tt_yaml *y, struct tt_formula_scope *scope)
{
    const struct tt_yaml *is = y->kind == TT_YAML_MAP ? tt_yaml_get(y, "is") : y;
    if (!is || !is->text) return tt_fail(TT_USAGE, "line %d: a formula is missing here", y->line);
    if (all->values == NAMES) return tt_fail(TT_USAGE, "line %d: more than %d formulas", y->line, NAMES);
    struct tt_formula_value *v = &all->v[all->values++], other;
    char formula[1200];
    struct tt_figure f = {.unlike = all->q->unlike, .words = text_of(y, "words")};
    f.unit = without_unit(is->text, formula, sizeof formula, &f.name);
    scope->reads = 0;
    TT_TRY(tt_formula(formula, scope, v));
    if (v->kind == TT_FORMULA_WORD && v->word[0]) add(all, (struct tt_figure){.word = v->word, .name = f.name});
    if (v->kind != TT_FORMULA_NUMBER && v->kind != TT_FORMULA_ROWS) return TT_OK;
    tt_status st = of_other(all->q, formula, scope, scope->reads, &other);
    f.value = v->number, f.other = other.kind == TT_FORMULA_NUMBER ? other.number : NAN;
    if (!st && v->kind == TT_FORMULA_ROWS) add_column(all, v, &other, &f);
    if (!st && v->kind == TT_FORMULA_NUMBER) add(all, f);
    tt_formula_free(&other);
    return st;
}

/* Adds how many tensors agree, and how many do not, if the line says so. In a run that computes the same, all agree:
 * that is `other`. */
static bool add_agreeing(struct figures *all, const char *line)
{
    double here, most;
    if (sscanf(line, "against %*[^,\n], %lf of %lf tensors within", &here, &most) != 2) return false;
    add(all, (struct tt_figure){.value = here, .unlike = all->q->unlike, .other = most,
                                .name = "the tensors that agree in the table of layers"});
    if (most > here)
        add(all, (struct tt_figure){.value = most - here, .unlike = all->q->unlike, .words = "differ apart disagree",
                                    .name = "the tensors that do not agree in the table of layers"});
    return true;
}

/* Adds the table of layers that tt check grads --against prints: how far each layer is off, and its worst tensor.
 * Differences up to 1e-3 may be rounding and are left out. */
static void add_table(struct figures *all, const struct tt_yaml *y, const struct tt_formula_scope *scope)
{
    char path[1400], *text = NULL;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", scope->folder ? scope->folder : ".", tt_yaml_get(y, "table")->text);
    if (!scope->folder || !tt_is_file(path)) return;
    tt_status_free(tt_file_read(path, TABLE, &text, &size));
    for (char *at = text; at && *at; at += strcspn(at, "\n"), at += *at == '\n') {
        double apart, most;
        char layer[16], tensor[64];
        if (add_agreeing(all, at)) continue;
        if (sscanf(at, "%15s %*f %lf %63[^,\n], %lf", layer, &apart, tensor, &most) != 4) continue;
        bool rest = !strcmp(layer, "rest"); /* tensors outside of the layers */
        struct tt_figure f = {.unlike = all->q->unlike, .words = text_of(y, "words")};
        snprintf(f.row, sizeof f.row, "%s %s", rest ? "the" : "layer", layer);
        f.value = apart, f.name = "how far the gradient of {row} is off, as a part of its norm";
        if (apart > 1e-3) add(all, f);
        f.value = most, f.name = "how far the worst tensor of {row} is off, as a part of its norm";
        if (most > 1e-3) add(all, f);
        snprintf(f.row, sizeof f.row, "%.*s", (int)sizeof f.row - 1, tensor);
        f.name = "how far the gradient of {row} is off, as a part of its norm";
        if (rest && most > 1e-3) add(all, f);
    }
    free(text);
}

/* The --fault that a run of the worksheet was made with; false: it is not known. */
static bool fault_of(const struct tt_formula_scope *scope, const char *name, char out[TT_FAULT_WORDS])
{
    const struct tt_json *run = NULL;
    for (int i = 0; i < scope->count; i++)
        if (scope->runs[i].profile && !strcmp(scope->runs[i].name, name))
            run = tt_json_get(scope->runs[i].profile, "run");
    const char *fault = run ? tt_json_string(run, "fault", NULL) : NULL;
    const char *seed = run ? tt_json_string(run, "fault_seed", "") : "";
    bool hidden = fault && !strcmp(fault, "hidden");
    snprintf(out, TT_FAULT_WORDS, "%s%s", hidden ? "random:" : "", hidden ? seed : fault ? fault : "");
    return fault && (!hidden || seed[0]);
}

static const char *with_fault(const char *fault) { return fault[0] ? fault : "no fault"; }

/* Whether the curve is left over from another fault than its run was made with. If so, notes what to do. */
static bool is_stale(struct figures *all, const char *curve, const char *run, const struct tt_formula_scope *scope)
{
    char made[TT_FAULT_WORDS], wanted[TT_FAULT_WORDS];
    if (!scope->folder || !fault_of(scope, run, wanted) || !tt_exercise_curve_fault(scope->folder, curve, made))
        return false;
    if (!strcmp(made, wanted)) return false;
    snprintf(all->stale, sizeof all->stale,
             "%.40s was made with %s, and %.40s with %s: remove the folder %.40s and make it again", curve,
             with_fault(made), run, with_fault(wanted), curve);
    return true;
}

/* Adds the figures of a loss curve of tt train, each with that of another curve. */
static void add_curve(struct figures *all, const struct tt_yaml *y, const struct tt_formula_scope *scope)
{
    const char *run = tt_yaml_get(y, "curve")->text, *beside = tt_yaml_get(y, "beside")->text;
    struct tt_figure f[TT_CURVE_FIGURES];
    if (is_stale(all, run, tt_yaml_get(y, "of")->text, scope)) return;
    if (all->q->unlike && is_stale(all, beside, all->q->unlike, scope)) return;
    int n = scope->folder ? tt_exercise_curve_figures(scope->folder, run, beside, all->q->unlike, f) : 0;
    for (int i = 0; i < n; i++) {
        f[i].words = text_of(y, "words");
        snprintf(f[i].row, sizeof f[i].row, "%s", run);
        add(all, f[i]);
    }
}

/* Adds what the report says of disturbed runs. Not with `unlike`: it does not tell one run from another. */
static void add_disturbed(struct figures *all, const struct tt_formula_scope *scope)
{
    for (int i = 0; !all->q->unlike && i < scope->count && all->n + TT_DISTURBED_FIGURES <= TT_FIGURES; i++)
        all->n += tt_exercise_disturbed_figures(scope->runs[i].profile, &all->f[all->n]);
}

tt_status tt_exercise_judge_names(const struct tt_question *q, struct tt_formula_scope *scope, struct tt_mark *m)
{
    if (!q->names) return TT_OK;
    struct figures *all = calloc(1, sizeof *all);
    if (!all) return tt_no_memory("the figures");
    all->q = q;
    tt_status st = TT_OK;
    for (const struct tt_yaml *y = q->names->first; y && !st; y = y->next) {
        bool map = y->kind == TT_YAML_MAP;
        if (map && tt_yaml_get(y, "table"))
            add_table(all, y, scope);
        else if (map && tt_yaml_get(y, "curve"))
            add_curve(all, y, scope);
        else
            st = add_formula(all, y, scope);
    }
    if (all->n) add_disturbed(all, scope);
    if (!st) tt_exercise_sentence(m, all->f, all->n, scope);
    if (!st && all->stale[0] && m->kind == TT_MARK_UNKNOWN) tt_exercise_because(m, TT_MARK_UNKNOWN, all->stale);
    for (int i = 0; i < all->values; i++) tt_formula_free(&all->v[i]);
    free(all);
    return st ? tt_context(st, "line %d, question %s", q->line, q->id) : TT_OK;
}
