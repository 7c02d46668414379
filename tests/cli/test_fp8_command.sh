#!/usr/bin/env bash
# --precision fp8 on the command line: delayed scaling across a resume, the logits of an 8-bit head, and what is
# refused.
set -u
. tests/lib.sh
needs_device
cd "$dir" || exit 1
tiny="--hidden-dim 32 --num-layers 2 --num-heads 2 --num-kv-heads 1 --ffn-dim 48 --seq-len 32 --batch-size 4 --gemm-tune off"
expect 2 "fp8-scaling delayed does nothing with precision fp32; give --precision fp8 too" "$TT" train --precision fp32 --fp8-scaling delayed
expect 2 "fp8-scaling row does nothing with precision fp32" "$TT" train --precision fp32 --fp8-scaling row
expect 2 "tensor, delayed, row" "$TT" train --precision fp8 --fp8-scaling column
if on_cpu; then # before the library is loaded
    expect 2 "does not take the largest magnitudes that --precision fp8 needs; use --precision fp32" "$TT" check grads $tiny --precision fp8 --own-kernel none.so
    expect 2 "does not take the largest magnitudes that --precision fp8 needs" "$TT" train $tiny --precision fp8 --fp8-scaling delayed --own-kernel none.so
fi
passed "what is refused"
"$TT" train $tiny --precision fp8 --num-steps 1 --out try >out 2>err || skip "no fp8 on this device"

# ---- delayed scaling: a resumed run has the same bits ----
fp8="--precision fp8 --fp8 all --fp8-scaling delayed"
same() { cmp -s "$1" "$2" || fail "$3"; }
expect 0 "floor" "$TT" train $tiny $fp8 --num-steps 24 --out whole
expect 0 "floor" "$TT" train $tiny $fp8 --num-steps 24 --save-interval 19 --out parts
rm -rf parts/step-00000024
cp -r parts without && cp -r parts changed
expect 0 "resume" "$TT" train --resume auto --out parts
grep -q "history of magnitudes" out && fail "a history was not found"
for file in model state scales; do
    same whole/step-00000024/$file.safetensors parts/step-00000024/$file.safetensors "$file resumed has other bits"
done
# A run with --fp8-scaling tensor has no history; a resumed run may switch in either direction.
expect 0 "floor" "$TT" train $tiny --precision fp8 --num-steps 24 --save-interval 19 --out present
[ ! -e present/step-00000024/scales.safetensors ] || fail "scales of the present were saved"
rm -rf present/step-00000024
expect 0 "without the history of magnitudes that --fp8-scaling delayed uses: it starts empty" "$TT" train --resume auto --fp8-scaling delayed --out present
[ -s present/step-00000024/scales.safetensors ] || fail "a history that began anew was not saved"
expect 0 "without the history of magnitudes that --fp8-scaling delayed uses: it starts empty" "$TT" train $fp8 --init-from present --num-steps 1 --out anew
expect 0 "resume" "$TT" train --resume auto --fp8-scaling tensor --out changed
[ ! -e changed/step-00000024/scales.safetensors ] || fail "scales were saved that nothing uses"
expect 0 "resume" "$TT" train --resume without --precision fp32 --out elsewhere
grep -q "fp8-scaling: delayed" elsewhere/step-00000024/checkpoint.json && fail "an option of fp8 stayed without it"
passed "scales of a history, over a break"

# ---- what is not in 8 bits is reported ----
small="--num-layers 1 --hidden-dim 32 --num-heads 2 --ffn-dim 64 --batch-size 2 --seq-len 16 --precision fp8"
odd="--num-layers 1 --hidden-dim 36 --num-heads 2 --ffn-dim 100 --batch-size 2 --seq-len 16 --precision fp8"
expect 0 "fp8 factors in 12 of " "$TT" train $small --fp8 linear --data random --vocab-size 64 --num-steps 1 --out counted
expect 0 "fp8 factors in 15 of " "$TT" train $small --fp8 all --data random --vocab-size 64 --num-steps 1 --out counted-all
expect 0 "not all products of the head have 8-bit factors" "$TT" train $small --fp8 all --data random --vocab-size 50 --num-steps 1 --out odd-head
grep -q "fp8 factors in 12 of " out || fail "a head of 50 words is counted as one in 8 bits"
expect 0 "not all products of the head have 8-bit factors" "$TT" info $small --fp8 all --vocab-size 64 --head-chunk 20
for command in "info" "check grads --against fp32" "info --predict h200"; do
    expect 0 "no product has 8-bit factors" "$TT" $command $odd
