/* Kernel launches and device queries on the host, by the HIP runtime. For an NVIDIA GPU, nvidia.cmake includes this
 * first, in place of CUDA's; all other names are those of backend/cuda. */
#ifndef TT_GPU_LAUNCHER_H
#define TT_GPU_LAUNCHER_H

#include <hip/hip_runtime.h>
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
    return (gpu_error)hipLaunchKernel((const void *)kernel, grid, dim3(block), list, shared_bytes, (hipStream_t)s);
}
#define GPU_LAUNCH(...) gpu_launch(__VA_ARGS__) /* kernel, grid, block, shared_bytes, stream, args... */

static inline gpu_error gpu_find_code(void (*kernel)(void))
{
    hipFuncAttributes found;
    return (gpu_error)hipFuncGetAttributes(&found, (const void *)kernel);
}

typedef dim3 gpu_grid; /* gpu_grid(x, y, z): x up to 2^31-1, y and z up to 65535 */

static inline int gpu_attribute(hipDeviceAttribute_t which)
{
    int device = 0, value = 0;
    if (hipGetDevice(&device) || hipDeviceGetAttribute(&value, which, device)) return 0;
    return value;
}

/* Lanes of a wave of this chip. */
static inline int gpu_wave_width(void) { return gpu_attribute(hipDeviceAttributeWarpSize); }

/* ---- shared memory ---- */

/* Dynamic shared memory that a kernel gets without hipFuncSetAttribute, and the limit of a block on this chip. AMD GPUs
 * give all that they have without asking. */
#ifdef __HIP_PLATFORM_NVIDIA__
enum { GPU_SHARED_UNASKED = 48 << 10 };
static inline int gpu_shared_limit(void) { return gpu_attribute(hipDeviceAttributeSharedMemPerBlockOptin); }
#else
enum { GPU_SHARED_UNASKED = 64 << 10 };
static inline int gpu_shared_limit(void) { return gpu_attribute(hipDeviceAttributeMaxSharedMemoryPerBlock); }
#endif

template <typename... P> static inline gpu_error gpu_allow_shared(void (*kernel)(P...), size_t bytes)
{
    if (bytes <= GPU_SHARED_UNASKED) return 0;
    return (gpu_error)hipFuncSetAttribute((const void *)kernel, hipFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
}

#endif
