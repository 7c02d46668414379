#!/usr/bin/env python3
"""Causal attention alone on an NVIDIA GPU, forward and backward: tt's native and portable kernels and SDPA.

    python3 tests/peers/attention.py [--check] [--bench] [--lib FILE] [--shapes B,H,KV,S,D ...] [--arch 90a]

Compiles the kernels into a library (nvcc; kept in --lib when that is named), then
  --check   compares both with float64 for many shapes, in bf16 and fp16: the error's norm over the result's, that every
            element is written and nothing beside it, and that a second run gives the same bits;
  --bench   prints a table of milliseconds (TFLOP/s) for native, portable, SDPA's flash and cuDNN backends.
Both without either. A time is the median of samples of several launches between two events, taken in turns so that
what the machine does falls on all; a FLOP is counted once: 4·D per query and key in forward, 10·D in backward, causal
halved.
"""
import argparse
import concurrent.futures
import ctypes
import glob
import os
import re
import statistics
import subprocess
import sys
import tempfile

try:
    import torch
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError:  # --help and the layout below work without it
    torch = None

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DTYPES = {torch.bfloat16: 1, torch.float16: 2} if torch else {}  # enum tt_dtype
SHAPES = [(32, 12, 12, 1024, 64), (8, 32, 4, 2048, 64), (16, 8, 4, 512, 128), (4, 16, 16, 4096, 128),
          (2, 16, 16, 8192, 128), (4, 32, 32, 4096, 64), (8, 8, 4, 128, 64)]
P = ctypes.c_void_p
KINDS = {"enum tt_dtype": ctypes.c_int, "int64_t": ctypes.c_int64, "float": ctypes.c_float, "bool": ctypes.c_bool,
         "struct tt_flash_tile": ctypes.c_int32 * 2}


def arguments_of(kernel):
    """struct tt_KERNEL_args, as backend/kernels_attention.h has it now; what is not given is 0."""
    with open(os.path.join(ROOT, "backend/kernels_attention.h")) as f:
        body = re.search(r"struct tt_%s_args \{(.*?)\n\};" % kernel, f.read(), re.S).group(1)
    fields = []
    for line in re.sub(r"/\*.*?\*/", "", body, flags=re.S).split(";"):
        kind, names = re.match(r"\s*(?:const )?((?:(?:enum|struct) )?\w*) ?(.*)", line, re.S).groups()
        fields += [(n.strip(" *"), P if "*" in n else KINDS[kind]) for n in names.split(",") if n.strip()]
    return type(kernel, (ctypes.Structure,), {"_fields_": fields})


Flash, FlashBackward = arguments_of("flash"), arguments_of("flash_backward")


# ---- the library ----

def kernel_ids():
    names = []
    with open(os.path.join(ROOT, "backend/kernels.def")) as f:
        for line in f:
            if line.startswith("TT_KERNEL("):
                names.append(line[len("TT_KERNEL("):].split(",")[0])
    return names


def build(lib, arch):
    folder = tempfile.mkdtemp()
    files = glob.glob(os.path.join(ROOT, "backend/gpu/*.cu")) + glob.glob(os.path.join(ROOT, "backend/cuda/*.cu"))
    flags = ["-std=c++17", "-O3", "-I" + ROOT, "-I" + os.path.join(ROOT, "backend/cuda"), "-Xcompiler", "-fPIC",
             "-gencode", f"arch=compute_{arch},code=sm_{arch}"]

    def compile_one(source):
        out = os.path.join(folder, os.path.basename(source) + ".o")
        subprocess.run(["nvcc", *flags, "-c", source, "-o", out], check=True)
        return out
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, files))
    subprocess.run(["nvcc", "-shared", "-o", lib, *objects], check=True)


class Kernels:
    def __init__(self, path, native):
        lib = ctypes.CDLL(path)
        self.call = lib.tt_gpu_launch_native if native else lib.tt_gpu_launch
        self.call.argtypes = [ctypes.c_int, P, P] + [ctypes.c_bool] * native
        self.more = [False] * native  # no other kernels run on the chip
        ids = kernel_ids()
        self.ids = {"flash": ids.index("flash"), "flash_backward": ids.index("flash_backward")}

    def launch(self, name, args):
        e = self.call(self.ids[name], ctypes.byref(args), torch.cuda.current_stream().cuda_stream, *self.more)
        if e:
            raise RuntimeError(f"{name}: CUDA error {e}")


# ---- one problem ----

