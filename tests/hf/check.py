"""What transformers makes of an exported model: the same logits, the same tokens.

    check.py MODEL LOGITS TOLERANCE TOKENS TEXT  [and again five words for the next model; - for no TOKENS and TEXT]

MODEL   the folder `tt export` wrote
LOGITS  the file `tt eval --logits` wrote: tokens of a batch and our logits for them
TOKENS  a token file of `tt data` for TEXT, with the tokenizer of the checkpoint
Exits 77 when transformers is not installed here."""
import sys

try:
    import numpy as np
    import torch
    import transformers
    from safetensors.numpy import load_file
except ImportError as e:
    print("skipped:", e)
    sys.exit(77)


def check_logits(folder, path, tolerance):
    ours = load_file(path)
    model, info = transformers.AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    model = model.float()
    wrong = {k: v for k, v in info.items() if v}
    assert not wrong, f"not everything was read: {wrong}"
    with torch.no_grad():
        theirs = model(torch.from_numpy(ours["tokens"][:, :-1].astype(np.int64))).logits.numpy()
    worst = np.abs(theirs - ours["logits"]).max()
    print(f"{folder}: logits differ by {worst:.2g} at most, of up to {np.abs(theirs).max():.2g}")
    assert worst <= tolerance, worst
    model.generate(torch.zeros((1, 1), dtype=torch.long), max_new_tokens=4, do_sample=False)


def check_tokens(folder, tokens, text):
    header = np.fromfile(tokens, dtype="<i4", count=256)
    width = {20240520: "<u2", 20240801: "<u4"}[int(header[0])]
    ours = np.fromfile(tokens, dtype=width, offset=1024).tolist()
    assert len(ours) == header[2]
    with open(text, encoding="utf-8", newline="") as f:
        text = f.read()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    theirs = tokenizer(text, add_special_tokens=False)["input_ids"]
    first = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
    assert ours == theirs, f"token {first}: {ours[first:first + 5]} against {theirs[first:first + 5]}"
    back = tokenizer.decode(theirs)
    assert back == text or back.split() == text.split(), "the text does not come back"
    print(f"{folder}: the same {len(ours)} tokens")


for i in range(1, len(sys.argv), 5):
    model, logits, tolerance, tokens, text = sys.argv[i:i + 5]
    check_logits(model, logits, float(tolerance))
    if tokens != "-":
        check_tokens(model, tokens, text)
