#!/usr/bin/env bash
# Habits that people bring from a PyTorch guide: a folder of data, another program's config.yaml, epochs, a graphics
# card at home. tt once refused or misread each of these.
set -u
. tests/lib.sh
needs_device
export XDG_CACHE_HOME=$dir/cache TT_EXERCISES=$root/exercises
cd "$dir" || exit 1
tiny="--hidden-dim 32 --num-layers 2 --num-heads 4 --num-kv-heads 2 --ffn-dim 48 --seq-len 16 --batch-size 4"
for i in $(seq 1200); do echo "line $i of a text that has some words"; done >text.txt

# ---- the README's cmake and cpack lines name the folder in which ./run builds ----
grep -oE 'cmake --install [^ ]+|cpack --config [^ `]+' "$root/README.md" >lines
[ "$(wc -l <lines)" = 3 ] || fail "the README installs $(wc -l <lines) times"
grep -v "build/cpu" lines && fail "the README installs from a folder that ./run does not make"

# ---- a folder written by tt data ----
for folder in tokens 'odd [1]'; do
    word=$folder
    [ "$folder" = tokens ] || word="'$folder'"
    expect 0 "train on them: tt train --data $word" "$TT" data text.txt --tokenizer chars --out "$folder"
    expect 0 "of 16 to train" "$TT" train $tiny --num-steps 3 --data "$folder/" --out "on $folder"
    grep -q "(chars, vocabulary" out || fail "the tokenizer of $folder is not taken"
    grep -q "in 2 files" out || fail "the validation data of $folder are not taken"
    expect 0 "val_*.bin: " "$TT" eval "on $folder"
    expect 0 "val_*.bin: " "$TT" eval "on $folder" --data "$folder"
    expect 0 "resume" "$TT" train --resume "on $folder" --data "$folder" --num-steps 4
    grep -q "not those of the checkpoint" out && fail "the same folder counts as other data"
done
mkdir -p half/train_000002.bin.part # this file cannot be written, so tt data removes what it has written so far
expect 2 "train_000002.bin.part" "$TT" data text.txt --tokenizer chars --out half --shard-tokens 8192
[ "$(find half -type f ! -name '.*')" = "" ] || fail "tt data leaves a part of the data: $(ls half)"
rmdir half/train_000002.bin.part
expect 0 "train on them" "$TT" data text.txt --tokenizer chars --out half --shard-tokens 8192
[ "$(find half -name '*.part')" = "" ] || fail "tt data leaves parts: $(ls half)"
"$TT" train $tiny --num-steps 3 --data 'tokens/train_*.bin' --val-data 'tokens/val_*.bin' --out by-pattern >out 2>err || fail "patterns"
cmp -s by-pattern/step-00000003/model.safetensors 'on tokens/step-00000003/model.safetensors' || fail "a folder is not what its patterns are"
expect 0 "saved" "$TT" profile ${tiny} --data tokens --num-steps 1 --warmup 1 --out of-folder --quiet
mkdir other
expect 2 "is a folder" "$TT" train $tiny --data other --out never
passed "a folder of tt data"

# ---- results only; JSON on request ----
"$TT" profile $tiny --num-steps 1 --warmup 1 --out of-folder --quiet >out 2>err || fail "profile --quiet"
[ "$(sed 's/ .*//' out | tr '\n' ' ')" = "step saved " ] || fail "profile --quiet prints more than its results"
grep -q "an earlier profile was replaced" err || fail "a replaced profile is not told with --quiet"
"$TT" exercise list --json >out 2>err || fail "exercise list --json"
[ "$(head -n 1 out)" = "[" ] && [ "$(tail -n 1 out)" = "]" ] || fail "exercise list --json is no list"
[ "$(grep -c '"exercise": ' out)" = "$(ls -d "$root"/exercises/[0-9]*-* | wc -l)" ] || fail "exercise list --json has not all of them"
grep -q '"title": "Baseline analysis"' out || fail "exercise list --json has no titles"
passed "results only"

