#include "profiling/measure/grads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/train/gradients.h"

void tt_grads_free(struct tt_grads *g)
{
    free(g->rows);
    free(g->data);
    *g = (struct tt_grads){0};
}

struct tt_grad_sums tt_grad_sums(const float *g, int64_t n)
{
    struct tt_grad_sums s = {0};
    double squares = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = (double)g[i];
        s.zeros += x == 0;
        if (isfinite(x))
            squares += x * x;
        else
            s.nonfinite++;
    }
    s.norm = s.nonfinite ? NAN : sqrt(squares);
    return s;
}

static void sum_up(struct tt_grad *g)
{
    struct tt_grad_sums s = tt_grad_sums(g->data, g->count);
    g->zeros = s.zeros;
    g->nonfinite = s.nonfinite;
    g->norm = s.norm;
}

static void undo_clipping(struct tt_grads *g, int64_t floats, double recorded)
{
    double sum = 0;
    for (int i = 0; i < g->n; i++) sum += g->rows[i].norm * g->rows[i].norm;
    double factor = tt_gradient_unclip(recorded, sum);
    if (factor == 1) return;
    for (int64_t i = 0; i < floats; i++) g->data[i] *= (float)factor;
    for (int i = 0; i < g->n; i++) g->rows[i].norm *= factor;
}

tt_status tt_grads_take(struct tt_session *s, const struct tt_metrics *step, struct tt_grads *out)
{
    const struct tt_params *params = &s->model->params;
    *out = (struct tt_grads){.loss = (double)step->loss};
    out->data = malloc((size_t)params->total * sizeof *out->data);
    out->rows = calloc((size_t)params->n, sizeof *out->rows);
    if (!out->data || !out->rows) return tt_no_memory("the gradients");
    TT_TRY(tt_engine_download(&s->engine, TT_X_GRADS, 0, out->data, (size_t)params->total * sizeof *out->data));
    for (int i = 0; i < params->n; i++) {
        const struct tt_param *p = &params->items[i];
        struct tt_grad *g = &out->rows[out->n++];
        *g = (struct tt_grad){.rank = p->shape[1] ? 2 : 1,
                              .shape = {p->shape[0], p->shape[1]},
                              .count = p->count,
                              .data = out->data + p->offset};
        snprintf(g->name, sizeof g->name, "%s", p->name);
        sum_up(g);
    }
    undo_clipping(out, params->total, (double)step->grad_norm);
    return TT_OK;
}

/* ---- files ---- */

tt_status tt_grads_save(const struct tt_grads *g, const char *path)
{
    char loss[32];
    uint64_t size;
    uint32_t crc;
    struct tt_tensor_source *tensors = calloc((size_t)g->n + 1, sizeof *tensors);
    if (!tensors) return tt_no_memory("the gradients");
    for (int i = 0; i < g->n; i++) {
        tensors[i] =
            (struct tt_tensor_source){.name = g->rows[i].name, .rank = g->rows[i].rank, .data = g->rows[i].data};
        memcpy(tensors[i].shape, g->rows[i].shape, sizeof tensors[i].shape);
    }
    snprintf(loss, sizeof loss, "%.9g", g->loss);
    struct tt_metadata about[] = {{"kind", "gradients"}, {"loss", loss}};
    tt_status st = tt_safetensors_write(path, tensors, g->n, about, 2, &size, &crc);
    free(tensors);
    return st;
}

