/* The parameter table: one flat arena. Matrices come first (they decay), then norms and biases. Wq|Wk|Wv of a layer are
 * adjacent, and so are Wgate|Wup (w1|w3), so that one version can multiply by each of them and another by all at once.
 * So are the biases of q|k|v and the norms of q|k. Names are those of the original LLaMA release, which has the same
 * interleaved RoPE. */
#include "model/params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Matrices that are not adjacent start on a 256-byte boundary; the gaps stay zero. */
enum { PAD = TT_ALIGN / sizeof(float) };

static void pad(struct tt_params *p) { p->total = (p->total + PAD - 1) / PAD * PAD; }

static void add_as(struct tt_params *p, int layer, const char *name, const char *kind, int64_t rows, int64_t cols)
{
    struct tt_param *t = &p->items[p->n++];
    if (layer < 0)
        snprintf(t->name, sizeof t->name, "%s.%s", name, kind);
    else
        snprintf(t->name, sizeof t->name, "layers.%d.%s.%s", layer, name, kind);
    t->layer = layer;
    t->shape[0] = rows;
    t->shape[1] = cols;
    t->count = rows * (cols ? cols : 1);
    t->offset = p->total;
    p->total += t->count;
}

static void add(struct tt_params *p, int layer, const char *name, int64_t rows, int64_t cols)
{
    add_as(p, layer, name, "weight", rows, cols);
}

bool tt_param_is_bias(const struct tt_param *t)
{
    size_t n = strlen(t->name);
    return n > 5 && !strcmp(t->name + n - 5, ".bias");
}

/* ---- buckets ---- */

enum { BUCKET = 1 << 20 }; /* floats: smaller messages do not reach the link's full bandwidth */

/* Ends a bucket, padded so that each rank's part of it is a multiple of PAD. What follows begins a new one. */
static void cut(struct tt_params *p)
{
    int64_t begin = 0, unit = (int64_t)PAD * p->ranks;
    if (p->bucket_count) begin = p->buckets[p->bucket_count - 1].offset + p->buckets[p->bucket_count - 1].count;
    p->total = (p->total + unit - 1) / unit * unit;
    p->buckets[p->bucket_count++] = (struct tt_bucket){begin, p->total - begin};
}

/* Small layers share a bucket. */
static bool is_full(const struct tt_params *p)
{
    const struct tt_bucket *last = &p->buckets[p->bucket_count - 1];
    return p->total - (last->offset + last->count) >= BUCKET;
}

int tt_bucket_of(const struct tt_params *p, int64_t offset)
{
    int i = 0;
    while (i + 1 < p->bucket_count && offset >= p->buckets[i + 1].offset) i++;
    return i;
}

static void shard(struct tt_params *p, enum tt_sharding what)
{
    static const enum tt_external order[] = {TT_X_MOMENT1, TT_X_MOMENT2, TT_X_MASTER,
                                             TT_X_LOW,     TT_X_GRADS,   TT_X_WEIGHTS};
    static const int until[] = {[TT_SHARD_NONE] = 0, [TT_SHARD_OPTIMIZER] = 4, [TT_SHARD_GRADIENTS] = 5,
                                [TT_SHARD_WEIGHTS] = 6};
    for (int i = 0; i < until[what] && p->ranks > 1; i++) p->sharded[order[i]] = true;
}

/* ---- the table ---- */

static void add_matrices(struct tt_params *p, const struct tt_config *c, int layer, int64_t D)
{
    int64_t C = c->hidden_dim, F = c->ffn_dim, Hq = c->num_heads * D, Hk = c->num_kv_heads * D;
    pad(p);
    add(p, layer, "attention.wq", Hq, C);
    add(p, layer, "attention.wk", Hk, C);
    add(p, layer, "attention.wv", Hk, C);
    pad(p);
    add(p, layer, "attention.wo", C, Hq);
    pad(p);
    add(p, layer, "feed_forward.w1", F, C);
    add(p, layer, "feed_forward.w3", F, C);
    pad(p);
    add(p, layer, "feed_forward.w2", C, F);
}

static void add_vectors(struct tt_params *p, const struct tt_config *c, int layer, int64_t D)
{
    add(p, layer, "attention_norm", c->hidden_dim, 0);
    pad(p);
    add(p, layer, "ffn_norm", c->hidden_dim, 0);
    pad(p);
    if (c->qkv_bias) {
        add_as(p, layer, "attention.wq", "bias", c->num_heads * D, 0);
        add_as(p, layer, "attention.wk", "bias", c->num_kv_heads * D, 0);
        add_as(p, layer, "attention.wv", "bias", c->num_kv_heads * D, 0);
        pad(p);
    }
    if (c->qk_norm) {
        add(p, layer, "attention.q_norm", D, 0);
        add(p, layer, "attention.k_norm", D, 0);
        pad(p);
    }
}

/* Tensors of a layer. */
enum { MATRICES = 7 };
static int biases(const struct tt_config *c) { return c->qkv_bias ? 3 : 0; }
static int vectors(const struct tt_config *c) { return 2 + biases(c) + (c->qk_norm ? 2 : 0); }

