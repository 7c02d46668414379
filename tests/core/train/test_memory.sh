#!/usr/bin/env bash
# A run takes at most a tenth more or less memory than `tt info` predicts.
set -u
. tests/lib.sh
needs_device
on_cpu || skip "what a process has in memory is not what it has on a GPU"
[ "$(cached TT_SANITIZE)" != ON ] || skip "a sanitizer has its own memory"
number() { tr ',{}' '\n\n\n' | sed -n "s/^ *\"$1\": *\([0-9.e+]*\).*/\1/p" | head -n 1; }
for version in baseline fused flash; do
    for recompute in none block; do
        shape="--preset tiny --version $version --recompute $recompute"
        said=$("$TT" info $shape --json | number total)
        took=$("$TT" train $shape --num-steps 2 --val-batches 1 --out "$dir/$version-$recompute" --json | number peak_memory_bytes)
        awk -v v="$version, recompute $recompute" -v s="$said" -v t="$took" 'BEGIN {
            good = s > 0 && t > 0 && t / s > 0.9 && t / s < 1.1
            printf "%s %s: predicted %.1f MiB, took %.1f MiB (%+.1f %%)\n", good ? "ok  " : "FAIL", v, s / 1048576, t / 1048576, 100 * (t / s - 1)
            exit !good }' || failures=$((failures + 1))
    done
done
finish
