#!/usr/bin/env bash
# Exchange with Hugging Face's transformers on the command line: export, import of that and of models that transformers
# wrote, further training. In test_transformers.sh transformers itself opens the exports.
set -u
. tests/lib.sh
. tests/model/hard_text.sh
needs_device
cd "$dir" || exit 1
tiny="--hidden-dim 32 --num-layers 2 --num-heads 4 --num-kv-heads 2 --ffn-dim 48 --seq-len 16 --batch-size 4"

hard_text >text.txt

for kind in words bytes chars bpe; do
    data=$(data_of $kind)
    [ $kind = chars ] && tie=--no-tie-embeddings || tie=
    "$TT" train $tiny $data $tie --num-steps 6 --rope-theta 20000 --norm-eps 1e-5 --out run-$kind >out 2>err || fail "train $kind"
    expect 0 "wrote" "$TT" export --format hf hf-$kind --checkpoint run-$kind
    expect 0 "loss" "$TT" eval run-$kind --logits $kind.safetensors
    expect 0 "tied" "$TT" import hf-$kind --out back-$kind
    cmp -s run-$kind/step-00000006/model.safetensors <(sed 's/"step":"0"/"step":"6"/' back-$kind/step-00000000/model.safetensors) ||
        fail "$kind: the weights do not come back"
    cmp -s {run-$kind/step-00000006,back-$kind/step-00000000}/tokenizer.json || fail "$kind: the tokenizer does not come back"
