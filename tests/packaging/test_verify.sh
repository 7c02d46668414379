#!/usr/bin/env bash
# Tests the output of ./run verify, with a tt and tests that print where and for whom they run: no name of the machine
# or a user, and none of their folders, is in any file or in the archive.
set -uo pipefail
. tests/lib.sh
once "verify does not depend on how tt was built"
tar --version 2>/dev/null | grep -q GNU || skip "there is no GNU tar"
complains() { grep -qF -- "$1" "$dir/err"; }
absent() { # absent NAME [OPTION]: checks that no file in the folder contains it; OPTION is for grep
    local found
    found=$(cd "$out" && grep -rnF ${2:+"$2"} -- "$1" . | head -n 5)
    [ -z "$found" ] || { printf '    %s\n' "$found"; return 1; }
}

# ---- a checkout outside HOME, reached through a link, with its own user and temporary folder ----
project=$dir/projects/zebra42/tt
export HOME=$dir/homes/quagga7 USER=quagga7 LOGNAME=quagga7 TMPDIR=$dir/node-tmp SLURMD_NODENAME=okapi0815
mkdir -p "$project/tests/packaging" "$HOME" "$TMPDIR"
ln -s "$dir/projects" "$dir/linked"
cp "$root"/tests/packaging/{verify,scrub}.sh "$project/tests/packaging/"
cat >"$project/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.22)
project(small LANGUAGES NONE)
include(CTest)
foreach(name first second)
  add_test(NAME ${name} COMMAND sh -c "echo in $PWD and $HOME/x, $TMPDIR/y, by $USER@$(uname -n) on okapi0815.cluster")
endforeach()
add_test(NAME fails COMMAND sh -c "echo $HOME, $USER; exit 1")
set_tests_properties(first second fails PROPERTIES LABELS gpu)
TEXT
build=$dir/linked/zebra42/tt/build/verify-cpu
cmake -S "$project" -B "$build" >"$dir/configure.log" 2>&1 || { cat "$dir/configure.log"; exit 1; }
cp "$dir/configure.log" "$build/"
cat >"$build/tt" <<'TEXT'
#!/bin/sh
echo "$0 in $HOME by $USER on $(uname -n)" >&2
case $1 in
--version) echo "tt 0 (cuda)" ;;
info) printf 'device  cuda: Fake GPU-0123456789abcdef of quagga7\nbuild   x precisions fp32 tf32 bf16\n\nrest\n' ;;
bench)
    printf '%s\n' "$*" >>"$TMPDIR/words"
    printf '{\n"size": "%s",\n"version": "flash",\n"median_ms": 1.5,\n"tokens_per_second": 10,\n"mfu_percent": 5\n}\n' "$3"
    ;;
esac
TEXT
chmod +x "$build/tt"

verify() { # verify OUT [--full]
    out=$dir/linked/zebra42/tt/build/$1
    shift
    rm -f "$TMPDIR/words"
    bash "$dir/linked/zebra42/tt/tests/packaging/verify.sh" "$build" "$out" "$@" >"$dir/out" 2>"$dir/err"
    status=$?
}
timed() { grep -cE -- "$1" "$TMPDIR/words"; }

verify quick
check "a failing test exits 1" test $status = 1
check "the host is nowhere" absent "$(uname -n)" -w # as a whole word, since it may be part of another
for name in zebra42 quagga7 okapi0815 node-tmp "$dir" 0123456789abcdef; do check "$name is nowhere" absent "$name"; done
for file in report.md tests.log tests.xml info.txt versions.txt configure.log bench-small-bf16.json bench-small-bf16.err; do
    check "$file is there" test -s "$out/$file"
done
check "the report is whole" grep -q '^| bf16 | gpt2 | flash | 1.50 | 10 | 5.0 |$' "$out/report.md"
check "tests are in the report" grep -q '^| fails | Failed | ' "$out/report.md"
check "the archive has no owner" test -z "$(tar -tvzf "$out.tar.gz" | grep -v ' 0/0 ')"
check "and all files" test "$(tar -tzf "$out.tar.gz" | grep -vc '/$')" = "$(find "$out" -type f | wc -l)"
check "it says what it will do" complains '3 tests, then 8 timings'
check "it shows each test" complains 'test 2/3 second: Passed'
check "and each timing" complains 'timing 8/8 gpt2 bf16'
check "large models are timed in one precision" test "$(timed 'sizes (medium|gpt2) ') $(timed 'sizes (medium|gpt2) --precision bf16')" = "2 2"
check "small ones in each" test "$(timed 'sizes (tiny|small) ')" = 6

verify full --full
check "--full times everything in each precision" test "$(timed sizes)" = 12

sed -i 's/^info) .*/info) exit 3 ;;/' "$build/tt"
verify none
check "no GPU exits 3" test $status = 3
check "and names nothing either" absent quagga7

finish
