/* Checks that a plan is sound, for small models: gradients are tracked float by float. What an operation touches is
 * computed here independently of the code that orders plans, so that a mistake there shows. */
#include "tests/core/plan/plan_check.h"

#include <stdlib.h>
#include <string.h>

struct checker {
    const struct tt_plan *p;
    bool *written, *unread;  /* per buffer */
    bool *grads;             /* per float of the gradient arena: whether it was written */
    size_t grad_count;
    bool external[TT_EXTERNAL_COUNT];
};

/* Exists before the step begins. */
static bool given(enum tt_external x) { return x != TT_X_GRADS && x != TT_X_RING && x != TT_X_LOGITS; }

static tt_status fault(const struct tt_plan *p, int op, const char *operand, const char *owner, const char *what)
{
    return tt_fail(TT_FAILED, "plan: operation %d (%s, layer %d): operand %s (%s) %s", op, tt_op_name(&p->ops[op]),
                   p->ops[op].layer, operand, owner, what);
}

/* The longest run of unwritten floats that may be read: the gap after a tensor, when ranks read a whole bucket. */
static size_t gap_of(const struct tt_op *op)
{
    enum { PAD = TT_ALIGN / sizeof(float) };
    return op->kind == TT_OP_COLLECTIVE ? (size_t)op->args.collective.ranks * PAD - 1 : 0;
}

static tt_status check_grads(struct checker *c, int op, const struct tt_operand *o, size_t offset)
{
    bool reads = o->access & TT_READ;
    size_t from = offset / 4, n = (size_t)(reads && o->reach > 0 ? o->reach : o->bytes) / 4, unwritten = 0;
    for (size_t i = from; i < from + n; i++) {
        bool padding_too = n == c->grad_count; /* the optimiser reads the arena including the gaps between tensors */
        unwritten = c->grads[i] ? 0 : unwritten + 1;
        if (reads && unwritten > gap_of(&c->p->ops[op]) && !padding_too)
            return fault(c->p, op, o->name, "gradients", "is read before it is written");
        if (o->access & TT_WRITE) c->grads[i] = true;
    }
    return TT_OK;
}

/* The late update of the previous step, by its gradients: it comes before the first gradient of this step is
 * written. */
static bool updates_before(const struct checker *c, int op)
{
    bool update = c->p->ops[op].kind == TT_OP_KERNEL && c->p->ops[op].kernel == TT_K_adamw;
    for (size_t i = 0; i < c->grad_count && update; i++)
        if (c->grads[i]) return false;
    return update;
}

static tt_status check_external(struct checker *c, int op, const struct tt_operand *o, enum tt_external x,
                                size_t offset)
{
    if ((double)offset + (o->reach > o->bytes ? o->reach : o->bytes) > (double)c->p->external_bytes[x])
        return fault(c->p, op, o->name, tt_external_name(x), "reaches beyond its end");
    if (x == TT_X_GRADS && updates_before(c, op)) return TT_OK;
    if (x == TT_X_GRADS) return check_grads(c, op, o, offset);
    if ((o->access & TT_READ) && !given(x) && !c->external[x])
        return fault(c->p, op, o->name, tt_external_name(x), "is read before it is written");
    if (o->access & TT_WRITE) c->external[x] = true;
    return TT_OK;
}

static tt_status check_buffer(struct checker *c, int op, const struct tt_operand *o, int id, size_t offset)
{
    const struct tt_buffer *b = &c->p->buffers[id];
    if ((double)offset + o->bytes > (double)b->bytes)
        return fault(c->p, op, o->name, b->name, "reaches beyond its end");
    if ((o->access & TT_READ) && !c->written[id])
        return fault(c->p, op, o->name, b->name, "is read before it is written");
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
            return tt_fail(TT_FAILED, "plan: buffer %s (layer %d) is never used", c->p->buffers[i].name,
                           c->p->buffers[i].layer);
        if (c->unread[i])
            return tt_fail(TT_FAILED, "plan: buffer %s (layer %d) is written and never read", c->p->buffers[i].name,
                           c->p->buffers[i].layer);
    }
    return TT_OK;
}

/* ---- order between streams ---- */

struct touch {
    bool outside; /* not in the arena but in this external buffer */
    enum tt_external external;
    size_t from, to;
    bool writes;
};

/* The bytes from the first element of a GEMM's matrix to after its last. A transposed matrix has rows and columns
 * swapped. */
