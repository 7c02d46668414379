#!/usr/bin/env bash
# Faults around a run: a full disk, a read-only folder, damaged checkpoints, data that is removed, a second run in the
# same folder, NaN and infinity, too little memory, signals during a save, a reader that goes away. Nothing may be lost
# and no number wrong; an exit code and a message say what happened.
set -u
. tests/lib.sh
needs_device
cd "$dir" || exit 1
shape="--hidden-dim 32 --num-layers 2 --num-heads 4 --num-kv-heads 2 --ffn-dim 48 --seq-len 16 --batch-size 4"
tiny="$shape --val-batches 1 --threads 1"

# expect CODE "text on stderr" COMMAND...
expect() {
    local code=$1 words=$2 got
    shift 2
    "$@" >out 2>err
    got=$?
    [ "$got" = "$code" ] || fail "exit $got, not $code: $*"
    [ -z "$words" ] || grep -qF -- "$words" err || fail "no \"$words\" on stderr from: $*"
}
same_run() { # same_run A B STEP WHAT
    local file
    for file in model state; do
        cmp -s "$1/step-$3/$file.safetensors" "$2/step-$3/$file.safetensors" || fail "$4: $file differs"
    done
}
whole_lines() { [ -z "$(grep -v '^{.*}$' "$1")" ] || fail "$1 has half a line"; }
# wait_for N GREP-ARGUMENTS...: waits until grep finds it, at most N tenths of a second
wait_for() {
    local n=$1 i
    shift
    for ((i = 0; i < n; i++)); do
        grep -q "$@" 2>/dev/null && return
        sleep 0.1
    done
    fail "nothing came: $*"
}
sanitized() { grep -q __asan_init "$TT"; }

"$TT" train $tiny --num-steps 40 --save-interval 10 --keep 9 --out whole >out 2>err || fail "the undisturbed run"

# ---- a full disk ----
# A small file system with room for about two checkpoints. Steps 10 and 20 fit, later ones do not.
one=$(du -sk whole/step-00000010 | cut -f1)
full_disk='mount -t tmpfs -o size='$((one * 5 / 2))'k tmpfs small &&
    { "$TT" train '$tiny' --num-steps 40 --save-interval 10 --keep 9 --out small/run >out 2>err; echo $? >code; ls small/run >left
      cp -r small/run kept
      rm -r small/run/step-00000010; "$TT" train --resume auto --out small/run --keep 1 >out2 2>err2; echo $? >code2
      cp -r small/run/step-00000040 last; }'
mkdir small
if has unshare && unshare -rm true 2>/dev/null && unshare -rm bash -c "mount -t tmpfs -o size=64k tmpfs small" 2>/dev/null; then
    TT=$TT unshare -rm bash -c "$full_disk" || fail "the script for a full disk"
    [ "$(cat code)" = 1 ] || fail "a full disk: exit $(cat code)"
    grep -q "No space left on device; free some space" err || fail "a full disk is not named"
    grep -q "tries again at the next checkpoint" err || fail "a full disk ended the run at once"
    [ "$(grep -c '^step-' left)" = "$(grep -c '^step-[0-9]*$' left)" ] || fail "a full disk left half a checkpoint: $(cat left)"
    same_run whole kept 00000020 "the checkpoint before the disk was full"
    whole_lines kept/metrics.jsonl
    [ "$(cat code2)" = 0 ] || { cp err2 err; fail "with room again: exit $(cat code2)"; }
    mkdir again && mv last again/step-00000040
    same_run whole again 00000040 "resumed after a full disk"
    passed "a full disk (tmpfs)"
else
    echo "     no tmpfs here: a full disk is played by a limit on file sizes only"
