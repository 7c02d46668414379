#!/usr/bin/env bash
# tt report, tt compare and tt check on the command line.
set -u
. tests/lib.sh
needs_device
profiles=$PWD/tests/profiles
cd "$dir" || exit 1
small="--num-layers 1 --hidden-dim 32 --num-heads 2 --num-kv-heads 1 --ffn-dim 64 --batch-size 2 --seq-len 16"

# imports
for file in nsys_kern_sum.csv nsys_stats.csv nsys_gpu_trace.csv ncu_raw.csv ncu_details.csv rocprofv3_kernel_trace.csv \
    rocprofv3_kernel_stats.csv rocprofv3_results.json pytorch_trace.json pytorch_cpu_trace.json; do
    run 0 report --import "$profiles/$file" --out "import/$file"
    for made in report.html summary.md operators.csv profile.json; do
        checks=$((checks + 1))
        [ -s "import/$file/$made" ] || fail "$file: no $made"
    done
    for wrong in nan ' 0 layers' '****' ', , ' 'by .' '## Memory' '## Components' '## Efficiency'; do
        checks=$((checks + 1))
        grep -qF -- "$wrong" "import/$file/summary.md" && fail "$file: summary.md has \"$wrong\", which no tool told"
    done
    checks=$((checks + 1))
    grep -qE -- '--(version|graph|fuse|batch-size|grad-accum) ' out "import/$file/report.html" && fail "$file: advises options of tt"
done
run 0 report --import "$profiles/rocprofv3_kernel_trace.csv" "$profiles/rocprofv3_memory_copy_trace.csv" "$profiles/rocprofv3_hip_api_trace.csv" --out roc --num-steps 1
says out "rocprofv3 trace of 2 copies"
says out "gemm"
run 0 report roc
says out "saved   roc/report.html"
run 0 report --import "$profiles/ncu_raw.csv"
checks=$((checks + 1))
[ -s imported/report.html ] || fail "no imported/report.html"

