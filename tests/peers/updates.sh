#!/bin/bash
# Measures selective updates: the cost of the choice, the time of a step by share, the slow way of the guide, and the
# loss by steps and by seconds compared with a random choice of the same share. Prints one table each.
#
#   tests/peers/updates.sh build/tt cpu       the default preset in fp32 on one thread, in processor time, so that other
#                                             work does not disturb it; the host waits for nothing there
#   tests/peers/updates.sh build/tt gpu       medium and gpt2 in bf16, and losses of small: six minutes on an H200
#
# A third argument names some of the tables: choice, step_times, slow_way, losses.
set -u
[ -x "${1:-}" ] || { echo "${1:-a tt} is not there: name the program to measure" >&2; exit 1; }
TT=$(realpath "$1") kind=${2:-cpu} parts=${3:-"choice step_times slow_way losses"}
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) && cd "$work" || exit 1
trap 'rm -rf "$work"' EXIT

if [ "$kind" = gpu ]; then
    sizes="medium gpt2" precision=bf16 turns=${TURNS:-5} repeats=${REPEATS:-10} steps=60
    loss_run="--preset small" loss_tokens=1024 loss_steps=${LOSS_STEPS:-300}
else
    sizes="default" precision=fp32
    loss_run="--preset default --batch-size 8 --val-batches 4 --threads 1" loss_steps=${LOSS_STEPS:-200}
