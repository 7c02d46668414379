#include "cli/info_plan.h"

#include <stdio.h>

#include "core/base/format.h"

static const char *owner_name(const struct tt_plan *p, const void *address)
{
    size_t offset;
    int owner = tt_plan_owner(address, &offset);
    return owner < 0 ? tt_external_name((enum tt_external)(-1 - owner)) : p->buffers[owner].name;
}

static void list_operands(const struct tt_plan *p, const struct tt_op *op, enum tt_access which)
{
    struct tt_operand operands[TT_MAX_OPERANDS];
    int n = tt_op_operands(op, operands);
    for (int i = 0; i < n; i++)
        if (operands[i].access & which) printf(" %s", owner_name(p, tt_op_pointer(op, &operands[i])));
}

static void print_shape(const struct tt_op *op)
{
    char shape[64] = "";
    const struct tt_gemm *g = &op->args.gemm;
    if (op->kind == TT_OP_GEMM && g->batch > 1)
        snprintf(shape, sizeof shape, "%lldx(%lldx%lldx%lld)", (long long)g->batch, (long long)g->m, (long long)g->n,
                 (long long)g->k);
    else if (op->kind == TT_OP_GEMM)
        snprintf(shape, sizeof shape, "%lldx%lldx%lld", (long long)g->m, (long long)g->n, (long long)g->k);
    else if (op->kind == TT_OP_COLLECTIVE)
        snprintf(shape, sizeof shape, "%lld %s", (long long)op->args.collective.count,
                 tt_dtype_names[op->args.collective.type]);
    printf(" %-20s", shape);
}

/* What a rank sends in a collective; nothing in another operation. */
static void print_sent(const struct tt_op *op)
{
    char sent[32] = "-";
    if (op->kind == TT_OP_COLLECTIVE) tt_format_bytes(tt_collective_sent(&op->args.collective), sent);
    printf(" %11s", sent);
}

/* Prints an operation behind `mark`. */
static void print_op(const struct tt_plan *p, int i, char mark)
{
    const struct tt_op *op = &p->ops[i];
    char flops[32], bytes[32], layer[16] = "-";
    tt_format_count(tt_op_flops(op), flops);
    tt_format_bytes(tt_op_bytes(op), bytes);
    if (op->layer >= 0) snprintf(layer, sizeof layer, "%d", op->layer);
    printf("%c%4d %-14s %5s %-24s", mark, i, tt_phase_name(op->phase), layer, tt_op_name(op));
    print_shape(op);
    printf(" %10s %11s", flops, bytes);
    if (p->collective) print_sent(op);
    printf(" %6s ", tt_plan_stream_name(op->stream));
    list_operands(p, op, TT_READ);
    printf(" ->");
    list_operands(p, op, TT_WRITE);
    putchar('\n');
}

static void print_header(const struct tt_plan *p)
{
    printf("\n%5s %-14s %5s %-24s %-20s %10s %11s", "op", "phase", "layer", "kernel",
           p->collective ? "m x n x k, or count" : "m x n x k", "FLOP", "bytes");
    if (p->collective) printf(" %11s", "sent");
    printf(" %6s  reads -> writes\n", "stream");
}

void tt_info_plan_print(const struct tt_plan *p)
{
    print_header(p);
    for (int i = 0; i < p->count; i++) print_op(p, i, ' ');
}

void tt_info_plan_print_between(const struct tt_info_update *u)
{
    const struct tt_plan *p = u->s->between;
    int at = 0;
    printf("\na step between two choices; after the choice above it leaves out the operations marked -\n");
    print_header(p);
    for (int i = 0; i < p->count; i++) print_op(p, i, tt_info_update_has(u, i, &at) ? ' ' : '-');
}

void tt_info_plan_put(const struct tt_plan *p, struct tt_json_writer *w)
{
    tt_json_begin(w, "plan", '[');
    for (int i = 0; i < p->count; i++) {
        const struct tt_op *op = &p->ops[i];
        tt_json_begin(w, NULL, '{');
        tt_json_put_string(w, "kernel", tt_op_name(op));
        tt_json_put_string(w, "phase", tt_phase_name(op->phase));
        tt_json_put_string(w, "group", tt_group_name(op->group));
        tt_json_put_int(w, "layer", op->layer);
        if (op->kind == TT_OP_GEMM) {
            tt_json_put_int(w, "m", op->args.gemm.m);
            tt_json_put_int(w, "n", op->args.gemm.n);
            tt_json_put_int(w, "k", op->args.gemm.k);
            tt_json_put_int(w, "batch", op->args.gemm.batch);
        }
        if (op->kind == TT_OP_COLLECTIVE) {
            tt_json_put_int(w, "count", op->args.collective.count);
            tt_json_put_string(w, "type", tt_dtype_names[op->args.collective.type]);
            tt_json_put_number(w, "sent_bytes", tt_collective_sent(&op->args.collective));
        }
        tt_json_put_string(w, "stream", tt_plan_stream_name(op->stream));
        tt_json_put_number(w, "flops", tt_op_flops(op));
        tt_json_put_number(w, "bytes", tt_op_bytes(op));
        tt_json_end(w, '}');
    }
    tt_json_end(w, ']');
}
