# nvcc and the architectures it compiles for; shared with HIP on an NVIDIA GPU. CUDA 12.2 and later, GPUs from Volta
# (sm_70) on, as far as nvcc supports them. -DCMAKE_CUDA_COMPILER=, -DCMAKE_CUDA_HOST_COMPILER= and
# -DCMAKE_CUDA_ARCHITECTURES= override what is found; -DTT_CUDA_RELEASE=ON builds for one GPU of each generation.

# ---- the compiler ----
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(TT_NVCC nvcc HINTS /usr/local/cuda/bin $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin)
  if(NOT TT_NVCC)
    message(FATAL_ERROR "BACKEND=cuda needs nvcc, and there is none on PATH or in /usr/local/cuda/bin.\n"
      "On a cluster try `module load cuda`; or name it with -DCMAKE_CUDA_COMPILER=.../bin/nvcc; or use -DBACKEND=cpu")
  endif()
  set(CMAKE_CUDA_COMPILER ${TT_NVCC} CACHE FILEPATH "nvcc")
endif()

# ---- the architectures: those of this machine's GPUs, else one of each generation that nvcc knows ----
# Hopper's matrix instructions exist only in code for 90a, which CMake's "native" does not choose.
option(TT_CUDA_RELEASE "Build for one GPU of each generation that nvcc knows, whichever GPUs are here" OFF)
function(tt_cuda_architectures result)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-code OUTPUT_VARIABLE known ERROR_QUIET)
  set(here "")
  find_program(TT_NVIDIA_SMI nvidia-smi)
  mark_as_advanced(TT_NVIDIA_SMI)
  if(TT_NVIDIA_SMI AND NOT TT_CUDA_RELEASE)
    execute_process(COMMAND ${TT_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
      OUTPUT_VARIABLE text RESULT_VARIABLE code ERROR_QUIET)
    if(code EQUAL 0)
      string(REGEX MATCHALL "[0-9]+\\.[0-9]" here "${text}")
      list(REMOVE_DUPLICATES here)
      list(TRANSFORM here REPLACE "\\." "")
    endif()
  endif()
  foreach(sm ${here})
    if(NOT known MATCHES "sm_${sm}([^0-9]|$)")
      set(here "") # newer than this nvcc: the driver compiles the PTX of an older one
    endif()
  endforeach()
  if(NOT here AND CMAKE_CUDA_ARCHITECTURES STREQUAL "native")
    message(FATAL_ERROR "CMAKE_CUDA_ARCHITECTURES=native, but nvidia-smi shows no GPU that this nvcc knows; name the "
      "architecture, such as 90a")
  endif()
  if(NOT here)
    foreach(sm 70 75 80 90 100 120)
      if(known MATCHES "sm_${sm}([^0-9]|$)")
        list(APPEND here ${sm})
      endif()
    endforeach()
  endif()
  if(NOT here)
    set(here 80 90)
  endif()
  list(TRANSFORM here REPLACE "^90$" "90a")
  set(${result} "${here}" PARENT_SCOPE)
endfunction()

if(TT_CUDA_RELEASE OR CMAKE_CUDA_ARCHITECTURES STREQUAL "native" OR
   (NOT CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS}))
  tt_cuda_architectures(TT_CUDA_FOUND)
  set(CMAKE_CUDA_ARCHITECTURES "${TT_CUDA_FOUND}" CACHE STRING "GPU architectures to build for, such as 80;90a" FORCE)
endif()

# ---- the toolkit: nvcc without it, as in some packages, compiles nothing; this message is shorter than CMake's ----
if(CMAKE_CUDA_COMPILER AND NOT TT_CUDA_TOOLKIT_SEEN)
  file(WRITE ${PROJECT_BINARY_DIR}/toolkit.cu "#include <cuda_runtime.h>\n")
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CUDA_FLAGS}")
  if(CMAKE_CUDA_HOST_COMPILER)
    list(APPEND flags -ccbin ${CMAKE_CUDA_HOST_COMPILER})
  endif()
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} ${flags} -c ${PROJECT_BINARY_DIR}/toolkit.cu
    -o ${PROJECT_BINARY_DIR}/toolkit.o
    OUTPUT_QUIET ERROR_VARIABLE why RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    string(STRIP "${why}" why)
    string(REGEX REPLACE "\n.*" "" why "${why}")
    message(FATAL_ERROR "${CMAKE_CUDA_COMPILER} cannot compile: ${why}\n"
      "Install the whole CUDA toolkit, 12.2 or later (on a cluster: module load cuda); or name the nvcc of one with "
      "-DCMAKE_CUDA_COMPILER=.../bin/nvcc; or use -DBACKEND=cpu")
  endif()
  set(TT_CUDA_TOOLKIT_SEEN TRUE CACHE INTERNAL "nvcc compiles with its toolkit")
endif()

enable_language(CUDA)
find_package(CUDAToolkit QUIET)
if(NOT CUDAToolkit_FOUND)
  message(FATAL_ERROR "There is nvcc (${CMAKE_CUDA_COMPILER}), but no CUDA toolkit that belongs to it.\n"
    "Install the whole toolkit, 12.2 or later (on a cluster: module load cuda); or name its folder with "
    "-DCUDAToolkit_ROOT=; or use -DBACKEND=cpu")
endif()
if(CUDAToolkit_VERSION VERSION_LESS 12.2)
  message(FATAL_ERROR "CUDA ${CUDAToolkit_VERSION} is too old; tt needs 12.2 or later (on a cluster: module load cuda)")
endif()

# CMake takes the toolkit's library folder for a system folder and leaves it out of the rpath. Add it, so that programs
# start in a shell that has not loaded the toolkit's module:
if(CUDAToolkit_LIBRARY_DIR AND NOT CUDAToolkit_LIBRARY_DIR IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
  list(APPEND CMAKE_BUILD_RPATH ${CUDAToolkit_LIBRARY_DIR})
  list(APPEND CMAKE_INSTALL_RPATH ${CUDAToolkit_LIBRARY_DIR})
endif()

# tt_cuda_kernels(FILES...): the library tt_gpu
function(tt_cuda_kernels)
  add_library(tt_gpu STATIC ${ARGN})
  target_include_directories(tt_gpu PRIVATE ${PROJECT_SOURCE_DIR})
  set_target_properties(tt_gpu PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF)
  # Replaces the options for C, which nvcc does not accept. -lineinfo lets a profiler show source lines; it does not change
  # the code.
  set_property(TARGET tt_gpu PROPERTY COMPILE_OPTIONS -lineinfo -Xcompiler=-Wall,-Wextra)
  if(TT_WERROR)
    target_compile_options(tt_gpu PRIVATE "SHELL:-Werror all-warnings")
  endif()
endfunction()
