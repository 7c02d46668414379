/* What several ranks add to a step. Each computes the gradients of its own sequences, which are summed bucket by bucket
 * while the backward pass goes on. Of a sharded array, a rank keeps only its own parts. With --shard
 *
 *   none        every rank has the sums of all gradients and makes the same update
 *   optimizer   a rank has the sums of its parts, updates those weights, and sends them to the others
 *   gradients   it also keeps only those sums: the gradients of a bucket live from its backward pass to their sum
 *   weights     it also keeps only its part of the weights: a bucket is gathered before each use, one bucket ahead */
#include "core/checkpoint/arena.h"
#include "model/build.h"

static const struct tt_params *params(const struct build *b) { return &b->m->params; }
static bool sharded(const struct build *b, enum tt_external x) { return params(b)->sharded[x]; }

static void collective(struct build *b, enum tt_collective_kind kind, const void *from, void *to, int64_t count,
                       enum tt_dtype type)
{
    enum tt_group group = b->p->group;
    b->p->group = TT_G_COMMUNICATION;
    tt_plan_collective(b->p, &(struct tt_collective){kind, from, to, count, type, params(b)->ranks});
    b->p->group = group;
}

/* ---- weights ---- */

void *whole_weights(struct build *b, int bucket)
{
    struct bucket_acts *a = &b->buckets[bucket];
    const struct tt_bucket *k = &params(b)->buckets[bucket];
    if (a->weights) return a->weights;
    a->weights = activation(b, "gathered_weights", 1, k->count);
    collective(b, TT_ALL_GATHER, view(b, b->weights, tt_part_of(params(b), bucket).at), a->weights, k->count,
               b->p->dtype);
    return a->weights;
}

void drop_weights(struct build *b, int bucket) { b->buckets[bucket].weights = NULL; }

void drop_all(struct build *b)
{
    for (int i = 0; i < params(b)->bucket_count; i++) b->buckets[i] = (struct bucket_acts){0};
}

/* ---- layers ---- */

static int bucket_of_layer(const struct build *b, int layer)
{
    return tt_bucket_of(params(b), tt_param_offset(params(b), b->c, layer, TT_W_Q));
}

/* Whether the layer is the first of its bucket when the layers are visited in that direction. */
static bool begins(const struct build *b, int layer, int direction)
{
    int before = layer - direction, layers = (int)b->c->num_layers;
    return before < 0 || before >= layers || bucket_of_layer(b, before) != bucket_of_layer(b, layer);
}

void enter_layer(struct build *b, int layer, int direction)
{
    if (!sharded(b, TT_X_WEIGHTS) || !begins(b, layer, direction)) return;
    int here = bucket_of_layer(b, layer), next = here + direction;
    whole_weights(b, here);
    if (next >= bucket_of_layer(b, 0) && next <= bucket_of_layer(b, (int)b->c->num_layers - 1)) whole_weights(b, next);
}

/* The last layers' weights stay: the backward pass begins with them. */
void leave_layer(struct build *b, int layer, int direction)
{
    int here = bucket_of_layer(b, layer), last = bucket_of_layer(b, (int)b->c->num_layers - 1);
    if (begins(b, layer, -direction) && !(direction > 0 && here == last)) drop_weights(b, here);
}

/* ---- gradients ---- */

/* Sets the gaps between the parameters of a bucket to 0: they are summed with the rest, and nothing else writes
 * them. */
static void clear_gaps(struct build *b, float *grads, const struct tt_bucket *k)
{
    int64_t at = k->offset, end = k->offset + k->count;
    for (int i = 0; i < params(b)->n; i++) {
        const struct tt_param *t = &params(b)->items[i];
        if (t->offset < at || t->offset >= end) continue;
        if (t->offset > at) LAUNCH(b->p, zero, .x = grads + (at - k->offset), .n = t->offset - at);
        at = t->offset + t->count;
    }
    if (at < end) LAUNCH(b->p, zero, .x = grads + (at - k->offset), .n = end - at);
}

float *whole_gradients(struct build *b, int bucket)
{
    struct bucket_acts *a = &b->buckets[bucket];
    const struct tt_bucket *k = &params(b)->buckets[bucket];
    if (a->grads) return a->grads;
    a->grads = floats(b, "bucket_gradients", k->count);
    clear_gaps(b, a->grads, k);
    return a->grads;
}

