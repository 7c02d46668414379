# shellcheck shell=bash disable=SC2034
# What the scripts among the tests share. They run from the root of the repository and begin with `. tests/lib.sh`: then
# $root is that folder and $dir an empty one of their own, which is gone when they end, with what they left running.
# A test goes on after a failure; its last line is `finish`.
root=$PWD
dir=$(mktemp -d) || exit 1
checks=0 failures=0
shown="out err" # the files of $dir whose ends tell more of a failure

# shellcheck disable=SC2046 # one word for each process
trap 'kill $(jobs -p) 2>/dev/null; chmod -R u+w "$dir" 2>/dev/null; rm -rf "$dir"' EXIT

fail() { # fail WHAT...
    local file
    failures=$((failures + 1))
    printf 'FAIL %s\n' "$*"
    for file in $shown; do [ -s "$dir/$file" ] && tail -n 40 "$dir/$file" | sed "s/^/     $file: /"; done
}
die() { # die WHAT...: a failure after which there is nothing left to test
    fail "$@"
    exit 1
}
skip() { # skip WHY...
    echo "skipped: $*"
    exit 77
}
passed() { [ "$failures" = 0 ] && echo "ok   $1"; } # passed WHAT: this part and all before it

finish() {
    [ "$checks" = 0 ] || echo "$checks checks, $failures failed"
    exit $((failures > 0))
}

# ---- what is there ----

has() { command -v "$1" >/dev/null 2>&1; }
cached() { sed -n "s/^$1:[A-Z]*=//p" "${TT_BUILD:-.}/CMakeCache.txt" 2>/dev/null; } # cached NAME: its value in this build

sources() { # sources FOLDER...: the C, C++ and GPU sources in them
    find "$@" \( -name '*.c' -o -name '*.h' -o -name '*.def' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' \) 2>/dev/null
}
on_cpu() { [[ $("${TT:?is the program to test}" --version) == *"(cpu)"* ]]; } # was it built for the CPU?
needs_device() { # for what trains: in a build for a GPU that is not there it is skipped
    "${TT:?is the program to test}" info >/dev/null 2>&1
    [ $? != 3 ] || skip "no device for this build of tt"
}
once() { # once WHY...: the optimised build does it, those with sanitizers and without BLAS need not
    [ "$(cached TT_SANITIZE)" != ON ] && [ "$(cached TT_BLAS)" != OFF ] || skip "$@"
}

# ---- checks ----

check() { # check WHAT COMMAND...
    local what=$1
    shift
    checks=$((checks + 1))
    "$@" || fail "$what"
}
expect() { # expect CODE "words in the output" COMMAND...: what it prints is in $dir/out and $dir/err
    local code=$1 words=$2 got
    shift 2
    "$@" >"$dir/out" 2>"$dir/err"
    got=$?
    [ "$got" = "$code" ] || { fail "exit $got, not $code: $*"; return 1; }
    cat "$dir/out" "$dir/err" | grep -qF -- "$words" || fail "no \"$words\" from: $*"
}
shows() { grep -qE -- "$1" "$dir/out" || fail "no \"$1\" in the output"; } # shows PATTERN: the last output does
says() { # says FILE TEXT: FILE contains TEXT
    checks=$((checks + 1))
    grep -qF -- "$2" "$1" || fail "expected \"$2\" in: $(head -c 1500 "$1")"
}
broken_links() { # broken_links FILE: the links of a Markdown file that lead to no file, a line each
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