# ---- variables of the environment are checked before they are stored ----
expect 2 "PRESET=bogus: there is no such preset" env PRESET=bogus "$TT" exercise start 1 mine
expect 2 "did you mean small" env PRESET=smal "$TT" exercise start 1 mine
expect 2 "STEPS=ten" env STEPS=ten "$TT" exercise start 1 mine
[ -e mine ] && fail "a refused exercise left a folder"
expect 0 "worksheet" env PRESET=tiny STEPS=3 LONG=nonsense "$TT" exercise start 1 mine # exercise 1 has no LONG
passed "variables of an exercise"

# ---- a sequence that does not fit is not blamed on the model ----
long="--seq-len 1000000 --hidden-dim 2048 --num-layers 64 --num-heads 32" # too long for any machine, even one at a time
expect 1 "shorter sequence: --batch-size 1 --seq-len" "$TT" diagnose $long --quick
expect 1 "choose a shorter sequence" "$TT" train $long --out never
expect 0 "a shorter --seq-len" "$TT" info $long
[ -e never ] && fail "a refused run wrote something"
passed "sequences that are too long"

# ---- the file of --print-config also works for fewer steps ----
"$TT" train $tiny --print-config >run.yaml
grep -q "^warmup-steps: 20" run.yaml || fail "no warm-up in the file"
expect 0 "saved" "$TT" train --config run.yaml --num-steps 5 --out short
expect 2 "does not fit" "$TT" train --config run.yaml --num-steps 5 --warmup-steps 20 --out never
sed 's/^num-steps:.*/num-steps: 5/' run.yaml >both.yaml
expect 2 "does not fit" "$TT" train --config both.yaml --out never
passed "warm-up"

# ---- metrics have each step's own speed; the progress line has a loss from the beginning ----
"$TT" train $tiny --num-steps 30 --val-interval 0 --out speeds >out 2>err || fail "train"
grep '"loss"' speeds/metrics.jsonl | sed 's/.*"tokens_per_second"://; s/,.*//' >speed
grep -q null speed && fail "steps without a speed"
[ "$(sort -u speed | wc -l)" -gt 20 ] || fail "30 steps have $(sort -u speed | wc -l) speeds"
if has script; then
    COLUMNS=200 script -qec "'$TT' train $tiny --num-steps 9 --val-interval 0 --out ''" /dev/null </dev/null >live 2>err
    tr '\r' '\n' <live | grep -a 'step [0-9]*/9  loss' >lines
    [ -s lines ] || fail "no progress line on a terminal"
    if on_cpu && grep -qa "loss -" lines; then fail "a progress line without a loss: $(head -n 1 lines)"; fi
fi
passed "speeds and losses"

# ---- the speed in a log line is that of its steps, without the validation between them ----
"$TT" train $tiny --num-steps 8 --log-interval 4 --val-interval 6 --val-batches 300 --out validated >out 2>err || fail "train"
awk '/^step +8\/8 .*tok\/s/ {for (i = 2; i <= NF; i++) if ($i == "tok/s") print $(i - 1)}' out >said
sed -n 's/.*"step":\([5-8]\),.*"tokens_per_second":\([0-9.e+]*\).*/\2/p' validated/metrics.jsonl |
    awk '{s += 1 / $1} END {if (NR) print NR / s}' >steps
[ "$(cat said steps | wc -l)" = 2 ] || fail "no speeds: $(cat out)"
awk 'NR == 1 {said = $1} NR == 2 {exit !(said > 0.6 * $1)}' said steps || fail "the line says $(cat said) tok/s, its steps had $(cat steps)"

# ---- the progress line is updated between log lines ----
if has script && on_cpu; then
    slow="--hidden-dim 128 --num-layers 2 --seq-len 128 --batch-size 8"
    COLUMNS=200 script -qec "OMP_NUM_THREADS=1 '$TT' train $slow --num-steps 16 --log-interval 6 --val-interval 0 --out ''" /dev/null \
        </dev/null >live 2>err
    tr '\r' '\n' <live | sed 's/\x1b\[[0-9;]*[mK]//g' >lines
    line=$(awk '/^step +6\/16 .*lr/ {for (i = 1; i < NF; i++) if ($i == "loss") print $(i + 1)}' lines)
    [ -n "$line" ] || fail "no log line: $(cat lines)"
    awk -v line="$line" '/^step (7|8|9|10|11)\/16 / {for (i = 1; i < NF; i++) if ($i == "loss") {n++; same += $(i + 1) == line}}
        END {exit n && same == n}' lines || fail "the progress line keeps the loss of the log line: $(grep -a '/16' lines)"
    # a step long enough for a progress line of its own is long enough to be timed
    awk '/^step (7|8|9|10|11)\/16 / {for (i = 2; i <= NF; i++) if ($i == "steps/s" || $i == "s/step") {n++; seen[$(i - 1)] = 1}}
        END {for (x in seen) k++; exit n > 4 && k == 1}' lines || fail "the progress line keeps the speed of the log line: $(grep -a '/16' lines)"
