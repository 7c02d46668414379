#!/usr/bin/env bash
# The rules of the house, by grep: who may include whom, and what may not be in the tree.
set -u
failed=0
refuse() { # refuse "what is wrong" "lines that show it"
    [ -z "$2" ] && return
    failed=1
    printf 'FAIL %s\n%s\n' "$1" "$2"
}
includes() { # includes "pattern of a header" file…: lines that include it
    local pattern=$1
    shift
    grep -nE "#[[:space:]]*include[[:space:]]*[<\"]($pattern)" "$@" /dev/null
}
sources() { find "$@" \( -name '*.c' -o -name '*.h' -o -name '*.def' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' \) 2>/dev/null; }

vendor='cuda|cublas|cudnn|nccl|nvtx|nvToolsExt|driver_types|vector_types|hip/|hip_|hipblas|roctx|roctracer|rocprofiler|rccl'
refuse "a vendor's header above backend/cuda and backend/hip" \
    "$(includes "$vendor" $(sources core model cli profiling lib backend/cpu backend/gpu) backend/*.h backend/*.c backend/*.def)"
refuse "backend/cuda includes a HIP header" "$(includes 'hip|roc' $(sources backend/cuda))"
refuse "backend/hip includes a CUDA header" "$(includes 'cuda|cublas|nv' $(sources backend/hip))"

# arrows: lib -> cli -> profiling, model -> core -> backend
refuse "something includes the library that is made of it" "$(includes 'lib/' $(sources backend core model cli profiling))"
refuse "backend includes something above it" "$(includes 'core/|model/|profiling/|cli/' $(sources backend))"
refuse "core includes something above it" "$(includes 'model/|profiling/|cli/' $(sources core))"
refuse "model includes cli or profiling" "$(includes 'cli/|profiling/' $(sources model))"
refuse "profiling includes cli" "$(includes 'cli/' $(sources profiling))"
refuse "a backend's own header is used outside it" "$(includes 'backend/(cpu|cuda|hip|gpu)/' $(sources core model cli profiling lib) backend/*.h backend/*.c)"

refuse "something is unfinished" "$(grep -nE '\b(TODO|FIXME|XXX)\b' $(sources backend core model cli profiling lib tests) /dev/null)"
refuse "a file is too long for one subject" "$(wc -l $(sources backend core model cli profiling) | awk '$2 != "total" && $1 > 900')"

# the rules can fail: each of these lines must be caught
for line in '#include <cuda_runtime.h>' '#include <hip/hip_runtime.h>' '#include "cublasLt.h"' '# include <nvtx3/nvToolsExt.h>'; do
    file=$(mktemp)
    echo "$line" >"$file"
    [ -n "$(includes "$vendor" "$file")" ] || { failed=1; echo "FAIL the rule misses: $line"; }
    rm -f "$file"
done

[ "$failed" = 0 ] && echo "ok   the layering rules hold"
exit "$failed"
