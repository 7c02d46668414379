#!/usr/bin/env bash
# The HIP backend on an NVIDIA GPU, through HIP's own NVIDIA headers: compiled by nvcc, run like any other tt.
#
#   tests/backend/hip/nvidia.sh headers DIR    HIP's headers (of Debian, 3 MB) for CUDA 12.2 to 13, hipBLAS and rocTX as thin ones
#   tests/backend/hip/nvidia.sh build DIR [-D...]   configures and builds into DIR, with tests; HEADERS=DIR names ready headers
#   tests/backend/hip/nvidia.sh test           the CTest test hip_nvidia: builds, starts, and runs ctest -L gpu where a GPU is
#
# On a machine without network: make the headers elsewhere, copy the folder, and build with
#   cmake -B build/hipnv -DBACKEND=hip -DHIP_PLATFORM=nvidia -DTT_HIP_NVIDIA_HEADERS=DIR
set -uo pipefail
self=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
root=$(cd -- "$self/../../.." && pwd -P)
. "$self/apt.sh"

headers() { # headers DIR: also what is there already, when it is of these scripts
    local dir=$1 stamp
    stamp=$(cat "$self"/nvidia.{sh,awk} "$self"/nvidia/*/*.h | cksum)
    [ "$(cat "$dir/.stamp" 2>/dev/null)" != "$stamp" ] || return 0
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    apt_open "$work" trixie "$(dpkg --print-architecture)"
    apt_download "$work" libamdhip64-dev && apt_unpack "$work" "$work"/debs/*.deb || apt_skip "no libamdhip64-dev from the mirror"
    local from=$work/usr/include/hip file=nvidia_detail/nvidia_hip_runtime_api.h
    rm -rf "$dir" && mkdir -p "$dir" && cp -r "$from" "$self"/nvidia/* "$dir/" &&
        awk -f "$self/nvidia.awk" "$from/$file" "$from/$file" >"$dir/hip/$file" && echo "$stamp" >"$dir/.stamp"
}

build() { # build DIR [-D...]
    local dir=$1 generator=()
    shift
    mkdir -p "$dir" || return 1
    if [ ! -e "$dir/CMakeCache.txt" ] && command -v ninja >/dev/null; then generator=(-G Ninja); fi
    if [ -z "${HEADERS:-}" ]; then
        HEADERS=$hip_cache/hip-nvidia
        headers "$HEADERS" || return
    fi
    cmake -S "$root" -B "$dir" "${generator[@]}" -DBACKEND=hip -DHIP_PLATFORM=nvidia \
        -DTT_HIP_NVIDIA_HEADERS="$HEADERS" "$@" &&
        cmake --build "$dir" -j "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc 2>/dev/null || echo 2)}"
}

gpu_here() { [ -e /dev/nvidiactl ] && nvidia-smi -L >/dev/null 2>&1; }

run_test() {
    local dir=${TT_BUILD:?is the build folder of the program to test}/hip-nvidia status options
    PATH=$PATH:/usr/local/cuda/bin
    command -v nvcc >/dev/null || apt_skip "there is no nvcc here; with a CUDA toolkit this test compiles the HIP backend for NVIDIA"
    mkdir -p "$dir"
    unset MAKEFLAGS MAKELEVEL CUDAARCHS CUDACXX CUDAFLAGS
    # what no GPU runs need not be fast: half the time to compile
    options=(-DTT_WERROR=ON -DBUILD_TESTING=OFF -DCMAKE_CUDA_ARCHITECTURES=80 "-DCMAKE_CUDA_FLAGS=-Xcicc -O1 -Xptxas -O1")
    if gpu_here; then options=(-DTT_WERROR=ON -DBUILD_TESTING=ON); fi
    (build "$dir" "${options[@]}") >"$dir/build.log" 2>&1
    status=$?
    if [ $status != 0 ]; then
        if [ $status = 77 ]; then tail -n 1 "$dir/build.log"; else tail -n 40 "$dir/build.log"; fi
        exit $status
    fi
    "$dir/tt" --version | grep -q '(hip)' || { echo "FAIL tt --version does not name its backend"; exit 1; }
    if gpu_here; then
        exec ctest --test-dir "$dir" -L gpu --no-tests=error --output-on-failure
    fi
    "$dir/tt" info >"$dir/out" 2>"$dir/err"
    status=$?
    if [ $status != 3 ] || [ "$(wc -l <"$dir/err")" != 1 ] || ! grep -q 'no NVIDIA GPU for HIP' "$dir/err"; then
        echo "FAIL tt info without a GPU exits $status and says: $(cat "$dir/err")"
        exit 1
    fi
    echo "ok   the HIP backend compiles for NVIDIA and starts; there is no GPU to run its tests on"
}

word=${1:-}
[ $# = 0 ] || shift
case $word in
headers) headers "${1:?DIR}" && echo "${1} is ready" ;;
build) build "${@:?DIR}" ;;
test) run_test ;;
*)
    sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 2
    ;;
esac
