/* Is a plan sound? Meant for tests and small models: gradients are followed float by float. */
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan.h"

struct checker {
    const struct tt_plan *p;
    bool *written, *unread;  /* per buffer */
    bool *grads;             /* per float of the gradient arena: written */
    size_t grad_count;
    bool external[TT_EXTERNAL_COUNT];
};

/* What is there before the step begins. */
static bool given(enum tt_external x) { return x != TT_X_GRADS && x != TT_X_RING && x != TT_X_LOGITS; }

static tt_status fault(const struct tt_plan *p, int op, const char *operand, const char *owner, const char *what)
{
    return tt_fail(TT_FAILED, "plan: operation %d (%s, layer %d): operand %s (%s) %s", op, tt_op_name(&p->ops[op]),
                   p->ops[op].layer, operand, owner, what);
}

static tt_status check_grads(struct checker *c, int op, const struct tt_operand *o, size_t offset)
{
    size_t from = offset / 4, n = (size_t)o->bytes / 4;
    for (size_t i = from; i < from + n; i++) {
        bool padding_too = n == c->grad_count; /* the optimiser reads the arena with the gaps between tensors */
        if ((o->access & TT_READ) && !c->grads[i] && !padding_too)
            return fault(c->p, op, o->name, "gradients", "is read before it is written");
        if (o->access & TT_WRITE) c->grads[i] = true;
    }
    return TT_OK;
}

static tt_status check_external(struct checker *c, int op, const struct tt_operand *o, enum tt_external x, size_t offset)
{
    if ((double)offset + o->bytes > (double)c->p->external_bytes[x])
        return fault(c->p, op, o->name, tt_external_name(x), "reaches beyond its end");
    if (x == TT_X_GRADS) return check_grads(c, op, o, offset);
    if ((o->access & TT_READ) && !given(x) && !c->external[x])
        return fault(c->p, op, o->name, tt_external_name(x), "is read before it is written");
    if (o->access & TT_WRITE) c->external[x] = true;
    return TT_OK;
}

static tt_status check_buffer(struct checker *c, int op, const struct tt_operand *o, int id, size_t offset)
{
    const struct tt_buffer *b = &c->p->buffers[id];
    if ((double)offset + o->bytes > (double)b->bytes) return fault(c->p, op, o->name, b->name, "reaches beyond its end");
    if ((o->access & TT_READ) && !c->written[id]) return fault(c->p, op, o->name, b->name, "is read before it is written");
    if (o->access & TT_READ) c->unread[id] = false;
    if (o->access & TT_WRITE) c->written[id] = c->unread[id] = true;
    return TT_OK;
}

static tt_status check_op(struct checker *c, int op, int pass)
{
    struct tt_operand operands[TT_MAX_OPERANDS];
    int n = tt_op_operands(&c->p->ops[op], operands);
    for (int j = 0; j < n; j++) {
        struct tt_operand o = operands[j];
        o.access = pass == 0 ? (enum tt_access)(o.access & TT_READ) : (enum tt_access)(o.access & TT_WRITE);
        size_t offset;
        int owner = tt_plan_owner(tt_op_pointer(&c->p->ops[op], &o), &offset);
        if (owner >= c->p->buffer_count || owner < -TT_EXTERNAL_COUNT)
            return fault(c->p, op, o.name, "nobody", "is no address of this plan");
        TT_TRY(owner < 0 ? check_external(c, op, &o, (enum tt_external)(-1 - owner), offset)
                         : check_buffer(c, op, &o, owner, offset));
    }
    return TT_OK;
}

static tt_status check_places(const struct tt_plan *p)
{
    for (int i = 0; i < p->buffer_count; i++)
        for (int j = i + 1; j < p->buffer_count; j++) {
            const struct tt_buffer *a = &p->buffers[i], *b = &p->buffers[j];
            bool together = a->first >= 0 && b->first >= 0 && a->first <= b->last && b->first <= a->last;
            if (together && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes)
                return tt_fail(TT_FAILED, "plan: %s and %s live at once and share bytes", a->name, b->name);
        }
    return TT_OK;
}

static tt_status check_unread(const struct checker *c)
{
    for (int i = 0; i < c->p->buffer_count; i++) {
        if (c->p->buffers[i].first < 0)
            return tt_fail(TT_FAILED, "plan: buffer %s (layer %d) is never used", c->p->buffers[i].name, c->p->buffers[i].layer);
        if (c->unread[i])
            return tt_fail(TT_FAILED, "plan: buffer %s (layer %d) is written and never read", c->p->buffers[i].name,
                           c->p->buffers[i].layer);
    }
    return TT_OK;
}

tt_status tt_plan_check(const struct tt_plan *p, bool all_read)
{
    struct checker c = {.p = p, .grad_count = p->external_bytes[TT_X_GRADS] / 4};
    c.written = calloc((size_t)p->buffer_count + 1, sizeof *c.written);
    c.unread = calloc((size_t)p->buffer_count + 1, sizeof *c.unread);
    c.grads = calloc(c.grad_count + 1, sizeof *c.grads);
    tt_status st = c.written && c.unread && c.grads ? TT_OK : tt_fail(TT_FAILED, "out of memory while checking a plan");
    for (int i = 0; i < p->count && !st; i++) {
        st = check_op(&c, i, 0);
        if (!st) st = check_op(&c, i, 1);
    }
    if (!st && all_read) st = check_unread(&c);
    if (!st) st = check_places(p);
    if (!st) st = tt_plan_check_order(p);
    free(c.written);
    free(c.unread);
    free(c.grads);
    return st;
}
