#!/usr/bin/env bash
# kill -9 at 100 random moments of training and saving, with a resume after each. The final weights, moments and metrics
# have the bits of an undisturbed run. The moments come from a seeded sequence; TT_KILLS and TT_KILL_SEED change their
# number and the seed.
set -u
. tests/lib.sh
needs_device
kills=${TT_KILLS:-100}
RANDOM=${TT_KILL_SEED:-7}
cd "$dir" || exit 1
export OMP_NUM_THREADS=1
shape="--hidden-dim 16 --num-layers 1 --num-heads 2 --num-kv-heads 1 --ffn-dim 24 --seq-len 16 --batch-size 2"
words="$shape --num-steps 300 --val-interval 40 --val-batches 1 --log-interval 7 --keep 2 --quiet --threads 1"

now_ms() { echo $(($(date +%s%N) / 1000000)); }
# newest DIR: the newest step with a final name; 0 if there is none
newest() {
    local name step=0
    for name in "$1"/step-????????; do [ -d "$name" ] && step=$((10#${name##*-})); done
    echo "$step"
}
# Only the speed in the metrics may differ.
losses() { sed 's/"tokens_per_second":[^,]*,//' "$1/metrics.jsonl"; }
compare() {
    local file
    for file in model state; do
        cmp -s "whole/step-00000300/$file.safetensors" "$1/step-00000300/$file.safetensors" || die "$1: $file differs"
    done
    [ "$(losses whole)" = "$(losses "$1")" ] || die "$1: the metrics differ: $(diff <(losses whole) <(losses "$1") | head -n 4)"
}

start=$(now_ms)
"$TT" train $words --out whole --save-interval 12 >out 2>err || die "the undisturbed run"
span=$(($(now_ms) - start + 20))

# A slow machine gets fewer kills, for about two minutes in total.
[ $((kills * span)) -le 120000 ] || kills=$((120000 / span + 5))
done=0 round=0 runs=0 in_save=0 longest=0
while [ "$done" -lt "$kills" ]; do
    out=run-$runs
    before=$(newest "$out" 2>/dev/null)
    half=$(ls -d "$out"/step-*.tmp 2>/dev/null)
    intervals=(1 4 12 40)
    # A run is killed several times. Half of the kills come early, half anywhere in the time of the whole run.
    delay=$((RANDOM % (round % 2 ? span : span / 4 + 1) + 1))
    "$TT" train $words --out "$out" --resume auto --save-interval "${intervals[round % 4]}" >out 2>err &
    pid=$!
    sleep "$(printf '%d.%03d' $((delay / 1000)) $((delay % 1000)))"
    kill -9 $pid 2>/dev/null
    { wait $pid; } 2>/dev/null
    code=$?
    round=$((round + 1))
    after=$(newest "$out")
    [ "$after" -ge "$before" ] || die "round $round: the newest checkpoint was step $before, now it is $after"
    [ "$after" -gt "$longest" ] && longest=$after
    case $code in
    137)
        done=$((done + 1))
        now=$(ls -d "$out"/step-*.tmp 2>/dev/null)
        [ -n "$now" ] && [ "$now" != "$half" ] && in_save=$((in_save + 1))
        ;;
    0 | 2) # finished before the kill, or before this round
        [ "$after" = 300 ] || die "round $round: exit $code at step $after"
        compare "$out"
        rm -rf "$out" "$out".*
        runs=$((runs + 1))
        ;;
    *) die "round $round: exit $code" ;;
    esac
    [ "$round" -lt $((5 * kills)) ] || die "too few of $round rounds were killed: $done"
done

out=run-$runs
if [ "$(newest "$out")" != 300 ]; then
    "$TT" train $words --out "$out" --resume auto >out 2>err || die "the last resume: exit $?"
fi
compare "$out"
[ "$longest" -gt 0 ] || die "no killed run ever got as far as a checkpoint"
[ "$done" -lt 100 ] || [ "$in_save" -gt 0 ] || die "no kill fell into a save"
# A kill after the last save may leave a folder that was being removed; the next save removes it.
mkdir -p "$out/step-00000288.tmp"
"$TT" train $words --num-steps 301 --out "$out" --resume auto >out 2>err || die "one step more: exit $?"
[ -z "$(find "$out" -name '*.tmp')" ] || die "something half-written was left behind"
echo "ok   $done kills ($in_save while saving), $((runs + 1)) runs, all with the bits of the undisturbed one"
