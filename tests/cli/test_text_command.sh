#!/usr/bin/env bash
# Real-world text through the program. JSON Lines written by Python's json are read as Python reads them. Also globs,
# folders, packed files, and the messages about bad lines and a missing library.
set -u
. tests/lib.sh
: "${TT:?is the program to test}"
cd "$dir" || exit 1
tiny_model="--seq-len 32 --batch-size 8 --hidden-dim 16 --num-layers 1 --num-heads 2 --num-kv-heads 1 --ffn-dim 16 --vocab-size 256"
tiny="--preset tiny --num-steps 2 --val-interval 0 --seq-len 16 --batch-size 2 --hidden-dim 16 --num-layers 1 --num-heads 2 --num-kv-heads 1 --ffn-dim 16"

if has python3; then
    python3 - <<'PYTHON'
import gzip, json, random
random.seed(1)
pieces = ["a", "é", "日本", "😀", "𝄞", "\\", '"', "/", "\n", "\t", "\r", "\b", "\f", " ", "\u2028", "\ufeff", "\x7f", "\u0001", "x y"]
docs = ["".join(random.choice(pieces) for _ in range(random.randrange(60))) for _ in range(2000)]
lines = [json.dumps({"id": i, "text": d, "meta": {"x": [1, 2.5e-3, None, True]}}, ensure_ascii=i % 2 == 0) for i, d in enumerate(docs)]
open("a.jsonl", "w", newline="", encoding="utf-8").write("\r\n".join(lines[:900]) + "\r\n\n  \n")
open("b.jsonl", "w", newline="", encoding="utf-8").write("\n".join(lines[900:]))
gzip.open("packed.jsonl.gz", "wb").write("\n".join(lines).encode())
read = [json.loads(line)["text"] for name in ("a.jsonl", "b.jsonl") for line in open(name, encoding="utf-8", newline="\n") if line.strip()]
assert read == docs
open("wanted", "wb").write(b"".join(d.encode() + b"\0" for d in read))
PYTHON
    tokens() { python3 -c 'import sys; sys.stdout.buffer.write(open(sys.argv[1], "rb").read()[1024::2])' "$1"; }
    expect 0 "2000 documents" "$TT" data '[ab].jsonl' --out two --val-fraction 0
    tokens two/train_000000.bin | cmp - wanted || fail "JSON Lines of Python are read otherwise than Python reads them"
    expect 0 "" "$TT" data packed.jsonl.gz --out gz --val-fraction 0
    cmp two/train_000000.bin gz/train_000000.bin || fail "packed, the text has other tokens"
    if has zstd; then
        zstd -q a.jsonl -o a.zst
        expect 0 "" "$TT" data a.zst --text-field text --out zst --val-fraction 0
        expect 0 "" "$TT" data a.jsonl --out plain --val-fraction 0
        cmp zst/train_000000.bin plain/train_000000.bin || fail "packed by zstd, the text has other tokens"
    fi
    for threads in 1 2 3; do
        OMP_NUM_THREADS=$threads expect 0 "vocabulary 400" "$TT" data '[ab].jsonl' --tokenizer bpe --vocab-size 400 --out "bpe$threads"
        cmp bpe1/tokenizer.json "bpe$threads/tokenizer.json" || fail "$threads threads learn another tokenizer"
        cmp bpe1/train_000000.bin "bpe$threads/train_000000.bin" || fail "$threads threads make other tokens"
    done
    passed "JSON Lines as Python reads them, packed and not, by any number of threads"
fi

# ---- train on it, then evaluate ----
for i in 1 2 3; do for k in 1 2 3 4 5 6 7 8; do echo "{\"body\": \"document $i $k of some words\"}"; done >"part$i.jsonl"; done
mkdir folder && cp part?.jsonl folder
# shellcheck disable=SC2086
expect 0 "24 documents" "$TT" train $tiny --data 'part*.jsonl' --text-field body --tokenizer chars --out run
expect 0 "24 documents" "$TT" train $tiny --data folder --text-field body --tokenizer bpe --vocab-size 300 --out run2
expect 0 "loss" "$TT" eval run
cd folder || exit 1
expect 0 "loss" "$TT" eval ../run2 --batch-size 1
cd .. || exit 1
expect 2 'part1.jsonl:1: the object has no field "text", nor both "prompt" and "completion", but "body"' "$TT" train --data 'part*.jsonl' --out never
expect 0 "" "$TT" data part1.jsonl --text-field body --out data
expect 0 "" "$TT" train $tiny --data data --out run3
passed "globs and folders of JSON Lines are trained on and evaluated"

