#!/usr/bin/env bash
# Makes every available profile of one configuration, in one folder:
#
#     profiling/run_all_profilers.sh --batch-size 8 --seq-len 128 --num-steps 10 --profile-dir profiles [-- more options]
#
#   baseline/ ...       tt profile of each version, baseline first: report.html, trace.json, ...
#   compare/            all of them side by side
#   bench/              whole steps, timed
#   nsys/ ncu/ ...      recordings by the vendor's tools, of the chosen version or else the baseline; if a tool is not
#                       installed, the commands to run
#
# --quick profiles one version only: the chosen one, or else the baseline. --workshop-names also writes the baseline's
# figures and the overall report under the names and keys of the workshop that this grew from:
# performance_summary_report.md, flops_profile.json, computational_intensity.json.
#
# Arguments after -- go to tt profile unchanged (--preset small, --precision bf16). The program is $TT or build/tt.
# A step that fails is named at the end and fails the script; a vendor's tool that is not installed does not fail it.
set -u

usage() {
    sed -n '2,18s/^# \{0,1\}//p' "$0"
    exit "$1"
}

batch='' seq='' steps=10 dir=profiles quick=no workshop=no
while [ $# -gt 0 ]; do
    case $1 in
    --batch-size | --seq-len | --num-steps | --profile-dir)
        [ $# -ge 2 ] || { echo "$1 needs a value" >&2; exit 2; }
        case $1 in
        --batch-size) batch=$2 ;;
        --seq-len) seq=$2 ;;
        --num-steps) steps=$2 ;;
        --profile-dir) dir=$2 ;;
        esac
        shift 2
        ;;
    --quick) quick=yes; shift ;; # tt's own profile only
    --workshop-names) workshop=yes; shift ;;
    -h | --help) usage 0 ;;
    --) shift; break ;;
    *) echo "there is no option $1" >&2; usage 2 >&2 ;;
    esac
done

here=$(cd "$(dirname "$0")/.." && pwd)
TT=${TT:-$here/build/tt}
[ -x "$TT" ] || { echo "$TT is not there; build it, or say where it is: TT=path $0" >&2; exit 2; }

# The chosen version, and the arguments for bench, which takes sizes instead of a preset.
chosen=baseline sizes=default options=("$@") bench=()
while [ $# -gt 0 ]; do
    case $1 in
    --preset) sizes=${2:-}; shift ;;
    --preset=*) sizes=${1#*=} ;;
    --version) chosen=${2:-}; shift ;;
    --version=*) chosen=${1#*=} ;;
    --warmup) shift ;;
    --warmup=*) ;;
    *) bench+=("$1") ;;
    esac
    [ $# -eq 0 ] || shift
done
options+=(--num-steps "$steps")
[ -n "$batch" ] && options+=(--batch-size "$batch") && bench+=(--batch-size "$batch")
[ -n "$seq" ] && options+=(--seq-len "$seq") && bench+=(--seq-len "$seq")
failed=() missing=()
mkdir -p "$dir" || exit 1

# step NAME COMMAND...: runs it and copies its output to DIR/NAME.log.
step() {
    local name=$1 code
    shift
    echo "== $name"
    "$@" 2>&1 | tee "$dir/$name.log"
    code=${PIPESTATUS[0]}
    [ "$code" -eq 4 ] && missing+=("$name")
    [ "$code" -eq 0 ] || [ "$code" -eq 4 ] || failed+=("$name")
}

# ---- the workshop's names ----

# figure SECTION KEY: the value in the first profile's profile.json, which has one value per line
figure() {
    awk -v section="  \"$1\": {" -v key="    \"$2\": " '
        $0 == section { on = 1; next }
        on && /^  }/ { exit }
        on && index($0, key) == 1 { value = substr($0, length(key) + 1); sub(/,$/, "", value); print value; found = 1; exit }
        END { if (!found) print "null" }' "$first/profile.json"
}
times() { awk -v a="$1" -v b="$2" 'BEGIN { if (a == "null" || b == "null") print "null"; else printf "%.9g\n", a * b }'; }
over() { awk -v a="$1" -v b="$2" 'BEGIN { if (a == "null" || b == "null" || b == 0) print "null"; else printf "%.9g\n", a / b }'; }

# FLOPs are counted from the formulas, once per step, forward and backward. Times are medians over the measured steps.
# The peaks were measured on this device.
flops_profile() {
    local flops rate peak
    flops=$(figure efficiency step_flops) rate=$(figure efficiency flops_per_second) peak=$(figure efficiency gemm_flops_per_second)
    cat <<JSON
{
  "model_info": {
    "version": $(figure run version),
    "device": $(figure run device),
    "precision": $(figure run precision),
    "total_parameters": $(figure run parameters),
    "hidden_dim": $(figure run hidden_dim),
    "num_layers": $(figure run num_layers),
    "batch_size": $(figure run batch_size),
    "sequence_length": $(figure run seq_len),
    "num_steps": $(figure run steps)
  },
  "flops_analysis": {
    "total_flops": $(times "$flops" "$(figure run steps)"),
    "avg_flops_per_step": $flops,
    "flops_per_parameter": $(figure efficiency flops_per_parameter)
  },
  "performance_metrics": {
    "avg_time_per_step": $(figure step seconds),
    "throughput_samples_per_sec": $(figure step samples_per_second),
    "flops_per_sec": $rate
  },
  "efficiency_metrics": {
    "mfu_percent": $(figure efficiency mfu_percent),
    "achieved_flops_per_sec": $rate,
    "device_peak_flops": $peak,
    "device_peak_flops_datasheet": $(figure efficiency datasheet_flops_per_second),
    "efficiency_ratio": $(over "$rate" "$peak")
  }
}
JSON
}

