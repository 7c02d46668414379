#!/usr/bin/env bash
# tests/lib.sh itself: failures are counted, the test goes on and ends with 1; a skipped test ends with 77; nothing is
# left behind.
set -u
. tests/lib.sh

ends() { # ends CODE "last line" SCRIPT: runs a test of these lines
    local code=$1 line=$2 got
    checks=$((checks + 1))
    bash -u -c ". tests/lib.sh; echo \"\$dir\" >'$dir/its'; $3" >"$dir/out" 2>"$dir/err"
    got=$?
    [ $got = "$code" ] || fail "exit $got, not $code: $3"
    [ "$(tail -n 1 "$dir/out")" = "$line" ] || fail "the last line is not \"$line\": $3"
    [ ! -e "$(cat "$dir/its")" ] || fail "a folder is left: $3"
}
ends 0 "ok   all" 'passed all; finish'
ends 1 "still here" 'fail something; echo still here; passed all; finish'
ends 1 "FAIL something" 'for i in $(seq 256); do fail something; done; finish'
ends 1 "FAIL something" 'die something; echo still here'
ends 77 "skipped: no reason" 'skip no reason; echo still here'
ends 1 "2 checks, 1 failed" 'check yes true; check no false; finish'
ends 1 "     out: more" 'echo more >"$dir/out"; fail something; finish'
ends 0 "done" 'expect 3 word sh -c "echo a word >&2; exit 3"; echo done; finish'
ends 1 "FAIL exit 0, not 3: true" 'expect 3 word true; finish'
ends 1 'FAIL no "word" from: true' 'expect 0 word true; finish'
ends 1 'FAIL no "a+b" in the output' ': >"$dir/out"; shows a+b; finish'
ends 1 "1 checks, 1 failed" 'says /dev/null text; finish'
ends 77 "skipped: no device for this build of tt" 'TT=tt_without_device; tt_without_device() { return 3; }; needs_device'
ends 0 "done" 'mkdir "$dir/locked" && touch "$dir/locked/file" && chmod 500 "$dir/locked"; sleep 60 & echo done; finish'
finish
