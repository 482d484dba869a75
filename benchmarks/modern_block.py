"""Today's block: training and writing, against `transformers`' Llama of the same sizes.

RMS norm, SwiGLU, rotary positions, grouped queries, no biases; weights are random. Of
memory a process of its own says by how much its peak grew from before the model.
"""

import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch.nn.functional as F
from flax import nnx
from transformers import LlamaConfig, LlamaForCausalLM

import course_lib.nnx as cn
import course_lib.torch as ct
from benchmarks.generation import PROMPT, their_text
from benchmarks.race import race, table
from benchmarks.training import nnx_loss, plain_loop, torch_loss
from course_lib.config import GPTConfig, TrainConfig

# Layers, heads, groups of them, width, feed-forward width, vocabulary.
SIZES = {
    "small": (4, 4, 2, 128, 344, 65),
    "GPT-2's size": (12, 12, 4, 768, 2048, 50257),
}
# Tokens, sequences in a batch, steps in a call, rounds; new tokens, rounds.
TRAINED = {"small": (64, 12, 24, 9), "GPT-2's size": (128, 4, 2, 3)}
WRITTEN = {"small": (256, 5), "GPT-2's size": (64, 3)}
LONGEST = 512
THEIRS = "Hugging Face Llama"
NAMES = (THEIRS, "ours, PyTorch", "ours, NNX")


def model(name: str, size: str) -> Any:
    """One of the three, of one size."""
    layers, heads, groups, width, d_ff, vocab = SIZES[size]
    if name == THEIRS:
        return LlamaForCausalLM(
            LlamaConfig(
                vocab_size=vocab,
                hidden_size=width,
                intermediate_size=d_ff,
                num_hidden_layers=layers,
                num_attention_heads=heads,
                num_key_value_heads=groups,
                max_position_embeddings=LONGEST,
                tie_word_embeddings=True,
                bos_token_id=0,
                eos_token_id=None,
            )
        )
    config = GPTConfig(
        vocab_size=vocab,
        max_len=LONGEST,
        d_model=width,
        n_layers=layers,
        n_heads=heads,
        n_kv_heads=groups,
        d_ff=d_ff,
        activation="silu",
        gated=True,
        norm_kind="rms",
        bias=False,
        position="rotary",
    )
    if name == "ours, PyTorch":
        return ct.GPT(config)
    return cn.GPT(config, rngs=nnx.Rngs(0))


def trained(name: str, size: str) -> Callable[[], object]:
    """Some steps of training: ours by `fit`, theirs in a plain loop."""
    length, batch, steps, _ = TRAINED[size]
    rng = np.random.default_rng(0)
    ids = rng.integers(0, SIZES[size][-1], (steps, batch, length + 1))
    batches = [(np.ascontiguousarray(i[:, :-1]), i[:, 1:].copy()) for i in ids]
    made = model(name, size)
    if name == THEIRS:
        return plain_loop(
            made,
            lambda m, x, y: F.cross_entropy(m(x).logits.flatten(0, 1), y.flatten()),
            batches,
            False,
        )
    train = TrainConfig(steps=steps, chunk=8, clip=None)
    if name == "ours, PyTorch":
        return lambda: ct.fit(made, batches, torch_loss, config=train)
    return lambda: cn.fit(made, batches, nnx_loss, config=train)


def written(name: str, size: str) -> Callable[[], object]:
    """Tokens drawn at temperature 1, with a cache."""
    n, _ = WRITTEN[size]
    made = model(name, size)
    if name == THEIRS:
        return lambda: their_text(made.eval(), n)
    wing = ct if name == "ours, PyTorch" else cn
    return lambda: wing.generate(made, [PROMPT], max_new_tokens=n)


def peak() -> int:
    """Most bytes that this process ever held, on Linux.

    The kernel's `VmHWM` starts anew with a program, whereas `ru_maxrss` begins at what
    the process that started it had held.
    """
    status = Path("/proc/self/status").read_text("utf-8")
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def growth(work: Callable, name: str, size: str) -> float:
    """Megabytes by which one model's work raises the peak of a fresh process."""
    before = peak()
    call = work(name, size)
    call()
    call()
    return (peak() - before) / 1e6


def run() -> str:
    """Measure both sizes, and lay the results out."""
    lines = []
    fresh = multiprocessing.get_context("spawn")
    for work, settings in ((trained, TRAINED), (written, WRITTEN)):
        races = {
            size: race({n: work(n, size) for n in NAMES}, rounds=settings[size][-1])
            for size in SIZES
        }
        lines.append(table(f"today's block, {work.__name__}", races))
        for name in NAMES[1:]:
            ratios = ", ".join(f"{races[size][name][1]:.2f}" for size in SIZES)
            lines.append(f"{name}, against {THEIRS}: {ratios}")
        for name in NAMES:
            grown = []
            for size in SIZES:
                with fresh.Pool(1) as process:
                    grown.append(process.apply(growth, (work, name, size)))
            megabytes = ", ".join(f"{g:,.0f} MB" for g in grown)
            lines.append(f"{name}, memory: {megabytes}")
    return "\n".join(lines)
