# Sets CMAKE_HIP_ARCHITECTURES, the AMD chips to build for: those asked for, those of this machine, else one of each kind that
# the compiler knows. Refuses chips that the kernels do not support, and names those on which they are slow.

# ---- chips that the compiler knows ----
execute_process(COMMAND ${compiler} --target=amdgcn-amd-amdhsa --print-supported-cpus -x c /dev/null
  OUTPUT_VARIABLE text ERROR_VARIABLE more)
string(REGEX MATCHALL "gfx[0-9][0-9a-z-]+" known "${text}${more}")

# ---- chips of this machine: by rocm_agent_enumerator, a Python script, or amdgpu-arch of the compiler ----
function(tt_hip_chips_here result)
  set(here "")
  get_filename_component(beside "${compiler}" DIRECTORY)
  foreach(name rocm_agent_enumerator amdgpu-arch)
    find_program(TT_HIP_${name} ${name} HINTS ${rocm} ${beside} PATH_SUFFIXES bin)
    mark_as_advanced(TT_HIP_${name})
    if(TT_HIP_${name} AND NOT here)
      execute_process(COMMAND ${TT_HIP_${name}} OUTPUT_VARIABLE text ERROR_QUIET)
      string(REGEX MATCHALL "gfx[^ \t\r\n]+" here "${text}")
      list(TRANSFORM here REPLACE ":.*" "")
      list(FILTER here INCLUDE REGEX "^gfx[0-9a-f][0-9a-f][0-9a-f]+$") # no generic targets, which some versions also list
      list(REMOVE_ITEM here gfx000) # the CPU
      list(REMOVE_DUPLICATES here)
    endif()
  endforeach()
  set(${result} "${here}" PARENT_SCOPE)
endfunction()

# either variable may be `native`: the chip of this machine
set(native "")
if(GPU_TARGETS STREQUAL "native")
  set(native GPU_TARGETS)
elseif(NOT GPU_TARGETS AND CMAKE_HIP_ARCHITECTURES STREQUAL "native")
  set(native CMAKE_HIP_ARCHITECTURES)
endif()

if(GPU_TARGETS AND NOT native)
  set(CMAKE_HIP_ARCHITECTURES "${GPU_TARGETS}" CACHE STRING "AMD chips to build for" FORCE)
elseif(native OR NOT CMAKE_HIP_ARCHITECTURES)
  set(found "")
  if(native OR EXISTS /dev/kfd)
    tt_hip_chips_here(found)
  endif()
  if(native AND NOT found)
    message(FATAL_ERROR "${native}=native, but no AMD GPU is found here; name the chip (rocminfo does), such as "
      "-DGPU_TARGETS=gfx942")
  endif()
  if(NOT found)
    set(found gfx90a gfx942 gfx950 gfx1100 gfx1201)
    if(known)
      foreach(chip ${found})
        if(NOT chip IN_LIST known)
          list(REMOVE_ITEM found ${chip})
        endif()
      endforeach()
    endif()
  endif()
  set(CMAKE_HIP_ARCHITECTURES "${found}" CACHE STRING "AMD chips to build for" FORCE)
endif()

# ---- unsupported chips, and slow ones ----
set(slow "")
foreach(chip ${CMAKE_HIP_ARCHITECTURES})
  if(NOT chip MATCHES "^gfx[0-9a-f]+(-[0-9]+)?(-generic)?(:(sramecc|xnack)[-+])*$")
    message(FATAL_ERROR "'${chip}' is not an AMD chip; GPU_TARGETS is a list such as \"gfx90a;gfx942;gfx1100\" "
      "(rocminfo names the chip of a machine)")
  endif()
  string(REGEX REPLACE ":.*" "" name ${chip})
  if(NOT name MATCHES "^gfx(9|1[0-2])")
    message(FATAL_ERROR "The kernels are not for ${name}: they need gfx9 (Vega, CDNA) to gfx12 (RDNA 4); choose with "
      "GPU_TARGETS, or use -DBACKEND=cpu")
  endif()
  if(known AND NOT name IN_LIST known)
    message(FATAL_ERROR "This compiler makes no code for ${name}: ${compiler}\nTake a ROCm that knows the chip, or another "
      "chip; it knows ${known}")
  endif()
  if(NOT name MATCHES "^gfx(90a|94.|950|9-4-generic|11..|11-generic|120.|12-generic)$")
    list(APPEND slow ${name})
  endif()
endforeach()
if(slow)
  string(REPLACE ";" ", " slow "${slow}")
  message(STATUS "tt: the kernels use no matrix instructions on ${slow}; attention is correct there, but slow")
endif()
