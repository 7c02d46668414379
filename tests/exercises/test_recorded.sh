#!/usr/bin/env bash
# The figures that the course's texts and pictures give of the recorded H200 are those of the recorded files.
set -u
. tests/lib.sh
once "only files are compared"
export LC_ALL=C
cd exercises || exit 1

# row NAME FILE FIELD: the first number of a line of a summary's table that begins with the name.
row() { awk -F'|' -v name="$1" -v at="$3" '$2 ~ "^ *" name {match($at, /[0-9]+[.]?[0-9]*/); print substr($at, RSTART, RLENGTH); exit}' "$2"; }
# bench SIZE VERSION FIELD: of bench.json.
bench() {
    awk -F'[:,]' -v size="\"$1\"" -v version="\"$2\"" -v field="\"$3\"" '{gsub(/ /, "")}
        $1 == "\"size\"" {s = $2} $1 == "\"version\"" {v = $2} $1 == field && s == size && v == version {print $2; exit}' recorded/h200-bench/bench.json
}
round() { [ -n "$2" ] || fail "the recorded files have no figure"; printf "%.$1f" "$2"; }
# holds WORDS FILE...: each file has these words.
holds() {
    local words=$1
    shift
    for file; do tr -s '\n ' ' ' <"$file" | grep -qF -- "$words" || fail "$file does not have \"$words\", as the recorded files do"; done
}
small=recorded/h200-small/summary.md gpt2=recorded/h200-gpt2/summary.md

step=$(round 2 "$(row 'step, undisturbed' $small 3)") launched=$(round 2 "$(row 'without a graph' $small 3)")
long=$(round 1 "$(row 'step, undisturbed' $gpt2 3)") long_launched=$(round 1 "$(row 'without a graph' $gpt2 3)")
kernels=$(row 'kernels per step' $small 3)
holds "$step ms a step" recorded/README.md
holds "$long ms a step" recorded/README.md
holds "$kernels kernels share $step ms; MFU is $(round 1 "$(row 'MFU against the measured' $small 3)") %" 03-bottlenecks/README.md
holds "The preset gpt2 has MFU $(round 1 "$(row 'MFU against the measured' $gpt2 3)") %" 03-bottlenecks/README.md
holds "Flash takes $launched ms launched one by one and $step ms as a graph" 06-host/README.md
holds "$long_launched against $long ms" 06-host/README.md
holds "$(round 1 "$(row 'launch cost' $small 3)") µs, the $kernels of a step" 06-host/gaps.svg
holds "takes $launched ms; as a graph, which starts in $(round 1 "$(row 'the same as a graph' $small 3)") µs, $step ms" 06-host/gaps.svg
seen=$(($(wc -l <08-two-vendors/ncu_h200_small.csv) - 2)) # without the names and units
holds "at_least: $seen at_most: $seen" 08-two-vendors/check.yaml
holds "answer: $seen - h200:step.kernels" 08-two-vendors/check.yaml
holds "$seen kernels, $kernels operations" 08-two-vendors/README.md
holds "$seen - $kernels = $((seen - kernels))" 08-two-vendors/solution.md
holds "$((seen - kernels)) more in all" 08-two-vendors/hints.md
holds "in chunks they are $(round 0 "$(row logits $gpt2 3)") MiB" 02-memory/README.md
for phase in forward backward optimizer; do
    awk -F'|' -v name=" $phase " '/^## Phases/ {on = 1} on && $2 == name {print $3, $4; exit}' $small >"$dir/phase"
    read -r count wall <"$dir/phase"
    holds "$wall ms</text>" 01-baseline/step.svg
    holds "$count kernels</text>" 01-baseline/step.svg
done
passed "the recorded profiles"

for size in small medium gpt2; do
    cells="| $size |" bars="$size"
    for version in baseline fused flash; do
        median=$(round 2 "$(bench $size $version median_ms)")
        cells="$cells $median |" bars="$bars $version $median,"
        holds "$size $version $median " ../tests/peers/README.md
    done
    holds "$cells" README.md
    holds "${bars%,}" ../model/versions.svg
    mfu=$(round 1 "$(bench $size baseline mfu_percent)")
    holds "$mfu → $(round 1 "$(bench $size flash mfu_percent)") |" README.md
done
from=$(round 2 "$(bench small baseline median_ms)") to=$(round 2 "$(bench small fused median_ms)")
holds "went from $from to $to ms" 04-fused/README.md
holds "from $from to $to ms" 04-fused/fusion.svg
holds ">$from ms, $(bench small baseline operations_per_step) operations<" 04-fused/fusion.svg
holds ">$to ms, $(bench small fused operations_per_step) operations<" 04-fused/fusion.svg
holds "from $(round 1 "$(bench gpt2 fused median_ms)") ms fused to $(round 1 "$(bench gpt2 flash median_ms)") ms flash" 05-flash/README.md
passed "the recorded bench"
finish
