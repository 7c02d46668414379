#!/usr/bin/env bash
# tt claims: a few real pairs with a tiny model, and the files they write; what is refused, and what a device cannot do.
set -u
. tests/lib.sh
needs_device
cd "$dir" || exit 1
export XDG_CACHE_HOME=$dir/cache
tiny="--hidden-dim 32 --num-layers 1 --num-heads 2 --num-kv-heads 1 --ffn-dim 48 --vocab-size 50 --seq-len 8 --batch-size 2 --threads 1"

expect 0 "host-sync" "$TT" claims --list
[ "$(wc -l <out)" -ge 16 ] || fail "the list has $(wc -l <out) lines"
expect 0 '"claimed": "24 %"' "$TT" claims --list --json
[ "$(head -n 1 out)" = "[" ] && [ "$(tail -n 1 out)" = "]" ] || fail "--list --json is no list"
expect 2 'did you mean "adamw"' "$TT" claims --only adamv
[ -e claims ] && fail "a list or a refusal wrote something"
passed "the list"

# ---- an unwritable output folder is reported before anything is measured ----
echo mine >in-the-way
mkdir full && echo mine >full/mine
for out in in-the-way full in-the-way/below; do
    expect 2 "" timeout 20 "$TT" claims --turns 1000 --out "$out"
    [ -s out ] && fail "claims were measured for $out"
done
expect 2 "is a file; --profile-dir names a folder" timeout 20 "$TT" bench --repeats 100000 --profile-dir in-the-way
for words in "--ranks 1,2" "--generate 1" "--against baseline --against flash"; do
    expect 2 "write into in-the-way/below" timeout 20 "$TT" bench --repeats 100000 $words --profile-dir in-the-way/below
done
mkdir -p kept/bench.json
expect 2 "kept/bench.json: Is a directory" timeout 20 "$TT" bench --repeats 100000 --profile-dir kept
expect 2 "full holds other files and no comparison" timeout 20 "$TT" compare --turns 1000 --out full --run fused flash
expect 2 "Not a directory" timeout 20 "$TT" check grads --preset medium --out in-the-way/grads
[ -s out ] && fail "something was measured"
expect 0 "" "$TT" train $tiny --vocab-size 64 --num-steps 1 --out run --quiet
expect 2 "Not a directory" "$TT" eval run --logits in-the-way/logits
[ -s out ] && fail "a run was evaluated whose logits could not be written"
expect 2 "Is a directory" "$TT" eval run --logits full
[ -e in-the-way ] && [ "$(ls full)" = mine ] || fail "a refusal changed a folder"
passed "folders that cannot be written to"
[ "$(cached TT_SANITIZE)" = ON ] && finish # each copy takes seconds under sanitizers; the optimised build runs them

expect 0 "saved   claims/claims.html" "$TT" claims --only adamw,tf32,evaluation $tiny --turns 2 --repeats 1 --warmup 0
grep -qE 'in 2 turns on .*: about [0-9]' err || fail "it does not say beforehand how long it takes: $(cat err)"
grep -qE '^adamw +1\.1x +[0-9.]+x +[0-9.]+x to [0-9.]+x +undecided' out || fail "two turns decide, or are not shown"
grep -qE '^evaluation +24 % +[0-9.]+ % ' out || fail "no share of validation"
grep -qF "2 turns are few" out || fail "it does not say that two turns are few"
grep -qE '^step +1x32 in fp32: 1 layer, hidden 32, 2 x 8 tokens' out || fail "the step is not described"
grep -vE '^(saved|done)' out >shown
grep -vE '^done' claims/claims.txt | cmp -s - shown || fail "claims.txt is not what was shown"
grep -q '"verdict": "undecided"' claims/claims.json && grep -q '<svg' claims/claims.html || fail "files are missing"
if on_cpu; then grep -qE '^tf32 +1.5x +not on this device +a CPU has no tf32' out || fail "a CPU has tf32"; fi
passed "a few claims"

# the command shown for a claim does what the claim did
sed -n 's/^adamw  *tt bench //p' out >line
grep -qE "^--against 'flash --fuse no-optimizer' flash --sizes default --feed .*--turns 2$" line || fail "not the command: $(cat line)"
expect 0 "B is " bash -c "'$TT' bench $(cat line)"
sed -n 's/^evaluation  *tt train //p' claims/claims.txt >line
[ -s line ] || fail "no command for the share of validation"
expect 0 "% validation" bash -c "'$TT' train $(cat line)"
passed "commands that are shown"

# a signal ends the turns, and results so far are written
"$TT" claims --only adamw,qkv $tiny --turns 1000 --repeats 1 --warmup 0 --out stopped >out 2>err &
claims=$!
for i in $(seq 600); do grep -q "in 1000 turns" err && break; sleep 0.1; done
kill -TERM $claims
wait $claims
[ $? = 130 ] || fail "claims that were stopped do not exit with 130"
grep -q "incomplete: stopped by Terminated before the last of 1000 turns" stopped/claims.txt || fail "it is not marked"
grep -q '"complete": false' stopped/claims.json && grep -q "Incomplete: it was" stopped/claims.html || fail "json or page are not marked"
grep -q '"complete": true' claims/claims.json || fail "what is complete is not marked so"
passed "claims that are stopped"

# a claim that fails is reported in its row and does not end the others; an error common to all is refused at once
expect 0 "1 not run" "$TT" claims --only batch,qkv $tiny --global-batch 4 --turns 1 --repeats 1 --warmup 0 --out ''
grep -qE '^batch +2x +not run +.*batch' out || fail "it does not say why batches of 32 cannot be run"
grep -qE '^qkv +1.2-1.5x +[0-9.]+x' out || fail "a claim that fails ends the others"
expect 2 "num-heads" "$TT" claims --only qkv --hidden-dim 33 --num-heads 2
passed "what cannot be run"

# faults that act after a step also act in bench: the rebuilt mask takes device memory
peak() { # peak OPTIONS...: bytes of device memory
    "$TT" bench $tiny --seq-len 64 --versions flash --repeats 1 --warmup 0 --json "$@" | sed -n 's/.*"peak_memory_bytes": \([0-9]*\).*/\1/p'
}
more=$(($(peak --fault mask-rebuild) - $(peak --feed)))
[ "$more" -ge $((64 * 64 * 4)) ] || fail "a mask of 64 x 64 takes $more bytes"
expect 0 '"fault": "eval-every-step"' "$TT" bench $tiny --versions flash --repeats 3 --warmup 1 --fault eval-every-step --json
grep -q '"size": "1x32"' out || fail "a model of one's own shape is called by a preset's name"
expect 0 "1x32: layers x hidden" "$TT" bench $tiny --versions flash --repeats 1 --warmup 0 --prefetch off
expect 2 "do not go together" "$TT" bench --feed --ranks 2
passed "bench as training runs"
finish
