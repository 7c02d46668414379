#!/usr/bin/env bash
# Runs every GPU test under each tool of compute-sanitizer, at few sizes (TT_TEST_FEW), and prints a table of the results.
#
#   tests/backend/sanitize_gpu.sh BUILD [OUT]    BUILD is a build folder with -DBACKEND=cuda; OUT gets the output of each run
#
# On Hopper, racecheck needs a BUILD of its own with -DCMAKE_CUDA_FLAGS=-DTT_RACECHECK. Without it, racecheck ends with
# an "Internal Sanitizer Error" in the kernels whose warps give registers to each other (backend/cuda/gpu_hopper.h).
#
#   TOOLS   memcheck racecheck initcheck synccheck, or fewer of them
#   TESTS   a regular expression of names of tests, as for ctest -R
#   LIMIT   seconds for one test under one tool (300); one that takes longer is "timed out", never clean
#   JOBS    runs at a time on the one GPU (4)
#
# racecheck breaks in cuBLAS's own kernels for Hopper's 16-bit types although it is told to skip them, so models run in
# fp32 under it (TT_TEST_FP32). The kernel tests cover our kernels in every type.
#
# clean: the test passed and the tool found nothing. errors: the tool found something. FAILED: the tool found nothing
# but the test did not pass. no word: the tool ended without its summary. Exit code 0 when every run that was not skipped
# is clean, 77 when all were skipped, else 1.
set -uo pipefail
export LC_ALL=C
usage() { sed -n '2,20s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
die() { echo "sanitize: $*" >&2; exit 3; }

[ $# -ge 1 ] && [ $# -le 2 ] || usage
build=$(cd -- "$1" 2>/dev/null && pwd -P) || die "there is no folder $1; configure and build it first"
out=${2:-$build/sanitize}
tools=${TOOLS:-racecheck initcheck memcheck synccheck} # the slowest first
limit=${LIMIT:-300}
jobs=${JOBS:-4}
for n in "$limit" "$jobs"; do [[ $n =~ ^[1-9][0-9]*$ ]] || die "LIMIT and JOBS are whole numbers above 0, not '$n'"; done
for tool in $tools; do
    case $tool in memcheck | racecheck | initcheck | synccheck) ;; *) die "compute-sanitizer has no tool '$tool'" ;; esac
done
PATH=$PATH:/usr/local/cuda/bin
sanitizer=$(command -v compute-sanitizer) || die "there is no compute-sanitizer on PATH or in /usr/local/cuda/bin"
mkdir -p "$out" && out=$(cd -- "$out" && pwd -P) || die "cannot write to $out"
rm -f "$out"/*.run "$out"/*.log "$out"/*.result

# ---- the tests as ctest would run them: "NAME<tab>FOLDER<tab>COMMAND" ----
ctest --test-dir "$build" -N -V -L gpu ${TESTS:+-R "$TESTS"} 2>&1 |
    awk '/^[0-9]+: Test command: / { sub(/^[0-9]+: Test command: /, ""); command = $0 }
         /^[0-9]+: Working Directory: / { sub(/^[0-9]+: Working Directory: /, ""); folder = $0 }
         /^ *Test +#[0-9]+: / { name = $0; sub(/^ *Test +#[0-9]+: /, "", name)
                                print name "\t" folder "\t" command
                                command = folder = "" }' >"$out/tests"
[ -s "$out/tests" ] || die "ctest -L gpu knows no test of this name in $build; is it a build with -DBACKEND=cuda?"
while IFS=$'\t' read -r name folder command; do
    eval "set -- $command" # ctest prints the command quoted for a shell
    [ -x "${1:-}" ] || die "$name is not built (cmake --build $build)"
done <"$out/tests"

# ---- one test under one tool ----
options_of() { # options_of TOOL
    echo --error-exitcode=99 --check-exit-code=no --print-limit=20
    case $1 in
    memcheck) echo --report-api-errors=no ;; # tests ask for too much memory on purpose and check every result
    racecheck | synccheck)                   # both look inside a block; cuBLAS's kernels are not ours to check
        if "$sanitizer" --help 2>/dev/null | grep -q -- --kernel-name-exclude; then
            printf -- '--kernel-name-exclude=kns=%s\n' cutlass nvjet xmma cublas gemm gemv splitK
        fi
        ;;
    esac
}
declare -A options
for tool in $tools; do options[$tool]=$(options_of "$tool" | tr '\n' ' '); done

# judge RUN STATUS: the verdict, with the number of errors. A run that was cut short is judged by its output so far.
judge() {
    local found
    found=$(sed -nE 's/.*(ERROR|RACECHECK) SUMMARY: ([0-9]+) .*/\2/p' "$1.log" 2>/dev/null | sort -n | tail -n 1)
    if [ "${found:-0}" != 0 ]; then echo "errors ($found)"
    elif [ "$2" = 99 ] || { [ -z "$found" ] && grep -qE '^========= +at |^========= +(Warning|Error): ' "$1.log"; }; then echo "errors"
    elif [ "$2" = 124 ] || [ "$2" = 137 ]; then echo "timed out"
    elif grep -q '^skipped: ' "$1.run"; then echo "skipped"
    elif [ "$2" != 0 ] || ! grep -qE '^[0-9]+ checks, 0 failed$' "$1.run"; then echo "FAILED"
    elif [ -z "$found" ]; then echo "no word"
    else echo "clean"
    fi
}

run_one() { # run_one TOOL NAME FOLDER COMMAND PORT
    local run=$out/$1-$2 began=$SECONDS
    eval "set -- $1 $2 $(printf %q "$3") $5 $4"
    local tool=$1 folder=$3 port=$4
    shift 4
    # shellcheck disable=SC2086 # the options are separate arguments
    (cd -- "$folder" || exit 3
     export TT_TEST_FEW=1 OMP_NUM_THREADS=2
     [ "$tool" != racecheck ] || export TT_TEST_FP32=1
     exec timeout -k 10 "$limit" "$sanitizer" --tool "$tool" \
        ${options[$tool]} --port "$port" --log-file "$run.log" "$@") >"$run.run" 2>&1 </dev/null
    printf '%s\t%d s\n' "$(judge "$run" $?)" $((SECONDS - began)) >"$run.result"
}

# ---- all of them, several at a time ----
port=49152 # a range of ports for each run, so that runs do not connect to each other's tool
for tool in $tools; do
    while IFS=$'\t' read -r name folder command; do
        while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
        run_one "$tool" "$name" "${folder:-$build}" "$command" $port &
        port=$((port + 16))
    done <"$out/tests"
done
wait

# ---- the table ----
{
    printf '| test |'; printf ' %s |' $tools; echo
    printf '|---|'; printf -- '---|%.0s' $tools; echo
    while IFS=$'\t' read -r name _; do
        printf '| %s |' "$name"
        for tool in $tools; do printf ' %s |' "$(tr '\t' ',' <"$out/$tool-$name.result" | sed 's/,/, /')"; done
        echo
    done <"$out/tests"
} | tee "$out/table.md"

count() { cat "$out"/*.result | grep -cE "^($1)"; }
clean=$(count clean) skipped=$(count skipped) all=$(cat "$out"/*.result | wc -l)
echo
echo "$all runs: $clean clean, $(count errors) with errors, $(count FAILED) failed, $(count 'timed out') timed out after $limit s," \
    "$(count 'no word') without the tool's word, $skipped skipped; $out has what they said"
[ "$clean" -gt 0 ] || [ "$skipped" -lt "$all" ] || exit 77
exit $((clean + skipped < all))