fi
passed "the progress line"

# ---- a config.yaml from a guide ----
cat >config.yaml <<'TEXT'
device: auto
data:
  path: text.txt
  max_chars: 5000   # of about 47000
training:
  batch_size: 4
  gradient_clip: 1.0
  log_interval: 100
model:
  n_embd: 32
  n_layer: 1
  n_head: 2
  num_key_value_heads: 1
  intermediate_size: 32
  block_size: 16
TEXT
expect 0 "data    text.txt: 5000 tokens" "$TT" train --config config.yaml --num-steps 2 --out of-config
expect 0 "saved" "$TT" train --resume of-config --num-steps 3
grep -q "text.txt: 5000 tokens" out || fail "a run that goes on reads another part of the text"
expect 0 "4000 bytes became" "$TT" data text.txt --max-chars 4000 --out fewer
printf '\303\251%.0s' $(seq 3000) >accents.txt
expect 0 "2000 bytes became" "$TT" data accents.txt --max-chars 1000 --out accents # 1000 characters, not bytes
sed 's/log_interval: 100/use_compile: true\n  num_workers: 4\n  grad_norm_max: 1/' config.yaml >other.yaml
"$TT" train --config other.yaml --out never 2>err && fail "unknown keys were taken"
for words in "line 8: there is no option training.use_compile; version does that" "training.num_workers; prefetch does that" \
    "line 10: there is no option training.grad_norm_max; "; do grep -qF "$words" err || fail "not said: $words: $(cat err)"; done
[ -e never ] && fail "a refused run wrote something"
# a setting that tt does not have is accepted, with a note, if its value is what tt does anyway
sed 's/device: auto/device: cpu/; s/log_interval: 100/dropout: 0.0\n  optimizer: AdamW/; s/n_embd: 32/n_embd: 32\n  bias: false/' config.yaml >settled.yaml
if on_cpu; then
    expect 0 "saved" "$TT" train --config settled.yaml --num-steps 2 --out of-settled
    for words in "dropout: 0.0 is what tt does anyway" "optimizer: AdamW is what" "bias: false is what tt does anyway: no layer has a bias"; do
        grep -qF "$words" err || fail "not said: $words: $(cat err)"
    done
    { echo 'training: {batch_size: 2, use_compile: false, log_interval: 1}'; echo 'optimizer: {type: adamw, lr: 0.001}'
        echo 'model: {n_embd: 32, n_layer: 1, n_head: 2}'; echo 'data: {path: text.txt, max_chars: 5000}'; } >braces.yaml
    expect 0 "data    text.txt: 5000 tokens" "$TT" train --config braces.yaml --num-steps 2 --out of-braces
    for words in "type: adamw is what tt does anyway: the optimiser is AdamW" "use_compile: false is what tt does anyway"; do
        grep -qF "$words" err || fail "not said: $words: $(cat err)"
    done
    sed 's/adamw/sgd/' braces.yaml >sgd.yaml
    expect 2 "there is no option optimizer.type; the optimiser is AdamW, so only adamw is right" "$TT" train --config sgd.yaml --out never
    sed 's/device: cpu/device: mps/' settled.yaml >mps.yaml
    expect 2 "not on mps; write auto, or leave the key out" "$TT" train --config mps.yaml --out never
    sed 's/device: cpu/device: cuda/' settled.yaml >cuda.yaml
    expect 2 "line 1: device: this tt was built for cpu and computes there; for cuda build another: cmake -B build -DBACKEND=cuda" \
        "$TT" train --config cuda.yaml --out never
else
    expect 2 "-DBACKEND=cpu" "$TT" train --config settled.yaml --out never
    sed 's/device: cpu/device: cuda:0/' settled.yaml >cuda.yaml
    expect 0 "saved" "$TT" train --config cuda.yaml --num-steps 2 --out of-cuda
