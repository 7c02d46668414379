#!/usr/bin/env bash
# The table of tests/backend/sanitize_gpu.sh says "clean" for clean runs only. A fake compute-sanitizer prints what the
# tools print, and the tests of a made-up build are scripts, so no GPU is needed.
set -uo pipefail
. tests/lib.sh
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)

mkdir -p "$dir/build" "$dir/bin" "$dir/a folder"
test_of() { # test_of NAME LINE...: a test of the build
    local name=$1
    shift
    printf '%s\n' '#!/bin/sh' "$@" >"$dir/build/$name"
    chmod +x "$dir/build/$name"
    printf 'add_test(%s "%s/build/%s" "two words")\nset_tests_properties(%s PROPERTIES LABELS gpu WORKING_DIRECTORY "%s/a folder")\n' \
        "$name" "$dir" "$name" "$name" "$dir" >>"$dir/build/CTestTestfile.cmake"
}
# shellcheck disable=SC2016 # the variables belong to the test scripts
test_of good '[ "$1" = "two words" ] && [ "${PWD##*/}" = "a folder" ] && [ "$TT_TEST_FEW" = 1 ] && echo "7 checks, 0 failed"'
test_of wrong 'echo "7 checks, 1 failed"; exit 1'
test_of crashes 'kill -SEGV $$'
test_of slow 'exec sleep 60'
test_of slow_and_bad 'exec sleep 60'
test_of bad 'echo "7 checks, 0 failed"'
test_of silent 'echo "7 checks, 0 failed"'
test_of skips 'echo "skipped: no GPU"; exit 77'

cat >"$dir/bin/compute-sanitizer" <<'FAKE'
#!/bin/bash
while [[ $1 == --* ]]; do
    case $1 in --help) exit 0 ;; --tool) tool=$2; shift ;; --port) shift ;; --log-file) log=$2; shift ;; esac
    shift
done
name=${1##*/}
echo "========= COMPUTE-SANITIZER" >"$log"
case $name in *bad) printf '========= Invalid __global__ read\n=========     at f()+0x10\n' >>"$log" ;; esac
"$@"
status=$?
[ "$name" != silent ] || exit $status
errors=0
if [ "$name" = bad ]; then errors=2 status=99; fi
case $tool in
racecheck) echo "========= RACECHECK SUMMARY: $errors hazards displayed ($errors errors, 0 warnings)" ;;
*) echo "========= ERROR SUMMARY: $errors errors" ;;
esac >>"$log"
exit $status
FAKE
chmod +x "$dir/bin/compute-sanitizer"

run() { PATH=$dir/bin:$PATH LIMIT=1 JOBS=8 bash "$here/sanitize_gpu.sh" "$dir/build" "$dir/out" >"$dir/table" 2>&1; }
row() { # row NAME WORD: checks that the table has this word for a test under both tools
    grep -qE "^\| $1 \| $2, [0-9]+ s \| $2, [0-9]+ s \|\$" "$dir/table" || fail "$1 is not '$2': $(grep "| $1 " "$dir/table")"
}
TOOLS='racecheck memcheck' run
status=$?
[ $status = 1 ] || fail "with errors it exits $status: $(cat "$dir/table")"
row good clean
row wrong FAILED
row crashes FAILED
row slow 'timed out'
row slow_and_bad errors
row bad 'errors \(2\)'
row silent 'no word'
row skips skipped
grep -q '^16 runs: 2 clean, 4 with errors, 4 failed, 2 timed out after 1 s, 2 without the tool.s word, 2 skipped' "$dir/table" ||
    fail "the last line: $(tail -n 1 "$dir/table")"

TESTS='good|skips' run
status=$?
[ $status = 0 ] || fail "all clean, yet it exits $status"
grep -q '^| test | racecheck | initcheck | memcheck | synccheck |$' "$dir/table" || fail "not all four tools"
TESTS='^skips$' run
status=$?
[ $status = 77 ] || fail "all skipped, and it exits $status"
TESTS='^slow$' TOOLS=memcheck run && fail "a run that timed out counts as a success"
TOOLS=memchekc run && fail "it takes a tool that there is not"
rm "$dir/build/good"
run && fail "it goes on without a test that was not built"
grep -q 'good is not built' "$dir/table" || fail "it does not name what is not built: $(cat "$dir/table")"

passed "clean, errors, failed, timed out, silent and skipped are told apart"
finish
