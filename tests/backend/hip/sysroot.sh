#!/usr/bin/env bash
# tests/backend/hip/sysroot.sh [DIR]: a ROCm to compile and link with, in DIR (else in the cache): Debian's clang, device
# libraries, HIP runtime, hipBLAS, RCCL's header and rocTX, unpacked without root; stubs to link against for rocBLAS,
# rocSOLVER and hipBLASLt, of which Debian has no package or a very large one. Prints DIR. About half a minute, once.
#
# DIR/toolchain.cmake is for cmake -DCMAKE_TOOLCHAIN_FILE=, DIR/bin has clang++, llvm-objdump and the like. arm64 and
# amd64. ROCM_SUITE is Debian's suite: forky (HIP 6.4), sid or experimental (HIP 7.2). Exit code 77 when no Debian mirror can be reached.
set -euo pipefail
export LC_ALL=C
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
. "$here/apt.sh"

case ${1:-} in -*)
    sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 2
    ;;
esac
suite=${ROCM_SUITE:-forky}
command -v dpkg >/dev/null || apt_skip "this is no Debian: there is no dpkg"
arch=$(dpkg --print-architecture)
case $arch in
arm64) triplet=aarch64-linux-gnu ;;
amd64) triplet=x86_64-linux-gnu ;;
*) apt_skip "Debian has no ROCm for $arch" ;;
esac
dir=${1:-$hip_cache/rocm-$suite-$arch}
mkdir -p "$dir"
dir=$(cd -- "$dir" && pwd -P)
case $dir in *[!A-Za-z0-9/._+-]*) apt_skip "the folder for ROCm has odd characters: $dir (TT_HIP_CACHE moves it)" ;; esac
stamp="$suite $dir $(cat "$here"/{sysroot,apt}.sh | cksum)"

if command -v flock >/dev/null; then # tests may ask for it side by side
    exec 9>"$dir/.lock"
    flock 9
fi
if [ "$(cat "$dir/.stamp" 2>/dev/null)" = "$stamp" ]; then
    echo "$dir"
    exit 0
fi

root=$dir/sysroot          # where the packages go
rocm=$root/opt/rocm        # ROCm apart from /usr/include, which must not come ahead of the C++ headers
lib=$root/usr/lib/$triplet # Debian's libraries
rm -rf "$root" "$dir/bin" "$dir/apt" "$dir/.stamp"
mkdir -p "$root"/usr/{bin,sbin,lib,lib64} "$rocm"/{include,bin,lib/cmake/hip-lang,share/hip,lib/$triplet/cmake} "$dir/bin"
for name in bin sbin lib lib64 include; do ln -s usr/$name "$root/$name"; done # the last for lib/../include, as ninja reads it

# ---- packages ----

