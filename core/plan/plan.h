/* The step as a plan: a flat list of operations, written once at start by a version of the model and read by everything
 * else: the memory planner, the loop, the profiler, `tt info --plan`.
 *
 * While a plan is written, memory has no place yet. tt_plan_buffer() hands out a provisional address; arithmetic on it
 * works, so a view is just base + offset, and it goes straight into a kernel's argument struct. kernels.def tells which
 * fields are pointers. tt_plan_finish() finds each buffer's lifetime and its place in one arena; tt_plan_bind()
 * replaces the provisional addresses by real ones. */
#ifndef TT_PLAN_H
#define TT_PLAN_H

#include "backend/kernel_info.h"

enum tt_phase { TT_FORWARD, TT_BACKWARD, TT_OPTIMIZE, TT_PHASES };

/* Memory that outlives a step and is the same for all plans of a run. */
#define TT_EXTERNALS(X)                                                                            \
    X(WEIGHTS, "weights")                                                                          \
    X(MASTER, "master weights")                                                                    \
    X(LOW, "lower halves of weights")                                                              \
    X(GRADS, "gradients")                                                                          \
    X(MOMENT1, "first moments")                                                                    \
    X(MOMENT2, "second moments")                                                                   \
    X(TOKENS, "tokens")                                                                            \
    X(VAL_TOKENS, "validation tokens")                                                             \
    X(STATE, "state")                                                                              \
    X(RING, "metrics ring")                                                                        \
    X(GROUPS, "groups of weights")                                                                 \
    X(UPDATES, "updates of groups")                                                                \
    X(CHOICES, "ring of choices")                                                                  \
    X(ROPE, "rope tables")                                                                         \
    X(VAL_LOSS, "validation loss")                                                                 \
    X(LOGITS, "logits")                                                                            \
    X(CACHE, "key/value cache")                                                                    \
    X(POSITION, "position")

enum tt_external {
#define X(id, name) TT_X_##id,
    TT_EXTERNALS(X)
#undef X
    TT_EXTERNAL_COUNT
};

const char *tt_external_name(enum tt_external x);
const char *tt_phase_name(enum tt_phase p);

union tt_args {
#define TT_KERNEL(name, flops, operands) struct tt_##name##_args name;
#include "backend/kernels.def"
#undef TT_KERNEL
    struct tt_gemm gemm;
    struct tt_collective collective;
};

enum tt_op_kind { TT_OP_KERNEL, TT_OP_GEMM, TT_OP_COLLECTIVE };

/* The stream that computes; what may run beside it, where there is such a stream; and what ranks do together. */
enum tt_plan_stream { TT_STREAM_MAIN, TT_STREAM_SIDE, TT_STREAM_COMM, TT_STREAMS };

const char *tt_plan_stream_name(enum tt_plan_stream s);

struct tt_op {
    enum tt_op_kind kind;
    enum tt_kernel kernel; /* of TT_OP_KERNEL */
    enum tt_phase phase;
    enum tt_group group;
    int layer;    /* -1 outside the layers */
    int micro;    /* which micro-batch */
    enum tt_plan_stream stream;
    int wait[TT_STREAMS]; /* signal of each other stream to wait for first; -1: none */
    int signal;           /* to give when done; -1: none */
    const char *name; /* NULL: the kernel's */
    union tt_args args;
};

struct tt_buffer {
    const char *name;
    size_t bytes, offset; /* offset in the arena */
    int first, last;      /* operations that touch it first and last; first < 0: none */
    int layer, twin;      /* twin: the buffer of the first micro-batch whose place it shares; -1 = its own */
};

struct tt_plan {
    struct tt_op *ops;
    int count;
    struct tt_buffer *buffers;
    int buffer_count;
    size_t external_bytes[TT_EXTERNAL_COUNT]; /* what the plan needs of each; 0 = not used */
    size_t arena_bytes;                       /* peak of what lives at once, after finish */
    int signals, join[TT_STREAMS];            /* how many there are; those to wait for at the end, or -1 */
    bool collective;                          /* ranks do something together in it */
    enum tt_dtype dtype;                      /* of activations */

    /* where the writer is: goes into the operations that follow */
    enum tt_phase phase;
    enum tt_group group;
    int layer, micro;
    enum tt_plan_stream stream;

    size_t op_room, buffer_room;
    int micro_begin, micro_buffers; /* buffers of the current and of the first micro-batch */
    tt_status status;               /* the first thing that went wrong while writing */
};

/* ---- writing ---- */

tt_status tt_plan_create(enum tt_dtype dtype, struct tt_plan **out);
void tt_plan_free(struct tt_plan *p);

void *tt_plan_buffer(struct tt_plan *p, const char *name, size_t bytes);
void *tt_plan_external(struct tt_plan *p, enum tt_external x, size_t bytes);

/* Micro-batch i of a step begins: it asks for the same buffers in the same order as micro-batch 0, and gets the same
 * places. */
void tt_plan_micro(struct tt_plan *p, int i);

void tt_plan_gemm(struct tt_plan *p, const struct tt_gemm *g);
void tt_plan_launch(struct tt_plan *p, enum tt_kernel k, const void *args);
void tt_plan_collective(struct tt_plan *p, const struct tt_collective *c); /* on the stream of communication */

/* LAUNCH(p, rmsnorm, .x = x, .y = y, …): the fields of struct tt_rmsnorm_args. */
#define LAUNCH(p, name, ...)                                                                       \
    tt_plan_launch(p, TT_K_##name, &(struct tt_##name##_args){.dtype = (p)->dtype, __VA_ARGS__})

/* ---- finishing ---- */

tt_status tt_plan_finish(struct tt_plan *p);
tt_status tt_plan_order(struct tt_plan *p); /* its part for several streams: plan_order.c */
void tt_plan_bind(struct tt_plan *p, void *arena, void *const externals[TT_EXTERNAL_COUNT]);

/* ---- reading ---- */

const char *tt_op_name(const struct tt_op *op); /* its own, "gemm", or the kernel's or collective's */
int tt_op_operands(const struct tt_op *op, struct tt_operand out[TT_MAX_OPERANDS]);
void *tt_op_pointer(const struct tt_op *op, const struct tt_operand *operand);
double tt_op_flops(const struct tt_op *op);
double tt_op_bytes(const struct tt_op *op);

/* What a provisional address belongs to: a buffer id (>= 0) or -1 - external. */
int tt_plan_owner(const void *address, size_t *offset);

/* Hands every operation to the backend, with ranges around phases, layers and kernels where the backend marks. */
tt_status tt_plan_run(const struct tt_plan *p, struct tt_backend *b, tt_stream s);

/* The streams beside the one that computes, and an event for each of a plan's signals. */
struct tt_side {
    tt_stream streams[TT_STREAMS]; /* those that the plan uses */
    tt_event *events;              /* NULL: there is nothing of it */
    int count;
};

tt_status tt_side_open(struct tt_side *a, const struct tt_plan *p, struct tt_backend *b);
void tt_side_close(struct tt_side *a, struct tt_backend *b);

/* The same with what is not on the main stream on those of `a`, all of it done before what follows on `s`. */
tt_status tt_plan_run_beside(const struct tt_plan *p, struct tt_backend *b, tt_stream s, const struct tt_side *a);

#endif
