"""Evaluation mode, and whether a model sees the future (PyTorch)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from course_lib.checks import check_shape

__all__ = ["evaluating", "past_moves"]


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


@torch.no_grad()
def past_moves(
    f: Callable[[Tensor], Float[Tensor, "B T ..."]],
    inputs: Shaped[Tensor, "B T ..."],
    other: Shaped[Tensor, "B T ..."],
) -> float:
    """Leak test: how far outputs move, at most, when only later inputs change.

    At each place in turn the inputs from there on are exchanged for those of `other`.
    A model that uses no more than the past gives 0, or rounding.
    """
    sizes = " ".join(map(str, inputs.shape))
    check_shape("other", other.shape, f"{sizes}, that of the inputs")
    outputs, largest = f(inputs), 0.0
    for t in range(1, inputs.shape[1]):
        changed = torch.cat([inputs[:, :t], other[:, t:]], dim=1)
        moved = (f(changed) - outputs)[:, :t].abs().max().item()
        largest = max(largest, moved)
    return largest
