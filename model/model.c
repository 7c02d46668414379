/* The whole model put together: blocks forward, head and loss, blocks backward, optimiser. */
#include "model/model.h"

#include <stddef.h>
#include <stdlib.h>

#include "core/checkpoint/arena.h"
#include "core/config/hooks.h"
#include "model/build.h"
#include "model/scales.h"

static struct build begin(const struct tt_model *m, struct tt_plan *p, int64_t B, int64_t S, int64_t positions)
{
    const struct tt_config *c = &m->config;
    size_t arena = (size_t)tt_arena_count(&m->params, TT_X_WEIGHTS);
    struct build b = {.p = p, .m = m, .c = c, .B = B, .S = S, .T = B * S, .C = c->hidden_dim, .H = c->num_heads,
                      .KV = c->num_kv_heads, .D = m->head_dim, .F = c->ffn_dim, .V = c->vocab_size,
                      .positions = positions};
    b.P = (b.H + 2 * b.KV) * b.D;
    b.weights = tt_plan_external(p, TT_X_WEIGHTS, arena * tt_dtype_size(p->dtype));
    size_t table = (size_t)(positions * (b.D / 2));
    b.cos = tt_plan_external(p, TT_X_ROPE, 2 * table * sizeof(float));
    b.sin = b.cos + table;
    return b;
}

static struct residual embed(struct build *b)
{
    struct residual r = {activation(b, "embedding", b->T, b->C), NULL};
    b->p->phase = TT_FORWARD;
    b->p->group = TT_G_EMBEDDING;
    LAUNCH(b->p, embedding, .tokens = b->tokens, .state = b->state, .weight = weight(b, TT_W_EMBEDDING), .y = r.x,
           .T = b->T, .S = b->S, .C = b->C, .V = b->V, .slot_stride = b->slot_stride);
    return r;
}

static void embed_backward(struct build *b, const void *dr)
{
    float *dweight = gradient(b, TT_W_EMBEDDING);
    b->p->group = TT_G_EMBEDDING;
    if (!b->c->tie_embeddings && !b->accumulate) LAUNCH(b->p, zero, .x = dweight, .n = b->V * b->C);
    int32_t *work = tt_plan_buffer(b->p, "embedding_work", (size_t)TT_EMBEDDING_WORK(b->T, b->V) * sizeof *work);
    LAUNCH(b->p, embedding_backward, .tokens = b->tokens, .state = b->state, .dy = dr, .dweight = dweight, .work = work,
           .T = b->T, .S = b->S, .C = b->C, .V = b->V, .slot_stride = b->slot_stride);
}

/* With --documents separate: where the documents of this batch begin and end. */
static void bound_documents(struct build *b)
{
    if (b->c->documents != TT_DOCUMENTS_SEPARATE) return;
    int32_t *starts = tt_plan_buffer(b->p, "document_starts", (size_t)b->T * sizeof *starts);
    int32_t *ends = NULL;
    if (b->train && fused(b, TT_FUSE_ATTENTION))
        ends = tt_plan_buffer(b->p, "document_ends", (size_t)b->T * sizeof *ends);
    b->p->phase = TT_FORWARD;
    b->p->group = TT_G_ATTENTION;
    LAUNCH(b->p, document_bounds, .tokens = b->tokens, .state = b->state, .starts = starts, .ends = ends, .B = b->B,
           .S = b->S, .slot_stride = b->slot_stride, .end = (int32_t)b->c->end_token);
    b->starts = starts;
    b->ends = ends;
}

/* From tokens to the output of the last norm. */
static void body_forward(struct build *b, struct block_acts *blocks, struct norm_acts *last)
{
    bound_documents(b);
    struct residual r = embed(b);
    if (!b->c->tie_embeddings) drop_weights(b, 0);
    for (int i = 0; i < b->c->num_layers; i++) {
        b->p->layer = i;
        enter_layer(b, i, +1);
        block_forward(b, &r, &blocks[i]);
        leave_layer(b, i, +1);
    }
    b->p->layer = -1;
    struct bundle head = head_bundle(b, head_rows(b));
    norm(b, &r, TT_W_NORM, last, &head);
}