# names with a meaning in a spreadsheet, a table or a page
cat >hostile.csv <<'CSV'
"Kind","Kernel_Name","Start_Timestamp","End_Timestamp"
"KERNEL_DISPATCH","=cmd|'/C calc'!A1",1000,91000
"KERNEL_DISPATCH","void a,b|c<float, 128, ""x"">(float*, int)",100000,180000
"KERNEL_DISPATCH","-split
row|,""",200000,270000
"KERNEL_DISPATCH","@<script>alert(1)</script>",300000,360000
"KERNEL_DISPATCH","`code` *bold* [link](http://a.b)",400000,450000
"KERNEL_DISPATCH","+1 2",500000,540000
CSV
run 0 report --import hostile.csv --out hostile --num-steps 1
checks=$((checks + 2))
awk '/^## Operators/ {on = 1} /^## Phases/ {on = 0} on && /^\|/ {gsub(/\\./, ""); if (gsub(/\|/, "") != 13) exit 1; rows++} END {exit rows != 8}' \
    hostile/summary.md || fail "a row of summary.md is not 12 cells: $(grep '^|' hostile/summary.md)"
grep -q '<script>alert' hostile/summary.md hostile/report.html && fail "a name is a script"
if command -v cmark-gfm >/dev/null; then # as GitHub would show it
    cmark-gfm -e table -e autolink --unsafe hostile/summary.md >page.html
    for words in "<td>=cmd|'/C calc'!A1</td>" '<td>a,b|c</td>' '<td>-split row|,&quot;</td>' '<td>@&lt;script&gt;alert(1)&lt;/script&gt;</td>' \
        '<td>`code` *bold* [link](http://a.b)</td>'; do says page.html "$words"; done
fi
if command -v python3 >/dev/null; then
    checks=$((checks + 1))
    python3 - hostile/operators.csv <<'PYTHON' || fail "operators.csv is not what was imported: $(cat hostile/operators.csv)"
import csv, sys
rows = list(csv.reader(open(sys.argv[1], newline="", encoding="utf-8")))
assert all(len(row) == 17 for row in rows), [len(row) for row in rows]
assert not any(cell[:1] in tuple("=+-@\t\r\n") for row in rows for cell in row if cell), rows
names = [row[1][row[1][:1] == "'":] for row in rows if row[0] == "operator"]
assert names[:6] == ["=cmd|'/C calc'!A1", "a,b|c", '-split\nrow|,"', "@<script>alert(1)</script>", "`code` *bold* [link](http://a.b)", "+1 2"], names
PYTHON
fi

# mistakes: one line, no folder
run 2 report
says err "nothing to report"
run 2 report nowhere
says err "nowhere"
run 2 report --import "$profiles/README.md" --out never
says err "README.md: this file cannot be imported"
run 2 report roc imported
says err "tt compare"
run 2 report --import "$profiles/nsys_stats.csv" "$profiles/pytorch_trace.json" --out never
says err "two profiles"
mkdir full && echo x >full/mine
run 2 report --import "$profiles/ncu_raw.csv" --out full
says err "other files"
[ -e never ] && fail "a failed report left a folder"
echo '{"schema": 1' >broken.json
mkdir broken && mv broken.json broken/profile.json
run 1 report broken
says err "broken"

# a real profile, its report with an import, and comparisons
run 0 profile $small --num-steps 4 --version baseline --out base --quiet
run 0 profile $small --num-steps 4 --version flash --out flash --quiet
grep -q "^1 layer, hidden 32, 2 heads (1 key/value)" base/summary.md || fail "summary.md does not have 1 layer"
cksum base/profile.json base/report.html >before
run 2 report --import "$profiles/ncu_raw.csv" --out base
says err "holds a profile of tt; show both with: tt report base --import FILE"
cksum base/profile.json base/report.html | cmp -s before - || fail "an import changed a profile"
run 0 report --import "$profiles/ncu_raw.csv" --out twice
run 0 report --import "$profiles/nsys_stats.csv" --out twice
says base/report.html "<svg class=\"chart\""
rm base/report.html base/summary.md
run 0 report base --import "$profiles/nsys_gpu_trace.csv"
says base/report.html 'id="imported"'
says base/summary.md "## What another profiler saw"
says out "nsys: What was recorded"
[ -s base/summary.md ] || fail "no summary.md"
run 0 report --import base/trace.json --out again
says out "Chrome trace of tt"
says again/operators.csv "gemm"
run 0 compare base flash
says out "version baseline -> flash"
says out "tensors have a gradient"
says out "in the first step by at most"
grep -qE "^host     flash: [0-9.]+ waits a step, 1 copy" out || fail "the comparison has neither waits nor copies"
run 0 compare base flash --json # the text has the operators that changed most
says out '"speedup":'
grep -qE '"name": "gemm [0-9x()]+ in [a-z_]+, (forward|backward)' out || fail "a product has no shape in the comparison"
run 0 compare base flash --out side
run 0 compare base flash --out side
run 2 compare base flash --out full
says err "full holds other files and no comparison"
[ "$(ls full)" = mine ] || fail "a comparison was written among other things"
for made in compare.html compare.json compare.txt; do [ -s side/$made ] || fail "no side/$made"; done
run 0 compare base flash --fail-if memory:1000%,loss:0.1,gradients
says out "gate     gradients passed: flash: all"
"$TT" compare base flash --fail-if slower:100000% >out 2>err # beside others a step may take any number of times as long
code=$?
[ $code = 0 ] || { [ $code = 8 ] && grep -q "the machine was busy" err; } || fail "exit $code of a gate that is wide open"
run 0 compare base flash --quiet
says out "speed-up"
grep -q "operators that changed" out && fail "--quiet prints more than the result"
run 0 profile $small --ffn-dim 96 --num-steps 4 --out wide --quiet
run 8 compare base wide --fail-if slower:0%
says out "ffn 64 -> 96"
says out "its model differs from that of base"
says err "cannot judge"
run 0 profile $small --num-steps 4 --update top-k --update-count 3 --update-level rows --update-every 2 --out chosen --quiet
says chosen/profile.json '"update": "top-k count 3 level rows every 2"'
says chosen/summary.md "top-k count 3 level rows every 2. The measured step is one that chooses them."
says chosen/report.html "top-k count 3 level rows every 2"
grep -q "Not all weights" flash/summary.md && fail "a run that updates all weights says otherwise"
run 0 compare flash chosen
says out "changed  chosen: update all -> top-k count 3 level rows every 2"
run 0 bench --sizes tiny --versions flash --warmup 1 --repeats 2 $small --update top-k --update-by random --json
says out '"gemm_measured": "20'
cp out bench-chosen.json
run 0 compare flash bench-chosen.json
says out "update all -> top-k share 0.1 by random"
run 0 train $small --num-steps 2 --update top-k --update-share 0.50 --update-rest decay --out run-chosen --quiet
run 0 train $small --num-steps 2 --out run-all --quiet
run 0 compare run-all run-chosen
says out "changed  run-chosen: update all -> top-k share 0.5 rest decay"
for v in baseline flash; do run 0 train $small --num-steps 2 --version $v --out run-$v --quiet; done
run 8 compare run-baseline run-flash --fail-if gradients
says out "version baseline -> flash"
says err "cannot judge"
mkdir bad && awk '/"gradients": \[/ { g = 1 } g && /"count":/ { split($0, a, /[:,]/); n = a[2] } g && /"zeros":/ { sub(/[0-9]+/, n + 0); g = 0 } { print }' flash/profile.json >bad/profile.json
run 0 compare base bad
says out "tensors got no gradient"
run 5 compare base bad --fail-if gradients
says err "got no gradient"
run 5 compare base bad --fail-if slower:0.0001%,gradients,loss:9
says out "gate     gradients failed"
says out "gate     loss:9 passed"
run 2 compare base flash --fail-if slower:fast
says err "the conditions are"
run 2 compare
run 2 compare base
says err "two runs"
run 2 compare base nowhere
run 2 compare base full
says err "neither profile.json"
run 2 compare base full/mine
says err "neither a profile.json"
run 2 report full
says err "full holds no profile"
run 2 report --import full

# a training run
run 0 train $small --num-steps 12 --val-interval 5 --log-interval 3 --out trained
run 0 report trained
says out "saved   trained/report.html"
for words in 'All 12 steps are done. Validation loss' 'above the floor' 'Where the time went' 'What the model writes' 'Learning rate'; do
    says trained/report.html "$words"
done
run 0 report trained --out elsewhere --quiet
checks=$((checks + 1))
cmp -s trained/report.html elsewhere/report.html || fail "a report elsewhere is another one"
run 2 report trained --import "$profiles/ncu_raw.csv"
says err "trained is a training run"
run 0 profile $small --num-steps 2 --warmup 1 --out both --quiet
cp trained/metrics.jsonl trained/run.json both/
run 0 report both
says out "saved   both/training.html"
says both/report.html "Where the time goes"
says both/training.html "All 12 steps are done"
printf '#!/bin/sh\necho "$1" >"%s/opened"\n' "$dir" >browser
chmod +x browser
BROWSER=$dir/browser run 0 report trained --open
for _ in $(seq 100); do [ -s opened ] && break; sleep 0.05; done
says opened "$dir/trained/report.html"
BROWSER=$dir/nothing run 0 report trained --open
says err "open file://$dir/trained/report.html"

# tt check
run 0 check grads $small
says out "tensors have a gradient"
run 0 check grads $small --against baseline --json
says out '"different": 0'
run 0 check grads $small --out g.safetensors --quiet
run 0 check grads $small --version fused --against g.safetensors --quiet
says out "11 of 11 tensors within"
run 1 check grads $small --seed 7 --against g.safetensors
says err "differ from g.safetensors"
run 2 check grads $small --out g.safetensors
says err "exists"
run 2 check grads $small --against nothing.safetensors
run 2 check grads $small --hidden-dim 64 --against g.safetensors
says err "its shapes differ"
run 2 check grads $small --num-layers 2 --against g.safetensors
says err "another model"
for v in baseline flash; do run 0 check grads $small --seq-len 1 --version $v --against fused; done
says out "0 with --seq-len 1"
run 2 check weights
head -c 100 g.safetensors >cut.safetensors
run 1 check grads $small --against cut.safetensors

finish
