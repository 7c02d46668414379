#!/usr/bin/env bash
# tt train with several ranks: the same losses as one rank, the same files for every sharding, resuming with any number
# of ranks, and a timely end when a rank is lost. On a CPU through MPI; on a GPU all ranks share it.
. tests/lib.sh
needs_ranks
cd "$dir" || exit 1

shape="--hidden-dim 48 --num-layers 3 --num-heads 4 --num-kv-heads 2 --ffn-dim 72 --seq-len 24"
run="--num-steps 12 --global-batch 12 --val-interval 6 --val-batches 2 --log-interval 4 --save-interval 6"
train() { # train OUT ARGUMENTS...
    local out=$1
    shift
    # shellcheck disable=SC2086 # words
    timeout 600 "$TT" train $shape $run --out "$out" "$@" >"$dir/out" 2>"$dir/err"
}
losses() { sed -n 's/.*"loss":\([0-9.e+-]*\).*/\1/p; s/.*"val_loss":\([0-9.e+-]*\).*/\1/p' "$1/metrics.jsonl"; }
near() { # near A B TOLERANCE: compares the losses of two runs line by line
    paste <(losses "$1") <(losses "$2") | awk -v t="$3" '
        { d = $1 - $2; if (d < 0) d = -d; if (NF != 2 || d > t * $2) bad = 1; n++ } END { exit bad || n < 14 }'
}
same() { # same A B: weights and moments, to the bit
    cmp -s "$1/model.safetensors" "$2/model.safetensors" && cmp -s "$1/state.safetensors" "$2/state.safetensors"
}

of_rank() { # of_rank RANK WORDS: the process of that rank
    pgrep -f "$2" | while read -r p; do
        tr '\0' '\n' <"/proc/$p/environ" 2>/dev/null | grep -qE "^(RANK|OMPI_COMM_WORLD_RANK)=$1\$" && echo "$p"
    done
}

# ---- in an epoch all ranks together see the data once ----

for i in $(seq 200); do echo "line $i of a text"; done >text.txt
timeout 600 "$TT" train $shape --batch-size 3 --ranks 2 --data text.txt --epochs 2 --val-interval 0 --save-epochs 1 --out epochs >"$dir/out" 2>"$dir/err" ||
    fail "epochs of two ranks"
samples=$(sed -n 's/^epochs  2 of \([0-9]*\) sequences, 6 in a step: .*/\1/p' "$dir/out")
check "two epochs of $samples sequences end where they should" test -d "epochs/step-$(printf %08d $(((2 * samples + 5) / 6)))"
check "the first epoch is saved" test -d "epochs/step-$(printf %08d $(((samples + 5) / 6)))"

# ---- the same losses, and the same files ----

train one || die "one rank does not train"
train two --ranks 2 || die "two ranks do not train"
check "the losses of two ranks are those of one" near two one 2e-5
check "rank 0 alone prints" test "$(grep -c '^done' "$dir/out")" = 1
check "the ranks are announced" grep -q '^ranks   2 by tt --ranks through .*12 sequences in a step = 2 ranks x 1 x batches of 6' "$dir/out"
for shard in optimizer gradients weights; do
    train "two-$shard" --ranks 2 --shard $shard || fail "--shard $shard does not train"
    check "--shard $shard: the losses" near "two-$shard" one 2e-5
done
check "what is said next keeps what is sharded" grep -q '^next .* --ranks 2 --shard weights$' "$dir/out"
check "what is divided does not change the weights" same two-optimizer/step-00000012 two-weights/step-00000012
train again --ranks 2 --shard weights || fail "it does not train again"
check "twice the same bits" same again/step-00000012 two-weights/step-00000012
for version in baseline fused; do
    train "one-$version" --version $version && train "three-$version" --version $version --ranks 3 --shard gradients ||
        fail "$version does not train"
    check "$version: three ranks as one" near "three-$version" "one-$version" 5e-5
done
passed "several ranks train as one does"

# ---- on a CPU, saving does not copy sharded arrays, and resuming reads only a rank's own parts ----

