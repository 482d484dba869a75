"""Writing text, against nanoGPT's `generate` (no cache) and Hugging Face's (cache).

    NANOGPT=/path/to/nanoGPT/model.py .venv/bin/python -m benchmarks generation

Without NANOGPT, Hugging Face is the measure. Weights are random: speed does not depend
on what is written.
"""

from collections.abc import Callable
from typing import Any

import torch
from flax import nnx
from transformers import GPT2Config, GPT2LMHeadModel

import course_lib.nnx as cn
import course_lib.torch as ct
from benchmarks.race import race, table
from benchmarks.training import nanogpt
from course_lib.config import GPTConfig

# Layers, heads, width, vocabulary, positions, new tokens, rounds.
SIZES = {
    "small, 256 tokens": (4, 4, 128, 65, 320, 256, 5),
    "GPT-2's size, 64 tokens": (12, 12, 768, 50257, 1024, 64, 3),
}
PROMPT = list(range(16))


def their_text(model: Any, n: int) -> Any:
    """`n` tokens from a model of Hugging Face, drawn at temperature 1, with a cache."""
    prompt = torch.tensor([PROMPT], device=model.device)
    return model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=n,
        do_sample=True,
        top_k=0,
        pad_token_id=0,
    )


def candidates(layers, heads, width, vocab, positions, n) -> dict[str, Callable]:
    """Everybody's way to write `n` tokens, drawn at temperature 1."""
    found: dict[str, Callable] = {}
    prompt = torch.tensor([PROMPT])
    nano = nanogpt()
    if nano is not None:
        small = nano.GPT(
            nano.GPTConfig(
                block_size=positions,
                vocab_size=vocab,
                n_layer=layers,
                n_head=heads,
                n_embd=width,
                dropout=0.0,
            )
        ).eval()
        found["nanoGPT, no cache"] = lambda: small.generate(prompt, n)
    theirs: Any = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=vocab,
            n_positions=positions,
            n_embd=width,
            n_layer=layers,
            n_head=heads,
            bos_token_id=0,
            eos_token_id=None,
        )
    ).eval()
    found["Hugging Face, cache"] = lambda: their_text(theirs, n)
    config = GPTConfig(
        vocab_size=vocab,
        max_len=positions,
        d_model=width,
        n_layers=layers,
        n_heads=heads,
    )
    ours, nnx_ours = ct.GPT(config), cn.GPT(config, rngs=nnx.Rngs(0))
    found["ours, PyTorch"] = lambda: ct.generate(ours, [PROMPT], max_new_tokens=n)
    found["ours, NNX"] = lambda: cn.generate(nnx_ours, [PROMPT], max_new_tokens=n)
    found["ours, PyTorch, no cache"] = lambda: ct.generate(
        ours, [PROMPT], max_new_tokens=n, use_cache=False
    )
    found["ours, NNX, no cache"] = lambda: cn.generate(
        nnx_ours, [PROMPT], max_new_tokens=n, use_cache=False
    )
    return found


def run() -> str:
    """Measure both sizes and lay the result out."""
    races = {
        name: race(candidates(*size), rounds=rounds)
        for name, (*size, rounds) in SIZES.items()
    }
    lines = table("writing", races).splitlines()
    for ours in ("ours, PyTorch", "ours, NNX"):
        ratios = [
            f"{r[ours][1] / r['Hugging Face, cache'][1]:.2f}" for r in races.values()
        ]
        lines.append(f"{ours}, against Hugging Face: {', '.join(ratios)}")
        ratios = [
            f"{r[ours + ', no cache'][0] / r[ours][0]:.1f}" for r in races.values()
        ]
        lines.append(f"{ours}, with the cache against without: {', '.join(ratios)}")
    return "\n".join(lines)