computational_intensity() {
    cat <<JSON
{
  "arithmetic_intensity_flops_per_byte": $(figure efficiency intensity),
  "memory_bandwidth_used_gb_per_sec": $(times "$(figure efficiency bytes_per_second)" 1e-9),
  "memory_bandwidth_utilization_percent": $(figure efficiency bandwidth_percent),
  "device_memory_bandwidth_gb_per_sec": $(times "$(figure efficiency copy_bytes_per_second)" 1e-9),
  "memory_bound_vs_compute_bound": $(figure efficiency bound),
  "roofline_metrics": {
    "ridge_flops_per_byte": $(figure efficiency ridge),
    "peak_flops_per_sec": $(figure efficiency gemm_flops_per_second),
    "peak_bandwidth_bytes_per_sec": $(figure efficiency copy_bytes_per_second),
    "achieved_flops_per_sec": $(figure efficiency flops_per_second)
  }
}
JSON
}

# part FILE FROM TO: the lines of FILE from one heading up to the next, with headings one level lower
part() { sed -n "/^## $2/,/^## $3/p" "$1" | sed '/^## '"$3"'/d; s/^## /### /'; }

# Prints stdin as a code block.
# shellcheck disable=SC2016 # the quotes are Markdown's
block() { printf '```\n%s\n```\n\n' "$(cat)"; }

summary_report() {
    local tool
    printf '# Performance summary\n\n'
    printf 'Made by run_all_profilers.sh in %s; the pages with pictures are %s/report.html' "$(clock)" "${made[0]}"
    [ "$quick" = yes ] || printf ' and compare/compare.html'
    printf '.\n\n## Profile: %s\n\n' "${made[0]}"
    part "$first/summary.md" "The step" Phases
    part "$first/summary.md" Efficiency Memory
    [ "$quick" = no ] || return 0
    printf '## The versions side by side\n\n'
    sed '/^operators that changed/,$d' "$dir/compare/compare.txt" | block
    printf '## Whole steps\n\n'
    block <"$dir/bench.log"
    printf '## Other profilers\n\n'
    for tool in nsys ncu rocprofv3 rocprof-sys rocprof-compute; do
        if [ -s "$dir/$tool/report/summary.md" ]; then
            printf -- '- %s: %s\n' "$tool" "$(sed -n '/^A step takes\|^What was recorded takes/{p;q}' "$dir/$tool/report/summary.md")"
        else
            printf -- '- %s: n/a, see %s.log\n' "$tool" "$tool"
        fi
    done
}

workshop_names() {
    first=$dir/${made[0]}
    [ -s "$first/profile.json" ] || { failed+=(workshop-names); return; }
    flops_profile >"$dir/flops_profile.json"
    computational_intensity >"$dir/computational_intensity.json"
    summary_report >"$dir/performance_summary_report.md"
}

clock() { printf '%d min %02d s' $((SECONDS / 60)) $((SECONDS % 60)); }

# ---- the main program ----

made=(baseline fused flash)
[ "$quick" = no ] || made=("$chosen")
for version in "${made[@]}"; do
    step "$version" "$TT" profile "${options[@]}" --version "$version" --out "$dir/$version" --quiet
done

if [ "$quick" = no ]; then
    step compare "$TT" compare "${made[@]/#/$dir/}" --out "$dir/compare"
    step bench "$TT" bench --sizes "$sizes" ${bench[@]+"${bench[@]}"} --repeats "$steps" --profile-dir "$dir/bench"
    for tool in nsys ncu rocprofv3 rocprof-sys rocprof-compute; do
        words=("${options[@]}" --version "$chosen")
        [ $tool = ncu ] && words+=(--num-steps 1) # it runs every kernel several times
        step $tool "$TT" profile "${words[@]}" --with $tool --out "$dir/$tool"
        # The tool's log says what to import, quoted for a shell: "next tt report --import ...".
        next=()
        eval "next=($(sed -n 's/^next    tt //p' "$dir/$tool.log" | tail -1))"
        [ ${#next[@]} -eq 0 ] || step "$tool-report" "$TT" "${next[@]}"
    done
fi
[ "$workshop" = no ] || workshop_names

echo
echo "everything is in $dir, in $(clock); begin with $dir/${made[0]}/report.html"
[ ${#missing[@]} -eq 0 ] || echo "not installed here (the commands are in the logs): ${missing[*]}"
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