fetch() {
    local own=$dir/apt/own blas
    apt_open "$own" "$suite" "$arch"
    llvm=$(apt_in "$own" cache depends hipcc | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
    [ -n "$llvm" ] || apt_skip "Debian $suite has no hipcc"
    apt_download_all "$own" clang-$llvm clang-tools-$llvm llvm-$llvm lld-$llvm libclang-rt-$llvm-dev \
        rocm-device-libs-$llvm libamdhip64-dev libroctx-dev libc6-dev >/dev/null
    blas=$(apt_in "$own" cache depends --important libhipblas-dev | sed -n 's/.*Depends: \(libhipblas[0-9a-z-]*\)$/\1/p')
    apt_download "$own" libhipblas-dev librocblas-dev $blas # without rocBLAS itself, which is a gigabyte
    # hipBLASLt's headers are in sid, for amd64 only; they serve every architecture
    (apt_open "$dir/apt/lt" sid amd64 && apt_download "$dir/apt/lt" libhipblaslt-dev) >&2 || mkdir -p "$dir/apt/lt/debs"
    # RCCL is loaded at run time, so its header is enough; the suites that lack it take it from the stable one
    apt_download "$own" librccl-dev 2>/dev/null >&2 ||
        (apt_open "$dir/apt/rccl" trixie "$arch" && apt_download "$dir/apt/rccl" librccl-dev) >&2 || :
    find "$dir/apt" -name '*.deb' | sed 's|.*/||; s|%3a|:|' | sort >"$dir/packages.txt"
    find "$dir/apt" -name '*.deb' -print0 | xargs -0 bash -c '. "$0"; apt_unpack "$@"' "$here/apt.sh" "$root"
}

# ---- ROCm's own prefix ----

move_rocm() {
    local name
    for name in hip hipblas hipblas-common hipblaslt rccl roctracer rocblas hsa amd_comgr; do
        [ ! -d "$root/usr/include/$name" ] || mv "$root/usr/include/$name" "$rocm/include/"
    done
    for name in "$lib"/cmake/{hip,hip-lang,hiprtc,hsa-runtime64,amd_comgr}; do
        [ ! -d "$name" ] || mv "$name" "$rocm/lib/$triplet/cmake/"
    done
    for name in "$lib"/lib{amdhip64,hiprtc,hiprtc-builtins,hipblas,hsa-runtime64,amd_comgr,roctx64}.so*; do
        mv "$name" "$rocm/lib/$triplet/"
    done
    rm -f "$lib"/librocblas.so* "$lib"/libhipblaslt.so* "$lib"/librccl.so*
    find "$rocm/lib/$triplet/cmake" -name '*.cmake' -exec sed -i "s|/usr\([/\";]\)|$rocm\1|g" {} +
    ln -s "../../usr/lib/llvm-$llvm/lib/clang/$llvm/amdgcn" "$rocm/amdgcn"
    ln -s "../../../usr/lib/llvm-$llvm" "$rocm/lib/llvm"
    echo "include(\"$rocm/lib/$triplet/cmake/hip-lang/hip-lang-config.cmake\")" >"$rocm/lib/cmake/hip-lang/hip-lang-config.cmake"
    [ ! -e "$root/usr/share/hip/version" ] || cp "$root/usr/share/hip/version" "$rocm/share/hip/"
}

# ---- the tools run here, with the C library they were made for ----

find_patchelf() {
    command -v patchelf >/dev/null && return
    (cd "$dir/apt" && apt-get -qq -o APT::Sandbox::User= download patchelf && dpkg-deb -x patchelf_*.deb .) >&2 ||
        apt_skip "patchelf is neither here nor to be had from apt"
    PATH=$PATH:$dir/apt/usr/bin
}

is_elf() { [ -f "$1" ] && [ ! -L "$1" ] && [ "$(head -c 4 "$1" | tail -c 3)" = ELF ]; }

make_runnable() {
    local file bin=$root/usr/lib/llvm-$llvm/bin
    loader=$(find "$root"/usr/lib{,64} "$lib" -maxdepth 1 -name 'ld-linux-*.so.*' | sed -n 1p)
    find_patchelf
    for file in "$lib"/*.so* "$rocm/lib/$triplet"/*.so*; do # a RUNPATH of their own would hide the program's RPATH
        if is_elf "$file" && readelf -d "$file" | grep -q '(RUNPATH)'; then
            patchelf --set-rpath "$rocm/lib/$triplet:$lib" "$file"
        fi
    done
    for file in "$bin"/*; do
        if is_elf "$file"; then
            patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$lib:$root/usr/lib/llvm-$llvm/lib" "$file"
        fi
    done
    for file in clang clang++ clang-$llvm clang++-$llvm; do
        cat >"$bin/$file.cfg" <<CFG
--sysroot=$root
--rocm-path=$rocm
-fuse-ld=lld
-Wl,--dynamic-linker,$loader
-Wl,--disable-new-dtags
-Wl,-rpath,$rocm/lib/$triplet:$lib
-L$rocm/lib/$triplet
CFG
    done
    for file in clang clang++ ld.lld llvm-objdump llvm-readelf llvm-objcopy llvm-nm clang-offload-bundler; do
        ln -s "../sysroot/usr/lib/llvm-$llvm/bin/$file" "$dir/bin/$file"
    done
}

# ---- stubs: every function fails with status 1 ----

stub() { # stub SONAME: a library of the functions named on stdin
    sort -u | awk '{ print "int " $1 "(void) { return 1; }" }' >"$dir/apt/stub.c"
    "$dir/bin/clang" -shared -fPIC -O1 -w -fno-builtin -Wl,-soname,"$1" -o "$rocm/lib/$triplet/$1" "$dir/apt/stub.c"
    ln -sfn "$1" "$rocm/lib/$triplet/${1%%.so*}.so"
}

make_stubs() {
    local hipblas=$rocm/lib/$triplet/libhipblas.so name soname
    for name in rocblas rocsolver; do
        soname=$(readelf -d "$hipblas" | sed -n "s/.*NEEDED.*\[\(lib$name.so[^]]*\)\].*/\1/p")
        [ -z "$soname" ] || nm -D --undefined-only "$hipblas" | awk '{ sub(/@.*/, "", $2); print $2 }' |
            grep "^${name}_" | stub "$soname"
    done
    [ ! -e "$rocm/include/hipblaslt/hipblaslt.h" ] ||
        grep -ohE 'hipblasLt[A-Z][A-Za-z]+\(' "$rocm/include/hipblaslt/hipblaslt.h" | tr -d '(' | stub libhipblaslt.so.1
}

write_toolchain() {
    local bin=$root/usr/lib/llvm-$llvm/bin
    cat >"$dir/toolchain.cmake" <<CMAKE
set(CMAKE_C_COMPILER "$bin/clang")
set(CMAKE_CXX_COMPILER "$bin/clang++")
set(CMAKE_HIP_COMPILER "$bin/clang++")
set(CMAKE_HIP_PLATFORM amd)
set(CMAKE_HIP_COMPILER_ROCM_ROOT "$rocm")
set(ROCM_PATH "$rocm")
set(CMAKE_LIBRARY_ARCHITECTURE $triplet)
set(CMAKE_FIND_ROOT_PATH "$rocm" "$root")
set(CMAKE_PREFIX_PATH "$rocm" \${CMAKE_PREFIX_PATH})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
CMAKE
}

for tool in nm readelf; do command -v $tool >/dev/null || apt_skip "$tool is not here (binutils)"; done
fetch
move_rocm
make_runnable
make_stubs
write_toolchain
rm -rf "$dir/apt"
echo "$stamp" >"$dir/.stamp"
echo "$dir"