fi
common="--version flash --precision $precision"
cat "$root"/README.md "$root"/*/README.md "$root"/exercises/*/README.md "$root"/core/*/README.md >text.txt

"$TT" info $common | sed -n '1,2p'

# ---- the time of a step on a CPU: from the difference between 21 steps and one ----
seconds() { # seconds STEPS options...: processor time of a run with this many steps
    local steps=$1 TIMEFORMAT=%U
    shift
    { time "$TT" train --preset default $common --threads 1 --data random --num-steps "$steps" --val-interval 0 --save-minutes 0 --quiet \
        --out timed "$@" >log 2>&1; } 2>&1
}
by_processor() { # by_processor options...: milliseconds per step
    awk "BEGIN { printf \"%.1f\", ($(seconds 21 "$@") - $(seconds 1 "$@")) * 50 }"
}

# ---- the cost of the choice: a share of 1 moves the same bytes as --update all, and also chooses ----
choice() { # on a CPU it is in the next table
    [ "$kind" = gpu ] || return
    echo "## cost of the choice: A is --update all, B chooses every group (the same bits)"
    for size in $sizes; do for level in matrix rows; do
        echo "# $size, --update-level $level"
        "$TT" bench --sizes "$size" --precision $precision --turns $turns --repeats $repeats \
            --against "flash --update all" "flash --update top-k --update-share 1 --update-level $level" 2>&1 | grep -E "^B is|busy"
    done; done
}

# ---- the time of a step ----
# The mean of all timed steps, including those that choose and the host's work after them. Their number is a multiple of
# both intervals.
mean() { # mean SIZE options...
    local size=$1
    shift
    [ "$kind" = gpu ] || { by_processor "$@" && return; }
    "$TT" bench --sizes "$size" --versions flash --precision $precision --warmup 20 --repeats 20 --json "$@" |
        awk '/"steps_ms"/ { inside = 1; next } inside && /\]/ { inside = 0 } inside { sum += $1; n++ } END { printf "%.3f", sum / n }'
}
step_times() {
    echo "## time of a step, mean of 20, and against --update all"
    printf '%-8s %-44s %10s %8s\n' size updates "ms a step" faster
    for size in $sizes; do
        all=$(mean "$size" --update all)
        printf '%-8s %-44s %10s %8s\n' "$size" "all" "$all" 1.000
        for options in "--update-share 1" "--update-share 0.5" "--update-share 0.1" "--update-share 0.1 --update-every 10" \
            "--update-share 0.5 --update-every 20" "--update-share 0.1 --update-every 20" "--update-share 0.1 --update-every 20 --update-level layer" \
            "--update-share 0.1 --update-every 20 --update-by random"; do
            ms=$(mean "$size" --update top-k $options)
            printf '%-8s %-44s %10s %8s\n' "$size" "$(sed 's/--update-//g' <<<"$options")" "$ms" "$(awk "BEGIN { printf \"%.3f\", $all / $ms }")"
        done
    done
}

# ---- the slow way: copy the norms to the host one by one, and sort all of them there ----
speed() { # speed FOLDER: tokens per second over all steps except the first ten
    awk -F'"tokens_per_second":' 'NF > 1 { split($2, a, ","); if (++n > 10 && a[1] > 0) { sum += 1 / a[1]; m++ } } END { printf "%.0f", m / sum }' \
        "$1/metrics.jsonl"
}
slow_way() { # matters on a GPU only
    [ "$kind" = gpu ] || return
    echo "## the slow way beside it, tokens/s of tt train"
    printf '%-8s %-44s %12s %8s\n' size updates "tokens/s" slower
    for size in $sizes; do
        first=
        for fault in "" host-sort host-norm; do
            "$TT" train --preset "$size" $common --data random --num-steps $steps --val-interval 0 --quiet --update top-k --update-share 0.1 \
                --fault "$fault" --out "slow-$size-$fault" >log 2>&1 || cat log
            now=$(speed "slow-$size-$fault")
            first=${first:-$now}
            printf '%-8s %-44s %12s %8s\n' "$size" "share 0.1 ${fault:+--fault $fault}" "$now" "$(awk "BEGIN { printf \"%.3f\", $first / $now }")"
        done
    done
}

# ---- losses ----
# Prints "step seconds validation_loss" for each validation. On a GPU the seconds come from the times in the metrics; on
# a CPU from a share of the processor time, which includes validations.
curve() { # curve FOLDER SECONDS
    awk -v tokens="${loss_tokens:-0}" -v all="$2" -v steps="$loss_steps" 'match($0, /"step":[0-9]+/) { step = substr($0, RSTART + 7, RLENGTH - 7) }
        match($0, /"tokens_per_second":[0-9.e+]+/) { seconds += tokens / substr($0, RSTART + 20, RLENGTH - 20) }
        match($0, /"val_loss":[0-9.]+/) { print step, tokens ? seconds : all * step / steps, substr($0, RSTART + 11, RLENGTH - 11) }' "$1/metrics.jsonl"
}
loss_runs() { # loss_runs DATA SEED
    local data=$1 seed=$2 n=0 i seconds least TIMEFORMAT=%U
    rm -rf loss-*
    for options in all "top-k --update-share 0.5" "top-k --update-share 0.1" "top-k --update-share 0.1 --update-by relative" \
        "top-k --update-share 0.1 --update-by random" "top-k --update-share 0.1 --update-every 20" \
        "top-k --update-share 0.1 --update-every 20 --update-by random"; do
        seconds=$({ time "$TT" train $loss_run $common --data "$data" --seed "$seed" --num-steps "$loss_steps" \
            --val-interval $((loss_steps / 20)) --quiet --update $options --out loss-$n >log 2>&1; } 2>&1)
        curve loss-$n "$seconds" >loss-$n.txt
        echo "$options" | sed 's/--update-//g' >loss-$n.name
        n=$((n + 1))
    done
    least=$(tail -qn1 loss-*.txt | sort -k2 -g | head -1 | cut -d' ' -f2)
    for ((i = 0; i < n; i++)); do
        awk -v least="$least" -v data="$data" -v seed="$seed" -v name="$(cat loss-$i.name)" '$2 <= least * 1.0001 { at = $3 }
            { seconds = $2; loss = $3 } END { printf "%-8s %-5s %-36s %9.4f %9.2f %12.4f\n", data, seed, name, loss, seconds, at }' loss-$i.txt
    done
}
losses() {
    echo "## validation loss after $loss_steps steps ($loss_run), and when the first of these runs is done"
    printf '%-8s %-5s %-36s %9s %9s %12s\n' data seed updates loss seconds "loss at time"
    for data in ${DATA:-builtin text.txt}; do for seed in ${SEEDS:-1}; do loss_runs $data "$seed"; done; done
}

for part in $parts; do
    echo
    $part
done