# ---- prompts: the loss of a step is the mean over the completions of all its rows, however the rows are divided ----
awk 'BEGIN { srand(3); for (i = 0; i < 200; i++) { p = ""; c = ""; for (k = rand() * 60; k > 0; k--) p = p sprintf("%d ", rand() * 10);
    for (k = rand() * 30; k > 0; k--) c = c sprintf("%c", 97 + rand() * 26); printf "{\"q\":\"%s\",\"a\":\"%s\"}\n", p, c } }' >pairs.jsonl
metrics() { # metrics RUN: loss and norm of each step
    sed -n 's/.*"loss":\([^,]*\),.*"grad_norm":\([^,]*\),.*/\1 \2/p' "$1/metrics.jsonl"
}
near() { # near A B: the numbers in two files agree to 1e-4
    paste -d' ' "$1" "$2" | awk 'NF != 4 { bad = 1 } { for (i = 1; i <= 2; i++) { d = $i - $(i + 2); if (d * d > 1e-8 * $i * $i) bad = 1 } } END { exit bad || !NR }'
}
few="$tiny --val-interval 2 --val-batches 4 --val-fraction 0.2"
pairs="--data pairs.jsonl --prompt-field q --completion-field a"
# shellcheck disable=SC2086
expect 0 "200 documents, 200 of them pairs of prompt and completion" "$TT" train $few $pairs --batch-size 4 --out whole
metrics whole >whole.txt
for version in baseline fused; do
    # shellcheck disable=SC2086
    expect 0 "" "$TT" train $few $pairs --batch-size 4 --version $version --out "v-$version"
    metrics "v-$version" >"$version.txt"
    near whole.txt "$version.txt" || fail "$version has another loss of the completions than flash"
done
# shellcheck disable=SC2086
expect 0 "" "$TT" train $few $pairs --batch-size 1 --grad-accum 4 --out parts
metrics parts >parts.txt
near whole.txt parts.txt || fail "four micro-batches have another mean over the completions than one batch"
if ! "$TT" info 2>/dev/null | grep -q 'collectives: no' && ! grep -q __asan_init "$TT"; then
    # shellcheck disable=SC2086
    OMP_NUM_THREADS=1 TT_TEST_RANKS_ON_ONE_GPU=1 expect 0 "" "$TT" train $few $pairs --batch-size 2 --ranks 2 --out two-ranks
    metrics two-ranks >ranks.txt
    near whole.txt ranks.txt || fail "two ranks have another mean over the completions than one"
fi
"$TT" eval whole --batch-size 4 --val-batches 2 --json | sed 's/.*"loss"://; s/,.*/ 0/' >e1
"$TT" eval whole --batch-size 1 --val-batches 8 --json | sed 's/.*"loss"://; s/,.*/ 0/' >e2
near e1 e2 || fail "validation weights batches, not targets: $(cat e1 e2)"
# shellcheck disable=SC2086
expect 0 "200 documents" "$TT" data $(echo $pairs | sed 's/--data/--input/') --out pairs --val-fraction 0.2
grep -q "200 of them pairs of prompt and completion" out || fail "tt data does not name the pairs: $(cat out)"
expect 0 "tokens have no loss" "$TT" data --inspect pairs/train_000000.bin
# shellcheck disable=SC2086
expect 0 "tokens of prompts have no loss" "$TT" train $few --data pairs --batch-size 4 --out from-shards
metrics from-shards >shards.txt
[ -s shards.txt ] || fail "no steps from token files of pairs"
passed "prompts have no loss, in any version, with micro-batches, ranks, validation and token files"

# A long prompt fills whole steps. These have no loss; means leave them out and weigh the other steps by their targets.
awk 'BEGIN { for (i = 0; i < 30; i++) { p = ""; for (k = 0; k < 60; k++) p = p "abcd "; c = "yes"
    if (i % 4 == 0) c = c " indeed it is so"; printf "{\"prompt\":\"%s\",\"completion\":\"%s\"}\n", p, c } }' >long.jsonl
