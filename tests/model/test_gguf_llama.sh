#!/usr/bin/env bash
# llama.cpp opens our GGUF exports and gives our logits, tokens and text. The Python package gguf also reads them.
# Checks for which something is not installed are left out; if nothing is installed, the test is skipped. TT_LLAMA names
# a folder with llama.cpp's programs if they are not in PATH, PYTHON another python3.
set -u
. tests/lib.sh
. tests/model/hard_text.sh
once "what llama.cpp reads does not depend on how tt was built"
python=${PYTHON:-python3}
has "$python" || skip "no python3"
PATH=${TT_LLAMA:+$TT_LLAMA:}$PATH
"$python" -c 'import gguf' 2>/dev/null && package=yes || package=
has llama-simple || has llama-tokenize || [ -n "$package" ] || skip "neither llama.cpp nor the Python package gguf is installed"
: "${TT:?is the program to test}"
cd "$dir" || exit 1
check="$root/tests/gguf/check.py"
# Weights are drawn from a wide distribution and hardly trained, so each token of the text depends on all before it.
# With this seed none of them is llama.cpp's end token.
tiny="--hidden-dim 64 --num-layers 3 --num-heads 4 --num-kv-heads 2 --ffn-dim 96 --seq-len 64 --batch-size 2
    --init-std 0.15 --learning-rate 1e-6 --num-steps 1 --seed 5 --rope-theta 20000 --norm-eps 1e-5"

for i in $(seq 40); do echo "line $i: some wörds, \"quoted\" & again (and) 日本 again; $((i * i * i))?"; done >chars.txt
n=$("$python" -c 'print(len(set(open("chars.txt", encoding="utf-8").read())))')
"$TT" train $tiny --data chars.txt --tokenizer chars --vocab-size $((n + 1)) --out run >out 2>err || die "train"
"$TT" train $tiny --data chars.txt --tokenizer chars --vocab-size $((n + 1)) --no-tie-embeddings --out run-untied >out 2>err || die "train"
types="fp32 bf16 fp16 q8_0"
for type in $types; do expect 0 "wrote" "$TT" export run $type.gguf --dtype $type; done
expect 0 "wrote" "$TT" export run-untied untied.gguf
others="untied head bias norm normyarn linear yarn llama3" # separate head sizes, biases, norms of q and k, and scaled RoPE
"$TT" train $tiny --data chars.txt --tokenizer chars --vocab-size $((n + 1)) --head-dim 32 --out run-head >out 2>err || die "train"
"$TT" export run-head head.gguf >out 2>err || fail "export head"
"$TT" train $tiny --learning-rate 0.1 --warmup-steps 0 --data chars.txt --tokenizer chars --vocab-size $((n + 1)) --qkv-bias --out run-bias >out 2>err ||
    die "train" # a large step, because biases begin as 0
"$TT" export run-bias bias.gguf >out 2>err || fail "export bias"
for scaling in "" yarn,factor=4,original_max_position_embeddings=32; do # a Qwen3; a large step, because norms begin as 1
    type=norm${scaling%%,*}
    "$TT" train $tiny --learning-rate 0.3 --warmup-steps 0 --data chars.txt --tokenizer chars --vocab-size $((n + 1)) --qk-norm \
        --rope-scaling "$scaling" --out run-$type >out 2>err || die "train"
    "$TT" export run-$type $type.gguf >out 2>err || fail "export $type"
done
for scaling in linear,factor=4 yarn,factor=4,original_max_position_embeddings=32 \
    llama3,factor=8,low_freq_factor=1,high_freq_factor=4,original_max_position_embeddings=32; do
    type=${scaling%%,*}
    "$TT" train $tiny --data chars.txt --tokenizer chars --vocab-size $((n + 1)) --rope-scaling $scaling --out run-$type >out 2>err || die "train"
    "$TT" export run-$type $type.gguf >out 2>err || fail "export $type"
done
for type in ${package:+$types $others}; do "$python" "$check" file $type.gguf >out 2>err || fail "the package gguf does not read $type"; done
passed "${package:+the package gguf reads every type}"
has llama-simple || has llama-tokenize || finish

