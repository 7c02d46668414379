#!/usr/bin/env bash
# Two tt at once that write to the same name. One of them succeeds with complete output. The other says in one line that
# it did not write, with exit code 1 (2 if the first had finished before it looked), or waits and replaces the whole
# output.
set -u
. tests/lib.sh
needs_device
shown="a.err b.err err"
cd "$dir" || exit 1
export OMP_NUM_THREADS=1 XDG_CACHE_HOME=$dir/cache TT_EXERCISES=$root/exercises
shape="--hidden-dim 32 --num-layers 2 --num-heads 4 --num-kv-heads 2 --ffn-dim 48 --seq-len 16 --batch-size 4"
tiny="$shape --threads 1"

# both "arguments of one" "arguments of the other": runs both at once; exit codes in $a and $b
both() {
    "$TT" $1 >a.out 2>a.err &
    local one=$!
    "$TT" $2 >b.out 2>b.err &
    wait $one
    a=$?
    wait $!
    b=$?
}
# one_wins WHAT: one succeeded, and the other said why not in one line; the winner's letter in $won
one_wins() {
    local lost=b
    won=a
    [ "$a" = 0 ] || { won=b lost=a; }
    case "$a$b" in 01 | 02 | 10 | 20) ;; *) fail "$1: exit codes $a and $b" ;; esac
    [ "$(wc -l <$lost.err)" = 1 ] || fail "$1: the loser wrote $(wc -l <$lost.err) lines"
}
same() { diff -r -x exercise.json "$1" "$2" >difference || fail "$3: $(head -n 2 difference)"; }
nothing_left() {
    local left
    left=$(find . -name '*.tmp*' -o -name '*.new')
    [ -z "$left" ] || fail "$1: left behind: $left"
}

"$TT" train $tiny --val-batches 1 --num-steps 4 --out run >out 2>err || fail "a run to begin with"
"$TT" export --checkpoint run ref-export >out 2>err || fail "export"
"$TT" import ref-export --out ref-import >out 2>err || fail "import"
seq 1 4000 | tr '\n' ' ' >a.txt
seq 4000 -3 1 | tr '\n' ' ' >b.txt
for side in a b; do "$TT" data $side.txt --tokenizer chars --shard-tokens 2000 --out ref-data-$side >out 2>err || fail "data"; done
for side in 1 2; do "$TT" exercise start $side ref-exercise-$side >out 2>err || fail "exercise start"; done
"$TT" eval run --logits ref.logits >out 2>err || fail "eval --logits"
"$TT" check grads $tiny --out ref.grads >out 2>err || fail "check grads"
[ $failures = 0 ] || exit 1

# ---- one of two writes ----
for i in $(seq 15); do
    both "export --checkpoint run export-$i" "export --checkpoint run export-$i"
    one_wins "export $i"
    same ref-export export-$i "export $i"

    both "import ref-export --out import-$i" "import ref-export --out import-$i"
    one_wins "import $i"
    same ref-import import-$i "import $i"

    both "data a.txt --tokenizer chars --shard-tokens 2000 --out data-$i" "data b.txt --tokenizer chars --shard-tokens 2000 --out data-$i"
    one_wins "data $i"
    same ref-data-$won data-$i "data $i"

    both "exercise start 1 exercise-$i" "exercise start 2 exercise-$i"
    one_wins "exercise start $i"
    [ $won = a ] && same ref-exercise-1 exercise-$i "exercise start $i"
    [ $won = b ] && same ref-exercise-2 exercise-$i "exercise start $i"

    both "eval run --logits $i.logits" "eval run --logits $i.logits"
    one_wins "eval --logits $i"
    same ref.logits $i.logits "eval --logits $i"
done
for i in 1 2 3; do
    both "check grads $tiny --out $i.grads" "check grads $tiny --out $i.grads"
    one_wins "check grads $i"
    same ref.grads $i.grads "check grads $i"
