"""Training steps of a small GPT, against nanoGPT and Hugging Face's GPT-2.

nanoGPT's file is not ours to ship. Name it, and it is the measure:

    NANOGPT=/path/to/nanoGPT/model.py .venv/bin/python -m benchmarks training

Without it, Hugging Face's model is. Ours is measured as a reader meets it, through
`fit`; theirs in the plain loop that their own examples show.
"""

import importlib.util
import os
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import torch
import torch.nn.functional as F
from flax import nnx
from transformers import GPT2Config, GPT2LMHeadModel

import course_lib.nnx as cn
import course_lib.torch as ct
from benchmarks.race import race, table
from course_lib.config import GPTConfig, TrainConfig

# Layers, heads, width, positions, sequences in a batch, steps in a call.
SIZES = {
    "small: 4L 4H 128": (4, 4, 128, 64, 12, 24),
    "medium: 6L 6H 384": (6, 6, 384, 256, 4, 8),
}
VOCAB = 65


def nanogpt() -> Any:
    """Load nanoGPT from the path in NANOGPT; None if it is not set."""
    path = os.environ.get("NANOGPT")
    if path is None:
        return None
    spec = importlib.util.spec_from_file_location("nanogpt_model", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"NANOGPT must be the path of nanoGPT's model.py: got {path}.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain_loop(
    model: Any, loss: Callable, batches: list, fused: bool, short: bool = False
) -> Callable[[], None]:
    """Train a PyTorch model the way its own examples do, or in bfloat16, `short`."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=fused)
    device = next(model.parameters()).device
    tensors = [tuple(torch.from_numpy(a).to(device) for a in b) for b in batches]

    def run() -> None:
        model.train()
        for batch in tensors:
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device.type, torch.bfloat16, enabled=short):
                value = loss(model, *batch)
            value.backward()
            optimizer.step()

    return run


def torch_loss(model, ids, targets):
    """The course's loss, in PyTorch."""
    return ct.cross_entropy(model(ids), targets)


def nnx_loss(model, ids, targets):
    """The course's loss, in NNX."""
    return cn.cross_entropy(model(ids), targets)


def candidates(layers, heads, width, length, batch, steps) -> dict[str, Callable]:
    """Everybody's model at one size, each with its way to train."""
    rng = np.random.default_rng(0)
    ids = rng.integers(0, VOCAB, (steps, batch, length + 1))
    batches = [(np.ascontiguousarray(i[:, :-1]), i[:, 1:].copy()) for i in ids]
    found: dict[str, Callable] = {}
    nano = nanogpt()
    if nano is not None:
        config = nano.GPTConfig(
            block_size=length,
            vocab_size=VOCAB,
            n_layer=layers,
            n_head=heads,
            n_embd=width,
            dropout=0.0,
        )
        for fused in (False, True):
            name = "nanoGPT, fused AdamW" if fused else "nanoGPT"
            found[name] = plain_loop(
                nano.GPT(config), lambda m, x, y: m(x, y)[1], batches, fused
            )
    theirs = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=VOCAB,
            n_positions=length,
            n_embd=width,
            n_layer=layers,
            n_head=heads,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=0,
            eos_token_id=None,
        )
    )
    found["Hugging Face GPT-2"] = plain_loop(
        theirs,
        lambda m, x, y: F.cross_entropy(m(x).logits.flatten(0, 1), y.flatten()),
        batches,
        False,
    )
    config = GPTConfig(
        vocab_size=VOCAB, max_len=length, d_model=width, n_layers=layers, n_heads=heads
    )
    train = TrainConfig(steps=steps, chunk=8, clip=None)  # as theirs: nothing clipped
    model, nnx_model = ct.GPT(config), cn.GPT(config, rngs=nnx.Rngs(0))
    found["ours, PyTorch"] = lambda: ct.fit(model, batches, torch_loss, config=train)
    found["ours, NNX"] = lambda: cn.fit(nnx_model, batches, nnx_loss, config=train)
    found["stock NNX"] = stock_nnx(config, batches)
    return found


class StockBlock(nnx.Module):
    """A block as flax's own examples write it, with its attention layer."""

    def __init__(self, width: int, heads: int, rngs: nnx.Rngs):
        self.ln1, self.ln2 = (nnx.LayerNorm(width, rngs=rngs) for _ in range(2))
        self.attention = nnx.MultiHeadAttention(
            heads, width, decode=False, deterministic=True, rngs=rngs
        )
        self.up = nnx.Linear(width, 4 * width, rngs=rngs)
        self.down = nnx.Linear(4 * width, width, rngs=rngs)

    def __call__(self, x, mask):
        """One layer up."""
        x = x + self.attention(self.ln1(x), mask=mask)
        return x + self.down(nnx.gelu(self.up(self.ln2(x))))


class StockGPT(nnx.Module):
    """A GPT of the framework's own parts."""

    def __init__(self, config: GPTConfig, rngs: nnx.Rngs):
        width = config.d_model
        self.tokens = nnx.Embed(config.vocab_size, width, rngs=rngs)
        self.positions = nnx.Embed(config.max_len, width, rngs=rngs)
        self.blocks = nnx.data(
            [StockBlock(width, config.n_heads, rngs) for _ in range(config.n_layers)]
        )
        self.norm = nnx.LayerNorm(width, rngs=rngs)

    def __call__(self, ids):
        """Logits of the next token."""
        x = self.tokens(ids) + self.positions(jnp.arange(ids.shape[1]))
        mask = nnx.make_causal_mask(ids)
        for block in self.blocks:
            x = block(x, mask)
        return self.tokens.attend(self.norm(x))


def stock_nnx(config: GPTConfig, batches: list) -> Callable[[], None]:
    """The framework's parts, and the training step of its documentation."""
    import optax

    model = StockGPT(config, nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)
    arrays = [tuple(map(jnp.asarray, batch)) for batch in batches]

    @nnx.jit
    def step(model, optimizer, ids, targets):
        def loss(model):
            losses = optax.softmax_cross_entropy_with_integer_labels(
                model(ids), targets
            )
            return losses.mean()

        value, grads = nnx.value_and_grad(loss)(model)
        optimizer.update(model, grads)
        return value

    def run() -> None:
        value = jnp.zeros(())
        for batch in arrays:
            value = step(model, optimizer, *batch)
        value.block_until_ready()

    return run


def run() -> str:
    """Measure all sizes and lay the result out."""
    races = {name: race(candidates(*size), rounds=9) for name, size in SIZES.items()}
    lines = table("training steps", races).splitlines()
    for theirs, ours in (
        ("Hugging Face GPT-2", "ours, PyTorch"),
        ("stock NNX", "ours, NNX"),
    ):
        ratios = [f"{r[ours][1] / r[theirs][1]:.2f}" for r in races.values()]
        lines.append(f"{ours}, against {theirs}: {', '.join(ratios)}")
    return "\n".join(lines)
