#include "model/between.h"

#include <stdlib.h>

#include "core/base/grow.h"
#include "core/checkpoint/arena.h"

/* ---- the gradients that chosen groups need ---- */

struct wanted {
    struct tt_bytes *bytes;
    int count;
    size_t room;
};

/* Adds floats [from, from + count) of the gradients to the list, merged with those right before them. */
static bool want(struct wanted *w, int64_t from, int64_t count)
{
    struct tt_bytes b = {(size_t)from * sizeof(float), (size_t)(from + count) * sizeof(float)};
    if (w->count && w->bytes[w->count - 1].to == b.from) {
        w->bytes[w->count - 1].to = b.to;
        return true;
    }
    if (!tt_grow(&w->bytes, sizeof *w->bytes, (size_t)w->count, &w->room)) return false;
    w->bytes[w->count++] = b;
    return true;
}

static bool want_tensor(struct wanted *w, const struct tt_param *t, const bool *chosen)
{
    int64_t width = t->shape[1] ? t->shape[1] : 1, block = t->group_rows * width;
    for (int64_t at = 0, g = t->group; at < t->count; at += block, g++) {
        int64_t left = t->count - at;
        if (chosen[g] && !want(w, t->offset + at, left < block ? left : block)) return false;
    }
    return true;
}

static bool is_in(const struct tt_param *t, const struct tt_bucket *k)
{
    return t->offset >= k->offset && t->offset < k->offset + k->count;
}

/* Ranks sum up whole buckets, and all must do the same: a bucket is wanted as soon as anything in it is. */
static bool want_bucket(struct wanted *w, const struct tt_params *p, int bucket, const bool *chosen)
{
    struct wanted inside = {0};
    bool good = true;
    for (int i = 0; i < p->n && good; i++)
        if (is_in(&p->items[i], &p->buckets[bucket])) good = want_tensor(&inside, &p->items[i], chosen);
    struct tt_part part = tt_part_of(p, bucket);
    if (good && inside.count)
        good = p->sharded[TT_X_GRADS] ? want(w, part.at, part.count)
                                      : want(w, p->buckets[bucket].offset, p->buckets[bucket].count);
    free(inside.bytes);
    return good;
}

static bool want_chosen(struct wanted *w, const struct tt_params *p, const bool *chosen)
{
    bool good = true;
    for (int i = 0; i < p->n && p->ranks == 1 && good; i++) good = want_tensor(w, &p->items[i], chosen);
    for (int i = 0; i < p->bucket_count && p->ranks > 1 && good; i++) good = want_bucket(w, p, i, chosen);
    return good;
}

tt_status tt_between_reduce(const struct tt_model *m, const struct tt_plan *whole, const bool *chosen,
                             struct tt_plan **out)
{
    struct wanted w = {0};
    tt_status st = want_chosen(&w, &m->params, chosen) ? TT_OK : tt_no_memory("the gradients of chosen groups");
    if (!st) st = tt_plan_reduce(whole, TT_X_GRADS, w.bytes, w.count, out);
    free(w.bytes);
    return st;
}

/* ---- from choice to choice ---- */

tt_status tt_between_open(struct tt_between *v, const struct tt_model *m, struct tt_engine *e,
                           const struct tt_plan *whole)
{
    *v = (struct tt_between){.model = m, .engine = e, .whole = whole, .every = m->config.update_every,
                              .unread = true};
    v->updates = calloc((size_t)m->params.groups.count + 1, sizeof *v->updates);
    return v->updates ? TT_OK : tt_no_memory("the groups of weights");
}

void tt_between_close(struct tt_between *v)
{
    tt_plan_free(v->plan);
    free(v->updates);
    *v = (struct tt_between){0};
}

/* Chosen groups have had every update since the choice, the others none of them. */
static tt_status renew(struct tt_between *v)
{
    int groups = v->model->params.groups.count;
    bool *chosen = calloc((size_t)groups, sizeof *chosen);
    int64_t latest = 0;
    struct tt_plan *plan;
    if (!chosen) return tt_no_memory("the groups of weights");
    for (int g = 0; g < groups; g++) latest = v->updates[g].last > latest ? v->updates[g].last : latest;
    for (int g = 0; g < groups; g++) chosen[g] = v->updates[g].last == latest;
    tt_status st = tt_between_reduce(v->model, v->whole, chosen, &plan);
    free(chosen);
    if (st) return st;
    tt_engine_bind(v->engine, plan);
    tt_plan_free(v->plan);
    v->plan = plan;
    return TT_OK;
}

static bool holds(const struct tt_between *v, int64_t step) { return v->choice > 0 && step - v->choice < v->every; }

static tt_status read_choice(struct tt_between *v)
{
    int groups = v->model->params.groups.count;
    TT_TRY(tt_engine_download(v->engine, TT_X_UPDATES, 0, v->updates, ((size_t)groups + 1) * sizeof *v->updates));
    v->choice = v->updates[groups].last;
    v->unread = false;
    return TT_OK;
}

/* A step that chooses may have been skipped, and then the next one chooses. */
tt_status tt_between_plan(void *interval, int64_t step, const struct tt_plan **out, bool *renewed)
{
    struct tt_between *v = interval;
    *renewed = v->unread;
    *out = NULL;
    if (v->unread) {
        TT_TRY(read_choice(v));
        if (holds(v, step)) TT_TRY(renew(v));
    }
    if (holds(v, step)) *out = v->plan;
    else v->unread = true;
    return TT_OK;
}