fi
# With a limit on file sizes, first the metrics are too long, then also the checkpoints.
(ulimit -f 2; expect 1 "training continues without it" "$TT" train $tiny --num-steps 40 --out limited; finish) || failures=$((failures + 1))
least="$shape --hidden-dim 8 --ffn-dim 8 --num-layers 1 --threads 1 --val-interval 0"
(ulimit -f 16; "$TT" train $least --num-steps 250 --out metrics >out 2>err)
[ $? = 1 ] || fail "metrics that cannot be written: no failure"
grep -q "is done and saved, but metrics/metrics.jsonl ends at step" err || fail "lost metrics are not told"
[ -d metrics/step-00000250 ] || fail "metrics that cannot be written cost the checkpoint"
whole_lines metrics/metrics.jsonl
if [ -w /dev/full ]; then
    "$TT" train $tiny --num-steps 4 --out dev-full >/dev/full 2>err
    [ $? = 1 ] || fail "a full standard output: exit $?"
    [ -d dev-full/step-00000004 ] || fail "a full standard output cost the checkpoint"
    grep -q "cannot write to standard output" err || fail "a full standard output is not told"
fi
passed "files that cannot grow"

# ---- a read-only folder ----
cp -r whole frozen
rm -rf frozen/step-00000040 frozen/step-00000030
chmod -R a-w frozen
chmod a+rx . frozen
as_nobody() { "$@"; }
[ "$(id -u)" != 0 ] || as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
if as_nobody "$TT" --version >/dev/null 2>&1 && ! as_nobody touch frozen/x 2>/dev/null; then
    expect 1 "Permission denied" as_nobody "$TT" train --resume auto --out frozen
    expect 1 "Permission denied" as_nobody "$TT" train $tiny --num-steps 2 --out frozen/deeper
    expect 1 "frozen" as_nobody "$TT" train $tiny --num-steps 2 --out frozen
    [ -z "$(ls -d frozen.* 2>/dev/null)" ] || fail "a read-only run was moved"
    same_run whole frozen 00000020 "a read-only folder"
    expect 0 "" as_nobody "$TT" eval frozen
    passed "a read-only folder"
else
    echo "     no other user to be here: read-only folders are not tried"
fi

# ---- a good checkpoint without read permission is not damaged ----
cp -r whole secret
chmod a+rwx secret
locked() { # locked "what" TEXT: a user who may not read the newest checkpoint is told so, and no other one is used
    expect 1 "$2" as_nobody "$TT" train --resume auto --num-steps 50 --out secret
    expect 1 "$2" as_nobody "$TT" train --resume secret --num-steps 50 --out "$open/elsewhere"
    expect 1 "$2" as_nobody "$TT" eval secret
    expect 1 "$2" as_nobody "$TT" generate secret --max-tokens 2
    expect 1 "$2" as_nobody "$TT" export --checkpoint secret "$open/exported"
    [ "$(ls secret)" = "$(ls whole)" ] && [ -z "$(ls -d secret.* "$open"/* 2>/dev/null)" ] || fail "$1: something was renamed or written"
}
open=$dir/open
mkdir -m 777 open
if as_nobody "$TT" --version >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    for part in checkpoint.json model.safetensors state.safetensors tokenizer.json; do
        chmod 0 secret/step-00000040/$part
        locked "$part" "secret/step-00000040/$part: Permission denied"
        chmod 644 secret/step-00000040/$part
    done
    chmod 0 secret/step-00000040
    locked "the checkpoint's folder" "secret/step-00000040/checkpoint.json: Permission denied"
    expect 1 "Permission denied" as_nobody "$TT" eval secret/step-00000040
    chmod 755 secret/step-00000040
    chmod 700 secret
    locked "the run's folder" "Permission denied"
    chmod 777 secret
    expect 0 "" as_nobody "$TT" eval secret
    passed "a good checkpoint that may not be read"
fi