static size_t span(const struct tt_gemm *g, size_t field)
{
    if (field == offsetof(struct tt_gemm, also))
        return (size_t)(g->m * tt_gemm_also_cols(g)) * tt_dtype_size(g->type_c);
    if (field == offsetof(struct tt_gemm, scale_a) || field == offsetof(struct tt_gemm, scale_b)) {
        int64_t scales = field == offsetof(struct tt_gemm, scale_a) ? g->m : g->n;
        return (size_t)(g->row_scales ? scales : 1) * sizeof(float);
    }
    bool a = field == offsetof(struct tt_gemm, a), b = field == offsetof(struct tt_gemm, b);
    bool turned = a ? g->trans_a : b && g->trans_b;
    int64_t rows = b ? g->k : g->m, cols = a ? g->k : g->n;
    int64_t ld = a ? g->lda : b ? g->ldb : g->ldc, stride = a ? g->stride_a : b ? g->stride_b : g->stride_c;
    enum tt_dtype type = a ? g->type_a : b ? g->type_b : g->type_c;
    int64_t last_row = turned ? cols - 1 : rows - 1, last_column = turned ? rows - 1 : cols - 1;
    return (size_t)((g->batch - 1) * stride + last_row * ld + last_column + 1) * tt_dtype_size(type);
}

/* Bytes in an external buffer: a GEMM's span, or what a collective or kernel declares for an arena of parameters, or
 * everything. */
static size_t external_span(const struct tt_plan *p, const struct tt_op *op, const struct tt_operand *o,
                            enum tt_external x)
{
    bool arena = x == TT_X_WEIGHTS || x == TT_X_MASTER || x == TT_X_LOW || x == TT_X_GRADS || x == TT_X_MOMENT1 ||
                 x == TT_X_MOMENT2 || x == TT_X_SCALES;
    if (op->kind == TT_OP_GEMM) return span(&op->args.gemm, o->field);
    if (op->kind == TT_OP_KERNEL && !arena) return p->external_bytes[x];
    return (size_t)(o->reach > 0 ? o->reach : o->bytes);
}

/* For an internal buffer, all of it. */
static struct touch touch_of(const struct tt_plan *p, const struct tt_op *op, const struct tt_operand *o)
{
    size_t offset;
    int owner = tt_plan_owner(tt_op_pointer(op, o), &offset);
    struct touch t = {.outside = owner < 0, .writes = o->access != TT_READ};
    if (t.outside) {
        t.external = (enum tt_external)(-1 - owner);
        t.from = offset;
        t.to = offset + external_span(p, op, o, t.external);
    } else {
        t.from = p->buffers[owner].offset;
        t.to = t.from + p->buffers[owner].bytes;
    }
    return t;
}

static bool collide(const struct touch *a, const struct touch *b)
{
    if (a->outside != b->outside || (a->outside && a->external != b->external)) return false;
    return (a->writes || b->writes) && a->from < b->to && b->from < a->to;
}

/* Whether the two must not run at the same time. */
static bool in_conflict(const struct tt_plan *p, int one, int other)
{
    struct tt_operand left[TT_MAX_OPERANDS], right[TT_MAX_OPERANDS];
    const struct tt_op *x = &p->ops[one], *y = &p->ops[other];
    int m = tt_op_operands(x, left), n = tt_op_operands(y, right);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            struct touch a = touch_of(p, x, &left[i]), b = touch_of(p, y, &right[j]);
            if (collide(&a, &b)) return true;
        }
    return false;
}

/* The operation before `end` that gives the signal; -1: none does, or there is no signal to wait for. */
static int giver(const struct tt_plan *p, int signal, int end)
{
    for (int i = 0; i < end && signal >= 0; i++)
        if (p->ops[i].signal == signal) return i;
    return -1;
}

/* Checks that the waits alone order each conflicting pair. */
static tt_status check_order(const struct tt_plan *p)
{
    int done[TT_STREAMS][TT_STREAMS]; /* up to which operation of each other stream each stream has waited */
    memset(done, 0xff, sizeof done);
    for (int i = 0; i < p->count; i++) {
        const struct tt_op *op = &p->ops[i];
        int *known = done[op->stream];
        for (int s = 0; s < TT_STREAMS; s++) {
            int waited = giver(p, op->wait[s], i);
            if (waited > known[s]) known[s] = waited;
        }
        for (int j = i - 1; j >= 0; j--)
            if (p->ops[j].stream != op->stream && j > known[p->ops[j].stream] && in_conflict(p, i, j))
                return tt_fail(TT_FAILED,
                               "plan: operation %d (%s) may run beside %d (%s), and both touch the same bytes", i,
                               tt_op_name(op), j, tt_op_name(&p->ops[j]));
    }
    return TT_OK;
}

tt_status plan_check(const struct tt_plan *p, bool all_read)
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
    if (!st) st = check_order(p);
    free(c.written);
    free(c.unread);
    free(c.grads);
    return st;
}
