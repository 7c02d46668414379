/* What kernels.def says about a kernel, as functions: its name, its operands, its cost. */
#ifndef TT_KERNEL_INFO_H
#define TT_KERNEL_INFO_H

#include <stddef.h>

#include "backend/backend.h"
#include "backend/groups.h"

enum tt_access { TT_READ = 1, TT_WRITE = 2, TT_READ_WRITE = 3, TT_SCRATCH = 4 };

struct tt_operand {
    size_t field;   /* offset of the pointer in the argument struct */
    double bytes;   /* moved, in one direction */
    double reach;   /* size of the range that may be touched, in bytes from the pointer; 0: the same as `bytes` */
    enum tt_access access;
    const char *name;
};

enum { TT_MAX_OPERANDS = 20 };

const char *tt_kernel_name(enum tt_kernel k);
size_t tt_kernel_args_size(enum tt_kernel k);
const char *tt_group_name(enum tt_group g);

/* All operands except optional ones that are NULL. Returns how many. */
int tt_kernel_operands(enum tt_kernel k, const void *args, struct tt_operand out[TT_MAX_OPERANDS]);
double tt_kernel_flops(enum tt_kernel k, const void *args);

int tt_gemm_operands(const struct tt_gemm *g, struct tt_operand out[TT_MAX_OPERANDS]);
double tt_gemm_flops(const struct tt_gemm *g);
const char *tt_gemm_name(const struct tt_gemm *g); /* "gemm", "gemm_swiglu" */
int64_t tt_gemm_also_cols(const struct tt_gemm *g); /* columns of g->also, which has m rows; 0: there is none */

/* The kernel, with its arguments, that does what g->with says after a plain product. Not for TT_WITH_EXP. */
struct tt_gemm_after {
    enum tt_kernel kernel;
    union {
        struct tt_swiglu_args swiglu;
        struct tt_swiglu_backward_args swiglu_backward;
        struct tt_rope_args rope;
    } args;
};
struct tt_gemm_after tt_gemm_after(const struct tt_gemm *g);

const char *tt_collective_name(enum tt_collective_kind kind); /* "all_reduce" */
int tt_collective_operands(const struct tt_collective *c, struct tt_operand out[TT_MAX_OPERANDS]);
/* The share of all bytes that a rank sends around a ring: 2(n-1)/n for all_reduce, (n-1)/n for the others. Times this
 * factor, the rate of the collective (nccl-tests: algbw) becomes the rate of the links (busbw). */
double tt_bus_factor(enum tt_collective_kind kind, int ranks);
/* Bytes that each rank sends (and receives) in a ring algorithm. No algorithm needs fewer. */
double tt_collective_sent(const struct tt_collective *c);
double tt_collective_messages(const struct tt_collective *c); /* messages in which a rank sends them, one by one */

#endif
