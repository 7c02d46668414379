#!/usr/bin/env bash
# Builds the CUDA tt if there is an nvcc, with or without a GPU: no warnings, and no kernel spills registers. Without a
# visible GPU, tt must say so in one line. The build is kept, so a second run is quick.
set -uo pipefail

# Runs as nvcc's launcher: stores what ptxas says of a file beside its object, for later runs that do not compile it
# again.
if [ "${1:-}" = --compile ]; then
    shift
    object=
    for ((i = 1; i < $#; i++)); do [ "${!i}" = -o ] && j=$((i + 1)) && object=${!j}; done
    "$@" >"${object:=nvcc}.ptxas" 2>&1
    status=$?
    [ $status = 0 ] || cat "$object.ptxas"
    exit $status
fi

. tests/lib.sh
: "${TT_BUILD:?is the build folder of the program to test}"
[ "$(cached BACKEND)" = cpu ] || skip "this build is not for the CPU, so it has compiled its own kernels"
once "the optimised build compiles them"
PATH=$PATH:/usr/local/cuda/bin
has nvcc || skip "there is no nvcc here; with a CUDA toolkit this test compiles the GPU kernels"

self=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)/$(basename -- "${BASH_SOURCE[0]}")
build=$TT_BUILD/cuda
log=$build/build.log
unset MAKEFLAGS MAKELEVEL CUDAARCHS CUDACXX CUDAFLAGS
mkdir -p "$build" || exit 1

# ---- it builds, without a warning ----
generator=()
if [ ! -e "$build/CMakeCache.txt" ] && has ninja; then generator=(-G Ninja); fi
if ! cmake -S "$root" -B "$build" "${generator[@]}" -DBACKEND=cuda -DTT_WERROR=ON -DBUILD_TESTING=OFF \
    "-DCMAKE_CUDA_ARCHITECTURES=80;90a" -DCMAKE_CUDA_FLAGS=-Xptxas=-v \
    "-DCMAKE_CUDA_COMPILER_LAUNCHER=bash;$self;--compile" >"$log" 2>&1; then
    tail -n 30 "$log"
    die "the CUDA backend cannot be configured"
fi
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc 2>/dev/null || echo 2)}
if ! cmake --build "$build" -j "$jobs" --target tt >"$log" 2>&1; then
    grep -A 20 -iE 'error|FAILED' "$log" | head -n 60
    die "the CUDA backend does not compile"
fi

# ---- no kernel spills ----
# ptxas says "... Compiling entry function 'NAME' for 'sm_80'", then "N bytes stack frame, N bytes spill stores, ...".
kernels_of() { # kernels_of FILE...: "architecture bytes kernel"
    cat "$@" | awk -F"'" '/Compiling entry function/ { kernel = $2; arch = $4 }
                          /bytes stack frame/ && kernel { split($0, w, " "); print arch, w[5] + w[9], kernel; kernel = "" }'
}
usage=$build/usage
(cd "$root" && find backend/gpu backend/cuda -name '*.cu') |
    while read -r source; do kernels_of "$build/CMakeFiles/tt_gpu.dir/$source.o.ptxas"; done >"$usage"

# For other chips, only the file with the fewest registers to spare, and only if something has changed.
others=$build/others.ptxas
if [ ! -e "$others" ] || [ -n "$(find "$root"/backend/{gpu,cuda,kernels.h,kernels_attention.h,kernels_decode.h,kernels_optimizer.h} "$self" -newer "$others" -print -quit)" ]; then
    rm -f "$others"
    targets=()
    for sm in 75 100 120; do
        nvcc --list-gpu-code | grep -qx "sm_$sm" && targets+=("-gencode=arch=compute_$sm,code=sm_$sm")
    done
    nvcc -std=c++17 -O3 -DNDEBUG -I"$root" -I"$root/backend/cuda" "${targets[@]}" -Xptxas=-v \
        -c "$root/backend/gpu/rmsnorm_backward.cu" -o "$build/others.o" >"$log" 2>&1 && mv "$log" "$others"
fi
if [ -e "$others" ]; then kernels_of "$others" >>"$usage"; else fail "rmsnorm_backward.cu for other chips: $(cat "$log")"; fi

for arch in sm_80 sm_90a; do
    count=$(grep -c "^$arch " "$usage")
    [ "$count" -ge 60 ] || fail "ptxas spoke of $count kernels for $arch only"
