#!/usr/bin/env bash
# Token files in llm.c's format: the bytes of the header, shards of a given size that contain the whole text, both token
# widths, and training on them.
set -u
. tests/lib.sh
needs_device
cd "$dir" || exit 1
ints() { od -An -v -t d4 -N 1024 "$1" | tr -s ' \n' ' ' | sed 's/^ //; s/ $//'; }
tokens() { od -An -v -t "u$2" -j 1024 -w"$2" "$1" | tr -d ' '; }
tiny="--hidden-dim 32 --num-layers 1 --num-heads 2 --num-kv-heads 1 --ffn-dim 32 --seq-len 16 --batch-size 2 --num-steps 2"

for i in $(seq 500); do printf 'line %d of a text, \303\251\n' $i; done >text.txt
bytes=$(wc -c <text.txt)
od -An -v -t u1 -w1 text.txt | tr -d ' ' >wanted

# header: magic, version, count, then zeros; tokens: little-endian, the whole text in order, no shard above its size
for type in auto uint16 uint32; do
    width=2 magic=20240520 version=1
    [ $type = uint32 ] && width=4 magic=20240801 version=7
    "$TT" data text.txt --token-type $type --shard-tokens 3000 --val-fraction 0 --out $type >out 2>err || fail "data $type"
    : >got
    left=$bytes
    for f in $type/train_*.bin; do
        n=$((left < 3000 ? left : 3000))
        zeros=$(printf ' 0%.0s' $(seq 253))
        [ "$(ints "$f")" = "$magic $version $n$zeros" ] || fail "$f: its header is $(ints "$f" | cut -c1-60)"
        [ "$(wc -c <"$f")" = $((1024 + width * n)) ] || fail "$f has another size"
        tokens "$f" $width >>got
        left=$((left - n))
    done
    cmp -s got wanted || fail "$type: the shards are not the text"
    [ -e $type/train_000002.bin ] && [ $left = 0 ] || fail "$type: $left tokens are missing"
    "$TT" train $tiny --data "$type/train_*.bin" --out "run-$type" >out 2>err || fail "train on $type"
done
for type in uint16 uint32; do
    cmp -s run-auto/step-00000002/model.safetensors run-$type/step-00000002/model.safetensors || fail "$type trains another model"
done

# a vocabulary beyond 16 bits, like llama-3's: written by hand, read and trained on
{
    printf '\241\331\064\001\007\0\0\0\100\0\0\0'
    head -c 1012 /dev/zero
    for i in $(seq 64); do printf "\\$(printf %o $i)\\1\\1\\0"; done
} >large.bin
"$TT" data --inspect large.bin >out 2>err || fail "inspect uint32"
grep -q "largest     65856" out || fail "the largest token is another"
"$TT" train $tiny --data large.bin --val-fraction 0.5 --val-interval 0 --out large >out 2>err || fail "train on a large vocabulary"
grep -q "vocabulary 65857" out || fail "the vocabulary is another"

# the held-out part, and what is refused
"$TT" data text.txt --val-fraction 0.25 --out split --json >out 2>err || fail "split"
[ "$(tokens split/val_000000.bin 2 | wc -l)" = $((bytes / 4)) ] || fail "the held-out part has another size"
[ "$(cat split/train_000000.bin split/val_000000.bin | wc -c)" = $((2048 + 2 * bytes)) ] || fail "tokens were lost between the parts"
"$TT" data text.txt --token-type uint8 --out never >out 2>err
[ $? = 2 ] || fail "uint8 was taken"
printf 'ab\0cd' >zero.txt
"$TT" data zero.txt --val-fraction 0 --out zero >out 2>err || fail "a byte 0"
grep -q "probably not text" err || fail "nothing is said about a byte 0"
passed "token files of llm.c"
finish