static void body_backward(struct build *b, struct block_acts *blocks, const struct norm_acts *last, const void *dy)
{
    struct measured dr = {.x = activation(b, "d_residual", b->T, b->C)};
    struct bundle top = down_bundle(b);
    b->p->phase = TT_BACKWARD;
    norm_backward(b, dy, last, TT_W_NORM, &dr, true, &top, (int)b->c->num_layers - 1);
    for (int i = (int)b->c->num_layers - 1; i >= 0; i--) {
        b->p->layer = i;
        enter_layer(b, i, -1);
        block_backward(b, &blocks[i], &dr);
        leave_layer(b, i, -1);
        sum_layer(b, i);
    }
    b->p->layer = -1;
    embed_backward(b, dr.x);
    sum_bucket(b, b->m->params.bucket_count - 1); /* the bucket of the norms */
    sum_bucket(b, 0);
}

static void step_begin(struct build *b, struct tt_state *state, struct tt_state *before)
{
    const struct tt_config *c = b->c;
    struct tt_schedule schedule = {.decay = c->lr_schedule, .warmup = c->warmup_steps, .total = c->num_steps,
                                   .peak = (float)c->learning_rate,
                                   .floor = (float)(c->learning_rate * c->min_lr_ratio)};
    b->p->group = TT_G_CONTROL;
    LAUNCH(b->p, step_begin, .state = state, .before = before, .schedule = schedule, .slots = TT_TOKEN_SLOTS,
           .beta1 = (float)c->beta1, .beta2 = (float)c->beta2);
}

static void step_end(struct build *b)
{
    struct tt_metrics *ring = tt_plan_external(b->p, TT_X_RING, TT_RING_ENTRIES * sizeof *ring);
    sum_loss(b);
    b->p->phase = TT_OPTIMIZE;
    if (b->m->params.groups.count)
        optimizer_chosen(b);
    else
        (fused(b, TT_FUSE_OPTIMIZER) ? optimizer_fused : optimizer_steps)(b);
    b->p->group = TT_G_CONTROL;
    record_scales(b);
    LAUNCH(b->p, record, .state = b->state, .ring = ring, .entries = TT_RING_ENTRIES);
}

static void micro_batch(struct build *b, int i, const int32_t *tokens, struct block_acts *blocks)
{
    struct norm_acts last;
    tt_plan_micro(b->p, i);
    drop_all(b);
    b->amax = NULL;
    b->head = (struct factor){0};
    b->accumulate = i > 0 && !b->m->params.sharded[TT_X_GRADS];
    b->tokens = tokens + i * b->B * (b->S + 1);
    body_forward(b, blocks, &last);
    void *dy = activation(b, "d_norm", b->T, b->C);
    head_and_loss(b, normed(&last), dy);
    drop_weights(b, b->c->tie_embeddings ? 0 : 1);
    if (!b->c->tie_embeddings) sum_bucket(b, 1);
    body_backward(b, blocks, &last, dy);
}

/* Every plan is written by a function of this kind; `blocks` has room for the layers. */
typedef void (*writer)(struct build *b, struct block_acts *blocks);

/* Sets where the optimiser finds fp32 weights. Its fused kernel can put a bf16 weight and its lower half together; the
 * single steps cannot. */
static void weights_to_change(struct build *b)
{
    const struct tt_params *p = &b->m->params;
    if (b->p->dtype == TT_F32)
        b->master = (float *)b->weights;
    else if (b->p->dtype == TT_BF16 && fused(b, TT_FUSE_OPTIMIZER))
        b->low = tt_plan_external(b->p, TT_X_LOW, (size_t)tt_arena_count(p, TT_X_LOW) * sizeof *b->low);
    else
        b->master = tt_plan_external(b->p, TT_X_MASTER, (size_t)tt_arena_count(p, TT_X_MASTER) * sizeof *b->master);
}

