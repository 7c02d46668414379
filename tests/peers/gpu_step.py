#!/usr/bin/env python3
"""A training step of PyTorch, and of JAX where it is installed, on a GPU beside one of tt: same model, same batch.

    python3 tests/peers/gpu_step.py --tt build/cuda-sm_90/tt [--sizes small,medium,gpt2,1b] [--precision bf16] [--rounds 2]
    python3 tests/peers/gpu_step.py --sizes 576x30x9x3x1536x49152x2048x8     (a shape of one's own; --help says of what)
    python3 tests/peers/gpu_step.py --sizes 1b --precision fp8 --modes compile,float8,float8-rows
                                    --versions flash,flash:bf16,flash:fp8:fp8-scaling=delayed   (one line)

A step is forward, backward, clipping by the global norm and AdamW over fp32 weights. The programs take turns, each in a
process of its own; the host does not wait inside a block of ten steps, and a block is one measurement. Peers compile
once, all at the same time before the first turn, and then wait with their models in the GPU's memory, which must hold
them all. "ms" is the median over the rounds of each round's median, "from ... to" the range of these, "peak MiB" what
the program's own allocator counted. The last column is the best peer's time over this program's.

PyTorch is written as fast as it ordinarily gets: fused QKV and gate/up, SDPA attention, autocast for bf16, AdamW with
fused=True. Each of --modes runs with each of --attention (sdpa leaves the choice to PyTorch), and the fastest counts:
    eager     without a compiler
    compile   torch.compile
    graphs    torch.compile with its own CUDA graphs (reduce-overhead)
    autotune  torch.compile that times its kernels (max-autotune-no-cudagraphs); compiles for minutes
    capture   torch.compile, and the whole step with clipping and AdamW in one captured CUDA graph
    float8, float8-rows   torch.compile of torchao's 8-bit linears, scaled by tensor or by row; the head stays bf16
Which attention kernels PyTorch ran is seen by its profiler in one more step, and printed.
"""
import argparse
import contextlib
import importlib.util
import json
import os
import statistics
import sys
import time

import turns
from cpu_step import SHAPE, check_same_model, fastest_adamw, make_model, run_json

SIZES = {  # hidden, layers, heads, kv heads, ffn, vocab, S, B
    "tiny": (256, 4, 8, 4, 1024, 1000, 128, 8),
    "small": (512, 8, 8, 4, 2048, 1000, 128, 8),
    "medium": (1024, 12, 8, 4, 4096, 1000, 512, 16),
    "gpt2": (768, 12, 12, 12, 2048, 50304, 1024, 32),
    "1b": (2048, 22, 32, 4, 5632, 32000, 2048, 8),
}
MODES = {"eager": None, "compile": "default", "graphs": "reduce-overhead", "autotune": "max-autotune-no-cudagraphs",
         "capture": "default", "float8": "default", "float8-rows": "default"}
OPTIONS = ("hidden-dim", "num-layers", "num-heads", "num-kv-heads", "ffn-dim", "vocab-size", "seq-len", "batch-size")
RECIPES = {"float8": "tensorwise", "float8-rows": "rowwise"}  # torchao's names
ATTENTION = {"sdpa": None, "cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION", "efficient": "EFFICIENT_ATTENTION"}
ATTENTION_WORDS = ("attention", "flash", "fmha", "sdpa", "mha")  # words in the names of kernels
BLOCK = 10  # steps in one measurement


def shape_of(size):
    """The eight numbers of a size, or of one's own: 576x30x9x3x1536x49152x2048x8"""
    own = size.split("x")
    if size in SIZES or len(own) != len(OPTIONS) or not all(n.isdigit() for n in own):
        return SIZES.get(size)
    return tuple(map(int, own))


# ---- PyTorch: this part runs in its own process ----

def attention_kernels(step):
    """The attention kernels of a step, by PyTorch's profiler; one that the profiler sees nothing of says so."""
    import torch
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        step()
        torch.cuda.synchronize()
    names = sorted({event.key for event in seen.key_averages()})
    found = [name for name in names if any(word in name.lower() for word in ATTENTION_WORDS)]
    return found or [f"none by name among {len(names)} kernels"]


def captured(step, optimizer):
    """A function that replays the whole step as one CUDA graph, and the loss that it leaves behind."""
    import torch
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    optimizer.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(keep=True)

    def replay():
        graph.replay()
        return loss
    return replay


def to_float8(model, recipe):
    """Every linear in 8 bits; the head, which is the embedding's matrix, is none"""
    from torchao.float8 import Float8LinearConfig, convert_to_float8_training
    convert_to_float8_training(model, config=Float8LinearConfig.from_recipe_name(recipe))


