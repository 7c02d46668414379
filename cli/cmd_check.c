/* tt check grads: runs one step, and checks the gradient of every tensor. --against compares it with that of another
 * run from the same weights and tokens. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "core/base/json.h"
#include "core/base/writable.h"
#include "core/train/state.h"
#include "exercises/engine/course.h"
#include "exercises/engine/fault.h"
#include "profiling/measure/grads.h"

/* ---- options ---- */

static const char *const check_names[] = {"grads", NULL};

struct check_options {
    char what[16], against[1024];
    double tolerance;
};

#define AT(field) TT_FIELD(TT_OF_COMMAND, struct check_options, field)
// clang-format off
static const struct tt_option rows[] = {
    {"what", AT(what), "What to read", 1 << TT_CMD_CHECK, "grads", TT_CHOICE,
     .help = "what to audit", .choices = check_names, .required = true, .here = true},
    {"against", AT(against), "What to read", 1 << TT_CMD_CHECK, "", NULL, "VERSION|PRECISION|FILE",
     .help = "compare with another version, another precision, or a file of gradients that --out saved, for example "
             "on the CPU",
     .here = true},
    {"tolerance", AT(tolerance), "What to read", 1 << TT_CMD_CHECK, "0", "[0, 1]", "X",
     .help = "with --against: largest relative difference of a tensor that is accepted; 0 = what the precision allows"},
    {"out", TT_RUN_FIELD(out), TT_S_OUTPUT, 1 << TT_CMD_CHECK, "", NULL, "FILE",
     .help = "save the gradients as safetensors; \"\" = do not", .here = true},
};
// clang-format on
const struct tt_rows tt_check_rows = TT_ROWS(rows);
TT_OWN_FITS(struct check_options);

struct audit {
    struct tt_options o;
    const struct check_options *own;
    const struct tt_config *c;
    struct tt_config trial; /* that of the version that runs */
    struct tt_backend backend, plain; /* plain: without --own-kernel or in another precision, to compare with */
    struct tt_grads grads, other;
    bool compares;
    double tolerance;
    double floor; /* differences are relative to the norm, or to this if it is larger */
    int missing, different;
    char note[160]; /* what one of the two runs does not compute as asked for */
    char note_fp8[160]; /* which products have no 8-bit factors in fp8 */
};

static int precision_of(const char *word) /* -1: it is none */
{
    for (int p = 0; p < TT_PRECISIONS; p++)
        if (!strcmp(word, tt_precision_names[p])) return p;
    return -1;
}

/* How far rounding alone may change a gradient, relative to its norm. */
static double tolerance_of(const struct audit *a)
{
    int other = precision_of(a->own->against);
    static const double usual[] = {[TT_FP32] = 1e-3, [TT_TF32] = 0.02, [TT_PREC_BF16] = 0.15, [TT_PREC_FP16] = 0.05,
                                   [TT_PREC_FP8] = 0.4};
    if (a->own->tolerance > 0) return a->own->tolerance;
    return fmax(usual[a->c->precision], other < 0 ? 0 : usual[other]);
}

/* In fp16 the first steps may overflow until the loss scale fits. They change no weight, and the next step gets the
 * same tokens, so that the step that counts has the weights and tokens of another precision's first. */
static tt_status first_applied_step(struct tt_run *run, struct tt_metrics *metrics)
{
    enum { MOST = 40 };
    const uint64_t first = run->progress.position;
    tt_status st = TT_OK;
    *metrics = (struct tt_metrics){0};
    for (int i = 0; i < MOST && !metrics->apply && !st; i++) {
        run->progress.position = first;
        st = tt_run_give(run, NULL);
        if (!st) st = tt_run_step(run);
        if (!st) st = tt_engine_download(run->engine, TT_X_RING, (size_t)i * sizeof *metrics, metrics, sizeof *metrics);
        if (!tt_scales_loss(run->config->precision)) break;
    }
    return st;
}

static tt_status step_of(struct tt_session *s, struct tt_backend *backend, const struct tt_config *c,
                         struct tt_grads *out)
{
    struct tt_metrics metrics;
    struct tt_data *data;
    struct tt_run run;
    TT_TRY(tt_open_data(c, c->vocab_size, NULL, &data));
    tt_status st = tt_session_try(s, backend, c, data, &run);
    run.stepper.graph_wanted = false; /* one step is not worth it */
    if (!st) st = first_applied_step(&run, &metrics);
    tt_run_close(&run);
    tt_data_close(data);
    return st ? st : tt_grads_take(s, &metrics, out);
}

