#!/usr/bin/env python3
"""A training step of PyTorch on the CPU beside one of tt: same model, same batch, same threads, float32.

    python3 tests/peers/cpu_step.py [--tt build/cpu/tt] [--sizes small] [--threads 2] [--rounds 5]

A step is forward, backward, clipping by the global norm and AdamW. The programs take turns (A B A B ...), so that
whatever else the machine does falls on all; each runs alone, in its own process, with warm-up steps that do not count.
"median ms" is the median over the rounds of each round's median, "rounds from ... to" the range of these, "fastest" the
fastest step of all. Without --tt only PyTorch is measured.

PyTorch is written as fast as it ordinarily gets on a CPU: fused QKV and gate/up, SDPA attention, F.rms_norm, AdamW
with fused=True; and the same under torch.compile where that works (it needs a C++ compiler).
"""
import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time

SIZES = {  # hidden, layers, heads, kv heads, ffn, vocab, S, B
    "default": (128, 4, 4, 2, 384, 64, 64, 32),
    "tiny": (256, 4, 8, 4, 1024, 1000, 128, 8),
    "small": (512, 8, 8, 4, 2048, 1000, 128, 8),
    "medium": (1024, 12, 8, 4, 4096, 1000, 512, 16),
}
SHAPE = ("hidden", "layers", "heads", "kv", "ffn", "vocab", "seq", "batch")
MODES = ("eager", "compile")


# ---- PyTorch: this part runs in its own process ----

def make_model(shape, device="cpu"):
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
    C, layers, H, KV, ffn, V, S, _ = shape
    D = C // H
    angle = torch.outer(torch.arange(S), 10000.0 ** (-torch.arange(0, D, 2) / D))
    cos, sin = (t[None, :, None].to(device) for t in (angle.cos(), angle.sin()))  # (1, S, 1, D/2)

    def linear(inputs, outputs):
        return nn.Linear(inputs, outputs, bias=False)

    def rope(x):  # (B, S, heads, D), pairs (2i, 2i+1)
        even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
        c, s = cos.to(x.dtype), sin.to(x.dtype)
        return torch.stack((even * c - odd * s, even * s + odd * c), -1).flatten(-2)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.RMSNorm(C, eps=1e-6), nn.RMSNorm(C, eps=1e-6)
            self.qkv, self.out = linear(C, (H + 2 * KV) * D), linear(C, C)
            self.gate_up, self.down = linear(C, 2 * ffn), linear(ffn, C)

        def forward(self, x):
            q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (-1, D)).split((H, KV, KV), -2)
            q, k, v = (t.transpose(1, 2) for t in (rope(q), rope(k), v))
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=KV != H)
            x = x + self.out(a.transpose(1, 2).flatten(-2))
            gate, up = self.gate_up(self.norm2(x)).chunk(2, -1)
            return x + self.down(F.silu(gate) * up)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.norm = nn.Embedding(V, C), nn.RMSNorm(C, eps=1e-6)
            self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
            for p in self.parameters():
                if p.dim() == 2:
                    nn.init.normal_(p, std=0.02)

        def forward(self, x, y):
            h = self.embedding(x)
            if torch.is_autocast_enabled(device):
                h = h.to(torch.get_autocast_dtype(device))
            h = self.norm(self.blocks(h))
            return F.cross_entropy(F.linear(h, self.embedding.weight).flatten(0, 1).float(), y.flatten())

    return Model().to(device)


def fastest_adamw(model, **options):
    import torch
    groups = [dict(params=[p for p in model.parameters() if p.dim() == 2], weight_decay=0.1),
              dict(params=[p for p in model.parameters() if p.dim() != 2], weight_decay=0.0)]
    try:
        return torch.optim.AdamW(groups, lr=3e-4, betas=(0.9, 0.95), fused=True, **options), "fused"
    except (RuntimeError, TypeError):
        return torch.optim.AdamW(groups, lr=3e-4, betas=(0.9, 0.95), foreach=True, **options), "foreach"


