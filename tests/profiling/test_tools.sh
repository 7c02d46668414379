#!/usr/bin/env bash
# tt profile --with: the vendors' profilers, played by scripts that write down their words and leave small files.
set -u
: "${TT:?is the program to test}"
. tests/backend/device.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
profiles=$PWD/tests/profiles
all_profilers=$PWD/profiling/run_all_profilers.sh
checks=0 failures=0
fail() { failures=$((failures + 1)); echo "FAIL $*"; }
says() { checks=$((checks + 1)); grep -qF -- "$2" "$1" || fail "expected \"$2\" in: $(head -c 1500 "$1")"; }
is() { checks=$((checks + 1)); [ "$1" = "$2" ] || fail "$3: $1, not $2"; }
small="--preset default --num-layers 1 --hidden-dim 32 --num-heads 2 --num-kv-heads 1 --ffn-dim 32 --batch-size 1 --seq-len 8"

# Without the tool: the commands to run, how to get it, and an exit code of its own.
mkdir "$work/empty"
for tool in nsys ncu rocprofv3 rocprof-sys rocprof-compute; do
    [ -n "$(ls -d /usr/local/cuda/bin/$tool /opt/rocm/{,core/}bin/$tool* /opt/nvidia/nsight-compute/$tool 2>/dev/null)" ] && continue # found without PATH
    PATH=$work/empty CUDA_HOME='' CUDA_PATH='' ROCM_PATH='' "$TT" profile --with $tool --out "$work/without" $small >"$work/out" 2>"$work/err"
    is $? 4 "$tool missing"
    says "$work/err" "is not installed"
    says "$work/out" "--bare --config $work/without/$tool.yaml"
    says "$work/out" "mkdir -p $work/without"
    sh -n "$work/out" || fail "$tool: what is printed is no shell script"
done
"$TT" profile --with perf --out "$work/without" >"$work/out" 2>"$work/err"
is $? 2 "an unknown tool"

# With it: a fake that writes its words, runs the program, and leaves what the real one would.
mkdir "$work/bin"
cat >"$work/bin/nsys" <<FAKE
#!/bin/sh
printf '%s\n' "\$*" >>"$work/words"
env | grep NSYS_NVTX >>"$work/words"
[ "\$1" = stats ] && { cp "$profiles/nsys_gpu_trace.csv" "$work/nsys dir/nsys_cuda_gpu_trace.csv"; exit 0; }
while [ "\$1" != "$TT" ]; do shift; done
exec "\$@"
FAKE
cat >"$work/bin/ncu" <<FAKE
#!/bin/sh
printf '%s\n' "\$*" >>"$work/words"
case \$1 in --import*) cat "$profiles/ncu_raw.csv"; exit 0;; esac
while [ "\$1" != "$TT" ]; do shift; done
exec "\$@"
FAKE
cat >"$work/bin/rocprofv3" <<FAKE
#!/bin/sh
printf '%s\n' "\$*" >>"$work/words"
cp "$profiles/rocprofv3_kernel_trace.csv" "$work/roc/rocprofv3_kernel_trace.csv"
while [ "\$1" != -- ]; do shift; done
shift
exec "\$@"
FAKE
printf '#!/bin/sh\nexit 3\n' >"$work/bin/rocprof-compute"
chmod +x "$work/bin"/*

: >"$work/words"
PATH=$work/bin:$PATH "$TT" profile --with nsys --num-steps 2 --out "$work/nsys dir" $small >"$work/out" 2>"$work/err"
is $? 0 "nsys"
says "$work/words" "--capture-range=nvtx --nvtx-capture=measured_steps"
says "$work/words" "NSYS_NVTX_PROFILER_REGISTER_ONLY=0"
says "$work/words" "stats --report=cuda_gpu_trace"
says "$work/out" "ran     2 steps"
says "$work/out" "next    tt report --import $work/nsys dir/nsys_cuda_gpu_trace.csv"
says "$work/nsys dir/nsys.yaml" "hidden-dim: 32"
"$TT" report --import "$work/nsys dir/nsys_cuda_gpu_trace.csv" --out "$work/report" >"$work/out" 2>&1
is $? 0 "what nsys left"
says "$work/out" "nsys GPU trace"

: >"$work/words"
PATH=$work/bin:$PATH "$TT" profile --with ncu --out "$work/ncu" $small >"$work/out" 2>"$work/err"
is $? 0 "ncu"
says "$work/words" "--nvtx-include=measured_steps/"
says "$work/words" "--import=$work/ncu/ncu.ncu-rep --csv --page=raw"
says "$work/out" "ran     1 steps"
cmp -s "$work/ncu/ncu.csv" "$profiles/ncu_raw.csv" || fail "ncu's table was not kept"

: >"$work/words"
mkdir "$work/roc"
PATH=$work/bin:$PATH "$TT" profile --with rocprofv3 --num-steps 1 --out "$work/roc" $small >"$work/out" 2>"$work/err"
is $? 0 "rocprofv3"
says "$work/words" "--kernel-trace --memory-copy-trace --hip-trace --marker-trace --stats"
says "$work/out" "next    tt report --import"

# ... also where ROCm's packages put it from 7.14 on
mkdir -p "$work/rocm/core/bin" "$work/few"
mv "$work/bin/rocprofv3" "$work/rocm/core/bin/"
for name in env cp cat mkdir grep; do ln -s "$(command -v $name)" "$work/few/"; done
PATH=$work/few CUDA_HOME='' CUDA_PATH='' ROCM_PATH=$work/rocm "$TT" profile --with rocprofv3 --num-steps 1 --out "$work/roc" $small >"$work/out" 2>"$work/err"
is $? 0 "rocprofv3 in ROCM_PATH/core/bin"
mv "$work/rocm/core/bin/rocprofv3" "$work/bin/"

PATH=$work/bin:$PATH "$TT" profile --with rocprof-compute --num-steps 1 --out "$work/bad" $small >"$work/out" 2>"$work/err"
is $? 1 "a tool that fails"
says "$work/err" "failed with exit code 3"

# Everything in one folder, with some tools there, some not, and one that fails: that one alone is named and counts.
TT=$TT PATH=$work/bin:$PATH bash "$all_profilers" --batch-size 1 --seq-len 8 --num-steps 2 --profile-dir "$work/all" -- $small >"$work/out" 2>&1
is $? 1 "run_all_profilers.sh: $(tail -5 "$work/out")"
is "$(grep '^failed: ' "$work/out")" "failed: rocprof-compute" "what failed"
for file in profile/report.html profile/profile.json bench/bench.json compare/compare.html nsys/nsys.yaml ncu/ncu.csv; do
    checks=$((checks + 1))
    [ -s "$work/all/$file" ] || fail "run_all_profilers.sh left no $file: $(tail -20 "$work/out")"
done
[ -d /opt/rocm ] || says "$work/out" "not installed here (the commands are in the logs): rocprof-sys"
bash "$all_profilers" --no-such-option >"$work/out" 2>&1
is $? 2 "a wrong option"

echo "$checks checks, $failures failed"
[ "$failures" -eq 0 ]
