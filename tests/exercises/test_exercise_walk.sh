#!/usr/bin/env bash
# Walks every exercise as a learner would: runs every command of its walkthrough, at tiny sizes, then has the worksheet checked:
# empty, with the right answers, and with wrong ones. Looks after every link of the course too.
set -u
. tests/lib.sh
needs_device
once "the optimised build walks the course; what the others do otherwise, the other tests see"
export OMP_NUM_THREADS=1 XDG_CACHE_HOME=$dir/cache TT_EXERCISES=$root/exercises PRESET=tiny STEPS=1 LONG=48 SMALL=2 LARGE=4 SEED=7 RANKS=2 LINK=0.05 REAL_TT=$TT
SUSPECT=$("$TT" exercise solution 9 --fault random:$SEED | cut -d: -f1)
export SUSPECT


# A tt that makes every model tiny, where the walkthrough does not say a size itself.
mkdir "$dir/bin"
cat >"$dir/bin/tt" <<'SHIM'
#!/usr/bin/env bash
extra=()
give() { case " ${args[*]} " in *" $1 "*) ;; *) extra+=("$1" "$2") ;; esac; }
args=("$@")
case "$1" in
train | profile | check | bench)
    give --hidden-dim 32; give --num-layers 2; give --num-heads 4; give --num-kv-heads 2; give --ffn-dim 48
    give --vocab-size 64; give --seq-len 16
    [[ " $* " == *" --global-batch "* ]] || give --batch-size 2 ;;
esac
case "$1" in profile | bench) give --warmup 1 ;; esac
"$REAL_TT" "$@" "${extra[@]}"
code=$?
# An empty worksheet is not solved, and a gate of a tiny model need not hold: neither ends the walk.
case "$1 ${2-} $code" in "exercise check 6" | "exercise roadmap 6") code=0 ;; esac
exit $code
SHIM
# The learner's editor, where a walkthrough asks to write something: what is written is the C of the worked solution.
cat >"$dir/bin/learner" <<'EDIT'
#!/usr/bin/env bash
number=$(sed -n 's/.*"exercise": *\([0-9]*\).*/\1/p' exercise.json)
"$REAL_TT" exercise solution "$number" | sed -n '/^```c$/,/^```$/p' | sed '/^```/d' >"$1"
grep -q . "$1"
EDIT
chmod +x "$dir/bin/tt" "$dir/bin/learner"
export PATH=$dir/bin:$PATH EDITOR=learner

commands_of() { awk '/^ *```sh$/ {on = 1; next} /^ *```/ {on = 0} on' "$1"; }

# id<TAB>mark<TAB>right answer, of the result that check left
results() {
    awk -F'": ' '/^      "id"/ {id = $2} /^      "mark"/ {mark = $2} /^      "right"/ {print id "\t" mark "\t" $2}' result.json |
        sed 's/",\{0,1\}\t/\t/g; s/"$//; s/\t"/\t/g; s/^"//; s/\\"/"/g'
}
set_answer() {
    awk -v key="  $1:" -v value="$2" 'index($0, key) == 1 {print key " \"" value "\""; next} {print}' worksheet.yaml >new.yaml && mv new.yaml worksheet.yaml
}
kind_of() { awk -v id="$1" '$1 == "-" && $2 == "id:" {on = $3 == id} on && $1 == "kind:" {print $2; exit}' "$2/check.yaml"; }

right_answer() {
    case $1 in
    text) echo "the figure behind it is ${2#a sentence with } in my run" ;;
    interval) echo "$2" | sed 's/between \(.*\) and /\1 to /' ;;
    target) echo "$2" | sed 's/ -> from \(.*\) to .*/ -> \1/' ;;
    choice) echo "${2%%/*}" ;; # several are right where the run does not decide
    range) case $2 in "from -inf to "*) echo "${2#from -inf to }" ;; *) echo "$2" | sed 's/from \(.*\) to .*/\1/' ;; esac ;;
    *) echo "$2" ;;
    esac
}
wrong_answer() {
    case $1 in
    number | range) echo 987654321.5 ;;
    interval) echo "987654321 to 987654322" ;;
    target) echo "987654321 -> 987654322" ;;
    text) echo "a long sentence that could have been written without any run at all" ;;
    truth) [ "$2" = true ] && echo false || echo true ;;
    *) echo zzz ;;
    esac
}

# fill right|wrong EXERCISE: as the last check revealed
fill() {
    local id mark right kind
    while IFS=$'\t' read -r id mark right; do
        kind=$(kind_of "$id" "$2")
        set_answer "$id" "$("$1"_answer "$kind" "$right")"
    done <revealed
}

# id<TAB>answer of what the worked solution states outright: "**same_accuracy**: true." or "**ideal** 2.5."
stated() {
    tr '\n' ' ' <"$1/solution.md" | grep -oE '\*\*[a-z0-9_]+\*\*:?( is)? +[A-Za-z0-9_().-]+[,;:. ]' |
        sed -nE 's/^\*\*([a-z0-9_]+)\*\*:?( is)? +([A-Za-z0-9_().-]*[A-Za-z0-9_)])[.]?[.,;:]? ?$/\1\t\3\t&/p' |
        awk -F'\t' '$3 !~ /[A-Za-z0-9_)] $/ {print $1 "\t" $2}'
}

