#include "model/build.h"

void *activation(struct build *b, const char *name, int64_t rows, int64_t cols)
{
    return tt_plan_buffer(b->p, name, (size_t)(rows * cols) * tt_dtype_size(b->p->dtype));
}

float *floats(struct build *b, const char *name, int64_t n)
{
    return tt_plan_buffer(b->p, name, (size_t)n * sizeof(float));
}

void *view(const struct build *b, const void *base, int64_t elements)
{
    return (char *)base + elements * (int64_t)tt_dtype_size(b->p->dtype);
}

void *weight(struct build *b, enum tt_weight w)
{
    const struct tt_params *p = &b->m->params;
    int64_t offset = tt_param_offset(p, b->c, b->p->layer, w);
    if (!p->sharded[TT_X_WEIGHTS]) return view(b, b->weights, offset);
    int bucket = tt_bucket_of(p, offset);
    return view(b, whole_weights(b, bucket), offset - p->buckets[bucket].offset);
}

float *gradient(struct build *b, enum tt_weight w)
{
    const struct tt_params *p = &b->m->params;
    int64_t offset = tt_param_offset(p, b->c, b->p->layer, w);
    if (!p->sharded[TT_X_GRADS]) return (float *)b->grads + offset;
    int bucket = tt_bucket_of(p, offset);
    return whole_gradients(b, bucket) + (offset - p->buckets[bucket].offset);
}

static struct tt_gemm plain(const struct build *b)
{
    enum tt_dtype t = b->p->dtype;
    return (struct tt_gemm){.batch = 1, .alpha = 1, .type_a = t, .type_b = t, .type_c = t};
}

/* The multiprocessors that a small product takes: all but one of `parts` parts of the device, so that others find room
 * beside it. 0: all of them. In fp32 leaving room was found to be slower. The number does not depend on whether others
 * do run, so that the bits stay the same. */
static int units_beside(const struct build *b, const struct tt_gemm *g, int parts)
{
    bool small = b->p->dtype != TT_F32 && tt_gemm_flops(g) < b->m->small_product;
    return small ? b->m->units - b->m->units / parts : 0;
}

/* y (rows, out) = x·Wᵀ, and dx (rows, in) = dy·W. In training, the forward product of a layer leaves room for the
 * update that may run beside it (late.c). */
static struct tt_gemm forward_of(const struct build *b, const void *x, const void *w, void *y, int64_t rows, int64_t in,
                                 int64_t out, int64_t ldy)
{
    struct tt_gemm g = plain(b);
    g.a = x, g.b = w, g.c = y;
    g.m = rows, g.n = out, g.k = in;
    g.lda = in, g.ldb = in, g.ldc = ldy;
    g.trans_b = true;
    g.units = b->train && b->p->layer >= 0 ? units_beside(b, &g, 3) : 0;
    return g;
}

static struct tt_gemm dx_of(const struct build *b, const void *dy, int64_t lddy, const void *w, void *dx, int64_t rows,
                            int64_t in, int64_t out)
{
    struct tt_gemm g = plain(b);
    g.a = dy, g.b = w, g.c = dx;
    g.m = rows, g.n = in, g.k = out;
    g.lda = lddy, g.ldb = in, g.ldc = in;
    return g;
}

/* How many of `out` columns one product makes or sums over. Libraries have fast kernels only for whole units of 16
 * bytes, in rows that begin at multiples of 16 bytes. The few columns that are left get a product of their own where
 * that is worth it: one column of the 50257 tokens of GPT-2. */
static int64_t columns_at_once(const struct build *b, int64_t out, int64_t ld)
{
    const int64_t worth = 512;
    int64_t unit = 16 / (int64_t)tt_dtype_size(b->p->dtype);
    bool on_matrix_units = b->p->dtype != TT_F32 || b->m->tf32;
    return on_matrix_units && ld % unit == 0 && out >= worth ? out / unit * unit : out;
}

void linear(struct build *b, const void *x, const void *w, void *y, enum tt_dtype type, int64_t rows, int64_t in,
            int64_t out, int64_t ldy)
{
    for (int64_t at = 0, n = columns_at_once(b, out, ldy); at < out; at += n, n = out - at) {
        struct tt_gemm g = forward_of(b, x, view(b, w, at * in), view(b, y, at), rows, in, n, ldy);
        g.type_c = type;
        tt_plan_gemm(b->p, &g);
    }
}

