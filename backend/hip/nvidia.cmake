# HIP on an NVIDIA GPU: the same files compiled by nvcc, HIP's headers over the CUDA runtime, hipBLAS and rocTX as thin
# headers over cuBLAS and NVTX. The kernels use backend/cuda's gpu_platform.h with HIP's launcher, which is included first
# and so replaces CUDA's. Native kernels of NVIDIA architectures are not built.

set(TT_HIP_NVIDIA_HEADERS "" CACHE PATH "HIP's headers for NVIDIA, as `tests/backend/hip/nvidia.sh headers DIR` makes them")
if(NOT EXISTS ${TT_HIP_NVIDIA_HEADERS}/hip/hip_runtime_api.h)
  message(FATAL_ERROR "HIP_PLATFORM=nvidia needs HIP's headers for NVIDIA: run `tests/backend/hip/nvidia.sh headers DIR`, then "
    "give -DTT_HIP_NVIDIA_HEADERS=DIR")
endif()
include(${PROJECT_SOURCE_DIR}/backend/cuda/compiler.cmake)

set(TT_HIP_INCLUDES ${TT_HIP_NVIDIA_HEADERS} ${CUDAToolkit_INCLUDE_DIRS})
set(TT_HIP_DEFINITIONS __HIP_PLATFORM_NVIDIA__)
set(TT_HIP_LIBRARIES CUDA::cublas CUDA::cudart_static ${CMAKE_DL_LIBS})
set(TT_HIP_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES})
set(TT_HIP_BLAS "hipBLAS over cuBLAS")
set(TT_HIP_VERSION "over CUDA ${CUDAToolkit_VERSION}")
set(TT_ROCTX_HEADER roctracer/roctx.h)
find_path(TT_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
mark_as_advanced(TT_NCCL_INCLUDE)
set(TT_HIP_COLLECTIVES rccl/rccl.h nccl ${CUDAToolkit_LIBRARY_DIR})
if(TT_NCCL_INCLUDE) # without NCCL the header is useless
  list(APPEND TT_HIP_COLLECTIVES ${TT_HIP_NVIDIA_HEADERS})
endif()
list(APPEND host ${dir}/blaslt_none.c)

tt_cuda_kernels(${kernels})
target_include_directories(tt_gpu PRIVATE ${PROJECT_SOURCE_DIR}/backend/cuda)
target_compile_options(tt_gpu PRIVATE "SHELL:-include ${dir}/gpu_launcher.h")
target_include_directories(tt_gpu SYSTEM PRIVATE ${TT_HIP_INCLUDES})
target_compile_definitions(tt_gpu PRIVATE ${TT_HIP_DEFINITIONS})
set_property(TARGET tt_backend PROPERTY CUDA_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES}) # not known when it was made