def torch_times(mode, shape, threads, warmup, repeats):
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model = make_model(shape)
    optimizer, kind = fastest_adamw(model)
    tokens = torch.randint(shape[5], (shape[7], shape[6] + 1))
    x, y = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    forward = torch.compile(model) if mode == "compile" else model

    def step():
        loss = forward(x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    for _ in range(warmup):
        step()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        loss = step()
        times.append((time.perf_counter() - begin) * 1e3)
    return dict(ms=times, loss=loss.item(), torch=torch.__version__, adamw=kind,
                params=sum(p.numel() for p in model.parameters()))


# ---- alternating the programs ----

def run_json(command, env):
    if not shutil.which(command[0]):
        raise RuntimeError(f"{command[0]} is not there or is no program; build it first, or name another")
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise RuntimeError(f"{os.path.basename(command[0])} exited {done.returncode}: {lines[-1][:200]}")
    return json.loads(done.stdout)


def run_torch(mode, shape, args, env):
    command = [sys.executable, os.path.abspath(__file__), "--worker", mode, "--shape", ",".join(map(str, shape))]
    for name in ("threads", "warmup", "repeats"):
        command += ["--" + name, str(getattr(args, name))]
    return run_json(command, env)


def run_tt(version, size, args, env):
    """The row of tt's own clock. A preset of tt has to be called as the size is here."""
    command = [args.tt, "bench", "--sizes", size, "--versions", version, "--threads", str(args.threads),
               "--warmup", str(args.warmup), "--repeats", str(args.repeats), "--json"]
    return run_json(command, env)["rows"][0]


def check_same_model(row, shape, about):
    """tt counts a step's FLOPs from its parameters: another number means another model."""
    _, layers, _, _, _, _, S, B = shape
    flops = S * B * (6 * about["params"] + 6 * layers * S * shape[0])
    if abs(row["flops_per_step"] / flops - 1) > 1e-9:
        sys.exit(f"tt's {row['size']} is another model: {row['flops_per_step']:.0f} FLOPs a step, here {flops:.0f}")


def measure(size, shape, args, env):
    """{name: [(median, fastest) ms of each round]} and what PyTorch says of itself."""
    found, about, broken = {}, {}, set()
    for _ in range(args.rounds):
        for mode in args.modes.split(","):
            if mode in broken:
                continue
            try:
                result = run_torch(mode, shape, args, env)
            except (RuntimeError, ValueError) as error:
                print(f"PyTorch {mode} does not run here: {error}", file=sys.stderr)
                broken.add(mode)
                continue
            about = result
            found.setdefault("PyTorch " + mode, []).append((statistics.median(result["ms"]), min(result["ms"])))
        for version in args.versions.split(",") if args.tt else ():
            try:
                row = run_tt(version, size, args, env)
            except (RuntimeError, ValueError) as error:
                sys.exit(f"tt {version} does not run here: {error}")
            if about:
                check_same_model(row, shape, about)
            found.setdefault("tt " + version, []).append((row["median_ms"], row["min_ms"]))
    return found, about


def print_table(size, shape, found, about, args):
    described = ", ".join(f"{name} {value}" for name, value in zip(SHAPE, shape))
    print(f"\n{size}: {described}; fp32, {args.threads} threads, {platform.machine()}")
    if about:
        print(f"PyTorch {about['torch']}, AdamW {about['adamw']}, {about['params']} parameters; "
              f"{args.rounds} rounds of {args.repeats} steps after {args.warmup}")
    middle = {name: statistics.median(m for m, _ in rounds) for name, rounds in found.items()}
    peers = [ms for name, ms in middle.items() if name.startswith("PyTorch")]
    columns = ("median ms", "fastest", "rounds from", "to", "tokens/s", "speed, PyTorch = 1")
    print(f"{'':16}", *(f"{c:>{max(10, len(c))}}" for c in columns))
    for name, rounds in found.items():
        medians = [m for m, _ in rounds]
        times = [f"{ms:.1f}" for ms in (middle[name], min(f for _, f in rounds), min(medians), max(medians))]
        tokens = f"{shape[6] * shape[7] / middle[name] * 1e3:.0f}"
        cells = (*times, tokens, f"{min(peers) / middle[name]:.2f}" if peers else "-")
        print(f"{name:16}", *(f"{cell:>{max(10, len(c))}}" for cell, c in zip(cells, columns)))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tt", help="the tt to compare with")
    parser.add_argument("--sizes", default="small", help="of " + ", ".join(SIZES))
    parser.add_argument("--shape", help="instead of a size: " + ",".join(SHAPE) + " (PyTorch only)")
    parser.add_argument("--modes", default="eager,compile", help="of " + ", ".join(MODES))
    parser.add_argument("--versions", default="baseline,fused,flash", help="of tt")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5, help="each runs every program once")
    parser.add_argument("--warmup", type=int, default=2, help="steps before those that count, in every process")
    parser.add_argument("--repeats", type=int, default=3, help="steps that count, in every process")
    parser.add_argument("--json", metavar="FILE", help="write all rounds there too")
    parser.add_argument("--worker", choices=MODES, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.shape and args.tt:
        parser.error("--shape is for PyTorch alone; with --tt give --sizes")
    if set(args.modes.split(",")) - set(MODES):
        parser.error("--modes takes " + ", ".join(MODES))
    if set(args.sizes.split(",")) - set(SIZES):
        parser.error("--sizes takes " + ", ".join(SIZES))
    if min(args.rounds, args.repeats, args.threads) < 1 or args.warmup < 0:
        parser.error("--rounds, --repeats and --threads are at least 1, --warmup is at least 0")
    if args.shape and len(args.shape.split(",")) != len(SHAPE):
        parser.error("--shape takes " + ",".join(SHAPE))
    return args


def main():
    args = parse()
    own = tuple(map(int, args.shape.split(","))) if args.shape else None
    if args.worker:
        print(json.dumps(torch_times(args.worker, own, args.threads, args.warmup, args.repeats)))
        return
    env = dict(os.environ, OMP_NUM_THREADS=str(args.threads))
    rows = []
    for size, shape in [("own", own)] if own else [(s, SIZES[s]) for s in args.sizes.split(",")]:
        found, about = measure(size, shape, args, env)
        if not found:
            sys.exit("none of the programs runs here")
        print_table(size, shape, found, about, args)
        rows += [dict(size=size, name=name, median_ms=[m for m, _ in rounds], min_ms=[f for _, f in rounds])
                 for name, rounds in found.items()]
    if args.json:
        with open(args.json, "w") as file:
            json.dump(dict(threads=args.threads, machine=platform.machine(), rows=rows), file, indent=1)


if __name__ == "__main__":
    main()
