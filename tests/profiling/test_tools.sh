#!/usr/bin/env bash
# tt profile --with: scripts stand in for the vendors' profilers; they record their arguments and leave small files.
set -u
. tests/lib.sh
needs_device
profiles=$PWD/tests/profiles
all_profilers=$PWD/profiling/run_all_profilers.sh
is() { checks=$((checks + 1)); [ "$1" = "$2" ] || fail "$3: $1, not $2"; }
small="--preset default --num-layers 1 --hidden-dim 32 --num-heads 2 --num-kv-heads 1 --ffn-dim 32 --batch-size 1 --seq-len 8"

# Without the tool: the commands to run, how to get it, and a separate exit code.
mkdir "$dir/empty"
for tool in nsys ncu rocprofv3 rocprof-sys rocprof-compute; do
    [ -n "$(ls -d /usr/local/cuda/bin/$tool /opt/rocm/{,core/}bin/$tool* /opt/nvidia/nsight-compute/$tool 2>/dev/null)" ] && continue # found without PATH
    PATH=$dir/empty CUDA_HOME='' CUDA_PATH='' ROCM_PATH='' "$TT" profile --with $tool --out "$dir/without" $small >"$dir/out" 2>"$dir/err"
    is $? 4 "$tool missing"
    says "$dir/err" "is not installed"
    says "$dir/out" "--bare --config $dir/without/$tool.yaml"
    says "$dir/out" "mkdir -p $dir/without"
    case $tool in nsys | ncu | rocprofv3) says "$dir/out" "tt report --import $dir/without/" ;; esac
    sh -n "$dir/out" || fail "$tool: what is printed is no shell script"
done
"$TT" profile --with perf --out "$dir/without" >"$dir/out" 2>"$dir/err"
is $? 2 "an unknown tool"

# With it: a fake that records its arguments, runs the program, and leaves what the real one would.
mkdir "$dir/bin"
cat >"$dir/bin/nsys" <<FAKE
#!/bin/sh
printf '%s\n' "\$*" >>"$dir/words"
env | grep NSYS_NVTX >>"$dir/words"
for word; do case \$word in --output=*) out=\${word#--output=};; esac; done
if [ "\$1" = stats ]; then
    cp "$profiles/nsys_gpu_trace.csv" "\${out}_cuda_gpu_trace.csv"
    printf '%s\n' 'Start (ns),End (ns),Duration (ns),Name,Lvl' '900,3600,2700,:measured_steps,0' >"\${out}_nvtx_pushpop_trace.csv"
    exit 0
fi
while [ "\$1" != "$TT" ]; do shift; done
exec "\$@"
FAKE
cat >"$dir/bin/ncu" <<FAKE
#!/bin/sh
printf '%s\n' "\$*" >>"$dir/words"
case \$1 in --import*) cat "$profiles/ncu_raw.csv"; exit 0;; esac
while [ "\$1" != "$TT" ]; do shift; done
exec "\$@"
FAKE
cat >"$dir/bin/rocprofv3" <<FAKE
#!/bin/sh
printf '%s\n' "\$*" >>"$dir/words"
while [ "\$1" != -- ]; do
    [ "\$1" = --output-directory ] && out=\$2
    shift
done
cp "$profiles/rocprofv3_kernel_trace.csv" "$profiles/rocprofv3_memory_copy_trace.csv" "\$out/"
printf '%s\n' 'Domain,Function,Start_Timestamp,End_Timestamp' 'MARKER_CORE_RANGE_API,step,1551401624440000,1551401624450000' \
    'MARKER_CORE_RANGE_API,measured_steps,1551401624440000,1551401624660000' >"\$out/rocprofv3_marker_api_trace.csv"
