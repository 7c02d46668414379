# HIP on AMD: ROCm's clang++, its libraries, the chips to build for.

include(${dir}/compiler.cmake) # sets rocm, compiler, CMAKE_HIP_COMPILER
include(${dir}/chips.cmake) # sets CMAKE_HIP_ARCHITECTURES
enable_language(HIP)
list(INSERT rocm 0 ${CMAKE_HIP_COMPILER_ROCM_ROOT})

# ---- libraries ----
function(tt_hip_find name header)
  find_path(TT_${name}_INCLUDE ${header} HINTS ${rocm} PATH_SUFFIXES include)
  find_library(TT_${name}_LIBRARY NAMES ${ARGN} HINTS ${rocm} PATH_SUFFIXES lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE})
  mark_as_advanced(TT_${name}_INCLUDE TT_${name}_LIBRARY)
  if(TT_${name}_INCLUDE AND TT_${name}_LIBRARY)
    set(TT_${name} TRUE PARENT_SCOPE)
  else()
    set(TT_${name} FALSE PARENT_SCOPE)
  endif()
endfunction()

tt_hip_find(RUNTIME hip/hip_runtime_api.h amdhip64)
tt_hip_find(HIPBLAS hipblas/hipblas.h hipblas)
tt_hip_find(HIPBLASLT hipblaslt/hipblaslt.h hipblaslt)
tt_hip_find(ROCTX_SDK rocprofiler-sdk-roctx/roctx.h rocprofiler-sdk-roctx)
tt_hip_find(ROCTX_OLD roctracer/roctx.h roctx64) # at the end of its support
if(NOT TT_RUNTIME)
  message(FATAL_ERROR "There is a HIP compiler but no hip/hip_runtime_api.h with libamdhip64; set ROCM_PATH (looked in ${rocm})")
endif()
if(NOT TT_HIPBLAS)
  message(FATAL_ERROR "BACKEND=hip needs hipBLAS: install amdrocm-blas-dev (before ROCm 7.14 hipblas-dev; with rpm "
    "amdrocm-blas-devel, hipblas-devel), or set ROCM_PATH (looked in ${rocm})")
endif()
file(STRINGS ${TT_RUNTIME_INCLUDE}/hip/hip_version.h lines REGEX "define HIP_VERSION_(MAJOR|MINOR)")
string(REGEX REPLACE "[^0-9]*([0-9]+)[^0-9]+([0-9]+).*" "\\1.\\2" TT_HIP_VERSION "${lines}")
if(TT_HIP_VERSION VERSION_LESS 6.2)
  message(FATAL_ERROR "HIP ${TT_HIP_VERSION} is too old; tt needs ROCm 6.2 or later (on a cluster: module load rocm)")
endif()

set(TT_HIP_INCLUDES ${TT_RUNTIME_INCLUDE} ${TT_HIPBLAS_INCLUDE})
set(TT_HIP_DEFINITIONS __HIP_PLATFORM_AMD__)
set(TT_HIP_LIBRARIES ${TT_HIPBLAS_LIBRARY} ${TT_RUNTIME_LIBRARY})
set(TT_HIP_ARCHITECTURES ${CMAKE_HIP_ARCHITECTURES})
set(TT_HIP_BLAS "hipBLAS, no hipBLASLt")
set(TT_HIP_COLLECTIVES rccl/rccl.h rccl ${RCCL_ROOT} $ENV{RCCL_ROOT} ${rocm})

set(TT_ROCTX_HEADER "")
if(TT_ROCTX_SDK)
  set(TT_ROCTX_HEADER rocprofiler-sdk-roctx/roctx.h)
  list(APPEND TT_HIP_INCLUDES ${TT_ROCTX_SDK_INCLUDE})
  list(APPEND TT_HIP_LIBRARIES ${TT_ROCTX_SDK_LIBRARY})
elseif(TT_ROCTX_OLD)
  set(TT_ROCTX_HEADER roctracer/roctx.h)
  list(APPEND TT_HIP_INCLUDES ${TT_ROCTX_OLD_INCLUDE})
  list(APPEND TT_HIP_LIBRARIES ${TT_ROCTX_OLD_LIBRARY})
endif()

# ---- kernels; the options replace those for C ----
set_source_files_properties(${kernels} PROPERTIES LANGUAGE HIP)
add_library(tt_gpu STATIC ${kernels})
target_include_directories(tt_gpu PRIVATE ${PROJECT_SOURCE_DIR} ${dir})
set_target_properties(tt_gpu PROPERTIES HIP_STANDARD 17 HIP_STANDARD_REQUIRED ON HIP_EXTENSIONS OFF CXX_STANDARD 17)
set_property(TARGET tt_gpu PROPERTY COMPILE_OPTIONS -Wall -Wextra)
if(TT_WERROR)
  target_compile_options(tt_gpu PRIVATE -Werror)
endif()
set_property(TARGET tt_backend PROPERTY HIP_ARCHITECTURES ${CMAKE_HIP_ARCHITECTURES}) # not known when it was made

# ---- hipBLASLt: its header is C++ only ----
if(TT_HIPBLASLT)
  include(CheckLanguage)
  check_language(CXX)
  if(NOT CMAKE_CXX_COMPILER)
    set(CMAKE_CXX_COMPILER ${CMAKE_HIP_COMPILER})
  endif()
  enable_language(CXX)
  target_sources(tt_gpu PRIVATE ${dir}/blaslt.cpp)
  target_include_directories(tt_gpu SYSTEM PRIVATE ${TT_HIP_INCLUDES} ${TT_HIPBLASLT_INCLUDE})
  set_property(SOURCE ${dir}/blaslt.cpp APPEND PROPERTY COMPILE_DEFINITIONS ${TT_HIP_DEFINITIONS} HIPBLAS_V2)
  list(PREPEND TT_HIP_LIBRARIES ${TT_HIPBLASLT_LIBRARY})
  set(TT_HIP_BLAS "hipBLASLt and hipBLAS")
else()
  list(APPEND host ${dir}/blaslt_none.c)
endif()
