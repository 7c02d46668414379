#!/usr/bin/env bash
# The commands as a user types them: train, stop, resume, eval, generate, data, info, bench, and what they refuse.
set -u
. tests/lib.sh
needs_device
cd "$dir" || exit 1
tiny="--hidden-dim 32 --num-layers 2 --num-heads 4 --num-kv-heads 2 --ffn-dim 48 --seq-len 16 --batch-size 4"

same() { cmp -s "$1" "$2" || fail "$3"; }

# ---- train and resume ----
expect 0 "grammar" "$TT" train $tiny --num-steps 12 --out whole
[ -f whole/step-00000012/model.safetensors ] || fail "no checkpoint"
grep -q '"step":12' whole/metrics.jsonl || fail "no metrics of the last step"
expect 0 "floor" "$TT" train $tiny --num-steps 12 --out parts --save-interval 5
grep -q "^loss    [0-9.]*, floor" out || fail "the loss of a run that was validated at its end needs no label"
rm -rf parts/step-00000012
expect 0 "resume" "$TT" train --resume auto --out parts
same whole/step-00000012/model.safetensors parts/step-00000012/model.safetensors "resumed weights differ"
same whole/step-00000012/state.safetensors parts/step-00000012/state.safetensors "resumed moments differ"
[ "$(grep -c '"loss"' parts/metrics.jsonl)" = 12 ] || fail "metrics of a resumed run have gaps or doubles"
for steps in 12 13; do # with 12 it is the original run
    rm -rf "on-$steps" && mkdir "on-$steps" && cp -r parts/step-00000005 "on-$steps"
    expect 0 "resume" "$TT" train --resume auto --num-steps $steps --out "on-$steps"
    [ $steps = "$(grep -q 'learning rate now decays until step 13' out && echo 13 || echo 12)" ] || fail "resumed to $steps steps: says otherwise of the bits"
done
same whole/step-00000012/model.safetensors on-12/step-00000012/model.safetensors "a run resumed with the steps it had differs"
expect 2 "has run all 12 steps" "$TT" train --resume auto --out parts
mkdir notes && touch notes/step-by-step.md
expect 0 "saved   notes/step-" "$TT" train $tiny --num-steps 1 --out notes # a folder that holds no run
[ -e notes/step-by-step.md ] || fail "a folder that is no run was moved away"
expect 0 "resume auto --out 'my run'" "$TT" train $tiny --num-steps 1 --out "my run"
expect 0 "moved to whole.1" "$TT" train $tiny --num-steps 2 --out whole
[ -d whole.1/step-00000012 ] || fail "an earlier run was lost"
expect 0 "moved to whole.2" "$TT" train --resume parts/step-00000005 --num-steps 6 --out whole
[ -d whole.2/step-00000002 ] || fail "an earlier run was lost to another's checkpoint"
for version in baseline fused; do
    expect 0 "resume" "$TT" train --resume parts/step-00000005 --version $version --num-steps 14 --out "on-$version"
done
# The position counts samples, also if a resumed run has more of them per step.
mkdir other-rows again && cp -r parts/step-00000005 other-rows
expect 0 "resume" "$TT" train --resume auto --batch-size 7 --num-steps 12 --save-interval 4 --out other-rows
cp -r other-rows/step-00000008 again
expect 0 "resume" "$TT" train --resume auto --num-steps 12 --out again
same other-rows/step-00000012/model.safetensors again/step-00000012/model.safetensors "a run whose batch-size changed does not resume to its bits"
grep -q '"position": *41\b' again/step-00000008/checkpoint.json || fail "5 steps of 4 and 3 of 7 samples are not at $(grep -o '"position": *[0-9]*' again/step-00000008/checkpoint.json)"
passed "train and resume"

