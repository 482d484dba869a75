"""What a model asks of its positions, whatever they are (PyTorch).

A scheme comes in by one of three doors: it is added to the tokens, it turns queries and
keys in every layer, or it is added to the scores. It overrides that one; the others
stay shut. Without weights it is a frozen dataclass, with weights a module.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

__all__ = ["NoPositions", "Positions"]


class Positions:
    """Position scheme: how a model is told the order of its tokens; here not at all."""

    max_len: int | None = None  # how many positions there are; None means any number

    def add(
        self,
        x: Float[Tensor, "*B T D"],
        offset: int = 0,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Tensor:
        """Tokens with their positions in them, the first of which is `offset`.

        Behind padding in front, which a padding mask of all tokens so far hides, they
        are counted from the first token that it shows.
        """
        return x

    @property
    def rotary(self) -> Any:  # a Rotary, whose file imports this one, or None
        """What turns the queries and keys of every layer, if anything does."""
        return None

    def bias(
        self, n_queries: int, n_keys: int, offset: int, like: Float[Tensor, "..."]
    ) -> Float[Tensor, "H T S"] | None:
        """Numbers to add to the scores of every layer, if there are any.

        The first query stands at key `offset`; dtype and device are those of `like`.
        """
        return None


def rows_of(
    table: Callable[..., Tensor], x: Tensor, offset: int, mask: Tensor | None
) -> Tensor:
    """A row of a table of positions for each token: `T D`, or of each text `B T D`."""
    n = x.shape[-2]
    if mask is None or mask.ndim != 4 or mask.shape[1:3] != (1, 1):
        return table(n, offset, like=x)
    in_front = mask[:, 0, 0].long().argmax(dim=-1, keepdim=True)  # B 1
    places = torch.arange(offset, offset + n, device=x.device) - in_front
    return F.embedding(places.clamp(min=0), table(offset + n, like=x))


@dataclass(frozen=True)
class NoPositions(Positions):
    """No positions (NoPE): a causal model still knows how much it can see."""
