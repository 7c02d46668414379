#!/usr/bin/env bash
# tt profile and tt info --predict on the command line, and what they refuse.
set -u
. tests/lib.sh
needs_device
cd "$dir" || exit 1
export XDG_CACHE_HOME=$dir/cache
tiny="--hidden-dim 32 --num-layers 2 --num-heads 4 --num-kv-heads 2 --ffn-dim 48 --vocab-size 50 --seq-len 16 --batch-size 4"
quick="--num-steps 2 --warmup 1"

"$TT" profile $tiny $quick --out first >out 2>err
code=$?
[ $code = 0 ] || fail "exit $code from the first profile"
for words in "MFU" "gaps" "swiglu_gate_up" "phase" "saved   first"; do grep -qF "$words" out || fail "no \"$words\" in the output"; done
for file in profile.json operators.csv trace.json memory.json roofline.json summary.md; do
    [ -s "first/$file" ] || fail "no $file"
done
[ -s cache/tt/ceilings.json ] || fail "the measured rates are not kept"
rate() { sed -i "s/\"flops_per_second\": [^,]*/\"flops_per_second\": $1/" cache/tt/ceilings.json; }
grep -qF "by this run" out || fail "it does not say when the rates were measured"
for key in flops_spread bytes_spread load; do grep -q "\"$key\": [0-9]" cache/tt/ceilings.json || fail "$key is not kept"; done
load=$(sed -n 's/.*"load": \([0-9.]*\),/\1/p' first/profile.json)
waited=$(sed -n 's/.*[^_]"waited": \([0-9.e-]*\|null\),/\1/p' first/profile.json)
[ -n "$waited" ] || fail "the profile does not say what it waited for a processor"
busy=$(awk -v load="$load" -v waited="$waited" 'BEGIN { print ((waited == "null" ? load > 1.5 : waited > 0.05) ? 3 : 0) }')
[ "$(grep -l "the machine was busy: " out first/summary.md first/report.html | wc -l)" = "$busy" ] ||
    fail "at a load of $load, after waiting for $waited, it does not say so, or says that the machine is busy"
recorded=$(sed -n 's/.*"recorded_waited": \([0-9.e-]*\|null\),/\1/p' first/profile.json)
[ -n "$recorded" ] || fail "the profile does not say what its recorded steps waited for a processor"
awk -v waited="$recorded" 'BEGIN { exit waited == "null" || waited <= 0.05 }' && grep -q '"backend": "cpu"' first/profile.json && disturbed=1
[ -z "${disturbed-}" ] || grep -q "^note    These come from disturbed steps: " out || fail "its recorded steps waited $recorded, and it does not say that shares may be off"
rate 1e15 # a rate that nothing reaches, without any doubt about it
sed -i 's/"bytes_per_second": [^,]*/"bytes_per_second": 1e15/; s/_spread": [^,]*/_spread": 0/; s/"load": [^,]*/"load": 0/; s/"waited": [^,]*/"waited": 0/' cache/tt/ceilings.json
before=$(cksum <cache/tt/ceilings.json)
grep -q "replaced" out && fail "a profile in a new folder replaces one"
when=$(sed -n 's/.*"created": "\(.*\)".*/\1/p' first/profile.json) seal=$(sed -n 's/^saved .*seal //p' out)
expect 0 "saved   first" "$TT" profile $tiny $quick --out first --quiet
grep -qF "note    an earlier profile was replaced: $when, seal $seal" err || fail "it does not say which profile it replaced"
grep -q "swiglu_gate_up" out && fail "--quiet prints tables"
[ "$(grep -c '^step .*(busy machine)$' out)" = "$(grep -c 'the machine was busy: ' first/summary.md)" ] || fail "--quiet says otherwise of the machine than summary.md"
[ "$before" = "$(cksum <cache/tt/ceilings.json)" ] || fail "the rates were measured again"
grep -qF -- "--remeasure" first/summary.md && grep -qF -- "--remeasure" first/report.html || fail "kept rates are not told in the folder"
expect 0 "--remeasure" "$TT" profile $tiny $quick --out first # it reports that the rates were kept
rate 1e3 # a rate that every step exceeds
expect 0 "by this run" "$TT" profile $tiny $quick --out first
grep -qF '"flops_per_second": 1000,' cache/tt/ceilings.json && fail "rates that a step beats stay"
rate 1e15
sed -i 's/"bytes_per_second": [^,]*/"bytes_per_second": 1e5/' cache/tt/ceilings.json # one that every copy exceeds
expect 0 "by this run" "$TT" profile $tiny $quick --out first
grep -qF '"bytes_per_second": 100000,' cache/tt/ceilings.json && fail "a rate that a copy beats stays"
rate 1e3
echo "{" >first/profile.json
expect 0 '"mfu_percent"' "$TT" profile $tiny $quick --out first --json
grep -q replaced out && fail "a note in the JSON"
[ "$(cat err)" = "note    an earlier profile was replaced" ] || fail "with --json it does not say that it replaced one"
expect 0 "saved   deep/down/here" "$TT" profile $tiny $quick --version baseline --sweep batch --out deep/down/here
[ "$(grep -c '^operator,' deep/down/here/operators.csv)" -gt "$(grep -c '^operator,' first/operators.csv)" ] ||
    fail "the baseline has no more kinds of operators than flash"
