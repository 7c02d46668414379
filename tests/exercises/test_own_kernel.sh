#!/usr/bin/env bash
# --own-kernel: a learner's residual_norm() inside tt. Right ones give tt's gradients on any number of threads and stand in the
# plan and the profile under their name; wrong ones are found; what is no such library is refused before anything runs.
set -u
. tests/lib.sh
course=$PWD/exercises
export XDG_CACHE_HOME=$dir/cache TT_EXERCISES=$course
cd "$dir" || exit 1
tiny="--hidden-dim 36 --num-layers 3 --num-heads 2 --num-kv-heads 1 --ffn-dim 40 --vocab-size 50 --seq-len 23 --batch-size 27"
quick="--num-steps 2 --warmup 1 --quiet"

cc=$(command -v cc || command -v gcc || command -v clang) || skip "no C compiler"
case $("$TT" --version) in
*"(cpu)"*) ;;
*)
    expect 2 "this tt was built for" "$TT" check grads $tiny --version fused --own-kernel any.so
    finish
    ;;
esac

"$TT" exercise start 10 ten >/dev/null || fail "no exercise 10"
library() { $cc -O2 -shared -fPIC -I ten -o "$1" "$2" -lm 2>err || { cat err; exit 77; }; }
library template.so ten/kernel.c
"$TT" exercise solution 10 | sed -n '/^```c$/,/^```$/p' | sed '/^```/d' >mine.c
library mine.so mine.c

# the harness: what is right passes, and each mistake has its name
harness() { $cc -O2 -I ten -o "$1.test" "$2" ten/harness.c -lm 2>err || { cat err; exit 77; }; }
harness template ten/kernel.c
expect 0 "time" ./template.test
expect 1 "touches scratch" ./template.test fused
harness mine mine.c
expect 0 "one pass over the rows" ./mine.test fused
sed 's/r = 0; r < a->rows; r++/r = a->rows - 1; r >= 0; r--/' mine.c >backwards.c && harness backwards backwards.c
cmp -s mine.c backwards.c && fail "the solution has another loop over the rows"
expect 0 "one pass over the rows" ./backwards.test fused
sed 's/a->scratch/a->y/g' ten/kernel.c >six.c && harness six six.c
expect 0 "time" ./six.test
expect 1 "several passes" ./six.test fused
sed 's/ + a->eps//' mine.c >no_eps.c && harness no_eps no_eps.c
expect 1 "differs from the formula" ./no_eps.test
grep -qE '^     (y|rstd)\[[0-9]+, [0-9]+\] is .*, and should be ' out || fail "the harness does not say where"
sed 's|c + CHAINS <= cols; c += CHAINS|c < cols; c += CHAINS|' mine.c >over.c && harness over over.c
expect 1 "wrote outside of its buffers" ./over.test
passed "harness"

for kernel in template mine; do
    for threads in 1 2 5; do
        expect 0 "29 of 29 tensors within" "$TT" check grads $tiny --version fused --own-kernel $kernel.so --against fused \
            --threads $threads --out $kernel.$threads
        cmp -s $kernel.1 $kernel.$threads || fail "$kernel.so gives other bits on $threads threads"
    done
done
cmp -s template.1 mine.1 && fail "two kernels that sum in another order give the same bits: is it them that run?"
expect 0 "29 of 29 tensors within" "$TT" check grads $tiny --own-kernel mine.so --against baseline
expect 0 "29 of 29 tensors within" "$TT" check grads $tiny --version baseline --fuse norm --own-kernel ./mine.so --against fused
expect 0 "residual_norm of mine.so" "$TT" train $tiny --version fused --own-kernel mine.so --num-steps 2 --vocab-size 64 --val-interval 0 --out ""
passed "right kernels"