# shellcheck disable=SC2086
expect 0 "loss -  norm 0.000" "$TT" train ${tiny/--num-steps 2/--epochs 1} --data long.jsonl --batch-size 1 --log-interval 1 --val-interval 0 --out long
grep -q '"loss":null,"grad_norm":0,.*"targets":0' long/metrics.jsonl || fail "a step of prompts has a loss: $(head -n 3 long/metrics.jsonl)"
sed -n 's/.*"loss":\([^,]*\),.*"targets":\([0-9]*\).*/\1 \2/p' long/metrics.jsonl | awk '$2 > 0 { s += $1 * $2; n += $2 } END { print s / n, 0 }' >mean.txt
sed -n 's/.*"epoch_loss":\([^,]*\),.*/\1 0/p' long/metrics.jsonl >epoch.txt
near mean.txt epoch.txt || fail "the epoch's loss is $(cat epoch.txt), not $(cat mean.txt)"
"$TT" eval long --val-fraction 0.2 --val-batches 100000 --batch-size 1 --json >out 2>err || fail "eval of prompts"
grep -Eq '"tokens":[1-9][0-9]{0,2}[,}]' out || fail "eval counts the targets of prompts: $(cat out)"
# shellcheck disable=SC2086
expect 1 "all targets of the validation data are prompts" "$TT" train $tiny --data long.jsonl --batch-size 1 --val-interval 1 --val-batches 1 --val-fraction 0.002 --out prompts-only
[ -e prompts-only ] && fail "a refused run has a folder"
passed "steps of prompts alone have no loss, and validation on them is refused"

# ---- bad lines ----
printf '{"text":"a good line"}\n{"text":3}\nnothing\n{"text":"another good line"}\n' >bad.jsonl
expect 2 'bad.jsonl:2: the field "text" is a number' "$TT" data bad.jsonl --out never
expect 0 "2 bad lines were left out, the first: bad.jsonl:2" "$TT" data bad.jsonl --skip-bad-lines --out skipped
expect 0 '"documents":2,"pairs":0,"bad_lines":2' "$TT" data bad.jsonl --skip-bad-lines --out skipped2 --json
[ -e never ] && fail "a refused command left a folder"
grep -q "leave bad lines out" out err && fail "--skip-bad-lines is advised to who gave it"
# every command that recommends these options has them, and one kind of fields replaces the other
# shellcheck disable=SC2086
for command in "profile --out prof" "bench --sizes tiny --repeats 1 --warmup 0 --versions flash" "check"; do
    expect 2 "by --prompt-field and --completion-field" "$TT" $command $tiny_model --data pairs.jsonl
    expect 0 "" "$TT" $command $tiny_model $pairs
done
expect 2 "give one kind of them" "$TT" train $pairs --text-field q --out never
expect 0 "200 documents" "$TT" train --resume whole --num-steps 3 --text-field q
grep -q "of them prompts" out && fail "--text-field does not replace the fields of the pairs: $(cat out)"
grep -q "data files have changed" out && fail "other fields are taken for other files"
[ -e never ] && fail "a refused command left a folder"
passed "bad lines are named, or left out and counted"