fi
sed 's/dropout: 0.0/dropout: 0.1/' settled.yaml >dropout.yaml
expect 2 "there is no option training.dropout; there is no dropout, so only 0 is right" "$TT" train --config dropout.yaml --out never
[ -e never ] && fail "a refused run wrote something"
passed "the configuration of another program"

# ---- an epoch covers what is not held out ----
on_text="$tiny --data text.txt --max-chars 3000 --tokenizer chars --val-interval 0"
"$TT" train $on_text --num-steps 1 --out '' >out 2>err || fail "train"
windows=$(sed -n 's/.* \([0-9]*\) windows of 16 to train, [1-9][0-9]* to validate.*/\1/p' out)
each=$(((windows + 3) / 4)) all=$(((3 * windows + 3) / 4))
expect 0 "epochs  3 of $windows sequences, 4 in a step: $all steps" "$TT" train $on_text --epochs 3 --save-epochs 1 --keep 0 --out whole
for words in "^step .*  epoch [0-9.]+/3  loss .* samples/s  eta" "^epoch 1/3  mean loss [0-9.]+  time .*  [0-9]+ samples/s" "^epoch 3/3" \
    "^epochs  3(\\.[0-9]*)? of 3, .* each .* samples/s" "^next .*--epochs 6"; do shows "$words"; done
steps=$(printf 'step-%08d ' $each $(((2 * windows + 3) / 4)) $all)
[ "$(cd whole && echo step-*) " = "$steps" ] || fail "saved $(cd whole && echo step-*), not $steps"
[ "$(grep -c '"epoch_loss":[0-9]' whole/metrics.jsonl)" = 3 ] || fail "metrics.jsonl has no line for each epoch"
grep -q '"epoch":3' whole/metrics.jsonl || fail "the last epoch is not in metrics.jsonl"
# a resumed run continues the epochs to the bit; with another batch size, samples are counted
mkdir on && cp -r whole/step-"$(printf %08d $each)" on
expect 0 "epoch 2/3" "$TT" train --resume auto --out on
cmp -s on/step-"$(printf %08d $all)"/model.safetensors whole/step-"$(printf %08d $all)"/model.safetensors || fail "epochs: resumed weights differ"
expect 2 "give a larger --epochs" "$TT" train --resume auto --out on
mkdir within && "$TT" train $on_text --epochs 2 --save-interval 10 --keep 0 --out stops >out 2>err && cp -r stops/step-00000010 within
expect 0 "(of its steps from 11 on)" "$TT" train --resume auto --out within
grep -q '"epoch":1,.*"from_step":11}' within/metrics.jsonl || fail "an epoch that was seen in part: $(grep '"epoch"' within/metrics.jsonl)"
grep -q '"epoch":2,.*"from_step"' within/metrics.jsonl && fail "an epoch that was seen whole is said to be a part"
expect 0 "epoch 4/4" "$TT" train --resume auto --out on --epochs 4 --batch-size 8
left=$(((4 * windows - 4 * all + 7) / 8))
[ -d on/step-"$(printf %08d $((all + left)))" ] || fail "the fourth epoch in batches of 8 ends at $(cd on && echo step-*)"
expect 0 "saved" "$TT" train --resume auto --out on --num-steps $((all + left + 2))
grep -q "epoch" out && fail "epochs although the steps are given"
# gradient accumulation counts like a larger batch
expect 0 "8 in a step: $(((windows + 7) / 8)) steps" "$TT" train $on_text --epochs 1 --grad-accum 2 --out ''
expect 0 '"epochs":1' "$TT" train $on_text --epochs 1 --json --out ''
expect 0 "# num-steps: computed from --epochs" "$TT" train $on_text --epochs 2 --print-config
"$TT" train $on_text --epochs 1 --print-config >epochs.yaml
expect 0 "epoch 1/1" "$TT" train --config epochs.yaml --out ''
expect 0 "saved" "$TT" train --config epochs.yaml --num-steps 3 --out by-steps
expect 0 "$each steps see" "$TT" diagnose $on_text --epochs 1 --quick --out new
expect 2 "give one of them" "$TT" train $on_text --epochs 2 --num-steps 9 --out never
expect 2 "--data builtin never ends; give --num-steps" "$TT" train $tiny --epochs 2 --out never
expect 2 "--data random never ends; give --save-interval" "$TT" train $tiny --data random --save-epochs 2 --out never
[ -e never ] && fail "a refused run wrote something"
passed "epochs"

