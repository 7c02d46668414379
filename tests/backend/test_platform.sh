#!/usr/bin/env bash
# The neutral names of the GPU kernels. backend/gpu/platform.h lists them, every vendor defines all of them, and the
# kernels use no other names that the vendors define.
set -u
failed=0
fail() {
    failed=1
    printf 'FAIL %s\n' "$*"
}
bare() { cat "$@" | sed -z 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g; s|//[^\n]*||g; s|"[^"\n]*"||g'; } # without comments and strings
words() { grep -oE '\b(gpu|GPU)_[A-Za-z0-9_]+' | sort -u; }
lacks() { comm -23 <(printf '%s\n' "$1") <(printf '%s\n' "$2") | grep .; } # lines of the first that the second lacks

list=$(sed -n '1,/^#ifndef/p' backend/gpu/platform.h | grep '^ \* ' | sed 's/gpu_\(platform\|mma\|launcher\)\.h//g')
must=$(sed '/---- optional ----/,$d' <<<"$list" | words)
listed=$(words <<<"$list")
[ "$(wc -l <<<"$must")" -gt 80 ] || fail "the list of neutral names is not where it was"

common=
for vendor in backend/cuda backend/hip tests/backend/simt; do
    given=$(bare "$vendor"/{gpu_platform,gpu_mma,gpu_launcher,numbers}.h 2>/dev/null | words)
    missing=$(lacks "$must" "$given") && fail "$vendor does not give:" $missing
    [ $vendor = tests/backend/simt ] || common=$(if [ -n "$common" ]; then comm -12 <(printf '%s\n' "$common") <(printf '%s\n' "$given"); else echo "$given"; fi)
done

# names that kernels use and both vendors define; the types of a launch are backend/gpu's own
used=$(bare $(ls backend/gpu/*.cu backend/gpu/*.h | grep -vE '/(host|gemm|launch|platform)\.h$') | words)
ours=$(bare backend/gpu/launch.h | words)
silent=$(comm -12 <(printf '%s\n' "$used") <(printf '%s\n' "$common") | comm -23 - <(printf '%s\n' "$listed" "$ours" | sort -u)) || true
[ -z "$silent" ] || fail "backend/gpu/platform.h does not list:" $silent

[ "$failed" = 0 ] && echo "ok   $(wc -l <<<"$must") neutral names"
exit "$failed"