/* The sum of the first micro-batch is stored, the sums of the others are added to it. */
static void sum_to_shard(struct build *b, int bucket)
{
    struct tt_part part = tt_part_of(params(b), bucket);
    int64_t count = params(b)->buckets[bucket].count;
    float *shard = (float *)b->grads + part.at, *from = whole_gradients(b, bucket);
    if (b->p->micro == 0) {
        collective(b, TT_REDUCE_SCATTER, from, shard, count, TT_F32);
        return;
    }
    float *sum = from + (part.begin - params(b)->buckets[bucket].offset);
    collective(b, TT_REDUCE_SCATTER, from, sum, count, TT_F32);
    b->p->stream = TT_STREAM_COMM;
    tt_plan_launch(b->p, TT_K_add, &(struct tt_add_args){.dtype = TT_F32, .x = shard, .y = sum, .out = shard,
                                                         .rows = 1, .cols = part.count, .ldx = part.count,
                                                         .ldy = part.count, .ldo = part.count});
    b->p->stream = TT_STREAM_MAIN;
}

void sum_bucket(struct build *b, int bucket)
{
    if (params(b)->ranks == 1) return;
    const struct tt_bucket *k = &params(b)->buckets[bucket];
    float *all = (float *)b->grads, *grads = all + k->offset;
    if (sharded(b, TT_X_GRADS))
        sum_to_shard(b, bucket);
    else if (b->p->micro + 1 < b->c->grad_accum)
        return;
    else if (sharded(b, TT_X_MOMENT1))
        collective(b, TT_REDUCE_SCATTER, grads, all + tt_part_of(params(b), bucket).begin, k->count, TT_F32);
    else
        collective(b, TT_ALL_REDUCE, grads, grads, k->count, TT_F32);
}

void sum_layer(struct build *b, int layer)
{
    if (begins(b, layer, +1)) sum_bucket(b, bucket_of_layer(b, layer));
}

void sum_loss(struct build *b)
{
    if (params(b)->ranks > 1) collective(b, TT_ALL_REDUCE, b->loss, b->loss, 2, TT_F32); /* and ignored */
}

void gather_rows(struct build *b, float *rows, int64_t n)
{
    int ranks = params(b)->ranks;
    if (ranks > 1) collective(b, TT_ALL_GATHER, rows + params(b)->rank * n, rows, ranks * n, TT_F32);
}

void sum_partials(struct build *b, float *partial, int64_t count)
{
    if (sharded(b, TT_X_MOMENT1)) collective(b, TT_ALL_REDUCE, partial, partial, count, TT_F32);
}

/* ---- the optimiser's slices ---- */

int slice_count(const struct build *b) { return sharded(b, TT_X_MOMENT1) ? params(b)->bucket_count : 1; }

static void *moments(struct build *b, enum tt_external x, int64_t at)
{
    size_t bytes = tt_dtype_size(params(b)->moments);
    return (char *)tt_plan_external(b->p, x, (size_t)tt_arena_count(params(b), x) * bytes) + (size_t)at * bytes;
}

/* Where `part` lies in each array: at its place in the arena, or, of a sharded array, among this rank's parts. */
static struct slice slice(struct build *b, struct tt_part part)
{
    const struct tt_params *p = params(b);
#define AT(x) (p->sharded[x] ? part.at : part.begin)
    bool same = b->p->dtype == TT_F32;
    struct slice s = {.first = part.begin, .n = part.count, .grad = (float *)b->grads + AT(TT_X_GRADS),
                      .m = moments(b, TT_X_MOMENT1, AT(TT_X_MOMENT1)), .v = moments(b, TT_X_MOMENT2, AT(TT_X_MOMENT2)),
                      .copy = same ? NULL : view(b, b->weights, AT(TT_X_WEIGHTS))};
    if (b->master) s.w = b->master + (same ? AT(TT_X_WEIGHTS) : AT(TT_X_MASTER));
    if (b->low) s.low = b->low + AT(TT_X_LOW);
#undef AT
    int64_t decays = p->decay_end - part.begin;
    s.decay_end = decays < 0 ? 0 : decays < s.n ? decays : s.n;
    return s;
}

struct slice slice_at(struct build *b, int64_t offset, int64_t count)
{
    return slice(b, (struct tt_part){.begin = offset, .count = count});
}

struct slice slice_of(struct build *b, int i)
{
    if (!sharded(b, TT_X_MOMENT1)) return slice_at(b, 0, params(b)->total);
    struct slice s = slice(b, tt_part_of(params(b), i));
    s.bucket = i;
    return s;
}

void share_slice(struct build *b, const struct slice *s)
{
    if (!sharded(b, TT_X_MOMENT1) || sharded(b, TT_X_WEIGHTS)) return;
    const struct tt_bucket *k = &params(b)->buckets[s->bucket];
    collective(b, TT_ALL_GATHER, s->copy ? s->copy : s->w, view(b, b->weights, k->offset), k->count, b->p->dtype);
}