"$TT" info $tiny --version fused --own-kernel mine.so --plan | grep -c " residual_norm " >count
[ "$(cat count)" = 6 ] || fail "the plan has $(cat count) residual_norm, not 6"
"$TT" info $tiny --version fused --plan | grep -q residual_norm && fail "residual_norm without --own-kernel"
expect 0 "leaves scratch alone" "$TT" profile $tiny $quick --version fused --own-kernel mine.so --out mine
awk -F, '$2 == "residual_norm" && $3 == "" && $4 == "rms_norm" && $6 == 6 && $7 > 0 && $11 > 0' mine/operators.csv | grep -q . || fail "not in operators.csv"
awk -F, '$2 == "rmsnorm" && $6 == 1' mine/operators.csv | grep -q . || fail "the norm without a residual is gone"
grep -q '"own_kernel": "mine.so"' mine/profile.json || fail "profile.json does not name the library"
grep -q "$(sha256sum mine.so 2>/dev/null | cut -c 1-16)" mine/profile.json || fail "profile.json has another SHA-256"
expect 0 "writes to scratch" "$TT" profile $tiny $quick --version fused --own-kernel template.so --out template
expect 0 "own-kernel template.so -> mine.so" "$TT" compare template mine
passed "plan and profile"

# wrong ones: a row that is not normalised, the last column forgotten, nothing at all
sed 's|/ sqrtf(squares|/ sqrtf(0.7f * squares|' mine.c >wrong.c && library wrong.so wrong.c
expect 1 "differ" "$TT" check grads $tiny --version fused --own-kernel wrong.so --against fused
sed 's|for (; c < cols; c++)|for (; c + 1 < cols; c++)|' mine.c >short.c && library short.so short.c
expect 1 "tensors" "$TT" check grads $tiny --version fused --own-kernel short.so --against fused
passed "wrong kernels"

expect 2 "No such file" "$TT" check grads $tiny --version fused --own-kernel nobody.so
expect 2 "cannot be opened as a library" "$TT" check grads $tiny --version fused --own-kernel mine.c
expect 2 "cannot be opened as a library" "$TT" check grads $tiny --version fused --own-kernel ten
printf 'int something_else(void) { return 1; }\n' >other.c && library other.so other.c
expect 2 "has no function residual_norm" "$TT" check grads $tiny --version fused --own-kernel other.so
expect 2 "use --version fused" "$TT" check grads $tiny --version baseline --own-kernel mine.so
expect 2 "use --version fused" "$TT" profile $tiny $quick --version fused --fuse no-norm --own-kernel mine.so --out none
[ -e none ] && fail "a folder of a profile that was refused"
printf 'own-kernel: mine.so\n' >asks.yaml
expect 2 "own-kernel" "$TT" check grads $tiny --version fused --config asks.yaml
expect 0 "ran     1 step" "$TT" profile $tiny --num-steps 1 --version fused --own-kernel mine.so --bare
passed "refused libraries"

# the exercise: a wrong kernel and one that is not fused do not pass, whatever the worksheet says
answer() { sed -i "s|^  $1: .*|  $1: \"$2\"|" ten/worksheet.yaml; }
marked() { grep -qE "^  $1 +$2 " out || fail "$2 is not $1"; }
for run in template mine fused; do
    own=
    [ $run = fused ] || own="--own-kernel $run.so"
    "$TT" profile $tiny $quick --version fused $own --out ten/$run >out 2>&1 || fail "no profile $run"
done
answer one_pass false
answer same_gradients true
answer launches 6
expect 6 "right" "$TT" exercise check 10 ten
for question in one_pass same_gradients launches; do marked right $question; done
mkdir swapped && cp template.so swapped/mine.so
"$TT" profile $tiny $quick --version fused --own-kernel swapped/mine.so --out ten/mine >out 2>&1
answer one_pass true
expect 6 "mine.so writes to scratch" "$TT" exercise check 10 ten
marked wrong one_pass
cp wrong.so swapped/mine.so
"$TT" profile $tiny $quick --version fused --own-kernel swapped/mine.so --out ten/mine >out 2>&1
answer one_pass false
answer same_gradients false
expect 6 "gradients with mine.so" "$TT" exercise check 10 ten
marked wrong same_gradients
"$TT" profile $tiny $quick --version fused --own-kernel template.so --out ten/mine >out 2>&1
expect 6 'its run.own_kernel is "template.so"' "$TT" exercise check 10 ten
passed "the check of exercise 10"
finish
