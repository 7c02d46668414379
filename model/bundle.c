/* Products with weights, in the type of the activations or with 8-bit factors (--precision fp8).
 *
 * In 8 bits, weights and activations are E4M3 and gradients E5M2. Each tensor has a scale of its own, made from its
 * largest magnitude in this step. A product sums along the rows of both factors, so three products need
 *
 *   y  = x·Wᵀ     x and W as they are
 *   dx = dy·W     dy as it is, W transposed
 *   dW = dyᵀ·x    dy and x transposed
 *
 * To cast a tensor of n elements, a pass reads 2·n bytes and writes n for each of the two forms. Its largest magnitude
 * is taken by the kernel that writes the tensor, or, where that kernel does not, in another pass of 2·n bytes. W is
 * cast when it is used, so that no copy of all weights is kept. x is kept transposed if the backward pass does not have
 * it in any other form. It does have attention's output: attention's backward pass reads it, and makes the transposed
 * codes on the way. The scale of the forward pass serves the backward pass too.
 *
 * With --fp8-scaling delayed, a scale comes from the magnitudes of earlier steps, so no pass is needed for it. The cast
 * takes this step's magnitude on the way. SwiGLU and attention, forward and backward, and norms backward write codes
 * directly. Attention's output and the gradient of the residual stream are also stored as they are, since later
 * operations read them.
 *
 * With --fp8-scaling row, each row of a factor has a scale. As it is, a tensor has the scales of its rows; transposed,
 * those of its columns. One extra pass makes both. All factors are E4M3 then: within a row, gradients need no wider
 * range, and E4M3 gives them one more bit. */
#include "core/base/fp8.h"
#include "model/build.h"
#include "model/scales.h"

enum { AS_IT_IS = 1, TRANSPOSED = 2 };

static int parts_of(const struct bundle *s) { return s->whole ? 1 : s->n; }
static enum tt_dtype output_type(const struct build *b, const struct bundle *s)
{
    return s->in_floats ? TT_F32 : b->p->dtype;
}
static int64_t width_of(const struct bundle *s, int i) { return s->whole ? s->width : s->out[i]; }

/* The libraries multiply 8-bit factors only if their sizes are multiples of 16. */
bool bundle_in_fp8(const struct build *b, const struct bundle *s)
{
    bool wanted = b->c->precision == TT_PREC_FP8 && (s->w[0] != TT_W_HEAD || b->c->fp8 == TT_FP8_ALL);
    int64_t sizes = s->rows | s->in | s->width;
    for (int i = 0; i < s->n; i++) sizes |= s->out[i];
    return wanted && !b->sequences && sizes % 16 == 0;
}

bool scaled_by_rows(const struct build *b) { return b->c->fp8_scaling == TT_SCALING_ROW; }

/* The device's formats of weights and activations, and of gradients. */
static enum tt_dtype numbers(const struct build *b) { return tt_fp8_e4m3(b->m->fp8_fnuz); }
static enum tt_dtype gradients(const struct build *b)
{
    return scaled_by_rows(b) ? numbers(b) : tt_fp8_e5m2(b->m->fp8_fnuz);
}

/* Where the scales of a factor begin for this row, and for the transposed factor: behind those of its rows. */
static const float *from_row(const struct build *b, const float *scale, int64_t row)
{
    return scaled_by_rows(b) ? scale + row : scale;
}
static const float *turned(const struct build *b, const float *scale, int64_t rows)
{
    return from_row(b, scale, rows);
}

/* The magnitudes of a micro-batch are set to 0 together. A layer has up to 12: four inputs of products, twice with
 * recomputation, and four gradients. Outside of the layers there are the last norm, twice, and the chunks of the
 * head. */
float *amax_for(struct build *b, const struct bundle *s, enum tt_fusion writer)
{
    int64_t most = 12 * b->c->num_layers + 2 + b->T / 16;
    if (!bundle_in_fp8(b, s) || !fused(b, writer) || b->scales || scaled_by_rows(b)) return NULL;
    if (!b->amax) {
        b->amax = floats(b, "fp8_amax", most);
        b->amax_used = 0;
        b->p->group = TT_G_CONTROL;
        LAUNCH(b->p, zero, .x = b->amax, .n = most);
    }
    return b->amax_used < most ? b->amax + b->amax_used++ : NULL;
}

