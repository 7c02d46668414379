/* The library for backend/gpu/collectives.c: NCCL. */
#ifndef TT_GPU_COLLECTIVES_H
#define TT_GPU_COLLECTIVES_H

#include <nccl.h>

#define GPU_COLLECTIVES_NAME "NCCL"
#define GPU_COLLECTIVES_PACKAGES "libnccl2 (a module called nccl, or the wheel nvidia-nccl)"
#ifndef GPU_COLLECTIVES_SONAME
#define GPU_COLLECTIVES_SONAME "libnccl.so.2"
#endif

#endif
