/* Dispatch from a kernel's id to its launcher. If a launcher is missing, this does not link. */
#include "backend/gpu/platform.h"

gpu_error tt_gpu_launch(enum tt_kernel kernel, const void *args, gpu_stream s)
{
    switch (kernel) {
#define TT_KERNEL(name, flops, operands)                                                                               \
    case TT_K_##name:                                                                                                  \
        return tt_gpu_##name((const struct tt_##name##_args *)args, s);
#include "backend/kernels.def"
#undef TT_KERNEL
    case TT_KERNELS:
        break;
    }
    return -1;
}

/* Only looked up, to find out whether there is code for the chip; never launched. */
GPU_KERNEL any_kernel(void) {}

gpu_error tt_gpu_find_code(void) { return gpu_find_code(any_kernel); }

#ifdef GPU_HAS_NATIVE
gpu_error tt_gpu_launch_native(enum tt_kernel kernel, const void *args, gpu_stream s, bool crowded)
{
    gpu_error e = 0;
    return gpu_native_launch(kernel, args, s, crowded, &e) ? e : tt_gpu_launch(kernel, args, s);
}

bool tt_gpu_product_native(const struct tt_gemm *g, int way, gpu_stream s, gpu_error *e)
{
    return gpu_native_product(g, way, s, e);
}

int tt_gpu_products_native(void) { return gpu_native_products(); }
const char *tt_gpu_native(void) { return gpu_native_name(); }
#else
gpu_error tt_gpu_launch_native(enum tt_kernel kernel, const void *args, gpu_stream s, bool crowded)
{
    (void)crowded;
    return tt_gpu_launch(kernel, args, s);
}

bool tt_gpu_product_native(const struct tt_gemm *, int, gpu_stream, gpu_error *) { return false; }
int tt_gpu_products_native(void) { return 0; }
const char *tt_gpu_native(void) { return NULL; }
#endif