/* With scales from a history: the scale of one of the bundle's factors, and where its magnitude of this step goes; else
 * NULLs. */
struct delayed {
    const float *scale;
    float *amax;
};
static struct delayed delayed_of(const struct build *b, int layer, const struct bundle *s, enum tt_factor f)
{
    int64_t i = tt_scales_index(b->c, layer, s->w[0], f), n = tt_scales_count(b->c);
    if (!b->scales) return (struct delayed){0};
    return (struct delayed){b->scales + i * TT_FP8_APART,
                            b->scales + (TT_FP8_APART + TT_FP8_HISTORY + b->m->params.rank) * n + i};
}

static struct delayed delayed(const struct build *b, const struct bundle *s, enum tt_factor f)
{
    return delayed_of(b, b->p->layer, s, f);
}

void record_scales(struct build *b)
{
    int64_t n = tt_scales_count(b->c);
    float *history = b->scales + TT_FP8_APART * n, *amax = history + TT_FP8_HISTORY * n;
    if (!b->scales) return;
    gather_rows(b, amax, n);
    LAUNCH(b->p, fp8_history, .state = b->state, .scale = b->scales, .history = history, .amax = amax, .n = n,
           .numbers = n / TT_FACTORS * TT_FACTOR_GRADIENT, .ranks = b->m->params.ranks, .fnuz = b->m->fp8_fnuz);
}

static uint8_t *bytes(struct build *b, const char *name, int64_t n) { return tt_plan_buffer(b->p, name, (size_t)n); }

/* Casts x (rows, cols) to 8 bits with a scale per row: the scales of rows, then those of columns for the transposed
 * codes. */
static struct factor cast_by_rows(struct build *b, const void *x, int64_t rows, int64_t cols, enum tt_dtype type,
                                  uint8_t *codes, uint8_t *transposed, const float *scale)
{
    float *amax = NULL, *made = NULL;
    if (!scale) {
        amax = floats(b, "fp8_amax", rows + cols);
        made = floats(b, "fp8_scale", rows + cols);
        LAUNCH(b->p, zero, .x = amax, .n = rows + cols);
        LAUNCH(b->p, fp8_amax_rows, .x = x, .amax = amax, .rows = rows, .cols = cols, .ldx = cols);
    }
    LAUNCH(b->p, fp8_cast_rows, .to = type, .x = x, .amax = amax, .new_scale = made, .scale = scale, .out = codes,
           .transposed = transposed, .rows = rows, .cols = cols, .ldx = cols);
    return (struct factor){codes, transposed, made ? made : scale};
}

/* Casts x (rows, cols) to 8 bits. Without a scale in `by`, makes one from its largest magnitude. */
static struct factor cast(struct build *b, const char *name, struct measured x, int64_t rows, int64_t cols,
                          enum tt_dtype type, unsigned forms, struct delayed by)
{
    const float *scale = by.scale;
    int64_t parts = x.amax ? 1 : rows < TT_FP8_PARTS ? rows : TT_FP8_PARTS;
    uint8_t *codes = forms & AS_IT_IS ? bytes(b, name, rows * cols) : NULL;
    uint8_t *transposed = forms & TRANSPOSED ? bytes(b, name, rows * cols) : NULL;
    float *partial = NULL, *made = NULL;
    if (scaled_by_rows(b)) return cast_by_rows(b, x.x, rows, cols, type, codes, transposed, scale);
    if (!scale) {
        partial = x.amax ? x.amax : floats(b, "fp8_partial", parts);
        made = floats(b, "fp8_scale", 1);
        if (!x.amax)
            LAUNCH(b->p, fp8_amax, .x = x.x, .partial = partial, .rows = rows, .cols = cols, .ldx = cols,
                   .parts = parts);
    }
    LAUNCH(b->p, fp8_cast, .to = type, .x = x.x, .partial = partial, .new_scale = made, .scale = scale, .amax = by.amax,
           .rstd = x.rstd, .weight = x.weight, .out = codes, .transposed = transposed, .rows = rows, .cols = cols,
           .ldx = cols, .parts = parts);
    return (struct factor){codes, transposed, made ? made : scale};
}