ls first deep/down/here | grep -q tmp && fail "something temporary was left"
passed "profiles"

mkdir thesis && echo precious >thesis/chapter1.tex
expect 2 "holds other files" "$TT" profile $tiny $quick --out thesis
[ "$(ls thesis)" = chapter1.tex ] || fail "something was written into a folder of other things"
expect 2 "chapter1.tex" "$TT" profile $tiny $quick --out thesis/chapter1.tex
expect 2 "out" "$TT" profile $tiny $quick --out ""
expect 2 "num-steps" "$TT" profile --num-steps 0
expect 2 "sweep" "$TT" profile --sweep depth
expect 2 "did you mean" "$TT" profile --num-step 3
expect 2 "num-heads" "$TT" profile --hidden-dim 30 --num-heads 4 --out nothing
[ -e nothing ] && fail "a wrong shape left a folder"
expect 2 "missing.txt" "$TT" profile $tiny $quick --data missing.txt --out nothing
[ -e nothing ] && fail "missing data left a folder"
seq 1 2000 >numbers.txt
texts=${tiny/--vocab-size 50/}
expect 0 "saved   of_text" "$TT" profile $texts $quick --data numbers.txt --out of_text --quiet
expect 0 "tensors have a gradient" "$TT" check grads $texts --data numbers.txt --quiet
expect 2 "vocab-size" "$TT" profile $tiny $quick --data numbers.txt --out nothing
if [ "$(id -u)" != 0 ]; then
    mkdir locked && chmod a-w locked
    expect 1 "locked" "$TT" profile $tiny $quick --out locked
    expect 1 "locked" "$TT" profile $tiny $quick --out locked/inside
fi
passed "what is refused"

expect 0 "PREDICTION" "$TT" info --preset small --precision bf16 --predict mi300x,mi325x,mi355x,mi250x,7900xtx,h100,h200
grep -q "note    mi250x is the AMD Instinct MI250X, one of 2 dies" out || fail "a prediction of half a card is not called so"
[ "$(grep -cE '^(mi300x|mi325x|mi355x|mi250x|7900xtx|h100|h200) ' out)" = 7 ] || fail "not a row for each chip"
for preset in medium gpt2 1b; do expect 0 "tokens/s" "$TT" info --preset $preset --precision bf16 --predict mi300x; done
expect 0 '"prediction": true' "$TT" info $tiny --predict h200 --json
expect 2 "did you mean" "$TT" info --predict mi300
expect 2 "NVIDIA T4 has no bf16" "$TT" info --predict t4 --precision bf16
expect 2 "did you mean" "$TT" info --predict 8xmi300
expect 0 "hidden %" "$TT" info --preset small --precision bf16 --predict h200,8xh200,4x8xh200 --shard weights
[ "$(grep -c "NVLink 4\|InfiniBand x 8  *400.0" out)" = 2 ] || fail "the slowest link is not named"
grep -q "InfiniBand, 400 Gb/s for each GPU (assumed)" out || fail "what is assumed is not said"
"$TT" info --preset small --precision bf16 --predict h200 --json | grep '"predicted_seconds"' >one || fail "predict"
"$TT" info --preset small --precision bf16 --predict h200 --shard weights --json | grep '"predicted_seconds"' >same || fail "predict"
cmp -s one same || fail "one GPU is predicted otherwise when there is nothing to divide"
expect 0 '"predicted_exposed_seconds"' "$TT" info $tiny --predict h200 --ranks 8 --json
expect 0 "4 x 16 tokens" "$TT" info $tiny --predict 8xh200 --global-batch 32
expect 2 "2x8xh200" "$TT" info $tiny --predict h200 --ranks 16
expect 2 "leave --ranks out" "$TT" info $tiny --predict 8xh200 --ranks 4
expect 2 "depends on the machine" "$TT" info $tiny --predict 2xmi250x
expect 2 "--predict" "$TT" info --measured first
if on_cpu; then expect 2 "none of the chips" "$TT" info $tiny --predict h200 --measured first; fi
expect 2 "seq-len 16" "$TT" info $tiny --seq-len 8 --predict h200 --measured first
expect 2 "version flash" "$TT" info $tiny --version fused --predict h200 --measured first
expect 2 "--documents joined" "$TT" info $tiny --documents separate --predict h200 --measured first
expect 2 "nowhere" "$TT" info $tiny --predict h200 --measured nowhere
mkdir h200 && sed 's/"device": "[^"]*"/"device": "NVIDIA H200"/' first/profile.json >h200/profile.json
expect 0 "measured on NVIDIA H200" "$TT" info $tiny --predict mi300x,h200 --measured h200
grep -q "times" out || fail "no comparison of the groups"
expect 2 "a profile is of a single chip" "$TT" info $tiny --predict 8xh200 --measured h200
passed "predictions"

finish
