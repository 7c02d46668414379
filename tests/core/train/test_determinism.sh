#!/usr/bin/env bash
# Tests core/DETERMINISM.md line by line: the same seed gives the same bits, whatever the number of threads, however
# often the run is logged, validated or saved, and in every version. The tests can fail: another seed gives other bits.
set -u
. tests/lib.sh
needs_device
cd "$dir" || exit 1
# Large enough for several tiles of a matrix product and several rows per thread.
shape="--hidden-dim 96 --num-layers 2 --num-heads 6 --num-kv-heads 2 --ffn-dim 200 --seq-len 33 --batch-size 5"
steps="--num-steps 3 --val-batches 1 --quiet --gemm-tune off"

run() { # run NAME ARGUMENTS...: trains, and prints a checksum of weights, moments and losses
    local name=$1
    shift
    rm -rf "$name"
    "$TT" train $shape $steps --out "$name" "$@" >out 2>err
    local code=$?
    [ $code = 0 ] || { echo "exit $code: $(cat err)"; return; }
    cat "$name"/step-00000003/{model,state}.safetensors <(sed 's/"tokens_per_second":[^,]*,//; /val_loss/d' "$name/metrics.jsonl") |
        cksum
}
same() { # same WHAT A B
    [ "$2" = "$3" ] || fail "$1: $2 and $3"
}

first=$(run first --version flash)
case $first in exit*) fail "$first" ;; esac
[ "$first" != "$(run other --version flash --seed 43)" ] || fail "another seed gives the same bits: the test sees nothing"

for gemm in amx blas builtin; do # amx: the processor's own choice; its matrix units take only large products
    export TT_CPU_GEMM=$gemm
    small=$shape
    [ $gemm = amx ] && shape="${shape%5}16"
    for version in baseline fused flash; do
        one=$(run one --version $version --threads 1)
        for threads in 2 5; do
            same "$gemm $version on $threads threads" "$one" "$(run more --version $version --threads $threads)"
        done
        same "$gemm $version twice" "$one" "$(run again --version $version --threads 1)"
    done
    shape=$small
done
unset TT_CPU_GEMM
passed "threads"

for version in baseline fused flash; do
    one=$(run one --version $version)
    same "$version saved at every step" "$one" "$(run saved --version $version --save-interval 1 --keep 1 --json)"
    same "$version logged at every step" "$one" "$(run logged --version $version --log-interval 1)"
    same "$version validated at every second step" "$one" "$(run validated --version $version --val-interval 2)"
    same "$version without validation" "$one" "$(run bare --version $version --val-interval 0)"
    same "$version launched, not replayed" "$one" "$(run launched --version $version --graph off)"
done
passed "looking on"

# Recomputed activations equal the stored ones.
for version in baseline fused flash; do
    one=$(run one --version $version)
    for recompute in attention block; do
        same "$version, recompute $recompute" "$one" "$(run again --version $version --recompute $recompute)"
    done
done
passed "recomputation"

for kind in bytes chars; do
    for i in $(seq 300); do echo "line $i of a text, $((i * i))"; done >text.txt
    one=$(run one --data text.txt --tokenizer $kind --threads 1)
    same "text as $kind" "$one" "$(run two --data text.txt --tokenizer $kind --threads 4)"
done
for name in a b; do "$TT" data text.txt --tokenizer bpe --vocab-size 300 --out $name --quiet >out 2>err || fail "tt data"; done
diff -r a b >/dev/null || fail "tt data writes other bytes the second time"
passed "data"

"$TT" generate first --max-tokens 40 --seed 5 --quiet --threads 1 >a.txt 2>err
for threads in 2 3; do
    "$TT" generate first --max-tokens 40 --seed 5 --quiet --threads $threads >b.txt 2>err
    cmp -s a.txt b.txt || fail "generate on $threads threads"
done
"$TT" eval first --json --threads 1 2>err | sed 's/"seconds.*//' >a.txt
"$TT" eval first --json --threads 3 2>err | sed 's/"seconds.*//' >b.txt
[ -s a.txt ] && cmp -s a.txt b.txt || fail "eval on 3 threads"
passed "eval and generate"
finish