/* C (m, n) = A·Bᵀ of codes whose rows are lda and ldb apart. */
static struct tt_gemm product(const struct build *how, const uint8_t *a, const float *scale_a, enum tt_dtype type_a,
                              int64_t lda, const uint8_t *b, const float *scale_b, enum tt_dtype type_b, int64_t ldb,
                              int64_t m, int64_t n, int64_t k)
{
    return (struct tt_gemm){.a = a, .b = b, .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = n, .batch = 1,
                            .alpha = 1, .trans_b = true, .type_a = type_a, .type_b = type_b, .scale_a = scale_a,
                            .scale_b = scale_b, .row_scales = scaled_by_rows(how)};
}

/* ---- forward ---- */

/* With --recompute block, only the second pass over a block keeps what the backward pass needs. */
static bool is_kept(const struct build *b)
{
    return b->train && (b->c->recompute != TT_RECOMPUTE_BLOCK || b->p->phase == TT_BACKWARD);
}

static struct measured weights_of(struct build *b, const struct bundle *s)
{
    return (struct measured){.x = weight(b, s->w[0])};
}

static void forward_fp8(struct build *b, const struct bundle *s, struct measured x, bool again, void *y,
                        struct fp8_acts *kept)
{
    unsigned forms = AS_IT_IS | (!again && is_kept(b) ? TRANSPOSED : 0);
    struct delayed of_x = delayed(b, s, TT_FACTOR_INPUT), of_w = delayed(b, s, TT_FACTOR_WEIGHTS);
    struct factor x8 = {x.codes, NULL, of_x.scale};
    if (!x.codes) x8 = cast(b, "fp8_input", x, s->rows, s->in, numbers(b), forms, of_x);
    struct factor w8 = s->w[0] == TT_W_HEAD ? b->head : (struct factor){0};
    unsigned of_head = s->w[0] == TT_W_HEAD && b->train ? TRANSPOSED : 0;
    if (!w8.codes)
        w8 = cast(b, "fp8_weights", weights_of(b, s), s->width, s->in, numbers(b), AS_IT_IS | of_head, of_w);
    if (of_head) b->head = w8; /* for the other chunks, forward and backward */
    for (int64_t i = 0, at = 0; i < parts_of(s); at += s->out[i++]) {
        struct tt_gemm g = product(b, x8.codes, x8.scale, numbers(b), s->in, w8.codes + at * s->in,
                                   from_row(b, w8.scale, at), numbers(b), s->in, s->rows, width_of(s, (int)i), s->in);
        g.c = view(b, y, at), g.ldc = s->width, g.type_c = output_type(b, s);
        tt_plan_gemm(b->p, &g);
    }
    *kept = (struct fp8_acts){x8.transposed, x8.scale, w8.scale};
}

void bundle_forward(struct build *b, const struct bundle *s, struct measured x, bool again, void *y,
                    struct fp8_acts *kept)
{
    if (bundle_in_fp8(b, s)) {
        forward_fp8(b, s, x, again, y, kept);
        return;
    }
    for (int64_t i = 0, at = 0; i < parts_of(s); at += s->out[i++])
        linear(b, x.x, weight(b, s->w[i]), view(b, y, at), output_type(b, s), s->rows, s->in, width_of(s, (int)i),
               s->width);
}

/* ---- backward ---- */

struct output_gradient output_gradient(struct build *b, const struct bundle *s, struct measured dy)
{
    struct output_gradient d = {dy.x, dy.codes, dy.transposed, dy.scale};
    if (!bundle_in_fp8(b, s) || d.codes) return d;
    struct factor f = cast(b, "fp8_gradient", dy, s->rows, s->width, gradients(b), AS_IT_IS | TRANSPOSED,
                           delayed(b, s, TT_FACTOR_GRADIENT));
    d.codes = f.codes, d.transposed = f.transposed, d.scale = f.scale;
    return d;
}

/* The products of part i of the bundle, whose columns in dy begin at `at`. w comes from turned_weights, x8 from
 * input_of. */
