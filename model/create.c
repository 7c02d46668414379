/* A model before it has a plan: its shape on a device, its size and FLOPs, its first weights. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/parallel.h"
#include "core/base/rng.h"
#include "core/checkpoint/arena.h"
#include "model/model.h"
#include "model/params.h"

/* The FLOPs of the smallest product that runs alone. A smaller one leaves most of the device idle and loses nothing by
 * running beside others; a larger one would only slow them down. On an H200, which has 132 multiprocessors, these FLOPs
 * take 20 µs. */
static double small_product(int multiprocessors) { return 15e9 / 132 * multiprocessors; }

/* How many multiprocessors the optimiser takes beside the forward pass. With fewer, the update takes longer than the
 * forward pass; with more, the forward pass has too few. Of the 132 of an H200, 33 are best beside products that leave
 * room for them (build.c), and 48 beside larger ones, which do not. */
static int beside_units(const struct tt_model *m)
{
    const struct tt_config *c = &m->config;
    double largest = 4.0 * (double)(c->batch_size * c->seq_len) * (double)c->hidden_dim * (double)c->ffn_dim;
    int units = largest < m->small_product ? m->units / 4 : m->units * 4 / 11;
    return units > 0 ? units : 1;
}

tt_status tt_model_create(const struct tt_config *c, struct tt_model **out)
{
    TT_TRY(tt_config_check_shape(c));
    struct tt_model *m = calloc(1, sizeof *m);
    if (!m) return tt_no_memory("the model");
    m->config = *c;
    m->head_dim = tt_head_dim(c);
    m->tf32 = c->precision == TT_TF32;
    m->small_product = small_product(132);
    tt_status st = tt_config_fusions(c, m->fuse);
    if (!st) st = tt_params_create(c, &m->params);
    if (st) {
        tt_model_free(m);
        return st;
    }
    *out = m;
    return TT_OK;
}

void tt_model_free(struct tt_model *m)
{
    if (!m) return;
    tt_params_free(&m->params);
    free(m);
}

void tt_model_fit(struct tt_model *m, const struct tt_device_info *device)
{
    m->no_bf16 = !device->has[TT_PREC_BF16];
    m->fp8_fnuz = device->fp8_fnuz;
    m->product_epilogues = device->product_epilogues && tt_model_dtype(m) != TT_F32;
    if (device->wave_width > 1 && device->units > 0) {
        m->units = device->units;
        m->small_product = small_product(device->units);
        m->beside_units = beside_units(m);
    }
    m->tf32 = m->tf32 && device->has[TT_TF32];
    m->flash_refused = device->flash_head > 0 && m->head_dim > device->flash_head && m->fuse[TT_FUSE_ATTENTION];
    if (!m->flash_refused) return;
    m->fuse[TT_FUSE_ATTENTION] = false;
    m->fuse[TT_FUSE_SOFTMAX] = true;
}

void tt_flash_refused_note(int64_t head_dim, char out[160])
{
    snprintf(out, 160, "heads of %lld are too large for this device's flash attention; it runs the fused attention "
             "instead", (long long)head_dim);
}

void tt_model_note(const struct tt_model *m, char out[160])
{
    out[0] = 0;
    if (m->flash_refused) tt_flash_refused_note(m->head_dim, out);
}

/* As bundle_in_fp8 decides for each product. */
void tt_fp8_note(const struct tt_model *m, char out[160])
{
    const struct tt_config *c = &m->config;
    int64_t every = c->batch_size * c->seq_len | c->hidden_dim;
    bool any = !(every % 16) && (!(c->num_heads * m->head_dim % 16) || !(c->ffn_dim % 16));
    int64_t chunk = m->fuse[TT_FUSE_HEAD] && c->head_chunk < c->batch_size * c->seq_len ? c->head_chunk : 0;
    bool head = !(every % 16) && !((c->vocab_size | chunk) % 16), all = c->fp8 == TT_FP8_ALL;
    out[0] = 0;
    if (c->precision != TT_PREC_FP8) return;
    if (!any && !(all && head))
        snprintf(out, 160, "no product has 8-bit factors: their sizes, among them batch-size times seq-len, hidden-dim "
                 "and ffn-dim, must be multiples of 16");
    else if (all && !head)
        snprintf(out, 160, "not all products of the head have 8-bit factors: vocab-size and head-chunk must be "
                 "multiples of 16");
}

struct init {
    float *weights; /* of the tensor */
    int64_t first;  /* index of the first to set */
    double deviation;
    uint64_t seed, tensor;
};

static void init_part(void *context, int64_t from, int64_t to)
{
    const struct init *t = context;
    for (int64_t j = t->first + from; j < t->first + to; j++)
        t->weights[j] = (float)(t->deviation * tt_normal(t->seed, t->tensor, (uint64_t)j));
}

/* Sets the weights from `begin` to `end` of the arena. Several threads share the work, since one would take a minute
 * for a billion weights. Each weight is a function of its index, so the number of threads changes nothing. */
static void init_between(const struct tt_model *m, float *weights, int64_t begin, int64_t end)
{
    enum { LEAST = 1 << 16 }; /* weights worth a thread */
    for (int64_t i = begin; i < end; i++) weights[i] = 0;
    for (int i = 0; i < m->params.n; i++) {
        const struct tt_param *t = &m->params.items[i];
        int64_t from = begin > t->offset ? begin - t->offset : 0;
        int64_t to = end < t->offset + t->count ? end - t->offset : t->count;
        struct init init = {weights + t->offset, from, m->config.init_std, (uint64_t)m->config.seed, (uint64_t)i};
        if (from >= to) continue;
        if (t->shape[1])
            tt_parallel((int)m->config.threads, to - from, LEAST, init_part, &init);
        else
            for (int64_t j = from; j < to; j++) init.weights[j] = tt_param_is_bias(t) ? 0.0f : 1.0f;
    }
}

void tt_model_init_weights(const struct tt_model *m, float *weights)
{
    init_between(m, weights, 0, m->params.total);
}

void tt_model_init_parts(const struct tt_model *m, float *weights)
{
    for (int i = 0; i < m->params.bucket_count; i++) {
        struct tt_part part = tt_part_of(&m->params, i);
        init_between(m, weights, part.begin, part.begin + part.count);
    }
}

int64_t tt_model_param_count(const struct tt_model *m)
{
    int64_t n = 0;
    for (int i = 0; i < m->params.n; i++) n += m->params.items[i].count;
    return n;
}

enum tt_dtype tt_model_dtype(const struct tt_model *m)
{
    return tt_precision_dtype(m->config.precision, !m->no_bf16);
}

double tt_model_step_flops(const struct tt_model *m)
{
    const struct tt_config *c = &m->config;
    double tokens = (double)(c->batch_size * c->seq_len * c->grad_accum);
    double params = (double)tt_model_param_count(m);
    /* Looking up an embedding multiplies nothing. */
    if (!c->tie_embeddings) params -= (double)(c->vocab_size * c->hidden_dim);
    return tokens * (6 * params + 6 * (double)(c->num_layers * c->seq_len * c->num_heads * m->head_dim));
}
