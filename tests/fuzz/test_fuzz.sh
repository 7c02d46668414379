#!/usr/bin/env bash
# Every fuzz target under libFuzzer with address and undefined-behaviour sanitizers, TT_FUZZ_SECONDS (5) each, starting
# from the corpus in the tree. No allocation may be larger than 1 MiB: inputs are small, and a size in a header must not
# be trusted. Without clang or libFuzzer, the targets still run as separate tests, driven by tests/fuzz/replay.c.
set -u
. tests/lib.sh
: "${TT:?is the program to test}" "${TT_BUILD:?is the build folder}"
clang=$(command -v "${TT_CLANG:-clang}") || skip "no clang"
grep -q __asan_init "$TT" || [ -n "${TT_FUZZ_SECONDS:-}" ] || skip "done once, with the tests under sanitizers"
seconds=${TT_FUZZ_SECONDS:-5}
echo 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return d && n > 9; }' >"$dir/try.c"
"$clang" -fsanitize=fuzzer,address,undefined "$dir/try.c" -o "$dir/try" 2>/dev/null || skip "this clang has no libFuzzer"

build=$TT_BUILD/fuzz
flags='-O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined'
mkdir -p "$build"
cmake -S . -B "$build" -DBACKEND=cpu -DTT_FUZZ=ON -DTT_BLAS=OFF -DTT_OPENMP=OFF -DCMAKE_C_COMPILER="$clang" \
    -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="$flags" >"$build.log" 2>&1 || { tail -n 20 "$build.log"; exit 1; }
targets=()
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    needs=$(sed -n 's/.*needs: \([a-z_/]*\.h\).*/\1/p' "$source")
    if [ -n "$needs" ] && [ ! -e "$needs" ]; then continue; fi
    targets+=("$name")
done
cmake --build "$build" --parallel 2 --target "${targets[@]}" >>"$build.log" 2>&1 || { tail -n 20 "$build.log"; exit 1; }

export ASAN_OPTIONS=detect_leaks=0
for name in "${targets[@]}"; do
    mkdir -p "$dir/$name"
    limit=1
    case $name in fuzz_jsonl | fuzz_tokens) limit=130 ;; esac # libzstd makes room for the window that a file names, at most 128 MiB
    if "$build/tests/fuzz/$name" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=1024 -malloc_limit_mb=$limit -max_len=8192 \
        -seed=1 -print_final_stats=1 -artifact_prefix="$dir/" "$dir/$name" "tests/fuzz/corpus/${name#fuzz_}" >"$dir/log" 2>&1; then
        echo "ok   $name: $(sed -n 's/stat::number_of_executed_units: *//p' "$dir/log") inputs"
    else
        fail "$name"
        grep -m 6 -E 'ERROR|SUMMARY|broken|runtime error|#[0-5] ' "$dir/log"
        for input in "$dir"/crash-* "$dir"/oom-* "$dir"/timeout-*; do
            [ -e "$input" ] || continue
            mkdir -p "$TT_BUILD/fuzz-found" && mv "$input" "$TT_BUILD/fuzz-found/$name-${input##*/}"
            echo "     kept as $TT_BUILD/fuzz-found/$name-${input##*/}"
        done
    fi
done
finish