# ---- a run resumes in its own folder, and no other run is touched ----
mkdir -p away/runs && cp -r parts/step-00000005 away/runs
echo '{"step":5}' >away/runs/metrics.jsonl
"$TT" train $tiny --num-steps 2 --quiet >out 2>err || fail "a run in runs/default"
before=$(find runs -type f | sort | xargs cksum)
expect 0 "saved   away/runs/step-00000007" "$TT" train --resume away/runs --num-steps 7
expect 0 "saved   away/runs/step-00000008" "$TT" train --resume away/runs/step-00000007/ --num-steps 8
expect 2 "not the newest checkpoint of its run, away/runs/step-00000008 is" "$TT" train --resume away/runs/step-00000005 --num-steps 9
expect 2 "give another --out" "$TT" train --resume away/runs/step-00000005 --num-steps 9 --out away/runs
expect 0 "saved   branch/step-00000009" "$TT" train --resume away/runs/step-00000005 --num-steps 9 --out branch
[ "$(ls away/runs)" = "$(printf 'metrics.jsonl\nrun.json\nstep-00000005\nstep-00000007\nstep-00000008')" ] || fail "the run holds: $(ls away/runs)"
printf 'x' | dd of=away/runs/step-00000008/model.safetensors bs=1 seek=3000 conv=notrunc 2>/dev/null
expect 0 "saved   away/runs/step-00000009" "$TT" train --resume away/runs/step-00000007 --num-steps 9
(cd away/runs && "$TT" train --resume step-00000009 --num-steps 10 --quiet >/dev/null) && [ -d away/runs/step-00000010 ] || fail "not gone on from inside its folder"
expect 0 "# out: the folder of the resumed run" "$TT" train --resume away/runs --print-config
[ "$before" = "$(find runs -type f | sort | xargs cksum)" ] && [ "$(ls runs)" = default ] || fail "another run was touched"
cp -r away/runs/step-00000010 best # belongs to no run: a new run begins, and the earlier one is moved aside
expect 0 "moved to runs/default.1" "$TT" train --resume best --num-steps 11
[ -d runs/default/step-00000011 ] && [ -d runs/default.1/step-00000002 ] || fail "a checkpoint of no run goes on in $(ls)"
rm -rf runs
passed "a run goes on in its own folder"

# ---- damage ----
"$TT" train $tiny --num-steps 6 --save-interval 2 --out hurt >out 2>err || fail "train for damage"
printf 'x' | dd of=hurt/step-00000006/model.safetensors bs=1 seek=3000 conv=notrunc 2>/dev/null
expect 0 "step-00000004" "$TT" train --resume auto --out hurt
grep -q "step-00000006" err || fail "no warning about the damaged checkpoint"
[ -d hurt/step-00000006.damaged ] || fail "a damaged checkpoint was lost"
printf 'x' | dd of=hurt/step-00000006/model.safetensors bs=1 seek=3000 conv=notrunc 2>/dev/null
expect 0 "to hurt/step-00000006.damaged.1" "$TT" train --resume auto --num-steps 8 --save-interval 7 --keep 3 --out hurt
[ "$(cd hurt && echo step-*[0-9])" = "step-00000004 step-00000006.damaged.1 step-00000007 step-00000008" ] ||
    fail "--keep 3 counted a damaged checkpoint: $(ls hurt)"
passed "a damaged checkpoint is skipped, and --keep does not count it"

# ---- signals ----
for signal in INT TERM USR1; do
    "$TT" train $tiny --num-steps 100000 --val-interval 0 --log-interval 5 --out "sig-$signal" >out 2>err &
    pid=$!
    for _ in $(seq 1200); do grep -q "step" "sig-$signal/metrics.jsonl" 2>/dev/null && break; sleep 0.05; done
    kill -$signal $pid
    wait $pid
    code=$?
    [ $code = 130 ] || fail "SIG$signal: exit $code"
    grep -q -- "--resume auto" err || fail "SIG$signal: does not say how to go on"
    ls -d "sig-$signal"/step-* >/dev/null 2>&1 || fail "SIG$signal: saved nothing"
done
for interval in 50 1000000; do # stopped after a validation, and before the first
    "$TT" train $tiny --num-steps 1000000 --val-interval $interval --val-batches 1 --log-interval 5 --out "loss-$interval" >out 2>err &
    pid=$!
    for _ in $(seq 1200); do grep -q '"step":[0-9]*55,' "loss-$interval/metrics.jsonl" 2>/dev/null && break; sleep 0.05; done
    kill -INT $pid
    wait $pid
    step=$(sed -n 's/.*after step \([0-9]*\) of.*/\1/p' err)
    validated=$((step - step % interval))
    words="of the validation after step $validated,"
    [ $validated = 0 ] && words="of training, not validated,"
    [ $validated = "$step" ] || grep -q "^loss    [0-9.]* $words" out || fail "stopped after step $step: the loss is not said to be $words"
done
passed "signals save and stop"