static tt_status run_as(struct audit *a, enum tt_version version, enum tt_precision precision, struct tt_grads *out)
{
    struct tt_config *c = &a->trial;
    struct tt_session s = {0};
    *c = *a->c;
    bool plain = out == &a->other && (tt_course_of(c)->own_kernel[0] || precision != c->precision);
    c->version = version;
    tt_config_compute_in(c, precision);
    if (version != a->c->version) c->fuse[0] = 0; /* the other version with its own fusions */
    /* the other run is without a fault, a learner's kernel or a chosen tile */
    if (out == &a->other) tt_course_told(c)->fault[0] = tt_course_told(c)->own_kernel[0] = c->flash_tile[0] = 0;
    tt_fault_configure(c);
    tt_status st = tt_config_check(c);
    if (!st && plain) st = tt_open_backend(c, &a->plain);
    if (!st) st = step_of(&s, plain ? &a->plain : &a->backend, c, out);
    if (!st && !a->note[0]) tt_model_note(s.model, a->note);
    if (!st && !a->note_fp8[0]) tt_fp8_note(s.model, a->note_fp8);
    tt_session_close(&s);
    return st;
}

static tt_status read_other(struct audit *a)
{
    const char *against = a->own->against;
    a->compares = against[0] != 0;
    if (!a->compares) return TT_OK;
    for (int v = 0; v < TT_VERSIONS; v++)
        if (strcmp(against, tt_version_names[v]) == 0)
            return run_as(a, (enum tt_version)v, a->c->precision, &a->other);
    if (precision_of(against) >= 0)
        return tt_context(run_as(a, a->c->version, (enum tt_precision)precision_of(against), &a->other),
                          "--against %s", against);
    TT_TRY(tt_context(tt_grads_load(against, &a->other), "--against"));
    return tt_context(tt_grads_fit(&a->grads, &a->other), "--against %s", against);
}

/* ---- what is shown ---- */

static double difference(const struct audit *a, const struct tt_grad *g)
{
    const struct tt_grad *other = tt_grads_find(&a->other, g->name);
    if (other && tt_grad_vanishes(g->name, a->c->seq_len) && !g->nonfinite && !other->nonfinite) return 0;
    return other ? tt_grad_difference(g, other, a->floor) : INFINITY;
}

static bool is_missing(const struct audit *a, const struct tt_grad *g)
{
    return tt_grad_missing(g) && (g->nonfinite || !tt_grad_vanishes(g->name, a->c->seq_len));
}

static void judge(struct audit *a)
{
    a->floor = tt_grads_floor(&a->grads);
    for (int i = 0; i < a->grads.n; i++) {
        a->missing += is_missing(a, &a->grads.rows[i]);
        a->different += a->compares && difference(a, &a->grads.rows[i]) > a->tolerance;
    }
}

static void print_table(const struct audit *a)
{
    printf("%-40s %12s %12s %10s %10s%s\n", "tensor", "elements", "norm", "zeros", "not finite",
           a->compares ? "   difference" : "");
    for (int i = 0; i < a->grads.n; i++) {
        const struct tt_grad *g = &a->grads.rows[i];
        double apart = a->compares ? difference(a, g) : 0;
        printf("%-40s %12lld %12.6g %10lld %10lld", g->name, (long long)g->count, g->norm, (long long)g->zeros,
               (long long)g->nonfinite);
        if (a->compares) printf(" %12.3g", apart);
        printf("%s%s%s\n", is_missing(a, g) ? "  no gradient" : "", apart > a->tolerance ? "  differs" : "",
               tt_grad_vanishes(g->name, a->c->seq_len) ? "  0 with --seq-len 1" : "");
    }
}

/* All tensors of a layer together. Layer -1 stands for the tensors outside of the layers. */
struct layer {
    double norm;       /* of this run's gradient */
    double difference; /* relative to the norm of the other run's gradient */
    double most;             /* the largest difference of its tensors */
    const char *where;       /* that tensor, without its layer */
};

static int layer_of(const char *name, const char **rest)
{
    int layer, read = 0;
    bool found = sscanf(name, "layers.%d.%n", &layer, &read) == 1 && read;
    *rest = found ? name + read : name;
    return found ? layer : -1;
}

static bool sum_layer(const struct audit *a, int layer, struct layer *out)
{
    double apart = 0, size = 0, own = 0;
    *out = (struct layer){.most = -1};
    for (int i = 0; i < a->grads.n; i++) {
        const struct tt_grad *other = tt_grads_find(&a->other, a->grads.rows[i].name);
        const char *rest;
        if (layer_of(a->grads.rows[i].name, &rest) != layer || !other) continue;
        double d = difference(a, &a->grads.rows[i]), absolute = d * fmax(other->norm, a->floor);
        apart += absolute * absolute;
        size += other->norm * other->norm;
        own += a->grads.rows[i].norm * a->grads.rows[i].norm;
        if (d > out->most) out->most = d, out->where = rest;
    }
    out->norm = sqrt(own);
    out->difference = apart > 0 ? sqrt(apart) / fmax(sqrt(size), a->floor) : 0;
    return out->where != NULL;
}

static int layers_of(const struct audit *a)
{
    const char *rest;
    int layers = 0;
    for (int i = 0; i < a->grads.n; i++) layers = (int)fmax(layers, layer_of(a->grads.rows[i].name, &rest) + 1);
    return layers;
}

