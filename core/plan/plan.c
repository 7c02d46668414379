#include "core/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"

/* A provisional address has its owner in the high bits and the offset in the low bits. Owners count from 1, so that
 * NULL belongs to none: first the externals, then the buffers. */
enum { OFFSET_BITS = 42, OWNERS = 1 << (63 - OFFSET_BITS) };

static void *provisional(int owner) { return (void *)((uintptr_t)(owner + TT_EXTERNAL_COUNT + 1) << OFFSET_BITS); }

int tt_plan_owner(const void *address, size_t *offset)
{
    uintptr_t a = (uintptr_t)address;
    *offset = a & (((uintptr_t)1 << OFFSET_BITS) - 1);
    return (int)(a >> OFFSET_BITS) - TT_EXTERNAL_COUNT - 1;
}

const char *tt_external_name(enum tt_external x)
{
    static const char *const names[] = {
#define X(id, name) name,
        TT_EXTERNALS(X)
#undef X
    };
    return names[x];
}

const char *tt_phase_name(enum tt_phase p)
{
    static const char *const names[] = {"forward_pass", "backward_pass", "optimizer_step"};
    return names[p];
}

const char *tt_plan_stream_name(enum tt_plan_stream s)
{
    static const char *const names[TT_STREAMS] = {"main", "side", "comm"};
    return names[s];
}

tt_status tt_plan_create(enum tt_dtype dtype, struct tt_plan **out)
{
    struct tt_plan *p = calloc(1, sizeof *p);
    if (!p) return tt_no_memory("the plan");
    p->dtype = dtype;
    p->layer = -1;
    *out = p;
    return TT_OK;
}

void tt_plan_free(struct tt_plan *p)
{
    if (!p) return;
    tt_status_free(p->status);
    free(p->ops);
    free(p->buffers);
    free(p);
}

static bool grow(struct tt_plan *p, void *array, size_t size, int count, size_t *room)
{
    if (p->status) return false; /* after an error nothing more is added */
    if (tt_grow(array, size, (size_t)count, room)) return true;
    p->status = tt_no_memory("a plan of %d operations", p->count);
    return false;
}

/* A buffer too large for the offset bits would run into the addresses of another owner. */
static bool addressable(struct tt_plan *p, const char *name, size_t bytes)
{
    bool fits = !(bytes >> OFFSET_BITS), few = p->buffer_count < OWNERS - TT_EXTERNAL_COUNT - 1;
    if (!fits && !p->status)
        p->status = tt_fail(TT_USAGE, "%s alone would take %.0f TiB; make batch-size, seq-len or head-chunk smaller",
                            name, (double)bytes / 0x1p40);
    if (!few && !p->status)
        p->status = tt_fail(TT_USAGE, "a step of so many operations is too large; make grad-accum or num-layers "
                                      "smaller");
    return fits && few;
}

void *tt_plan_buffer(struct tt_plan *p, const char *name, size_t bytes)
{
    if (!addressable(p, name, bytes)) return NULL;
    if (!grow(p, &p->buffers, sizeof *p->buffers, p->buffer_count, &p->buffer_room)) return NULL;
    int id = p->buffer_count++;
    int twin = p->micro ? id - p->micro_begin : -1;
    if (twin >= p->micro_buffers || (twin >= 0 && p->buffers[twin].bytes != bytes)) {
        p->status = tt_fail(TT_FAILED, "plan: micro-batch %d asks for other buffers than the first", p->micro);
        twin = -1;
    }
    p->buffers[id] =
        (struct tt_buffer){.name = name, .bytes = bytes, .first = -1, .last = -1, .layer = p->layer, .twin = twin};
    return provisional(id);
}

void *tt_plan_external(struct tt_plan *p, enum tt_external x, size_t bytes)
{
    if (!addressable(p, tt_external_name(x), bytes)) return NULL;
    if (bytes > p->external_bytes[x]) p->external_bytes[x] = bytes;
    return provisional(-1 - (int)x);
}

void tt_plan_micro(struct tt_plan *p, int i)
{
    if (i == 1) p->micro_buffers = p->buffer_count;
    p->micro = i;
    p->micro_begin = p->buffer_count;
}