# the same logits, with keys and values in fp32 as in tt. With narrower weights llama.cpp also rounds their other
# factors.
"$TT" eval run --logits run.safetensors >out 2>err || fail "logits"
for type in $others; do "$TT" eval run-$type --logits $type.safetensors >out 2>err || fail "logits of $type"; done
"$python" "$check" prompt run.safetensors run/step-00000001/tokenizer.json >prompt.txt || fail "prompt"
for type in $types $others; do
    has llama-debug || continue
    case $type in bf16) tolerance=5e-2 ;; fp16) tolerance=1e-2 ;; q8_0) tolerance=1.5e-1 ;; *) tolerance=1e-5 ;; esac
    [ -e $type.safetensors ] && logits=$type.safetensors || logits=run.safetensors
    llama-debug -m $type.gguf -f prompt.txt --save-logits --logits-output-dir logits -ctk f32 -ctv f32 -fa off >out 2>err ||
        fail "llama-debug with $type"
    "$python" "$check" logits $logits logits/llamacpp-$type.bin $tolerance >out 2>err || fail "other logits in $type"
    cat out
done
has llama-debug && passed "the same logits"

# a Qwen2 is a LLaMA with biases that rotates halves of a head: renamed, the same numbers are another model, for both
# programs
if has llama-debug; then
    LC_ALL=C sed 's/\(general.architecture.\{12\}\)llama/\1qwen2/; s/llama\./qwen2./g' bias.gguf >qwen2.gguf
    expect 0 "saved" "$TT" import qwen2.gguf --out run-qwen2
    "$TT" eval run-qwen2 --data chars.txt --batch-size 2 --logits qwen2.safetensors >out 2>err || fail "logits of a Qwen2"
    "$python" "$check" prompt qwen2.safetensors run/step-00000001/tokenizer.json >prompt-qwen2.txt || fail "prompt"
    llama-debug -m qwen2.gguf -f prompt-qwen2.txt --save-logits --logits-output-dir logits -ctk f32 -ctv f32 -fa off >out 2>err ||
        fail "llama-debug with a Qwen2"
    "$python" "$check" logits qwen2.safetensors logits/llamacpp-qwen2.bin 1e-5 >out 2>err || fail "other logits of a Qwen2"
    cat out
    passed "a Qwen2 of llama.cpp"
fi

# llama-quantize makes the same bits
weights() { sed 's/"step":"[0-9]*"/"step":""/' "$1"/step-*/model.safetensors; }
for type in bf16 fp16 q8_0; do
    has llama-quantize || continue
    theirs=${type/fp/f}
    llama-quantize --pure fp32.gguf theirs-$type.gguf "${theirs^^}" >out 2>err || fail "llama-quantize to $type"
    for from in $type theirs-$type; do expect 0 "saved" "$TT" import $from.gguf --out back-$from; done
    cmp -s <(weights back-$type) <(weights back-theirs-$type) || fail "llama-quantize makes other weights in $type"
done
has llama-quantize && passed "the same bits of bf16, fp16 and q8_0 as llama-quantize"

# the same generated text
"$TT" generate run --prompt "some wörds" --temperature 0 --max-tokens 50 --quiet >ours.txt 2>err || fail "generate"
if has llama-simple; then
    llama-simple -m fp32.gguf -n 50 "some wörds" >theirs.txt 2>err || fail "llama-simple"
    [ "$(wc -m <ours.txt)" = 61 ] || fail "a text of 50 characters is longer: $(cat ours.txt)"
    cmp -s ours.txt theirs.txt || fail "another text: $(cat ours.txt theirs.txt)"
fi
has llama-simple && passed "the same text of 50 tokens"

# the same tokens of a text
has llama-tokenize || finish
hard_text >text.txt
tokens() { # tokens NAME TOKENIZER TEXT [OPTION...]
    "$TT" train $tiny --data "$3" --tokenizer "$2" "${@:4}" --out run-$1 >out 2>err || fail "train with $1"
    expect 0 "wrote" "$TT" export run-$1 tokens-$1.gguf --dtype fp16
    "$TT" data "$3" --tokenizer run-$1/step-00000001/tokenizer.json --val-fraction 0 --out tokens-$1 >out 2>err || fail "data with $1"
    llama-tokenize -m tokens-$1.gguf -f "$3" --ids --no-bos --no-escape >theirs 2>err || fail "llama-tokenize with $1"
    "$python" "$check" tokens tokens-$1/train_000000.bin theirs >out 2>err || fail "other tokens with $1"
    cat out
}
tokens bytes bytes text.txt
tokens chars chars text.txt --vocab-size 100
for kind in gpt2 gpt2_split llama3 qwen2 smollm; do
    tokens $kind "$root/tests/fixtures/tokenizers/$kind/tokenizer.json" "$root/tests/fixtures/tokenizers/$kind/text.txt"
done
passed "the same tokens"
finish