static tt_status read_rows(const struct tt_safetensors *file, struct tt_grads *out)
{
    int n = tt_safetensors_count(file);
    int64_t total = 0, at = 0;
    for (int i = 0; i < n; i++) total += tt_safetensors_at(file, i)->count;
    out->data = malloc(((size_t)total + 1) * sizeof *out->data);
    out->rows = calloc((size_t)n + 1, sizeof *out->rows);
    if (!out->data || !out->rows) return tt_no_memory("the gradients");
    for (int i = 0; i < n; i++) {
        const struct tt_tensor *t = tt_safetensors_at(file, i);
        struct tt_grad *g = &out->rows[out->n++];
        *g = (struct tt_grad){.rank = t->rank, .count = t->count, .data = out->data + at};
        snprintf(g->name, sizeof g->name, "%.95s", t->name);
        memcpy(g->shape, t->shape, sizeof g->shape);
        TT_TRY(tt_safetensors_read(file, t, out->data + at));
        sum_up(g);
        at += t->count;
    }
    const char *loss = tt_safetensors_metadata(file, "loss");
    out->loss = loss ? strtod(loss, NULL) : NAN;
    return TT_OK;
}

tt_status tt_grads_load(const char *path, struct tt_grads *out)
{
    struct tt_safetensors *file;
    *out = (struct tt_grads){0};
    TT_TRY(tt_safetensors_open(path, &file));
    tt_status st = read_rows(file, out);
    tt_safetensors_close(file);
    return st;
}

/* ---- comparing ---- */

const struct tt_grad *tt_grads_find(const struct tt_grads *g, const char *name)
{
    for (int i = 0; i < g->n; i++)
        if (strcmp(g->rows[i].name, name) == 0) return &g->rows[i];
    return NULL;
}

bool tt_grad_missing(const struct tt_grad *g) { return g->zeros == g->count || g->nonfinite > 0; }

bool tt_grad_vanishes(const char *name, int64_t seq_len)
{
    static const char *const of[] = {"attention.wq.", "attention.wk.", "attention.q_norm.", "attention.k_norm."};
    bool scored = false;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) scored |= strstr(name, of[i]) != NULL;
    return scored && seq_len == 1;
}

static bool same_shape(const struct tt_grad *a, const struct tt_grad *b)
{
    return a->count == b->count && a->rank == b->rank &&
           memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

double tt_grad_difference(const struct tt_grad *a, const struct tt_grad *b, double floor)
{
    double difference = 0, size = 0;
    if (!same_shape(a, b)) return INFINITY;
    for (int64_t i = 0; i < a->count; i++) {
        double x = (double)a->data[i], y = (double)b->data[i];
        difference += (x - y) * (x - y);
        size += y * y;
    }
    if (!isfinite(difference) || !isfinite(size)) return INFINITY;
    return difference == 0 ? 0 : sqrt(difference) / fmax(sqrt(size), floor);
}

double tt_grads_floor(const struct tt_grads *g)
{
    double sum = 0;
    for (int i = 0; i < g->n; i++) sum += isfinite(g->rows[i].norm) ? g->rows[i].norm * g->rows[i].norm : 0;
    return 1e-5 * sqrt(sum);
}

static void put_shape(const struct tt_grad *g, struct tt_text *out)
{
    for (int i = 0; i < g->rank; i++) tt_text_printf(out, "%s%lld", i ? "x" : "", (long long)g->shape[i]);
}

tt_status tt_grads_fit(const struct tt_grads *here, const struct tt_grads *other)
{
    for (int i = 0; i < here->n; i++) {
        const struct tt_grad *a = &here->rows[i], *b = tt_grads_find(other, a->name);
        if (!b)
            return tt_fail(TT_USAGE, "it has no %s, so it is of another model; give both the same options", a->name);
        if (same_shape(a, b)) continue;
        struct tt_text there = {0}, mine = {0};
        put_shape(b, &there);
        put_shape(a, &mine);
        tt_status st =
            tt_fail(TT_USAGE, "its shapes differ: %s is %s there and %s here; give both the same options", a->name,
                    there.s ? there.s : "?", mine.s ? mine.s : "?");
        tt_text_free(&there);
        tt_text_free(&mine);
        return st;
    }
    if (other->n == here->n) return TT_OK;
    return tt_fail(TT_USAGE, "it has %d tensors, and this model has %d; give both the same options", other->n, here->n);
}
