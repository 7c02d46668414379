#!/usr/bin/env bash
# tt diagnose from the command line: what it shows and concludes, its exit codes, and that it leaves no files behind.
set -u
. tests/lib.sh
needs_device
mkdir "$dir/here"
cd "$dir/here" || exit 1
tiny="--hidden-dim 32 --num-layers 1 --num-heads 2 --num-kv-heads 1 --ffn-dim 32 --seq-len 16 --batch-size 4"
expect() { # expect CODE "text in the output" ARGUMENTS of tt diagnose...
    local code=$1 words=$2 got
    shift 2
    "$TT" diagnose "$@" >../out 2>../err
    got=$?
    [ "$got" = "$code" ] || { fail "exit $got, not $code: $*"; return; }
    cat ../out ../err | grep -qE -- "$words" || fail "no \"$words\" from: $*"
    [ -z "$(ls)" ] || fail "left something behind: $(ls)"
}

# ---- what it shows ----
expect 0 "time  " $tiny
for words in "^device +[a-z]+: " "^software +tt [0-9]" "^precision this run computes in fp32" "bf16" "tf32" "^memory +the run takes .* are free" \
    "^pinned .*limit" "^disk .* a checkpoint" "^data +built-in" "300 steps see 19.2 k tokens" "^speed .* ms a step .* its data take" \
    "sweet spot" "this run" "^time +.* for the whole run: 300 steps"; do shows "$words"; done
[ "$(grep -cE '^ +[0-9]+ +[0-9.]+ +[0-9]+ +[0-9.]+ [KMG]iB' ../out)" = 5 ] || fail "not five batch sizes"
expect 0 "time  " $tiny --quick
grep -q "sweet spot" ../out && fail "--quick sweeps"
expect 0 '"verdict"' $tiny --quick --json
for key in '"backend"' '"versions"' '"needed"' '"pinned_limit"' '"median_ms"' '"data_ms"' '"seconds"' '"findings"'; do shows "$key"; done
"$TT" train $tiny --num-steps 77 --print-config >../run.yaml
expect 0 "77 steps see" ../run.yaml --quick

# ---- what it concludes ----
for i in $(seq 60); do echo "line $i of a short text"; done >../text.txt
expect 6 "goes [0-9.]+ times through" $tiny --data ../text.txt --num-steps 1000 --quick
shows "warning .*times through"
grep -q "1 warning" ../err || fail "the warnings are not counted"
expect 6 "nothing to learn" $tiny --data random --quick
expect 6 "without --out nothing" $tiny --out "" --quick
expect 1 "would fail: the run takes .* of device memory" --preset medium --batch-size 20000 --quick
shows "--batch-size [0-9]+ fits"
expect 1 "would fail: the run takes .* of device memory" --preset medium --batch-size 20000 --recompute block --quick
grep -q -- "--recompute block saves" ../out && fail "advises --recompute block, which is on already"
shows '^failure'
expect 1 "is a file" $tiny --quick --out ../text.txt/run
if [ "$(id -u)" != 0 ]; then
    mkdir ../closed && chmod 500 ../closed
    expect 1 "cannot be written to" $tiny --quick --out ../closed/run
fi
expect 0 "--version flash|time" $tiny --version baseline

# ---- diagnose refuses what train refuses ----
expect 2 "missing.bin" $tiny --data missing.bin
expect 2 "did you mean" --preset smal
expect 2 "missing.yaml" missing.yaml
expect 2 "less than one batch" $tiny --data ../text.txt --batch-size 500

# ---- with --resume, only the remaining steps count ----
"$TT" train $tiny --num-steps 20 --out ../run >../out 2>../err || fail "train"
expect 0 "for the whole run: 30 steps" --resume ../run --num-steps 50 --quick
expect 2 "has run all 20 steps" --resume ../run --quick
expect 2 "give one of them, not both" --resume ../run --init-from ../run --quick
rounds() { # the shortest of three tries, since a busy machine delays some
    for _ in 1 2 3; do
        "$TT" diagnose $tiny --quick --val-interval 5 --val-batches 20 --json "$@" | tr -d ' \n' | grep -o '"validation_seconds":[0-9.e-]*' | cut -d: -f2
    done | sort -g | head -n 1
}
alone=$(rounds) many=$(rounds --global-batch 80) # with 20 batches, and with 400
awk -v a="$alone" -v b="$many" 'BEGIN { exit !(b > 8 * a) }' || fail "validation of 20 times as many batches takes $many s, not 20 x $alone s"
passed "diagnose"
finish
