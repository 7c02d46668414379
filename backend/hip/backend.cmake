# The HIP backend: host code in C against the HIP runtime and hipBLAS, kernels of backend/gpu by the HIP compiler.
# ROCm 6.2 and later. -DGPU_TARGETS="gfx90a;gfx942" (or CMAKE_HIP_ARCHITECTURES) chooses the chips, ROCM_PATH the ROCm,
# -DCMAKE_HIP_COMPILER= the clang++ that compiles for them.
#
# -DHIP_PLATFORM=nvidia compiles the same backend with nvcc and HIP's NVIDIA headers and runs on an NVIDIA GPU, to test the
# host code without an AMD GPU. It needs -DTT_HIP_NVIDIA_HEADERS=DIR, a folder made by tests/backend/hip/nvidia.sh.

set(dir ${PROJECT_SOURCE_DIR}/backend/hip)
set(GPU_TARGETS "" CACHE STRING "AMD chips to build for, such as gfx90a;gfx942; empty: those here, else one of each kind")
set(HIP_PLATFORM amd CACHE STRING "amd, or nvidia to run the HIP backend on an NVIDIA GPU")
if(NOT HIP_PLATFORM MATCHES "^(amd|nvidia)$")
  message(FATAL_ERROR "HIP_PLATFORM=${HIP_PLATFORM} is not a platform of HIP; use amd or nvidia")
endif()

file(GLOB kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/backend/gpu/*.cu ${dir}/*.cu)
file(GLOB host CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/backend/gpu/*.c)
list(APPEND host ${dir}/device.c ${dir}/error.c ${dir}/blas.c ${dir}/rocblas.c ${dir}/usage.c)

include(${dir}/${HIP_PLATFORM}.cmake) # defines the target tt_gpu of the kernels; sets TT_HIP_*

# ---- host code: backend/gpu in vendor-neutral names, and this folder ----
target_sources(tt_backend PRIVATE ${host})
target_include_directories(tt_backend PRIVATE ${dir}) # gpu_runtime.h
target_include_directories(tt_backend SYSTEM PRIVATE ${TT_HIP_INCLUDES})
target_compile_definitions(tt_backend PRIVATE ${TT_HIP_DEFINITIONS} HIPBLAS_V2)
target_link_libraries(tt_backend PUBLIC tt_gpu ${TT_HIP_LIBRARIES})
string(REPLACE ";" ", " architectures "${TT_HIP_ARCHITECTURES}")
set_property(SOURCE ${dir}/error.c APPEND PROPERTY COMPILE_DEFINITIONS "TT_HIP_ARCHITECTURES=\"${architectures}\"")

if(TT_ROCTX_HEADER)
  target_sources(tt_backend PRIVATE ${dir}/marks.c)
  set_property(SOURCE ${dir}/marks.c APPEND PROPERTY COMPILE_DEFINITIONS "TT_ROCTX_HEADER=<${TT_ROCTX_HEADER}>")
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/backend/gpu/vtable.c APPEND PROPERTY COMPILE_DEFINITIONS TT_GPU_MARKS)
else()
  message(STATUS "tt: no rocTX; profilers will show kernels without the names of their phases")
endif()

include(${PROJECT_SOURCE_DIR}/backend/gpu/collectives.cmake)
tt_gpu_collectives(${TT_HIP_COLLECTIVES})
message(STATUS "tt: ${TT_COLLECTIVES}")

message(STATUS "tt: HIP ${TT_HIP_VERSION} for ${architectures}; ${TT_HIP_BLAS}")
