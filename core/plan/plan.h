/* The step as a plan: a flat list of operations. A version of the model writes it once at start; the memory planner,
 * the loop, the profiler and `tt info --plan` read it.
 *
 * While a plan is written, nothing is allocated. tt_plan_buffer() returns a provisional address. Arithmetic on it
 * works, so a view is base + offset, and it goes straight into a kernel's argument struct; kernels.def says which
 * fields are pointers. tt_plan_finish() finds the lifetime of each buffer and its offset in one arena; tt_plan_bind()
 * replaces the provisional addresses by real ones. */
#ifndef TT_PLAN_H
#define TT_PLAN_H

#include "backend/kernel_info.h"

enum tt_phase { TT_FORWARD, TT_BACKWARD, TT_OPTIMIZE, TT_PHASES };

/* Memory that outlives a step and is shared by all plans of a run. */
#define TT_EXTERNALS(X)                                                                                                \
    X(WEIGHTS, "weights")                                                                                              \
    X(MASTER, "master weights")                                                                                        \
    X(LOW, "lower halves of weights")                                                                                  \
    X(GRADS, "gradients")                                                                                              \
    X(MOMENT1, "first moments")                                                                                        \
    X(MOMENT2, "second moments")                                                                                       \
    X(TOKENS, "tokens")                                                                                                \
    X(VAL_TOKENS, "validation tokens")                                                                                 \
    X(STATE, "state")                                                                                                  \
    X(RING, "metrics ring")                                                                                            \
    X(GROUPS, "groups of weights")                                                                                     \
    X(UPDATES, "updates of groups")                                                                                    \
    X(CHOICES, "ring of choices")                                                                                      \
    X(SCALES, "scales of 8-bit factors")                                                                               \
    X(ROPE, "rope tables")                                                                                             \
    X(VAL_LOSS, "validation loss")                                                                                     \
    X(LOGITS, "logits")                                                                                                \
    X(CACHE, "key/value cache")                                                                                        \
    X(POSITION, "positions")                                                                                           \
    X(SEQUENCE, "sequence")                                                                                            \
    X(DRAWS, "random draws")                                                                                           \
    X(SEEN, "tokens seen")                                                                                             \
    X(CHOSEN, "chosen tokens")

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

/* The main stream of computation; a side stream for operations that may overlap with it; the stream of collectives. */
enum tt_plan_stream { TT_STREAM_MAIN, TT_STREAM_SIDE, TT_STREAM_COMM, TT_STREAMS };

const char *tt_plan_stream_name(enum tt_plan_stream s);

struct tt_op {
    enum tt_op_kind kind;
    enum tt_kernel kernel; /* of TT_OP_KERNEL */
    enum tt_phase phase;
    enum tt_group group;
    int layer; /* -1 outside the layers */
    int micro; /* micro-batch */
    enum tt_plan_stream stream;
    int wait[TT_STREAMS]; /* signal of each other stream to wait for first; -1: none */
    int signal;           /* event to record when done; -1: none */
    const char *name;     /* NULL: the kernel's */
    union tt_args args;
};

/* Whether an operation communicates: a collective on any stream, or any operation on the stream of collectives. All
 * others compute. */
static inline bool tt_op_communicates(const struct tt_op *op)
{
    return op->kind == TT_OP_COLLECTIVE || op->stream == TT_STREAM_COMM;
}

struct tt_buffer {
    const char *name;
    size_t bytes, offset; /* offset in the arena */
    int first, last;      /* first and last operation that uses it; first < 0: none */
    int layer, twin;      /* twin: the buffer of the first micro-batch whose memory it shares; -1 = its own */
};

struct tt_plan {
    struct tt_op *ops;
    int count;
    struct tt_buffer *buffers;
    int buffer_count;
    size_t external_bytes[TT_EXTERNAL_COUNT]; /* what the plan needs of each; 0 = not used */
    size_t arena_bytes;                       /* set by finish */
    int signals, join[TT_STREAMS];            /* number of signals; the signals to wait for at the end, or -1 */
    bool collective;                          /* it has collectives */
    enum tt_dtype dtype;                      /* of activations */

    /* copied into the operations that are added next */
    enum tt_phase phase;
    enum tt_group group;
    int layer, micro;
    enum tt_plan_stream stream;

