#!/bin/bash
# Training in fp8 beside bf16 (on a CPU beside fp32), seed by seed: how far from the floor of the built-in language the
# held-out loss ends, and that on text, the documents of this project; with scales of the present and of a history. A
# table on standard output.
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

held_out() { # held_out OPTIONS...: the loss at the end
    "$TT" train --num-steps "$steps" --val-interval "$steps" --val-batches 64 --save-minutes 0 --out run "$@" >log 2>&1
    sed -n 's/.*"val_loss": *\([0-9.]*\).*/\1/p' run/metrics.jsonl | tail -1
    floor=$(sed -n 's/.*exact entropy \([0-9.]*\).*/\1/p' log)
    rm -rf run
}
row() { # row WHAT SEED OPTIONS...: in all three, above the floor where there is one
    local what=$1 seed=$2 losses=() how
    shift 2
    for how in "$with" fp8 "fp8 --fp8-scaling delayed"; do
        # shellcheck disable=SC2086 # several words
        held_out --seed "$seed" --precision $how "$@" >loss
        losses+=("$(cat loss)")
        [ -n "${losses[-1]}" ] || { echo "$what, seed $seed, $how: a run ended without its figure" >&2; exit 1; }
    done
    printf '%s\n' "${losses[@]}" | awk -v what="$what" -v seed="$seed" -v floor="${floor:-0}" '{ x[NR] = $1 - floor }
        END { printf "| %s | %s | %.6f | %.6f | %.6f | %+.2f %% | %+.2f %% |\n", what, seed, x[1], x[2], x[3], (x[2] / x[1] - 1) * 100, (x[3] / x[1] - 1) * 100 }'
}
echo "| $steps steps, held-out loss | seed | $with | fp8 | fp8, delayed | fp8 against $with | delayed against $with |"
echo "|---|---|---|---|---|---|---|"
for seed in $seeds; do row "built-in language, above the floor" "$seed"; done
for seed in $seeds; do row "text" "$seed" --data text.txt; done
