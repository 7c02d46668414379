#!/usr/bin/env bash
# `./run verify` with a GPU build: every GPU test, tt info, tt bench, and one folder to send back, with a report, the
# logs and the versions of all software involved. It contains no name of the machine or of a user (scrub.sh).
#
#   tests/packaging/verify.sh BUILD OUT [--full]    BUILD is the build folder; OUT is made, and OUT.tar.gz
#
# Models of medium size and above take longest, so they are timed in the fastest precision only; --full times them in
# all. This changes no figure. SIZES lists what to time (tiny,small,medium,gpt2). Exit code 1 if a test failed.
set -uo pipefail
export LC_ALL=C
build=$1
out=$2
how=${3:---quick}
root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd -P)
tt=$build/tt
mkdir -p "$out" || exit 1
say() { printf 'verify: %s\n' "$*" >&2; }
took() { printf '%d:%02d' $((SECONDS / 60)) $((SECONDS % 60)); }
show() { # show COMMAND...: its output, if the command exists
    command -v "$1" >/dev/null 2>&1 || return 0
    printf '\n$ %s\n' "$*"
    timeout 60 "$@" 2>&1 | head -n 200
}
pack() { # the folder ready to send: without names, also in the archive's list of owners
    bash "$root/tests/packaging/scrub.sh" "$out" "$root" "$build" "$out"
    tar --owner=0 --group=0 --numeric-owner -czf "$out.tar.gz" -C "$(dirname -- "$out")" "$(basename -- "$out")"
}

# ---- software and hardware ----
{
    "$tt" --version
    git -C "$root" log -1 --format='commit %H %cs' 2>/dev/null && git -C "$root" status --short 2>/dev/null | head -n 20
    uname -srm
    sed -n 's/^PRETTY_NAME=//p' /etc/os-release 2>/dev/null
    cat "${ROCM_PATH:-/opt/rocm}"/{,core/}.info/version 2>/dev/null
    env | grep -E '^(HIP|HSA|ROCR|ROCM|AMD|CUDA|NVIDIA|GPU|TT)_' | grep -v PATH
    for what in version platform compiler runtime; do show hipconfig --$what; done # --full prints the machine's name
    show rocminfo
    show rocm-smi --showproductname --showdriverversion --showmeminfo vram
    show amd-smi version
    show nvidia-smi --format=csv --query-gpu=name,driver_version,vbios_version,compute_cap,memory.total,memory.used,compute_mode,mig.mode.current,ecc.mode.current,clocks.max.sm,clocks.max.memory,power.limit # without the processes
    show nvcc --version
    show cmake --version
    grep -E '^(BACKEND|GPU_TARGETS|CMAKE_(HIP|CUDA|C)_(COMPILER|ARCHITECTURES)|CMAKE_BUILD_TYPE|TT_HIP.*(LIBRARY|INCLUDE)|TT_ROCTX.*LIBRARY):' \
        "$build/CMakeCache.txt"
} >"$out/versions.txt" 2>&1
cp "$build/configure.log" "$build/build.log" "$out/" 2>/dev/null

# ---- the device; a GPU that cannot be opened ends the script here ----
if ! "$tt" info >"$out/info.txt" 2>"$out/info.err"; then
    cat "$out/info.err" >&2
    cp "$out/info.err" "$out/report.md"
    pack
    exit 3
fi
"$tt" info --json >"$out/info.json" 2>>"$out/info.err"
[ -s "$out/info.err" ] || rm -f "$out/info.err"

# ---- what will be done, and how long it takes ----
timings=() # "SIZE PRECISION"
precisions=$(sed -n 's/^build .*precisions *//p' "$out/info.txt")
case " $precisions " in *' bf16 '*) fast=bf16 ;; *) fast=fp16 ;; esac
for precision in $precisions; do
    for size in $(tr , ' ' <<<"${SIZES:-tiny,small,medium,gpt2}"); do
        case $how:$precision:$size in --full:* | *:tiny | *:small | *:$fast:*) timings+=("$size $precision") ;; esac
    done
done
tests=$(ctest --test-dir "$build" -N -L gpu 2>/dev/null | sed -n 's/^Total Tests: //p')
say "$(sed -n 's/^device  *//p' "$out/info.txt")"
say "${tests:-0} tests, then ${#timings[@]} timings: minutes on a large GPU, longer on a small one; what is done is shown with the time"

# ---- tests ----
progress() { # shortens ctest's lines about finished tests
    sed -unE 's/^ *([0-9]+\/[0-9]+) Test +#[0-9]+: ([^ ]+) [. ]*\**([A-Za-z]+) +([0-9.]+) sec.*/\1 \2 \3 \4/p' |
        while read -r number name result seconds; do say "[$(took)] test $number $name: $result in $seconds s"; done
}
ctest --test-dir "$build" -L gpu --no-tests=error --output-on-failure --timeout 900 --output-junit "$out/tests.xml" \
    2>&1 </dev/null | tee "$out/tests.log" | progress
tests=${PIPESTATUS[0]}
grep -E 'tests passed|tests failed' "$out/tests.log" >&2

# ---- speed ----
for ((i = 0; i < ${#timings[@]}; i++)); do
    read -r size precision <<<"${timings[i]}"
    say "[$(took)] timing $((i + 1))/${#timings[@]} $size $precision"
    name=$out/bench-$size-$precision
    timeout 600 "$tt" bench --sizes "$size" --precision "$precision" --quiet --json >"$name.json" 2>"$name.err" </dev/null ||
        echo "did not run: $(tail -n 1 "$name.err")" >>"$name.err"
    find "$name.json" "$name.err" -empty -delete
done

# ---- the report ----
{
    echo "# tt on $(sed -n 's/^device  *//p' "$out/info.txt")"
    echo
    sed -n '1,/^$/s/^./    &/p' "$out/info.txt"
    echo
    echo "## Tests (ctest -L gpu)"
    echo
    sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) [. ]*\**([A-Za-z]+) +([0-9.]+ sec).*/| \1 | \2 | \3 |/p' "$out/tests.log" |
        sed '1i | test | result | time |\n|---|---|---|'
    echo
    grep -E 'tests passed|tests failed' "$out/tests.log"
    echo
    echo "## Bench (tt bench)"
    echo
    echo "| precision | size | version | median ms | tokens/s | MFU % |"
    echo "|---|---|---|---|---|---|"
    for file in "$out"/bench-*.json; do
        [ -e "$file" ] || continue
        name=${file##*/bench-}
        awk -v precision="$(sed 's/.*-//; s/.json//' <<<"$name")" '
            function value(line) { sub(/^[^:]*: */, "", line); gsub(/[",]/, "", line); return line }
            /"size":/ { size = value($0) }
            /"version":/ { version = value($0) }
            /"median_ms":/ { median = value($0) }
            /"tokens_per_second":/ { tokens = value($0) }
            /"mfu_percent":/ { printf "| %s | %s | %s | %.2f | %.0f | %.1f |\n", precision, size, version, median, tokens, value($0) }' "$file"
    done
    for file in "$out"/bench-*.err; do [ -e "$file" ] && printf '\n%s: %s\n' "$(basename "$file" .err)" "$(tail -n 1 "$file")"; done
    echo
    [ "$how" = --full ] || echo "Large models in $fast only; ./run verify --full times them in every precision."
    echo "It took $(took) minutes. versions.txt has the driver, the libraries and the compilers; tests.log what every test printed."
} >"$out/report.md"
pack
say "[$(took)] report: $out/report.md"
say "to send back: $out.tar.gz"
exit $((tests != 0))