done
spilled=$(awk '$2 > 0' "$usage" | { c++filt 2>/dev/null || cat; })
release=$(nvcc --version | sed -n 's/.*release \([0-9]*\).*/\1/p')
if [ -n "$spilled" ] && [ "${release:-13}" -lt 13 ]; then # 12.4 spills in no kernel; others' code is not ours to change
    echo "note: the compiler of CUDA $release spills in some kernels, that of CUDA 13 in none:"$'\n'"$spilled"
elif [ -n "$spilled" ]; then
    fail "kernels that spill (architecture, bytes, kernel):"$'\n'"$spilled"
fi

# ---- `native` is the chip that nvidia-smi shows, with Hopper's own instructions ----
fake=$build/fake
mkdir -p "$fake"
printf '#!/bin/sh\necho 9.0\necho 9.0\n' >"$fake/nvidia-smi"
chmod +x "$fake/nvidia-smi"
rm -rf "$build/native"
PATH=$fake:$PATH cmake -S "$root" -B "$build/native" -DBACKEND=cuda -DBUILD_TESTING=OFF \
    -DCMAKE_CUDA_ARCHITECTURES=native >"$log" 2>&1 && grep -q 'for architectures 90a$' "$log" ||
    fail "CMAKE_CUDA_ARCHITECTURES=native on a GPU of 9.0: $(tail -n 20 "$log")"
rm -rf "$build/native"
printf '#!/bin/sh\nexit 9\n' >"$fake/nvidia-smi"
PATH=$fake:$PATH cmake -S "$root" -B "$build/native" -DBACKEND=cuda -DBUILD_TESTING=OFF \
    -DCMAKE_CUDA_ARCHITECTURES=native >"$log" 2>&1
grep -q 'nvidia-smi shows no GPU' "$log" || fail "CMAKE_CUDA_ARCHITECTURES=native without a GPU: $(tail -n 20 "$log")"
rm -rf "$build/native"

# ---- it starts, and says in one line why it finds no GPU ----
refuses() { # refuses WORDS [NAME=VALUE...]: tt info in this environment
    local words=$1 status
    shift
    env "$@" "$build/tt" info >"$build/out" 2>"$build/err"
    status=$?
    [ $status = 3 ] || fail "tt info ($*) exits $status, not 3: $(cat "$build/err")"
    [ "$(wc -l <"$build/err")" = 1 ] || fail "tt info ($*) does not say one line: $(cat "$build/err")"
    grep -q -- "$words" "$build/err" || fail "tt info ($*) does not say '$words': $(cat "$build/err")"
    [ -s "$build/out" ] && fail "tt info ($*) prints: $(cat "$build/out")"
}
refuses 'no NVIDIA GPU' CUDA_VISIBLE_DEVICES=

# The real runtime with our fake driver, which it finds first. The numbers are error codes of CUDA's driver.
driver=$build/driver
mkdir -p "$driver"
if ${CC:-cc} -Wall -Wextra -Werror -shared -fPIC "$root/tests/backend/cuda/fake_driver.c" -o "$driver/libcuda.so.1" >"$log" 2>&1; then
    on_driver() { refuses "$1" LD_LIBRARY_PATH="$driver:${LD_LIBRARY_PATH:-}" FAKE_CUDA_VERSION="$2" FAKE_CUDA_INIT="$3"; }
    unset CUDA_VISIBLE_DEVICES
    on_driver 'driver is too old: it knows CUDA 11.0 and' 11000 0
    on_driver 'no NVIDIA GPU is visible (nvidia-smi' 99000 100
    on_driver 'the toolkit.s stub.* LD_LIBRARY_PATH' 99000 34
    on_driver 'other programs use them exclusively' 99000 46
    on_driver 'no licence' 99000 102
    on_driver 'not ready yet; .*nvidia-fabricmanager' 99000 802
    on_driver 'another version than its kernel module, .* reboot' 99000 803
    on_driver 'cuda-compat.* LD_LIBRARY_PATH' 99000 804
    on_driver 'MPS does not answer' 99000 805
    on_driver 'MPS has reached its limit of programs' 99000 808
    on_driver 'driver does not start; see whether nvidia-smi works' 99000 999
    export CUDA_VISIBLE_DEVICES=7
    on_driver 'CUDA_VISIBLE_DEVICES is "7"; unset it' 99000 100
else
    cat "$log"
    fail "the test's own driver does not compile"
fi
"$build/tt" --version | grep -q '(cuda)' || fail "tt --version does not name its backend"

passed "$(wc -l <"$usage") kernels compiled, $(awk '$2 > 0' "$usage" | wc -l) of them spill"
finish
