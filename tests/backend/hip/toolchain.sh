#!/usr/bin/env bash
# Builds and links all of tt with a real ROCm for chips of every kind, and starts it; without an AMD GPU it must
# say so. The ROCm comes from Debian (sysroot.sh; ROCM_SUITE chooses the suite) and is cached. The build is kept too, so
# a second run is quick.
set -uo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
cd -- "$here/../../.." && . tests/lib.sh
: "${TT_BUILD:?is the build folder that the program goes into}"
build=$TT_BUILD/hip${ROCM_SUITE:+-$ROCM_SUITE}
log=$build/build.log
chips=${TT_HIP_CHIPS:-gfx90a gfx942 gfx950 gfx1100 gfx1201} # set TT_HIP_CHIPS to fewer for a quicker run
flags=${TT_HIP_FLAGS:+-DCMAKE_HIP_FLAGS_RELEASE=$TT_HIP_FLAGS} # cheaper optimisation, if nobody reads the machine code

rocm=$("$here/sysroot.sh")
status=$?
[ $status = 0 ] || exit $status
unset MAKEFLAGS MAKELEVEL HIPCXX ROCM_PATH HIP_PATH
mkdir -p "$build" || exit 1

# ---- it builds and links, without a warning ----
generator=()
if [ ! -e "$build/CMakeCache.txt" ] && has ninja; then generator=(-G Ninja); fi
if ! cmake -S "$root" -B "$build" "${generator[@]}" -DBACKEND=hip -DTT_WERROR=ON -DBUILD_TESTING=OFF \
    -DCMAKE_TOOLCHAIN_FILE="$rocm/toolchain.cmake" -DGPU_TARGETS="${chips// /;}" ${flags:+"$flags"} >"$log" 2>&1; then
    tail -n 30 "$log"
    die "the HIP backend cannot be configured"
fi
version=$(sed -n 's/^-- tt: \(HIP [0-9.]*\) .*/\1/p' "$log")
grep -q 'collectives by .*/rccl/rccl.h' "$log" || echo "note: there is no RCCL header on this mirror; without collectives"
grep -q 'hipBLASLt and hipBLAS' "$log" || echo "note: there are no hipBLASLt headers on this mirror; hipBLAS alone"
if ! cmake --build "$build" -j "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc 2>/dev/null || echo 2)}" --target tt >"$log" 2>&1; then
    grep -A 20 -iE 'error|FAILED' "$log" | head -n 60
    die "the HIP backend does not compile or link"
fi

# ---- one program for all chips ----
for chip in $chips; do
    grep -aq "amdgcn-amd-amdhsa--$chip" "$build/tt" || fail "tt has no code for $chip"
done
"$build/tt" --version | grep -q '(hip)' || fail "tt --version does not name its backend"

# ---- it starts, and reports that there is no GPU ----
if [ ! -e /dev/kfd ]; then
    begin=$(date +%s%N)
    (cd "$dir" && "$build/tt" train) >"$build/out" 2>"$build/err"
    status=$?
    took=$((($(date +%s%N) - begin) / 1000000))
    [ $status = 3 ] || fail "tt train without a GPU exits $status, not 3: $(cat "$build/err")"
    [ "$(wc -l <"$build/err")" = 1 ] || fail "tt train without a GPU does not say one line: $(cat "$build/err")"
    grep -q 'no AMD GPU' "$build/err" || fail "tt train without a GPU says: $(cat "$build/err")"
    [ ! -s "$build/out" ] || fail "tt train without a GPU prints: $(cat "$build/out")"
    [ -z "$(ls -A "$dir")" ] || fail "tt train without a GPU leaves: $(ls "$dir")"
    [ $took -lt 5000 ] || fail "tt train needs $took ms to see that there is no GPU" # normally a fraction of a second
fi

passed "tt builds with $version for $chips, and starts"
finish