done
# a character tokenizer for documents: its end token becomes a special token
while read -r line; do printf '{"text":"%s"}\n' "$(tr -d '"\\\t' <<<"$line")"; done <text.txt >text.jsonl
"$TT" train $tiny --data text.jsonl --tokenizer chars --num-steps 2 --out run-documents >out 2>err || fail "train on documents"
expect 0 "wrote" "$TT" export run-documents hf-documents
grep -q "left out" out && fail "the tokenizer is left out: $(cat out)"
expect 0 "tied" "$TT" import hf-documents --out back-documents
cmp -s {run-documents/step-00000002,back-documents/step-00000000}/tokenizer.json || fail "the tokenizer of documents does not come back"
expect 2 "is not empty" "$TT" export hf-bpe --checkpoint run-bpe
expect 2 "hf-bpe is a model for transformers, not a checkpoint; make one of it: tt import hf-bpe --out" "$TT" generate hf-bpe --prompt a
expect 2 "tt import hf-bpe --out" "$TT" train --resume hf-bpe --num-steps 1 --out new
: >model.gguf
expect 2 "model.gguf is a model for llama.cpp" "$TT" generate model.gguf --prompt a
cp -r run-bytes without-state && rm without-state/step-*/state.safetensors
expect 1 "with one whose weights are intact, name it, such as without-state/step-" "$TT" generate without-state --prompt a
expect 0 "wrote" "$TT" export without-state/step-00000006 weights-alone
pointer=$(printf 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 123\n')
for file in config.json model.safetensors tokenizer.json; do # as in a clone without Git LFS
    rm -rf cloned && cp -r hf-bpe cloned && echo "$pointer" >cloned/$file
    expect 2 "$file is a Git LFS pointer; fetch the file itself: git lfs pull" "$TT" import cloned --out from-pointers
done
for file in pointer.gguf pointer.bin pointer.json; do echo "$pointer" >$file; done
expect 2 "pointer.gguf is a Git LFS pointer" "$TT" import pointer.gguf --out from-pointers
expect 2 "pointer.bin is a Git LFS pointer" "$TT" train $tiny --data pointer.bin --out from-pointers
expect 2 "pointer.json is a Git LFS pointer" "$TT" data text.txt --tokenizer pointer.json --out from-pointers
[ ! -e from-pointers ] || fail "pointers leave $(ls -R from-pointers)"
expect 2 "holds a run already" "$TT" import hf-bpe --out back-bpe
mkdir mine
for out in mine mine/a/b mine/c/; do # without disk space, it leaves only the folders that existed before
    (ulimit -f 4; exec "$TT" import hf-bpe --out $out) >out 2>err
    [ $? = 1 ] && grep -q "was not saved" err || fail "import without room"
    [ -z "$(ls mine)" ] || fail "import without room leaves $(ls -R mine)"
done
expect 2 "no checkpoint" "$TT" export new --checkpoint nothing
expect 2 "there is no nothing.gguf; give the folder of a Hugging Face model, or a GGUF file" "$TT" import nothing.gguf --out new
expect 2 "neither runs/nope nor ex/y holds a checkpoint" "$TT" export runs/nope ex/y
expect 2 "neither runs/nope nor runs/default holds a checkpoint" "$TT" export runs/nope
expect 2 "runs/default holds no checkpoint; make one with: tt train --out runs/default" "$TT" export runs/default
expect 2 "give its folder" "$TT" import --out new
sed 's/"rope_scaling": null/"rope_scaling": {"rope_type": "llama3"}/' hf-bpe/config.json >c && mkdir odd && cp hf-bpe/model.safetensors odd &&
    mv c odd/config.json
expect 2 "llama3" "$TT" import odd --out new
mkdir nan && cp hf-bpe/config.json hf-bpe/model.safetensors nan
printf '\0\0\300\177' | dd of=nan/model.safetensors bs=1 seek=$(($(wc -c <nan/model.safetensors) - 4)) conv=notrunc 2>/dev/null
expect 1 "holds nan" "$TT" import nan --out new
[ -e new ] && fail "what was refused left something behind"

# each argument is recognised: a run to export, or the place to write to
expect 0 "wrote   to-a: " "$TT" export run-bpe to-a
expect 0 "wrote   to-b: " "$TT" export to-b run-bpe/step-00000006
expect 0 "wrote   to-c: " "$TT" export run-bpe --out to-c
expect 0 "wrote   exported: " "$TT" export run-bpe
for to in to-a to-b to-c exported; do diff -rq hf-bpe $to >difference || fail "$to is another model: $(head -n 1 difference)"; done
expect 2 "both hold a checkpoint" "$TT" export run-bpe --checkpoint run-chars
expect 2 "nowhere holds no checkpoint, and the model goes to new" "$TT" export nowhere --out new
[ -e new ] || [ -e one ] && fail "what was refused left something behind"

# training continues from an import
expect 2 "has no data of its own" "$TT" train --resume back-bpe --out on
expect 0 "resume" "$TT" train --resume back-bpe --data text.txt --num-steps 8 --batch-size 4 --learning-rate 1e-3 --out on
grep -q '"step":8' on/metrics.jsonl || fail "the imported model did not train"
expect 0 "line" "$TT" generate back-bpe --prompt "line" --max-tokens 3
for f in gqa_tied_fp32 mha_untied_bf16_sharded mqa_untied_fp16; do
    expect 0 "note    no tokenizer" "$TT" import "$root/tests/fixtures/hf/$f" --out fixture-$f
    expect 0 "resume" "$TT" train --resume fixture-$f --data random --num-steps 3 --out fixture-on-$f
    expect 0 "3" "$TT" generate fixture-$f --prompt "3 4" --max-tokens 3
    expect 2 "token numbers below" "$TT" generate fixture-$f --prompt "words"
    example=$(sed -n 's/.*like "\(.*\)".*/\1/p' err)
    expect 0 "tokens/s" "$TT" generate fixture-$f --prompt "$example" --max-tokens 1
    expect 2 "has no tokenizer" "$TT" train --resume fixture-$f --data text.txt --num-steps 3 --out never
    expect 2 "has no tokenizer" "$TT" eval fixture-$f --data text.txt
done
grep -q "seq-len: 32 " <("$TT" import "$root/tests/fixtures/hf/mqa_untied_fp16" --out seq >/dev/null && sed 's/\\n/\n/g' seq/step-00000000/checkpoint.json) ||
    fail "the length of sequences is not the model's"
expect 0 "begin" "$TT" train --init-from run-bpe --num-steps 4 --data text.txt --out tuned
grep -q '"step":4' tuned/metrics.jsonl || fail "--init-from did not start anew"
# another program's tokenizer is imported, used, kept and exported; one that does not fit the model is not
cp -r "$root/tests/fixtures/hf/gqa_tied_fp32" foreign && cp "$root/tests/fixtures/tokenizers/llama3/tokenizer.json" foreign
expect 0 "its tokenizer has 362 tokens, and the model 24" "$TT" import foreign --out foreign-small
expect 0 "vocabulary 362 (byte-level)" "$TT" data "$root/tests/fixtures/tokenizers/llama3/text.txt" --tokenizer foreign/tokenizer.json --val-fraction 0 --out foreign-data
expect 0 "byte-level" "$TT" train --data text.txt --tokenizer foreign/tokenizer.json --hidden-dim 32 --num-layers 1 --num-heads 2 --num-kv-heads 2 --ffn-dim 48 --seq-len 16 --batch-size 2 --num-steps 2 --out foreign-run
expect 0 "" "$TT" export foreign-hf --checkpoint foreign-run
expect 0 "saved" "$TT" import foreign-hf --out foreign-again
grep -q "no tokenizer" out && fail "a tokenizer that was exported again is not read"
cmp -s foreign-run/step-00000002/tokenizer.json foreign-again/step-00000000/tokenizer.json || fail "the tokenizer of another program changed on the way"
expect 0 "the cat" "$TT" generate foreign-again --prompt "the cat" --max-tokens 2
cp foreign/tokenizer.json fixture-gqa_tied_fp32/step-00000000
expect 2 "the tokenizer turns it into token" "$TT" generate fixture-gqa_tied_fp32 --prompt "the cat"
expect 2 "not both" "$TT" train --init-from run-bpe --resume run-bpe --out tuned
for type in bf16 fp16; do expect 0 "$type" "$TT" export hf-bpe-$type --checkpoint run-bpe --dtype $type; done
passed "export, import, train on"
finish
