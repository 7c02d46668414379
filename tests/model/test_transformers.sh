#!/usr/bin/env bash
# Hugging Face's transformers opens our exports with our logits and tokens, and we open what it saves. Skipped if it is
# not installed; PYTHON names another python3.
set -u
. tests/lib.sh
. tests/model/hard_text.sh
once "what transformers reads does not depend on how tt was built"
python=${PYTHON:-python3}
"$python" -c 'import transformers, torch, safetensors, numpy' 2>/dev/null || skip "transformers is not installed"
: "${TT:?is the program to test}"
cd "$dir" || exit 1
tiny="--hidden-dim 32 --num-layers 2 --num-heads 4 --num-kv-heads 2 --ffn-dim 48 --seq-len 16 --batch-size 4"

hard_text >text.txt

for kind in words bytes chars bpe; do
    data=$(data_of $kind)
    [ $kind = chars ] && tie=--no-tie-embeddings || tie=
    "$TT" train $tiny $data $tie --num-steps 6 --rope-theta 20000 --norm-eps 1e-5 --out run-$kind >out 2>err || fail "train $kind"
    "$TT" export hf-$kind --checkpoint run-$kind >out 2>err || fail "export $kind"
    "$TT" eval run-$kind --logits $kind.safetensors >out 2>err || fail "logits of $kind"
done
for type in bf16 fp16; do "$TT" export hf-bpe-$type --checkpoint run-bpe --dtype $type >out 2>err || fail "export $type"; done

export HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error
"$TT" generate run-words --max-tokens 300 --quiet --prompt "the small cat" >words.txt 2>err
pairs=()
for kind in words bytes chars bpe; do
    source=text.txt
    [ $kind = words ] && source=words.txt
    "$TT" data $source --tokenizer run-$kind/step-00000006/tokenizer.json --val-fraction 0 --out tokens-$kind >out 2>err || fail "data $kind"
    pairs+=(hf-$kind $kind.safetensors 1e-5 tokens-$kind/train_000000.bin $source)
done
for type in bf16 fp16; do pairs+=(hf-bpe-$type bpe.safetensors 2e-2 - -); done
"$python" "$root/tests/hf/check.py" "${pairs[@]}" >out 2>err || fail "transformers reads another model"
cat out

# the likeliest continuations of several prompts, with and without a repetition penalty, and beyond dynamic RoPE's limit
"$TT" train $tiny $(data_of bytes) --num-steps 6 --rope-scaling dynamic,factor=2,max_position_embeddings=16 --out run-dynamic >out 2>err ||
    fail "train with dynamic RoPE"
"$TT" export hf-dynamic --checkpoint run-dynamic >out 2>err || fail "export with dynamic RoPE"
for how in "bytes 1.0" "bytes 1.3" "dynamic 1.3"; do
    set -- $how
    "$TT" generate run-$1 --prompt "some words" --prompt "a" --prompt "of a text that has" --temperature 0 --max-tokens 24 \
        --repetition-penalty $2 --json >greedy.jsonl 2>err || fail "generate $1 with a penalty of $2"
    "$python" - hf-$1 greedy.jsonl $2 >out 2>err <<'END' || fail "transformers generates other tokens with $1, penalty $2"
import json, sys, torch, transformers
for line in open(sys.argv[2]):
    ours = json.loads(line)
    # a model keeps the angles of the longest text it has seen
    model = transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1]).float()
    prompt = torch.tensor([ours["tokens"][:ours["prompt_tokens"]]])
    theirs = model.generate(prompt, attention_mask=torch.ones_like(prompt), min_new_tokens=24, max_new_tokens=24, do_sample=False,
                            repetition_penalty=float(sys.argv[3]), pad_token_id=0)[0].tolist()
    assert theirs == ours["tokens"], (theirs, ours["tokens"])
    print("the same", len(theirs), "tokens")
END
    cat out
done
"$python" "$root/tests/hf/make_fixtures.py" fresh >out 2>err || fail "transformers writes models"

# its models are trained here and exported back to it
pairs=()
for f in fresh/*; do
    name=$(basename "$f")
    "$TT" import "$f" --seq-len 24 --out "imported/$name" >out 2>err || fail "import $f"
    "$TT" train --resume "imported/$name" --data random --num-steps 3 --warmup-steps 0 --batch-size 2 --out "trained/$name" >out 2>err ||
        fail "train $name"
    "$TT" eval "trained/$name" --data random --logits "$name.safetensors" >out 2>err || fail "logits of $name"
    "$TT" export "back/$name" --checkpoint "trained/$name" >out 2>err || fail "export $name"
    pairs+=("back/$name" "$name.safetensors" 2e-5 - -)
done
"$python" "$root/tests/hf/check.py" "${pairs[@]}" >out 2>err || fail "transformers reads another trained model"
cat out

# other programs' tokenizers: the same tokens, from the text and through a model imported with one and exported again
"$python" "$root/tests/hf/make_tokenizers.py" foreign 2 3000 >out 2>err || fail "tokenizers are not trained"
for kind in gpt2 gpt2_split llama3 qwen2 smollm; do
    "$TT" data foreign/$kind/text.txt --tokenizer foreign/$kind/tokenizer.json --val-fraction 0 --out foreign/$kind/ours >out 2>err || fail "data with $kind"
    cp -r hf-bpe foreign/$kind/model && cp foreign/$kind/tokenizer.json foreign/$kind/model
    "$TT" import foreign/$kind/model --out foreign/$kind/run >out 2>err || fail "import with $kind"
    grep -q "no tokenizer" out && fail "$kind is not read"
    "$TT" export foreign/$kind/back --checkpoint foreign/$kind/run >out 2>err || fail "export with $kind"
done
"$python" - foreign/* >out 2>err <<'END' || fail "other tokens than those of the library"
import sys, numpy, transformers
for folder in sys.argv[1:]:
    wanted = list(map(int, open(folder + "/tokens.txt").read().split()))
    ours = numpy.fromfile(folder + "/ours/train_000000.bin", dtype="<u2", offset=1024).tolist()
    text = open(folder + "/text.txt", encoding="utf-8", newline="").read()
    back = transformers.PreTrainedTokenizerFast(tokenizer_file=folder + "/back/tokenizer.json")
    assert ours == wanted, folder
    assert back(text, add_special_tokens=False)["input_ids"] == wanted, folder
    print(f"{folder}: the same {len(ours)} tokens")
END
cat out
finish
