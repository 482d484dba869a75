"""Evaluation mode, and whether a model sees the future (Flax NNX)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array
from jaxtyping import Float, Shaped

from course_lib.checks import check_shape

__all__ = ["evaluating", "past_moves"]

# Where an NNX module keeps its mode: dropout in the first, batch norm in the second.
_MODES = ("deterministic", "use_running_average")


@contextmanager
def evaluating(model: nnx.Module) -> Iterator[nnx.Module]:
    """Evaluation mode inside a `with`: dropout off, batch norm on running averages."""
    modes = [
        (part, name, getattr(part, name))
        for _, part in nnx.iter_graph(model)
        if isinstance(part, nnx.Module)
        for name in _MODES
        if hasattr(part, name)
    ]
    model.eval()
    try:
        yield model
    finally:
        for part, name, mode in modes:
            setattr(part, name, mode)


def past_moves(
    f: Callable[[Array], Float[Array, "B T ..."]],
    inputs: Shaped[Array, "B T ..."],
    other: Shaped[Array, "B T ..."],
) -> float:
    """Leak test: how far outputs move, at most, when only later inputs change."""
    sizes = " ".join(map(str, inputs.shape))
    check_shape("other", other.shape, f"{sizes}, that of the inputs")
    # NumPy cuts: JAX would compile every place anew.
    old, new = np.asarray(inputs), np.asarray(other)
    outputs, largest = np.asarray(f(inputs)), 0.0
    for t in range(1, inputs.shape[1]):
        changed = jnp.asarray(np.concatenate([old[:, :t], new[:, t:]], axis=1))
        moved = abs(np.asarray(f(changed)) - outputs)[:, :t].max()
        largest = max(largest, float(moved))
    return largest
