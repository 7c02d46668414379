#!/usr/bin/env python3
"""Text generation of PyTorch beside that of tt: same shape, same number of rows, same lengths, greedy.

    python3 tests/peers/generate_torch.py [--tt build/cuda/tt] [--sizes gpt2,1b] [--rows 1,16] [--rounds 3]
                                          [--device cuda] [--precision bf16] [--modes graph,compile] [--threads 2]

The programs take turns (A B A B ...), each in its own process. PyTorch is written as fast as it ordinarily gets: fused
QKV and gate/up, a static key/value cache, SDPA over it, argmax on the device, nothing read back until the end; one
decode step captured as a CUDA graph ("graph"), the same under torch.compile first ("compile"), or as it is ("eager",
for a CPU). Figures are tokens/s of generation after the prompt; the best of the rounds and all of them.
"""
import argparse
import json
import subprocess
import sys
import time

SIZES = {  # hidden, layers, heads, kv heads, ffn, vocab
    "tiny": (256, 4, 8, 4, 1024, 1000),
    "small": (512, 8, 8, 4, 2048, 1000),
    "gpt2": (768, 12, 12, 12, 2048, 50304),
    "1b": (2048, 22, 32, 4, 5632, 32000),
}


# ---- PyTorch: this part runs in its own process ----

def make_step(shape, rows, length, device, dtype):
    import torch
    import torch.nn.functional as F
    C, layers, H, KV, ffn, V = shape
    D = C // H
    torch.manual_seed(1)

    def matrix(*size):
        return (torch.randn(*size, device=device) * 0.02).to(dtype)

    embedding = matrix(V, C)
    blocks = [(matrix((H + 2 * KV) * D, C), matrix(C, H * D), matrix(2 * ffn, C), matrix(C, ffn),
               torch.ones(C, device=device, dtype=dtype), torch.ones(C, device=device, dtype=dtype)) for _ in range(layers)]
    last = torch.ones(C, device=device, dtype=dtype)
    angle = torch.outer(torch.arange(length), 10000.0 ** (-torch.arange(0, D, 2) / D)).to(device)
    cos, sin = angle.cos().to(dtype), angle.sin().to(dtype)
    keys = torch.zeros(layers, rows, KV, length, D, device=device, dtype=dtype)
    values = torch.zeros_like(keys)
    places = torch.arange(length, device=device)

    def rope(x, at):  # (rows, heads, D), pairs (2i, 2i+1)
        even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
        c, s = cos[at], sin[at]
        return torch.stack((even * c - odd * s, even * s + odd * c), -1).flatten(-2)

    def step(tokens, pos):  # (rows), (1): the next tokens
        x = F.embedding(tokens, embedding)
        seen = (places <= pos)[None, None, None]
        for i, (qkv, out, gate_up, down, norm1, norm2) in enumerate(blocks):
            q, k, v = F.linear(F.rms_norm(x, (C,), norm1, 1e-6), qkv).view(rows, -1, D).split((H, KV, KV), 1)
            keys[i].index_copy_(2, pos, rope(k, pos)[:, :, None])
            values[i].index_copy_(2, pos, v[:, :, None])
            a = F.scaled_dot_product_attention(rope(q, pos)[:, :, None], keys[i], values[i], attn_mask=seen,
                                               enable_gqa=H != KV)
            x = x + F.linear(a.reshape(rows, H * D), out)
            gate, up = F.linear(F.rms_norm(x, (C,), norm2, 1e-6), gate_up).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, down)
        return F.linear(F.rms_norm(x, (C,), last, 1e-6), embedding).argmax(-1)

    return step


def torch_rate(size, rows, prompt, new, device, precision, mode, threads):
    import torch
    torch.set_grad_enabled(False)
    if threads:
        torch.set_num_threads(threads)
    dtype = {"bf16": torch.bfloat16, "fp32": torch.float32}[precision]
    step = make_step(SIZES[size], rows, prompt + new, device, dtype)
    if mode == "compile":
        step = torch.compile(step, dynamic=False)
    tokens = torch.zeros(rows, dtype=torch.long, device=device)
    pos = torch.full((1,), prompt, dtype=torch.long, device=device)

    def advance():
        tokens.copy_(step(tokens, pos))
        pos.add_(1)

    for _ in range(3):
        advance()
    run = advance
    if device == "cuda" and mode != "eager":
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            advance()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            advance()
        run = graph.replay
    pos.fill_(prompt)
    run()
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(new - 2):
        run()
    if device == "cuda":
        torch.cuda.synchronize()
    return rows * (new - 2) / (time.perf_counter() - start)


# ---- alternating the programs ----

def tt_rate(a, size, rows):
    command = [a.tt, "bench", "--generate", str(rows), "--sizes", size, "--prompt-tokens", str(a.prompt), "--new-tokens",
               str(a.new), "--precision", a.precision, "--json"] + (["--threads", str(a.threads)] if a.threads else [])
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        sys.exit(f"{a.tt} is not there; build it, or give --tt")
    if done.returncode:
        sys.exit("tt: " + done.stderr.strip())
    return json.loads(done.stdout)["results"][0]["tokens_per_s"]


def peer_rate(a, size, rows, mode):
    command = [sys.executable, __file__, "--one", f"{size},{rows},{mode}", "--device", a.device, "--precision", a.precision,
               "--prompt", str(a.prompt), "--new", str(a.new), "--threads", str(a.threads)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or ["it failed"])[-1]
    return float(done.stdout.split()[-1]), ""


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tt", default="")
    p.add_argument("--sizes", default="gpt2,1b")
    p.add_argument("--rows", default="1,16")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--device", default="cuda")
    p.add_argument("--precision", default="bf16", choices=("bf16", "fp32"))
    p.add_argument("--modes", default="graph,compile")
    p.add_argument("--prompt", type=int, default=128)
    p.add_argument("--new", type=int, default=128)
    p.add_argument("--threads", type=int, default=0)
    p.add_argument("--one", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.one:
        size, rows, mode = a.one.split(",")
        return print(torch_rate(size, int(rows), a.prompt, a.new, a.device, a.precision, mode, a.threads))
    if a.rounds < 1:
        p.error("--rounds is at least 1")
    print(f"{'size':8} {'rows':>4} {'program':16} {'tokens/s':>10}  rounds", flush=True)
    for size in a.sizes.split(","):
        for rows in map(int, a.rows.split(",")):
            rates, faults = {}, {}
            for _ in range(a.rounds):
                if a.tt:
                    rates.setdefault("tt", []).append(tt_rate(a, size, rows))
                for mode in filter(None, a.modes.split(",")):
                    rate, fault = peer_rate(a, size, rows, mode)
                    if rate is None:
                        faults["torch " + mode] = fault
                    else:
                        rates.setdefault("torch " + mode, []).append(rate)
            for name, all_ in rates.items():
                print(f"{size:8} {rows:4} {name:16} {max(all_):10.0f}  {' '.join(f'{r:.0f}' for r in all_)}", flush=True)
            for name, fault in faults.items():
                print(f"{size:8} {rows:4} {name:16} not measured: {fault}", flush=True)


if __name__ == "__main__":
    main()