# ---- damaged checkpoints: cut at each kind of boundary, or with one bit flipped in each kind of byte ----
hurt() { # hurt "what" COMMAND...: damages a copy's newest checkpoint; every tt command must notice it
    local what=$1
    shift
    rm -rf hurt
    cp -r whole hurt
    rm -rf hurt/step-00000010
    (cd hurt/step-00000040 && "$@") || fail "could not damage: $what"
    expect 1 "" "$TT" train --resume hurt/step-00000040 --num-steps 50 --out never
    expect 1 "" "$TT" generate hurt/step-00000040 --max-tokens 2
    grep -q "damaged\|missing\|cannot be used\|not a usable" err || fail "$what: not named"
    expect 0 "skipping the damaged checkpoint hurt/step-00000040" "$TT" train --resume auto --out hurt --quiet
    same_run whole hurt 00000040 "$what: resumed from the one before"
    [ -e never ] && fail "$what: a damaged checkpoint began a run"
}
header=$(od -An -tu8 -N8 whole/step-00000040/model.safetensors | tr -d ' ')
flip() { # flip FILE BYTE BIT
    local byte
    byte=$(od -An -tu1 -j"$2" -N1 "$1" | tr -d ' ')
    printf "\\x$(printf %x $((byte ^ (1 << $3))))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
size=$(stat -c %s whole/step-00000040/model.safetensors)
for at in 0 7 8 $((8 + header / 2)) $((8 + header)) $((size - 4)) $((size - 1)); do
    hurt "cut at $at" truncate -s "$at" model.safetensors
done
hurt "length, lowest bit" flip model.safetensors 0 0
hurt "length, highest bit" flip model.safetensors 7 7
hurt "header" flip model.safetensors 30 2
hurt "a sign" flip model.safetensors $((size - 1)) 7
hurt "a mantissa" flip model.safetensors $((size - 4)) 0
hurt "the tokenizer" flip tokenizer.json 40 1
hurt "the manifest" flip checkpoint.json 60 0
hurt "the manifest, cut" truncate -s 100 checkpoint.json
rm -rf hurt/step-00000040/checkpoint.json
expect 2 "holds no checkpoint" "$TT" generate hurt/step-00000040
hurt "an empty manifest" truncate -s 0 checkpoint.json
hurt "no model" rm model.safetensors
cp -r whole moments
flip moments/step-00000040/state.safetensors 5000 3
expect 1 "state.safetensors is damaged" "$TT" train --resume moments/step-00000040 --num-steps 50 --out never
passed "damaged checkpoints"

# ---- data that changes while it is used ----
for i in $(seq 3000); do echo "line $i of a text that is read again and again"; done >text.txt
"$TT" data text.txt --out tokens --shard-tokens 20000 --quiet >out 2>err || fail "tt data"
on_tokens="$tiny --lr-schedule constant --warmup-steps 0 --val-interval 0 --log-interval 5 --num-steps 100000"
on_tokens+=" --data tokens/train_000000.bin --val-data tokens/val_000000.bin"
begin() { # begin NAME: trains in the background on a fresh copy of the tokens
    rm -rf tokens.now && cp -r tokens tokens.now
    "$TT" train ${on_tokens//tokens\//tokens.now/} --out "$1" >out 2>err &
    pid=$!
    wait_for 300 '"step":20' "$1/metrics.jsonl"
}
end() { # end CODE TEXT: waits for the run
    wait $pid
    local got=$?
    [ $got = "$1" ] || fail "exit $got, not $1"
    grep -qF -- "$2" err || fail "no \"$2\""
}
begin shortened
truncate -s 3000 tokens.now/train_000000.bin
end 1 "has become shorter since it was opened"
step=$(sed -n 's/.*stopped after step \([0-9]*\), which is saved.*/\1/p' err)
[ -n "$step" ] && [ -d "shortened/step-$(printf %08d "$step")" ] || fail "the steps before the data gave out are lost"
"$TT" train ${on_tokens/--num-steps 100000/--num-steps $step} --out ref --quiet >out 2>err2 || fail "the same steps undisturbed"
same_run ref shortened "$(printf %08d "$step")" "what was saved when the data gave out"
rm -rf tokens.now && cp -r tokens tokens.now
expect 0 "" "$TT" train --resume auto --num-steps $((step + 3)) --out shortened --quiet
begin overwritten
size=$(stat -c %s tokens.now/train_000000.bin)
head -c $((size - 1024)) /dev/zero | tr '\0' '\377' | dd of=tokens.now/train_000000.bin bs=1024 seek=1 conv=notrunc 2>/dev/null
end 1 "has changed since it was opened"
ls -d overwritten/step-* >/dev/null 2>&1 || fail "the steps before the data changed are lost"
begin removed # an open file remains readable
rm tokens.now/train_000000.bin
before=$(wc -l <removed/metrics.jsonl)
wait_for 300 "\"step\":$((before + 40))" removed/metrics.jsonl
kill -TERM $pid
end 130 "--resume auto"
expect 2 "there is no data file" "$TT" train --resume auto --out removed
passed "data that is shortened, written over, removed"

# ---- two runs in one folder ----
"$TT" train $tiny --val-interval 0 --log-interval 5 --num-steps 100000 --out shared >first.out 2>first.err &
pid=$!
wait_for 300 '"step":10' shared/metrics.jsonl
expect 1 "another tt is writing there" "$TT" train $tiny --num-steps 2 --out shared
expect 1 "another tt is writing there" "$TT" train $tiny --num-steps 2 --out ./shared/ --resume auto
[ -e shared.1 ] && fail "the second run moved the first one's folder"
kill -TERM $pid
wait $pid
[ $? = 130 ] || fail "the first run was disturbed"
ls -d shared/step-* >/dev/null 2>&1 || fail "the first run did not save"
expect 0 "" "$TT" train $tiny --num-steps 2 --out shared/ --quiet # a slash at the end is the same folder
[ -d shared.1 ] || fail "the earlier run was not set aside"
passed "two runs in one folder"

# ---- signals: each comes while checkpoints are being written, since this run does nothing else ----
endless="$tiny --num-steps 100000 --val-interval 0 --log-interval 5"
for signal in TERM INT USR1 HUP; do
    "$TT" train $endless --warmup-steps 0 --save-interval 1 --keep 2 --out "sig-$signal" >out 2>err &
    pid=$!
    wait_for 300 '"step":5' "sig-$signal/metrics.jsonl"
    kill -$signal $pid
    end 130 "saved. Go on with: tt train --resume auto --out sig-$signal"
    step=$(sed -n 's/.*after step \([0-9]*\) of.*/\1/p' err)
    [ -d "sig-$signal/step-$(printf %08d "$step")" ] || fail "SIG$signal: step $step is not saved"
    [ -z "$(find "sig-$signal" -name '*.tmp')" ] || fail "SIG$signal: half a checkpoint is left"
    expect 0 "" "$TT" train --resume auto --out "sig-$signal" --num-steps $((step + 1)) --quiet
done
# with nohup, SIGHUP does not stop the run
(trap '' HUP; exec "$TT" train $endless --out nohup >out 2>err) &
pid=$!
wait_for 300 '"step":5' nohup/metrics.jsonl
kill -HUP $pid
sleep 0.2
kill -TERM $pid
end 130 "Terminated"
# the reader of the output goes away
"$TT" train $endless --log-interval 1 --out pipe 2>err | head -n 8 >/dev/null
[ "${PIPESTATUS[0]}" = 130 ] || fail "a reader that goes away: exit ${PIPESTATUS[0]}"
grep -q "Broken pipe after step" err || fail "a reader that goes away is not named"
ls -d pipe/step-* >/dev/null 2>&1 || fail "a reader that went away cost the run"
passed "signals while saving"

# ---- kill -9 without any save option: the clock has saved, one checkpoint at a time ----
by_clock() { ls "$1" 2>/dev/null | grep -E '^step-[0-9]+$'; }
wait_until() { # waits up to 30 s for a condition
    for _ in $(seq 300); do eval "$1" && return; sleep 0.1; done
    fail "never: $1"
}
"$TT" train $endless --save-minutes 0.0001 --out clock >out 2>err &
pid=$!
wait_until '[ -n "$(by_clock clock)" ]'
first=$(by_clock clock | head -n 1)
wait_until '[ -n "$(by_clock clock)" ] && [ "$(by_clock clock)" != "$first" ] && [ "$(by_clock clock | wc -l)" = 1 ]'
kill -9 $pid
{ wait $pid; } 2>/dev/null
last=$(by_clock clock | tail -n 1)
step=$((10#${last#step-}))
"$TT" train $endless --save-interval $step --keep 0 --out interval >out 2>err &
pid=$!
wait_until '[ -d interval/$last ]'
kill -TERM $pid
end 130 "saved"
same_run interval clock "${last#step-}" "saved by the clock"
expect 0 "" "$TT" train --resume auto --out clock --num-steps $((step + 3))
grep -q "^resume  clock/$last, $step of" out || fail "not resumed from what the clock saved"
[ "$(by_clock clock)" = "step-$(printf %08d $((step + 3)))" ] || fail "gone on after kill -9, the clock left $(by_clock clock)"
"$TT" train $tiny --num-steps 40 --save-minutes 0.0001 --out ended >out 2>err || fail "a run with a clock"
[ "$(by_clock ended)" = step-00000040 ] || fail "the clock left $(by_clock ended)"
"$TT" train $endless --save-minutes 0 --out unsaved >out 2>err &
pid=$!
wait_for 300 '"step":50' unsaved/metrics.jsonl
[ -z "$(by_clock unsaved)" ] || fail "--save-minutes 0 saves on the way"
kill -9 $pid
{ wait $pid; } 2>/dev/null
passed "kill -9 after the clock has saved"

# ---- NaN and infinity ----
# This weight decay makes the weights grow in every step, until a gradient overflows. One run reads its metrics only at
# the end or at a checkpoint, the other after every step. Both keep the run before the bad step, with the same bits.
wild="$tiny --num-steps 12 --learning-rate 10 --weight-decay 1 --warmup-steps 0 --val-interval 0 --quiet"
stopped="loss or gradients are not finite; its update was not applied, and the state before it is saved as"
expect 1 "$stopped late/step-" "$TT" train $wild --log-interval 100 --out late
go_on=$(sed -n 's/.*go past such steps: tt //p' err)
bad=$(sed -n 's/^tt: step \([0-9]*\): .*/\1/p' err)
good=$(printf %08d $((bad - 1)))
[ "$bad" -gt 1 ] && [ "$(ls late)" = "$(printf 'metrics.jsonl\nrun.json\nstep-%s' "$good")" ] || fail "a NaN in step $bad left: $(ls late)"
[ "$(tail -n 1 late/metrics.jsonl | grep -c "\"step\":$bad,.*\"applied\":false")" = 1 ] || fail "metrics.jsonl does not end with the bad step"
expect 1 "step $bad: $stopped soon/step-$good" "$TT" train $wild --save-interval 1 --keep 1 --out soon
same_run late soon "$good" "a NaN that is noticed late"
progress() { sed -n '/"progress"/,/}/p' "$1/step-$good/checkpoint.json"; }
[ "$(progress late)" = "$(progress soon)" ] || fail "a NaN that is noticed late: $(progress late) against $(progress soon)"
expect 1 "step $bad: $stopped late/step-$good" "$TT" train --resume auto --out late # the same happens again
expect 1 "step $bad: $stopped moved/step-$good" "$TT" train --resume soon --out moved
same_run moved soon "$good" "a NaN after a resume from another folder"
expect 1 "nothing is saved, since there is no --out" "$TT" train $wild --out ''
expect 0 "the update was skipped" "$TT" $go_on --out late --save-interval 1 --keep 0
same=0
for step in $(seq "$bad" 12); do
    grep -q "\"skipped\": $((step - bad + 1))," late/step-$(printf %08d "$step")/checkpoint.json && same=$((same + 1))
done
[ $same = $((12 - bad + 1)) ] || fail "--on-nan skip: other counts of skipped steps in $(grep -h skipped late/step-*/checkpoint.json | tr '\n' ' ')"
grep -q "^skipped $same of 12 steps: " out || fail "the end does not say how many steps were skipped"
expect 0 "" "$TT" train --resume soon --learning-rate 0.001 --weight-decay 0 --num-steps "$bad" --on-nan skip --out tamed
passed "numbers that are not finite"

# ---- too little memory ----
if ! sanitized; then
    large="--preset small --batch-size 64 --version baseline --threads 1 --num-steps 1" few="ulimit -v 4000000"
    on_cpu || large="--preset 1b --batch-size 8192 --version baseline --num-steps 1" few=true # CUDA reserves more addresses
    ($few && "$TT" train $large --out mem-large >out 2>err)
    [ $? = 1 ] || fail "a model that does not fit: exit $?"
    grep -q "batch-size" err || fail "a model that does not fit: no advice"
    [ -e mem-large ] && fail "a model that does not fit wrote something"
    passed "too little memory"
fi

finish
