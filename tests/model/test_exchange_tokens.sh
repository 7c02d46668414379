#!/usr/bin/env bash
# What another program's model contains besides weights and tokens survives import, training and export in both formats:
# the tokens that begin and end texts, the chat template, the longest sequence.
set -u
. tests/lib.sh
needs_device
cd "$dir" || exit 1
tiny="--hidden-dim 32 --num-layers 1 --num-heads 2 --num-kv-heads 2 --ffn-dim 48 --seq-len 16 --batch-size 2 --threads 1"
fixture=$root/tests/fixtures/tokenizers/llama3 # puts its token 0, <|end|>, before texts
for i in $(seq 60); do echo "{\"text\": \"some words $i\"}"; done >documents.jsonl
sed 's/.*: "\(.*\)"}/\1/' documents.jsonl >text.txt

# a model as transformers writes it, with several end tokens, a template and 4096 positions
"$TT" train $tiny --data text.txt --tokenizer $fixture/tokenizer.json --num-steps 2 --out run >out 2>err || die "train"
"$TT" export run hf >out 2>err || die "export"
sed -i 's/"eos_token_id": null/"eos_token_id": [361, 360]/; s/\("max_position_embeddings": \)16/\14096/' hf/config.json
sed -i 's/"eos_token_id": null/"eos_token_id": [360, 361, 5]/' hf/generation_config.json
cat >hf/tokenizer_config.json <<'END'
{"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|end|>", "eos_token": {"content": "<xy>"}, "pad_token": "<x>",
 "auto_map": {"AutoTokenizer": ["program.py", null]}, "model_max_length": 4096}
END
printf '{%% for m in messages %%}<|end|>{{ m["content"] }}é\n{%% endfor %%}' >hf/chat_template.jinja

keeps() { # keeps FOLDER: checks that an export for transformers has all of it
    for line in '"max_position_embeddings": 4096' '"bos_token_id": 0'; do
        grep -q "$line" $1/config.json || fail "$1: config.json has no $line"
    done
    for file in config generation_config; do
        tr -d ' \n' <$1/$file.json | grep -q '"eos_token_id":\[361,360,5\]' || fail "$1: $file.json has $(tr -d '\n' <$1/$file.json)"
    done
    tr -d '\n' <$1/tokenizer_config.json >about
    for field in '"bos_token": "<|end|>"' '<xy>' '"chat_template": "{% for m in messages %}<|end|>{{ m[\"content\"] }}é\n{% endfor %}"'; do
        grep -qF -- "$field" about || fail "$1: tokenizer_config.json has no $field: $(cat about)"
    done
    grep -q auto_map about && fail "$1 names a program that is not there"
    grep -q tokenizer_config $1/tokenizer.json && fail "$1: tokenizer.json has a field that tokenizers does not know"
    grep -q '"post_processor"' $1/tokenizer.json && grep -q SpecialToken $1/tokenizer.json || fail "$1: no token before texts"
}
expect 0 saved "$TT" import hf --seq-len 16 --out imported
expect 0 wrote "$TT" export imported out-hf
keeps out-hf
grep -q '"pad_token_id": 360' out-hf/config.json || fail "the token that pads is lost"
expect 0 wrote "$TT" export imported out.gguf
grep -q "GGUF file can name only the first" out && fail "three tokens are too many"
expect 0 saved "$TT" import out.gguf --seq-len 16 --out from-gguf
expect 0 wrote "$TT" export from-gguf gguf-hf
keeps gguf-hf
for field in single_word lstrip rstrip normalized; do
    grep -q "\"$field\"" gguf-hf/tokenizer.json || fail "tokenizers refuses an added token without $field"
done
passed "import and export keep what a model says"

# training keeps them too, and JSON Lines need no end token with a known name
expect 0 "" "$TT" train --resume imported --data documents.jsonl --num-steps 2 --batch-size 2 --threads 1 --val-interval 0 --out tuned
expect 0 wrote "$TT" export tuned tuned-hf
keeps tuned-hf
rm hf/tokenizer_config.json
expect 0 saved "$TT" import hf --seq-len 16 --out bare
grep -q '"eos_token":"<xy>"' bare/step-00000000/tokenizer.json || fail "eos_token_id names no token for documents"
sed 's/"type": *"TemplateProcessing"/"type":"ByteLevel"/' $fixture/tokenizer.json >nameless.json
expect 2 "name one with --document-end" "$TT" train $tiny --data documents.jsonl --tokenizer nameless.json --num-steps 1 --out nameless
expect 0 "" "$TT" train $tiny --data documents.jsonl --tokenizer nameless.json --document-end 361 --num-steps 1 --out nameless
printf '\xef\xbb\xbfsome words\n' >marked.txt
expect 0 '"text":"some words' "$TT" generate imported --prompts marked.txt --temperature 0 --max-tokens 1 --threads 1 --json
passed "training keeps it"

