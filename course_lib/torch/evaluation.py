"""Evaluation mode for as long as something is measured or generated (PyTorch)."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

__all__ = ["evaluating"]


@contextmanager
def evaluating(model: nn.Module) -> Iterator[nn.Module]:
    """Evaluation mode inside a `with`: dropout off, batch norm on running averages.

    At the end, also after an exception, each submodule has the mode it had before.
    `model.train()` would not do: a frozen encoder would be in training mode then.
    """
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        yield model
    finally:
        for part, training in modes:
            part.training = training
