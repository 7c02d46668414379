#include "backend/kernel_info.h"

/* The macros that kernels.def uses; `a` is the arguments of the kernel. */
#define E ((double)tt_dtype_size(a->dtype))
#define F4 4.0
#define M(type) ((double)tt_dtype_size(type))
#define RC ((double)a->rows * (double)a->cols)
#define QK ((double)a->T * (double)(a->heads + a->kv_heads) * (double)a->D)
#define BSD ((double)a->B * (double)a->S * (double)a->D)
#define CAUSAL ((double)a->S * (double)(a->S + 1) / 2)

#define PUT(f, n, how)                                                                             \
    out[count++] = (struct tt_operand){.field = (size_t)((const char *)&a->f - (const char *)a),   \
                                       .bytes = (double)(n), .access = how, .name = #f};
#define PUT_IF(f, n, how)                                                                          \
    if (a->f) PUT(f, n, how)
#define REACHES(n) out[count - 1].reach = (double)(n);
#define REACHES_OF(f, n)                                                                           \
    if (a->f) REACHES(n)
#define IN(f, n) PUT(f, n, TT_READ)
#define IN_OPT(f, n) PUT_IF(f, n, TT_READ)
#define OUT(f, n) PUT(f, n, TT_WRITE)
#define OUT_OPT(f, n) PUT_IF(f, n, TT_WRITE)
#define INOUT(f, n) PUT(f, n, TT_READ_WRITE)
#define INOUT_OPT(f, n) PUT_IF(f, n, TT_READ_WRITE)
#define SCRATCH(f, n) PUT(f, n, TT_SCRATCH)
#define OUT_UNLESS(other, f, n) PUT(f, n, a->other ? TT_SCRATCH : TT_WRITE)

#define TT_KERNEL(name, flops, operands)                                                           \
    static int operands_##name(const void *args, struct tt_operand *out)                           \
    {                                                                                              \
        const struct tt_##name##_args *a = args;                                                   \
        int count = 0;                                                                             \
        operands return count;                                                                     \
    }                                                                                              \
    static double flops_##name(const void *args)                                                   \
    {                                                                                              \
        const struct tt_##name##_args *a = args;                                                   \
        (void)a;                                                                                   \
        return (double)(flops);                                                                    \
    }
#include "backend/kernels.def"
#undef TT_KERNEL

static const struct {
    const char *name;
    size_t size;
    int (*operands)(const void *, struct tt_operand *);
    double (*flops)(const void *);
} kernels[TT_KERNELS] = {
#define TT_KERNEL(name, flops, operands) {#name, sizeof(struct tt_##name##_args), operands_##name, flops_##name},
#include "backend/kernels.def"
#undef TT_KERNEL
};

const char *tt_kernel_name(enum tt_kernel k) { return kernels[k].name; }
size_t tt_kernel_args_size(enum tt_kernel k) { return kernels[k].size; }
int tt_kernel_operands(enum tt_kernel k, const void *args, struct tt_operand out[TT_MAX_OPERANDS])
{
    return kernels[k].operands(args, out);
}


double tt_kernel_flops(enum tt_kernel k, const void *args) { return kernels[k].flops(args); }

const char *tt_group_name(enum tt_group g)
{
    static const char *const names[] = {
#define X(id, name) name,
        TT_GROUPS(X)
#undef X
    };
    return names[g];
}

static double rope_table_bytes(const struct tt_gemm *g)
{
    return (double)g->rope.S * (double)g->rope.D / 2 * sizeof(float);
}

int tt_gemm_operands(const struct tt_gemm *g, struct tt_operand out[TT_MAX_OPERANDS])
{
    double batch = (double)g->batch, m = (double)g->m, n = (double)g->n, k = (double)g->k;
    double bytes_c = batch * m * n * (double)tt_dtype_size(g->type_c);
    int count = 0;
    out[count++] = (struct tt_operand){.field = offsetof(struct tt_gemm, a), .access = TT_READ, .name = "a",
                                       .bytes = batch * m * k * (double)tt_dtype_size(g->type_a)};
    out[count++] = (struct tt_operand){.field = offsetof(struct tt_gemm, b), .access = TT_READ, .name = "b",
                                       .bytes = batch * k * n * (double)tt_dtype_size(g->type_b)};
    out[count++] = (struct tt_operand){.field = offsetof(struct tt_gemm, c), .name = "c", .bytes = bytes_c,
                                       .access = g->beta != 0 && !g->from ? TT_READ_WRITE : TT_WRITE};
    if (g->from)
        out[count++] = (struct tt_operand){.field = offsetof(struct tt_gemm, from), .access = TT_READ, .name = "from",
                                           .bytes = bytes_c};
    if (g->scale_a)
        out[count++] = (struct tt_operand){.field = offsetof(struct tt_gemm, scale_a), .access = TT_READ,
                                           .name = "scale_a", .bytes = (g->row_scales ? m : 1) * sizeof(float)};
    if (g->scale_b)
        out[count++] = (struct tt_operand){.field = offsetof(struct tt_gemm, scale_b), .access = TT_READ,
                                           .name = "scale_b", .bytes = (g->row_scales ? n : 1) * sizeof(float)};
    if (g->with == TT_WITH_ROPE) {
        out[count++] = (struct tt_operand){.field = offsetof(struct tt_gemm, rope.cos), .access = TT_READ,
                                           .name = "cos", .bytes = rope_table_bytes(g)};
        out[count++] = (struct tt_operand){.field = offsetof(struct tt_gemm, rope.sin), .access = TT_READ,
                                           .name = "sin", .bytes = rope_table_bytes(g)};
    } else if (g->with == TT_WITH_EXP) {
        out[count++] = (struct tt_operand){.field = offsetof(struct tt_gemm, exp.shift), .access = TT_READ,
                                           .name = "shift", .bytes = m * sizeof(float)};
        out[count++] = (struct tt_operand){.field = offsetof(struct tt_gemm, exp.sums), .access = TT_WRITE,
                                           .name = "sums", .bytes = m * (double)TT_EXP_PARTS(g->n) * sizeof(float)};
    } else if (g->with) {
        out[count++] = (struct tt_operand){.field = offsetof(struct tt_gemm, also), .name = "also",
                                           .bytes = m * (double)tt_gemm_also_cols(g) * (double)tt_dtype_size(g->type_c),
                                           .access = g->with == TT_WITH_SWIGLU ? TT_WRITE : TT_READ_WRITE};
    }
    return count;
}

double tt_gemm_flops(const struct tt_gemm *g)
{
    double each = 2.0 * (double)g->k + (g->from ? 1 : 0);
    double flops = each * (double)g->batch * (double)g->m * (double)g->n;
    if (!g->with) return flops;
    if (g->with == TT_WITH_EXP) return flops + 3 * (double)g->m * (double)g->n;
    struct tt_gemm_after after = tt_gemm_after(g);
    return flops + tt_kernel_flops(after.kernel, &after.args);
}

const char *tt_gemm_name(const struct tt_gemm *g)
{
    static const char *const names[] = {[TT_WITH_NOTHING] = "gemm", [TT_WITH_SWIGLU] = "gemm_swiglu",
                                        [TT_WITH_SWIGLU_BACKWARD] = "gemm_swiglu_backward",
                                        [TT_WITH_ROPE] = "gemm_rope", [TT_WITH_EXP] = "gemm_exp"};
    return names[g->with];
}

int64_t tt_gemm_also_cols(const struct tt_gemm *g)
{
    return g->with == TT_WITH_SWIGLU ? g->n / 2 : g->with == TT_WITH_SWIGLU_BACKWARD ? 2 * g->n : 0;
}

static struct tt_gemm_after rope_after(const struct tt_gemm *g)
{
    const struct tt_gemm_rope *r = &g->rope;
    void *k = (char *)g->c + r->heads * r->D * (int64_t)tt_dtype_size(g->type_c);
    return (struct tt_gemm_after){TT_K_rope,
                                  {.rope = {.dtype = g->type_c, .q = g->c, .k = k, .cos = r->cos, .sin = r->sin,
                                            .T = g->m, .S = r->S, .heads = r->heads, .kv_heads = r->kv_heads,
                                            .D = r->D, .ld = g->ldc}}};
}

struct tt_gemm_after tt_gemm_after(const struct tt_gemm *g)
{
    if (g->with == TT_WITH_ROPE) return rope_after(g);
    if (g->with == TT_WITH_SWIGLU)
        return (struct tt_gemm_after){TT_K_swiglu,
                                      {.swiglu = {.dtype = g->type_c, .gu = g->c, .h = g->also, .rows = g->m,
                                                  .F = g->n / 2}}};
    return (struct tt_gemm_after){TT_K_swiglu_backward,
                                  {.swiglu_backward = {.dtype = g->type_c, .gu = g->also, .dh = g->c, .dgu = g->also,
                                                       .h = g->c, .rows = g->m, .F = g->n}}};
}

const char *tt_collective_name(enum tt_collective_kind kind)
{
    static const char *const names[TT_COLLECTIVES] = {"all_reduce", "reduce_scatter", "all_gather"};
    return names[kind];
}

int tt_collective_operands(const struct tt_collective *c, struct tt_operand out[TT_MAX_OPERANDS])
{
    double whole = (double)c->count * (double)tt_dtype_size(c->type), part = whole / c->ranks;
    double from = c->kind == TT_ALL_GATHER ? part : whole, to = c->kind == TT_REDUCE_SCATTER ? part : whole;
    out[0] = (struct tt_operand){.field = offsetof(struct tt_collective, from), .bytes = from, .name = "from",
                                 .access = TT_READ};
    out[1] = (struct tt_operand){.field = offsetof(struct tt_collective, to), .bytes = to, .name = "to",
                                 .access = TT_WRITE};
    return 2;
}

/* How many times a rank passes one part on. */
static int passes(enum tt_collective_kind kind, int ranks) { return (kind == TT_ALL_REDUCE ? 2 : 1) * (ranks - 1); }

double tt_bus_factor(enum tt_collective_kind kind, int ranks) { return (double)passes(kind, ranks) / ranks; }

double tt_collective_sent(const struct tt_collective *c)
{
    return (double)c->count * (double)tt_dtype_size(c->type) * passes(c->kind, c->ranks) / c->ranks;
}

double tt_collective_messages(const struct tt_collective *c)
{
    return (c->kind == TT_ALL_REDUCE ? 2 : 1) * (c->ranks - 1.0);
}
