#!/usr/bin/env bash
# The project's rules, checked with grep: who may include whom, and what may not be in the tree.
set -u
. tests/lib.sh
refuse() { # refuse "what is wrong" "lines that show it"
    [ -z "$2" ] && return
    fail "$1"$'\n'"$2"
}
includes() { # includes "pattern of a header" file…: lines that include it
    local pattern=$1
    shift
    grep -nE "#[[:space:]]*include[[:space:]]*[<\"]($pattern)" "$@" /dev/null
}

vendor='cuda|cublas|cudnn|nccl|nvtx|nvToolsExt|driver_types|vector_types|hip/|hip_|hipblas|roctx|roctracer|rocprofiler|rccl'
refuse "a vendor's header above backend/cuda and backend/hip" \
    "$(includes "$vendor" $(sources core model cli profiling lib exercises/engine backend/cpu backend/gpu) backend/*.h backend/*.c backend/*.def)"
refuse "backend/cuda includes a HIP header" "$(includes 'hip|roc|backend/hip/' $(sources backend/cuda))"
refuse "backend/hip includes a CUDA header" "$(includes 'cuda|cublas|nv|backend/cuda/' $(sources backend/hip))"
refuse "backend/gpu includes a vendor's folder" "$(includes 'backend/(cuda|hip|cpu)/' $(sources backend/gpu))"

refuse "a header of MPI outside backend/cpu/mpi.c" \
    "$(includes 'mpi[.]h' $(sources backend core model cli profiling lib exercises/engine tests) | grep -v '^backend/cpu/mpi.c:')"

# arrows: a room includes only itself and the rooms it depends on in CMakeLists.txt. The linker checks calls; this
# checks headers.
arrows() { # arrows LIST_OF_ROOMS FILE...: includes of rooms that the file's own room does not depend on
    awk '
        FILENAME == ARGV[1] {
            if (!sub(/^tt_room\(/, "")) next
            sub(/\)$/, "")
            folder[$1] = $2
            room[$2] = $1
            reach[$1, $1] = 1
            for (i = 3; i <= NF; i++) for (r in folder) if (reach[$i, r]) reach[$1, r] = 1
            next
        }
        !match($0, /^[ \t]*#[ \t]*include[ \t]*"/) { next }
        {
            to = substr($0, RLENGTH + 1)
            sub(/".*/, "", to)
            from = FILENAME
            if (!sub(/\/[^\/]*$/, "", to)) next
            sub(/\/[^\/]*$/, "", from)
            sub(/^backend\/.*/, "backend", from) # what each backend may include is checked above
            sub(/^backend\/.*/, "backend", to)
            if (from == "lib" && to == "lib" || from ~ /^exercises/ && to ~ /^exercises/) next
            if (from == "lib") from = "model/exchange"
            if (to in room ? !reach[room[from], room[to]] : to ~ /^(core|model|profiling|exercises|cli|lib|tests)(\/|$)/ && to != from)
                printf "%s:%d: %s\n", FILENAME, FNR, $0
        }' "$@"
}
refuse "a room includes one that it does not stand on" "$(arrows CMakeLists.txt $(sources backend core model profiling exercises/engine cli lib))"
course='tt_(fault|course|own_kernel)|TT_(FAULT|OWN_KERNEL)'
refuse "the course is named where it plugs in" "$(grep -nE "\b($course)" $(sources backend core model profiling lib) /dev/null)"
refuse "a backend's own header is used outside it" "$(includes 'backend/(cpu|cuda|hip|gpu)/' $(sources core model cli profiling exercises/engine lib) backend/*.h backend/*.c)"

refuse "something is unfinished" "$(grep -nE '\b(TODO|FIXME|XXX)\b' $(sources backend core model cli profiling exercises lib tests) /dev/null)"
refuse "a file is too long for one subject" "$(wc -l $(sources backend core model cli profiling exercises) | awk '$2 != "total" && $1 > 900')"

# the rules can fail: each of these lines must be caught
file=$dir/line.c
catches() { # catches "pattern" "line"
    echo "$2" >"$file"
    [ -n "$(includes "$1" "$file")" ] || fail "the rule misses: $2"
}
for line in '#include <cuda_runtime.h>' '#include <hip/hip_runtime.h>' '#include "cublasLt.h"' '# include <nvtx3/nvToolsExt.h>'; do
    catches "$vendor" "$line"
done
catches 'cuda|cublas|nv|backend/cuda/' '#include "backend/cuda/gpu_mma.h"'

upwards=$dir/upwards
mkdir -p "$upwards/core/base" "$upwards/backend/gpu" "$upwards/model"
echo '#include "core/plan/plan.h"' >"$upwards/core/base/text.h"
echo '#include "exercises/10-own-kernel/kernel.h"' >"$upwards/backend/gpu/map.h"
echo '#include "profiling/measure/cost.h"' >"$upwards/model/model.c"
caught=$(here=$PWD; cd "$upwards" && arrows "$here/CMakeLists.txt" core/base/text.h backend/gpu/map.h model/model.c | wc -l)
[ "$caught" = 3 ] || fail "$caught of 3 arrows that point upwards are seen"

passed "the layering rules hold"
finish