static int vector_index(const struct tt_config *c, enum tt_weight w)
{
    return w == TT_W_QK_NORM ? 2 + biases(c) : (int)(w - TT_W_ATTENTION_NORM);
}

/* ---- groups ---- */

enum { GROUP_ROWS = 64 };

/* Numbers the groups of a tensor and says how many rows each has. At the level of layers all tensors of a layer are one
 * group. */
static int groups_of(struct tt_params *p, struct tt_param *t, enum tt_update_level level, int first_of_layers)
{
    int64_t rows = t->shape[0];
    bool in_layer = level == TT_LEVEL_LAYER && t->layer >= 0, whole = level != TT_LEVEL_ROWS || !t->shape[1];
    t->group_rows = whole || rows < GROUP_ROWS ? rows : GROUP_ROWS;
    t->group = in_layer ? first_of_layers + t->layer : p->groups.count;
    return in_layer ? 0 : (int)((rows + t->group_rows - 1) / t->group_rows);
}

static void number_groups(struct tt_params *p, const struct tt_config *c)
{
    int first = -1; /* group of the first layer */
    for (int i = 0; i < p->n; i++) {
        struct tt_param *t = &p->items[i];
        if (c->update_level == TT_LEVEL_LAYER && t->layer >= 0 && first < 0) {
            first = p->groups.count;
            p->groups.count += p->groups.layers;
        }
        p->groups.count += groups_of(p, t, c->update_level, first);
    }
}

static tt_status make_groups(struct tt_params *p, const struct tt_config *c)
{
    struct tt_groups *g = &p->groups;
    g->layers = (int)c->num_layers;
    number_groups(p, c);
    int64_t chosen = tt_config_chosen(c, g->count);
    if (chosen > g->count)
        return tt_fail(TT_USAGE, "--update-count %lld is more than the %d groups that this model has with "
                                 "--update-level %s; give at most that many, or a finer level", (long long)chosen,
                       g->count, tt_update_level_names[c->update_level]);
    g->chosen = (int)chosen;
    g->layer = calloc((size_t)g->count, sizeof *g->layer);
    g->size = calloc((size_t)g->count, sizeof *g->size);
    if (!g->layer || !g->size) return tt_no_memory("the groups of weights");
    for (int i = 0; i < p->n; i++) {
        const struct tt_param *t = &p->items[i];
        int64_t width = t->shape[1] ? t->shape[1] : 1;
        for (int64_t row = 0; row < t->shape[0]; row += t->group_rows) {
            int64_t left = t->shape[0] - row, group = t->group + row / t->group_rows;
            g->layer[group] = t->layer;
            g->size[group] += (left < t->group_rows ? left : t->group_rows) * width;
        }
    }
    return TT_OK;
}

tt_status tt_params_create(const struct tt_config *c, struct tt_params *p)
{
    int layers = (int)c->num_layers;
    *p = (struct tt_params){.items = calloc(3 + (size_t)((MATRICES + vectors(c)) * layers), sizeof *p->items),
                            .buckets = calloc(4 + (size_t)layers, sizeof *p->buckets),
                            .rank = c->rank, .ranks = c->ranks > 1 ? (int)c->ranks : 1,
                            .moments = c->moments == TT_MOMENTS_BF16 ? TT_BF16 : TT_F32};
    if (!p->items || !p->buckets)
        return tt_no_memory("the parameter table of %d layers", layers);
    shard(p, c->shard);
    add(p, -1, "tok_embeddings", c->vocab_size, c->hidden_dim);
    cut(p);
    if (!c->tie_embeddings) {
        add(p, -1, "output", c->vocab_size, c->hidden_dim);
        cut(p);
    }
    for (int i = 0; i < layers; i++) {
        add_matrices(p, c, i, tt_head_dim(c));
        if (is_full(p) || i + 1 == layers) cut(p);
    }
    p->decay_end = p->total;
    for (int i = 0; i < layers; i++) add_vectors(p, c, i, tt_head_dim(c));
    add(p, -1, "norm", c->hidden_dim, 0);
    cut(p);
    return c->update == TT_UPDATE_TOP_K ? make_groups(p, c) : TT_OK;
}

void tt_params_free(struct tt_params *p)
{
    free(p->items);
    free(p->buckets);
    free(p->groups.layer);
    free(p->groups.size);
    *p = (struct tt_params){0};
}

int64_t tt_param_offset(const struct tt_params *p, const struct tt_config *c, int layer, enum tt_weight w)
{
    int first = c->tie_embeddings ? 1 : 2, layers = (int)c->num_layers;
    int index;
    if (w == TT_W_EMBEDDING)
        index = 0;
    else if (w == TT_W_HEAD)
        index = first - 1;
    else if (w == TT_W_NORM)
        index = p->n - 1;
    else if (w >= TT_W_ATTENTION_NORM)
        index = first + MATRICES * layers + vectors(c) * layer + vector_index(c, w);
    else
        index = first + MATRICES * layer + (int)w;
    return p->items[index].offset;
}
