/* Faults that are mistakes in the plan of a step. */
#include <stdlib.h>
#include <string.h>

#include "exercises/engine/fault.h"

static bool belongs_to(const void *address, enum tt_external x)
{
    size_t offset;
    return tt_plan_owner(address, &offset) == -1 - (int)x;
}

static bool is_gemm_of(const struct tt_op *op, enum tt_phase phase, enum tt_group group)
{
    return op->kind == TT_OP_GEMM && op->phase == phase && op->group == group && op->args.gemm.batch == 1;
}

/* ---- wrong-stride ---- */

/* Products take 8-bit weights in one layout only, so for these the codes become those of the transposed matrix. */
static void exchange_forms(struct tt_op *op)
{
    struct tt_fp8_cast_args *a = &op->args.fp8_cast;
    struct tt_fp8_cast_rows_args *by_rows = &op->args.fp8_cast_rows;
    if (op->kind != TT_OP_KERNEL || op->phase != TT_FORWARD || op->group != TT_G_ATTENTION) return;
    if (op->kernel == TT_K_fp8_cast && a->rows == a->cols && belongs_to(a->x, TT_X_WEIGHTS))
        a->transposed = a->out, a->out = NULL;
    if (op->kernel == TT_K_fp8_cast_rows && by_rows->rows == by_rows->cols && belongs_to(by_rows->x, TT_X_WEIGHTS))
        by_rows->transposed = by_rows->out, by_rows->out = NULL;
}

/* The matrix is square, so exchanging its row and column strides causes no error. */
static void exchange_strides(struct tt_plan *p)
{
    for (int i = 0; i < p->count; i++) {
        struct tt_gemm *g = &p->ops[i].args.gemm;
        exchange_forms(&p->ops[i]);
        if (is_gemm_of(&p->ops[i], TT_FORWARD, TT_G_ATTENTION) && g->n == g->k && belongs_to(g->b, TT_X_WEIGHTS))
            g->trans_b = !g->trans_b;
    }
}

/* ---- double-shift ---- */

static void shift_again(struct tt_plan *p)
{
    for (int i = 0; i < p->count; i++) {
        struct tt_op *op = &p->ops[i];
        if (op->kind != TT_OP_KERNEL) continue;
        if (op->kernel == TT_K_cross_entropy) op->args.cross_entropy.tokens++;
        if (op->kernel == TT_K_target_logit) op->args.target_logit.tokens++;
        if (op->kernel == TT_K_loss_of_sums) op->args.loss_of_sums.tokens++;
        if (op->kernel == TT_K_gather_nll) op->args.gather_nll.tokens++;
        if (op->kernel == TT_K_sub_target) op->args.sub_target.tokens++;
    }
    p->external_bytes[TT_X_TOKENS] += sizeof(int32_t); /* the last target is now one token further */
}

/* ---- dropped-gradient ---- */

static int middle_layer(const struct tt_plan *p)
{
    int last = 0;
    for (int i = 0; i < p->count; i++)
        if (p->ops[i].layer > last) last = p->ops[i].layer;
    return (last + 1) / 2;
}

static void drop_gradient(struct tt_plan *p)
{
    int kept = 0, layer = middle_layer(p);
    for (int i = 0; i < p->count; i++) {
        const struct tt_op *op = &p->ops[i];
        bool dropped = is_gemm_of(op, TT_BACKWARD, TT_G_DOWN) && op->layer == layer &&
                       belongs_to(op->args.gemm.c, TT_X_GRADS);
        if (!dropped) p->ops[kept++] = *op;
    }
    p->count = kept;
}

/* ---- naive-matmul ---- */

enum { ROWS_AT_A_TIME = 16 };

static int64_t parts_of(const struct tt_op *op)
{
    const struct tt_gemm *g = &op->args.gemm;
    bool ffn = op->kind == TT_OP_GEMM && (op->group == TT_G_GATE_UP || op->group == TT_G_DOWN);
    bool by_rows = ffn && !g->trans_a && g->batch == 1;
    return by_rows ? (g->m + ROWS_AT_A_TIME - 1) / ROWS_AT_A_TIME : 1;
}

static struct tt_op part(const struct tt_op *whole, int64_t i)
{
    struct tt_op op = *whole;
    struct tt_gemm *g = &op.args.gemm;
    int64_t first = i * ROWS_AT_A_TIME, rest = g->m - first;
    g->a = (const char *)g->a + (size_t)(first * g->lda) * tt_dtype_size(g->type_a);
    g->c = (char *)g->c + (size_t)(first * g->ldc) * tt_dtype_size(g->type_c);
    if (g->with) g->also = (char *)g->also + (size_t)(first * tt_gemm_also_cols(g)) * tt_dtype_size(g->type_c);
    g->m = rest < ROWS_AT_A_TIME ? rest : ROWS_AT_A_TIME;
    return op;
}

static tt_status split_products(struct tt_plan *p)
{
    int64_t total = 0;
    for (int i = 0; i < p->count; i++) total += parts_of(&p->ops[i]);
    if (total > 1 << 20)
        return tt_fail(TT_USAGE, "--fault naive-matmul makes too many operations of this shape; choose a smaller one");
    struct tt_op *ops = malloc((size_t)total * sizeof *ops);
    if (!ops) return tt_no_memory("a plan of %lld operations", (long long)total);
    int n = 0;
    for (int i = 0; i < p->count; i++) {
        int64_t parts = parts_of(&p->ops[i]);
        for (int64_t k = 0; k < parts; k++) ops[n++] = parts > 1 ? part(&p->ops[i], k) : p->ops[i];
    }
    free(p->ops);
    p->ops = ops;
    p->count = n;
    p->op_room = (size_t)n;
    return TT_OK;
}

tt_status tt_fault_edit(const struct tt_config *c, struct tt_plan *p)
{
    enum tt_fault fault = tt_fault_of(c);
    if (fault >= TT_FAULT_OF_RANKS && fault < TT_FAULT_OF_UPDATES) return tt_fault_edit_ranks(c, p);
    if (fault == TT_FAULT_WRONG_STRIDE) exchange_strides(p);
    if (fault == TT_FAULT_DOUBLE_SHIFT) shift_again(p);
    if (fault == TT_FAULT_DROPPED_GRADIENT) drop_gradient(p);
    return fault == TT_FAULT_NAIVE_MATMUL ? split_products(p) : TT_OK;
}
