#!/usr/bin/env bash
# GGUF files on the command line: export, import of that, every number format and kind of tokenizer, and refusals.
# test_gguf.c tests the format itself; in test_gguf_llama.sh llama.cpp opens the exports.
set -u
. tests/lib.sh
. tests/model/hard_text.sh
needs_device
cd "$dir" || exit 1
tiny="--hidden-dim 64 --num-layers 2 --num-heads 4 --num-kv-heads 2 --ffn-dim 96 --seq-len 16 --batch-size 4"
hard_text >text.txt
weights() { sed 's/"step":"[0-9]*"/"step":""/' "$1"/step-*/model.safetensors; }
loss() { "$TT" eval "$1" --data text.txt --json 2>/dev/null | sed -n 's/.*"loss": *\([0-9.]*\).*/\1/p'; }

# fp32: the same bits, the same tokenizer, and the same file when exported again
for kind in bytes chars bpe words; do
    data=$(data_of $kind)
    [ $kind = chars ] && data="$data --vocab-size 120 --no-tie-embeddings"
    "$TT" train $tiny $data --num-steps 6 --rope-theta 20000 --norm-eps 1e-5 --out run-$kind >out 2>err || fail "train $kind"
    mkdir $kind again-$kind
    expect 0 "wrote" "$TT" export run-$kind $kind/m.gguf --nearest-split
    expect 0 "tied" "$TT" import $kind/m.gguf --out back-$kind
    cmp -s <(weights run-$kind) <(weights back-$kind) || fail "$kind: the weights do not come back"
    [ $kind = words ] || cmp -s {run-$kind/step-00000006,back-$kind/step-00000000}/tokenizer.json ||
        fail "$kind: the tokenizer does not come back"
    "$TT" export back-$kind again-$kind/m.gguf --nearest-split >out 2>err || fail "export $kind again"
    cmp -s {,again-}$kind/m.gguf || fail "$kind: another file the second time"
    for key in rope_theta norm_eps; do
        for run in run back; do grep -o "\"$key[^,]*" $run-$kind/step-*/checkpoint.json; done >keys
        [ "$(sort -u keys | wc -l)" -le 1 ] || fail "$kind: another $key"
    done
done
expect 0 "the tokenizer was left out: llama.cpp has no tokenizer of words" "$TT" export run-words words/other.gguf
expect 0 "the tokenizer was left out: llama.cpp does not split" "$TT" export run-bpe bpe/other.gguf
expect 0 "no tokenizer: it has no tokenizer" "$TT" import bpe/other.gguf --out back-other
"$TT" generate run-bpe --prompt "some" --temperature 0 --max-tokens 20 >here 2>err || fail "generate"
"$TT" generate back-bpe --prompt "some" --temperature 0 --max-tokens 20 >there 2>err || fail "generate what came back"
cmp -s here there || fail "what came back writes another text"
passed "fp32 comes back with the same bits, tokenizer and text"

# fewer bits: within rounding, and what was rounded once comes back unchanged
here=$(loss back-bytes)
for type in f16 bf16 q8_0 fp16; do
    expect 0 "parameters in $type" "$TT" export run-bytes $type.gguf --dtype $type
    expect 0 "saved" "$TT" import $type.gguf --out back-$type
    there=$(loss back-$type)
    awk -v a="$here" -v b="$there" 'BEGIN { d = a - b; exit !(a > 0 && b > 0 && d < 1e-3 && d > -1e-3) }' || fail "$type: loss $there, not $here"
    mkdir again-$type
    "$TT" export back-$type again-$type/$type.gguf --dtype $type >out 2>err || fail "export $type again"
    [ $type = q8_0 ] || cmp -s {,again-$type/}$type.gguf || fail "$type: another file the second time"
done
cmp -s <(tail -c 4096 f16.gguf) <(tail -c 4096 fp16.gguf) || fail "f16 and fp16 are two things"
"$TT" train $tiny --hidden-dim 48 --data text.txt --tokenizer bytes --num-steps 1 --out run-odd >out 2>err || fail "train with odd rows"
expect 0 "matrices are in fp16" "$TT" export run-odd odd.gguf --dtype q8_0
expect 0 "saved" "$TT" import odd.gguf --out back-odd
passed "fp16, bf16 and q8_0 are within rounding"

