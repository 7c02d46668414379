#!/usr/bin/env bash
# Rare cases that users meet: a run evaluated from another folder, exit codes for bad files, output whose reader goes
# away, predictions for another machine, options without an effect.
set -u
. tests/lib.sh
needs_device
cd "$dir" || exit 1
tiny="--hidden-dim 32 --num-layers 2 --num-heads 4 --num-kv-heads 2 --ffn-dim 48 --seq-len 16 --batch-size 4"
cpu=$("$TT" --version | grep -c '(cpu)')

# ---- data named by a relative path ----
mkdir -p home/data elsewhere
for i in $(seq 1200); do echo "line $i of a text that has some words"; done >home/data/text.txt
cd home || exit 1
"$TT" data data/text.txt --out data/tokens >../out 2>../err || fail "data"
expect 0 "saved" "$TT" train $tiny --num-steps 3 --data data/text.txt --tokenizer chars --out runs/text
expect 0 "saved" "$TT" train $tiny --num-steps 3 --data 'data/tokens/train_*.bin' --val-data 'data/tokens/val_*.bin' --out runs/tokens
expect 0 "loss" "$TT" eval runs/text --json
cp ../out ../here
cd ../elsewhere || exit 1
expect 0 "loss" "$TT" eval ../home/runs/text --json
[ "$(sed 's/.*"loss"://; s/,.*//' ../out)" = "$(sed 's/.*"loss"://; s/,.*//' ../here)" ] || fail "another loss from another folder"
expect 0 "perplexity" "$TT" eval ../home/runs/tokens
expect 2 "less than one batch" "$TT" eval ../home/runs/tokens --batch-size 1000
grep -q -- "--val-interval" ../err && fail "eval proposes an option that it does not have"
expect 0 "resume" "$TT" train --resume ../home/runs/tokens --num-steps 5 --out on
mv ../home ../moved
cd ../moved || exit 1
expect 0 "perplexity" "$TT" eval runs/tokens
cd ../elsewhere || exit 1
expect 2 "data/tokens/train" "$TT" eval ../moved/runs/tokens
cd .. || exit 1
passed "data is found from another folder, and after a move"

# ---- exit codes: 2 for a wrong request, 1 for a failure ----
text=moved/data/text.txt
printf 'caf\351 caf\351 caf\351\n%.0s' $(seq 100) >latin1.txt
head -c 1500 moved/data/tokens/train_000000.bin >cut.bin
cp $text named.bin
: >empty.txt
printf '{"a": 1}' >other.json
printf '{"format": "tt-tok' >cut.json
mkdir folder
cp -r moved/runs/text hurt
printf 'x' | dd of=hurt/step-00000003/model.safetensors bs=1 seek=3000 conv=notrunc 2>/dev/null
expect 2 "--moments bf16 needs the optimiser in one kernel" "$TT" train --version baseline --moments bf16 --out never
expect 2 "fp32, bf16" "$TT" train --moments fp16 --out never
expect 0 "first moments               1.5 MiB" "$TT" info --moments bf16
expect 2 "missing.yaml" "$TT" train --config missing.yaml --out never
expect 2 "missing.txt" "$TT" train --data missing.txt --out never
expect 2 "no file matches" "$TT" train --data 'missing*.bin' --out never
expect 2 "is a folder" "$TT" train --data folder --out never
expect 2 "empty" "$TT" train --data empty.txt --out never
expect 2 "magic number" "$TT" train --data named.bin --out never
expect 2 "magic number" "$TT" data --inspect named.bin
expect 2 "not UTF-8" "$TT" train --data latin1.txt --tokenizer chars --out never
expect 2 "format" "$TT" train --data $text --tokenizer other.json --out never
expect 2 "missing.json" "$TT" train --data $text --tokenizer missing.json --out never
expect 2 "no checkpoint" "$TT" train --resume nowhere --out never
expect 2 "no checkpoint" "$TT" eval folder
expect 2 "no checkpoint" "$TT" generate missing
expect 2 "less than one batch" "$TT" train $tiny --data $text --batch-size 1000 --out never
grep -q -- "--val-interval 0" "$dir/err" || fail "train: not said that it can go without validation"
expect 1 "truncated" "$TT" train --data cut.bin --out never
expect 1 "truncated" "$TT" data --inspect cut.bin
expect 1 "cut.json" "$TT" train --data $text --tokenizer cut.json --out never
expect 1 "damaged" "$TT" eval hurt/step-00000003 --data $text
expect 1 "damaged" "$TT" train --resume hurt --data $text --out never
[ "$(id -u)" = 0 ] || { cp $text closed.txt && chmod 0 closed.txt && expect 1 "permission" "$TT" train --data closed.txt --out never; }
[ -e never ] && fail "a refused run wrote something"
for place in moved/runs/text moved/runs/text/step-00000003; do
    find $place -type f -exec cksum {} + | sort >before
    expect 2 "choose another --out for token files" "$TT" data $text --out $place
    find $place -type f -exec cksum {} + | sort | cmp -s before - || fail "tt data changed $place"
