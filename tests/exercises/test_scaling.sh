#!/usr/bin/env bash
# The faults of exercise 11 between real ranks: the same bits as without them, and seen by tt bench. The links are simulated,
# with delays that are long against what a busy machine makes of a tiny model's kernels.
. tests/lib.sh
needs_device
on_cpu || skip "links are simulated on the CPU only"
"$TT" info | grep -q "collectives: .*MPI" || skip "this tt was built without MPI"
once "the optimised build does it"
export LC_ALL=C OMP_NUM_THREADS=1 NO_COLOR=1
cd "$dir" || exit 1
shape="--hidden-dim 48 --num-layers 2 --num-heads 4 --num-kv-heads 2 --ffn-dim 72 --seq-len 16 --batch-size 2"

# ---- the same bits ----

train() { # train OUT WORDS...
    local out=$1
    shift
    # shellcheck disable=SC2086 # words
    timeout 120 "$TT" train $shape --ranks 2 --num-steps 3 --val-interval 0 --grad-accum 2 --out "$out" "$@" >out 2>err
}
for shard in none weights; do
    train plain-$shard --shard $shard || fail "--shard $shard does not train"
    for fault in late-bucket slow-rank; do
        train $fault-$shard --shard $shard --fault $fault --link 0.1,50 || fail "$fault does not train"
        for file in model state; do
            check "$fault, --shard $shard: $file" cmp plain-$shard/step-00000003/$file.safetensors $fault-$shard/step-00000003/$file.safetensors
        done
    done
done
passed "the same bits with a fault, and on slow links"

# ---- what tt bench sees ----

bench() { # bench DIR WORDS...
    local out=$1
    shift
    # shellcheck disable=SC2086 # words
    expect 0 "saved   $out/ranks.json, seal " timeout 120 "$TT" bench --sizes tiny --versions flash $shape --ranks 2 --warmup 1 --repeats 3 --profile-dir "$out" "$@"
}
last() { grep "\"$2\":" "$1/ranks.json" | tail -n 1 | tr -dc '0-9.e-'; } # last DIR KEY
bench plain --link 0.01
bench late --link 0.01 --fault late-bucket
bench slow --link 0.01 --fault slow-rank
grep -q "collectives through simulated links: 2 ranks, 0.01 GB/s, 0 us; shard none; fault slow-rank" out || fail "the table does not say what was simulated"
check "as many bytes" test "$(last plain sent_bytes)" = "$(last late sent_bytes)"
check "communication is as long as the link makes it" awk -v ms="$(last plain communication_ms)" -v bytes="$(last plain sent_bytes)" 'BEGIN {exit !(ms >= bytes / 1e4)}'
grep '"operations"' slow/ranks.json | tr -dc '0-9\n' >operations
check "one rank has more operations" test "$(sort -u operations | wc -l)" = 2
check "and no rank of the plain run has" test "$(grep '"operations"' plain/ranks.json | sort -u | wc -l)" = 1
expect 2 "is no link; write GB/s" "$TT" bench --sizes tiny --link fast
expect 2 "is no link" "$TT" bench --sizes tiny --link 1,-2
expect 0 '"batch_size": 4' "$TT" bench --sizes tiny --versions flash --hidden-dim 32 --num-heads 4 --num-kv-heads 4 --num-layers 1 --seq-len 8 --ranks 2 --warmup 0 --repeats 1 --global-batch 8 --json
passed "tt bench sees what is wrong"
finish
