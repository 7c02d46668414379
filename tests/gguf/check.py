"""What llama.cpp and the Python package gguf make of an exported file.

    check.py prompt LOGITS TOKENIZER          prints the first sequence of a file of `tt eval --logits`, as text
    check.py logits LOGITS THEIRS TOLERANCE   THEIRS: the last logits of that sequence, which llama-debug wrote
    check.py tokens OURS THEIRS               OURS: a token file of `tt data`; THEIRS: what llama-tokenize --ids prints
    check.py file FILE                        reads a GGUF file with the package gguf; exits 77 where that is not installed

LOGITS has the tokens of a batch, (B, S + 1), and our logits for them, (B, S, V). TOKENIZER is that of tt's characters."""
import array
import ast
import json
import struct
import sys


def tensor(path, name):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        start = f.tell() + header[name]["data_offsets"][0]
        f.seek(start)
        data = array.array({"F32": "f", "I32": "i"}[header[name]["dtype"]])
        data.frombytes(f.read(header[name]["data_offsets"][1] - header[name]["data_offsets"][0]))
    return data, header[name]["shape"]


def prompt(logits, tokenizer):
    tokens, shape = tensor(logits, "tokens")
    chars = json.load(open(tokenizer))["chars"]
    sys.stdout.write("".join(chr(chars[t]) for t in tokens[:shape[1] - 1]))


def compare_logits(logits, theirs, tolerance):
    ours, (_, length, vocabulary) = tensor(logits, "logits")
    ours = ours[(length - 1) * vocabulary:length * vocabulary]
    other = array.array("f", open(theirs, "rb").read())
    assert len(other) == vocabulary, (len(other), vocabulary)
    size = max(map(abs, ours))
    worst = max(abs(a - b) for a, b in zip(ours, other))
    print(f"{theirs}: logits differ by {worst:.2g} at most, of up to {size:.2g}")
    assert worst <= float(tolerance) * size


def compare_tokens(ours, theirs):
    with open(ours, "rb") as f:
        header = array.array("i", f.read(1024))
        mine = array.array({20240520: "H", 20240801: "I"}[header[0]], f.read()).tolist()
    other = ast.literal_eval(open(theirs).read().strip().splitlines()[-1])
    first = next((i for i, (a, b) in enumerate(zip(mine, other)) if a != b), min(len(mine), len(other)))
    assert mine == other, f"{ours}: token {first}: {mine[first:first + 5]} against {other[first:first + 5]}"
    print(f"{ours}: the same {len(mine)} tokens")


def read_file(path):
    try:
        import gguf
    except ImportError as e:
        print("skipped:", e)
        sys.exit(77)
    r = gguf.GGUFReader(path)
    value = lambda key: r.fields[key].contents()
    names = {t.name: t for t in r.tensors}
    kind = value("general.architecture")
    rows, width = value(kind + ".vocab_size"), value(kind + ".embedding_length")
    normed = any(n.endswith("attn_q_norm.weight") for n in names)
    assert kind == ("qwen3" if normed else "llama") and value("tokenizer.ggml.model") == "gpt2"
    assert len(value("tokenizer.ggml.tokens")) == len(value("tokenizer.ggml.token_type")) == rows
    assert list(names["token_embd.weight"].shape) == [width, rows]
    assert sum(n.endswith("attn_q.weight") for n in names) == value(kind + ".block_count")
    for t in r.tensors:
        numbers = gguf.quants.dequantize(t.data, t.tensor_type)
        assert numbers.size == t.n_elements and abs(numbers).max() < 100, t.name
    print(f"{path}: {len(names)} tensors, {names['token_embd.weight'].tensor_type.name}")


{"prompt": prompt, "logits": compare_logits, "tokens": compare_tokens, "file": read_file}[sys.argv[1]](*sys.argv[2:])
