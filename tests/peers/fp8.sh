#!/bin/bash
# Training in fp8 beside bf16 (on a CPU beside fp32), seed by seed: how far from the floor of the built-in language a run
# ends, and the held-out loss on text, the documents of this project. A table on standard output.
#
#   tests/peers/fp8.sh build/tt            1000 steps, three seeds: a minute on an H200, hours on a CPU
#   STEPS=100 SEEDS=1 tests/peers/fp8.sh build/tt
set -u
[ -x "${1:-}" ] || { echo "${1:-a tt} is not there: name the program to measure" >&2; exit 1; }
TT=$(realpath "$1") steps=${STEPS:-1000} seeds=${SEEDS:-"1 2 3"}
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) && cd "$work" || exit 1
trap 'rm -rf "$work"' EXIT
cat "$root"/*.md "$root"/*/*.md "$root"/*/*/*.md >text.txt
with=bf16
"$TT" info | grep -q bf16 || with=fp32

gap() { # gap OPTIONS...: the last loss above the floor
    "$TT" train --num-steps "$steps" --val-interval 0 --save-minutes 0 --out run "$@" 2>&1 | sed -n 's/^loss .*gap \([0-9.]*\).*/\1/p'
    rm -rf run
}
text_loss() { # text_loss OPTIONS...: held out
    "$TT" train --data text.txt --num-steps "$steps" --val-interval "$steps" --val-batches 16 --save-minutes 0 --out run "$@" >log 2>&1
    sed -n 's/.*"val_loss": *\([0-9.]*\).*/\1/p' run/metrics.jsonl | tail -1
    rm -rf run
}
row() { # row WHAT SEED A B
    [ -n "$3" ] && [ -n "$4" ] || { echo "$1, seed $2: a run ended without its figure" >&2; exit 1; }
    awk -v what="$1" -v seed="$2" -v a="$3" -v b="$4" 'BEGIN { printf "| %s | %s | %s | %s | %+.2f %% |\n", what, seed, a, b, (b / a - 1) * 100 }'
}
echo "| $steps steps | seed | $with | fp8 | fp8 against $with |"
echo "|---|---|---|---|---|"
for seed in $seeds; do
    row "built-in language, gap to the floor" "$seed" "$(gap --seed "$seed" --precision $with)" "$(gap --seed "$seed" --precision fp8)"
done
for seed in $seeds; do
    row "text, held-out loss" "$seed" "$(text_loss --seed "$seed" --precision $with)" "$(text_loss --seed "$seed" --precision fp8)"
done
