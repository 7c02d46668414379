#!/usr/bin/env bash
# The programs that measure peers, without any peer: they say in one line what is missing, never print an empty table as
# a result, and pass arguments to tt's kernels in the layout of backend/kernels.h.
set -u
. tests/lib.sh
: "${TT:?is the program to test}"
has python3 || skip "no python3"
export PYTHONDONTWRITEBYTECODE=1 CUDA_VISIBLE_DEVICES=
peers=$PWD/tests/peers
cd "$dir" || exit 1
run() { # run CODE TEXT COMMAND...
    local code=$1 words=$2 got
    shift 2
    checks=$((checks + 1))
    "$@" >out 2>err
    got=$?
    [ $got = "$code" ] || fail "exit $got, not $code: $*"
    cat out err | grep -qF -- "$words" || fail "no \"$words\" from: $*"
    grep -q Traceback err && fail "a traceback from: $*"
}

for p in attention gpu_step cpu_step generate_torch; do run 0 "usage:" python3 "$peers/$p.py" --help; done
run 1 "WARMUP REPEATS" python3 "$peers/jax_step.py"
run 1 "on an NVIDIA GPU" python3 "$peers/attention.py"
run 1 "tt does not run here" python3 "$peers/gpu_step.py" --tt ./nowhere --sizes small --modes "" --no-jax --rounds 1
grep -q "./nowhere is not there" err || fail "gpu_step.py does not name the program that is missing"
run 2 "at least 1" python3 "$peers/gpu_step.py" --rounds 0
run 2 "--sizes takes" python3 "$peers/gpu_step.py" --sizes 64x1x2x1x96x100x32
run 1 "tt does not run here" python3 "$peers/gpu_step.py" --tt ./nowhere --sizes 64x1x2x1x96x100x32x2 --modes "" --no-jax --rounds 1
if env -u CUDA_VISIBLE_DEVICES "$TT" bench --sizes tiny --versions flash --warmup 0 --repeats 1 >/dev/null 2>&1; then
    run 0 "hidden 64, layers 1, heads 2, kv 1, ffn 96, vocab 100, seq 32, batch 2" env -u CUDA_VISIBLE_DEVICES \
        python3 "$peers/gpu_step.py" --tt "$TT" --precision fp32 --sizes 64x1x2x1x96x100x32x2 --modes "" --no-jax \
        --rounds 1 --warmup 1 --repeats 1
fi
run 2 "--attention takes sdpa, cudnn, flash" python3 "$peers/gpu_step.py" --attention cudnn,fast
run 2 "--modes takes eager, compile" python3 "$peers/gpu_step.py" --modes compile,quick
run 1 "./nowhere is not there" python3 "$peers/cpu_step.py" --tt ./nowhere --sizes default --rounds 1 --warmup 0 --repeats 1 --modes eager
run 2 "at least 1" python3 "$peers/cpu_step.py" --rounds 0
run 0 "usage:" python3 "$peers/tokenizer.py" --help
run 1 "./nowhere is not there" python3 "$peers/tokenizer.py" out --tt ./nowhere
run 2 "at least 1" python3 "$peers/tokenizer.py" out --rounds 0
run 1 "./nowhere is not there" python3 "$peers/generate_torch.py" --tt ./nowhere --sizes tiny --rows 1 --rounds 1 --modes ""
run 2 "at least 1" python3 "$peers/generate_torch.py" --rounds 0
run 1 "./nowhere is not there" bash "$peers/updates.sh" ./nowhere cpu
run 1 "./nowhere is not there" bash "$peers/fp8.sh" ./nowhere

# ---- worker programs that stay and measure in turn ----
cat >worker.py <<'PYTHON'
import sys
import turns
count = 0
def measure():
    global count
    count += 1
    if count > int(sys.argv[2]):
        sys.exit(f"{sys.argv[1]} had enough")
    return dict(ms=count)
print("a compiler talks")
turns.serve(measure, name=sys.argv[1])
PYTHON
cat >turns_test.py <<'PYTHON'
import os, sys
import turns
env = dict(os.environ)
a, b = (turns.Peer([sys.executable, "worker.py", name, count], env) for name, count in (("a", "9"), ("b", "1")))
for peer in a, b:
    peer.wait_ready()
print([peer.measure() for peer in (a, b)], a.measure()["ms"])
for _ in range(2):  # while it dies, and after it is gone
    try:
        print("never", b.measure())
    except RuntimeError as error:
        print(error)
for peer in a, b:
    peer.close()
PYTHON
run 0 "[{'name': 'a', 'ms': 1}, {'name': 'b', 'ms': 1}] 2" env PYTHONPATH="$peers" timeout 60 python3 turns_test.py
checks=$((checks + 1))
[ "$(grep -cF "worker.py exited 1: b had enough" out)" = 2 ] || fail "a peer that is gone does not tell why at each turn: $(cat out)"

# ---- the arguments of attention in Python and in C ----
fields() { # fields python|c
    PYTHONPATH=$peers python3 - "$1" <<'PYTHON'
import ctypes, sys
import attention
for kernel, kind in ("flash", attention.Flash), ("flash_backward", attention.FlashBackward):
    for name, _ in kind._fields_:
        if sys.argv[1] == "c":
            print(f'printf("{kernel} {name} %zu\\n", offsetof(struct tt_{kernel}_args, {name}));')
        else:
            print(kernel, name, getattr(kind, name).offset)
    print(f'printf("{kernel} %zu\\n", sizeof(struct tt_{kernel}_args));' if sys.argv[1] == "c" else f"{kernel} {ctypes.sizeof(kind)}")
PYTHON
}
{ echo '#include <stddef.h>'; echo '#include <stdio.h>'; echo '#include "backend/kernels.h"'; echo 'int main(void) {'; fields c; echo 'return 0; }'; } >layout.c
fields python >python.txt
checks=$((checks + 1))
if ${CC:-cc} -std=c17 -I "$root" layout.c -o layout 2>err; then
    ./layout >c.txt
    [ "$(wc -l <c.txt)" -gt 30 ] && cmp -s c.txt python.txt || fail "the arguments differ: $(diff c.txt python.txt | head -n 4)"
else
    fail "layout.c does not compile"
fi

finish
