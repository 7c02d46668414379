# The CUDA backend: host code in C against the CUDA runtime and cuBLASLt, kernels of backend/gpu by nvcc.

set(dir ${PROJECT_SOURCE_DIR}/backend/cuda)
include(${dir}/compiler.cmake)
if(NOT TARGET CUDA::cublasLt OR NOT TARGET CUDA::cudart_static)
  message(FATAL_ERROR "The CUDA toolkit of ${CMAKE_CUDA_COMPILER} has no cuBLASLt or no static runtime.\n"
    "Install the packages with the libraries and headers of cuBLAS and cudart; or use -DBACKEND=cpu")
endif()

# ---- kernels ----
file(GLOB kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/backend/gpu/*.cu ${dir}/*.cu)
tt_cuda_kernels(${kernels})
target_include_directories(tt_gpu PRIVATE ${dir})

# ---- host code: backend/gpu in vendor-neutral names, and this folder ----
file(GLOB host CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/backend/gpu/*.c ${dir}/*.c)
list(REMOVE_ITEM host ${dir}/marks.c)
target_sources(tt_backend PRIVATE ${host})
set_property(TARGET tt_backend PROPERTY CUDA_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES}) # not known when it was made
string(REPLACE ";" ", " architectures "${CMAKE_CUDA_ARCHITECTURES}")
set_property(SOURCE ${dir}/error.c APPEND PROPERTY COMPILE_DEFINITIONS "TT_CUDA_ARCHITECTURES=\"${architectures}\"")
target_include_directories(tt_backend PRIVATE ${dir}) # gpu_runtime.h
target_include_directories(tt_backend SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
target_link_libraries(tt_backend PUBLIC tt_gpu CUDA::cublasLt CUDA::cudart_static ${CMAKE_DL_LIBS})

find_file(TT_NVTX_HEADER nvtx3/nvToolsExt.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
mark_as_advanced(TT_NVTX_HEADER)
if(TT_NVTX_HEADER)
  target_sources(tt_backend PRIVATE ${dir}/marks.c)
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/backend/gpu/vtable.c APPEND PROPERTY COMPILE_DEFINITIONS TT_GPU_MARKS)
else()
  message(STATUS "tt: no nvtx3/nvToolsExt.h; profilers will show kernels without the names of their phases")
endif()

# NCCL: of the toolkit, a module, or the wheel in an environment of Python
include(${PROJECT_SOURCE_DIR}/backend/gpu/collectives.cmake)
file(GLOB wheels $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia/nccl $ENV{CONDA_PREFIX}/lib/python3*/site-packages/nvidia/nccl)
tt_gpu_collectives(nccl.h "nccl;libnccl.so.2" ${NCCL_HOME} ${NCCL_ROOT} $ENV{NCCL_HOME} $ENV{NCCL_ROOT} ${CUDAToolkit_INCLUDE_DIRS}
  ${CUDAToolkit_LIBRARY_DIR} ${wheels})
message(STATUS "tt: ${TT_COLLECTIVES}")

message(STATUS "tt: CUDA ${CUDAToolkit_VERSION} for architectures ${architectures}")
