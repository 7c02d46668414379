"""Writes the small models of tests/fixtures/hf with the real transformers, and the logits it computes for them
in float64.

    python3 tests/hf/make_fixtures.py tests/fixtures/hf"""
import json
import os
import shutil
import sys

import numpy as np
import torch
import transformers
from safetensors.numpy import save_file

MODELS = {
    "gqa_tied_fp32": dict(heads=4, kv=2, tied=True, dtype=torch.float32, shard="1GB", theta=10000.0),
    "mha_untied_bf16_sharded": dict(heads=4, kv=4, tied=False, dtype=torch.bfloat16, shard="3KB", theta=500000.0),
    "mqa_untied_fp16": dict(heads=2, kv=1, tied=False, dtype=torch.float16, shard="1GB", theta=10000.0),
    # Pairs of a head of 8 rotate 10, 1, 0.1 and 0.01 times in 64 positions: fast ones, slow ones and some in between.
    "rope_linear": dict(heads=2, kv=1, tied=True, length=24, rope=dict(rope_type="linear", factor=2.5)),
    "rope_llama3": dict(heads=2, kv=1, tied=True, length=24, longest=256, rope=dict(
        rope_type="llama3", factor=4.0, low_freq_factor=0.5, high_freq_factor=4.0,
        original_max_position_embeddings=64)),
    "rope_yarn": dict(heads=2, kv=1, tied=True, length=24, longest=256, rope=dict(
        rope_type="yarn", factor=4.0, original_max_position_embeddings=64)),
    # longer than the model's limit, so that the angles change
    "rope_dynamic": dict(heads=2, kv=1, tied=True, length=24, longest=8, rope=dict(rope_type="dynamic", factor=2.0)),
    # four heads of 6 in rows of 16
    "head_dim": dict(heads=4, kv=2, tied=False, head=6),
    "qwen2": dict(kind="Qwen2", heads=4, kv=2, tied=True),
    "qwen3": dict(kind="Qwen3", heads=4, kv=2, tied=True, head=6),
}


def grown(folder, tokens, prompt):
    """Logits with a cache: of a prompt that is read at once, and then token by token."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).double()
    cache, logits = transformers.DynamicCache(config=model.config), []
    with torch.no_grad():
        for part in (tokens[:, :prompt], *tokens[:, prompt:].split(1, 1)):
            logits.append(model(part, past_key_values=cache, use_cache=True).logits[0])
    return torch.cat(logits).numpy().astype(np.float32)


def make(folder, heads, kv, tied, dtype=torch.float32, shard="1GB", theta=10000.0, length=9, longest=32, rope=None,
         head=None, kind="Llama"):
    shutil.rmtree(folder, ignore_errors=True)
    more = dict(head_dim=head) if head else {}
    config = getattr(transformers, kind + "Config")(
        vocab_size=24, hidden_size=16, intermediate_size=20, num_hidden_layers=2, num_attention_heads=heads,
        num_key_value_heads=kv, max_position_embeddings=longest, rms_norm_eps=1e-5,
        tie_word_embeddings=tied, rope_parameters={"rope_type": "default", "rope_theta": theta, **(rope or {})},
        bos_token_id=None, eos_token_id=None, **more)
    torch.manual_seed(len(folder))
    model = getattr(transformers, kind + "ForCausalLM")(config)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(torch.randn_like(p) * 0.3 + ("norm" in name))
    model.to(dtype).save_pretrained(folder, max_shard_size=shard)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).double()
    tokens = torch.randint(0, 24, (2, length + 1))
    with torch.no_grad():
        logits = model(tokens[:, :-1]).logits.numpy().astype(np.float32)
    save_file({"tokens": tokens.numpy().astype(np.int32), "logits": logits}, os.path.join(folder, "golden.safetensors"),
              metadata={"transformers": transformers.__version__, "torch": torch.__version__})
    if rope and rope["rope_type"] == "dynamic":  # prompts within and beyond the model's limit
        save_file({f"prompt_{n}": grown(folder, tokens[:1, :-1], n) for n in (longest - 3, longest + 4)},
                  os.path.join(folder, "grown.safetensors"))
    for name in ("config.json", "generation_config.json"):
        json.load(open(os.path.join(folder, name)))
    print(folder, sorted(os.listdir(folder)), float(np.abs(logits).max()))


for name, how in MODELS.items():
    make(os.path.join(sys.argv[1], name), **how)
