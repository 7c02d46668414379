#!/usr/bin/env bash
# Tests ./run on a project of a few lines, so that neither tt is built nor anything installed.
set -uo pipefail
case ${TT_BUILD:-} in
*/build/test-sanitize | */build/test-plain)
    echo "skipped: run does not depend on how tt was built"
    exit 77
    ;;
esac
unset BACKEND CC CMAKE_BUILD_PARALLEL_LEVEL CUDAARCHS ROCM_PATH
source_dir=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
checks=0 failures=0

check() { # check WHAT COMMAND...
    local what=$1
    shift
    checks=$((checks + 1))
    if ! "$@"; then
        failures=$((failures + 1))
        echo "FAIL $what"
        printf '    exit %s\n' "${status:-?}"
        sed 's/^/    stdout: /' "$scratch/out" 2>/dev/null
        sed 's/^/    stderr: /' "$scratch/err" 2>/dev/null
    fi
}

call() { # call COMMAND...: its output in $scratch/out and err, its exit code in $status
    status=0
    "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || status=$?
}

exits() { [ "$status" = "$1" ]; }
prints() { grep -qF -- "$1" "$scratch/out"; }
says() { grep -qF -- "$1" "$scratch/err"; }
silent() { [ ! -s "$scratch/err" ]; }
absent() { [ ! -e "$1" ]; }

# A project whose tt prints its words and whose only test succeeds unless a file called broken lies in its folder.
make_project() {
    mkdir -p "$1/backend/cpu" "$1/.ci"
    cp "$source_dir/run" "$1/run"
    cp "$source_dir/.ci/run" "$1/.ci/run"
    : >"$1/backend/cpu/backend.cmake"
    cat >"$1/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.22)
project(small LANGUAGES C)
message(STATUS "tt: backend ${BACKEND}, ${CMAKE_BUILD_TYPE}, GPU_TARGETS '${GPU_TARGETS}'")
if(TT_WERROR)
  add_compile_options(-Wall -Werror)
endif()
add_executable(tt tt.c)
include(CTest)
add_test(NAME unbroken COMMAND ${CMAKE_COMMAND} -E cat CMakeLists.txt WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
file(GLOB broken broken)
if(broken)
  set_tests_properties(unbroken PROPERTIES WILL_FAIL ON)
endif()
TEXT
    cat >"$1/tt.c" <<'TEXT'
#include <stdio.h>
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) printf("<%s>", argv[i]);
    return argc > 2 && argv[2][0] == '7' ? 7 : 0;
}
TEXT
}