def torch_step(mode, shape, args):
    """(a function that makes a step and returns its loss, the model, the kind of AdamW)"""
    import torch
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = args.precision != "fp32"
    model = make_model(shape, "cuda")
    if mode in RECIPES:
        to_float8(model, RECIPES[mode])
    optimizer, kind = fastest_adamw(model, **(dict(capturable=True) if mode == "capture" else {}))
    tokens = torch.randint(shape[5], (shape[7], shape[6] + 1), device="cuda")
    x, y = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    forward = torch.compile(model, mode=MODES[mode]) if MODES[mode] else model

    mixed = args.precision in ("bf16", "fp8")

    def step(keep=False):  # keep: gradients stay in the same memory, as a captured step needs
        with torch.autocast("cuda", torch.bfloat16, enabled=mixed, cache_enabled=mode != "capture"):
            loss = forward(x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if not keep:
            optimizer.zero_grad(set_to_none=True)
        return loss
    return captured(step, optimizer) if mode == "capture" else step, model, kind


def serve_torch(mode, shape, args):
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    backend = ATTENTION[args.attention]

    def blocks():
        times = []
        for _ in range(args.warmup + args.repeats):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(BLOCK):
                loss = step()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - begin) * 1e3 / BLOCK)
        return dict(ms=times[args.warmup:], loss=loss.item(), peak_bytes=peak)

    with sdpa_kernel(getattr(SDPBackend, backend)) if backend else contextlib.nullcontext():
        step, model, kind = torch_step(mode, shape, args)
        for _ in range(BLOCK):
            step()
        torch.cuda.synchronize()
        peak = torch.cuda.max_memory_allocated()
        turns.serve(blocks, torch=torch.__version__, adamw=kind, kernels=attention_kernels(step),
                    params=sum(p.numel() for p in model.parameters()), device=torch.cuda.get_device_name())


# ---- alternating the programs ----

def start_torch(mode, attention, size, args):
    return turns.Peer([sys.executable, os.path.abspath(__file__), "--worker", mode, "--sizes", size, "--precision",
                       args.precision, "--attention", attention, "--warmup", str(args.warmup),
                       "--repeats", str(args.repeats)], os.environ)


