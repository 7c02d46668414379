/* The library for backend/gpu/collectives.c: RCCL, which has the API of NCCL; on NVIDIA GPUs NCCL itself. */
#ifndef TT_GPU_COLLECTIVES_H
#define TT_GPU_COLLECTIVES_H

#include <rccl/rccl.h>

#ifdef __HIP_PLATFORM_NVIDIA__
#define GPU_COLLECTIVES_NAME "NCCL"
#define GPU_COLLECTIVES_PACKAGES "libnccl2"
#define GPU_COLLECTIVES_LIBRARY "libnccl.so.2"
#else
#define GPU_COLLECTIVES_NAME "RCCL"
#define GPU_COLLECTIVES_PACKAGES "rccl (a separate package of ROCm)"
#define GPU_COLLECTIVES_LIBRARY "librccl.so.1"
#endif
#ifndef GPU_COLLECTIVES_SONAME
#define GPU_COLLECTIVES_SONAME GPU_COLLECTIVES_LIBRARY
#endif

#endif
