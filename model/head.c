/* Head and loss. Whole, the logits are the largest buffer of a small model (T × V); in chunks of rows, forward and
 * backward of a chunk follow each other and only one chunk of logits exists. */
#include "model/build.h"

/* How many rows a chunk has, if --head-chunk does not say. Each chunk after the first reads and writes the whole
 * gradient of the head once more, so there should be few chunks. But the logits of one should be small beside what the
 * blocks keep for the backward pass. All but the last have the same size. */
static int64_t chosen_rows(const struct build *b)
{
    enum { LEAST = 256 << 20, MOST = 1 << 30, ROWS = 128 }; /* bytes; and rows in one of a GPU's tiles */
    int64_t size = (int64_t)tt_dtype_size(b->p->dtype);
    int64_t kept = b->c->num_layers * b->T * (4 * b->C + b->P + 2 * b->F) * size, bytes = kept / 8;
    bytes = bytes < LEAST ? LEAST : bytes > MOST ? MOST : bytes;
    if (b->c->precision == TT_PREC_FP8 && b->c->fp8 == TT_FP8_ALL) size += 2; /* codes of the gradient, in two forms */
    int64_t chunks = (b->T * b->V * size + bytes - 1) / bytes, rows = (b->T + chunks - 1) / chunks;
    return (rows + ROWS - 1) / ROWS * ROWS;
}

int64_t head_rows(const struct build *b)
{
    if (!fused(b, TT_FUSE_HEAD)) return b->T;
    int64_t rows = b->c->head_chunk > 0 ? b->c->head_chunk : chosen_rows(b);
    return rows < b->T ? rows : b->T;
}

struct bundle head_bundle(const struct build *b, int64_t rows)
{
    return (struct bundle){.n = 1, .w = {TT_W_HEAD}, .out = {b->V}, .rows = rows, .in = b->C, .width = b->V,
                           .whole = true};
}

/* The distance between rows of logits. Libraries multiply several times faster where each row begins at a multiple of
 * 16 bytes, so rows are padded; those of 50257 numbers would not begin there. Without the fused loss they are not
 * padded, as in an eager framework. */
static int64_t logits_apart(const struct build *b)
{
    int64_t unit = 16 / (int64_t)tt_dtype_size(b->p->dtype);
    return fused(b, TT_FUSE_LOSS) ? (b->V + unit - 1) / unit * unit : b->V;
}

static void one_chunk(struct build *b, struct measured y, void *dy, float *losses, int64_t first, int64_t rows)
{
    int64_t C = b->C, ld = logits_apart(b);
    struct bundle head = head_bundle(b, rows);
    struct fp8_acts kept = {0};
    head.whole = false;
    head.width = ld;
    struct measured y_rows = {.x = view(b, y.x, first * C), .amax = y.amax};
    struct measured logits = {.x = activation(b, "logits", rows, ld)};
    if (b->train) logits.amax = amax_for(b, &head, TT_FUSE_LOSS);
    b->p->phase = TT_FORWARD;
    b->p->group = TT_G_LOSS;
    bundle_forward(b, &head, y_rows, true, logits.x, &kept);
    if (fused(b, TT_FUSE_LOSS))
        loss_fused(b, logits, ld, losses + first, rows, first);
    else
        loss_steps(b, logits, losses + first, rows, first);
    if (!b->train) return;
    b->p->phase = TT_BACKWARD;
    struct output_gradient d = output_gradient(b, &head, logits);
    bundle_dw(b, &head, &d, y_rows.x, &kept, b->accumulate || first > 0);
    bundle_dx(b, &head, &d, &kept, view(b, dy, first * C));
}

/* Whether cross-entropy needs no pass over the logits, since the device's product stores exponentials. These are the
 * gradient except for a factor of each row, which is known when the row is complete: dW gets it with the input, dy
 * afterwards. */
static bool loss_in_product(const struct build *b)
{
    struct bundle head = head_bundle(b, b->T);
    return b->m->product_epilogues && b->train && b->p->dtype == TT_BF16 && fused(b, TT_FUSE_LOSS) &&
           b->V % 64 == 0 && b->C % 64 == 0 && !bundle_in_fp8(b, &head);
}

static void one_chunk_in_product(struct build *b, struct measured y, void *dy, float *losses, int64_t first,
                                 int64_t rows)
{
    int64_t C = b->C, V = b->V, parts = TT_EXP_PARTS(V);
    b->p->phase = TT_FORWARD;
    b->p->group = TT_G_LOSS;
    const void *x = view(b, y.x, first * C), *w = weight(b, TT_W_HEAD);
    void *powers = activation(b, "logits", rows, V), *scaled = activation(b, "scaled_norm", rows, C);
    void *dx = view(b, dy, first * C);
    float *shift = floats(b, "target_logits", rows), *sums = floats(b, "exp_sums", parts * rows);
    float *scale = floats(b, "row_scale", rows);
    LAUNCH(b->p, target_logit, .x = x, .w = w, .tokens = b->tokens, .state = b->state, .logits = shift, .rows = rows,
           .cols = C, .V = V, .first = first, .S = b->S, .slot_stride = b->slot_stride);
    linear_exp(b, x, w, shift, powers, sums, rows, C, V);
    LAUNCH(b->p, loss_of_sums, .x = powers, .tokens = b->tokens, .state = b->state, .sums = sums,
           .losses = losses + first, .scale = scale, .rows = rows, .cols = V, .parts = parts, .first = first,
           .S = b->S, .slot_stride = b->slot_stride, .factor = b->loss_factor);
    b->p->phase = TT_BACKWARD;
    LAUNCH(b->p, mul_rows, .x = x, .s = scale, .out = scaled, .rows = rows, .cols = C);
    linear_dw(b, powers, V, scaled, gradient(b, TT_W_HEAD), rows, C, V, b->accumulate || first > 0);
    linear_dx(b, powers, V, w, dx, rows, C, V, false);
    LAUNCH(b->p, mul_rows, .x = dx, .s = scale, .out = dx, .rows = rows, .cols = C);
}

void head_and_loss(struct build *b, struct measured y, void *dy)
{
    float *losses = floats(b, "losses", b->T);
    int64_t step = head_rows(b);
    for (int64_t first = 0; first < b->T; first += step) {
        int64_t rows = first + step < b->T ? step : b->T - first;
        (loss_in_product(b) ? one_chunk_in_product : one_chunk)(b, y, dy, losses, first, rows);
    }
    b->p->phase = TT_FORWARD;
    b->p->group = TT_G_LOSS;
    LAUNCH(b->p, loss_sum, .losses = losses, .out = b->loss, .ignored = b->loss + 1, .n = b->T,
           .factor = b->loss_factor);
}
