#!/usr/bin/env python3
"""Writes the golden files: ten training steps of tiny LLaMAs, computed by PyTorch in float64, stored as float32.

The model is written out here in plain tensor operations (no nn.Module, no fused attention), so that it shares nothing
with the code it judges. Gradients are autograd's, the optimiser is torch.optim.AdamW.

    python3 tests/golden/make_golden.py [--check] [folder]

--check writes nothing: it computes everything again in float32 as well and says how far that is from float64, which is
the distance a correct float32 program must be expected to have.
"""
import argparse
import json
import math
import pathlib
import struct

import torch

STEPS, WARMUP, PEAK, FLOOR = 10, 3, 3e-3, 0.1
BETA1, BETA2, ADAM_EPS, DECAY = 0.9, 0.95, 1e-8, 0.1

COMMON = dict(rope_theta=10000.0, norm_eps=1e-6, num_steps=STEPS, warmup_steps=WARMUP, lr_schedule="cosine",
              learning_rate=PEAK, min_lr_ratio=FLOOR, weight_decay=DECAY, beta1=BETA1, beta2=BETA2, adam_eps=ADAM_EPS)

# With its clipping norm the first configuration clips at every step, the others at some. The seeds avoid gradients so
# small that AdamW's division by their size turns rounding into a visible difference (--check shows it).
CONFIGS = {
    # grouped queries, tied head
    "gqa_tied": dict(hidden_dim=48, num_layers=2, num_heads=4, num_kv_heads=2, ffn_dim=80, vocab_size=61, seq_len=13,
                     batch_size=3, tie_embeddings=True, init_std=0.11, clip_norm=1.0, seed=6),
    # one key/value head per query head, a separate head matrix, no multiple of eight; many tokens never occur
    "mha_untied": dict(hidden_dim=36, num_layers=1, num_heads=3, num_kv_heads=3, ffn_dim=52, vocab_size=37, seq_len=7,
                       batch_size=2, tie_embeddings=False, init_std=0.16, clip_norm=4.75, seed=2),
    # one key/value head for all, other theta and eps, longer rows
    "mqa_tied": dict(hidden_dim=60, num_layers=3, num_heads=6, num_kv_heads=1, ffn_dim=50, vocab_size=100, seq_len=33,
                     batch_size=2, tie_embeddings=True, init_std=0.1, clip_norm=2.5, seed=8, rope_theta=500000.0,
                     norm_eps=1e-5),
    # yarn angles, which also scale q and k up
    "yarn_tied": dict(hidden_dim=32, num_layers=2, num_heads=2, num_kv_heads=1, ffn_dim=28, vocab_size=43, seq_len=21,
                      batch_size=2, tie_embeddings=True, init_std=0.14, clip_norm=2.5, seed=2,
                      rope_scaling="yarn,factor=4,original_max_position_embeddings=64"),
    # biases of q, k and v
    "qwen2": dict(hidden_dim=30, num_layers=2, num_heads=3, num_kv_heads=1, ffn_dim=28, vocab_size=41, seq_len=17,
                  batch_size=2, tie_embeddings=True, init_std=0.15, clip_norm=2.5, seed=4, qkv_bias=True),
    # norms of the heads of q and k; the head size is not hidden / heads
    "qwen3": dict(hidden_dim=30, num_layers=2, num_heads=3, num_kv_heads=1, head_dim=14, ffn_dim=28, vocab_size=41,
                  seq_len=17, batch_size=2, tie_embeddings=False, init_std=0.15, clip_norm=2.9, seed=4, qk_norm=True),
    # attention inside documents, which end with token 5
    "documents": dict(hidden_dim=32, num_layers=2, num_heads=4, num_kv_heads=2, ffn_dim=44, vocab_size=23, seq_len=41,
                      batch_size=2, tie_embeddings=True, init_std=0.14, clip_norm=2.0, seed=4, end_token=5),
}


# ---- the model ----

