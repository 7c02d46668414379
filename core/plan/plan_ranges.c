#include "core/plan/plan_ranges.h"

#include <stddef.h>

/* Bytes from the first to the last element of a GEMM operand of `rows` rows of `cols`. */
static size_t extent(int64_t rows, int64_t cols, int64_t ld, int64_t batch, int64_t stride, enum tt_dtype type)
{
    return (size_t)((batch - 1) * stride + (rows - 1) * ld + cols) * tt_dtype_size(type);
}

static size_t gemm_extent(const struct tt_gemm *g, size_t field)
{
    if (field == offsetof(struct tt_gemm, a))
        return g->trans_a ? extent(g->k, g->m, g->lda, g->batch, g->stride_a, g->type_a)
                          : extent(g->m, g->k, g->lda, g->batch, g->stride_a, g->type_a);
    if (field == offsetof(struct tt_gemm, b))
        return g->trans_b ? extent(g->n, g->k, g->ldb, g->batch, g->stride_b, g->type_b)
                          : extent(g->k, g->n, g->ldb, g->batch, g->stride_b, g->type_b);
    if (field == offsetof(struct tt_gemm, also))
        return extent(g->m, tt_gemm_also_cols(g), tt_gemm_also_cols(g), 1, 0, g->type_c);
    if (field == offsetof(struct tt_gemm, rope.cos) || field == offsetof(struct tt_gemm, rope.sin))
        return (size_t)(g->rope.S * g->rope.D / 2) * sizeof(float);
    if (field == offsetof(struct tt_gemm, exp.shift)) return (size_t)g->m * sizeof(float);
    if (field == offsetof(struct tt_gemm, exp.sums)) return (size_t)(g->m * TT_EXP_PARTS(g->n)) * sizeof(float);
    if (field == offsetof(struct tt_gemm, scale_a)) return (size_t)(g->row_scales ? g->m : 1) * sizeof(float);
    if (field == offsetof(struct tt_gemm, scale_b)) return (size_t)(g->row_scales ? g->n : 1) * sizeof(float);
    return extent(g->m, g->n, g->ldc, g->batch, g->stride_c, g->type_c);
}

/* The parameter arenas, and scales: a kernel touches only the range that its operand states. Any other external it may
 * touch as a whole. */
static bool is_arena(int space)
{
    return space == TT_X_WEIGHTS || space == TT_X_MASTER || space == TT_X_LOW || space == TT_X_GRADS ||
           space == TT_X_MOMENT1 || space == TT_X_MOMENT2 || space == TT_X_SCALES;
}

static size_t reach(const struct tt_op *op, const struct tt_operand *o, int space)
{
    if (op->kind == TT_OP_GEMM) return gemm_extent(&op->args.gemm, o->field);
    if (op->kind == TT_OP_KERNEL && !is_arena(space)) return SIZE_MAX / 2;
    return (size_t)(o->reach > 0 ? o->reach : o->bytes);
}

struct ranges tt_op_ranges(const struct tt_plan *p, const struct tt_op *op)
{
    struct tt_operand operands[TT_MAX_OPERANDS];
    struct ranges out = {.n = tt_op_operands(op, operands)};
    for (int i = 0; i < out.n; i++) {
        size_t offset;
        int owner = tt_plan_owner(tt_op_pointer(op, &operands[i]), &offset);
        struct range *r = &out.r[i];
        r->access = operands[i].access;
        r->buffer = owner >= 0 ? owner : -1;
        r->space = owner >= 0 ? -1 : -1 - owner;
        r->from = owner >= 0 ? p->buffers[owner].offset : offset;
        r->to = r->from + (owner >= 0 ? p->buffers[owner].bytes : reach(op, &operands[i], r->space));
    }
    return out;
}
