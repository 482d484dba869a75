"""Multi-head attention, forward and backward, against the frameworks' own layers."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import torch
from flax import nnx

import course_lib.nnx as cn
import course_lib.torch as ct
from benchmarks.race import race, table

# Sequences, positions, width, heads.
SIZES = {
    "8 x 256 x 256, 8 heads": (8, 256, 256, 8),
    "1 x 1024 x 256": (1, 1024, 256, 8),
}


def torch_step(layer: Callable, x: torch.Tensor) -> Callable[[], None]:
    """One forward and one backward pass, as a call without arguments."""

    def step() -> None:
        x.grad = None
        layer(x).sum().backward()

    return step


def nnx_step(layer: nnx.Module, x: jax.Array) -> Callable[[], None]:
    """The same in JAX: the module is taken apart once, and the pass compiled once."""
    graph, weights, rest = nnx.split(layer, nnx.Param, ...)

    def total(weights: nnx.State, x: jax.Array) -> jax.Array:
        return nnx.merge(graph, weights, rest)(x).sum()

    gradients = jax.jit(jax.grad(total, argnums=(0, 1)))
    return lambda: jax.block_until_ready(gradients(weights, x))


def candidates(b: int, t: int, d: int, h: int) -> dict[str, Callable[[], None]]:
    """Both built-in layers and both of ours, at one size."""
    x = np.random.default_rng(0).standard_normal((b, t, d)).astype("float32")
    tx, jx = torch.from_numpy(x).requires_grad_(), jnp.asarray(x)
    builtin = torch.nn.MultiheadAttention(d, h, batch_first=True)
    stock = nnx.MultiHeadAttention(
        h, in_features=d, decode=False, deterministic=True, rngs=nnx.Rngs(0)
    )
    ours = cn.MultiHeadAttention(d, h, rngs=nnx.Rngs(0))
    return {
        # As it comes, and told that nobody wants the weights.
        "nn.MultiheadAttention": torch_step(lambda x: builtin(x, x, x)[0], tx),
        "the same, need_weights=False": torch_step(
            lambda x: builtin(x, x, x, need_weights=False)[0], tx
        ),
        "ours, PyTorch": torch_step(ct.MultiHeadAttention(d, h), tx),
        "nnx.MultiHeadAttention": nnx_step(stock, jx),
        "ours, NNX": nnx_step(ours, jx),
    }


def run() -> str:
    """Measure all sizes and lay the result out."""
    races = {name: race(candidates(*size)) for name, size in SIZES.items()}
    lines = table("forward and backward", races).splitlines()
    ratio = [
        f"{r['ours, NNX'][1] / r['nnx.MultiHeadAttention'][1]:.2f}"
        for r in races.values()
    ]
    lines.append(f"ours, NNX, against nnx.MultiHeadAttention: {', '.join(ratio)}")
    return "\n".join(lines)
