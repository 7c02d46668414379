#!/bin/bash
# Training in fp8 compared with bf16 (on a CPU with fp32), seed by seed: the distance of the final held-out loss from
# the floor of the built-in language, and the final held-out loss on text, this project's documents; with every scaling
# of the device. Prints a table: means over the seeds, and the mean difference of the pairs with its standard error. One
# seed says little: its pairs differ by 1 to 2 % on text, whatever the precision.
#
#   tests/peers/fp8.sh build/tt            1000 steps, 16 seeds, 6 runs at a time: two minutes on an H200
#   STEPS=100 SEEDS="1 2" JOBS=1 tests/peers/fp8.sh build/tt
#   WAYS="bf16 --moments bf16;fp8 --moments bf16" tests/peers/fp8.sh build/tt    other ways than those of fp8
set -u
ways=("fp8" "fp8 --fp8-scaling delayed" "fp8 --fp8-scaling row" "fp8 --fp8 all --fp8-scaling delayed")
[ -z "${WAYS:-}" ] || IFS=';' read -ra ways <<<"$WAYS"

# one TT STEPS DATA SEED PRECISION...: prints "DATA<tab>PRECISION<tab>SEED<tab>loss"; the loss is above the floor if
# there is one
one() {
    local tt=$1 steps=$2 data=$3 seed=$4 out floor loss
    shift 4
    out=$(mktemp -d) || return 1
    local text=()
    [ "$data" = text ] && text=(--data text.txt)
    # shellcheck disable=SC2086 # several arguments
    "$tt" train --num-steps "$steps" --val-interval "$steps" --val-batches 64 --save-minutes 0 --out "$out/run" \
        --seed "$seed" --precision $1 ${text[@]+"${text[@]}"} >"$out/log" 2>&1
    loss=$(sed -n 's/.*"val_loss": *\([0-9.]*\).*/\1/p' "$out/run/metrics.jsonl" 2>>"$out/log" | tail -1)
    floor=$(sed -n 's/.*exact entropy \([0-9.]*\).*/\1/p' "$out/log")
    if [ -z "$loss" ]; then
        echo "$data, seed $seed, $1: $(grep '^tt: ' "$out/log" | head -1)" >&2
    else
        awk -v d="$data" -v h="$1" -v s="$seed" -v x="$loss" -v f="${floor:-0}" 'BEGIN { printf "%s\t%s\t%s\t%.6f\n", d, h, s, x - f }'
    fi
    rm -rf "$out"
}

# Reads such lines; prints a row for each kind of data and each precision.
table() {
    awk -F '\t' -v with="$1" '
        { x[$1, $2, $3] = $4; seeds[$3]; if (!(($1, $2) in seen)) { seen[$1, $2] = 1; order[++rows] = $1 SUBSEP $2 } }
        function row(d, h,    s, n, sum, base, diff, squares, t, mean, se) {
            for (s in seeds) if (((d, h, s) in x) && ((d, with, s) in x)) {
                n++; sum += x[d, h, s]; base += x[d, with, s]
            }
            if (!n) return
            for (s in seeds) if (((d, h, s) in x) && ((d, with, s) in x)) {
                t = (x[d, h, s] - x[d, with, s]) / (base / n) * 100; diff += t; squares += t * t
            }
            mean = diff / n
            se = n > 1 ? sqrt((squares - n * mean * mean > 0 ? squares - n * mean * mean : 0) / (n - 1) / n) : 0
            printf "| %s | %s | %d | %.6f | %s |\n", d == "text" ? d : "built-in language, above the floor", h, n, sum / n,
                h == with ? "" : sprintf("%+.2f %% ± %.2f", mean, se)
        }
        END { for (i = 1; i <= rows; i++) { split(order[i], k, SUBSEP); if (k[2] == with) row(k[1], k[2]) }
              for (i = 1; i <= rows; i++) { split(order[i], k, SUBSEP); if (k[2] != with) row(k[1], k[2]) } }' | sort -t '|' -k 2,2 -s
}

if [ "${1:-}" = --one ]; then shift && one "$@"; exit; fi
[ -x "${1:-}" ] || { echo "${1:-a tt} is not there: name the program to measure" >&2; exit 1; }
tt=$(realpath "$1") self=$(realpath "$0") steps=${STEPS:-1000} seeds=${SEEDS:-$(seq 16)}
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) && cd "$work" || exit 1
trap 'rm -rf "$work"' EXIT
cat "$root"/*.md "$root"/*/*.md "$root"/*/*/*.md >text.txt
with=bf16
"$tt" info | grep -q bf16 || with=fp32
for seed in $seeds; do
    for data in language text; do
        for how in "$with" "${ways[@]}"; do printf '%s\0' "$data" "$seed" "$how"; done
    done
done | xargs -0 -n 3 -P "${JOBS:-6}" "$self" --one "$tt" "$steps" >lines
[ -s lines ] || { echo "no run ended with its figure" >&2; exit 1; }
echo "| held-out loss, $steps steps | precision | seeds | mean | against $with, ± a standard error |"
echo "|---|---|---|---|---|"
sort -k 1,1 -s lines | table "$with"