/* Sets what the optimiser reads and writes, except for the moments. Behind the state there is room for a second one,
 * that of a late update. */
static struct tt_state *begin_training(struct build *b)
{
    struct tt_state *state = tt_plan_external(b->p, TT_X_STATE, 2 * sizeof *state);
    b->state = state;
    b->grads = tt_plan_external(b->p, TT_X_GRADS,
                                (size_t)tt_arena_count(&b->m->params, TT_X_GRADS) * sizeof(float));
    weights_to_change(b);
    return state;
}

static void write_train(struct build *b, struct block_acts *blocks)
{
    int64_t micros = b->c->grad_accum, row = b->S + 1;
    struct tt_state *state = begin_training(b), *before = b->late ? state + 1 : NULL;
    b->train = true;
    b->slot_stride = micros * b->B * row;
    b->loss_factor = 1.0f / (float)(b->T * micros * b->m->params.ranks);
    b->loss = (float *)((char *)state + offsetof(struct tt_state, loss));
    _Static_assert(offsetof(struct tt_state, ignored) == offsetof(struct tt_state, loss) + sizeof(float),
                   "side by side");
    const int32_t *tokens = tt_plan_external(b->p, TT_X_TOKENS,
                                             TT_TOKEN_SLOTS * (size_t)b->slot_stride * sizeof *tokens);
    if (b->c->precision == TT_PREC_FP8 && b->c->fp8_scaling == TT_SCALING_DELAYED)
        b->scales = tt_plan_external(b->p, TT_X_SCALES, (size_t)tt_scales_floats(b->m) * sizeof *b->scales);
    step_begin(b, state, before);
    if (b->late) update_before(b, before);
    for (int i = 0; i < micros; i++) micro_batch(b, i, tokens, blocks);
    tt_plan_micro(b->p, 0);
    step_end(b);
}

static void batch_tokens(struct build *b)
{
    b->tokens = tt_plan_external(b->p, TT_X_VAL_TOKENS, (size_t)(b->B * (b->S + 1)) * sizeof *b->tokens);
}

static void write_eval(struct build *b, struct block_acts *blocks)
{
    struct norm_acts last;
    batch_tokens(b);
    b->loss_factor = 1.0f / (float)b->T;
    b->loss = tt_plan_external(b->p, TT_X_VAL_LOSS, 2 * sizeof *b->loss);
    body_forward(b, blocks, &last);
    head_and_loss(b, normed(&last), NULL);
}

/* The logits for the host, in fp32 whatever the activations are. */
static void logits_out(struct build *b, struct measured y)
{
    float *logits = tt_plan_external(b->p, TT_X_LOGITS, (size_t)(b->T * b->V) * sizeof *logits);
    struct bundle head = head_bundle(b, b->T);
    struct fp8_acts kept;
    head.in_floats = true;
    b->p->group = TT_G_LOSS;
    bundle_forward(b, &head, y, true, logits, &kept);
}

static void write_logits(struct build *b, struct block_acts *blocks)
{
    struct norm_acts last;
    batch_tokens(b);
    body_forward(b, blocks, &last);
    logits_out(b, normed(&last));
}

/* B sequences of S tokens; RoPE tables and caches of so many positions; the rest as in struct build. */
struct shape {
    int64_t B, S, positions, sequences;
    const struct tt_sampling *how;
    int64_t known;
};