def shapes(c):
    """Name and shape of every parameter, in the order of Meta's LLaMA checkpoints."""
    C, D, F, V = c["hidden_dim"], c.get("head_dim", c["hidden_dim"] // c["num_heads"]), c["ffn_dim"], c["vocab_size"]
    Hq, Hk = c["num_heads"] * D, c["num_kv_heads"] * D
    yield "tok_embeddings.weight", (V, C)
    for i in range(c["num_layers"]):
        p = f"layers.{i}."
        yield p + "attention.wq.weight", (Hq, C)
        yield p + "attention.wk.weight", (Hk, C)
        yield p + "attention.wv.weight", (Hk, C)
        yield p + "attention.wo.weight", (C, Hq)
        yield p + "feed_forward.w1.weight", (F, C)
        yield p + "feed_forward.w3.weight", (F, C)
        yield p + "feed_forward.w2.weight", (C, F)
        yield p + "attention_norm.weight", (C,)
        yield p + "ffn_norm.weight", (C,)
        if c.get("qkv_bias"):
            yield p + "attention.wq.bias", (Hq,)
            yield p + "attention.wk.bias", (Hk,)
            yield p + "attention.wv.bias", (Hk,)
        if c.get("qk_norm"):
            yield p + "attention.q_norm.weight", (D,)
            yield p + "attention.k_norm.weight", (D,)
    yield "norm.weight", (C,)
    if not c["tie_embeddings"]:
        yield "output.weight", (V, C)


def rmsnorm(x, weight, eps):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * weight


def yarn(rate, theta, D, factor, original):  # the rates of the angles, and the factor of q and k
    def pair(turns):  # the pair that rotates this many times in the original length
        return D * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low, high = max(math.floor(pair(32)), 0), min(math.ceil(pair(1)), D - 1)
    ramp = ((torch.arange(D // 2, dtype=torch.float64) - low) / (high - low)).clamp(0, 1)
    return rate * (1 - ramp) + rate / factor * ramp, 0.1 * math.log(factor) + 1


def rope(x, c):  # (B, S, heads, D): the pair (2i, 2i+1) as a complex number, rotated by position * theta^(-2i/D)
    S, D, theta, size = x.shape[1], x.shape[3], c["rope_theta"], 1.0
    rate = theta ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
    if "rope_scaling" in c:
        numbers = dict(word.split("=") for word in c["rope_scaling"].split(",")[1:])
        rate, size = yarn(rate, theta, D, float(numbers["factor"]), float(numbers["original_max_position_embeddings"]))
    angle = torch.outer(torch.arange(S, dtype=torch.float64), rate)
    cos, sin = (size * angle.cos()).to(x.dtype)[None, :, None], (size * angle.sin()).to(x.dtype)[None, :, None]
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).reshape(x.shape)


def hidden_keys(tokens, c):  # (B, S) -> (B, S, S): which keys a query does not see
    S = tokens.shape[1]
    hidden = torch.ones(S, S, dtype=torch.bool).triu(1).expand(len(tokens), S, S)
    if "end_token" not in c:
        return hidden
    ends = (tokens == c["end_token"]).long()
    document = ends.cumsum(-1) - ends  # the end token belongs to the document that it ends
    return hidden | (document[:, :, None] != document[:, None, :])


def attention(q, k, v, hidden):  # q: (B, S, H, D), k and v: (B, S, KV, D)
    B, S, H, D = q.shape
    heads = []
    for h in range(H):
        kv = h * k.shape[2] // H
        scores = torch.einsum("bid,bjd->bij", q[:, :, h], k[:, :, kv]) / math.sqrt(D)
        p = torch.softmax(scores.masked_fill(hidden, -math.inf), -1)
        heads.append(p @ v[:, :, kv])
    return torch.cat(heads, -1)  # (B, S, H*D)


def project(w, name, y, heads):  # (B, S, C) -> (B, S, heads, D)
    z = y @ w[name + ".weight"].T + w.get(name + ".bias", 0)
    return z.reshape(*y.shape[:2], heads, -1)


def report_attention(name, c):
    """The attention above against PyTorch's own with the same mask."""
    tokens = initial(c)[0][0, :, :-1]
    B, S, H, D = *tokens.shape, c["num_heads"], c["hidden_dim"] // c["num_heads"]
    random = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(B, S, h, D, generator=random, dtype=torch.float64)
               for h in (H, c["num_kv_heads"], c["num_kv_heads"]))
    hidden = hidden_keys(tokens, c)
    other = torch.nn.functional.scaled_dot_product_attention(
        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=~hidden[:, None], enable_gqa=True)
    distance = (attention(q, k, v, hidden) - other.transpose(1, 2).reshape(B, S, -1)).abs().max()
    print(name, f"attention from PyTorch's own with the same mask: {float(distance):.1e}")


def logits(w, tokens, c):  # tokens (B, S) -> (B, S, V)
    H, KV, eps = c["num_heads"], c["num_kv_heads"], c["norm_eps"]
    x = w["tok_embeddings.weight"][tokens]
    for i in range(c["num_layers"]):
        p = f"layers.{i}."
        y = rmsnorm(x, w[p + "attention_norm.weight"], eps)
        q, k, v = (project(w, p + "attention." + n, y, heads) for n, heads in (("wq", H), ("wk", KV), ("wv", KV)))
        if c.get("qk_norm"):
            q = rmsnorm(q, w[p + "attention.q_norm.weight"], eps)
            k = rmsnorm(k, w[p + "attention.k_norm.weight"], eps)
        o = attention(rope(q, c), rope(k, c), v, hidden_keys(tokens, c))
        x = x + o @ w[p + "attention.wo.weight"].T
        y = rmsnorm(x, w[p + "ffn_norm.weight"], eps)
        gate, up = y @ w[p + "feed_forward.w1.weight"].T, y @ w[p + "feed_forward.w3.weight"].T
        x = x + (gate * torch.sigmoid(gate) * up) @ w[p + "feed_forward.w2.weight"].T
    head = w["tok_embeddings.weight" if c["tie_embeddings"] else "output.weight"]
    return rmsnorm(x, w["norm.weight"], eps) @ head.T


def mean_loss(z, targets):
    return (torch.logsumexp(z, -1) - z.gather(-1, targets[..., None])[..., 0]).mean()


# ---- training ----

def learning_rate(step):  # 1, 2, ...: linear warm-up, then a cosine that reaches the floor at the last step
    if step <= WARMUP:
        return PEAK * step / WARMUP
    done = (step - WARMUP) / (STEPS - WARMUP)
    return PEAK * (FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * done)))


