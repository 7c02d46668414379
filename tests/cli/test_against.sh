#!/usr/bin/env bash
# Two sets of options, run alternately: tt bench --against and tt compare --run.
set -u
. tests/lib.sh
needs_device
cd "$dir" || exit 1
export XDG_CACHE_HOME=$dir/cache
tiny="--hidden-dim 32 --num-layers 1 --num-heads 2 --num-kv-heads 1 --ffn-dim 48 --vocab-size 50 --seq-len 8 --batch-size 2"

expect 0 "which holds in 50 % of cases" "$TT" bench --against '--seed 1 --version=baseline' flash $tiny --tie-embeddings --repeats 2 --warmup 0 --turns 2 --profile-dir b
grep -qE '^A       --seed 1 --version=baseline' out && grep -qE '^B       flash' out || fail "it does not say what A and B are"
[ "$(grep -cE '^[12] +[0-9.]+ +[0-9.]+ +[0-9.]+x$' out)" = 2 ] || fail "not a line for each turn"
grep -qF "2 turns are few" out || fail "it does not say that two turns are few"
[ "$(awk '/"steps_ms"/ { inside = 1; next } /\]/ { inside = 0 } inside' b/bench.json | wc -l)" = 8 ] || fail "not all steps of all turns are kept"
grep -qE '^  "waited": [0-9.e-]+,$' b/bench.json || fail "what the copies waited for a processor is not in bench.json"
low=$(sed -n 's/.*"low": \([^,]*\),/\1/p' b/bench.json) high=$(sed -n 's/.*"high": \([^,]*\),/\1/p' b/bench.json)
ratio=$(sed -n 's/.*"ratio": \([^,]*\),/\1/p' b/bench.json)
awk -v l="$low" -v r="$ratio" -v h="$high" 'BEGIN { exit !(l > 0 && l <= r && r <= h) }' || fail "$ratio does not lie in $low to $high"
passed "bench in turns"

# the comparison uses the interval of the pairs; two pairs are too few for a gate
expect 8 "gate     slower:1% undecided" "$TT" compare b --fail-if slower:1%
range=$(awk -v l="$low" -v h="$high" 'BEGIN { printf "%.2f to %.2f (50 %%)", l, h }')
grep -qF "$range" out || fail "the comparison does not have the interval of the pairs, $range"
grep -qF "version baseline -> flash" out || fail "it does not say what changed"
expect 0 '"speedup_confidence": 0.96875' "$TT" compare --run "--version fused $tiny --repeats 1" "--version flash $tiny --repeats 1" --json
expect 0 "version fused -> flash" "$TT" compare --run "fused $tiny --repeats 1" "flash $tiny --repeats 1"
expect 0 "which holds in" "$TT" bench --against '--num-layers 1' '--num-layers 2' ${tiny/--num-layers 1/} --sizes tiny --versions flash --repeats 1 --warmup 0 --turns 2
expect 0 '"speedup_confidence": 0.5' "$TT" compare --run "--version fused $tiny --repeats 1" "--version flash $tiny --repeats 1" --turns 2 --json
expect 2 "--run takes two sets of options" "$TT" compare --run baseline '--version fused' flash
passed "compare in turns"

for one in "flash" "flash fused baseline"; do expect 2 "--against takes two" "$TT" bench --against $one; done
expect 2 "several rows" "$TT" bench --against '--versions fused,flash' flash $tiny --repeats 1 --warmup 0
expect 2 "failed; what it said is above" "$TT" bench --against '--versio fused' flash $tiny
grep -qF "did you mean --versions" err || fail "the copy does not say what is wrong"
expect 2 "do not go together" "$TT" bench --against fused flash --ranks 2
passed "what is refused"

# a copy ends with the process that waits for it
"$TT" bench --against fused flash $tiny --repeats 100000 >out 2>err &
for _ in $(seq 600); do copy=$(pgrep -P $!) && break; sleep 0.1; done
kill -9 $!
{ wait $!; } 2>/dev/null
for _ in $(seq 100); do [ -n "$copy" ] && kill -0 "$copy" 2>/dev/null || break; sleep 0.1; done
[ -n "$copy" ] && ! kill -0 "$copy" 2>/dev/null || { fail "a copy is left: $copy"; kill "$copy"; }
passed "a bench that is killed"
finish
