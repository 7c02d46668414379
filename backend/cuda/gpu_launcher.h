/* Kernel launches and device queries on the host, by the CUDA runtime. backend/hip has a file with the same names and
 * include guard; for HIP on an NVIDIA GPU it is included first, and the rest of gpu_platform.h is used unchanged. */
#ifndef TT_GPU_LAUNCHER_H
#define TT_GPU_LAUNCHER_H

#include <cuda_runtime.h>
#include <stddef.h>

#include "backend/gpu/launch.h"

template <typename P> struct gpu_same {
    typedef P type;
};

/* A grid without blocks does nothing. */
template <typename... P>
static inline gpu_error gpu_launch(void (*kernel)(P...), dim3 grid, unsigned block, size_t shared_bytes, gpu_stream s,
                                   typename gpu_same<P>::type... args)
{
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return 0;
    void *list[] = {(void *)&args...};
    return (gpu_error)cudaLaunchKernel((const void *)kernel, grid, dim3(block), list, shared_bytes, (cudaStream_t)s);
}
#define GPU_LAUNCH(...) gpu_launch(__VA_ARGS__) /* kernel, grid, block, shared_bytes, stream, args... */

static inline gpu_error gpu_find_code(void (*kernel)(void))
{
    cudaFuncAttributes found;
    return (gpu_error)cudaFuncGetAttributes(&found, (const void *)kernel);
}

typedef dim3 gpu_grid; /* gpu_grid(x, y, z): x up to 2^31-1, y and z up to 65535 */

/* Lanes of a wave of this chip. */
static inline int gpu_wave_width(void) { return 32; }

/* ---- shared memory ---- */

/* Dynamic shared memory that a kernel gets without cudaFuncSetAttribute. */
enum { GPU_SHARED_UNASKED = 48 << 10 };

template <typename... P> static inline gpu_error gpu_allow_shared(void (*kernel)(P...), size_t bytes)
{
    if (bytes <= GPU_SHARED_UNASKED) return 0;
    return (gpu_error)cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           (int)bytes);
}

static inline int gpu_attribute(enum cudaDeviceAttr which)
{
    int device = 0, value = 0;
    if (cudaGetDevice(&device) || cudaDeviceGetAttribute(&value, which, device)) return 0;
    return value;
}
static inline int gpu_shared_limit(void) { return gpu_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin); }

/* ---- native kernels ---- */

/* native.cu: launches a kernel for this architecture only, if there is one for these arguments; and the names of these
 * kernels, or NULL. A platform without any does not define GPU_HAS_NATIVE. */
#define GPU_HAS_NATIVE 1
bool gpu_native_launch(enum tt_kernel kernel, const void *args, gpu_stream s, bool crowded, gpu_error *e);
struct tt_gemm;
bool gpu_native_product(const struct tt_gemm *g, int way, gpu_stream s, gpu_error *e);
int gpu_native_products(void);
const char *gpu_native_name(void);

#endif