# separate head sizes and scaled RoPE come back; what llama.cpp lacks is refused
keys() { sed 's/\\n/\n/g' "$1" | grep -E '^(rope-scaling|head-dim|qkv-bias|qk-norm):'; }
llama3() { echo "llama3,factor=8,original_max_position_embeddings=$1,low_freq_factor=1,high_freq_factor=4"; }
for shape in "--qkv-bias" "--qk-norm" "--qk-norm --head-dim 32" "--head-dim 32" "--rope-scaling linear,factor=2.5" "--rope-scaling yarn,factor=4,original_max_position_embeddings=8" \
    "--rope-scaling $(llama3 8)" "--rope-scaling $(llama3 8192)"; do
    "$TT" train $tiny $shape --data text.txt --tokenizer bytes --num-steps 1 --out shaped >out 2>err || fail "train $shape"
    expect 0 "wrote" "$TT" export shaped shaped.gguf
    expect 0 "saved" "$TT" import shaped.gguf --out shaped-back
    cmp -s <(weights shaped) <(weights shaped-back) || fail "$shape: the weights do not come back"
    for run in shaped shaped-back; do keys $run/step-*/checkpoint.json >$run.keys; done
    word=${shape##* --}
    word=${word##* }
    grep -q "${word#--}" shaped.keys || fail "$shape is not in the checkpoint"
    cmp -s shaped.keys shaped-back.keys || fail "$shape does not come back: $(cat shaped-back.keys)"
    LC_ALL=C sed 's/tinytransformer.rope_scaling/tinytransformer.rope_scalinX/' shaped.gguf >foreign.gguf
    case $shape in
    *llama3*embeddings=8,*) # numbers that give the same angles are found; divisors that no numbers give are left alone
        expect 0 "saved" "$TT" import foreign.gguf --out foreign-8
        awk -v a="$(loss shaped-back)" -v b="$(loss foreign-8)" 'BEGIN { exit !(a > 1 && a - b < 1e-5 && b - a < 1e-5) }' ||
            fail "the losses are $(loss shaped-back) and $(loss foreign-8)"
        LC_ALL=C sed 's/\x00\x00\x00A\x00\x00\x00A/\x00\x00\x00A\x00\x00@@/' foreign.gguf >odd.gguf
        cmp -s odd.gguf foreign.gguf && fail "no divisor was changed"
        expect 2 "does not know what scaling" "$TT" import odd.gguf --out new
        rm -rf foreign-8 ;;
    *llama3*embeddings=8192,*) # as in Llama 3.1, which has these numbers
        expect 0 "saved" "$TT" import foreign.gguf --out foreign
        grep -q "factor=8,original_max_position_embeddings=8192" foreign/step-*/checkpoint.json || fail "Llama 3.1 is not recognised" ;;
    esac
    rm -rf shaped*
done
"$TT" train $tiny --rope-scaling dynamic,factor=2,max_position_embeddings=8 --data text.txt --tokenizer bytes --num-steps 1 \
    --out dynamic >out 2>err || fail "train dynamic"
expect 2 "no RoPE of this kind: dynamic; use --format hf" "$TT" export dynamic dynamic.gguf
for both in "--qkv-bias|both" "--rope-scaling $(llama3 8)|llama3 in a model with --qk-norm"; do
    rm -rf normed
    "$TT" train $tiny --qk-norm ${both%|*} --data text.txt --tokenizer bytes --num-steps 1 --out normed >out 2>err || fail "train with norms of q and k"
    expect 2 "${both#*|}" "$TT" export normed normed.gguf
done
"$TT" train $tiny --qk-norm --qkv-bias --data text.txt --tokenizer bytes --num-steps 1 --out twofold >out 2>err || fail "train with both"
grep -q "note  .*--qkv-bias and --qk-norm" out || fail "nothing says at the start that no other program has such a model"
expect 2 "only tt can run this one; train with one of them" "$TT" export twofold new
[ -e dynamic.gguf ] || [ -e normed.gguf ] && fail "what was refused left something behind"
passed "heads of their own size and scaled RoPE come back"

# arguments of the command line
expect 0 "wrote   exported.gguf: " "$TT" export run-bytes --format gguf
cmp -s exported.gguf bytes/m.gguf && fail "a name is not in the file"
expect 2 "exported.gguf" "$TT" export run-bytes --format gguf
expect 2 "is a folder; name a new file" "$TT" export --checkpoint run-bytes --format gguf --out bytes
expect 2 "has no weights in q8_0" "$TT" export run-bytes hf --dtype q8_0
expect 0 '"tokenizer":true' "$TT" export run-bytes deep/er/m.gguf --json
expect 2 "is not a GGUF file" "$TT" import text.txt --out new
expect 2 "holds a run already" "$TT" import exported.gguf --out back-bytes
passed "formats are chosen by name"

# what tt lacks is refused by name
change() { LC_ALL=C sed "$1" bytes/m.gguf >changed.gguf; } # replacements of the same length
change 's/\(architecture.\{12\}\)llama/\1gemma/'
expect 2 'architecture "gemma"; tt reads llama, qwen2 and qwen3' "$TT" import changed.gguf --out new
change 's/llama.rope.freq_base/llama.logit_scaleXXX/;s/llama.attention.value_length/llama.attention.sliding_wind/'
expect 0 "saved" "$TT" import changed.gguf --out odd-keys
change 's/blk.1.ffn_up.weight/blk.1.ffn_xy.weight/'
expect 1 "has no tensor blk.1.ffn_up.weight" "$TT" import changed.gguf --out new
change 's/\(tokenizer.ggml.model.\{12\}\)gpt2/\1bert/'
expect 0 'no tokenizer: its tokenizer is "bert"' "$TT" import changed.gguf --out no-tokenizer
[ -e new ] && fail "what was refused left something behind"
passed "other models are refused by name"
finish
