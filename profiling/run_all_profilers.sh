#!/usr/bin/env bash
# Every profile there is of one configuration, in one folder:
#
#     profiling/run_all_profilers.sh --batch-size 8 --seq-len 128 --num-steps 10 --profile-dir profiles [-- more options]
#
#   profile/            tt profile of the chosen version: report.html, trace.json, ...
#   baseline/ ...       the same of the other versions, and compare/ with all of them side by side
#   bench/              whole steps, timed
#   nsys/ ncu/ ...      what the vendor's tools recorded, where they are installed; the commands to run where not
#
# Words after -- go to tt profile as they are (--preset small, --precision bf16). The program is $TT, else build/tt.
# A step that fails is named at the end and fails the script; a vendor's tool that is not installed does not.
set -u

usage() {
    sed -n '2,13s/^# \{0,1\}//p' "$0"
    exit "$1"
}

batch='' seq='' steps=10 dir=profiles quick=no
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
    -h | --help) usage 0 ;;
    --) shift; break ;;
    *) echo "there is no option $1" >&2; usage 2 >&2 ;;
    esac
done

here=$(cd "$(dirname "$0")/.." && pwd)
TT=${TT:-$here/build/tt}
[ -x "$TT" ] || { echo "$TT is not there; build it, or say where it is: TT=path $0" >&2; exit 2; }

options=("$@" --num-steps "$steps")
[ -n "$batch" ] && options+=(--batch-size "$batch")
[ -n "$seq" ] && options+=(--seq-len "$seq")
failed=() missing=()
mkdir -p "$dir" || exit 1

# step NAME COMMAND...: runs it; its words go to DIR/NAME.log as well.
step() {
    local name=$1 code
    shift
    echo "== $name"
    "$@" 2>&1 | tee "$dir/$name.log"
    code=${PIPESTATUS[0]}
    [ "$code" -eq 4 ] && missing+=("$name")
    [ "$code" -eq 0 ] || [ "$code" -eq 4 ] || failed+=("$name")
}

step profile "$TT" profile "${options[@]}" --out "$dir/profile" --quiet
if [ "$quick" = no ]; then
    versions=()
    for version in baseline fused flash; do
        step "$version" "$TT" profile "${options[@]}" --version $version --out "$dir/$version" --quiet
        versions+=("$dir/$version")
    done
    step compare "$TT" compare "${versions[@]}" --out "$dir/compare"

    # bench takes sizes instead of a preset
    bench=() sizes=default
    set -- "$@"
    while [ $# -gt 0 ]; do
        case $1 in
        --preset) sizes=$2; shift ;;
        --preset=*) sizes=${1#*=} ;;
        --version | --warmup) shift ;;
        --version=* | --warmup=*) ;;
        *) bench+=("$1") ;;
        esac
        shift
    done
    [ -n "$batch" ] && bench+=(--batch-size "$batch")
    [ -n "$seq" ] && bench+=(--seq-len "$seq")
    step bench "$TT" bench --sizes "$sizes" ${bench[@]+"${bench[@]}"} --repeats "$steps" --profile-dir "$dir/bench"

    for tool in nsys ncu rocprofv3 rocprof-sys rocprof-compute; do
        words=("${options[@]}")
        [ $tool = ncu ] && words+=(--num-steps 1) # it runs every kernel several times
        step $tool "$TT" profile "${words[@]}" --with $tool --out "$dir/$tool"
        # What to import it says itself, in words for a shell: "next    tt report --import ...".
        eval "next=($(sed -n 's/^next    tt //p' "$dir/$tool.log" | tail -1))"
        [ ${#next[@]} -eq 0 ] || step "$tool-report" "$TT" "${next[@]}"
    done
fi

echo
echo "everything is in $dir; begin with $dir/profile/report.html"
[ ${#missing[@]} -eq 0 ] || echo "not installed here (the commands are in the logs): ${missing[*]}"
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
