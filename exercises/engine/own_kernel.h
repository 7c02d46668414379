/* --own-kernel: a function of a shared library replaces the kernel rmsnorm where that adds a residual first. The
 * library needs only the small header of exercise 10, and is opened only if the option is given. In a plan, the launch
 * has the function's name; a wrapper around the CPU backend calls it. */
#ifndef TT_OWN_KERNEL_H
#define TT_OWN_KERNEL_H

#include "core/config/config.h"
#include "core/plan/plan.h"

#define TT_OWN_KERNEL "residual_norm" /* its name in plans and profiles */

/* An error if --own-kernel is given but this program or this configuration cannot use it: it takes the CPU backend, the
 * fusion norm, and a precision other than fp8. */
tt_status tt_own_kernel_check(const struct tt_config *c);

/* Whether the function can do this launch: rmsnorm in fp32 with a residual and both outputs, `sum` not in the place of
 * an input, and no largest magnitude (amax) to compute. */
bool tt_own_kernel_takes(enum tt_kernel kernel, const void *args);

/* Gives the launches of the plan that the function can do its name. */
void tt_own_kernel_name(struct tt_plan *p);

/* Wraps *b so that such launches call the function in the library at `path`. Closing *b then closes the real backend
 * too. After an error *b is unchanged. */
tt_status tt_own_kernel_wrap(const char *path, struct tt_backend *b);

/* Whether the function was seen to write into its scratch; false for a backend that is not wrapped. */
bool tt_own_kernel_writes_scratch(const struct tt_backend *b);

#endif