static struct tt_op *append(struct tt_plan *p)
{
    if (!grow(p, &p->ops, sizeof *p->ops, p->count, &p->op_room)) return NULL;
    struct tt_op *op = &p->ops[p->count++];
    memset(op, 0, sizeof *op);
    op->phase = p->phase;
    op->group = p->group;
    op->layer = p->layer;
    op->micro = p->micro;
    op->stream = p->stream;
    for (int i = 0; i < TT_STREAMS; i++) op->wait[i] = -1;
    op->signal = -1;
    return op;
}

/* Every operand needs a pointer; tt_op_operands leaves out optional ones that are NULL. */
static void check_operands(struct tt_plan *p, const struct tt_op *op)
{
    struct tt_operand operands[TT_MAX_OPERANDS];
    int n = tt_op_operands(op, operands);
    for (int i = 0; i < n && !p->status; i++)
        if (!tt_op_pointer(op, &operands[i]))
            p->status = tt_fail(TT_FAILED, "plan: %s has no operand %s", tt_op_name(op), operands[i].name);
}

void tt_plan_gemm(struct tt_plan *p, const struct tt_gemm *g)
{
    struct tt_op *op = append(p);
    if (!op) return;
    op->kind = TT_OP_GEMM;
    op->args.gemm = *g;
    check_operands(p, op);
}

void tt_plan_collective(struct tt_plan *p, const struct tt_collective *c)
{
    struct tt_op *op = append(p);
    if (!op) return;
    op->kind = TT_OP_COLLECTIVE;
    op->stream = TT_STREAM_COMM;
    op->args.collective = *c;
    p->collective = true;
}

void tt_plan_launch(struct tt_plan *p, enum tt_kernel k, const void *args)
{
    struct tt_op *op = append(p);
    if (!op) return;
    op->kernel = k;
    memcpy(&op->args, args, tt_kernel_args_size(k));
    check_operands(p, op);
}

const char *tt_op_name(const struct tt_op *op)
{
    if (op->name) return op->name;
    if (op->kind == TT_OP_COLLECTIVE) return tt_collective_name(op->args.collective.kind);
    return op->kind == TT_OP_GEMM ? tt_gemm_name(&op->args.gemm) : tt_kernel_name(op->kernel);
}

int tt_op_operands(const struct tt_op *op, struct tt_operand out[TT_MAX_OPERANDS])
{
    if (op->kind == TT_OP_COLLECTIVE) return tt_collective_operands(&op->args.collective, out);
    return op->kind == TT_OP_GEMM ? tt_gemm_operands(&op->args.gemm, out)
                                  : tt_kernel_operands(op->kernel, &op->args, out);
}

void *tt_op_pointer(const struct tt_op *op, const struct tt_operand *operand)
{
    void *p;
    memcpy(&p, (const char *)&op->args + operand->field, sizeof p);
    return p;
}

double tt_op_flops(const struct tt_op *op)
{
    if (op->kind == TT_OP_COLLECTIVE) return 0;
    return op->kind == TT_OP_GEMM ? tt_gemm_flops(&op->args.gemm) : tt_kernel_flops(op->kernel, &op->args);
}

double tt_op_bytes(const struct tt_op *op)
{
    struct tt_operand operands[TT_MAX_OPERANDS];
    double sum = 0;
    int n = tt_op_operands(op, operands);
    for (int i = 0; i < n; i++)
        if (operands[i].access != TT_SCRATCH)
            sum += operands[i].access == TT_READ_WRITE ? 2 * operands[i].bytes : operands[i].bytes;
    return sum;
}

/* Two operands may share a pointer field (one reads half of it, one writes all). So all addresses are translated first,
 * then written. */
static void bind_op(struct tt_plan *p, struct tt_op *op, char *arena, void *const *externals)
{
    struct tt_operand operands[TT_MAX_OPERANDS];
    int n = tt_op_operands(op, operands);
    void *real[TT_MAX_OPERANDS];
    for (int i = 0; i < n; i++) {
        size_t offset;
        int owner = tt_plan_owner(tt_op_pointer(op, &operands[i]), &offset);
        char *base = owner < 0 ? externals[-1 - owner] : arena + p->buffers[owner].offset;
        real[i] = base + offset;
    }
    for (int i = 0; i < n; i++) memcpy((char *)&op->args + operands[i].field, &real[i], sizeof real[i]);
}

void tt_plan_bind(struct tt_plan *p, void *arena, void *const externals[TT_EXTERNAL_COUNT])
{
    for (int i = 0; i < p->count; i++) bind_op(p, &p->ops[i], arena, externals);
}
