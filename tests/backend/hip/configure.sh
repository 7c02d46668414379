#!/usr/bin/env bash
# Configuring the HIP backend with a real ROCm (sysroot.sh): it is found in the layouts of AMD's packages, `native` is the
# chip that is here, and what cannot work is refused in one message of ours, before CMake's own.
set -uo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
root=$(cd -- "$here/../../.." && pwd -P)
dir=$("$here/sysroot.sh")
status=$?
[ $status = 0 ] || exit $status
rocm=$dir/sysroot/opt/rocm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset ROCM_PATH HIP_PATH HIPCXX HIPFLAGS CMAKE_GENERATOR
checks=0 failures=0
fail() { # fail WHAT...
    failures=$((failures + 1))
    echo "FAIL $*"
    sed 's/^/    /' "$work/log"
}

configure() { # configure [-D...]: its output, as lines of words, in $work/log
    rm -rf "$work/build"
    cmake -S "$root" -B "$work/build" -DBACKEND=hip -DBUILD_TESTING=OFF "$@" >"$work/raw" 2>&1
    status=$?
    tr '\n' ' ' <"$work/raw" | tr -s ' ' >"$work/log" # CMake breaks lines where it likes
}
finds() { # finds WORDS [-D...]
    local words=$1
    shift
    checks=$((checks + 1))
    configure "$@"
    [ $status = 0 ] && grep -qF -- "$words" "$work/log" || fail "configuring with $* exits $status, or does not say: $words"
}
refuses() { # refuses WORDS [-D...]
    local words=$1
    shift
    checks=$((checks + 1))
    configure "$@"
    if [ $status = 0 ] || ! grep -qF -- "$words" "$work/log"; then fail "configuring with $* exits $status, or does not say: $words"; fi
    ! grep -q 'CMakeDetermine' "$work/log" || fail "configuring with $*: CMake refuses it first"
}

# ---- where ROCm is ----
mkdir -p "$work/new" "$work/bin"
ln -s "$rocm" "$work/new/core-7.14"
finds 'for gfx942;' -DROCM_PATH="$work/new" -DGPU_TARGETS=gfx942 # no link called core, as without the meta package

# ---- which chip is here ----
printf '#!/bin/sh\necho gfx000\necho gfx90a\necho gfx90a\n' >"$work/bin/rocm_agent_enumerator"
chmod +x "$work/bin/rocm_agent_enumerator"
PATH=$work/bin:$PATH finds 'for gfx90a;' -DROCM_PATH="$rocm" -DCMAKE_HIP_ARCHITECTURES=native
if [ ! -e /dev/kfd ]; then
    refuses 'GPU_TARGETS=native, but no AMD GPU is found here' -DROCM_PATH="$rocm" -DGPU_TARGETS=native
    refuses 'CMAKE_HIP_ARCHITECTURES=native, but no AMD GPU is found here' -DROCM_PATH="$rocm" -DCMAKE_HIP_ARCHITECTURES=native
fi
refuses 'The kernels are not for gfx803: they need gfx9 (Vega, CDNA) to gfx12 (RDNA 4); choose with GPU_TARGETS' \
    -DROCM_PATH="$rocm" -DGPU_TARGETS=gfx803
refuses "'gfx9x' is no AMD chip" -DROCM_PATH="$rocm" -DGPU_TARGETS=gfx9x
refuses 'This compiler makes no code for gfx999' -DROCM_PATH="$rocm" -DGPU_TARGETS=gfx999

# ---- which compiler ----
printf '#!/bin/sh\necho "clang: error: cannot find ROCm device library" >&2\nexit 1\n' >"$work/bin/clang++"
chmod +x "$work/bin/clang++"
cp "$work/bin/clang++" "$work/bin/hipcc"
refuses "CMAKE_HIP_COMPILER=$work/bin/clang++ does not compile for AMD GPUs: clang: error: cannot find ROCm device library" \
    -DROCM_PATH="$rocm" -DCMAKE_HIP_COMPILER="$work/bin/clang++"
refuses "CMAKE_HIP_COMPILER=$work/none/clang++ is not there" -DROCM_PATH="$rocm" -DCMAKE_HIP_COMPILER="$work/none/clang++"
refuses "CMAKE_HIP_COMPILER=$work/bin/hipcc is the hipcc wrapper" -DROCM_PATH="$rocm" -DCMAKE_HIP_COMPILER="$work/bin/hipcc"
HIPCXX=$work/none/clang++ refuses "HIPCXX=$work/none/clang++ is not there" -DROCM_PATH="$rocm"

[ $failures = 0 ] && echo "ok   $checks ways to configure"
exit $((failures > 0))