peak() { # peak ARGUMENTS...: bytes of rank 0
    # shellcheck disable=SC2086 # words
    timeout 600 "$TT" train --hidden-dim 256 --num-layers 8 --num-heads 4 --seq-len 16 --batch-size 1 --val-interval 0 \
        --ranks 2 --json "$@" 2>"$dir/err" | sed -n 's/.*"peak_memory_bytes":\([0-9]*\).*/\1/p'
}
if on_cpu; then # each rank has 15 MiB of the moments
    without=$(peak --num-steps 2 --shard gradients --out "") with=$(peak --num-steps 2 --shard gradients --out saves)
    check "saving takes less than 8 MiB more than $without bytes: $with" test "$with" -lt $((without + 8 * 1048576))
    without=$(peak --num-steps 2 --shard weights --out loads) with=$(peak --num-steps 3 --shard weights --resume auto --out loads)
    all=$(cat loads/step-00000002/*.safetensors | wc -c)
    check "resuming takes at most half of $all bytes more than $without: $with" test "$with" -le $((without + all / 2))
fi

# ---- from one number of ranks to another ----

for ranks in 1 2 3; do
    cp -r two-weights "to-$ranks"
    rm -r "to-$ranks/step-00000012"
    train "to-$ranks" --ranks $ranks --resume auto || fail "what 2 ranks saved does not go on with $ranks"
    check "it goes on from step 6 with $ranks" grep -q 'step-00000006, 6 of 12 steps done' "$dir/out"
    [ $ranks = 1 ] || check "and shards what it is told to, not what 2 ranks did" grep -q "^ranks   $ranks by .*; shard none;" "$dir/out"
    check "and comes to the same losses with $ranks" near "to-$ranks" one 5e-5
done
check "continued with the same ranks, the same bits" same to-2/step-00000012 two-optimizer/step-00000012
expect 0 '"step":12' "$TT" eval two-weights --json
passed "a checkpoint goes on with any number of ranks"

# ---- what is refused ----

# shellcheck disable=SC2086 # words
OMP_NUM_THREADS=1 timeout 300 "$TT" bench $shape --versions flash --ranks 1,1 --repeats 1 --warmup 1 --json >"$dir/out" 2>"$dir/err"
check "a number of ranks that is named twice is timed once" test "$(grep -c '"slowest_rank"' "$dir/out")" = 1
on_cpu && check "with the threads of its environment" grep -q '"threads": 1,' "$dir/out"
expect 0 "fault   late-bucket, which does nothing here: it affects only several ranks" "$TT" train $shape --num-steps 1 --fault late-bucket
expect 2 "is no multiple of ranks = 5; give another --global-batch" train x --ranks 5
expect 2 "--global-batch 12, but batch-size x grad-accum x ranks = 4 x 2 x 2" train x --ranks 2 --batch-size 4 --grad-accum 2
mkdir -p other && "$TT" data --data builtin --out other --tokens 4000 >/dev/null 2>&1
if on_cpu && has mpirun; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    # shellcheck disable=SC2086,SC2016
    timeout 300 mpirun --quiet --map-by slot:OVERSUBSCRIBE --bind-to none -n 2 bash -c '
        exec "$0" train "$@" --out x --seed "$((1 + OMPI_COMM_WORLD_RANK))"' "$TT" $shape $run >"$dir/out" 2>"$dir/err"
    check "ranks with different options are refused" grep -q 'rank 1 .* has "seed: 2", rank 0 .* has "seed: 1"; start all' "$dir/err"
    check "and nothing is written" test ! -e x
fi
passed "ranks that would not do the same are refused"

# ---- a rank is lost ----

stop_all() { # stop_all PROCESSES...: stops them and waits until all their threads have stopped
    local p
    kill -STOP "$@" 2>/dev/null
    for p; do
        for _ in $(seq 300); do
            grep -h '^State:' "/proc/$p"/task/*/status 2>/dev/null | grep -qv 'T (stopped)' || break
            sleep 0.02
        done
    done
}