def start_jax(shape, args):
    here = os.path.dirname(os.path.abspath(__file__))
    return turns.Peer([sys.executable, os.path.join(here, "jax_step.py"), ",".join(map(str, shape)), str(args.warmup),
                       str(args.repeats)], dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false"))


def run_tt(version, size, args):
    version, precision, *options = version.split(":") if ":" in version else (version, args.precision)
    words = [word for option in options for word in ("--" + option).split("=")]
    own = [word for option, n in zip(OPTIONS, shape_of(size)) for word in ("--" + option, str(n))]
    words += ["--sizes", size] if size in SIZES else own
    row = run_json([args.tt, "bench", "--versions", version, "--precision", precision, "--warmup",
                    str(BLOCK * args.warmup), "--repeats", str(BLOCK * args.repeats), "--json", *words],
                   os.environ)["rows"][0]
    return dict(row, ms=[row["median_ms"]], peak_bytes=row["peak_memory_bytes"])


def start_peers(size, shape, args):
    """{name: a peer that compiles, or waits for its turn}"""
    found = {f"PyTorch {mode} {attention}": start_torch(mode, attention, size, args)
             for mode in args.modes.split(",") if mode for attention in args.attention.split(",")}
    if args.precision == "bf16" and args.jax and importlib.util.find_spec("jax"):
        found["JAX"] = start_jax(shape, args)
    return found


def take_turns(programs, size, args):
    """{name: results of its rounds}; a program that fails once has no further turn and no result"""
    results, broken = {}, set()
    for done in range(args.rounds):
        for name, program in programs.items():
            if name in broken:
                continue
            try:
                results.setdefault(name, []).append(program())
            except (RuntimeError, ValueError) as error:
                print(f"{size}: {name} does not run here: {error}", file=sys.stderr)
                broken.add(name)
                results.pop(name, None)
        middle = ", ".join(f"{name} {statistics.median(r[-1]['ms']):.3f}" for name, r in results.items())
        print(f"{size}: round {done + 1} of {args.rounds}: {middle or 'nothing'}", file=sys.stderr, flush=True)
    return results


def measure(size, shape, args):
    """({name: results of its rounds}, what PyTorch says of itself)"""
    peers = start_peers(size, shape, args)
    try:
        programs = {name: peer.measure for name, peer in peers.items()}
        for version in args.versions.split(","):
            programs["tt " + version] = lambda version=version: run_tt(version, size, args)
        for peer in peers.values():
            with contextlib.suppress(RuntimeError):
                peer.wait_ready()  # nobody measures while another compiles; a failure is reported at its turn
        results = take_turns(programs, size, args)
    finally:
        for peer in peers.values():
            peer.close()
    about = next((r[0] for name, r in results.items() if name.startswith("PyTorch")), None)
    for name, rounds in results.items():
        if about and name.startswith("tt"):
            check_same_model(rounds[0], shape, about)
    return results, about


def short(kernel):
    """The name of a kernel without its template's arguments, cut where it is longer than a line bears"""
    name = kernel.split("<")[0].split("(")[0].replace("void ", "").strip()
    return name if len(name) <= 72 else name[:72] + "…"


def print_table(size, shape, results, about, args):
    print(f"\n{size}: {', '.join(f'{n} {v}' for n, v in zip(SHAPE, shape))}; {args.precision}")
    if about:
        print(f"{about['device']}, PyTorch {about['torch']}, AdamW {about['adamw']}, {about['params']} parameters")
    middle = {name: statistics.median(statistics.median(r["ms"]) for r in rounds) for name, rounds in results.items()}
    peers = [ms for name, ms in middle.items() if not name.startswith("tt")]
    print(f"{'':28}{'ms':>10}{'from':>10}{'to':>10}{'tokens/s':>12}{'peak MiB':>10}{'peer/this':>11}")
    for name, rounds in results.items():
        medians = [statistics.median(r["ms"]) for r in rounds]
        ratio = f"{min(peers) / middle[name]:.2f}" if peers else "-"
        print(f"{name:28}{middle[name]:10.3f}{min(medians):10.3f}{max(medians):10.3f}"
              f"{shape[6] * shape[7] / middle[name] * 1e3:12.0f}"
              f"{max(r['peak_bytes'] for r in rounds) / 2**20:10.0f}{ratio:>11}", flush=True)
    for name, rounds in results.items():
        if "kernels" in rounds[0]:
            print(f"{name} ran attention by {', '.join(short(kernel) for kernel in rounds[0]['kernels'])}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tt", default="build/cuda-sm_90/tt", help="the tt to compare with")
    parser.add_argument("--sizes", default="small,medium,gpt2", help="of " + ", ".join(SIZES) +
                        ", or " + "x".join(SHAPE) + " in numbers")
    parser.add_argument("--modes", default="compile,graphs", help="of " + ", ".join(MODES) + '; "" for none')
    parser.add_argument("--versions", default="flash", help="of tt; after colons another precision and options, as in flash:fp8:fp8=all")
    parser.add_argument("--precision", default="bf16", choices=("fp32", "tf32", "bf16", "fp8"))
    parser.add_argument("--attention", default="sdpa", help="of PyTorch: some of " + ", ".join(ATTENTION))
    parser.add_argument("--no-jax", dest="jax", action="store_false", help="without JAX even where it is installed")
    parser.add_argument("--rounds", type=int, default=2, help="each runs every program once")
    parser.add_argument("--warmup", type=int, default=2, help=f"blocks of {BLOCK} steps before those that count")
    parser.add_argument("--repeats", type=int, default=5, help="blocks that count")
    parser.add_argument("--json", metavar="FILE", help="write all rounds there too")
    parser.add_argument("--worker", choices=MODES, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not all(map(shape_of, args.sizes.split(","))):
        parser.error("--sizes takes " + ", ".join(SIZES) + ", and " + "x".join(SHAPE) + " in numbers")
    if min(args.rounds, args.repeats) < 1 or args.warmup < 0:
        parser.error("--rounds and --repeats are at least 1, --warmup is at least 0")
    if args.modes and set(args.modes.split(",")) - set(MODES):
        parser.error("--modes takes " + ", ".join(MODES))
    if set(args.attention.split(",")) - set(ATTENTION):
        parser.error("--attention takes " + ", ".join(ATTENTION))
    return args


def main():
    args = parse()
    if args.worker:
        serve_torch(args.worker, shape_of(args.sizes), args)
        return
    rows = []
    for size in args.sizes.split(","):
        shape = shape_of(size)
        results, about = measure(size, shape, args)
        if not any(name.startswith("tt") for name in results):
            sys.exit(f"{size}: tt does not run here, so there is nothing to compare")
        print_table(size, shape, results, about, args)
        rows += [dict(size=size, name=name, rounds=rounds) for name, rounds in results.items()]
    if args.json:
        with open(args.json, "w") as file:
            json.dump(dict(precision=args.precision, rows=rows), file, indent=1)


if __name__ == "__main__":
    main()