def initial(c):
    """Tokens that can be learned (the next is one, two or three further) and weights; norm weights are not all ones."""
    random = torch.Generator().manual_seed(c["seed"])
    B, S, V = c["batch_size"], c["seq_len"], c["vocab_size"]
    moves = torch.randint(1, 4, (STEPS, B, S + 1), generator=random)
    moves[..., 0] = torch.randint(V, (STEPS, B), generator=random)
    tokens = moves.cumsum(-1) % V
    if "end_token" in c:
        tokens[:, 0, 6:8] = tokens[:, 1, -1] = c["end_token"]  # also a one-token document, and an end as a target
    w = {}
    for name, shape in shapes(c):
        noise = torch.randn(shape, generator=random, dtype=torch.float64)
        bias = name.endswith(".bias")
        w[name] = (c["init_std"] * noise if len(shape) == 2 else 0.3 * noise if bias else 1 + 0.1 * noise).float()
    return tokens, w


def train(c, dtype):
    tokens, w0 = initial(c)
    w = {name: t.to(dtype, copy=True).requires_grad_() for name, t in w0.items()}
    opt = torch.optim.AdamW([dict(params=[t for t in w.values() if t.dim() == 2], weight_decay=DECAY),
                             dict(params=[t for t in w.values() if t.dim() == 1], weight_decay=0.0)],
                            betas=(BETA1, BETA2), eps=ADAM_EPS, foreach=False)
    out, losses, norms = {"tokens": tokens.int()}, [], []
    out.update({"w0." + name: t for name, t in w0.items()})
    for step in range(1, STEPS + 1):
        x, y = tokens[step - 1, :, :-1], tokens[step - 1, :, 1:]
        z = logits(w, x, c)
        loss = mean_loss(z, y)
        opt.zero_grad()
        loss.backward()
        if step == 1:
            out["logits"] = z.detach().float()
            out.update({"grad." + name: t.grad.clone().float() for name, t in w.items()})
        norm = math.sqrt(sum(float((t.grad ** 2).sum()) for t in w.values()))
        for t in w.values():
            t.grad *= min(1.0, c["clip_norm"] / norm)
        for group in opt.param_groups:
            group["lr"] = learning_rate(step)
        opt.step()
        losses.append(loss.item())
        norms.append(norm)
    out["loss"], out["grad_norm"] = torch.tensor(losses), torch.tensor(norms)
    out.update({"w10." + name: t.detach().float() for name, t in w.items()})
    return out


# ---- files ----

def write_safetensors(path, tensors, metadata):
    """Written here, not by the library, whose order of the metadata changes from run to run."""
    header, blobs, at = {"__metadata__": metadata}, [], 0
    for name, t in tensors.items():
        blob = t.contiguous().numpy().tobytes()
        kind = {torch.float32: "F32", torch.int32: "I32"}[t.dtype]
        header[name] = {"dtype": kind, "shape": list(t.shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def text_of(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def report_distance(name, golden, c):
    """Float32 in PyTorch against float64: what rounding alone does."""
    other = train(c, torch.float32)
    worst = {}
    for key, t in golden.items():
        group = key.split(".")[0]
        diff, size = (t.double() - other[key].double()).abs(), t.double().abs().max()
        worst[group] = max(worst.get(group, 0.0), float(diff.max() / size) if size else float(diff.max()))
    print(name, "float32 from float64, largest difference / largest value:",
          ", ".join(f"{group} {value:.1e}" for group, value in worst.items() if group not in ("tokens", "w0")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    args = parser.parse_args()
    torch.set_num_threads(1)
    for name, own in CONFIGS.items():
        c = {**COMMON, **own}
        golden = train(c, torch.float64)
        if args.check:
            report_distance(name, golden, c)
            report_attention(name, c)
            continue
        path = args.folder / f"{name}.safetensors"
        write_safetensors(path, golden, {key: text_of(value) for key, value in c.items()})
        loss, norms = golden["loss"], " ".join(f"{n:.2f}" for n in golden["grad_norm"])
        print(f"{path}  {path.stat().st_size} bytes  loss {loss[0]:.4f} .. {loss[-1]:.4f}  grad norm {norms}")


if __name__ == "__main__":
    main()