static void part_dx(struct build *b, const struct bundle *s, int i, int64_t at, const struct output_gradient *d,
                    const struct factor *w, void *dx)
{
    if (!d->codes) {
        linear_dx(b, view(b, d->dy, at), s->width, weight(b, s->w[i]), dx, s->rows, s->in, width_of(s, i), i > 0);
        return;
    }
    struct tt_gemm g = product(b, d->codes + at, d->scale, gradients(b), s->width, w->transposed + at,
                               turned(b, w->scale, s->width), numbers(b), s->width, s->rows, s->in, width_of(s, i));
    g.c = dx, g.type_c = b->p->dtype, g.beta = i > 0;
    tt_plan_gemm(b->p, &g);
}

static void part_dw(struct build *b, const struct bundle *s, int i, int64_t at, const struct output_gradient *d,
                    const void *x, const struct factor *x8, bool add)
{
    float *dw = gradient(b, s->w[i]);
    if (!d->codes) {
        linear_dw(b, view(b, d->dy, at), s->width, x, dw, s->rows, s->in, width_of(s, i), add);
        return;
    }
    struct tt_gemm g = product(b, d->transposed + at * s->rows, turned(b, d->scale, s->rows + at), gradients(b),
                               s->rows, x8->transposed, turned(b, x8->scale, s->rows), numbers(b), s->rows,
                               width_of(s, i), s->in, s->rows);
    g.c = dw, g.type_c = TT_F32, g.beta = add;
    begin_side_stream(b, tt_gemm_flops(&g));
    tt_plan_gemm(b->p, &g);
    end_side_stream(b);
}

static struct factor turned_weights(struct build *b, const struct bundle *s, const struct output_gradient *d,
                                    const struct fp8_acts *kept)
{
    if (!d->codes) return (struct factor){0};
    if (s->w[0] == TT_W_HEAD) return b->head;
    return cast(b, "fp8_weights", weights_of(b, s), s->width, s->in, numbers(b), TRANSPOSED,
                (struct delayed){.scale = kept->w_scale});
}

static struct factor input_of(struct build *b, const struct bundle *s, const struct output_gradient *d, const void *x,
                              const struct fp8_acts *kept)
{
    if (!d->codes || kept->x) return (struct factor){.transposed = kept->x, .scale = kept->x_scale};
    return cast(b, "fp8_input", (struct measured){.x = (void *)x}, s->rows, s->in, numbers(b), TRANSPOSED,
                (struct delayed){.scale = kept->x_scale});
}

void bundle_dx(struct build *b, const struct bundle *s, const struct output_gradient *d, const struct fp8_acts *kept,
               void *dx)
{
    struct factor w = turned_weights(b, s, d, kept);
    for (int64_t i = 0, at = 0; i < parts_of(s); at += s->out[i++]) part_dx(b, s, (int)i, at, d, &w, dx);
}

void bundle_dw(struct build *b, const struct bundle *s, const struct output_gradient *d, const void *x,
               const struct fp8_acts *kept, bool add)
{
    struct factor x8 = input_of(b, s, d, x, kept);
    for (int64_t i = 0, at = 0; i < parts_of(s); at += s->out[i++]) part_dw(b, s, (int)i, at, d, x, &x8, add);
}

void bundle_backward(struct build *b, const struct bundle *s, const struct output_gradient *d, const void *x,
                     const struct fp8_acts *kept, void *dx)
{
    struct factor x8 = input_of(b, s, d, x, kept), w = turned_weights(b, s, d, kept);
    for (int64_t i = 0, at = 0; i < parts_of(s); at += s->out[i++]) {
        part_dw(b, s, (int)i, at, d, x, &x8, b->accumulate);
        part_dx(b, s, (int)i, at, d, &w, dx);
    }
}

void attention_codes(struct build *b, struct attention_acts *a, const struct bundle *out)
{
    struct delayed of_o = delayed(b, out, TT_FACTOR_INPUT);
    a->amax = amax_for(b, out, TT_FUSE_ATTENTION);
    a->codes = NULL;
    if (!b->scales || !bundle_in_fp8(b, out) || !fused(b, TT_FUSE_ATTENTION)) return;
    a->amax = of_o.amax, a->code_scale = of_o.scale;
    a->codes = bytes(b, "fp8_input", b->T * b->H * b->D);
}

