#!/usr/bin/env bash
# --documents separate on the command line. It is refused if no end-of-document token is known, gives the same loss in
# every version, is kept by checkpoints and configuration files, and applies in eval.
set -u
. tests/lib.sh
needs_device
cd "$dir" || exit 1
export OMP_NUM_THREADS=1
tiny="--hidden-dim 32 --num-layers 2 --num-heads 4 --num-kv-heads 2 --ffn-dim 48 --seq-len 48 --batch-size 4"
lines="--data lines.txt --document-end 10" # every line is a document
for i in $(seq 400); do echo "line $i of ${i}"; [ $((i % 7)) = 0 ] && echo; done >lines.txt

loss() { sed 's/.*"loss"://; s/,.*//' out; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(d < 2e-4 && d > -2e-4) }'; } # up to the optimiser's rounding
evaluate() { # evaluate RUN OPTIONS...: its loss in $got
    expect 0 loss "$TT" eval "$@" --json
    got=$(loss)
}

# ---- the token that ends a document must be known ----
expect 2 "--document-end" "$TT" train $tiny --data random --documents separate --out never
expect 2 "not below the vocabulary" "$TT" train $tiny --data random --documents separate --document-end 70000 --out never
expect 2 "joined, separate" "$TT" train --documents apart --out never
[ -e never ] && fail "a refused run has a folder"
expect 0 "done" "$TT" train $tiny --documents separate --num-steps 2 --out "" # the built-in language has one
expect 0 "flash" "$TT" bench --sizes small $tiny --documents separate --document-end 3 --versions flash --repeats 1 --warmup 0
expect 0 "document_bounds" "$TT" info $tiny --plan --documents separate
"$TT" info $tiny --plan | grep -q document_bounds && fail "the plan of joined documents looks for their bounds"
passed "an unknown end token is refused"

# ---- versions ----
for v in baseline fused flash; do
    expect 0 "saved" "$TT" train $tiny $lines --documents separate --version $v --num-steps 4 --out runs/$v
    evaluate runs/$v
    eval "$v=$got"
done
expect 0 "saved" "$TT" train $tiny $lines --num-steps 4 --out runs/joined
evaluate runs/joined
check "fused: $fused, baseline: $baseline" near "$fused" "$baseline"
check "flash: $flash, baseline: $baseline" near "$flash" "$baseline"
check "joined: $got as separate" [ "$got" != "$flash" ]
passed "versions agree"

# ---- checkpoints and files keep the choice ----
grep -q '^documents: separate' runs/flash/step-00000004/config.yaml 2>/dev/null || grep -rq 'documents: separate' runs/flash ||
    fail "the checkpoint does not say how documents are seen"
evaluate runs/flash --documents joined
check "eval --documents joined gives the loss of separate: $got" [ "$got" != "$flash" ]
evaluate runs/flash --version baseline
check "eval in another version: $got, $flash" near "$got" "$flash"
expect 0 "saved" "$TT" train $tiny $lines --documents separate --num-steps 4 --warmup-steps 1 --out runs/whole
expect 0 "saved" "$TT" train $tiny $lines --documents separate --num-steps 4 --warmup-steps 1 --save-interval 2 --out runs/cut
rm -r runs/cut/step-00000004
expect 0 "saved" "$TT" train --resume runs/cut --out runs/cut
check "a resumed run has other weights" cmp runs/whole/step-00000004/model.safetensors runs/cut/step-00000004/model.safetensors
"$TT" train $tiny $lines --documents separate --print-config >file.yaml 2>err || fail "--print-config"
expect 0 "saved" "$TT" train --config file.yaml --num-steps 4 --out runs/file
check "a configuration file gives other weights" cmp runs/flash/step-00000004/model.safetensors runs/file/step-00000004/model.safetensors
expect 0 "" "$TT" generate runs/flash --prompt "line 7" --max-tokens 4
passed "checkpoints and files keep it"

# ---- compare names the difference ----
expect 0 "documents joined -> separate" "$TT" compare runs/joined runs/flash
expect 8 "cannot be compared" "$TT" compare runs/joined runs/flash --fail-if loss:0.5
for other in "--qkv-bias" "--qk-norm" "--rope-scaling linear,factor=2" "--head-dim 16"; do
    # shellcheck disable=SC2086
    expect 0 "saved" "$TT" train $tiny $lines --num-steps 2 $other --out runs/other
    expect 0 "its model differs" "$TT" compare runs/joined runs/other
    set -- $other
    grep -q "changed .* ${1#--} .* -> " out || fail "it does not name $1: $(grep changed out)"
    expect 8 "its model differs" "$TT" compare runs/joined runs/other --fail-if slower:5%
    rm -r runs/other
done
passed "a comparison names what makes the models differ, and its gate does not judge them"

# ---- micro-batches ----
expect 0 "saved" "$TT" train $tiny $lines --documents separate --batch-size 2 --grad-accum 2 --num-steps 4 --out runs/micro
evaluate runs/micro --batch-size 4
check "micro-batches: $got, $flash" near "$got" "$flash"
passed "micro-batches have documents of their own"
finish
