"""The table of vectors that ids are looked up in (Flax NNX)."""

from typing import Any

from flax import nnx
from jax import Array

from course_lib.checks import check_sizes
from course_lib.nnx.linear import normal

__all__ = ["embedding"]


def embedding(n: int, d_model: int, *, std: float = 1.0, rngs: nnx.Rngs) -> nnx.Embed:
    """Embedding table: a vector for each id from 0 to n - 1, drawn from N(0, std²)."""
    check_sizes(n=n, d_model=d_model)
    return _Embed(n, d_model, embedding_init=normal(std), rngs=rngs)


class _Embed(nnx.Embed):
    """The framework's table, in which an id below 0 gives NaN and not the last row."""

    def __call__(self, inputs: Array, *args: Any, **options: Any) -> Array:
        return super().__call__(inputs.astype("uint32"), *args, **options)
