#!/usr/bin/env bash
# tt exercise page and tt exercise class --html: what they show, that nothing a learner writes becomes markup, that nothing is
# loaded from outside, and that the page of a class is written again while it is looked at.
set -u
. tests/lib.sh
once "the programs of the engine test the same under sanitizers"
: "${TT:?is the program to test}"
export LC_ALL=C TT_EXERCISES=$PWD/exercises
cd "$dir" || exit 1
answer() { sed -i "s|^  $2: .*|  $2: $3|" "$1/worksheet.yaml"; }
has_text() { grep -qF -- "$2" "$1" || fail "$1 does not have: $2"; }
lacks() { grep -qF -- "$2" "$1" && fail "$1 has: $2"; }

expect 2 "holds none; make one with: tt exercise start" "$TT" exercise page
expect 2 "nobody is no folder" "$TT" exercise page nobody
for n in 1 2 3; do "$TT" exercise start $n ex$n --recorded >out 2>err || fail "start $n"; done
sed -i 's/^learner: .*/learner: "Ada Lovelace"/' ex3/worksheet.yaml
question=$(sed -n 's/^  - id: //p' "$TT_EXERCISES/03-bottlenecks/check.yaml" | head -1)
[ -n "$question" ] || fail "exercise 3 has no question"
answer ex3 "$question" '"my <b>answer</b>"'
expect 0 "page.html, of 3 folders" "$TT" exercise page
has_text page.html "The course: Ada Lovelace"
has_text page.html '<section id="part-3">'
has_text page.html "my &lt;b&gt;answer&lt;/b&gt;"
has_text page.html "Plots of h200, recorded"
has_text page.html '<svg class="chart"'
has_text page.html 'class="state m-refused">refused'
for title in "Baseline analysis" "Scaling" "Write your own kernel"; do has_text page.html "$title"; done # all are in the progress
has_text page.html "<code>tt exercise check" # a command of the walkthrough
has_text page.html '<strong>Before.</strong> <a href="#part-1">1 Baseline analysis</a>' # exercise 2, within the page
lacks page.html "README.md\"" # what is not in the page is not linked
"$TT" exercise check ex3 >out 2>err
marks() { grep -o "<td class=\"state m-$1\">$1</td>" page.html | wc -l; }
"$TT" exercise page ex3 >/dev/null || fail "page ex3"
for mark in right wrong empty unknown; do
    [ "$(marks $mark)" = "$(grep -cE "^  $mark " out)" ] || fail "$mark: $(marks $mark) on the page, $(grep -cE "^  $mark " out) by check"
done
cp -r ex3 ex3b # the same exercise twice: the first folder counts
points=$(sed -n 's/^score [0-9.]* of \([0-9.]*\).*/\1/p' out)
"$TT" exercise page ex3 ex3b >/dev/null || fail "page ex3 ex3b"
has_text page.html "of $points points in 1 exercise, "
rm -r ex3b
expect 0 "elsewhere.html, of 1 folder" "$TT" exercise page ex3 --html elsewhere.html
cd ex3 && expect 0 "page.html, of 1 folder" "$TT" exercise page && [ -s page.html ] || fail "no page in the folder of the exercise"
cd .. || exit 1
printf 'answers: [\n' >ex1/worksheet.yaml # one that cannot be read does not hide the other
expect 0 "of 2 folders" "$TT" exercise page ex1 ex3
has_text page.html 'class="warn">ex1/worksheet.yaml: line'
has_text page.html "cannot be marked"
passed "a learner's page"

# nothing is loaded: no address but in links, which a reader has to follow
outside() { grep -oiE '(src|href|url|action|poster|data) *[=(] *"?(https?:)?//[^ ">)]*|@import[^;]*' "$1" | grep -v '^href="https://'; }
[ -z "$(outside page.html)" ] || fail "loaded from outside: $(outside page.html)"

# hostile: names of folders and learners, answers, runs
evil='<script>window.hacked=1</script>'
"$TT" exercise start 3 "a'><img src=x onerror=alert(1)>" >out 2>err || fail "start in a hostile folder"
sed -i "s|^learner: .*|learner: '$evil'|" a*/worksheet.yaml
answer a* "$question" "'\"> <img src=x onerror=alert(2)>'"
"$TT" exercise page . --html hostile.html >out 2>err || fail "page of hostile folders"
lacks hostile.html "<script>window"
lacks hostile.html "<img src=x"
has_text hostile.html "&lt;script&gt;window.hacked=1&lt;/script&gt;"
passed "hostile names are text"

