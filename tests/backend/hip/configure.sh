#!/usr/bin/env bash
# Configures the HIP backend with a real ROCm (sysroot.sh). It is found in the layouts of AMD's packages, and `native`
# means the chip in this machine. What cannot work is refused with one message of ours before CMake's own.
set -uo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
cd -- "$here/../../.." && . tests/lib.sh
rocm=$("$here/sysroot.sh")/sysroot/opt/rocm
status=$?
[ $status = 0 ] || exit $status
shown=log
unset ROCM_PATH HIP_PATH HIPCXX HIPFLAGS CMAKE_GENERATOR

configure() { # configure [-D...]: leaves its output, joined into one line, in $dir/log
    rm -rf "$dir/build"
    cmake -S "$root" -B "$dir/build" -DBACKEND=hip -DBUILD_TESTING=OFF "$@" >"$dir/raw" 2>&1
    status=$?
    tr '\n' ' ' <"$dir/raw" | tr -s ' ' >"$dir/log" # CMake breaks lines anywhere
}
finds() { # finds WORDS [-D...]
    local words=$1
    shift
    checks=$((checks + 1))
    configure "$@"
    [ $status = 0 ] && grep -qF -- "$words" "$dir/log" || fail "configuring with $* exits $status, or does not say: $words"
}
refuses() { # refuses WORDS [-D...]
    local words=$1
    shift
    checks=$((checks + 1))
    configure "$@"
    if [ $status = 0 ] || ! grep -qF -- "$words" "$dir/log"; then fail "configuring with $* exits $status, or does not say: $words"; fi
    ! grep -q 'CMakeDetermine' "$dir/log" || fail "configuring with $*: CMake refuses it first"
}

# ---- where ROCm is ----
mkdir -p "$dir/new" "$dir/bin"
ln -s "$rocm" "$dir/new/core-7.14"
finds 'for gfx942;' -DROCM_PATH="$dir/new" -DGPU_TARGETS=gfx942 # no link called core, as without the meta package

# ---- which chip this machine has ----
printf '#!/bin/sh\necho gfx000\necho gfx90a\necho gfx90a\n' >"$dir/bin/rocm_agent_enumerator"
chmod +x "$dir/bin/rocm_agent_enumerator"
PATH=$dir/bin:$PATH finds 'for gfx90a;' -DROCM_PATH="$rocm" -DCMAKE_HIP_ARCHITECTURES=native
if [ ! -e /dev/kfd ]; then
    refuses 'GPU_TARGETS=native, but no AMD GPU is found here' -DROCM_PATH="$rocm" -DGPU_TARGETS=native
    refuses 'CMAKE_HIP_ARCHITECTURES=native, but no AMD GPU is found here' -DROCM_PATH="$rocm" -DCMAKE_HIP_ARCHITECTURES=native
fi
refuses 'The kernels are not for gfx803: they need gfx9 (Vega, CDNA) to gfx12 (RDNA 4); choose with GPU_TARGETS' \
    -DROCM_PATH="$rocm" -DGPU_TARGETS=gfx803
refuses "'gfx9x' is not an AMD chip" -DROCM_PATH="$rocm" -DGPU_TARGETS=gfx9x
refuses 'This compiler makes no code for gfx999' -DROCM_PATH="$rocm" -DGPU_TARGETS=gfx999

# ---- which compiler ----
printf '#!/bin/sh\necho "clang: error: cannot find ROCm device library" >&2\nexit 1\n' >"$dir/bin/clang++"
chmod +x "$dir/bin/clang++"
cp "$dir/bin/clang++" "$dir/bin/hipcc"
refuses "CMAKE_HIP_COMPILER=$dir/bin/clang++ does not compile for AMD GPUs: clang: error: cannot find ROCm device library" \
    -DROCM_PATH="$rocm" -DCMAKE_HIP_COMPILER="$dir/bin/clang++"
refuses "CMAKE_HIP_COMPILER=$dir/none/clang++ does not exist" -DROCM_PATH="$rocm" -DCMAKE_HIP_COMPILER="$dir/none/clang++"
refuses "CMAKE_HIP_COMPILER=$dir/bin/hipcc is the hipcc wrapper" -DROCM_PATH="$rocm" -DCMAKE_HIP_COMPILER="$dir/bin/hipcc"
HIPCXX=$dir/none/clang++ refuses "HIPCXX=$dir/none/clang++ does not exist" -DROCM_PATH="$rocm"

passed "$checks ways to configure"
finish
