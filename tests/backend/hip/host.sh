#!/usr/bin/env bash
# The host code of the HIP backend with a fake HIP runtime: plain C that needs HIP's headers (from sysroot.sh), but no
# ROCm, no driver and no GPU. It is compiled afresh each time, in seconds, with sanitizers if the compiler has them.
set -uo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
cd -- "$here/../../.." && . tests/lib.sh
: "${TT_BUILD:?is the build folder with the libraries of the rooms}"
rocm=$("$here/sysroot.sh")
status=$?
[ $status = 0 ] || exit $status
cc=${CC:-cc}
rooms=("$TT_BUILD"/libtt_{backend,base}.a)
[ -e "${rooms[0]}" ] || die "there is no ${rooms[0]}"

sanitize=()
if echo 'int main(void) { return 0; }' | $cc -x c - -fsanitize=address,undefined -o "$dir/probe" 2>/dev/null &&
    "$dir/probe" 2>/dev/null; then
    sanitize=(-fsanitize=address,undefined -fno-sanitize-recover=undefined)
fi
together=()
if [ -e "$rocm/sysroot/opt/rocm/include/rccl/rccl.h" ]; then # the program itself serves as the library of collectives
    together=('-DTT_GPU_COLLECTIVES=""' '-DGPU_COLLECTIVES_SONAME=""' -rdynamic)
fi
# shellcheck disable=SC2086 # CC may contain options
$cc -std=gnu17 -g -O1 -Wall -Wextra -Werror "${sanitize[@]}" -D_GNU_SOURCE -D__HIP_PLATFORM_AMD__ -DHIPBLAS_V2 \
    '-DTT_HIP_ARCHITECTURES="test"' "${together[@]}" -I"$root" -I"$root/backend/hip" -isystem "$rocm/sysroot/opt/rocm/include" \
    "$here/test_host.c" "$here/fake_runtime.c" "$root"/backend/gpu/*.c \
    "$root"/backend/hip/{blas,device,error,rocblas,usage}.c "${rooms[@]}" -lm -lpthread -ldl -o "$dir/test_host" || exit 1

# blaslt.cpp with a fake hipBLASLt that multiplies on the host
if [ -e "$rocm/sysroot/opt/rocm/include/hipblaslt/hipblaslt.h" ]; then
    cxx=${CXX:-c++}
    for file in backend/hip/blaslt tests/backend/hip/fake_hipblaslt; do
        # shellcheck disable=SC2086 # CXX may contain options
        $cxx -std=c++17 -g -O1 -Wall -Wextra -Werror "${sanitize[@]}" -D__HIP_PLATFORM_AMD__ -I"$root" \
            -isystem "$rocm/sysroot/opt/rocm/include" -c "$root/$file.cpp" -o "$dir/$(basename $file).o" || exit 1
    done
    $cc -std=gnu17 -g -O1 -Wall -Wextra -Werror "${sanitize[@]}" -D_GNU_SOURCE -I"$root" -c "$here/test_blaslt.c" -o "$dir/test_blaslt.o" || exit 1
    # shellcheck disable=SC2086
    $cxx "${sanitize[@]}" "$dir"/{test_blaslt,blaslt,fake_hipblaslt}.o "${rooms[@]}" -lm -lpthread -ldl -o "$dir/test_blaslt" || exit 1
    "$dir/test_blaslt" || exit 1
fi

# a rocBLAS for two chips, laid out as Debian does
mkdir -p "$dir/lib/rocblas/5.1.0/library"
echo 'int rocblas_nothing;' | $cc -x c - -shared -fPIC -o "$dir/lib/librocblas.so.5" || exit 1
touch "$dir"/lib/rocblas/5.1.0/library/TensileLibrary_lazy_gfx{90a,1030}.dat
unset ROCBLAS_TENSILE_LIBPATH TT_HIPBLASLT
unset HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL
export ROCBLAS_LIBRARY=$dir/lib/librocblas.so.5
"$dir/test_host" || exit 1

# once more, with a fake rocm-smi library
mkdir "$dir/monitor"
$cc -shared -fPIC "$here/fake_rocm_smi.c" -o "$dir/monitor/librocm_smi64.so.7" || exit 1
FAKE_MONITOR=rocm-smi LD_LIBRARY_PATH=$dir/monitor:${LD_LIBRARY_PATH:-} "$dir/test_host"