# the picture of recorded figures is the chart that tt report draws of them today
bash "$root/exercises/recorded/pictures.sh" drawn || fail "pictures.sh"
cmp drawn/03-bottlenecks/roofline.svg "$TT_EXERCISES/03-bottlenecks/roofline.svg" || fail "run exercises/recorded/pictures.sh: the recorded profile or the chart has changed"
has_text page.html '<img src="data:image/svg+xml,'
passed "pictures"

# ---- a class ----

# result LEARNER EXERCISE MARK GIVEN REASON SEAL
result() {
    cat <<JSON
{"exercise": $2, "title": "Made up", "learner": "$1", "folder": "ex", "points": 99, "most": 2, "passed": false, "revealed": 4,
 "noise": "noise: baseline: the machine was busy: threads waited 30 % of their time for a processor",
 "runs": [{"name": "baseline", "taken": true, "recorded": false, "seal": "$6", "created": "2026-01-01T00:00:00Z", "written": "", "refusal": ""},
          {"name": "flash", "taken": false, "seal": "", "refusal": "it is not there <b>"}],
 "questions": [{"id": "kernels", "mark": "$3", "points": 0, "given": "$4", "reason": "$5"}, {"id": "step", "mark": "right", "points": 1, "revealed": true}]}
JSON
}
mkdir -p class/ada class/bob class/eve
result Ada 1 wrong 7 "twice what is right" aaaaaaaa >class/ada/result.json
result Bob 1 wrong 8 "twice what is right" aaaaaaaa >class/bob/result.json
result '<i>Eve' 3 wrong '<u>' 'a </td> of hers' bbbbbbbb >class/eve/result.json
expect 0 "exercise 1: Made up" "$TT" exercise class class --html class.html
has_text class.html "3 learners, 2 exercises; 0 of 3 results are all right."
has_text class.html "shared: baseline, seal aaaaaaaa"
has_text class.html "baseline: the machine was busy: threads waited 30 %"
has_text class.html "it is not there &lt;b&gt;"
has_text class.html "0 of 2 right"
has_text class.html '<td class="n" data-v="4">4</td>' # answers that were shown
has_text class.html '<td class="state m-right" title="step: right">+*</td>'
shows '^Ada +1 of 2 +- [+]  answers shown: 4 '
has_text class.html "&lt;i&gt;Eve"
lacks class.html "<i>Eve"
lacks class.html "a </td> of hers"
lacks class.html "http-equiv"
first=$(grep -o 'data-v="[0-9]*">[0-9]*</td><td class="n" data-v="[0-9]*">[0-9]*</td><td class="name">kernels.*' class.html | head -1)
case $first in 'data-v="2">2<'*'twice what is right</td><td class="answer">7; 8</td>'*) ;; *) fail "the mistake of two is not first: $first" ;; esac
[ -z "$(outside class.html)" ] || fail "loaded from outside: $(outside class.html)"
expect 2 "name the file" "$TT" exercise class class --every 1
expect 2 "86400" "$TT" exercise class class --html class.html --every 100000
passed "the page of a class"

# live: it begins before anybody has a result, and takes what comes
mkdir live
"$TT" exercise class live --html live.html --every 1 >live.out 2>live.err &
live=$!
wait_for() { # wait_for TEXT: half a minute at most
    for _ in $(seq 300); do
        grep -qF -- "$1" live.html 2>/dev/null && return
        sleep 0.1
    done
    fail "never on the live page: $1"
}
wait_for "No result can be shown yet."
mkdir live/ada && cp class/ada/result.json live/ada/result.json
wait_for "1 learner, 1 exercise"
has_text live.html '<meta http-equiv="refresh" content="1">'
mkdir live/bob && cp class/bob/result.json live/bob/result.json
wait_for "2 learners, 1 exercise"
echo '{' >live/bob/result.json.new && mv live/bob/result.json.new live/bob/result.json
wait_for "note    left out: live/bob/result.json"
has_text live.html "1 learner, 1 exercise"
expect 0 "left out: live/bob/result.json" "$TT" exercise class live
rm -r live/ada
expect 2 "no result.json could be read" "$TT" exercise class live
kill $live
wait $live 2>/dev/null
[ "$(echo live.html*)" = live.html ] || fail "files are left beside the page: $(echo live.html*)"
passed "a live page"
finish