class Problem:
    """q, k and v are views of one packed matrix, as in tt; `gap` elements lie between its rows, `guard` after them."""

    def __init__(self, shape, dtype, gap=0, spread=1.0, seed=0):
        self.shape, self.dtype = shape, dtype
        B, H, KV, S, D = shape
        torch.manual_seed(seed)
        self.scale = D ** -0.5
        self.cols, self.ld = (H + 2 * KV) * D, (H + 2 * KV) * D + gap
        self.qkv = (torch.randn(B * S, self.ld, device="cuda") * spread).to(dtype)
        self.dout = torch.randn(B * S, H * D, device="cuda").to(dtype)
        self.o, self.lse = torch.empty_like(self.dout), torch.empty(B, H, S, device="cuda")
        self.delta, self.dqkv = torch.empty_like(self.lse), torch.empty_like(self.qkv)

    def poison(self):
        for t in (self.o, self.lse, self.delta, self.dqkv):
            t.fill_(float("nan"))

    def at(self, t, column):
        return t.data_ptr() + column * t.element_size()

    def problem(self):
        """What both passes are told."""
        B, H, KV, S, D = self.shape
        q, k, v = (self.at(self.qkv, c * D) for c in (0, H, H + KV))
        return dict(dtype=DTYPES[self.dtype], q=q, k=k, v=v, o=self.at(self.o, 0), lse=self.lse.data_ptr(), B=B, S=S,
                    heads=H, kv_heads=KV, D=D, ld=self.ld, scale=self.scale)

    def forward(self, kernels):
        kernels.launch("flash", Flash(**self.problem()))

    def backward(self, kernels):
        B, H, KV, S, D = self.shape
        dq, dk, dv = (self.at(self.dqkv, c * D) for c in (0, H, H + KV))
        kernels.launch("flash_backward", FlashBackward(**self.problem(), dout=self.at(self.dout, 0), dq=dq, dk=dk, dv=dv,
                                                       delta=self.delta.data_ptr()))

    def split(self, t):
        """(B, heads, S, D) of q, k and v, or their gradients."""
        B, H, KV, S, D = self.shape
        t = t[:, :self.cols].reshape(B, S, H + 2 * KV, D).transpose(1, 2)
        return t[:, :H], t[:, H:H + KV], t[:, H + KV:]

    def reference(self):
        B, H, KV, S, D = self.shape
        q, k, v = (x.double().detach().requires_grad_() for x in self.split(self.qkv))
        kk, vv = (x.repeat_interleave(H // KV, 1) for x in (k, v))
        scores = (q @ kk.transpose(-1, -2)) * float(ctypes.c_float(self.scale).value)
        scores = scores.masked_fill(torch.ones(S, S, device="cuda", dtype=torch.bool).triu(1), float("-inf"))
        o = torch.softmax(scores, -1) @ vv
        o.backward(self.dout.double().reshape(B, S, H, D).transpose(1, 2))
        return (o.detach().transpose(1, 2).reshape(B * S, H * D), torch.logsumexp(scores, -1).detach(),
                q.grad, k.grad, v.grad)


# ---- checking ----

def error(got, want):
    """The norm of the error over that of the result, or of hundredths where the result is nearly 0."""
    if not torch.isfinite(got).all():
        return float("inf")
    return ((got.double() - want).norm() / max(want.norm(), 0.01 * want.numel() ** 0.5)).item()


def check_one(kernels, shape, dtype, gap, spread):
    S = shape[3]
    p = Problem(shape, dtype, gap, spread, seed=hash((shape, gap)) & 0xffff)
    p.poison()
    p.forward(kernels)
    p.backward(kernels)
    torch.cuda.synchronize()
    want = p.reference()
    got = (p.o, p.lse) + p.split(p.dqkv)
    errors = [error(g, w) for g, w in zip(got, want)]
    first = [p.o.clone(), p.lse.clone(), p.dqkv.clone()]
    same = True
    for _ in range(2):
        p.poison()
        p.forward(kernels)
        p.backward(kernels)
        torch.cuda.synchronize()
        same &= all(torch.equal(a.nan_to_num(7), b.nan_to_num(7)) for a, b in zip(first, (p.o, p.lse, p.dqkv)))
    inside = gap == 0 or p.dqkv[:, p.cols:].isnan().all().item()
    limit = (1e-2 if dtype == torch.bfloat16 else 2e-3) * (1.0 if S > 8 else 10.0) * max(1.0, spread * spread / 4)
    if S == 1:  # with a single key dq and dk are 0, and only the rounding of o remains
        errors[2] = errors[3] = 0.0
    good = same and inside and all(e < limit for e in errors) and errors[1] < 1e-4
    if not good:
        print("FAIL", shape, dtype, "gap", gap, "spread", spread, "o %.1e lse %.1e dq %.1e dk %.1e dv %.1e" %
              tuple(errors), "same bits" if same else "OTHER BITS", "" if inside else "WRITES OUTSIDE", flush=True)
    return good, errors


def check(lib):
    bad = 0
    for native in (True, False):
        kernels, worst, count = Kernels(lib, native), [0.0] * 5, 0
        shapes = [(2, 4, kv, S, D) for D in (64, 128) for kv in (4, 2, 1)
                  for S in (1, 2, 63, 64, 65, 127, 128, 129, 191, 192, 193, 256, 300, 385, 513, 1000)]
        shapes += [(3, 12, 4, 640, 64), (5, 8, 8, 777, 128), (40, 8, 4, 260, 64), (1, 32, 4, 2048, 64)]
        for dtype in DTYPES:
            for i, shape in enumerate(shapes):
                good, errors = check_one(kernels, shape, dtype, 8 * (i % 2), 1.0 if i % 3 else 3.0)
                bad += not good
                count += 1
                worst = [max(a, b) for a, b in zip(worst, errors)]
        print("%s: %d cases, worst error of o %.1e lse %.1e dq %.1e dk %.1e dv %.1e" %
              ("native" if native else "portable", count, *worst), flush=True)
    return bad


# ---- timing ----

def sdpa(p, backend):
    """Forward and backward through PyTorch; gradients of q, k and v as autograd leaves them."""
    B, H, KV, S, D = p.shape
    q, k, v = (x.detach().contiguous().requires_grad_() for x in p.split(p.qkv))
    dout = p.dout.reshape(B, S, H, D).transpose(1, 2).contiguous()

    def forward():
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=H != KV)
    out = forward()

    def backward():
        torch.autograd.grad(out, (q, k, v), dout, retain_graph=True)
    backward()
    return forward, backward


def sample(run, launches):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(launches):
        run()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / launches


def time_all(runs, rounds):
    samples = {name: [] for name in runs}
    launches = {}
    for name, run in runs.items():
        run(), run()
        launches[name] = max(2, min(50, int(4.0 / max(sample(run, 3), 1e-3))))
    for _ in range(rounds):
        for name, run in runs.items():
            samples[name].append(sample(run, launches[name]))
    return {name: statistics.median(s) for name, s in samples.items()}


def bench(lib, shapes, rounds, who):
    print(f"{torch.cuda.get_device_name()}, causal, bf16: ms (TFLOP/s)")
    for which, flops in (("forward", 4), ("backward", 10)):
        print(f"\n{which:<26}" + "".join(f"{w:>18}" for w in who) + "   native/flash")
        for shape in shapes:
            B, H, KV, S, D = shape
            p = Problem(shape, torch.bfloat16)
            p.forward(Kernels(lib, True))
            runs = {}
            for name in who:
                if name in ("native", "portable"):
                    kernels = Kernels(lib, name == "native")
                    step = p.forward if which == "forward" else p.backward
                    runs[name] = lambda step=step, kernels=kernels: step(kernels)
                else:
                    backend = SDPBackend.FLASH_ATTENTION if name == "flash" else SDPBackend.CUDNN_ATTENTION
                    try:
                        runs[name] = sdpa(p, backend)[which == "backward"]
                    except RuntimeError as e:
                        print(f"SDPA {name} {shape}: {str(e).splitlines()[0]}")
            times = time_all(runs, rounds)
            work = flops * B * H * S * S / 2 * D
            row = "".join(f"{times[w]:>9.4f} ({work / times[w] / 1e9:>5.0f})" if w in times else f"{'-':>18}"
                          for w in who)
            ratio = f"{times['flash'] / times['native']:>12.2f}" if "flash" in times and "native" in times else ""
            print(f"{B}x{H}({KV})x{S}x{D}".ljust(24) + row + ratio, flush=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--check", action="store_true")
    ap.add_argument("--bench", action="store_true")
    ap.add_argument("--lib", default="", help="the library: built when it is not there")
    ap.add_argument("--arch", default="90a")
    ap.add_argument("--shapes", nargs="*", default=[], help="B,H,KV,S,D")
    ap.add_argument("--rounds", type=int, default=9)
    ap.add_argument("--who", default="native,portable,flash,cudnn")
    args = ap.parse_args()
    if not torch or not torch.cuda.is_available():
        sys.exit("attention.py compares with PyTorch's attention on an NVIDIA GPU: " +
                 ("PyTorch sees none here" if torch else "PyTorch is not installed (pip install torch)"))
    lib = os.path.abspath(args.lib) if args.lib else os.path.join(tempfile.mkdtemp(), "attention.so")
    if not os.path.exists(lib):
        build(lib, args.arch)
    both = not args.check and not args.bench
    bad = check(lib) if args.check or both else 0
    if args.bench or both:
        shapes = [tuple(int(x) for x in s.split(",")) for s in args.shapes] or SHAPES
        bench(lib, shapes, args.rounds, args.who.split(","))
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