done
"$TT" help >out
tr '\n' ' ' <out | grep -q "2 an invalid request" || fail "the help does not explain the exit codes"
passed "exit codes"

# ---- when the reader of the output goes away, the run is still saved ----
"$TT" train $tiny --num-steps 1000000 --val-interval 0 --log-interval 1 --out piped 2>err | head -n 6 >out
code=${PIPESTATUS[0]}
[ "$code" = 130 ] || fail "a broken pipe: exit $code"
grep -q "Go on with" err || fail "a broken pipe: nothing is said"
ls -d piped/step-* >/dev/null 2>&1 || fail "a broken pipe: nothing was saved"
"$TT" help train 2>err | head -n 1 >out
[ -s err ] && fail "a short look at the help complains: $(cat err)"
"$TT" train $tiny --num-steps 1000000 --val-interval 0 --log-interval 5 --out hung >out 2>err &
pid=$!
for _ in $(seq 1200); do grep -q step hung/metrics.jsonl 2>/dev/null && break; sleep 0.05; done
kill -HUP $pid
wait $pid
[ $? = 130 ] && ls -d hung/step-* >/dev/null 2>&1 || fail "SIGHUP lost the run"
passed "a reader that goes away"

# ---- notes about likely mistakes ----
printf 'abc\0def %.0s' $(seq 1200) >binary
expect 0 "probably not text" "$TT" train $tiny --data binary --num-steps 1 --val-interval 0 --out binary-run
expect 2 "so many operations" "$TT" info --preset tiny --grad-accum 65536
expect 2 "logits alone would take 8 TiB" "$TT" info --plan --version flash --hidden-dim 64 --num-heads 1 --num-kv-heads 1 --num-layers 1 \
    --ffn-dim 64 --vocab-size 65536 --seq-len 65536 --batch-size 512 --head-chunk 33554432
if [ "$cpu" = 1 ]; then
    expect 2 "bf16 needs a GPU build" "$TT" bench --sizes tiny --precision bf16
    [ -s out ] && fail "bench prints before it refuses: $(cat out)"
    expect 0 "--device 1 chooses a GPU" "$TT" train $tiny --num-steps 1 --device 1 --out device-run
    expect 0 "this device has no bf16" "$TT" info --precision bf16
    expect 0 "lower halves of weights" "$TT" info --precision bf16 --preset small
    expect 2 "needs a GPU build" "$TT" train --precision bf16 --out never
fi
"$TT" train $tiny --vocab-size 500 --num-steps 3 --out wide >out 2>err || fail "train a wide vocabulary"
"$TT" generate wide --max-tokens 200 --temperature 2 --quiet >out 2>err || fail "generate from a wide vocabulary"
grep -q $'\357\277\275' out && fail "words that nobody knows were drawn"
passed "notes"

finish
