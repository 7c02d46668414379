/* One launcher per kernel of kernels.def, and a dispatch by id. Plain C without vendor headers. A launcher enqueues the
 * kernel and returns 0, or the vendor's error code. */
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

/* 0 if this program has code for the chip. A launch without it does not always return an error: HIP 7.2 crashes. */
gpu_error tt_gpu_find_code(void);

/* args points to the struct of that kernel. */
gpu_error tt_gpu_launch(enum tt_kernel kernel, const void *args, gpu_stream s);
/* The same, but with a native kernel of the vendor's folder if there is one for this chip and these arguments. crowded:
 * kernels of other streams may hold a part of the chip for long, as collectives do; it changes no bit of the results.
 */
gpu_error tt_gpu_launch_native(enum tt_kernel kernel, const void *args, gpu_stream s, bool crowded);
/* Launches a product with its epilogue (tt_gemm.with) as one native kernel; false if there is none for this chip and
 * these arguments. There are several ways, counted from 0; tt_gpu_products_native is their number on this chip. */
struct tt_gemm;
bool tt_gpu_product_native(const struct tt_gemm *g, int way, gpu_stream s, gpu_error *e);
int tt_gpu_products_native(void);
/* The native kernels for this chip, such as "flash, products: sm_90a"; NULL: none. */
const char *tt_gpu_native(void);

#ifdef __cplusplus
}
#endif

#endif
