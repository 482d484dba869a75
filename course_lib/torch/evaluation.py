"""Evaluation mode for as long as something is measured or generated (PyTorch)."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[nn.Module]:
    """Evaluation mode inside a `with`: dropout off, batch norm on its running averages.

    `model.train()` afterwards would not do: a part that stood in evaluation mode
    before, such as a frozen encoder, would be in training mode then.

    Args:
        model: Any module of this wing.

    Returns:
        The model, for `with evaluating(model)`. At the end, also after an exception,
        each submodule has the mode it had before.
    """
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        yield model
    finally:
        for part, training in modes:
            part.training = training