done
"$TT" diagnose --quick $odd >out 2>err # it may also warn of a busy machine
grep -q "no product has 8-bit factors" out || fail "diagnose does not tell that nothing is in 8 bits"
expect 2 "no library has 8-bit products with scales of rows for the" "$TT" info $small --fp8-scaling row --predict b200
expect 0 "predicted ms" "$TT" info $small --fp8-scaling row --predict h200,mi300x
expect 0 "without a100: the NVIDIA A100" "$TT" info $small --predict a100,h200
expect 2 "has no fp8; choose another --precision" "$TT" info $small --predict a100
printf 'fp8: true\n' >true.yaml
expect 2 "fp8: takes linear or all; precision: fp8 turns it on" "$TT" info --config true.yaml
expect 0 "it has no fp8 with scales of rows" "$TT" diagnose $small --fp8-scaling row --for 4090
expect 0 "were linear until this step, and are all delayed from here on" "$TT" train --resume counted --fp8 all --fp8-scaling delayed --num-steps 2 --out counted-on
expect 0 "text is generated without 8-bit factors" "$TT" generate counted --precision fp8 --max-tokens 3
expect 0 "text is generated without 8-bit factors" "$TT" bench --generate 1 --sizes default --prompt-tokens 4 --new-tokens 3 --precision fp8
passed "what is not in 8 bits"

# ---- one scale per row: nothing of it is saved, and a resumed run has the same bits ----
if "$TT" train $tiny --precision fp8 --fp8-scaling row --num-steps 12 --out rows >out 2>err; then
    grep -q "a scale for each row" out || fail "scales of rows are not named"
    expect 0 "floor" "$TT" train $tiny --precision fp8 --fp8-scaling row --num-steps 12 --save-interval 7 --out rows-parts
    rm -rf rows-parts/step-00000012
    expect 0 "resume" "$TT" train --resume auto --out rows-parts
    for file in model state; do
        same rows/step-00000012/$file.safetensors rows-parts/step-00000012/$file.safetensors "$file by rows, resumed, has other bits"
    done
    [ ! -e rows/step-00000012/scales.safetensors ] || fail "scales of rows were saved"
    expect 0 "against fp32" "$TT" check grads $tiny --precision fp8 --fp8 all --fp8-scaling row --against fp32
else
    grep -q "use --fp8-scaling tensor or delayed" err || fail "scales of rows: $(cat err)"
fi
passed "scales of rows"

# ---- commands that compute in fp32, whatever the run used ----
for run in whole parts changed present; do
    expect 0 "" "$TT" export "$run" --out "hf-$run"
    [ -s "hf-$run/model.safetensors" ] || fail "$run was not exported"
done
for words in "--fp8 all" "--fp8-scaling delayed" "--fp8 all --fp8-scaling delayed"; do
    expect 0 "against fp32" "$TT" check grads $tiny --precision fp8 $words --against fp32
done
expect 0 "changed  whole: fp8 all -> all delayed" "$TT" compare changed whole
passed "runs of fp8 are exported, and compared with fp32"

# ---- the logits of an 8-bit head equal the others up to its rounding ----
for how in "fp32" "fp8 --fp8 linear" "fp8 --fp8 all"; do
    expect 0 "" "$TT" eval whole --logits "${how// /_}.logits" --precision $how
done
numbers() { tail -c $((4 * 32 * 64 * 4 + 4 * 33 * 4)) "$1" | head -c $((4 * 32 * 64 * 4)) | od -An -v -w4 -t f4; } # logits, before tokens
# apart A B: the norm of B - A relative to the norm of A
apart() { paste <(numbers "$1") <(numbers "$2") | awk '{ d += ($1 - $2) ^ 2; n += $1 ^ 2 } END { printf "%.6f", sqrt(d / n) }'; }
within() { awk -v x="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(x > low && x < high) }' || fail "logits of $4 are apart by $1, not between $2 and $3"; }
within "$(apart fp32.logits fp8_--fp8_linear.logits)" 0.001 0.1 "8-bit products and fp32"
within "$(apart fp8_--fp8_linear.logits fp8_--fp8_all.logits)" 0.001 0.1 "an 8-bit head and the other"
passed "logits of an 8-bit head"
finish
