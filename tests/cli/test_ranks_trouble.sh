#!/usr/bin/env bash
# Failures with several ranks of tt train: kills at any moment, also during a shared save; a rank without memory; files
# that differ; and decisions that all ranks must share. test_train_ranks.sh has the rest.
. tests/lib.sh
needs_ranks
cd "$dir" || exit 1
shape="--hidden-dim 32 --num-layers 2 --num-heads 4 --num-kv-heads 2 --ffn-dim 48 --seq-len 16 --global-batch 4"
RANDOM=${TT_KILL_SEED:-7}

train() { # train OUT ARGUMENTS...
    local out=$1
    shift
    # shellcheck disable=SC2086 # words
    timeout 600 "$TT" train $shape --val-interval 0 --out "$out" "$@" >"$dir/out" 2>"$dir/err"
}
of_rank() { # of_rank RANK WORDS: the process of that rank
    pgrep -f "$2" | while read -r p; do
        tr '\0' '\n' <"/proc/$p/environ" 2>/dev/null | grep -qE "^(RANK|OMPI_COMM_WORLD_RANK)=$1\$" && echo "$p"
    done
}

# ---- killed at any moment and resumed, again and again: the bits of an undisturbed run ----

words="--ranks 2 --shard weights --save-interval 4 --comm-timeout 5 --lr-schedule constant --warmup-steps 0"
newest() { find disturbed -maxdepth 1 -name "step-$1" 2>/dev/null | sort | tail -n 1; }
kills=0
for round in 1 2 3 4 5 6; do
    last=$(newest '*') # including one that is still being written
    # shellcheck disable=SC2086 # words
    train disturbed $words --num-steps 1000000 --resume auto &
    for _ in $(seq 600); do # until it begins another save
        [ "$(newest '*')" \> "$last" ] && break
        sleep 0.05
    done
    sleep "0.0$((RANDOM % 10))"
    # shellcheck disable=SC2046 # one process, or none
    until kill -9 $(of_rank $((RANDOM % 2)) "out disturbed ") 2>/dev/null && kills=$((kills + 1)) || ! kill -0 $! 2>/dev/null; do
        sleep 0.1
    done
    wait $!
    code=$?
    check "round $round ends with 7, not $code" test $code = 7
done
check "$kills kills" test "$kills" -ge 3
last=$(newest '????????')
steps=$((10#${last##*-} + 4)) end=step-$(printf %08d $((10#${last##*-} + 4)))
# shellcheck disable=SC2086 # words
train disturbed $words --num-steps $steps --resume auto || fail "it does not go on to step $steps"
# shellcheck disable=SC2086 # words
train whole $words --num-steps $steps || die "two ranks do not train"
for file in model state; do
    check "$file after $kills kills" cmp "whole/$end/$file.safetensors" "disturbed/$end/$file.safetensors"
done
check "nothing half-written is left" test -z "$(find disturbed -name '*.tmp')"
passed "killed at any moment, it comes to the same bits"

# ---- all ranks decide the same ----

train early --ranks 2 --num-steps 200 --learning-rate 1e-12 --val-interval 1 --val-batches 1 --patience 2 || fail "--patience"
check "--patience ends all ranks" test -d early/step-00000003
# shellcheck disable=SC2086 # words
check "one rank runs the plan of no ranks" cmp <("$TT" info $shape --plan) <("$TT" info $shape --plan --ranks 1)
passed "what ranks decide alike"

# ---- all ranks refuse, one message: whichever rank ends first, although mpirun then kills the others ----

refused() { # refused TIMES TEXT COMMAND...
    local times=$1 text=$2 code
    shift 2
    for _ in $(seq "$times"); do
        timeout 300 "$@" >"$dir/out" 2>"$dir/err"
        code=$?
        check "${*:2:1}: exit 2, not $code" test $code = 2
        check "${*:2:1}: one line" test "$(grep -c '^tt: ' "$dir/err")" = 1
        says "$dir/err" "$text"
    done
}
for command in "train --out refused" "diagnose" "profile --out refused" "bench --sizes tiny"; do
    # shellcheck disable=SC2086 # words
    refused 12 "is no multiple of ranks = 3" "$TT" $command $shape --ranks 3
done
touch board
# shellcheck disable=SC2086 # words
refused 6 "board is a file" "$TT" profile $shape --ranks 2 --out refused --tensorboard board
check "nothing is written" test ! -e refused
passed "what all ranks refuse is said once"

# ---- started with mpirun ----

if on_cpu && has mpirun; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OPENBLAS_NUM_THREADS=1
    mkdir here there
    seq 500 >here/text.txt
    seq 501 1000 >there/text.txt
    # shellcheck disable=SC2016,SC2086 # words; for the shell of each rank
    by_hand() { # by_hand SHELL ARGUMENTS...: two ranks, each after running that shell command
        local first=$1
        shift
        timeout 600 mpirun --quiet --map-by slot:OVERSUBSCRIBE --bind-to none -n 2 bash -c "$first"'; exec "$0" train "$@"' \
            "$TT" $shape --val-interval 0 --num-steps 3 "$@" >"$dir/out" 2>"$dir/err"
    }
    # shellcheck disable=SC2016 # for the shell of each rank
    by_hand '[ $OMPI_COMM_WORLD_RANK = 1 ] && cd there || cd here' --data text.txt --out "$dir/differ"
    check "other data are refused by name" grep -q 'rank 1 (.*) has "data: text.txt: .*", rank 0 (.*) has "data: text.txt: ' "$dir/err"
    check "and nothing is written" test ! -e differ
    by_hand : --ranks 3 --out three
    check "other ranks than were started are refused in one line" test "$(grep -c '^tt: --ranks 3, but .* started 2' "$dir/err")" = 1
    # shellcheck disable=SC2086 # words
    timeout 300 mpirun --quiet --map-by slot:OVERSUBSCRIBE --bind-to none -n 2 "$TT" bench --sizes tiny $shape --ranks 1,4 >"$dir/out" 2>"$dir/err"
    check "bench, too" test "$(grep -c '^tt: --ranks 1,4, but 2 were started' "$dir/err")" = 1
    # shellcheck disable=SC2086 # words
    timeout 300 mpirun --quiet --map-by slot:OVERSUBSCRIBE --bind-to none -n 2 "$TT" bench --versions flash $shape --ranks 1,2 --repeats 1 \
        --warmup 1 --profile-dir figures >"$dir/out" 2>"$dir/err" || fail "bench started by hand"
    check "bench shows its table" grep -q '^size  *version  *ranks  *median ms' "$dir/out"
    check "with the ranks that there are" test "$(grep -c ' flash  *[0-9]* ' "$dir/out")" = "$(grep -c ' flash  *2 ' "$dir/out")"
    check "once, and not what ranks tell each other" test "$(grep -c '^size\|{' "$dir/out")" = 1
    check "and writes the folder" grep -q '"ranks": "2"' figures/ranks.json
    by_hand : --comm-file meet --out met || fail "--comm-file"
    check "the file of the rendezvous is gone" test ! -e meet
    # shellcheck disable=SC2016
    by_hand '[ $OMPI_COMM_WORLD_RANK = 1 ] && ulimit -v 700000' --hidden-dim 512 --num-layers 12 --ffn-dim 2048 --out "$dir/large"
    code=$?
    check "a rank without memory ends all with 1, not $code" test $code = 1
    check "which names it" grep -q 'rank 1 (.*): the run needs .* MiB' "$dir/err"
    check "once" test "$(grep -c '^tt:' "$dir/err")" = 1
    passed "ranks that cannot begin say which and why"
fi
finish