for victim in 0 1 01 12 0123; do # one of two ranks, or several of four at once
    ranks=$((${#victim} > 1 ? 4 : 2)) pids=
    run="--num-steps 1000000 --global-batch 4 --val-interval 0 --log-interval 10 --save-interval 20"
    (train "killed-$victim" --ranks $ranks --comm-timeout 5; echo $? >"$dir/code") &
    for _ in $(seq 1200); do [ -d "killed-$victim/step-00000020" ] && break; sleep 0.1; done
    for rank in $(grep -o . <<<"$victim"); do pids+=" $(of_rank "$rank" "killed-$victim ")"; done
    begin=$SECONDS
    # Stopped first, so that no rank notices another's end before its own. mpirun is stopped too, and resumed
    # afterwards.
    starter=$(ps -o ppid= -p "${pids##* }")
    # shellcheck disable=SC2086 # processes, or what is left of none
    { stop_all $starter $pids; kill -9 $pids; kill -CONT $starter; } 2>/dev/null
    wait $!
    check "rank $victim is killed: the others end within the timeout ($((SECONDS - begin)) s)" test $((SECONDS - begin)) -le 12
    check "rank $victim is killed: exit code 7, not $(cat code)" test "$(cat code)" = 7
    who="rank [$victim] \\(.*\\) is gone"
    [ "$victim" = 0123 ] && who="rank.* was killed by signal 9"
    check "rank $victim is named, once" test "$(grep -cE "^tt: .*$who" "$dir/err")" = 1
    check "and nothing else is said" test "$(grep -c '^tt:' "$dir/err")" = 1
    check "no process is left" test -z "$(pgrep -f "killed-$victim ")"
    last=$(find "killed-$victim" -maxdepth 1 -name 'step-????????' | sort | tail -n 1)
    run="--num-steps $((10#${last##*-} + 5)) --global-batch 4 --val-interval 0"
    train "killed-$victim" --ranks 2 --resume auto --shard optimizer || fail "the run does not go on from $last"
done
passed "when a rank is gone the others say so, and the run goes on from its last checkpoint"

# ---- signals ----

run="--num-steps 1000000 --global-batch 4 --val-interval 0 --log-interval 10 --save-interval 20"
# shellcheck disable=SC2086 # words
timeout 600 "$TT" train $shape $run --out stopped --ranks 2 --shard gradients >"$dir/out" 2>"$dir/err" &
for _ in $(seq 1200); do [ -d stopped/step-00000020 ] && break; sleep 0.1; done
pkill -TERM -P $! -f stopped || kill -TERM $!
wait $!
code=$?
check "SIGTERM ends the run with 130, not $code" test $code = 130
check "and says where it stopped" grep -q 'stopped by .* after step' "$dir/err"
check "and how it goes on as it was" grep -q -- '--out stopped --ranks 2 --shard gradients$' "$dir/err"

# shellcheck disable=SC2086 # words
timeout 600 "$TT" train $shape $run --out asked --ranks 2 >"$dir/out" 2>"$dir/err" &
for _ in $(seq 1200); do [ -d asked/step-00000020 ] && break; sleep 0.1; done
# shellcheck disable=SC2046 # one process
kill -TERM $(of_rank 1 asked)
wait $!
code=$?
check "SIGTERM to rank 1 alone ends all with 130, not $code" test $code = 130
check "which rank 0 says" grep -q 'stopped by a signal to another rank after step .* saved. Go on with: ' "$dir/err"

# shellcheck disable=SC2086 # words
(timeout 600 "$TT" train $shape $run --out unread --ranks 2 --log-interval 1 2>"$dir/err"; echo $? >"$dir/code") | head -n 8 >"$dir/out"
check "a reader that goes away ends the run with 130, not $(cat code)" test "$(cat code)" = 130
check "and that is what it says" grep -q 'stopped by Broken pipe after step' "$dir/err"
check "nothing else is said" test "$(wc -l <"$dir/err")" = 1
check "and the run is saved" test -n "$(find unread -maxdepth 1 -name 'step-????????')"

# ---- a step with a NaN or infinity ----

run="--num-steps 12 --global-batch 4 --val-interval 0 --log-interval 5 --learning-rate 10 --weight-decay 1 --warmup-steps 0"
train wild --ranks 2 --shard weights
code=$?
check "a step that is not finite ends all ranks with 1, not $code" test $code = 1
check "which is said once" test "$(grep -c 'are not finite' "$dir/err")" = 1
check "with the last good step saved" grep -q "is saved as wild/step-" "$dir/err"

# ---- the reader of the output is gone ----

# shellcheck disable=SC2086 # words
timeout 600 "$TT" train $shape --num-steps 3 --val-interval 0 --quiet --ranks 2 --out gone 2>"$dir/err" | true
code=${PIPESTATUS[0]}
check "a reader that has gone: exit code 1, not $code" test "$code" = 1
check "and not a rank that is lost" grep -q "cannot write to standard output" "$dir/err"
check "with all steps saved" test -d gone/step-00000003
finish