# The learner who answers what the solution says: the check has to agree with it.
follow_solution() {
    local id value
    while IFS=$'\t' read -r id value; do
        cut -f 1 revealed | grep -qx "$id" || fail "the solution answers $id, which exercise $2 does not ask"
        set_answer "$id" "$value"
        echo "$id" >>"$dir/followed"
    done < <(stated "$1")
    "$TT" exercise check "$2" . >out 2>&1 || fail "the solution of exercise $2: $(grep -vE '^  (right|named|passed)' out)"
}

# The document of the exercise: nothing in it is marked when all is right, and a wrong answer is.
report_of() {
    "$TT" exercise report $1 . >out 2>&1 || fail "no report of exercise $1: $(cat out)"
    grep -qE '\*\((wrong|empty|unknown|refused)\)\*|\{' report.md && fail "the report of exercise $1: $(grep -E '\*\((wrong|empty|unknown|refused)\)\*|\{' report.md)"
    sed -n '/<main>/,/<\/main>/p' report.html >page
    grep -q '<table' page || fail "the page of the report of exercise $1 has no table"
    grep -E '&amp;(gt|lt|amp);|\*\*' page && fail "the page of the report of exercise $1 shows its markup"
    [ $1 = 3 ] || return
    for words in '^## 7 Validation and gates' '^\| gemm .*\| n/a \|' '^\| tokens a second \| [0-9.]+ -> [0-9.]+ ' '\*\*(first|later)\*\*: [a-z]'; do
        grep -qE "$words" report.md || fail "the report of exercise 3 lacks $words"
    done
    mv worksheet.yaml right.yaml
    sed 's/^  speedup_small: .*/  speedup_small: 77/; s/^  box_qkv: .*/  box_qkv: never/' right.yaml >worksheet.yaml
    "$TT" exercise report >out 2>&1 && fail "a report with wrong answers is one without"
    grep -q '77 \*(wrong)\*' report.md && grep -q 'qkv \*(wrong)\*' report.md || fail "the report does not mark what is wrong"
    mv right.yaml worksheet.yaml
}

walk() {
    local exercise=$1 n
    n=$(basename "$exercise") n=${n%%-*} n=$((10#$n))
    if grep -q -- --own-kernel "$exercise/README.md" && ! "$TT" --version | grep -q "(cpu)"; then
        echo "ok   exercise $n is for the CPU, and this tt is not"
        return
    fi
    if grep -q -- "bench .*--ranks" "$exercise/README.md" && ! { on_cpu && "$TT" info | grep -q "collectives: .*MPI"; }; then
        echo "ok   exercise $n is for ranks that MPI starts, and this tt has none"
        return
    fi
    mkdir "$dir/walk$n" && cd "$dir/walk$n" || return
    commands_of "$exercise/README.md" >commands.sh
    grep -q . commands.sh || fail "exercise $n has no commands"
    bash -eu commands.sh >log 2>&1 || { fail "a command of exercise $n: $(tail -n 6 log)"; return; }
    cd ex$n || { fail "exercise $n does not work in ex$n"; return; }
    "$TT" exercise check $n . --reveal >out 2>&1
    [ $? = 6 ] || { fail "the empty worksheet of exercise $n: $(tail -n 3 out)"; return; }
    grep -E '^run .* refused|^  refused' out && fail "exercise $n refuses the runs of its own walkthrough"
    grep -qE '^  (wrong|right|named)' out && fail "exercise $n marks an empty worksheet: $(grep -E '^  (wrong|right|named)' out)"
    results >revealed
    [ "$(wc -l <revealed)" -ge 5 ] || fail "exercise $n has only $(wc -l <revealed) questions"
    fill right "$exercise"
    "$TT" exercise check $n . >out 2>&1 || fail "right answers of exercise $n: $(grep -vE '^  (right|named|passed)' out)"
    grep -q ": all right" out || fail "right answers of exercise $n do not score full"
    grep -q "score 0 of .* right answers were shown" out || fail "exercise $n gives points for answers that were shown"
    report_of $n "$exercise"
    follow_solution "$exercise" $n
    fill wrong "$exercise"
    "$TT" exercise check $n . >out 2>&1
    [ $? = 6 ] || fail "wrong answers of exercise $n pass"
    grep -E '^  (right|named|empty)' out && fail "exercise $n takes a wrong answer"
    "$TT" exercise hint $n >/dev/null || fail "no hint in exercise $n"
    for name in $(sed -n 's/^## [0-9]* *//p' "$exercise/hints.md" | tr -d ,); do
        cut -f 1 revealed | grep -qx "$name" || grep -q "id: $name$" "$exercise/check.yaml" || fail "a hint of exercise $n is for $name, which it does not ask"
    done
    "$TT" exercise solution $n | grep -q . || fail "no solution of exercise $n"
    broken_links README.md | grep . && fail "links of the copy of exercise $n"
    passed "exercise $n"
}

for exercise in "$root"/exercises/[0-9]*; do
    [ -f "$exercise/check.yaml" ] || continue
    for file in README.md hints.md solution.md; do [ -s "$exercise/$file" ] || fail "$exercise has no $file"; done
    (walk "$exercise"; finish) || failures=$((failures + 1))
done
[ "$(grep -cE '^(same_accuracy|naive_same|flops_fewer|memory_not_larger|only_probabilities)$' "$dir/followed")" = 5 ] || fail "the solutions state too little"
cd "$root" || exit 1
for file in exercises/*.md exercises/*/*.md; do broken_links "$file"; done | grep . && fail "links of the course"
finish
