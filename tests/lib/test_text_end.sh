#!/usr/bin/env bash
# Which token ends a text: tt generate, config.json for transformers, the GGUF file, libtt and the Python module agree,
# whether it comes from the data, the tokenizer or nowhere. Also which token begins a text without a prompt.
set -u
. tests/lib.sh
: "${TT:?is the program to test}" "${TT_BUILD:?is the build folder}"
needs_device
cd "$dir" || exit 1
tiny="--hidden-dim 32 --num-layers 1 --num-heads 2 --num-kv-heads 2 --seq-len 8 --batch-size 8 --learning-rate 0.02 --warmup-steps 0 --threads 1"
for i in $(seq 200); do echo '{"text": "abc"}'; done >documents.jsonl
python=${TT_PYTHON:-python3}
module=
[ "$(cached TT_LIBRARY)" = ON ] && [ "$(cached TT_SANITIZE)" != ON ] &&
    "$python" -c 'import sys, ctypes; sys.exit(sys.version_info < (3, 9))' 2>/dev/null && module=yes
export PYTHONPATH=$root/lib/python TT_LIBRARY=$TT_BUILD/libtt.so PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1

u32_after() { # u32_after KEY FILE: the number after a key of a GGUF file
    local at
    at=$(LC_ALL=C grep -abo "$1" "$2" | head -n 1 | cut -d: -f1)
    [ -n "$at" ] && od -An -tu4 -j $((at + ${#1} + 4)) -N 4 "$2" | tr -d ' '
}
starts() { # starts RUN TOKEN: checks the token with which a text without a prompt begins
    local first
    "$TT" generate $1 --temperature 0 --max-tokens 3 --threads 1 --end-token -2 --json >$1.start 2>err || fail "$1: generate"
    first=$(sed 's/.*"tokens":\[\([0-9]*\),.*/\1/' $1.start)
    [ "$first" = "$2" ] || fail "$1 starts with $first, not $2"
    [ -z "$module" ] && return
    "$python" - $1 >by-python <<'END' || fail "$1: the module"
import sys, tinytransformer as tt
print(*tt.open(threads=1).load(sys.argv[1], data="none").generate(max_tokens=3, temperature=0, ignore_end=True), sep=",")
END
    grep -q "\"tokens\":\[[0-9]*,$(cat by-python)\]" $1.start || fail "$1: the module starts otherwise: $(cat by-python), $(cat $1.start)"
}
agree() { # agree RUN END PROMPT TOKENS: END is the token or null; TOKENS follow the prompt at temperature 0
    "$TT" generate $1 --prompt "$3" --temperature 0 --max-tokens 12 --threads 1 --json >$1.json 2>err || fail "$1: generate"
    grep -q "\"tokens\":\[[0-9,]*,$4\]" $1.json || fail "$1: $(cat $1.json), not $4"
    if [ "$2" = null ]; then want=length; else want=end-token; fi
    grep -q "\"finish\":\"$want\"" $1.json || fail "$1: it does not finish by $want: $(cat $1.json)"
    "$TT" export $1 $1-hf >out 2>err || fail "$1: export"
    for file in config generation_config; do
        grep -q "\"eos_token_id\": $2,*$" $1-hf/$file.json || fail "$1: $file.json has $(grep eos_token_id $1-hf/$file.json)"
    done
    "$TT" export $1 $1.gguf >out 2>err || fail "$1: export to GGUF"
    [ -z "$module" ] && return
    "$python" - $1 "$3" >by-python <<'END' || fail "$1: the module"
import sys, tinytransformer as tt
model = tt.open(threads=1).load(sys.argv[1], data="none")
prompt = [int(t) for t in sys.argv[2].split()] if sys.argv[2][0].isdigit() else sys.argv[2]
print("null" if model.end_token is None else model.end_token)
print(*model.generate(prompt, max_tokens=12, temperature=0), sep=",")
print(len(model.generate(prompt, max_tokens=12, temperature=0, ignore_end=True)))
END
    printf '%s\n' "$2" "$4" 12 | cmp -s - by-python || fail "$1: the module says $(paste -sd ' ' by-python)"
}

# from the tokenizer: documents are joined, and only the tokenizer names an end token
"$TT" train $tiny --data documents.jsonl --tokenizer bytes --num-steps 60 --out bytes >out 2>err || fail "train"
agree bytes 0 a 98,99,0
starts bytes 0
[ "$(u32_after tokenizer.ggml.eos_token_id bytes.gguf)" = 0 ] || fail "bytes: another end in the GGUF file"
grep -q '"eos_token": "<|endoftext|>"' bytes-hf/tokenizer_config.json || fail "bytes: transformers does not know the end as a token"
grep -q '"special": true' bytes-hf/tokenizer.json || fail "bytes: transformers shows the end as text"
at=$(LC_ALL=C grep -abo tokenizer.ggml.token_type bytes.gguf | head -n 1 | cut -d: -f1)
[ "$(od -An -td4 -j $((at + 41)) -N 8 bytes.gguf | tr -s ' ')" = " 3 1" ] || fail "bytes: llama.cpp shows the end as text"
for from in bytes-hf bytes.gguf; do
    expect 0 saved "$TT" import $from --out back-$from
    cmp bytes/step-00000060/tokenizer.json back-$from/step-00000000/tokenizer.json || fail "$from: another tokenizer comes back"
done
expect 0 'finish":"length' "$TT" generate bytes --prompt a --temperature 0 --max-tokens 12 --end-token -2 --json
expect 2 "--end-token 256 is none of the 256 tokens" "$TT" generate bytes --prompt a --end-token 256
passed "the tokenizer's"

# from the data: token files name it, and there is no tokenizer
"$TT" data documents.jsonl --tokenizer bytes --val-fraction 0 --out tokens >out 2>err || fail "data"
rm tokens/tokenizer.json
"$TT" train $tiny --data tokens --vocab-size 128 --val-fraction 0.1 --num-steps 60 --out numbers >out 2>err || fail "train on token files"
agree numbers 0 97 98,99,0
starts numbers 0
passed "the data's"

# from --document-end
"$TT" train $tiny --data documents.jsonl --tokenizer bytes --document-end 99 --num-steps 60 --out named >out 2>err || fail "train with an end"
agree named 99 a 98,99
starts named 99
[ "$(u32_after tokenizer.ggml.eos_token_id named.gguf)" = 99 ] || fail "named: another end in the GGUF file"
for from in named-hf named.gguf; do
    expect 0 saved "$TT" import $from --out back-$from
    expect 0 'finish":"end-token' "$TT" generate back-$from --prompt a --temperature 0 --max-tokens 12 --json
    grep -q '99\]' out || fail "$from ends otherwise: $(cat out)"
done
passed "the one that was named, also after an export and import"

# from nowhere
"$TT" train $tiny --num-steps 2 --out words >out 2>err || fail "train on the language"
"$TT" generate words --prompt "the cat" --temperature 0 --max-tokens 12 --threads 1 --json >out 2>err
agree words null "the cat" "$(sed 's/.*"tokens":\[[0-9]*,[0-9]*,[0-9]*,\([0-9,]*\)\].*/\1/' out)"
starts words 0
for i in $(seq 200); do echo abc; done >lines.txt
"$TT" train $tiny --data lines.txt --tokenizer bytes --documents separate --num-steps 2 --out lines >out 2>err || fail "train on lines"
grep -q "token 0, which ends documents, is not in lines.txt" err || fail "nothing says that no document ends"
starts lines 10 # the tokenizer has an end token, but the data do not contain it
passed "nobody's"
finish