# ---- Ctrl-C is for the foreground. A script's shell lets background jobs ignore it; an explicit kill -INT, as above,
# counts ----
if has python3; then
    cat >background.sh <<'END'
trap 'touch caught' INT
"$TT" train "$@" >out 2>err &
steps() { cat background/metrics.jsonl 2>/dev/null | wc -l; }
until [ "$(steps)" -gt 5 ] || ! kill -0 $!; do sleep 0.05; done
touch ready
for _ in $(seq 600); do [ -e caught ] && break; sleep 0.05; done
until [ "$(steps)" -gt $((${before:=$(steps)} + 40)) ] || ! kill -0 $!; do sleep 0.05; done
kill -TERM $!
wait $!
END
    TT=$TT timeout 100 python3 - $tiny --num-steps 1000000 --val-interval 0 --log-interval 5 --out background <<'END'
import os, pty, sys, time
pid, terminal = pty.fork()
if not pid:
    os.execvp("bash", ["bash", "background.sh", *sys.argv[1:]])
while not os.path.exists("ready"):
    time.sleep(0.05)
os.write(terminal, b"\x03")
os.waitpid(pid, 0)
END
    [ -e caught ] || fail "the script has seen no Ctrl-C"
    grep -q "stopped by Terminated" err || fail "Ctrl-C reaches a run in the background"
    passed "Ctrl-C and the background"
fi

# ---- a metrics file larger than memory: what follows the last whole line is removed ----
expect 0 "saved" "$TT" train $tiny --num-steps 4 --out huge
cp huge/metrics.jsonl lines
if truncate -s 5G huge/metrics.jsonl 2>/dev/null; then
    expect 0 "saved" "$TT" train --resume auto --num-steps 6 --out huge
    head -c "$(stat -c %s lines)" huge/metrics.jsonl | cmp -s - lines && [ "$(stat -c %s huge/metrics.jsonl)" -lt 10000 ] ||
        fail "the lines are not those before, or more: $(stat -c %s huge/metrics.jsonl) bytes"
fi
passed "metrics of a long run"

# ---- a refused run leaves nothing behind ----
expect 2 "in the way" "$TT" train $tiny --num-steps 2 --out whole/metrics.jsonl/x
expect 2 "--val-interval" "$TT" train $tiny --num-steps 2 --val-intervall 3 --out never
expect 2 "did you mean" "$TT" train --preset smal --out never
expect 2 "hidden" "$TT" train $tiny --hidden-dim 33 --out never
expect 2 "kv" "$TT" train $tiny --num-kv-heads 3 --out never
if on_cpu; then expect 2 "cuda" "$TT" train $tiny --precision bf16 --out never; fi
expect 2 "missing.bin" "$TT" train $tiny --data missing.bin --out never
: >empty.txt
expect 2 "empty" "$TT" train $tiny --data empty.txt --out never
expect 2 "no checkpoint" "$TT" eval whole/nothing
expect 2 "no checkpoint" "$TT" generate .
expect 2 "64" "$TT" train $tiny --vocab-size 30 --out never
expect 1 "fits" "$TT" train --preset medium --batch-size 4000 --out never
expect 1 "choose a smaller model" "$TT" train --preset xl --num-layers 400 --out never
[ -e never ] && fail "a refused run wrote something"
(ulimit -f 8; "$TT" train $tiny --num-steps 2 --out full >out 2>err)
[ $? = 1 ] || fail "a full disk: exit $?"
ls full/step-* >/dev/null 2>&1 && fail "a full disk left a checkpoint"
passed "bad input is refused"