# ---- cards that this machine does not have ----
cards=rtx4080s,t4,3080,4070,4090,a5000,mi300x,16GiB
expect 0 "PREDICTION, not a measurement" "$TT" diagnose --preset small --precision fp16 --for $cards
[ "$(sed -n '/^card /,/^$/p' out | sed '1d; s/ .*//' | tr '\n' ' ')" = "4080s t4 3080 4070 4090 a5000 mi300x 16GiB  " ] || fail "not a row for each card"
row() { awk -v card="$1" '$1 == card' out; }
[ "$(row 16GiB | awk '{print $4}')" -ge "$(row 4080s | awk '{print $4}')" ] || fail "a card of 16 GiB holds more than 16 GiB"
[ "$(row 4090 | awk '{print $4}')" -gt "$(row 4070 | awk '{print $4}')" ] || fail "24 GiB hold no more than 12"
row 4080s | grep -qE ' [0-9.]+ - [0-9.]+ +[0-9.]+ - [0-9.]+ +[0-9]+ - [0-9]+$' || fail "no time and throughput of a 4080s: $(row 4080s)"
most=$(row 16GiB | awk '{print $4}')
expect 0 "PREDICTION" "$TT" diagnose --preset small --precision fp16 --batch-size "$most" --for 16GiB
row 16GiB | grep -q ' yes' || fail "the largest batch, $most, does not fit: $(row 16GiB)"
expect 0 "PREDICTION" "$TT" diagnose --preset small --precision fp16 --batch-size $((most + 1)) --for 16GiB
row 16GiB | grep -q ' no' || fail "$((most + 1)) fits, but the largest batch is $most"
expect 2 "leave out --ranks" "$TT" diagnose --for h200 --preset small --ranks 8
expect 0 "an epoch" "$TT" diagnose --for t4 --data text.txt
expect 0 "it has no bf16" "$TT" diagnose --precision bf16 --for t4
expect 0 "not even --batch-size 1 fits" "$TT" diagnose --preset xl --precision bf16 --for 4090,h200
expect 0 '"samples_per_second_high"' "$TT" diagnose --for mi300x --json
expect 2 'there is no card "4080x", did you mean 4080s?; there are t4, ' "$TT" diagnose --for 4080x
expect 2 "sizes of memory: 16GiB" "$TT" diagnose --for abacus
expect 2 "there is no card" "$TT" diagnose --for 16
expect 0 "4080s " "$TT" info --predict rtx4080s,2xRTX4090
expect 2 'there is no card "4080x", did you mean 4080s?; there are t4, ' "$TT" info --predict 8x4080x
expect 2 "missing.txt" "$TT" diagnose --for t4 --data missing.txt
many=t4$(printf ',t4%.0s' $(seq 20))
expect 2 "at most 32 cards" "$TT" diagnose --for "$many" --for "$many"
passed "cards that are not here"

# ---- selective updates: the start names the setting, and the command line overrides the checkpoint's ----
printf 'update: top-k\nupdate_share: 0.1\nupdate_every: 3\n' >chosen.yaml
expect 0 "saved" "$TT" train $tiny --config chosen.yaml --num-steps 4 --out chosen
grep -qE '^update  [0-9]+ of [0-9]+ groups in a step \(level matrix, by norm\), one choice for 3 steps$' out || fail "the start does not say what is updated"
expect 0 "saved" "$TT" train --resume auto --out chosen --update all --num-steps 6
grep -q '^update ' out && fail "--update all still chooses"
expect 0 "saved" "$TT" train --resume chosen/step-00000004 --update-count 5 --num-steps 6 --out counted
expect 2 "leave --update-share out" "$TT" train --resume auto --out chosen --update all --update-share 0.5 --num-steps 8
expect 2 "cannot make the folder" "$TT" profile $tiny --num-steps 1 --tensorboard /proc/none --out unmeasured
[ -e unmeasured ] && fail "a profile was written that ended with 2"
passed "selective updates"

finish
