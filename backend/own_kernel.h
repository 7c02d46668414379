/* --own-kernel: a function of a shared library in the place of the kernel rmsnorm, where that adds a residual first.
 * The library is built against one small header, the one of exercise 10, and opened only when it is asked for. */
#ifndef TT_OWN_KERNEL_H
#define TT_OWN_KERNEL_H

#include "backend/kernels.h"
#include "core/base/status.h"
#include "exercises/10-own-kernel/kernel.h"

#define TT_OWN_KERNEL "residual_norm" /* its name in plans and profiles */

struct tt_own_kernel {
    void *library; /* NULL: none was asked for */
    void (*run)(const struct residual_norm *a);
    bool looked,
        writes_scratch; /* whether it was seen how it treats its scratch, and that it wrote there: it is not fused */
};

/* Closing one that was never opened is fine. */
tt_status tt_own_kernel_open(const char *path, struct tt_own_kernel *out);
void tt_own_kernel_close(struct tt_own_kernel *k);

/* Whether such a function can do this launch: fp32, with a residual, and no matrix that is two at once. */
bool tt_own_kernel_takes(enum tt_kernel kernel, const void *args);

/* The launch as the function wants it, rows first .. first + count of it, without scratch. */
struct residual_norm tt_own_kernel_args(const struct tt_rmsnorm_args *a, int64_t first, int64_t count);

#endif
