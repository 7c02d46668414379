#!/usr/bin/env python3
"""A training step of several ranks: PyTorch's DDP and FSDP2 beside tt, same model, same batch on each rank.

    python3 tests/peers/ranks_step.py --tt build/cuda-sm_90/tt [--ranks 2] [--sizes gpt2,1b] [--on-one-gpu] [--rounds 2]

With --on-one-gpu all ranks share the first GPU, which NCCL takes for machines of their own that speak through the
loopback interface: what is compared then is how much of a slow network each hides, and the memory of a rank. The
programs take turns, each in processes of its own. "ms" is the median of the medians of the rounds, "peak MiB" what rank
0's allocator counted. PyTorch runs compiled, in bf16 by autocast (DDP) or by FSDP2's mixed precision, with fp32 sums.
"""
import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from cpu_step import fastest_adamw, make_model
from gpu_step import SIZES

NAMES = ("hidden-dim", "num-layers", "num-heads", "num-kv-heads", "ffn-dim", "vocab-size", "seq-len", "batch-size")
SHARDS = {"tt none": "none", "tt optimizer": "optimizer", "tt gradients": "gradients", "tt weights": "weights"}


# ---- PyTorch: one rank ----

def blocks_of(model):
    import torch
    lists = [m for m in model.modules() if isinstance(m, torch.nn.ModuleList)]
    return [block for part in lists for block in part]


def prepare(kind, model, torch):
    if kind == "DDP":
        return torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in blocks_of(model):
        fully_shard(block, mp_policy=policy)
    return fully_shard(model, mp_policy=policy)


def worker(kind, shape, args):
    import torch
    torch.cuda.set_device(0 if args.on_one_gpu else int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group("nccl")
    torch.manual_seed(0)
    model = make_model(shape, "cuda")
    wrapped = prepare(kind, model, torch)
    optimizer, _ = fastest_adamw(model)
    forward = torch.compile(wrapped)
    tokens = torch.randint(shape[5], (shape[7], shape[6] + 1), device="cuda")
    x, y = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    times = []
    for _ in range(args.warmup + args.repeats):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        with torch.autocast("cuda", torch.bfloat16, enabled=kind == "DDP"):
            loss = forward(x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e3)
    if torch.distributed.get_rank() == 0:
        print(json.dumps(dict(ms=times[args.warmup:], peak_bytes=torch.cuda.max_memory_allocated())), flush=True)
    torch.distributed.destroy_process_group()


# ---- alternating the programs ----

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def alone(rank):
    """The environment in which NCCL takes this rank for one on a machine of its own."""
    return dict(NCCL_HOSTID=f"rank-{rank}", NCCL_NET="Socket", NCCL_SOCKET_IFNAME="lo", NCCL_P2P_DISABLE="1",
                NCCL_SHM_DISABLE="1")


def run_torch(kind, size, args):
    port, children = free_port(), []
    for rank in range(args.ranks):
        env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(args.ranks),
                   MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), **(alone(rank) if args.on_one_gpu else {}))
        words = [sys.executable, os.path.abspath(__file__), "--worker", kind, "--sizes", size, "--ranks",
                 str(args.ranks), "--warmup", str(args.warmup), "--repeats", str(args.repeats)]
        children.append(subprocess.Popen(words + ["--on-one-gpu"] * args.on_one_gpu, env=env, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True))
    outputs = [child.communicate() for child in children]
    if any(child.returncode for child in children):
        raise RuntimeError(next(err for (_, err), c in zip(outputs, children) if c.returncode)[-400:])
    return json.loads(outputs[0][0].splitlines()[-1])


def run_tt(shard, shape, args):
    words = [w for name, value in zip(NAMES, shape) for w in (f"--{name}", str(value))]
    steps = args.warmup + args.repeats
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "run")
        command = [args.tt, "train", *words, "--data", "random", "--precision", "bf16", "--ranks", str(args.ranks),
                   "--shard", shard, "--num-steps", str(steps), "--log-interval", "1", "--val-interval", "0",
                   "--save-minutes", "0", "--json", "--out", out]
        env = dict(os.environ, **({"TT_TEST_RANKS_ON_ONE_GPU": "1"} if args.on_one_gpu else {}))
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr[-400:])
        with open(os.path.join(out, "metrics.jsonl")) as file:
            rows = [json.loads(line) for line in file]
    tokens = shape[6] * shape[7] * args.ranks
    return dict(ms=[1e3 * tokens / r["tokens_per_second"] for r in rows if r["step"] > args.warmup],
                peak_bytes=json.loads(done.stdout)["device_memory_bytes"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tt", default="build/cuda-sm_90/tt")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--sizes", default="gpt2,1b", help="of " + ", ".join(SIZES))
    parser.add_argument("--programs", default="DDP,FSDP2," + ",".join(SHARDS))
    parser.add_argument("--on-one-gpu", action="store_true")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--warmup", type=int, default=4, help="steps before those that count")
    parser.add_argument("--repeats", type=int, default=10, help="steps that count")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        worker(args.worker, SIZES[args.sizes], args)
        return
    for size in args.sizes.split(","):
        results = {}
        for _ in range(args.rounds):
            for name in args.programs.split(","):
                try:
                    found = run_tt(SHARDS[name], SIZES[size], args) if name in SHARDS else run_torch(name, size, args)
                    results.setdefault(name, []).append(found)
                except (RuntimeError, ValueError, KeyError) as error:
                    print(f"{size}: {name} does not run here: {error}", file=sys.stderr)
        print(f"\n{size}, {args.ranks} ranks{' on one GPU' if args.on_one_gpu else ''}, bf16")
        print(f"{'':16}{'ms':>10}{'from':>10}{'to':>10}{'peak MiB':>10}")
        for name, rounds in results.items():
            medians = [statistics.median(r["ms"]) for r in rounds]
            print(f"{name:16}{statistics.median(medians):10.1f}{min(medians):10.1f}{max(medians):10.1f}"
                  f"{max(r['peak_bytes'] for r in rounds) / 2**20:10.0f}", flush=True)


if __name__ == "__main__":
    main()
