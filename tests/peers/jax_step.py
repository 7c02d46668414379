"""The same training step in JAX, for gpu_step.py: bf16 over fp32 weights, cuDNN's attention, one jitted function that
owns its arguments, AdamW by hand since optax is not everywhere. Serves its times, as turns.py says.

    python3 tests/peers/jax_step.py hidden,layers,heads,kv,ffn,vocab,seq,batch WARMUP REPEATS
"""
import sys
import time

if len(sys.argv) != 4:
    sys.exit(__doc__)

import jax
import jax.numpy as jnp

import turns


def make_params(key, shape):
    C, layers, H, KV, ffn, V, _, _ = shape
    D = C // H
    sizes = dict(qkv=(C, (H + 2 * KV) * D), out=(C, C), gate_up=(C, 2 * ffn), down=(ffn, C))
    keys = iter(jax.random.split(key, 4 * layers + 1))

    def block():
        weights = {name: 0.02 * jax.random.normal(next(keys), size) for name, size in sizes.items()}
        return dict(weights, norm1=jnp.ones(C), norm2=jnp.ones(C))

    return dict(embedding=0.02 * jax.random.normal(next(keys), (V, C)), norm=jnp.ones(C),
                blocks=[block() for _ in range(layers)])


def rms_norm(x, weight):
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-6)).astype(x.dtype) * weight


def rope(x, cos, sin):
    even, odd = x[..., 0::2], x[..., 1::2]
    return jnp.stack((even * cos - odd * sin, even * sin + odd * cos), -1).reshape(x.shape)


def loss_of(params, x, y, shape):
    C, _, H, KV, _, _, S, B = shape
    D = C // H
    angle = jnp.outer(jnp.arange(S), 10000.0 ** (-jnp.arange(0, D, 2) / D))
    cos, sin = (t[None, :, None].astype(jnp.bfloat16) for t in (jnp.cos(angle), jnp.sin(angle)))
    narrow = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)
    h = narrow["embedding"][x]
    for b in narrow["blocks"]:
        qkv = (rms_norm(h, b["norm1"]) @ b["qkv"]).reshape(B, S, H + 2 * KV, D)
        q, k, v = rope(qkv[:, :, :H], cos, sin), rope(qkv[:, :, H:H + KV], cos, sin), qkv[:, :, H + KV:]
        a = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn")
        h = h + a.reshape(B, S, C) @ b["out"]
        gate, up = jnp.split(rms_norm(h, b["norm2"]) @ b["gate_up"], 2, -1)
        h = h + (jax.nn.silu(gate) * up) @ b["down"]
    logits = (rms_norm(h, narrow["norm"]) @ narrow["embedding"].T).astype(jnp.float32)
    picked = jnp.take_along_axis(logits, y[..., None], -1)[..., 0]
    return (jax.nn.logsumexp(logits, -1) - picked).mean()


def adamw(p, g, m, v, t):
    m, v = 0.9 * m + 0.1 * g, 0.95 * v + 0.05 * g * g
    move = (m / (1 - 0.9 ** t)) / (jnp.sqrt(v / (1 - 0.95 ** t)) + 1e-8)
    return p - 3e-4 * (move + (0.1 * p if p.ndim == 2 else 0)), m, v


def make_step(shape):
    def step(params, ms, vs, t, x, y):
        loss, grads = jax.value_and_grad(loss_of)(params, x, y, shape)
        norm = jnp.sqrt(sum((g * g).sum() for g in jax.tree.leaves(grads)))
        scale = jnp.minimum(1.0, 1.0 / (norm + 1e-6))
        leaves, tree = jax.tree.flatten(params)
        moved = [adamw(p, g * scale, m, v, t) for p, g, m, v in
                 zip(leaves, *(jax.tree.leaves(s) for s in (grads, ms, vs)))]
        return (loss, *(jax.tree.unflatten(tree, column) for column in zip(*moved)))
    return jax.jit(step, donate_argnums=(0, 1, 2))


def main():
    shape, warmup, repeats = tuple(map(int, sys.argv[1].split(","))), int(sys.argv[2]), int(sys.argv[3])
    params = make_params(jax.random.PRNGKey(0), shape)
    ms, vs = jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params)
    tokens = jax.random.randint(jax.random.PRNGKey(1), (shape[7], shape[6] + 1), 0, shape[5])
    x, y = tokens[:, :-1], tokens[:, 1:]
    step, state, done = make_step(shape), (params, ms, vs), 0

    def block(per=10):
        nonlocal state, done
        begin = time.perf_counter()
        for _ in range(per):
            done += 1
            loss, *state = step(*state, 1.0 * done, x, y)
        loss.block_until_ready()
        return (time.perf_counter() - begin) * 1e3 / per, loss

    def blocks():
        times, losses = zip(*(block() for _ in range(warmup + repeats)))
        peak = jax.devices()[0].memory_stats() or {}
        return dict(ms=times[warmup:], loss=float(losses[-1]), peak_bytes=peak.get("peak_bytes_in_use", 0))

    block()
    turns.serve(blocks, jax=jax.__version__)


if __name__ == "__main__":
    main()
