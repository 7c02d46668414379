#!/usr/bin/env bash
# Tests ./run on a project of a few lines, so that neither tt is built nor anything installed.
set -uo pipefail
. tests/lib.sh
once "run does not depend on how tt was built"
unset BACKEND CC CMAKE_BUILD_PARALLEL_LEVEL CUDAARCHS ROCM_PATH

call() { # call COMMAND...: runs it; output in $dir/out and err, exit code in $status
    status=0
    "$@" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
}

exits() { [ "$status" = "$1" ] || { echo "     exit $status, not $1"; false; }; }
prints() { grep -qF -- "$1" "$dir/out"; }
complains() { grep -qF -- "$1" "$dir/err"; }
silent() { [ ! -s "$dir/err" ]; }
absent() { [ ! -e "$1" ]; }

# Makes a project whose tt prints its arguments. One test succeeds unless its folder contains a file named broken;
# another one is only for `./run test --all`.
make_project() {
    mkdir -p "$1/backend/cpu" "$1/.ci"
    cp "$root/run" "$1/run"
    cp "$root/.ci/run" "$1/.ci/run"
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
if(TT_TEST_ALL)
  add_test(NAME long COMMAND ${CMAKE_COMMAND} -E true)
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

# A folder with links to all commands of this machine except the named ones.
make_path() { # make_path FOLDER NAMES...
    local folder=$1 name
    shift
    mkdir -p "$folder"
    ln -s /usr/bin/* "$folder/"
    [ -L /bin ] || ln -sf /bin/* "$folder/"
    for name; do rm -f "$folder/$name"; done
}

as_user() { # as_user COMMAND...: runs it as another user than root
    if [ "$(id -u)" != 0 ]; then
        "$@"
    else
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    fi
}

can_be_user() { [ "$(id -u)" != 0 ] || setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null; }

the_words() {
    check "run is a bash script" bash -n "$root/run"
    check ".ci/run is a bash script" bash -n "$root/.ci/run"
    check "run can be executed" test -x "$root/run"
    check ".ci/run can be executed" test -x "$root/.ci/run"
    check ".ci/run calls ./run test --all" grep -qx './run test --all' "$root/.ci/run"
    call "$root/run" help
    check "help exits 0" exits 0
    for word in train test build help; do check "help names $word" prints "./run $word"; done
    call "$root/run"
    check "no word exits 2" exits 2
    call "$root/run" --fly
    check "an unknown word exits 2" exits 2
    check "an unknown word is named" complains "unknown word '--fly'"
}

training() {
    local project="$dir/a project"
    local -x BACKEND=cpu # the project has no other backend, and on a machine with a GPU ./run would print a note
    make_project "$project"
    cd / || exit 1
    call "$project/run" train --steps 'two words'
    check "train exits as tt does" exits 0
    check "train hands its words on" prints "<train><--steps><two words>"
    check "train says which backend it built" complains "backend cpu, Release"
    call "$project/run" train 7
    check "train exits as tt does when tt fails" exits 7
    check "a second call builds nothing and says nothing" silent
    call "$project/run" generate --prompt 'the cat'
    check "any command of tt is handed on" prints "<generate><--prompt><the cat>"
    call env -i BACKEND=cpu PATH="$(dirname "$(command -v cmake)"):/usr/bin:/bin" "$project/run" train
    check "a bare PATH will do" exits 0
    ln -s "$project/run" "$dir/link"
    call "$dir/link" train
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
    check "and the compiler's words are shown" complains "error: expected"
    mv "$project" "$dir/moved"
    make_project "$dir/moved"
    call "$dir/moved/run" train
    check "a moved folder is built anew" exits 0
}

backends() {
    local project="$dir/backends"
    make_project "$project"
    call env BACKEND=cuda "$project/run" train
    check "a backend that does not exist exits 2" exits 2
    check "and is named" complains "no cuda backend yet"
    call env BACKEND=abacus "$project/run" train
    check "an unknown backend exits 2" exits 2
    call env BACKEND=cpu "$project/run" verify
    check "verify without a GPU exits 3" exits 3
    check "and says so" complains "no GPU to verify"
    call env BACKEND=cpu "$project/run" verify --fast
    check "verify with another word exits 2" exits 2
    check "and names it" complains "verify takes --full or nothing, not: --fast"
    check "nothing was built for any of them" absent "$project/build"
}

# The nodes of a cluster share a home and have different GPUs. These fake tools report the GPUs.
folders() {
    local project="$dir/cluster" tools="$dir/tools"
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
    on() { # on GPU ARGUMENTS...: ./run on a node with these GPUs
        call env PATH="$tools:$PATH" FAKE_GPU="$1" "${@:2}"
    }
    built() { [ "$status" = 0 ] && [ "$(cat "$dir/out")" = "$project/build/$1/tt" ]; }
    on 9.0 "$project/run" build
    check "a build on one GPU is named after it" built cuda-sm_90
    check "and says which folder that is" complains "configuring build/cuda-sm_90"
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
    check "and is what is built for" complains "GPU_TARGETS 'gfx90a'"
    on 'gfx942:sramecc+:xnack-\ngfx90a' env BACKEND=hip "$project/run" build
    check "chips in a fixed order, without features" built hip-gfx90a-gfx942
    check "and both are built for" complains "GPU_TARGETS 'gfx90a;gfx942'"
    on '' env BACKEND=hip "$project/run" build
    check "no chip but the CPU is none" built hip
    on gfx942 env BACKEND=hip "$project/run" test
    check "tests have a folder for each chip too" test -d "$project/build/test-hip-gfx942"
    mkdir -p "$dir/rocm/core-7.14/bin"
    mv "$tools/rocm_agent_enumerator" "$dir/rocm/core-7.14/bin/"
    on gfx1100 env BACKEND=hip ROCM_PATH="$dir/rocm" "$project/run" build
    check "ROCm's tools are found in core-7.14 of ROCM_PATH" built hip-gfx1100
}

testing() {
    local project="$dir/testing"
    make_project "$project"
    call "$project/run" test
    check "test exits 0" exits 0
    check "test ends with a plain line" complains "all tests passed (optimised) in"
    check "it runs the quick tests" prints "out of 1"
    check "in one build" test "$(cd "$project/build" && echo test-*)" = test-cpu
    call "$project/.ci/run"
    check "test --all exits 0" exits 0
    check "test --all ends with a plain line" complains ", without BLAS and OpenMP"
    check "it runs the long tests too" prints "out of 2"
    call "$project/run" test -N
    check "further words go to ctest, and the long tests are out again" prints "Total Tests: 1"
    for all in '' --all; do
        call "$project/run" test $all -R nothing
        check "test $all: a test that does not exist is an error" exits 1
    done
    touch "$project/broken"
    call "$project/run" test --all
    check "a failing test exits 1" exits 1
    check "it stops at the first failing stage" complains "tests failed in build/test-cpu"
    check "and does not say that all passed" test -z "$(grep 'all tests passed' "$dir/err")"
    printf 'int main(void) { int unused; return 0; }\n' >"$project/tt.c"
    call "$project/run" test
    check "a warning exits 1" exits 1
    check "and is shown" complains "unused"
}

missing() {
    local project="$dir/missing" install='sudo apt-get update && sudo apt-get install -y'
    if ! can_be_user; then
        echo "skipped: what run does for a user without tools (cannot become one)"
        return
    fi
    make_project "$project"
    chmod 755 "$dir"
    chmod 777 "$project" "$dir"
    make_path "$dir/no-cmake" cmake
    make_path "$dir/no-tools" cmake cc gcc clang c99 ninja make
    make_path "$dir/no-apt" apt-get cmake
    ln -sf "$(command -v false)" "$dir/no-cmake/apt-get"
    ln -sf "$(command -v false)" "$dir/no-tools/apt-get"
    for word in train test build; do
        call as_user env PATH="$dir/no-cmake" "$project/run" $word
        check "$word without cmake exits 1" exits 1
        check "$word without cmake tells the command" grep -qE "^$install cmake( libopenblas-dev)?( g[+][+])?( libopenmpi-dev openmpi-bin)?\$" "$dir/err"
        check "$word without cmake makes no folder" absent "$project/build"
    done
    call as_user env PATH="$dir/no-tools" "$project/run" train
    check "without any tool the command has all" grep -qx "$install gcc libc6-dev cmake ninja-build libopenblas-dev" \
        "$dir/err"
    check "without any tool no folder is made" absent "$project/build"
    call as_user env PATH="$dir/no-apt" "$project/run" train
    check "without apt it exits 1" exits 1
    check "without apt it speaks of modules" complains "module load"
}

the_words
training
backends
folders
testing
missing
finish
