/* --own-kernel: a function of a shared library in the place of the kernel rmsnorm, where that adds a residual first.
 * The library is built against one small header, the one of exercise 10, and opened only when it is asked for. It
 * stands in a plan under its name, and a backend around the CPU's calls it. */
#ifndef TT_OWN_KERNEL_H
#define TT_OWN_KERNEL_H

#include "core/config/config.h"
#include "core/plan/plan.h"

#define TT_OWN_KERNEL "residual_norm" /* its name in plans and profiles */

/* Whether this program and this version of the model have a place for one; fine where none is asked for. */
tt_status tt_own_kernel_check(const struct tt_config *c);

/* Whether such a function can do this launch: fp32, with a residual, no matrix that is two at once, and no largest
 * magnitude to be taken. */
bool tt_own_kernel_takes(enum tt_kernel kernel, const void *args);

/* What of the plan can be done by it stands there under its name. */
void tt_own_kernel_name(struct tt_plan *p);

/* *b becomes a backend that calls the function of this library for such launches, and owns the one it was. After an
 * error it is what it was. */
tt_status tt_own_kernel_wrap(const char *path, struct tt_backend *b);

/* Of a backend that was made so: the function was seen to write into its scratch. */
bool tt_own_kernel_writes_scratch(const struct tt_backend *b);

#endif