# ---- notes about options without an effect ----
for i in $(seq 40); do echo "line $i of a text"; done >plain.txt
does_nothing="does nothing: "
# shellcheck disable=SC2086
{
    expect 0 "--documents separate ${does_nothing}token 0, which ends documents, is not in plain.txt" "$TT" train $tiny --data plain.txt --documents separate --out sep
    expect 0 "" "$TT" train $tiny --data plain.txt --documents separate --document-end 10 --out sep10
    grep -q "$does_nothing" err && fail "lines as documents: $(cat err)"
    expect 0 "" "$TT" train $tiny --data folder --text-field body --documents separate --out sep-lines
    grep -q "$does_nothing" err && fail "documents of JSON Lines: $(cat err)"
    expect 2 "--document-end 999 is not below the vocabulary" "$TT" train $tiny --data plain.txt --documents separate --document-end 999 --out never
    grep -q "$does_nothing" err && fail "a note before the error: $(cat err)"
    expect 0 "" "$TT" data plain.txt --tokenizer bytes --val-fraction 0 --out plain-tokens
    expect 0 "--documents separate ${does_nothing}token 3, which ends documents, is not in" "$TT" train $tiny --data plain-tokens --documents separate --document-end 3 --val-fraction 0 --out sep3
    expect 0 "--documents was separate until this step, and is joined from here on" "$TT" train --resume sep10 --num-steps 3 --documents joined
    expect 0 '--rope-scaling was "" until this step, and is "linear,factor=2" from here on' "$TT" train --resume sep10 --num-steps 4 --rope-scaling linear,factor=2
    if on_cpu; then expect 0 "--precision was fp32 until this step, and is fp8 from here on" "$TT" train --resume sep10 --num-steps 5 --precision fp8; fi
    expect 0 "wrote" "$TT" export sep10 sep-hf
    expect 0 "saved" "$TT" import sep-hf --out imported
    expect 0 "saved" "$TT" train --resume imported --num-steps 3 --data plain.txt --seq-len 16 --batch-size 2 --val-interval 0
    grep -q "another number of steps" out && fail "the first steps of an imported model are called a break: $(cat out)"
    mkdir texts && printf 'one text\n%.0s' 1 2 3 4 5 6 7 8 >texts/a.txt && printf 'another text\n%.0s' 1 2 3 4 5 6 7 8 >texts/b.txt
    expect 0 "2 documents" "$TT" train $tiny --data texts --documents separate --out sep-files
    grep -q "$does_nothing" err && fail "files as documents: $(cat err)"
    expect 0 "2 documents" "$TT" data texts --documents separate --val-fraction 0 --out texts-tokens
    expect 0 "documents   end with token 0" "$TT" data --inspect texts-tokens/train_000000.bin
    expect 0 "176 bytes became 176 tokens" "$TT" data 'texts/*.txt' --val-fraction 0 --out joined-tokens
    cp pairs.jsonl lines-by-another-name
    expect 0 "looks like JSON Lines, but is read as plain text" "$TT" data lines-by-another-name --out lines-tokens
    expect 0 "--tokenizer bpe ${does_nothing}run/step-00000002 has its own" "$TT" train --resume run --num-steps 3 --tokenizer bpe
    expect 0 "" "$TT" train --resume run --num-steps 4 --tokenizer chars
    grep -q "$does_nothing" err && fail "the tokenizer of the run is named: $(cat err)"
    expect 0 "--tokenizer bpe ${does_nothing}data/train_*.bin are tokens already" "$TT" train $tiny --data data --tokenizer bpe --out run4
    expect 0 "" "$TT" train $tiny --data data --tokenizer bytes --out run5
    grep -q "$does_nothing" err && fail "the tokenizer of the tokens is named: $(cat err)"
}
expect 2 "every line is bad, so --skip-bad-lines leaves out all 8 of them; the first: part1.jsonl:1" "$TT" data part1.jsonl --skip-bad-lines --out never
expect 2 "none of the" "$TT" generate run --end-token 300
passed "what does nothing is said"

# ---- a decompression bomb, a window of 2 GiB, and a missing library ----
printf '\050\265\057\375\000\250\001\000\000' >wide.txt.zst # a frame header of zstd --long=31 and an empty block
"$TT" data wide.txt.zst --out never >out 2>err
grep -q "libzstd.so.1 was not found" err || expect 1 "packed by zstd with --long and needs more than 128 MiB" "$TT" data wide.txt.zst --out never
if has gzip; then
    head -c 80000000 /dev/zero | gzip >bomb.txt.gz
    expect 1 "more than 500 times" "$TT" data bomb.txt.gz --out never
    gzip -k part1.jsonl
    if has cc && ! grep -q __asan_init "$TT"; then
        echo 'int nothing;' | cc -shared -fPIC -x c - -o libz.so.1 && mkdir empty && mv libz.so.1 empty
        LD_LIBRARY_PATH=$dir/empty expect 4 "libz.so.1 was not found; install zlib" "$TT" data part1.jsonl.gz --text-field body --out never
    fi
fi
passed "packed files that cannot be read are refused"
finish