bool attention_makes_input(struct build *b, struct attention_acts *a, const struct bundle *out, struct fp8_acts *kept)
{
    if (!bundle_in_fp8(b, out) || !fused(b, TT_FUSE_ATTENTION) || scaled_by_rows(b)) return false;
    a->o_scale = kept->x_scale;
    a->o_codes = bytes(b, "fp8_input", b->T * b->H * b->D);
    kept->x = a->o_codes;
    return true;
}

void attention_codes_backward(struct build *b, struct attention_acts *a, const struct bundle *qkv, bool ends)
{
    struct delayed by = delayed(b, qkv, TT_FACTOR_GRADIENT);
    a->d_amax = ends ? amax_for(b, qkv, TT_FUSE_ATTENTION) : NULL;
    a->d_codes = a->d_transposed = NULL;
    if (!ends || !b->scales || !bundle_in_fp8(b, qkv)) return;
    if (b->c->qkv_bias) return; /* the gradient of the biases is summed from dqkv in memory */
    a->d_amax = by.amax, a->d_scale = by.scale;
    a->d_codes = bytes(b, "fp8_gradient", b->T * b->P);
    a->d_transposed = bytes(b, "fp8_gradient", b->T * b->P);
}

struct output_gradient attention_gradient(struct build *b, const struct attention_acts *a, const struct bundle *qkv,
                                          void *dqkv)
{
    if (!a->d_codes) return output_gradient(b, qkv, (struct measured){.x = dqkv, .amax = a->d_amax});
    return (struct output_gradient){.codes = a->d_codes, .transposed = a->d_transposed, .scale = a->d_scale};
}

void residual_codes(struct build *b, struct measured *dr, const struct bundle *user, int layer)
{
    *dr = (struct measured){.x = dr->x, .amax = user ? amax_for(b, user, TT_FUSE_NORM) : NULL};
    if (!user || !b->scales || !bundle_in_fp8(b, user) || !fused(b, TT_FUSE_NORM)) return;
    struct delayed by = delayed_of(b, layer, user, TT_FACTOR_GRADIENT);
    dr->amax = by.amax, dr->scale = by.scale;
    dr->codes = bytes(b, "fp8_gradient", user->rows * user->width);
    dr->transposed = bytes(b, "fp8_gradient", user->rows * user->width);
}

bool swiglu_codes(struct build *b, struct ffn_acts *f, const struct bundle *down)
{
    struct delayed of_h = delayed(b, down, TT_FACTOR_INPUT);
    if (!b->scales || !bundle_in_fp8(b, down) || !fused(b, TT_FUSE_SWIGLU)) return false;
    uint8_t *h = bytes(b, "fp8_input", b->T * b->F);
    b->p->group = TT_G_ACTIVATION;
    LAUNCH(b->p, fp8_swiglu, .to = numbers(b), .gu = f->gu, .scale = of_h.scale, .amax = of_h.amax, .h = h,
           .rows = b->T, .F = b->F);
    f->codes = h;
    return true;
}

struct output_gradient swiglu_codes_backward(struct build *b, struct ffn_acts *f, const void *dh,
                                             const struct bundle *gate_up, struct fp8_acts *kept)
{
    int64_t n = b->T * b->F;
    uint8_t *codes = bytes(b, "fp8_gradient", 2 * n), *transposed = bytes(b, "fp8_gradient", 2 * n);
    uint8_t *h = bytes(b, "fp8_input", n);
    struct delayed by = delayed(b, gate_up, TT_FACTOR_GRADIENT);
    float *made = by.scale ? NULL : floats(b, "fp8_scale", 1);
    b->p->group = TT_G_ACTIVATION;
    if (made) LAUNCH(b->p, swiglu_backward, .gu = f->gu, .dh = dh, .amax = f->d_amax, .rows = b->T, .F = b->F);
    LAUNCH(b->p, fp8_swiglu_backward, .to = gradients(b), .gu = f->gu, .dh = dh, .partial = made ? f->d_amax : NULL,
           .new_scale = made, .scale = by.scale, .amax = by.amax, .h_scale = kept->x_scale, .dgu = codes,
           .dgu_transposed = transposed, .h_transposed = h, .rows = b->T, .F = b->F);
    kept->x = h;
    return (struct output_gradient){.codes = codes, .transposed = transposed, .scale = made ? made : by.scale};
}
