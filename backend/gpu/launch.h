/* One launcher per kernel of kernels.def, and the table over them. Plain C, no vendor header: a backend that owns a
 * stream can call it from anywhere. A launcher enqueues and returns; 0 is success, anything else the vendor's code. */
#ifndef TT_GPU_LAUNCH_H
#define TT_GPU_LAUNCH_H

#include "backend/kernels.h"

typedef void *gpu_stream; /* the vendor's stream handle */
typedef int gpu_error;    /* the vendor's error code */

#ifdef __cplusplus
extern "C" {
#endif

#define TT_KERNEL(name, flops, operands) gpu_error tt_gpu_##name(const struct tt_##name##_args *a, gpu_stream s);
#include "backend/kernels.def"
#undef TT_KERNEL

/* args points to the struct of that kernel. */
gpu_error tt_gpu_launch(enum tt_kernel kernel, const void *args, gpu_stream s);
/* The same; where the vendor's folder has a kernel of its own for this chip and these arguments, by that one. */
gpu_error tt_gpu_launch_native(enum tt_kernel kernel, const void *args, gpu_stream s);
/* Which kernels of its own the vendor's folder has for this chip, in words; NULL: none. */
const char *tt_gpu_native(void);

#ifdef __cplusplus
}
#endif

#endif