static void print_layers(const struct audit *a)
{
    struct layer l;
    int layers = layers_of(a);
    printf("\n%-8s %12s %12s   %s\n", "layer", "norm", "difference", "most in");
    for (int i = 0; i <= layers; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        if (!sum_layer(a, i < layers ? i : -1, &l)) continue;
        printf("%-8s %12.6g %12.3g   %s, %.3g\n", i < layers ? name : "rest", l.norm, l.difference, l.where, l.most);
    }
    printf("\n");
}

static void print_summary(const struct audit *a)
{
    if (a->note[0]) printf("note    %s\n", a->note);
    if (a->note_fp8[0]) printf("note    %s\n", a->note_fp8);
    printf("loss    %.6f\n", a->grads.loss);
    printf("grads   %d of %d tensors have a gradient\n", a->grads.n - a->missing, a->grads.n);
    if (a->compares)
        printf("against %s: loss %.6f, %d of %d tensors within %.3g\n", a->own->against, a->other.loss,
               a->grads.n - a->different, a->grads.n, a->tolerance);
}

static void put_layers(struct tt_json_writer *w, const struct audit *a)
{
    struct layer l;
    tt_json_begin(w, "layers", '[');
    for (int i = 0; i < layers_of(a); i++) {
        if (!sum_layer(a, i, &l)) continue;
        tt_json_begin(w, NULL, '{');
        tt_json_put_int(w, "layer", i);
        tt_json_put_number(w, "norm", l.norm);
        tt_json_put_number(w, "difference", l.difference);
        tt_json_put_string(w, "most_in", l.where);
        tt_json_end(w, '}');
    }
    tt_json_end(w, ']');
}

static tt_status print_json(const struct audit *a)
{
    struct tt_json_writer w = {.pretty = true};
    tt_json_begin(&w, NULL, '{');
    tt_json_put_number(&w, "loss", a->grads.loss);
    tt_json_put_int(&w, "missing", a->missing);
    if (a->compares) tt_json_put_int(&w, "different", a->different);
    tt_json_put_bool(&w, "flash_refused", a->note[0] != 0);
    if (a->compares) put_layers(&w, a);
    tt_json_begin(&w, "tensors", '[');
    for (int i = 0; i < a->grads.n; i++) {
        const struct tt_grad *g = &a->grads.rows[i];
        tt_json_begin(&w, NULL, '{');
        tt_json_put_string(&w, "name", g->name);
        tt_json_put_int(&w, "count", g->count);
        tt_json_put_number(&w, "norm", g->norm);
        tt_json_put_int(&w, "zeros", g->zeros);
        tt_json_put_int(&w, "nonfinite", g->nonfinite);
        if (a->compares) tt_json_put_number(&w, "difference", difference(a, g));
        tt_json_end(&w, '}');
    }
    tt_json_end(&w, ']');
    tt_json_end(&w, '}');
    return tt_json_print(&w);
}

static tt_status verdict(const struct audit *a)
{
    if (a->missing)
        return tt_fail(TT_FAILED, "%d of %d tensors got no gradient, or one that is not finite", a->missing,
                       a->grads.n);
    if (a->different)
        return tt_fail(TT_FAILED, "%d of %d tensors differ from %s by more than %.3g of their norm", a->different,
                       a->grads.n, a->own->against, a->tolerance);
    return TT_OK;
}

static tt_status run(struct audit *a)
{
    TT_TRY(tt_config_check(a->c));
    TT_TRY(tt_take_vocabulary(&a->o));
    TT_TRY(tt_config_check(a->c));
    if (a->c->out[0] && access(a->c->out, F_OK) == 0)
        return tt_fail(TT_USAGE, "--out %s exists; choose a new file", a->c->out);
    if (a->c->out[0]) TT_TRY(tt_could_write(a->c->out));
    TT_TRY(tt_open_backend(a->c, &a->backend));
    TT_TRY(run_as(a, a->c->version, a->c->precision, &a->grads));
    TT_TRY(read_other(a));
    judge(a);
    if (a->c->out[0]) TT_TRY(tt_grads_save(&a->grads, a->c->out));
    if (a->c->json) {
        TT_TRY(print_json(a));
    } else {
        if (!a->c->quiet) print_table(a);
        if (a->compares && !a->c->quiet) print_layers(a);
        print_summary(a);
    }
    return verdict(a);
}

tt_status tt_cmd_check(const struct tt_options *o)
{
    struct audit *a = calloc(1, sizeof *a);
    if (!a) return tt_no_memory("the command");
    a->o = *o;
    a->own = tt_own(&a->o);
    a->c = &a->o.c;
    a->tolerance = tolerance_of(a);
    tt_status st = run(a);
    tt_grads_free(&a->grads);
    tt_grads_free(&a->other);
    if (a->plain.ops) tt_backend_close(&a->plain);
    if (a->backend.ops) tt_backend_close(&a->backend);
    free(a);
    return st;
}
