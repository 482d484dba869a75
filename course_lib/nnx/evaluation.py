"""Evaluation mode for as long as something is measured or generated (Flax NNX)."""

from collections.abc import Iterator
from contextlib import contextmanager

from flax import nnx

__all__ = ["evaluating"]

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
