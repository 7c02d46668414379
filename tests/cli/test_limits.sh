#!/usr/bin/env bash
# Small shell limits. With a stack of 256 KiB every command works. With any limit on the address space it ends by
# itself, and says why if it fails.
set -u
. tests/lib.sh
needs_device
if grep -q __asan_init "$TT"; then skip "a sanitizer needs more of both"; fi
cd "$dir" || exit 1
export XDG_CACHE_HOME=$dir/cache OMP_WAIT_POLICY=passive
unset OPENBLAS_NUM_THREADS
shape="--hidden-dim 32 --num-layers 1 --num-heads 2 --num-kv-heads 2 --ffn-dim 48 --seq-len 16 --batch-size 2 --threads 2"

# runs CODES ARGUMENTS...: runs tt with a small stack
runs() {
    local codes=$1
    shift
    (ulimit -s 256 && exec "$TT" "$@") >out 2>err </dev/null
    local got=$?
    [[ " $codes " == *" $got "* ]] || fail "with a stack of 256 KiB: exit $got, not $codes: tt $*"
}

seq 1 500 >text.txt
runs 0 train $shape --num-steps 2 --val-batches 1 --fuse no-norm --out run
runs 0 train --resume auto --num-steps 3 --out run
runs 0 train $shape --num-steps 2 --data text.txt --tokenizer chars --tensorboard board --out text
runs 0 train $shape --num-steps 2 --print-config
"$TT" train $shape --num-steps 2 --print-config >run.yaml
runs 0 train --config run.yaml --out configured
runs 2 train $shape --no-such-option
runs 0 eval run --logits run.logits
runs 0 generate run --max-tokens 4
runs 0 data text.txt --tokenizer bpe --vocab-size 300 --out data
runs 0 data --inspect data/train_000000.bin
runs 0 info $shape --plan
runs 0 info --preset 1b --predict h200,mi300x
runs 0 bench $shape --sizes tiny --versions baseline,flash --repeats 2 --warmup 1 --profile-dir bench
runs 0 claims --list
runs 0 profile $shape --num-steps 1 --warmup 1 --sweep batch --out one
runs 0 profile $shape --num-steps 1 --warmup 1 --version baseline --out two
runs 0 profile $shape --num-steps 1 --bare
runs 0 report one
runs 0 compare one two --out compared
runs 0 check grads $shape --against baseline
runs "0 6" diagnose $shape --num-steps 3 --quick # 6: it may give warnings
runs 0 export --checkpoint run exported
runs 0 import exported --out imported
runs 0 exercise list
runs 0 exercise start 1 mine
runs 6 exercise check mine
for words in "" train --markdown --man "--completion bash" "--completion zsh" "--completion fish"; do runs 0 help $words; done
runs 0 train --help
runs 0 --version
runs 0
commands=$("$TT" help --completion bash | sed -n 's/.*compgen -W "\(train [a-z ]*\) --help.*/\1/p')
[ "$(wc -w <<<"$commands")" -gt 10 ] || fail "which commands are there? \"$commands\""
for command in $commands; do
    grep -q "runs [0-9\" ]* $command\b" "$root/tests/cli/test_limits.sh" || fail "tt $command is not tried"
done
passed "a stack of 256 KiB"

on_cpu || finish # a GPU's libraries need more than this before main() starts

# If even the libraries cannot start, they say so.
refused=0 tried=0
for kib in 20000 30000 40000 43000 45000 47000 50000 55000 60000 70000 80000 100000 120000 160000 200000 300000 400000 4000000; do
    for words in "help" "info $shape" "train $shape --threads 1 --num-steps 2 --val-batches 1 --out mem-1-$kib" \
        "train $shape --num-steps 2 --val-batches 1 --out mem-2-$kib" "train --threads 1 --num-steps 1 --val-batches 1 --out mem-3-$kib"; do
        (ulimit -v $kib && exec timeout -k 5 60 "$TT" $words) >out 2>err
        code=$?
        tried=$((tried + 1))
        [ $code = 0 ] || refused=$((refused + 1))
        [ $code != 124 ] && [ $code != 137 ] || fail "with $kib KiB of address space: hangs: tt $words"
        [ $code -lt 128 ] || fail "with $kib KiB of address space: exit $code: tt $words"
        [ $code = 0 ] || [ -s err ] || fail "with $kib KiB of address space: exit $code without a word: tt $words"
    done
done
[ $refused -gt 0 ] && [ $refused -lt $tried ] || fail "$refused of $tried were refused"
passed "little address space ($refused of $tried refused)"
finish