void linear_add(struct build *b, const void *x, const void *w, const void *from, void *y, int64_t rows, int64_t in,
                int64_t out)
{
    struct tt_gemm g = forward_of(b, x, w, y, rows, in, out, out);
    g.from = from;
    g.beta = 1;
    tt_plan_gemm(b->p, &g);
}

void linear_rope(struct build *b, const void *x, const void *w, void *qkv)
{
    struct tt_gemm g = forward_of(b, x, w, qkv, b->T, b->C, b->P, b->P);
    g.with = TT_WITH_ROPE;
    g.rope = (struct tt_gemm_rope){.cos = b->cos, .sin = b->sin, .S = b->S, .heads = b->H, .kv_heads = b->KV,
                                   .D = b->D};
    tt_plan_gemm(b->p, &g);
}

void linear_exp(struct build *b, const void *x, const void *w, const float *shift, void *y, float *sums, int64_t rows,
                int64_t in, int64_t out)
{
    struct tt_gemm g = forward_of(b, x, w, y, rows, in, out, out);
    g.with = TT_WITH_EXP;
    g.exp = (struct tt_gemm_exp){.shift = shift, .sums = sums};
    tt_plan_gemm(b->p, &g);
}

void linear_dx(struct build *b, const void *dy, int64_t lddy, const void *w, void *dx, int64_t rows, int64_t in,
               int64_t out, bool add)
{
    int64_t most = columns_at_once(b, out, lddy);
    if (most < out) { /* the few columns first, so that the sum rounded in between is the small one */
        struct tt_gemm few = dx_of(b, view(b, dy, most), lddy, view(b, w, most * in), dx, rows, in, out - most);
        few.beta = add;
        tt_plan_gemm(b->p, &few);
    }
    struct tt_gemm g = dx_of(b, dy, lddy, w, dx, rows, in, most);
    g.beta = add || most < out;
    tt_plan_gemm(b->p, &g);
}

void linear_swiglu(struct build *b, const void *x, const void *w, void *gu, void *h, int64_t rows, int64_t in,
                   int64_t F)
{
    struct tt_gemm g = forward_of(b, x, w, gu, rows, in, 2 * F, 2 * F);
    g.with = TT_WITH_SWIGLU;
    g.also = h;
    tt_plan_gemm(b->p, &g);
}

void linear_dx_swiglu(struct build *b, const void *dy, const void *w, void *gu, void *h, int64_t rows, int64_t F,
                      int64_t out)
{
    struct tt_gemm g = dx_of(b, dy, out, w, h, rows, F, out);
    g.with = TT_WITH_SWIGLU_BACKWARD;
    g.also = gu;
    tt_plan_gemm(b->p, &g);
}

void begin_side_stream(struct build *b, double flops)
{
    b->p->stream = fused(b, TT_FUSE_OVERLAP) && flops < b->m->small_product ? TT_STREAM_SIDE : TT_STREAM_MAIN;
}

void end_side_stream(struct build *b) { b->p->stream = TT_STREAM_MAIN; }

void linear_dw(struct build *b, const void *dy, int64_t lddy, const void *x, float *dw, int64_t rows, int64_t in,
               int64_t out, bool add)
{
    for (int64_t at = 0, n = columns_at_once(b, out, lddy); at < out; at += n, n = out - at) {
        struct tt_gemm g = plain(b);
        g.a = view(b, dy, at), g.b = x, g.c = dw + at * in;
        g.m = n, g.n = in, g.k = rows;
        g.lda = lddy, g.ldb = in, g.ldc = in;
        g.trans_a = true;
        g.beta = add;
        g.type_c = TT_F32;
        g.units = units_beside(b, &g, 2);
        begin_side_stream(b, tt_gemm_flops(&g));
        tt_plan_gemm(b->p, &g);
        end_side_stream(b);
    }
}

void batched(struct build *b, const void *a, bool trans_a, const void *bb, bool trans_b, void *c, int64_t batch,
             int64_t m, int64_t n, int64_t k)
{
    struct tt_gemm g = plain(b);
    g.a = a, g.b = bb, g.c = c;
    g.m = m, g.n = n, g.k = k;
    g.trans_a = trans_a, g.trans_b = trans_b;
    g.lda = trans_a ? m : k, g.ldb = trans_b ? k : n, g.ldc = n;
    g.batch = batch;
    g.stride_a = m * k, g.stride_b = n * k, g.stride_c = m * n;
    tt_plan_gemm(b->p, &g);
}