static tt_status write_plan(const struct tt_model *m, writer write, struct shape s, struct tt_plan **out)
{
    struct tt_plan *p;
    struct block_acts *blocks = calloc((size_t)m->config.num_layers + 1, sizeof *blocks);
    struct bucket_acts *buckets = calloc((size_t)m->params.bucket_count, sizeof *buckets);
    tt_status st = blocks && buckets ? tt_plan_create(tt_model_dtype(m), &p)
                                     : tt_no_memory("the plan of %d layers",
                                               (int)m->config.num_layers);
    if (!st) {
        struct build b = begin(m, p, s.B, s.S, s.positions);
        b.buckets = buckets;
        b.sequences = s.sequences, b.how = s.how, b.known = s.known;
        write(&b, blocks);
        st = tt_hooks_edit(&m->config, p, b.train);
        if (!st) st = tt_plan_finish(p);
        if (st)
            tt_plan_free(p);
        else
            *out = p;
    }
    free(blocks);
    free(buckets);
    return st;
}

static struct shape batch_of(const struct tt_model *m)
{
    return (struct shape){.B = m->config.batch_size, .S = m->config.seq_len, .positions = m->config.seq_len};
}

tt_status tt_model_plan_train(const struct tt_model *m, struct tt_plan **out)
{
    bool chooses = m->params.groups.count > 0;
    if ((chooses || m->params.moments != TT_F32) && !m->fuse[TT_FUSE_OPTIMIZER])
        return tt_fail(TT_USAGE, "--%s needs the optimiser in one kernel, which this run does not have; use --version "
                                 "fused or flash, or add --fuse optimizer", chooses ? "update top-k" : "moments bf16");
    return write_plan(m, write_train, batch_of(m), out);
}

static void write_late(struct build *b, struct block_acts *blocks)
{
    b->late = true;
    write_train(b, blocks);
}

tt_status tt_model_plan_late(const struct tt_model *m, struct tt_plan **out)
{
    return write_plan(m, write_late, batch_of(m), out);
}

static void write_update(struct build *b, struct block_acts *blocks)
{
    (void)blocks;
    update_now(b, begin_training(b));
}

tt_status tt_model_plan_update(const struct tt_model *m, struct tt_plan **out)
{
    return write_plan(m, write_update, batch_of(m), out);
}

static void write_between(struct build *b, struct block_acts *blocks)
{
    b->between = true;
    write_train(b, blocks);
}

tt_status tt_model_plan_between(const struct tt_model *m, struct tt_plan **out)
{
    return write_plan(m, write_between, batch_of(m), out);
}

tt_status tt_model_plan_eval(const struct tt_model *m, struct tt_plan **out)
{
    return write_plan(m, write_eval, batch_of(m), out);
}

tt_status tt_model_plan_logits(const struct tt_model *m, struct tt_plan **out)
{
    return write_plan(m, write_logits, batch_of(m), out);
}

static void write_fill(struct build *b, struct block_acts *blocks)
{
    batch_tokens(b);
    struct residual r = embed(b);
    for (int i = 0; i < b->c->num_layers; i++) {
        b->p->layer = i;
        (i + 1 < b->c->num_layers ? block_forward : block_keys)(b, &r, &blocks[i]);
    }
}

tt_status tt_model_plan_fill(const struct tt_model *m, int64_t tokens, int64_t rows, int64_t length,
                             struct tt_plan **out)
{
    struct shape s = {.B = 1, .S = tokens, .positions = length, .sequences = rows};
    return write_plan(m, write_fill, s, out);
}

static void write_decode(struct build *b, struct block_acts *blocks)
{
    (void)blocks;
    batch_tokens(b);
    void *x = embed(b).x;
    for (int i = 0; i < b->c->num_layers; i++) {
        b->p->layer = i;
        x = decode_block(b, x);
    }
    b->p->layer = -1;
    decode_head(b, x);
}

tt_status tt_model_plan_decode(const struct tt_model *m, int64_t rows, int64_t length, const struct tt_sampling *how,
                               int64_t known, struct tt_plan **out)
{
    struct shape s = {.B = rows, .S = 1, .positions = length, .sequences = rows, .how = how, .known = known};
    return write_plan(m, write_decode, s, out);
}
