"""What a model asks of its positions, whatever they are (Flax NNX)."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int

from course_lib.checks import stated

__all__ = ["NoPositions", "Positions"]


class Positions:
    """Position scheme: how a model is told the order of its tokens; here not at all."""

    max_len: int | None = None  # how many positions there are; None means any number

    def add(
        self,
        x: Float[Array, "*B T D"],
        offset: int | Int[Array, ""] = 0,
        mask: Bool[Array, "..."] | None = None,
    ) -> Array:
        """Tokens with their positions in them, the first of which is `offset`."""
        return x

    @property
    def rotary(self) -> Any:  # a Rotary, whose file imports this one, or None
        """What turns the queries and keys of every layer, if anything does."""
        return None

    def bias(
        self,
        n_queries: int,
        n_keys: int,
        offset: int | Int[Array, ""],
        like: Float[Array, "..."],
    ) -> Float[Array, "H T S"] | None:
        """Numbers to add to the scores of every layer, if there are any.

        The first query stands at key `offset`; the dtype is that of `like`.
        """
        return None


def rows_of(table: Any, x: Array, offset: Any, mask: Array | None) -> Array:
    """A row of a table of positions for each token: `T D`, or of each text `B T D`."""
    n = x.shape[-2]
    if mask is None or mask.ndim != 4 or mask.shape[1:3] != (1, 1):
        return table(n, offset, like=x)
    in_front = mask[:, 0, 0].argmax(axis=-1, keepdims=True)  # B 1
    places = (offset + jnp.arange(n) - in_front).clip(0)
    first = stated(offset)
    return table(table.max_len if first is None else first + n, like=x)[places]


@dataclass(frozen=True)
class NoPositions(Positions):
    """No positions (NoPE): a causal model still knows how much it can see."""