done
nothing_left "one of two"
passed "export, import, data, exercise start, eval --logits, check grads: one of two writes, the other says so"

steps=20
profile="profile $tiny --num-steps $steps --warmup 1"
for i in 1 2; do
    while both "$profile --version baseline --out profile" "$profile --version flash --out profile"; [ "$a$b$((steps < 2000))" = 001 ]; do
        steps=$((steps * 5)) # one ended before the other began
        profile="profile $tiny --num-steps $steps --warmup 1"
    done
    one_wins "profile $i"
    grep -q "another tt is writing there" a.err b.err || fail "profile $i: the loser does not say why"
    version=$(sed -n 's/.*"version": "\([a-z]*\)".*/\1/p' profile/profile.json | head -n 1)
    for file in report.html summary.md memory.json roofline.json; do
        grep -q "$version" profile/$file || fail "profile $i: $file is not of the $version profile"
    done
    "$TT" $profile --version $version --out alone >out 2>err || fail "profile alone"
    [ "$(cut -d, -f1-6 profile/operators.csv | sort)" = "$(cut -d, -f1-6 alone/operators.csv | sort)" ] ||
        fail "profile $i: operators.csv is not of the $version profile"
done
nothing_left "profile"
passed "profile: one of two measures, the other says so"

# ---- one after the other ----
"$TT" $profile --version baseline --out one >out 2>err && "$TT" $profile --version flash --out two >out 2>err || fail "profiles to compare"
"$TT" compare one two --out ref-compare-a >out 2>err && "$TT" compare two one --out ref-compare-b >out 2>err || fail "compare"
[ $failures = 0 ] || exit 1
for i in $(seq 15); do
    both "compare one two --out compared" "compare two one --out compared"
    [ "$a$b" = 00 ] || fail "compare $i: exit codes $a and $b"
    if cmp -s compared/compare.txt ref-compare-a/compare.txt; then same ref-compare-a compared "compare $i"; else same ref-compare-b compared "compare $i"; fi
    both "report one" "report one"
    [ "$a$b" = 00 ] || fail "report $i: exit codes $a and $b"
    tail -n 1 one/report.html | grep -q "</html>" || fail "report $i: half of report.html"
done
bench="bench $tiny --sizes tiny --versions flash --repeats 1 --warmup 1 --profile-dir bench"
both "$bench" "$bench"
[ "$a$b" = 00 ] && [ "$(tail -n 1 bench/bench.json)" = "}" ] || fail "bench: exit codes $a and $b"
nothing_left "one after the other"
passed "compare, report, bench: one after the other, each as a whole"

# ---- a process that keeps the lock; one that was killed ----
if command -v flock >/dev/null; then
    hold() { # hold FOLDER SECONDS
        mkdir -p "$1"
        flock -F "$1" sleep "$2" &
        while flock -n "$1" true; do :; done
    }
    refused() { # refused WORDS...
        "$TT" "$@" >out 2>err
        [ $? = 1 ] && grep -q "another tt is writing there" err && [ "$(wc -l <err)" = 1 ] || fail "not refused: $*"
    }
    hold held 100
    holder=$!
    refused import ref-export --out held
    refused data a.txt --tokenizer chars --out held
    refused exercise start 1 held
    refused train $tiny --num-steps 2 --out held
    refused profile $tiny --with nsys --out held
    refused profile $tiny --num-steps 1 --warmup 1 --out held
    [ -z "$(ls held)" ] || fail "those that were refused wrote $(ls held)"
    refused compare one two --out held # after waiting some seconds
    kill -9 $holder
    { wait $holder; } 2>/dev/null
    "$TT" import ref-export --out held >out 2>err || fail "the lock outlives its holder"
    same ref-import held "import after the holder was killed"
    hold waited 1
    "$TT" compare one two --out waited >out 2>err || fail "compare does not wait"
    same ref-compare-a waited "compare after waiting"
    passed "a folder that somebody holds"
fi
finish
