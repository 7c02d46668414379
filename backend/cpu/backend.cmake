# The CPU backend. Its kernels are compiled once per instruction set and chosen when the program starts, so that one
# binary runs well on all nodes of a cluster.

set(dir ${PROJECT_SOURCE_DIR}/backend/cpu)
target_sources(tt_backend PRIVATE ${dir}/cpu.c ${dir}/machine.c ${dir}/blas.c ${dir}/streams.c ${dir}/worker.c)

if(TT_OPENMP)
  find_package(OpenMP COMPONENTS C)
  if(OpenMP_C_FOUND)
    target_link_libraries(tt_backend PUBLIC OpenMP::OpenMP_C)
  else()
    message(STATUS "tt: no OpenMP; the CPU backend will use one thread")
  endif()
endif()

if(TT_BLAS)
  find_path(TT_CBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas openblas-pthread ${CMAKE_LIBRARY_ARCHITECTURE})
  find_library(TT_CBLAS_LIBRARY NAMES openblas blis cblas)
  if(TT_CBLAS_INCLUDE AND TT_CBLAS_LIBRARY)
    target_include_directories(tt_backend PRIVATE ${TT_CBLAS_INCLUDE})
    target_link_libraries(tt_backend PUBLIC ${TT_CBLAS_LIBRARY})
    target_compile_definitions(tt_backend PRIVATE TT_HAVE_CBLAS)
    if(NOT TT_SANITIZE) # start.c runs before the sanitizer is initialised
      set(TT_START ${dir}/start.c) # linked into the program only
    endif()
    message(STATUS "tt: BLAS ${TT_CBLAS_LIBRARY}")
  else()
    message(STATUS "tt: no CBLAS found; using the built-in GEMM (libopenblas-dev makes training faster)")
  endif()
endif()

if(TT_MPI)
  find_package(MPI COMPONENTS C)
endif()
if(TT_MPI AND MPI_C_FOUND AND MPIEXEC_EXECUTABLE)
  target_sources(tt_backend PRIVATE ${dir}/collectives.c ${dir}/mpi.c)
  target_link_libraries(tt_backend PUBLIC MPI::MPI_C)
  target_compile_definitions(tt_backend PRIVATE TT_MPIRUN="${MPIEXEC_EXECUTABLE}")
else()
  target_sources(tt_backend PRIVATE ${dir}/mpi_none.c)
  message(STATUS "tt: no MPI; CPUs compute alone (libopenmpi-dev or a module with MPI lets them train together)")
endif()

# One object library per instruction set, each from the same kernels.c.
set(isas base)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND isas v3 v4)
  set(flags_v3 -march=x86-64-v3 -mtune=generic)
  set(flags_v4 -march=x86-64-v4 -mprefer-vector-width=512 -mtune=generic)
  # Where uses after return are looked for, frames may lie at odd multiples of 32 bytes, and gcc 12 takes them for multiples
  # of 64, the size of these vectors.
  if(TT_SANITIZE AND CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 14)
    list(APPEND flags_v4 "SHELL:--param asan-use-after-return=0")
  endif()
endif()
foreach(isa ${isas})
  add_library(tt_cpu_${isa} OBJECT ${dir}/kernels.c)
  target_include_directories(tt_cpu_${isa} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(tt_cpu_${isa} PRIVATE TT_ISA=${isa} _GNU_SOURCE)
  target_compile_options(tt_cpu_${isa} PRIVATE
    -O3 -ffp-contract=fast -fno-math-errno -fno-trapping-math -fopenmp-simd
    $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed> ${flags_${isa}})
  if(OpenMP_C_FOUND)
    target_link_libraries(tt_cpu_${isa} PRIVATE OpenMP::OpenMP_C)
  endif()
  target_sources(tt_backend PRIVATE $<TARGET_OBJECTS:tt_cpu_${isa}>)
endforeach()

# The matrix units of x86, for compilers that know them.
set(amx_flags -mamx-tile -mamx-bf16 -mprfchw)
include(CheckCSourceCompiles)
string(JOIN " " CMAKE_REQUIRED_FLAGS -march=x86-64-v4 ${amx_flags})
check_c_source_compiles("#include <immintrin.h>
  int main(void) { _tile_zero(0); _tile_dpbf16ps(0, 1, 2); return 0; }" TT_COMPILES_AMX)
unset(CMAKE_REQUIRED_FLAGS)
if(TT_COMPILES_AMX)
  add_library(tt_cpu_amx OBJECT ${dir}/amx.c)
  target_include_directories(tt_cpu_amx PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(tt_cpu_amx PRIVATE -O3 ${flags_v4} ${amx_flags})
  if(OpenMP_C_FOUND)
    target_link_libraries(tt_cpu_amx PRIVATE OpenMP::OpenMP_C)
  endif()
  target_sources(tt_backend PRIVATE $<TARGET_OBJECTS:tt_cpu_amx>)
else()
  target_sources(tt_backend PRIVATE ${dir}/amx_none.c)
endif()