    size_t op_room, buffer_room;
    int micro_begin, micro_buffers; /* first buffer of the current micro-batch; buffers of micro-batch 0 */
    tt_status status;               /* the first error while writing */
};

/* ---- writing ---- */

tt_status tt_plan_create(enum tt_dtype dtype, struct tt_plan **out);
void tt_plan_free(struct tt_plan *p);

/* A new buffer in the arena, and an external of at least this size, as provisional addresses. The first error while
 * writing is kept in `status`, and tt_plan_finish returns it. */
void *tt_plan_buffer(struct tt_plan *p, const char *name, size_t bytes);
void *tt_plan_external(struct tt_plan *p, enum tt_external x, size_t bytes);

/* Starts micro-batch i of a step. It must ask for the same buffers in the same order as micro-batch 0, and gets the
 * same memory. */
void tt_plan_micro(struct tt_plan *p, int i);

/* Append an operation, with the phase, group, layer and so on that the plan has now. */
void tt_plan_gemm(struct tt_plan *p, const struct tt_gemm *g);
void tt_plan_launch(struct tt_plan *p, enum tt_kernel k, const void *args);
void tt_plan_collective(struct tt_plan *p, const struct tt_collective *c); /* on TT_STREAM_COMM */

/* LAUNCH(p, rmsnorm, .x = x, .y = y, …): the fields of struct tt_rmsnorm_args. */
#define LAUNCH(p, name, ...)                                                                                           \
    tt_plan_launch(p, TT_K_##name, &(struct tt_##name##_args){.dtype = (p)->dtype, __VA_ARGS__})

/* ---- finishing ---- */

/* Places the buffers in the arena and orders the streams. Fails with the first error of writing, if there was one. */
tt_status tt_plan_finish(struct tt_plan *p);
tt_status tt_plan_order(struct tt_plan *p); /* a part of finish: waits and signals between streams */

/* Bytes [from, to) of an external. */
struct tt_bytes {
    size_t from, to;
};

/* Makes a smaller plan from a finished one that is not bound. If only the bytes `wanted` of external x are needed, some
 * operations compute nothing that is needed: the new plan leaves them out. An operation that reads x and does not write
 * it is assumed to read only wanted bytes. The buffers keep their places in memory. */
tt_status tt_plan_reduce(const struct tt_plan *p, enum tt_external x, const struct tt_bytes *wanted, int n,
                         struct tt_plan **out);

/* Replaces the provisional addresses of a finished plan by real ones. Only once: the plan cannot be bound again. */
void tt_plan_bind(struct tt_plan *p, void *arena, void *const externals[TT_EXTERNAL_COUNT]);

/* ---- reading ---- */

const char *tt_op_name(const struct tt_op *op); /* op->name, or that of the kernel, collective or product */
/* The operands of an operation, without optional ones that are NULL; returns how many. Then the address of one. */
int tt_op_operands(const struct tt_op *op, struct tt_operand out[TT_MAX_OPERANDS]);
void *tt_op_pointer(const struct tt_op *op, const struct tt_operand *operand);
double tt_op_flops(const struct tt_op *op);
double tt_op_bytes(const struct tt_op *op);

/* What a provisional address belongs to: a buffer id (>= 0) or -1 - external. */
int tt_plan_owner(const void *address, size_t *offset);

/* Enqueues every operation on stream s, with profiler ranges around phases, layers and kernels. */
tt_status tt_plan_run(const struct tt_plan *p, struct tt_backend *b, tt_stream s);

/* The streams of a plan other than the main one, and an event for each of its signals. */
struct tt_plan_streams {
    tt_stream streams[TT_STREAMS]; /* those that the plan uses */
    tt_event *events;              /* NULL: not open */
    int count;
};

/* Opens what the plan needs and `a` does not have yet. If that fails, it closes all of `a`. */
tt_status tt_plan_streams_open(struct tt_plan_streams *a, const struct tt_plan *p, struct tt_backend *b);
void tt_plan_streams_close(struct tt_plan_streams *a, struct tt_backend *b);

/* Like tt_plan_run, but operations of other streams run on those of `a`. Work enqueued on `s` afterwards waits for all
 * of them. */
tt_status tt_plan_run_streams(const struct tt_plan *p, struct tt_backend *b, tt_stream s,
                              const struct tt_plan_streams *a);

#endif
