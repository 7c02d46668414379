#!/usr/bin/env bash
# tt exercise as a learner and an instructor type it: right answers, wrong ones, and what is refused. The right answers are read
# from the files a learner reads, not from the checker.
set -u
. tests/lib.sh
needs_device
export LC_ALL=C OMP_NUM_THREADS=1 XDG_CACHE_HOME=$dir/cache TT_EXERCISES=$PWD/exercises
cd "$dir" || exit 1
tiny="--hidden-dim 32 --num-layers 2 --num-heads 4 --num-kv-heads 2 --ffn-dim 48 --vocab-size 50 --seq-len 16 --batch-size 4"
quick="--num-steps 2 --warmup 1 --quiet"
eight="--version baseline --batch-size 8" # as the commands of exercise 1 have it

marked() { grep -qE "^  $1 +$2 " out || fail "$2 is not $1"; }
answer() { sed -i "s|^  $2: .*|  $2: $3|" "$1/worksheet.yaml"; }

"$TT" profile $tiny $quick --out nothing >out 2>err || fail "profile"

expect 0 "Baseline analysis" "$TT" exercise
expect 0 "questions" "$TT" exercise list
expect 2 "did you mean check" "$TT" exercise chek 1 one
expect 2 "no exercise 99" "$TT" exercise start 99 one
expect 2 "no exercise 99" "$TT" exercise hint 99
expect 2 "or the folder of one" "$TT" exercise hint x
expect 2 "a number and a new folder" "$TT" exercise start 1
expect 2 "nothing is not the folder of an exercise" "$TT" exercise check 1 nothing --json
[ -e nothing/result.json ] && fail "a result in a folder of no exercise"
expect 2 "is no folder" "$TT" exercise check 1 nobody
expect 2 "CHECKS.md" env TT_EXERCISES=/nowhere "$TT" exercise list
expect 0 "worksheet.yaml" "$TT" exercise start 1 ada
[ "$(ls ada | tr '\n' ' ')" = "README.md exercise.json step.svg worksheet.yaml " ] || fail "start left: $(ls ada)"
for exercise in "$TT_EXERCISES"/[0-9]*; do # the worksheet that start writes is one that check reads
    n=${exercise##*/} n=$((10#${n%%-*}))
    [ -e "$exercise/worksheet.yaml" ] && fail "exercise $n has a worksheet beside the one that start writes"
    expect 0 "worksheet.yaml" "$TT" exercise start $n "fresh$n"
    expect 6 "score 0 of" "$TT" exercise check $n "fresh$n"
    grep -qE '^  (right|wrong|unknown)' out && fail "something is answered in the fresh folder of exercise $n"
done
expect 2 "not empty" "$TT" exercise start 1 ada
expect 0 "hint 1" "$TT" exercise hint 1
expect 0 "hint 2" "$TT" exercise hint 1 2
expect 2 "has the hints 1 to" "$TT" exercise hint 1 99
expect 0 "A million tokens are 1e6" "$TT" exercise hint 1 million_s
expect 0 "third paragraph" "$TT" exercise hint 1 parameters
expect 2 "did you mean million_s?" "$TT" exercise hint 1 million_ms
cd ada || exit 1
expect 0 "hint 5 million_s, per_kernel_us, ideal_ms" "$TT" exercise hint million_s
rm -f out err
cd .. || exit 1
expect 0 "solution" "$TT" exercise solution 1
expect 2 "of exercise 1, not of 2" "$TT" exercise check 2 ada
passed "list, start, hint, solution"

expect 6 "refused: it is not there" "$TT" exercise check 1 ada
marked refused step_ms
cp -r nothing ada/baseline
expect 6 'asks for "baseline"' "$TT" exercise check 1 ada
rm -r ada/baseline
for run in again double; do
    "$TT" profile $tiny $quick $eight $([ $run = double ] && echo --batch-size 16) --out ada/$run >out 2>err || fail "no profile $run"
done
"$TT" profile $tiny $quick --version baseline --out ada/baseline >out 2>err || fail "no profile"
expect 6 'its run.batch_size is "4", and the exercise asks for "8"' "$TT" exercise check 1 ada
"$TT" profile $tiny $quick $eight --out ada/baseline >out 2>err || fail "no profile"
seal=$(sed -n 's/^saved .*seal //p' out)
[ ${#seal} = 8 ] || fail "tt profile printed no seal"
expect 2 "but the one above it is" "$TT" exercise check 1 ada/baseline
expect 6 "score 0 of" "$TT" exercise check 1 ada
marked empty step_ms

# what a learner reads
summary=ada/baseline/summary.md csv=ada/baseline/operators.csv
sed -i 's/^learner: ""/learner: "Ada"/' ada/worksheet.yaml
answer ada baseline "\"$seal\""
answer ada parameters "$(sed -n 's/.* vocabulary [0-9]*: \([0-9]*\) parameters.*/\1/p' $summary)"
answer ada chance_loss "$(awk 'BEGIN {printf "%.3f", log(50)}')"
answer ada starts_at_chance true
answer ada step_ms "\"$(sed -n 's/^| step, undisturbed .* | \([0-9.]*\) ms.*/\1/p' $summary) ms\""
answer ada million_s "$(sed -n 's/^| samples.s, tokens.s | [0-9.]*, \([0-9]*\) |/\1/p' $summary | awk '{print 1e6 / $1}')"
answer ada kernels "$(sed -n 's/^| kernels per step | \([0-9]*\) |/\1/p' $summary)"
answer ada largest_group "$(awk -F, '$1 == "group" && $9 > best {best = $9; name = $2} END {print name}' $csv)"
answer ada top_groups "[$(awk -F, '$1 == "group" {print $9, $2}' $csv | sort -rg | awk 'NR < 4 {printf "%s%s", sep, $2; sep = ", "}')]"
answer ada gemm_percent "$(awk -F, '$2 == "gemm" {s += $9} END {print s}' $csv)"
answer ada mostly_gemm "$(awk -F, '$2 == "gemm" {s += $9} END {print (s < 50) ? "true" : "false"}' $csv)"
answer ada first_idea "\"all of the $(sed -n 's/^| kernels per step | \([0-9]*\) |/\1/p' $summary) kernels, since they are many\""
answer ada disturbed mean
expect 6 "Ada" "$TT" exercise check 1 ada
for question in parameters chance_loss starts_at_chance step_ms million_s kernels disturbed largest_group top_groups gemm_percent mostly_gemm; do
    marked right $question
done
marked named first_idea
marked empty same_loss
grep -q "right  *million_s  *[0-9]* tokens a second is the figure to compare versions by" out || fail "a right answer does not say what it means"
grep -q "right  *parameters  *Weights, gradients and two moments" out || fail "no meaning of the parameters"
grep -q '"mark": "right"' ada/result.json || fail "result.json has no marks"
passed "right answers"

cp -r ada wrong
answer wrong kernels 7
answer wrong step_ms 1e9
answer wrong million_s lots
answer wrong largest_group nobody
answer wrong same_loss false
answer wrong top_groups "[a, b, c]"
answer wrong first_idea '"it takes a long sentence without any figure to say that everything is slow"'
expect 6 "too small for this run" "$TT" exercise check 1 wrong
for question in kernels step_ms same_loss; do marked wrong $question; done
for question in largest_group top_groups; do marked unknown $question; done
marked unknown million_s
marked unknown first_idea
grep -q "first_idea  *it holds none of the figures" out || fail "a sentence without a figure is taken"
# likely slips are named: swapped answers, another run, a factor, another base, the mean
cp ada/worksheet.yaml slips.yaml
answer wrong parameters "$(sed -n 's/^| kernels per step | \([0-9]*\) |/\1/p' $summary)"
answer wrong kernels "$(sed -n 's/.* vocabulary [0-9]*: \([0-9]*\) parameters.*/\1/p' $summary)"
answer wrong chance_loss "$(awk 'BEGIN {printf "%.4f", log(50) / log(10)}')"
answer wrong gemm_ratio 4
answer wrong million_s "$(sed -n 's/^| samples.s, tokens.s | [0-9.]*, \([0-9]*\) |/\1/p' $summary)"
expect 6 ": this and kernels are swapped" "$TT" exercise check 1 wrong
for words in 'kernels .*: this and parameters are swapped' 'chance_loss .*logarithm to base 10' 'gemm_ratio .*twice what is wanted' 'million_s .*tokens in a second'; do
    grep -qE "^  wrong +$words" out || fail "not named: $words"
done
answer wrong parameters "$(sed -n 's/.* vocabulary [0-9]*: \([0-9]*\) parameters.*/\1/p' $summary)"
answer wrong kernels 7
answer wrong million_s lots
"$TT" exercise check 1 wrong >out 2>err
marked right parameters
cp -r wrong shown
expect 6 "right: " "$TT" exercise check 1 shown --reveal
grep -q '"revealed": true' shown/result.json || fail "the result does not say what was shown"
"$TT" exercise check 1 wrong 2>/dev/null | grep -q "right: " && fail "the right answers are shown without --reveal"
grep -q '"revealed": true' wrong/result.json && fail "something counts as shown that was not"
answer shown kernels "$(sed -n 's/^| kernels per step | \([0-9]*\) |/\1/p' $summary)"
expect 6 "after it was shown, without points" "$TT" exercise check 1 shown
grep -q "right answers were shown, which earn no points" out || fail "the score does not say what was shown"
grep -A 3 '"id": "kernels"' shown/result.json | grep -q '"points": 0' || fail "an answer that was shown earns points"
grep -A 3 '"id": "parameters"' shown/result.json | grep -q '"points": 1' || fail "an answer that was found earns nothing"
expect 0 "exercise 1" "$TT" exercise class shown --csv shown.csv
grep -q ",1,kernels,right,0," shown.csv || fail "the class gives points for what was shown: $(grep kernels shown.csv)"
expect 6 '"mark": "wrong"' "$TT" exercise check 1 wrong --json
answer wrong kernels "7 # twice"
sed -i 's/^  kernels:/  kernles:/' wrong/worksheet.yaml
expect 2 "no question \"kernles\"; did you mean kernels?" "$TT" exercise check 1 wrong
sed -i 's/^  kernles:/  kernels:/' wrong/worksheet.yaml
echo "kernels: 7" >>wrong/worksheet.yaml
expect 2 '"kernels" is outside of answers:' "$TT" exercise check 1 wrong
sed 's/^answers:/answer:/' ada/worksheet.yaml >wrong/worksheet.yaml
expect 2 '"answer" does not belong in a worksheet; did you mean answers?' "$TT" exercise check 1 wrong
expect 2 "nope is neither a folder here nor the number of an exercise" "$TT" exercise check nope
printf 'answers: [\n' >wrong/worksheet.yaml
expect 2 "worksheet.yaml: line" "$TT" exercise check 1 wrong
rm wrong/worksheet.yaml
expect 2 "worksheet.yaml" "$TT" exercise check 1 wrong
passed "wrong answers"

# what worksheets look like in real life: written on Windows, with units, without quotes, with a note behind
cp -r ada real
summary=ada/baseline/summary.md
ms=$(sed -n 's/^| step, undisturbed .* | \([0-9.]*\) ms.*/\1/p' $summary)
kernels=$(sed -n 's/^| kernels per step | \([0-9]*\) |/\1/p' $summary)
answer real step_ms "${ms}ms"
answer real kernels "$kernels # counted"
answer real mostly_gemm "$(awk -F, '$2 == "gemm" {s += $9} END {print (s < 50) ? "True" : "False"}' $csv)"
answer real largest_group "\"$(awk -F, '$1 == "group" && $9 > best {best = $9; name = $2} END {print toupper(name)}' $csv) \""
sed -i 's/$/\r/; 1s/^/\xef\xbb\xbf/' real/worksheet.yaml
expect 6 "Ada" "$TT" exercise check 1 real
for question in parameters step_ms kernels largest_group mostly_gemm gemm_percent; do marked right $question; done
cp ada/worksheet.yaml real/worksheet.yaml
answer real step_ms "1,250"
answer real kernels "1,000"
answer real gemm_percent "40 ms"
expect 6 "if the comma marks thousands" "$TT" exercise check 1 real
for question in step_ms kernels gemm_percent; do marked unknown $question; done
# what is no YAML is marked, and the rest is checked: a colon in a sentence, quotes, two lines, another encoding
cp ada/worksheet.yaml real/worksheet.yaml
answer real first_idea "all $kernels kernels: \"each\" is short # I think"
answer real mostly_gemm 'perhaps: yes'
answer real starts_at_chance yes
answer real step_ms '"12.5'
answer real top_groups "[ffn, norm"
answer real disturbed '>\n    mean\n    : or so'
answer real chance_loss "$(printf '3.9 \351')"
expect 6 "first_idea             write it in quotes: \"all $kernels kernels: \\\"each\\\" is short" "$TT" exercise check 1 real
for words in 'mostly_gemm +"perhaps: yes" is none of: true, false$' 'step_ms +it cannot be read: the quote " is not closed in this line' \
    'top_groups +it cannot be read: the list is not closed with ] in this line' 'disturbed +write it on one line, in quotes' \
    'chance_loss +it cannot be read: not valid UTF-8'; do
    grep -qE "^  unknown +$words" out || fail "not marked: $words"
done
for question in parameters starts_at_chance kernels largest_group gemm_percent; do marked right $question; done
answer real first_idea "\"all $kernels kernels: each is short\""
answer real mostly_gemm "$(awk -F, '$2 == "gemm" {s += $9} END {print (s < 50) ? "yes" : "no"}' $csv)"
"$TT" exercise check 1 real >out 2>err
marked named first_idea
marked right mostly_gemm
# a long answer is read to its end, or is said to be too long
words=$(printf 'and so on %.0s' {1..150})
answer real first_idea "$words all $kernels kernels"
"$TT" exercise check 1 real >out 2>err
marked named first_idea
answer real first_idea "all $kernels kernels $words $words"
expect 6 "first_idea             it is too long: write it with less than 2000 characters" "$TT" exercise check 1 real
answer real first_idea "all $kernels kernels: $words $words"
expect 6 "first_idea             it is too long" "$TT" exercise check 1 real
answer real first_idea "MFU #1 is not all"
expect 6 "first_idea             what follows the # is not read; write it all in quotes" "$TT" exercise check 1 real
sed 's/^  kernels:/ kernels:/' ada/worksheet.yaml >real/worksheet.yaml
expect 2 "unexpected indentation" "$TT" exercise check 1 real
sed 's/^learner: .*/learner: Ada: me/' ada/worksheet.yaml >real/worksheet.yaml
expect 2 'line 4: a second ": "' "$TT" exercise check 1 real
printf 'answers:\n  kernels: a: b\n  kernels: c: d\n' >real/worksheet.yaml
expect 2 "line 3: the key kernels is repeated" "$TT" exercise check 1 real
printf 'answers:\n\tkernels: 7\n' >real/worksheet.yaml
expect 2 "line 2: a tab; indent with spaces" "$TT" exercise check 1 real
passed "worksheets as they come"

# answers that do not come from that run
cp -r ada forged && sed -i 's/"kernels": [0-9]*,/"kernels": 7,/' forged/baseline/profile.json
expect 6 "seal is broken" "$TT" exercise check 1 forged
marked refused kernels
"$TT" report forged/baseline >out 2>err || fail "no report of a changed profile"
expect 6 "seal is broken or missing" "$TT" exercise check 1 forged
"$TT" report ada/baseline >out 2>err && expect 6 "right" "$TT" exercise check 1 ada
cp -r ada early && sed -i 's/"started": ".*"/"started": "2999-01-01T00:00:00Z"/' early/exercise.json
expect 6 "before this exercise was started" "$TT" exercise check 1 early
cp -r ada again && "$TT" profile $tiny $quick $eight --out again/baseline >out 2>err
expect 6 "filled in from a run with the seal" "$TT" exercise check 1 again
cp -r ada short && answer short baseline '"abc"'
expect 6 "at least 6 characters" "$TT" exercise check 1 short
cp -r ada broken && echo "{" >broken/baseline/profile.json
expect 6 "cannot be read" "$TT" exercise check 1 broken
"$TT" exercise start 4 four >out 2>err
cp -r ada/baseline four/baseline
cp -r ada/baseline four/qkv
sed -i 's/"started": ".*"/"started": "2000-01-01T00:00:00Z"/' four/exercise.json
expect 6 'its run.fuse is ""' "$TT" exercise check 4 four
passed "refused runs"

# what the folder was started for: sizes of other runs are refused, and commands are printed with them
expect 0 "then    tt exercise check" env PRESET=tiny STEPS=2 LONG=32 SMALL=2 LARGE=4 "$TT" exercise start 6 six
grep -q '"LARGE": "4"' six/exercise.json || fail "start does not note the sizes"
grep -q LONG six/exercise.json && fail "start notes what no command of the exercise takes"
expect 6 "make it with: tt profile --preset tiny --version fused --graph off --num-steps 2 --out plain" "$TT" exercise check 6 six
expect 6 "passed over; to have it: tt exercise start 6 six --recorded" "$TT" exercise check six
expect 0 "run     h200 is h200-small, recorded" "$TT" exercise start 6 six --recorded
expect 2 "not empty" "$TT" exercise start 5 six --recorded
expect 6 "run h200 " "$TT" exercise check 6 six
"$TT" profile --preset tiny $tiny $quick --version fused --graph off --out six/plain >out 2>err || fail "no profile plain"
"$TT" profile --preset small $tiny $quick --version fused --out six/graph >out 2>err || fail "no profile graph"
"$TT" profile --preset tiny $tiny $quick --version fused --batch-size 3 --fault host-wait --out six/wait >out 2>err || fail "no profile wait"
"$TT" profile --preset tiny $tiny $quick --version fused --fuse no-norm --batch-size 2 --out six/small_batch >out 2>err || fail "no profile small_batch"
"$TT" profile --preset tiny $tiny $quick --version fused --batch-size 2 --out six/large_batch >out 2>err || fail "no profile large_batch"
expect 6 'run plain ' "$TT" exercise check 6 six
for words in 'run graph .*its run.preset is "small", and this folder was started for "tiny"' 'run wait .*its run.batch_size is "3", and that of plain is "4"' \
    'run small_batch .*its run.fuse is "no-norm"' 'run large_batch .*its run.batch_size is "2", and this folder was started for "4"'; do
    grep -qE "$words" out || fail "not refused: $words"
done
cd six || exit 1
expect 6 "exercise 6: The host" "$TT" exercise check
expect 6 "exercise 6: The host" "$TT" exercise check 6
expect 0 "hint 1" "$TT" exercise hint
rm -f out err
cd .. || exit 1
expect 2 "or the folder of one" "$TT" exercise check
expect 2 "or the folder of one" "$TT" exercise check nothing
expect 0 "then    tt exercise check" env SEED=9 "$TT" exercise start 11 eleven
expect 6 "--seed 9 --batch-size 8 --profile-dir weak" "$TT" exercise check 11 eleven
# Its background names what a rank sends, in parts of the gradients; tt info has both in MiB.
for ranks in 2:1 8:1.75 1024:1.998; do
    "$TT" info --preset tiny --ranks "${ranks%:*}" | awk -v times="${ranks#*:}" '
        $1 == "none" {off = $14 / $4 / times - 1; found = 1} END {exit !(found && off < 0.01 && off > -0.01)}' || fail "${ranks%:*} ranks do not send ${ranks#*:} times their gradients"
done
grep -q "That is 1 for 2 ranks, 1.75 for 8 and 1.998 for" "$TT_EXERCISES/11-scaling/README.md" || fail "exercise 11 names other bytes"
expect 2 "SEED=0: it must be a whole number from 1 on" env SEED=0 "$TT" exercise start 11 zero
passed "the sizes of the folder"

"$TT" exercise start 3 three --recorded >out 2>err || fail "no recorded profiles"
expect 6 ", recorded" "$TT" exercise check 3 three
passed "recorded profiles"

mkdir -p class/bob && cp -rp ada class/ada && cp -r ada class/bob/first
touch -d 2037-01-02T03:04:05Z class/bob/first/baseline/profile.json # a copy is younger than what it was made from
sed -i 's/"Ada"/"=Bob"/' class/bob/first/worksheet.yaml
answer class/bob/first kernels 1
"$TT" exercise check 1 class/ada >out 2>err
"$TT" exercise check 1 class/bob/first >out 2>err
expect 0 "shares a run with Ada, who had it first" "$TT" exercise class class --csv class.csv
grep -q "^Ada .* shares a run with =Bob, who had it later$" out || fail "the copied is not told from the copier"
written=$(date -u -r class/ada/baseline/profile.json +%Y-%m-%dT%H:%M:%SZ)
measured=$(sed -n 's/.*"created": "\(.*\)".*/\1/p' ada/baseline/profile.json)
grep -qF "shared: baseline, seal $seal, measured $measured; its file is of $written at Ada, of 2037-01-02T03:04:05Z at =Bob" out || fail "not told who measured first"
[ "$(grep -c '^shared: baseline' out)" = 1 ] || fail "a shared run is told more than once"
grep -qE '^  kernels +right: 1 of 2' out || fail "the class does not count"
grep -q "^'=Bob,1,kernels,wrong,0,1," class.csv || fail "class.csv: $(grep kernels class.csv)"
touch -r class/ada/baseline/profile.json class/bob/first/baseline/profile.json # of the same time: nobody is first
"$TT" exercise check 1 class/bob/first >out 2>err
expect 0 "shares a run with Ada" "$TT" exercise class class
grep -q "who had it" out && fail "one of two files of the same time is first"
expect 2 "no result.json" "$TT" exercise class nothing
expect 0 "note    nothing holds no result.json" "$TT" exercise class class nothing
sed -i 's/^learner: .*/learner: ""/' class/bob/first/worksheet.yaml
expect 0 "first/worksheet.yaml has changed since its last check" "$TT" exercise class class
"$TT" exercise check 1 class/bob/first >out 2>err
expect 0 "exercise 1" "$TT" exercise class class
grep -qE '^first +[0-9]+ of' out || fail "a learner without a name is not named by the folder"
grep -q "has changed since" out && fail "a worksheet that was checked counts as changed"
mkdir beside && cp -r ada beside/mine
cd beside || exit 1
expect 2 ". is not the folder of an exercise, but mine is: tt exercise check 1 mine" "$TT" exercise check 1
cd .. || exit 1
expect 2 "no folder" "$TT" exercise class nobody
expect 2 "needs the learners" "$TT" exercise class
passed "class"

mkdir road && cp -r ada/baseline road/baseline
"$TT" profile $tiny $quick --version fused --batch-size 8 --out road/fused >out 2>err
"$TT" profile $tiny $quick --version fused --batch-size 8 --out road/again >out 2>err
# What tt report advises: fused, the small kernels read and write less than half the bytes.
bytes() { awk -F, '$4 ~ /^(rms_norm|residual|rope_embedding|swiglu_activation)$/ && $1 == "operator" {sum += $11} END {print sum}' "$1/operators.csv"; }
check "fused norms and activations move less than half the bytes" awk -v a="$(bytes road/baseline)" -v b="$(bytes road/fused)" 'BEGIN {exit !(b > 0.3 * a && b < 0.5 * a)}'
printf 'steps:\n  - run: baseline\n  - run: fused\n    predicted: 1.5\n    again: again\ngates:\n  throughput: -1\n  loss: 0.02\n  memory: 0\n' >road/roadmap.yaml
expect 0 "gate deterministic  holds" "$TT" exercise roadmap road
for gate in throughput accuracy memory; do grep -qE "gate $gate +holds" out || fail "the gate $gate does not hold"; done
grep -qE '^fused +1\.50 ' out || fail "the prediction is not shown"
sed -i 's/throughput: .*/throughput: 1000/' road/roadmap.yaml
expect 6 "gate throughput" "$TT" exercise roadmap road
grep -q "gate throughput *fails" out || { grep -q "gate throughput *undecided" out && grep -q "machine was busy" out; } ||
    fail "a thousand times as many tokens are not asked for: $(cat out)" # beside others a step may take any number of times as long
grep -qE '^step +predicted +measured +interval' out && grep -qE '^fused .*([0-9]-[0-9.]+ \([0-9]+ %\)|\(busy\))' out || fail "the roadmap has no interval"
sed -i 's/again: again/again: third/' road/roadmap.yaml
expect 6 "third is not there yet: measure fused a second time, with --out third" "$TT" exercise roadmap road
sed -i 's/again: third/again: fused/' road/roadmap.yaml
expect 6 "measure a second one" "$TT" exercise roadmap road
"$TT" profile $tiny $quick --num-steps 3 --version fused --batch-size 8 --out road/longer >out 2>err
sed -i 's/again: fused/again: longer/' road/roadmap.yaml
expect 6 "gate deterministic  not known  again: measured another number of steps" "$TT" exercise roadmap road
sed -i 's/predicted: .*/predicted: 20/' road/roadmap.yaml
expect 2 "1.2 is 20 % faster" "$TT" exercise roadmap road
sed -i 's/predicted: .*/predicted: 1.2/; s/run: fused/run: nobody/' road/roadmap.yaml
expect 2 "nobody is not there yet" "$TT" exercise roadmap road
printf 'steps: []\n' >road/roadmap.yaml
expect 2 "steps" "$TT" exercise roadmap road
passed "roadmap"

expect 2 "did you mean no-init" "$TT" train $tiny --fault no-inti --out ""
expect 0 "fault   hidden" "$TT" train $tiny --vocab-size 64 --num-steps 2 --val-interval 0 --fault random:5 --out ""
expect 0 ":" "$TT" exercise solution 9 --fault random:5
name=$(sed 's/:.*//' out)
"$TT" train $tiny --vocab-size 64 --num-steps 2 --val-interval 0 --fault random:5 --out "" 2>&1 | grep -q "$name" && fail "a hidden fault is named"
expect 1 "differ" "$TT" check grads $tiny --fault wrong-stride --against baseline
# What exercise 9 goes by: of two faults that change every tensor, only a stride turns gradients another way.
off_by() { "$TT" check grads --data builtin --version fused --batch-size 4 --fault "$1" --against fused 2>err |
    awk '$1 == "layer" { on = 1 } on && /^[1-9]/ { print $3 }' | tr '\n' ' '; }
all_three() { awk "{ for (i = 1; i <= NF; i++) if (!(\$i > $1 && \$i < $2)) exit 1; exit NF != 3 }"; }
off_by wrong-stride | all_three 1 2 || fail "a stride: $(off_by wrong-stride)"
off_by double-shift | all_three 0.05 0.5 || fail "other targets: $(off_by double-shift)"
expect 1 "no gradient" "$TT" check grads $tiny --fault dropped-gradient
expect 0 "35 of 35 tensors have a gradient" "$TT" check grads --hidden-dim 16 --num-heads 2 --num-kv-heads 1 --ffn-dim 24 --batch-size 3 --seq-len 1 --qk-norm --num-layers 3 --vocab-size 17
[ "$(grep -c "0 with --seq-len 1" out)" = 12 ] || fail "q, k and their norms get no gradient at a length of 1: $(cat out)"
passed "faults"

# one precision against another, tensor by tensor and layer by layer
if "$TT" info | grep -q "precisions fp32.* fp8"; then
    even="$tiny --vocab-size 64"
    expect 0 "20 of 20 tensors within 0.4" "$TT" check grads $even --precision fp8 --against fp32
    awk '/^layer / {on = 1; next} on && $1 ~ /^[01]$/ {n += $3 > 0.01 && $3 < 0.4 && $4 ~ /^(attention|feed_forward|ffn_norm)/} END {exit n != 2}' out ||
        fail "no table of layers: $(cat out)"
    expect 0 "20 of 20 tensors within 0.4" "$TT" check grads $even --precision fp32 --against fp8 --quiet
    expect 1 "differ from fp32" "$TT" check grads $even --precision fp8 --against fp32 --tolerance 0.001 --quiet
    expect 0 '"most_in": "' "$TT" check grads $even --precision fp8 --against fp32 --json
    passed "precision against precision"
fi

# The first steps in fp16 overflow here, and what counts is one of the same tokens.
if "$TT" info | grep -q "precisions fp32.* fp16"; then
    expect 0 "11 of 11 tensors within 0.05" "$TT" check grads --hidden-dim 240 --num-layers 1 --num-heads 3 --num-kv-heads 3 --ffn-dim 48 --vocab-size 100 --seq-len 2 \
        --batch-size 2 --precision fp16 --against fp32 --seed 39
    passed "fp16 against fp32"
fi

# right for every fault: does it compute something else, or the same more slowly? Once is enough: not under sanitizers.
kind_of() {
    "$TT" exercise solution 9 --fault random:$1 | grep -q "^$2:" || return # on a GPU some seeds draw another
    "$TT" profile $learn --fault random:$1 --out nine/patient >out 2>err || fail "no patient with $2"
    answer nine kind_of_fault "$3"
    "$TT" exercise check 9 nine >out 2>err
    grep -qE "^  right +kind_of_fault " out || fail "kind_of_fault is not right of $2"
}
if ! grep -q __asan_init "$TT"; then
    "$TT" exercise start 9 nine >out 2>err
    learn="$tiny $quick --vocab-size 64 --data builtin --version fused"
    "$TT" profile $learn --out nine/healthy >out 2>err || fail "no healthy profile"
    for patient in "36 host-wait" "1 naive-matmul" "21 tiny-batch" "7 mask-rebuild" "27 eval-every-step" "3 host-norm"; do kind_of $patient slow; done
    # the patient of the last one, host-norm: a suspicion that its figures do not bear out is no diagnosis
    for suspect in host-wait host-norm; do
        "$TT" profile $learn --fault $suspect --out nine/suspect >out 2>err || fail "no suspect"
        answer nine diagnosis $suspect
        "$TT" exercise check 9 nine >out 2>err
        [ $suspect = host-norm ] && mark=right || mark=wrong
        marked $mark diagnosis
        [ $mark = right ] && continue
        cp -r nine shown9
        "$TT" exercise check 9 shown9 --reveal >out 2>err
        grep -qE "right: *$suspect" out && fail "--reveal shows a diagnosis that is wrong"
        grep -A 4 '"id": "diagnosis"' shown9/result.json | grep -q '"revealed": false' || fail "nothing was shown, and it counts as shown"
    done
    "$TT" profile $learn --batch-size 2 --fault random:3 --out nine/patient >out 2>err || fail "no patient of another batch"
    expect 6 'its run.batch_size * run.grad_accum is "2", and that of healthy is "4"' "$TT" exercise check 9 nine
    "$TT" profile $learn --fault random:3 --out nine/suspect >out 2>err || fail "no hidden suspect"
    expect 6 'its run.fault is "hidden", and the exercise asks for "no-init" or "wrong-stride" or' "$TT" exercise check 9 nine
    for patient in "12 no-init" "8 wrong-stride" "2 dropped-gradient" "4 double-shift" "6 no-clip"; do kind_of $patient wrong; done
fi
passed "kinds of faults"

if "$TT" --version | grep -q "(cpu)"; then
    expect 0 "20 of 20 tensors within" "$TT" check grads $tiny --flash-tile 5x3 --against baseline
    expect 0 "seal" "$TT" profile $tiny $quick --flash-tile 5x3 --out tiled
    grep -q '"flash_tile": "5x3"' tiled/profile.json || fail "the profile does not know its tile"
    expect 0 "flash-tile - -> 5x3" "$TT" compare nothing tiled
    expect 2 "does not have" "$TT" check grads $tiny --version fused --flash-tile 5x3
else
    expect 2 "compiled in" "$TT" check grads $tiny --flash-tile 5x3
fi
passed "tiles"
finish
