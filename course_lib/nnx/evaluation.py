"""Evaluation mode for as long as something is measured or generated (Flax NNX)."""

from collections.abc import Iterator
from contextlib import contextmanager

from flax import nnx

# Where an NNX module keeps its mode: dropout in the first, batch norm in the second.
_MODES = ("deterministic", "use_running_average")


@contextmanager
def evaluating(model: nnx.Module) -> Iterator[nnx.Module]:
    """Evaluation mode inside a `with`: dropout off, batch norm on its running averages.

    `model.train()` afterwards would not do: a part that stood in evaluation mode
    before, such as a frozen encoder, would be in training mode then.

    Args:
        model: Any module of this wing.

    Returns:
        The model, for `with evaluating(model)`. At the end, also after an exception,
        each submodule has the mode it had before.
    """
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
