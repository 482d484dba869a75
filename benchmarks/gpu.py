"""GPT-2's size on a GPU: training and writing, tokens a second, and peak memory.

    .venv/bin/python -m benchmarks gpu

Each candidate has a process of its own, so that its peak is its own. Training is in
bfloat16 (weights in float32), 16 sequences of 1,024 tokens. Of writing the first call
counts too, since a reader's first text is a first call: plans and programs are made in
it. Without a GPU nothing is measured. The plain model is built as nanoGPT's.
"""

import multiprocessing
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import torch
import torch.nn.functional as F
from flax import nnx
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

import course_lib.nnx as cn
import course_lib.nnx.bridge as nnx_bridge
import course_lib.torch as ct
import course_lib.torch.bridge as torch_bridge
from benchmarks.generation import PROMPT, their_text
from benchmarks.training import nnx_loss, plain_loop, torch_loss
from course_lib.config import GPTConfig, TrainConfig

LAYERS, HEADS, WIDTH, VOCAB, LENGTH, BATCH = 12, 12, 768, 50257, 1024, 16
STEPS, NEW, ROUNDS = 8, 256, 3
PLAIN, THEIRS, OURS, NNX = "plain PyTorch", "Hugging Face", "ours, PyTorch", "ours, NNX"
COMPILED = ", compiled"
TRAINED = (PLAIN, THEIRS, OURS, PLAIN + COMPILED, THEIRS + COMPILED, OURS + COMPILED)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class PlainBlock(nn.Module):
    """A block with one projection for queries, keys and values."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        """One layer up."""
        heads = self.qkv(self.norms[0](x)).unflatten(-1, (3, HEADS, -1))
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norms[1](x))))


class PlainGPT(nn.Module):
    """A GPT in as few lines as there are."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(PlainBlock() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, ids):
        """Logits of the next token."""
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.tokens(ids) + self.positions(places)
        return self.norm(self.blocks(x)) @ self.tokens.weight.T


def ours() -> GPTConfig:
    """The sizes, as ours has them."""
    sizes: dict[str, Any] = {"d_model": WIDTH, "n_layers": LAYERS, "n_heads": HEADS}
    return GPTConfig(vocab_size=VOCAB, max_len=LENGTH, **sizes)


def theirs() -> Any:
    """Hugging Face's GPT-2 of the same sizes, which drops nothing."""
    sizes = {"n_positions": LENGTH, "n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS}
    rates = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    ends = {"bos_token_id": 0, "eos_token_id": None}
    return GPT2LMHeadModel(GPT2Config(vocab_size=VOCAB, **sizes, **rates, **ends))


def trained(name: str) -> Callable[[], object]:
    """Some steps of training: ours by `fit`, others in a plain loop."""
    ids = np.random.default_rng(0).integers(0, VOCAB, (STEPS, BATCH, LENGTH + 1))
    batches = [(np.ascontiguousarray(i[:, :-1]), i[:, 1:].copy()) for i in ids]
    short = TrainConfig(steps=STEPS, chunk=STEPS, clip=None, precision="bfloat16")
    if name == NNX:
        model = cn.GPT(ours(), rngs=nnx.Rngs(0))
        return lambda: cn.fit(model, batches, nnx_loss, config=short)
    kind = name.removesuffix(COMPILED)
    makers: dict[str, Any] = {
        PLAIN: PlainGPT,
        THEIRS: theirs,
        OURS: lambda: ct.GPT(ours()),
    }
    model = makers[kind]().to(DEVICE)
    model: Any = torch.compile(model) if name != kind else model
    if kind == OURS:
        return lambda: ct.fit(model, batches, torch_loss, config=short)

    def loss(model, ids, targets):
        logits = model(ids)
        logits = logits.logits if kind == THEIRS else logits
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    return plain_loop(model, loss, batches, fused=True, short=True)


def written(name: str) -> Callable[[], object]:
    """A text after one prompt, drawn at temperature 1 with a cache."""
    kind, _, dtype = name.partition(" in ")
    if kind == THEIRS:
        model = theirs().eval().to(DEVICE, getattr(torch, dtype))
        return lambda: their_text(model, NEW)
    weights = ct.get_weights(ct.GPT(ours()))
    wing, bridge = (cn, nnx_bridge) if kind == NNX else (ct, torch_bridge)
    model = bridge.from_weights(wing.GPT, weights, ours(), dtype=dtype)
    model = model if kind == NNX else model.to(DEVICE)
    return lambda: wing.generate(model, [PROMPT], max_new_tokens=NEW)


def measure(work: Callable[[str], Callable], name: str) -> tuple[float, float, float]:
    """Seconds of the first call and of a later one, and GiB at the peak."""
    call, seconds = work(name), []
    for _ in range(1 + ROUNDS):
        start = time.perf_counter()
        call()
        if DEVICE == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    if name.startswith(NNX):
        peak = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0)
    else:
        peak = torch.cuda.max_memory_allocated() if DEVICE == "cuda" else 0
    return seconds[0], statistics.median(seconds[1:]), peak / 2**30


def row(work: Callable[[str], Callable], name: str, tokens: int) -> str:
    """One line of a table, measured in a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as process:
        first, later, peak = process.apply(measure, (work, name))
    return f"{name:<26}{tokens / first:>16,.0f}{tokens / later:>16,.0f}{peak:>12.1f}"


def run() -> str:
    """Measure all, and lay the results out."""
    if DEVICE == "cpu":
        return "GPT-2's size on a GPU: there is no GPU here, so nothing is measured."
    head = f"{'first call':>16}{'later':>16}{'peak, GiB':>12}"
    lines = [f"on {torch.cuda.get_device_name()}, tokens a second"]
    lines.append(f"{'training, bfloat16':<26}{head}")
    lines += [row(trained, name, STEPS * BATCH * LENGTH) for name in (*TRAINED, NNX)]
    lines.append(f"{'writing, one prompt':<26}{head}")
    for dtype in ("float32", "bfloat16"):
        kinds = (THEIRS, OURS, NNX)
        lines += [row(written, f"{kind} in {dtype}", NEW) for kind in kinds]
    return "\n".join(lines)
