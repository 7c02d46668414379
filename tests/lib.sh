# shellcheck shell=bash disable=SC2034
# Functions for the test scripts. A script runs from the root of the repository and begins with `. tests/lib.sh`. Then
# $root is that folder and $dir a new temporary folder. When the script ends, $dir is removed and its background jobs are
# killed. A test goes on after a failure; its last line is `finish`.
root=$PWD
dir=$(mktemp -d) || exit 1
checks=0 failures=0
shown="out err" # files in $dir whose last lines are shown after a failure

# shellcheck disable=SC2046 # one argument per process
trap 'kill $(jobs -p) 2>/dev/null; chmod -R u+w "$dir" 2>/dev/null; rm -rf "$dir"' EXIT

fail() { # fail WHAT...
    local file
    failures=$((failures + 1))
    printf 'FAIL %s\n' "$*"
    for file in $shown; do [ -s "$dir/$file" ] && tail -n 40 "$dir/$file" | sed "s/^/     $file: /"; done
}
die() { # die WHAT...: fails and ends the test
    fail "$@"
    exit 1
}
skip() { # skip WHY...
    echo "skipped: $*"
    exit 77
}
passed() { [ "$failures" = 0 ] && echo "ok   $1"; } # passed WHAT: prints it if nothing has failed so far

finish() {
    [ "$checks" = 0 ] || echo "$checks checks, $failures failed"
    exit $((failures > 0))
}

# ---- the environment ----

has() { command -v "$1" >/dev/null 2>&1; }
cached() { sed -n "s/^$1:[A-Z]*=//p" "${TT_BUILD:-.}/CMakeCache.txt" 2>/dev/null; } # cached NAME: its value in CMakeCache.txt

sources() { # sources FOLDER...: their C, C++ and GPU sources
    find "$@" \( -name '*.c' -o -name '*.h' -o -name '*.def' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' \) 2>/dev/null
}
on_cpu() { [[ $("${TT:?is the program to test}" --version) == *"(cpu)"* ]]; } # is tt built for the CPU?
needs_device() { # skips the test if tt was built for a GPU and there is none
    "${TT:?is the program to test}" info >/dev/null 2>&1
    [ $? != 3 ] || skip "no device for this build of tt"
}
needs_ranks() { # skips the test if several ranks cannot compute together, and in all but the optimised build
    needs_device
    "$TT" info 2>/dev/null | grep -q 'collectives: no' && skip "this tt was built without what carries collectives"
    once "the optimised build does it"
    export TT_TEST_RANKS_ON_ONE_GPU=1 OMP_NUM_THREADS=1 NO_COLOR=1
}
needs_module() { # skips the test if $python cannot load this build's library; afterwards Python finds the module
    : "${TT:?is the program to test}" "${TT_BUILD:?is the build folder}"
    [ "$(cached TT_LIBRARY)" = ON ] || skip "built without the library"
    python=${TT_PYTHON:-python3}
    "$python" -c 'import sys, ctypes; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || skip "no Python from 3.9 on with ctypes"
    once "a library with sanitizers cannot be loaded into Python"
    needs_device
    export PYTHONPATH=$root/lib/python TT_LIBRARY=$TT_BUILD/libtt.so TT_PROGRAM=$TT PYTHONDONTWRITEBYTECODE=1
    export XDG_CACHE_HOME=$dir/cache OMP_NUM_THREADS=1
}
needs_browser() { # skips the test if there is no Chromium; `chrome` runs it
    for browser in chromium chromium-browser google-chrome; do has "$browser" && return; done
    skip "no Chromium"
}
chrome() { # chrome ARGUMENTS...: without a window, in a profile folder of its own
    HOME=$dir timeout 100 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
        --user-data-dir="$dir/user" "$@"
}
once() { # once WHY...: skips the test in builds with sanitizers or without BLAS
    [ "$(cached TT_SANITIZE)" != ON ] && [ "$(cached TT_BLAS)" != OFF ] || skip "$@"
}

# ---- checks ----

check() { # check WHAT COMMAND...
    local what=$1
    shift
    checks=$((checks + 1))
    "$@" || fail "$what"
}
expect() { # expect CODE "text in the output" COMMAND...: leaves stdout in $dir/out and stderr in $dir/err
    local code=$1 words=$2 got
    shift 2
    "$@" >"$dir/out" 2>"$dir/err"
    got=$?
    [ "$got" = "$code" ] || { fail "exit $got, not $code: $*"; return 1; }
    cat "$dir/out" "$dir/err" | grep -qF -- "$words" || fail "no \"$words\" from: $*"
}
run() { # run CODE ARGUMENTS...: runs tt and checks its exit code; leaves ./out and ./err
    local want=$1 got
    shift
    checks=$((checks + 1))
    "$TT" "$@" >out 2>err </dev/null
    got=$?
    [ "$got" -eq "$want" ] || fail "tt $*: exit code $got, not $want: $(head -c 500 err)"
}
shows() { grep -qE -- "$1" "$dir/out" || fail "no \"$1\" in the output"; } # shows PATTERN: $dir/out matches PATTERN
says() { # says FILE TEXT: FILE contains TEXT
    checks=$((checks + 1))
    grep -qF -- "$2" "$1" || fail "expected \"$2\" in: $(head -c 1500 "$1")"
}
broken_links() { # broken_links FILE: prints the links of a Markdown file to files that do not exist
    local file=$1 target path
    grep -oE '\]\((<[^>]+>|[^)]+)\)' "$file" | sed 's/^](//; s/)$//; s/^<//; s/>$//' | while IFS= read -r target; do
        case $target in
        https://* | '#'*) continue ;;
        /*) path=${target%%#*} ;;
        *) path=$(dirname "$file")/${target%%#*} ;;
        esac
        [ -e "$path" ] || echo "$file links to $target, which is not there"
    done
}