shift
exec "\$@"
FAKE
cat >"$dir/bin/rocprof-sys-sample" <<FAKE
#!/bin/sh
printf '%s\n' "\$*" >>"$dir/words"
env | grep ROCPROFSYS >>"$dir/words"
FAKE
printf '#!/bin/sh\nexit 3\n' >"$dir/bin/rocprof-compute"
chmod +x "$dir/bin"/*

: >"$dir/words"
PATH=$dir/bin:$PATH "$TT" profile --with nsys --num-steps 2 --out "$dir/nsys dir" $small >"$dir/out" 2>"$dir/err"
is $? 0 "nsys"
says "$dir/words" "--capture-range=nvtx --nvtx-capture=measured_steps"
says "$dir/words" "NSYS_NVTX_PROFILER_REGISTER_ONLY=0"
says "$dir/words" "stats --report=cuda_gpu_trace"
says "$dir/out" "ran     2 steps"
says "$dir/out" "next    tt report --import '$dir/nsys dir/nsys_cuda_gpu_trace.csv' '$dir/nsys dir/nsys_nvtx_pushpop_trace.csv' --num-steps 2 --out '$dir/nsys dir/report'"
says "$dir/nsys dir/nsys.yaml" "hidden-dim: 32"
"$TT" report --import "$dir/nsys dir/nsys_cuda_gpu_trace.csv" --out "$dir/report" >"$dir/out" 2>&1
is $? 0 "what nsys left"
says "$dir/out" "nsys GPU trace"

: >"$dir/words"
PATH=$dir/bin:$PATH "$TT" profile --with ncu --out "$dir/ncu" $small >"$dir/out" 2>"$dir/err"
is $? 0 "ncu"
says "$dir/words" "--nvtx-include=measured_steps/"
says "$dir/words" "--import=$dir/ncu/ncu.ncu-rep --csv --page=raw"
says "$dir/out" "ran     1 step"
cmp -s "$dir/ncu/ncu.csv" "$profiles/ncu_raw.csv" || fail "ncu's table was not kept"

: >"$dir/words"
mkdir "$dir/roc"
PATH=$dir/bin:$PATH "$TT" profile --with rocprofv3 --num-steps 1 --out "$dir/roc" $small >"$dir/out" 2>"$dir/err"
is $? 0 "rocprofv3"
says "$dir/words" "--kernel-trace --memory-copy-trace --hip-trace --marker-trace --output-directory $dir/roc --output-file rocprofv3 --"
says "$dir/out" "next    tt report --import $dir/roc/rocprofv3_kernel_trace.csv $dir/roc/rocprofv3_memory_copy_trace.csv $dir/roc/rocprofv3_marker_api_trace.csv --out $dir/roc/report"
next=$(sed -n 's/^next    tt //p' "$dir/out")
# shellcheck disable=SC2086 # arguments without blanks
"$TT" $next >"$dir/out" 2>&1
is $? 0 "what rocprofv3 left"
says "$dir/out" "Cut to the range measured_steps, which holds 1 of 3 kernels. Divided by 1 step."
says "$dir/out" "A step takes 200 µs"
says "$dir/roc/report/summary.md" "Cut to the range"
says "$dir/roc/report/report.html" "Cut to the range"

# ... also in the place where ROCm's packages install it from 7.14 on
mkdir -p "$dir/rocm/core/bin" "$dir/few"
mv "$dir/bin/rocprofv3" "$dir/rocm/core/bin/"
for name in env cp cat mkdir grep; do ln -s "$(command -v $name)" "$dir/few/"; done
PATH=$dir/few CUDA_HOME='' CUDA_PATH='' ROCM_PATH=$dir/rocm "$TT" profile --with rocprofv3 --num-steps 1 --out "$dir/roc" $small >"$dir/out" 2>"$dir/err"
is $? 0 "rocprofv3 in ROCM_PATH/core/bin"
mv "$dir/rocm/core/bin/rocprofv3" "$dir/bin/"

# If SQLite is there, a database is preferred to text files: the one of this run, whatever other files there are.
if python3 -c 'import ctypes; ctypes.CDLL("libsqlite3.so.0")' 2>/dev/null; then
    echo database >"$dir/roc/rocprofv3_results.db"
    PATH=$dir/bin:$PATH "$TT" profile --with rocprofv3 --num-steps 1 --out "$dir/roc" $small >"$dir/out" 2>"$dir/err"
    says "$dir/out" "next    tt report --import $dir/roc/rocprofv3_results.db --out $dir/roc/report"
    mkdir "$dir/sys"
    echo old >"$dir/sys/rocpd-1.db"
    touch -d '1 hour ago' "$dir/sys/rocpd-1.db"
    echo new >"$dir/sys/rocpd-27.db"
    PATH=$dir/bin:$PATH "$TT" profile --with rocprof-sys --num-steps 1 --out "$dir/sys" $small >"$dir/out" 2>"$dir/err"
    says "$dir/out" "next    tt report --import $dir/sys/rocpd-27.db --out $dir/sys/report"
    mkdir "$dir/lib" "$dir/seven"
    : >"$dir/lib/libsqlite3.so.0" # as if it were not installed
    echo database >"$dir/seven/rocprofv3_results.db"
    printf '#!/bin/sh\n' >"$dir/seven/rocprofv3"
    chmod +x "$dir/seven/rocprofv3"
    LD_LIBRARY_PATH=$dir/lib PATH=$dir/seven:$PATH "$TT" profile --with rocprofv3 --num-steps 1 --out "$dir/seven" $small >"$dir/out" 2>"$dir/err"
    says "$dir/out" "look    tt report reads its database if SQLite (libsqlite3.so.0) is installed; else convert it first: rocpd convert -i"
else
    echo "not tested: databases, since SQLite is not installed"
fi

# If a recording cannot be imported, tt says where to look instead.
: >"$dir/words"
PATH=$dir/bin:$PATH "$TT" profile --with rocprof-sys --num-steps 1 --out "$dir/sys2" $small >"$dir/out" 2>"$dir/err"
is $? 0 "rocprof-sys"
says "$dir/words" "--trace --output $dir/sys2 --"
says "$dir/words" "ROCPROFSYS_USE_ROCPD=true"
says "$dir/out" "look    its trace (*.proto) opens in ui.perfetto.dev"

PATH=$dir/bin:$PATH "$TT" profile --with rocprof-compute --num-steps 1 --out "$dir/bad" $small >"$dir/out" 2>"$dir/err"
is $? 1 "a tool that fails"
says "$dir/err" "failed with exit code 3"
printf '#!/bin/sh\nprintf "%%s\\n" "$*"\n[ "$2" != --help ] || echo "  --output-directory"\n' >"$dir/bin/rocprof-compute"
PATH=$dir/bin:$PATH "$TT" profile --with rocprof-compute --num-steps 1 --out "$dir/compute" $small >"$dir/out" 2>"$dir/err"
is $? 0 "rocprof-compute"
says "$dir/out" "profile --output-directory $dir/compute/rocprof-compute --"
says "$dir/compute/rocprof-compute.txt" "analyze --path $dir/compute/rocprof-compute"
says "$dir/out" "look    its analysis is in rocprof-compute.txt; tt report does not read its counters"
sed -i '$d' "$dir/bin/rocprof-compute" # before ROCm 7.12
PATH=$dir/bin:$PATH "$TT" profile --with rocprof-compute --num-steps 1 --out "$dir/compute" $small >"$dir/out" 2>"$dir/err"
says "$dir/out" "profile --name tt --path $dir/compute/rocprof-compute --"
printf '#!/bin/sh\nexit 3\n' >"$dir/bin/rocprof-compute"

rm "$dir/bin/rocprof-sys-sample"

# Everything in one folder, with some tools present, some missing, and one that fails: only that one is named and
# counts. The baseline is profiled first, and no version twice.
TT=$TT PATH=$dir/bin:$PATH bash "$all_profilers" --batch-size 1 --seq-len 8 --num-steps 2 --profile-dir "$dir/all" --workshop-names \
    -- $small >"$dir/out" 2>&1
is $? 1 "run_all_profilers.sh: $(tail -5 "$dir/out")"
is "$(grep '^failed: ' "$dir/out")" "failed: rocprof-compute" "what failed"
is "$(sed -n 's/^== //p' "$dir/out" | tr '\n' ' ')" \
    "baseline fused flash compare bench nsys nsys-report ncu ncu-report rocprofv3 rocprofv3-report rocprof-sys rocprof-compute " "the order"
for file in baseline/report.html flash/profile.json bench/bench.json compare/compare.html nsys/nsys.yaml ncu/ncu.csv \
    nsys/report/report.html ncu/report/report.html rocprofv3/report/report.html; do
    checks=$((checks + 1))
    [ -s "$dir/all/$file" ] || fail "run_all_profilers.sh left no $file: $(tail -20 "$dir/out")"
done
says "$dir/all/rocprofv3-report.log" "Cut to the range measured_steps"
says "$dir/all/nsys-report.log" "Cut to the range measured_steps"
says "$dir/all/nsys/nsys.yaml" "version: baseline"
is "$(grep -cE "^everything is in $dir/all, in [0-9]+ min [0-9]{2} s; begin with $dir/all/baseline/report.html" "$dir/out")" 1 "the overall runtime"
[ -d /opt/rocm ] || says "$dir/out" "not installed here (the commands are in the logs): rocprof-sys"

# The workshop's names: the figures come from the baseline's profile.
for words in "## Profile: baseline" "### Operators" "### Efficiency" "## The versions side by side" "speed-up" "## Whole steps" \
    "samples/s" "- rocprofv3: A step takes 200" "- rocprof-compute: n/a"; do
    says "$dir/all/performance_summary_report.md" "$words"
done
if has python3; then
    checks=$((checks + 1))
    python3 - "$dir/all" <<'PYTHON' || fail "the workshop's files are wrong: $(cat "$dir/all/flops_profile.json" "$dir/all/computational_intensity.json")"
import json, sys
read = lambda name: json.load(open(f"{sys.argv[1]}/{name}"))
near = lambda a, b: abs(a - b) <= 1e-6 * abs(b)
p, f, c = read("baseline/profile.json"), read("flops_profile.json"), read("computational_intensity.json")
e, s, r = p["efficiency"], p["step"], p["run"]
a, m, y = f["flops_analysis"], f["performance_metrics"], f["efficiency_metrics"]
assert f["model_info"]["version"] == "baseline" and f["model_info"]["total_parameters"] == r["parameters"]
assert a["avg_flops_per_step"] == e["step_flops"] and near(a["total_flops"], 2 * e["step_flops"])
assert a["flops_per_parameter"] == e["flops_per_parameter"]
assert m["avg_time_per_step"] == s["seconds"] and m["flops_per_sec"] == e["flops_per_second"]
assert m["throughput_samples_per_sec"] == s["samples_per_second"]
assert y["mfu_percent"] == e["mfu_percent"] and near(y["efficiency_ratio"], e["mfu_percent"] / 100)
assert y["achieved_flops_per_sec"] == e["flops_per_second"] and y["device_peak_flops"] == e["gemm_flops_per_second"]
assert c["arithmetic_intensity_flops_per_byte"] == e["intensity"] and c["memory_bound_vs_compute_bound"] == e["bound"]
assert near(c["memory_bandwidth_used_gb_per_sec"], e["bytes_per_second"] / 1e9)
assert c["memory_bandwidth_utilization_percent"] == e["bandwidth_percent"]
assert near(c["device_memory_bandwidth_gb_per_sec"], e["copy_bytes_per_second"] / 1e9)
assert c["roofline_metrics"]["ridge_flops_per_byte"] == e["ridge"]
PYTHON
fi

# One version only: the chosen one.
TT=$TT PATH=$dir/bin:$PATH bash "$all_profilers" --quick --num-steps 2 --profile-dir "$dir/quick" --workshop-names -- $small --version fused >"$dir/out" 2>&1
is $? 0 "run_all_profilers.sh --quick"
is "$(sed -n 's/^== //p' "$dir/out" | tr '\n' ' ')" "fused " "what --quick does"
says "$dir/quick/performance_summary_report.md" "## Profile: fused"
bash "$all_profilers" --help >"$dir/out" 2>&1
is $? 0 "--help"
says "$dir/out" "computational_intensity.json"
bash "$all_profilers" --no-such-option >"$dir/out" 2>&1
is $? 2 "a wrong option"

finish