# ---- eval and generate ----
expect 0 "gap" "$TT" eval parts
expect 0 '"loss"' "$TT" eval parts --json
"$TT" generate parts --max-tokens 30 --seed 3 --quiet >a 2>/dev/null || fail "generate"
"$TT" generate parts --max-tokens 30 --seed 3 --quiet --no-cache >b 2>/dev/null || fail "generate without cache"
"$TT" generate parts --max-tokens 30 --seed 4 --quiet >c 2>/dev/null
same a b "cached and uncached text differ"
cmp -s a c && fail "another seed gives the same text"
expect 0 "the" "$TT" generate parts --prompt "the small cat" --temperature 0 --max-tokens 5
expect 0 '"text":"the small cat' "$TT" generate parts --prompt "the small cat" --temperature 0 --max-tokens 5 --json
"$TT" generate parts --max-tokens 30 --seed 3 --json >out 2>err
[ "$(sed 's/.*"text":"\([^"]*\)".*/\1/' out)" = "$(cat a)" ] || fail "generate --json has another text than generate"
expect 0 "1 token, " "$TT" generate parts --max-tokens 1
expect 2 "zebra" "$TT" generate parts --prompt "the zebra"
printf 'the small cat\na dog\n' >prompts.txt
printf '{"prompt": "the small cat"}\n{"id": 7, "prompt": "a dog"}\n' >prompts.jsonl
"$TT" generate parts --prompt "the small cat" --prompt "a dog" --num-samples 2 --max-tokens 20 --seed 7 --json >three 2>err || fail "generate of several prompts"
[ "$(wc -l <three)" = 4 ] || fail "two samples of two prompts are $(wc -l <three) lines"
printf '"the small cat"\r\n\r\n{"prompt": "a dog"}\r\n' >prompts.ndjson
files="prompts.txt prompts.jsonl prompts.ndjson crlf.txt"
command -v gzip >/dev/null && gzip -k prompts.jsonl && files+=" prompts.jsonl.gz"
printf 'the small cat\r\na dog' >crlf.txt
for file in $files; do
    "$TT" generate parts --prompts $file --num-samples 2 --max-tokens 20 --seed 7 --json --rows 3 >by-file 2>err || fail "generate --prompts $file"
    same three by-file "$file, three rows at a time"
done
printf 'the small cat\n\na dog\n' >gap.txt # an empty line is a prompt, so that prompt numbers match line numbers
"$TT" generate parts --prompt "the small cat" --prompt "" --prompt "a dog" --max-tokens 20 --seed 7 --json >gap 2>err || fail "an empty prompt"
grep -q '"prompt":2,' gap || fail "the third of three prompts is not number 2: $(cat gap)"
"$TT" generate parts --prompts gap.txt --max-tokens 20 --seed 7 --json >by-file 2>err || fail "a file with an empty line"
same gap by-file "an empty line"
"$TT" generate parts --prompts - --max-tokens 20 --seed 7 --json <gap.txt >by-file 2>err || fail "the standard input"
same gap by-file "the standard input"
text_of() { sed 's/.*"text":"\([^"]*\)".*/\1/'; }
for line in 1 2 3 4; do
    prompt="the small cat"
    [ $line -gt 2 ] && prompt="a dog"
    "$TT" generate parts --prompt "$prompt" --max-tokens 20 --seed $((8 - line % 2)) --quiet >alone 2>err
    [ "$(sed -n ${line}p three | text_of)" = "$(cat alone)" ] || fail "line $line is not what the prompt gives alone"
done
"$TT" generate parts --prompt "a dog" --max-tokens 60 --seed 7 --stop "." --json >stopped 2>err || fail "generate --stop"
"$TT" generate parts --prompt "a dog" --max-tokens 60 --seed 7 --quiet >whole-text 2>err
[ "$(text_of <stopped)" = "$(cut -d. -f1 whole-text)" ] || fail "--stop does not end the text before it"
grep -q '"finish":"stop"' stopped || fail "--stop is not named"
"$TT" generate parts --prompt "a dog" --max-tokens 60 --seed 7 --stop "." --quiet >streamed 2>err
[ "$(cat streamed)" = "$(text_of <stopped)" ] || fail "what is printed as it comes is not the text of --json"
expect 0 '"finish":"end-token"' "$TT" generate parts --prompt "a dog" --max-tokens 60 --seed 7 --end-token 0 --json
expect 0 '"finish":"length"' "$TT" generate parts --max-tokens 3 --repetition-penalty 1.5 --json
printf '{"prompt": "a dog"}\n{"text": "a dog"}\n' >bad.jsonl
expect 2 "bad.jsonl:2: the line is neither a string nor an object" "$TT" generate parts --prompts bad.jsonl
expect 0 "prompt tok/s" "$TT" bench --generate 1,3 --sizes default --prompt-tokens 20 --new-tokens 4 --profile-dir generated
grep -q '"rows":' generated/bench.json || fail "bench --generate --profile-dir: $(cat generated/bench.json)"
expect 2 "is for training steps" "$TT" bench --generate 1 --sizes default --repeats 3
"$TT" generate parts --max-tokens 100000 --quiet >endless 2>err &
until [ -s endless ] || ! kill -0 $!; do sleep 0.1; done
kill -INT $!
wait $!
[ $? = 130 ] || fail "an interrupted generate ends with $?"
[ -s endless ] || fail "an interrupted generate printed nothing"
expect 2 "an empty text would end" "$TT" generate parts --stop ""
expect 2 "an empty text would end" "$TT" generate parts --stop . --stop ""
rm endless # or a signal could reach the shell before it becomes tt
"$TT" generate parts --max-tokens 100000 --no-cache --quiet >endless 2>err & # the first token is printed before the rest exists
pid=$!
for i in $(seq 600); do
    [ -s endless ] && break
    sleep 0.1
done
kill -INT $pid
wait $pid
[ $? = 130 ] || fail "an interrupted generate --no-cache ends with $?"
[ -s endless ] || fail "generate --no-cache printed nothing for a minute"
passed "eval and generate"

# ---- data ----
for i in $(seq 400); do echo "line $i of a text that has some words, and some of them again and again"; done >text.txt
for kind in bytes chars bpe; do
    expect 0 "train on them" "$TT" data text.txt --tokenizer $kind --vocab-size 300 --out "data-$kind"
    expect 0 "tokens" "$TT" data --inspect "data-$kind/train_000000.bin"
    expect 0 "perplexity" "$TT" train $tiny --num-steps 3 --data "data-$kind/train_*.bin" --val-data "data-$kind/val_*.bin" \
        --tokenizer "data-$kind/tokenizer.json" --out "run-$kind"
    expect 0 "line" "$TT" generate "run-$kind" --prompt "line" --max-tokens 5
    expect 0 "loss" "$TT" eval "run-$kind" --data text.txt
done
expect 2 "already" "$TT" data text.txt --out data-bytes
expect 0 "perplexity" "$TT" train $tiny --num-steps 3 --data text.txt --tokenizer chars --out run-text
loss_of() { "$TT" eval "$@" --val-batches 10000 --json 2>err | sed 's/.*"loss":\([^,]*\),.*"tokens":\([0-9]*\).*/\1 \2/'; }
own=$(loss_of run-text)
[ -n "$own" ] && [ "$own" = "$(loss_of run-text --data text.txt)" ] || fail "eval --data on the run's own file: not what was held out"
[ "$own" = "$(loss_of run-text --data text.txt --val-fraction 0.3)" ] && fail "eval --data: --val-fraction changes nothing"
[ "$(loss_of run-text --data text.txt --val-data text.txt)" = "$(loss_of run-text --val-data text.txt)" ] || fail "eval --val-data: not the whole file"
expect 0 "windows held out of its" "$TT" eval run-text --data text.txt
expect 0 "data    text.txt: 40 of its" "$TT" eval run-text --val-data text.txt --val-batches 10
grep -q "held out" out && fail "eval --val-data: says that a part was held out"
expect 0 "windows held out of its" "$TT" eval run-bytes --data text.txt # the run's own validation data are others
expect 0 "data    random tokens" "$TT" eval parts --val-data random # which is no data for the validation of its own
expect 0 "cannot be learned" "$TT" train $tiny --num-steps 3 --data random --vocab-size 100 --out run-random
expect 0 "perplexity" "$TT" train $tiny --num-steps 3 --data "data-bpe/train_*.bin" --out run-beside
expect 0 "line" "$TT" generate run-beside --prompt "line" --max-tokens 5
expect 2 "did you mean bpe" "$TT" train $tiny --data text.txt --tokenizer bep --out never
expect 2 "a --vocab-size of at least 300," "$TT" train $tiny --data text.txt --tokenizer data-bpe/tokenizer.json --vocab-size 33 --out never
expect 2 "a --vocab-size of at least 300," "$TT" train $tiny --data "data-bpe/train_*.bin" --vocab-size 33 --out never
cp data-bpe/train_000000.bin alone.bin
largest=$("$TT" data --inspect alone.bin --json | sed 's/.*"largest[^:]*":\([0-9]*\).*/\1/')
expect 2 "a --vocab-size of at least $((largest + 1))," "$TT" train $tiny --data alone.bin --vocab-size 33 --out never
head -c 1500 data-bytes/train_000000.bin >short.bin
expect 1 "short.bin" "$TT" train $tiny --data short.bin --out never
passed "data"

# ---- text is bytes: zeros, parts of characters, invalid UTF-8 ----
yes 'a\000\000b\303\251\342\202\254\360\237\230\200\377\n' | head -n 400 | while read -r line; do printf "$line"; done >any.txt
tr -d -c '\000' <any.txt >zeros.txt
expect 0 "perplexity" "$TT" train $tiny --num-steps 20 --learning-rate 0.1 --data zeros.txt --tokenizer bytes --out run-zeros
expect 0 '"text":"a\u0000\u0000\u0000\u0000"' "$TT" generate run-zeros --prompt a --max-tokens 4 --temperature 0 --json --end-token -2
printf 'a\000\000\000\000\n' >want
"$TT" generate run-zeros --prompt a --max-tokens 4 --temperature 0 --quiet --end-token -2 >out 2>err
same want out "a zero is not printed"
"$TT" data zeros.txt --tokenizer bytes --out data-zeros >out 2>err
expect 0 '0 "\u0000" 100.0 %' "$TT" data --inspect data-zeros/train_000000.bin
for kind in bytes bpe; do
    "$TT" train $tiny --num-steps 3 --data any.txt --tokenizer $kind --vocab-size 300 --out "run-any-$kind" >out 2>err || fail "train on any bytes"
    "$TT" generate "run-any-$kind" --prompt a --max-tokens 2000 --json --end-token -2 >any.json 2>err || fail "generate --json of any bytes"
    "$TT" generate "run-any-$kind" --prompt a --max-tokens 2000 --quiet --end-token -2 >any.out 2>err || fail "generate of any bytes"
    ! command -v python3 >/dev/null || python3 - any.json any.out "run-any-$kind"/step-*/tokenizer.json <<'PYTHON' || fail "$kind: not the text of the tokens"
import json, sys
said, printed = json.load(open(sys.argv[1])), open(sys.argv[2], "rb").read()
pieces = [bytes([i]) for i in range(256)]
for left, right in json.load(open(sys.argv[3])).get("merges", []):
    pieces.append(pieces[left] + pieces[right])
whole = b"".join(pieces[token] for token in said["tokens"])
text = whole.decode("utf-8", "replace")
assert "\0" in text and "\ufffd" in text and whole != text.encode()
assert said["text"] == text, "JSON"
assert printed == (text + "\n").encode(), "printed as it came"
PYTHON
done
passed "text is bytes"

# ---- resumed with other data: the best validation loss so far no longer counts ----
for i in $(seq 1200); do printf 'aa'; done >easy.txt
head -c 20000 "$root/README.md" >hard.txt
expect 0 "loss" "$TT" train $tiny --num-steps 40 --val-interval 20 --learning-rate 0.01 --data easy.txt --batch-size 1 --out other
expect 0 "start afresh" "$TT" train --resume auto --num-steps 44 --val-interval 1 --patience 2 --data hard.txt --out other
[ -d other/step-00000044 ] || fail "patience counted from the best loss of other data"
expect 0 "resume" "$TT" train --resume auto --num-steps 45 --patience 0 --data "$PWD/hard.txt" --out other
grep -q "start afresh" out && fail "the same file under another name is taken for other data"
expect 0 "start afresh" "$TT" train --resume auto --num-steps 46 --val-fraction 0.3 --out other
tr a-m n-z <hard.txt >new.txt && mv new.txt hard.txt
expect 0 "data files have changed" "$TT" train --resume auto --num-steps 47 --out other
grep -q "start afresh" out || fail "the best loss of a file that has changed is kept"
expect 0 "resume" "$TT" train --resume auto --num-steps 48 --out other
grep -q "have changed since\|start afresh" out && fail "a file that has not changed is taken for another"
passed "resumed with other data"

# ---- nothing held out ----
printf 'a window and one token.' >window.txt # 22 + 1 bytes
whole="$tiny --num-steps 4 --batch-size 1 --seq-len 22 --val-fraction 0"
expect 0 "1 windows of 22 to train, none to validate" "$TT" train $whole --data window.txt --out unheld
grep -q "validation loss\|val_loss" out err unheld/metrics.jsonl && fail "--val-fraction 0: something was validated"
expect 2 "hold out nothing with --val-fraction 0" "$TT" train $tiny --seq-len 22 --data window.txt --out never
expect 0 "--val-interval 2 does nothing" "$TT" train $whole --val-interval 2 --data window.txt --out unheld-too
same unheld/step-00000004/model.safetensors unheld-too/step-00000004/model.safetensors "--val-interval with nothing to validate on"
expect 0 '"val_loss":null' "$TT" train $whole --data window.txt --json --out unheld-json
expect 2 "--patience 3 counts validations, but with --val-fraction 0" "$TT" train $whole --patience 3 --data window.txt --out never
expect 0 "step     4/4  validation loss" "$TT" train $whole --val-data window.txt --val-interval 2 --data window.txt --out unheld-val
expect 0 "validation loss" "$TT" train $whole --out unheld-stream
expect 2 "nothing of window.txt is held out to validate on; name data for it with --val-data" "$TT" eval unheld
expect 0 "window.txt: 1 of its 1 windows of 22 tokens" "$TT" eval unheld --val-data window.txt
expect 0 "none to validate" "$TT" train --resume auto --num-steps 6 --out unheld
expect 2 "--patience 3 counts validations" "$TT" diagnose $whole --patience 3 --data window.txt --quick
"$TT" train $whole --data window.txt --print-config >whole.yaml || fail "print-config of a run that holds out nothing"
expect 0 "none to validate" "$TT" train --config whole.yaml --out unheld-config
[ -e never ] && fail "what was refused wrote something"
passed "nothing held out"

# ---- data of another tokenizer: its ids mean other tokens than the model has learned ----
other="made with another tokenizer"
expect 0 "$other than that of run-bpe/step-00000003, so their ids mean other tokens" "$TT" eval run-bpe --data builtin
expect 0 "$other" "$TT" eval run-bpe --data "data-chars/train_*.bin"
expect 0 "$other" "$TT" eval run-bpe --val-data "data-chars/val_*.bin"
expect 0 "$other" "$TT" train --resume run-bpe/step-00000003 --num-steps 4 --data "data-chars/train_*.bin" --out run-mixed
expect 0 "$other" "$TT" train --resume run-bpe/step-00000003 --num-steps 4 --data builtin --val-data "" --out run-mixed
for same in "" "--data data-bpe/train_000000.bin" "--data text.txt" "--data alone.bin" "--data random"; do
    expect 0 "loss" "$TT" eval run-bpe $same
    grep -q "$other" err && fail "warns of its own tokenizer: eval run-bpe $same"
done
expect 0 "loss" "$TT" eval parts
grep -q "$other" err && fail "the built-in language is warned of as its own"
passed "data of another tokenizer"

# ---- info and bench ----
expect 0 "memory that training takes" "$TT" info --preset 1b
expect 0 "adamw" "$TT" info --plan
cores() { OMP_NUM_THREADS=$1 "$TT" info --preset tiny | sed -n 's/^device .*), \([0-9]* core\)/\1/p'; }
[ -n "$(cores 1)" ] && [ "$(cores 1)" = "$(cores 3)" ] || fail "the cores of a device hang on the threads that are used"
expect 0 "it leaves out the operations marked -" "$TT" info --plan --update top-k --update-every 5
grep -q "^-.* gemm .*gradients$" out || fail "no product for gradients is left out between two choices"
expect 0 "one step in 5 chooses 4 of 38 groups" "$TT" info --update top-k --update-every 5
expect 0 '"operations_run"' "$TT" info --update top-k --update-every 5 --json
for shard in none optimizer gradients weights; do
    expect 0 "on each of 8 ranks with --shard $shard" "$TT" info --preset tiny --ranks 8 --shard $shard
    for row in none optimizer gradients weights; do grep -q "^  $row .*MiB *[1-9][0-9]*$" out || fail "no row for --shard $row"; done
done
grep -c "each of" <<<"$("$TT" info --preset tiny)" | grep -qx 0 || fail "one rank alone has no others to divide with"
expect 0 " all_reduce " "$TT" info --preset tiny --ranks 2 --plan
grep -q "all_reduce  *1966080 fp32  *0  *15.0 MiB  *7.5 MiB  *comm " out || fail "a collective is not listed with what it sends"
expect 0 '"sent_bytes"' "$TT" info --preset tiny --ranks 2 --plan --json
expect 0 "2 x 128 tokens" "$TT" info --preset tiny --ranks 4 --global-batch 8
expect 2 "no multiple" "$TT" info --preset tiny --ranks 3 --global-batch 8
expect 2 "16 chips at most" "$TT" info --preset tiny --predict "$(printf 'h200,%.0s' {1..17})"
expect 0 "InfiniBand x 8" "$TT" info --preset tiny --predict 4x8xh100
grep -q "of a rank" out && fail "the rate of a node stands under what is of a rank"
if on_cpu; then
    whole=$("$TT" info --preset tiny --ranks 3 --json | sed -n 's/.*"total": \([0-9]*\).*/\1/p')
    expect 0 "\"total_here\": $((3 * whole))" "$TT" info --preset tiny --ranks 3 --json
    expect 0 "All 3 ranks on this machine take" "$TT" info --preset tiny --ranks 3
    free=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo) # a rank takes at least 50 MB
    expect 0 "more than is free here" "$TT" info --preset tiny --ranks $((free / 25000))
fi
for rank in 0 1; do # the variables that Open MPI sets
    OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=$rank OMPI_COMM_WORLD_LOCAL_SIZE=2 \
        "$TT" info --preset tiny >"alone$rank" 2>"said$rank" || fail "tt info as rank $rank of 2"
done
[ -s alone0 ] && [ ! -s alone1 ] || fail "not rank 0 alone does what one process can do"
grep -q "Open MPI has started 2 processes; tt info is done by rank 0 alone" said0 && [ ! -s said1 ] || fail "it is not said once"
expect 0 '"parameters": 31977984' "$TT" info --preset small --json
expect 0 "ops/step" "$TT" bench --sizes tiny --versions fused $tiny --repeats 3 --warmup 1 --profile-dir prof
grep -q '"median_ms"' prof/bench.json || fail "no bench.json"
expect 0 '"tokens_per_second"' "$TT" bench --sizes tiny --versions baseline,flash $tiny --repeats 2 --warmup 1 --json
expect 2 "is not a number of ranks" "$TT" bench --ranks 1,two
expect 2 "is not a number of ranks" "$TT" bench --ranks 0
if on_cpu && "$TT" info | grep -q "collectives: no"; then
    expect 4 "this tt was built without MPI, which ranks on a CPU need for their collectives; install it" "$TT" train --ranks 2
fi
if on_cpu && "$TT" info | grep -q "collectives: .*MPI"; then
    ranks="bench --sizes tiny --versions baseline,flash $tiny --repeats 2 --warmup 1 --ranks 1,2"
    expect 0 "slowest rank" "$TT" $ranks --shard optimizer --profile-dir scaling
    [ "$(grep -cE "^2x32 +(baseline|flash) +[12] " out)" = 4 ] || fail "not a row for each version and number of ranks"
    grep -qE "^2x32 +flash +1 .* 100.0 +0.00 +0.00 +n/a +-$" out || fail "one rank alone is not its own measure, or sends something"
    grep -q '"efficiency_percent"' scaling/ranks.json || fail "no ranks.json"
    "$TT" info --preset tiny $tiny --ranks 2 --json | grep '"sent_bytes"' | sed -n 2p | tr -dc 0-9 >said # of none, optimizer, …
    grep '"sent_bytes"' scaling/ranks.json | tail -n 1 | tr -dc 0-9 >sent
    [ -s said ] && cmp -s said sent || fail "info says $(cat said) bytes are sent, bench $(cat sent)"
    expect 2 "there is no" "$TT" $ranks --shard everything
    expect 2 "seq-len" "$TT" $ranks --seq-len 0
fi
passed "info and bench"

# ---- a configuration reproduces a run ----
"$TT" train $tiny --num-steps 3 --learning-rate 0.002 --seed 5 --print-config >run.yaml || fail "print-config"
expect 0 "loss" "$TT" train --config run.yaml --out from-config
expect 0 "loss" "$TT" train $tiny --num-steps 3 --learning-rate 0.002 --seed 5 --out from-flags
same from-config/step-00000003/model.safetensors from-flags/step-00000003/model.safetensors "the printed configuration is another run"
"$TT" train $tiny --num-steps 3 --data text.txt --tokenizer chars --print-config >text.yaml || fail "print-config of a text run"
expect 0 "loss" "$TT" train --config text.yaml --out text-config
same run-text/step-00000003/model.safetensors text-config/step-00000003/model.safetensors "the printed configuration is another run"
passed "configuration"

cd "$root" || exit 1
finish