# prompts and documents begin with the tokenizer's begin token, once
tokens() { "$TT" generate "$@" --temperature 0 --max-tokens 1 --threads 1 --json 2>err | sed 's/.*"tokens":\[\(.*\),[0-9]*\].*/\1/'; }
plain=$("$TT" data text.txt --tokenizer $fixture/tokenizer.json --val-fraction 0 --out plain --json >out 2>err &&
    od -An -tu2 -j 1024 -N 2 -w2 plain/*.bin | tr -d ' ')
[ "$plain" != 0 ] || fail "a plain text begins with a token"
for run in imported from-gguf tuned; do
    case $(tokens $run --prompt "some words") in 0,0,*) fail "$run: two tokens before a prompt" ;; 0,*) ;; *) fail "$run: none before a prompt" ;; esac
    [ "$(tokens $run --prompt "some words")" = "$(tokens $run --prompt "<|end|>some words")" ] || fail "$run: the token that is there is put again"
    [ "$(tokens $run)" = 0 ] || fail "$run: nothing begins with $(tokens $run)"
done
expect 0 '"text":"some words' "$TT" generate imported --prompt "some words" --temperature 0 --max-tokens 1 --threads 1 --json
mkdir beside && cp $fixture/tokenizer.json out-hf/tokenizer_config.json beside
"$TT" data documents.jsonl --tokenizer beside/tokenizer.json --val-fraction 0 --out lines >out 2>err || fail "documents"
od -An -v -tu2 -w2 -j 1024 lines/*.bin | tr -d ' ' >numbers
[ "$(head -n 1 numbers)" = 0 ] && [ "$(grep -cx 0 numbers)" = 60 ] && [ "$(grep -cx 361 numbers)" = 60 ] ||
    fail "documents do not begin and end with their tokens: $(grep -cx 0 numbers), $(grep -cx 361 numbers)"
passed "prompts and documents begin as the tokenizer says"

# each of the end tokens ends a text
"$TT" train $tiny --data text.txt --tokenizer beside/tokenizer.json --end-tokens 360,5 --num-steps 1 --out ends >out 2>err || fail "train"
"$TT" generate ends --prompt some --num-samples 40 --temperature 3 --max-tokens 200 --threads 1 --json >many 2>err || fail "generate"
[ "$(grep '"finish":"end-token"' many | sed 's/.*,\([0-9]*\)\]}.*/\1/' | sort -un | tr '\n' ' ')" = "5 360 361 " ] ||
    fail "texts end with other tokens: $(grep '"finish":"end-token"' many | sed 's/.*,\([0-9]*\)\]}.*/\1/' | sort -n | uniq -c)"
grep -qE '"tokens":\[[0-9,]*,(5|360|361),[0-9]' many && fail "a text goes on after its end"
expect 2 "token numbers, like 7,9" "$TT" train $tiny --end-tokens 3,x --num-steps 1 --out new
passed "each of the tokens ends a text"

expect 2 "fields inside others cannot be named" "$TT" data documents.jsonl --text-field doc.text --tokenizer bytes --out new

# bad files beside a tokenizer
printf '{"eos_token": ' >beside/tokenizer_config.json
expect 1 "tokenizer_config.json is damaged" "$TT" data documents.jsonl --tokenizer beside/tokenizer.json --out new
printf '[]' >beside/tokenizer_config.json
expect 1 "not a JSON object" "$TT" data documents.jsonl --tokenizer beside/tokenizer.json --out new
rm beside/tokenizer_config.json
printf 'a\xff' >beside/chat_template.jinja
expect 1 "is not UTF-8" "$TT" data documents.jsonl --tokenizer beside/tokenizer.json --out new
passed "damaged files are refused"
finish
