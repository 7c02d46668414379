#!/usr/bin/env bash
# What a run reports at its end, as text and as JSON.
set -u
. tests/lib.sh
needs_device
cd "$dir" || exit 1
tiny="--hidden-dim 32 --num-layers 1 --num-heads 2 --num-kv-heads 1 --ffn-dim 32 --seq-len 16 --batch-size 4"

# ---- text: what was done, how well, how fast, with how much memory, where it is, how to continue ----
"$TT" train $tiny --num-steps 40 --val-interval 10 --out a >out 2>err || fail "train"
for words in "^done +40 steps in " "tokens/s, peak memory [0-9.]+ MiB" "^time +[0-9.]+ % steps, [0-9.]+ % waiting for data, [0-9.]+ % validation, [0-9.]+ % saving" "^loss +[0-9.]+, floor" "^saved +a/step-00000040" \
    "^next +tt generate a .*--resume auto"; do shows "$words"; done
for words in "^math +fp32" "^adamw +fused" "^attn +flash"; do shows "$words"; done
# how busy the device is; a CPU can always tell
if "$TT" info | grep -q "^utilisation by "; then shows "^usage +[0-9a-zA-Z ]+ %"; fi
"$TT" info | grep -qE "^utilisation (by|not shown by tt train: )" || fail "tt info does not say who knows the utilisation"
[ "$("$TT" --version | grep -c cpu)" = 0 ] || "$TT" info | grep -q "^utilisation by getrusage" || fail "a CPU does not know its utilisation"
grep -q $'\033' out err && fail "colours without a terminal"
"$TT" train $tiny --num-steps 1 --version baseline --val-interval 0 --out "" >out 2>err || fail "baseline"
for words in "^math +fp32" "^adamw +not fused" "^attn +scores in memory, a kernel for each"; do shows "$words"; done
"$TT" train $tiny --num-steps 60 --val-interval 10 --learning-rate 3 --lr-schedule constant --warmup-steps 30 --out b >out 2>err || fail "train badly"
shows "^best +validation loss [0-9.]+ after step [1-5]0"
"$TT" train $tiny --num-steps 4 --quiet --out c >out 2>err || fail "quiet"
shows "^done"
grep -qE "^(step|device|model|next|math|adamw|attn|graph|gemm|usage|time)" out && fail "--quiet says more than results"

# ---- JSON: one object with the same facts ----
"$TT" train $tiny --num-steps 20 --val-interval 10 --json --out d >out 2>err || fail "json"
grep -qE '"load":[0-9.]+,"busy":(true|false)' out || fail "it does not say whether the machine was busy"
[ "$(wc -l <out)" = 1 ] || fail "more than one line of JSON"
for key in '"step":20' '"steps":20' '"tokens":1280' '"loss":[0-9]' '"val_loss":[0-9]' '"best_val_loss":[0-9]' '"best_step":[12]0' \
    '"tokens_per_second":[0-9]' '"peak_memory_bytes":[0-9]' '"data_wait_seconds":' '"validation_seconds":[0-9]' '"saving_seconds":[0-9]' '"interrupted":false' '"device_utilisation":([0-9]|null)' '"checkpoint":"d/step-00000020"'; do
    shows "$key"
done

# ---- an interrupted run also ends with its numbers ----
"$TT" train $tiny --num-steps 1000000 --val-interval 0 --log-interval 5 --out e --tensorboard board >out 2>err &
pid=$!
for _ in $(seq 1200); do grep -q step e/metrics.jsonl 2>/dev/null && break; sleep 0.05; done
kill -INT $pid
wait $pid
[ $? = 130 ] || fail "interrupted: another exit code"
shows "^stop +[0-9]+ steps in "
shows "^saved +e/step-"
grep -q "Go on with: tt train --resume auto --out e --tensorboard board" err || fail "interrupted: not said how to go on"
"$TT" train $tiny --num-steps 2 --val-interval 0 --out f --tensorboard other >out 2>err || fail "train with a board"
shows "^next .*--resume auto --out f --num-steps 4 --tensorboard other"
if command -v python3 >/dev/null && [ -d /proc/self ]; then
    memory() { sed -n 's/.*"peak_memory_bytes":\([0-9]*\).*/\1/p' "$1"; }
    python3 -c 'import subprocess, sys; x = bytearray(1 << 29); sys.exit(subprocess.run(sys.argv[1:]).returncode)' \
        "$TT" train $tiny --num-steps 20 --val-interval 10 --json --out g >large 2>err || fail "train from a large program"
    "$TT" train $tiny --num-steps 20 --val-interval 10 --json --out h >out 2>err || fail "json"
    [ "$(memory large)" -lt $(($(memory out) + (1 << 28))) ] || fail "peak memory $(memory large) is that of the program that started it"
fi

# ---- the reader of the output is gone: the run still completes, saves, and reports it ----
"$TT" train $tiny --num-steps 3 --val-interval 0 --quiet --out gone 2>err | true
code=${PIPESTATUS[0]}
[ $code = 1 ] && grep -q "cannot write to standard output" err || fail "a reader that has gone: exit code $code: $(cat err)"
[ -d gone/step-00000003 ] || fail "a reader that has gone: nothing is saved"
passed "summaries"

finish