# A folder of links to all commands of this machine but the named ones.
make_path() { # make_path FOLDER NAMES...
    local folder=$1 name
    shift
    mkdir -p "$folder"
    ln -s /usr/bin/* "$folder/"
    [ -L /bin ] || ln -sf /bin/* "$folder/"
    for name; do rm -f "$folder/$name"; done
}

as_user() { # as_user COMMAND...: not as root
    if [ "$(id -u)" != 0 ]; then
        "$@"
    else
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    fi
}

can_be_user() { [ "$(id -u)" != 0 ] || setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null; }

the_words() {
    check "run is a bash script" bash -n "$source_dir/run"
    check ".ci/run is a bash script" bash -n "$source_dir/.ci/run"
    check "run can be executed" test -x "$source_dir/run"
    check ".ci/run can be executed" test -x "$source_dir/.ci/run"
    check ".ci/run calls ./run test" grep -qx './run test' "$source_dir/.ci/run"
    call "$source_dir/run" help
    check "help exits 0" exits 0
    for word in train test build help; do check "help names $word" prints "./run $word"; done
    call "$source_dir/run"
    check "no word exits 2" exits 2
    call "$source_dir/run" --fly
    check "an unknown word exits 2" exits 2
    check "an unknown word is named" says "unknown word '--fly'"
}

training() {
    local project="$scratch/a project"
    make_project "$project"
    cd / || exit 1
    call "$project/run" train --steps 'two words'
    check "train exits as tt does" exits 0
    check "train hands its words on" prints "<train><--steps><two words>"
    check "train says which backend it built" says "backend cpu, Release"
    call "$project/run" train 7
    check "train exits as tt does when tt fails" exits 7
    check "a second call builds nothing and says nothing" silent
    call "$project/run" generate --prompt 'the cat'
    check "any command of tt is handed on" prints "<generate><--prompt><the cat>"
    call env -i PATH=/usr/bin:/bin "$project/run" train
    check "a bare PATH will do" exits 0
    ln -s "$project/run" "$scratch/link"
    call "$scratch/link" train
    check "a link to run will do" exits 0
    call "$project/run" build
    check "build prints the path of tt" prints "$project/build/cpu/tt"

    cmake -S "$project" -B "$project/build" >/dev/null && cmake --build "$project/build" >/dev/null
    call "$project/run" train
    check "a plain cmake -B build does no harm" exits 0
    check "and leaves run's build as it was" silent

    echo 'int main(void) { return 1 }' >"$project/tt.c"
    call "$project/run" train
    check "what does not compile exits 1" exits 1
    check "and the compiler's words are shown" says "error: expected"
    mv "$project" "$scratch/moved"
    make_project "$scratch/moved"
    call "$scratch/moved/run" train
    check "a moved folder is built anew" exits 0
}

backends() {
    local project="$scratch/backends"
    make_project "$project"
    call env BACKEND=cuda "$project/run" train
    check "a backend that does not exist exits 2" exits 2
    check "and is named" says "no cuda backend yet"
    call env BACKEND=abacus "$project/run" train
    check "an unknown backend exits 2" exits 2
    call env BACKEND=cpu "$project/run" verify
    check "verify without a GPU exits 3" exits 3
    check "and says so" says "no GPU to verify"
    call env BACKEND=cpu "$project/run" verify --fast
    check "verify with another word exits 2" exits 2
    check "and names it" says "verify takes --full or nothing, not: --fast"
    check "nothing was built for any of them" absent "$project/build"
}

# Nodes of a cluster have one home and different GPUs. What they have is what these say.
folders() {
    local project="$scratch/cluster" tools="$scratch/tools"
    make_project "$project"
    mkdir -p "$project"/backend/{cuda,hip} "$tools"
    touch "$project"/backend/{cuda,hip}/backend.cmake
    cat >"$tools/nvidia-smi" <<'TEXT'
#!/bin/sh
[ -n "$FAKE_GPU" ] || exit 9
[ "$1" = -L ] || printf '%b\n' "$FAKE_GPU"
TEXT
    printf '#!/bin/sh\n' >"$tools/nvcc"
    printf '#!/bin/sh\nprintf "gfx000\\n%%b\\ngfx9-4-generic\\n" "$FAKE_GPU"\n' >"$tools/rocm_agent_enumerator"
    chmod +x "$tools"/*
    on() { # on GPU WORDS...: run with these GPUs
        call env PATH="$tools:$PATH" FAKE_GPU="$1" "${@:2}"
    }
    built() { [ "$status" = 0 ] && [ "$(cat "$scratch/out")" = "$project/build/$1/tt" ]; }
    on 9.0 "$project/run" build
    check "a build on one GPU is named after it" built cuda-sm_90
    check "and says which folder that is" says "configuring build/cuda-sm_90"
    on 8.0 "$project/run" build
    check "on a node with another GPU it is another build" built cuda-sm_80
    on 9.0 "$project/run" train
    check "back on the first one its own is used" prints "<train>"
    check "as it is" silent
    on '9.0\n8.0\n9.0' "$project/run" build
    check "two kinds of GPU in a node are one build for both" built cuda-sm_80-sm_90
    on '' env BACKEND=cuda "$project/run" build
    check "without a GPU the folder is the backend's" built cuda
    on 9.0 env CUDAARCHS='80;90a' "$project/run" build
    check "CUDAARCHS names the folder when CMake builds for that" built cuda-sm_80-sm_90a
    on gfx90a env BACKEND=hip "$project/run" build
    check "AMD's chip names the folder too" built hip-gfx90a
    check "and is what is built for" says "GPU_TARGETS 'gfx90a'"
    on 'gfx942:sramecc+:xnack-\ngfx90a' env BACKEND=hip "$project/run" build
    check "chips in a fixed order, without features" built hip-gfx90a-gfx942
    check "and both are built for" says "GPU_TARGETS 'gfx90a;gfx942'"
    on '' env BACKEND=hip "$project/run" build
    check "no chip but the CPU is none" built hip
    on gfx942 env BACKEND=hip "$project/run" test
    check "tests have a folder for each chip too" test -d "$project/build/test-hip-gfx942"
    mkdir -p "$scratch/rocm/core-7.14/bin"
    mv "$tools/rocm_agent_enumerator" "$scratch/rocm/core-7.14/bin/"
    on gfx1100 env BACKEND=hip ROCM_PATH="$scratch/rocm" "$project/run" build
    check "ROCm's tools are found in core-7.14 of ROCM_PATH" built hip-gfx1100
}

testing() {
    local project="$scratch/testing"
    make_project "$project"
    call "$project/.ci/run"
    check "test exits 0" exits 0
    check "test ends with a plain line" says "all tests passed (optimised"
    call "$project/run" test -R nothing
    check "a test that does not exist is an error" exits 1
    touch "$project/broken"
    cmake "$project/build/test-cpu" >/dev/null
    call "$project/run" test
    check "a failing test exits 1" exits 1
    check "it stops at the first failing stage" says "tests failed in build/test-cpu"
    check "and does not say that all passed" test -z "$(grep 'all tests passed' "$scratch/err")"
    printf 'int main(void) { int unused; return 0; }\n' >"$project/tt.c"
    call "$project/run" test
    check "a warning exits 1" exits 1
    check "and is shown" says "unused"
}

missing() {
    local project="$scratch/missing" install='sudo apt-get update && sudo apt-get install -y'
    if ! can_be_user; then
        echo "skipped: what run does for a user without tools (cannot become one)"
        return
    fi
    make_project "$project"
    chmod 755 "$scratch"
    chmod 777 "$project" "$scratch"
    make_path "$scratch/no-cmake" cmake
    make_path "$scratch/no-tools" cmake cc gcc clang c99 ninja make
    make_path "$scratch/no-apt" apt-get cmake
    ln -sf "$(command -v false)" "$scratch/no-cmake/apt-get"
    ln -sf "$(command -v false)" "$scratch/no-tools/apt-get"
    for word in train test build; do
        call as_user env PATH="$scratch/no-cmake" "$project/run" $word
        check "$word without cmake exits 1" exits 1
        check "$word without cmake tells the command" grep -qE "^$install cmake( libopenblas-dev)?( g[+][+])?\$" "$scratch/err"
        check "$word without cmake makes no folder" absent "$project/build"
    done
    call as_user env PATH="$scratch/no-tools" "$project/run" train
    check "without any tool the command has all" grep -qx "$install gcc libc6-dev cmake ninja-build libopenblas-dev" \
        "$scratch/err"
    check "without any tool no folder is made" absent "$project/build"
    call as_user env PATH="$scratch/no-apt" "$project/run" train
    check "without apt it exits 1" exits 1
    check "without apt it speaks of modules" says "module load"
}

the_words
training
backends
folders
testing
missing
echo "$checks checks, $failures failed"
[ $failures = 0 ]
