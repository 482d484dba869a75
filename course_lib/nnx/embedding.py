"""The table of vectors that ids are looked up in (Flax NNX)."""

from typing import Any

from flax import nnx
from jax import Array
from jaxtyping import Float, Integer

from course_lib.checks import check_noise, check_rows, check_sizes
from course_lib.nnx.linear import normal

__all__ = ["Embedding"]


class Embedding(nnx.Embed):
    """Embedding table: a vector for each id from 0 to N - 1, drawn from N(0, std²)."""

    def __init__(
        self, vocab_size: int, d_model: int, std: float = 0.1, *, rngs: nnx.Rngs
    ):
        check_sizes(vocab_size=vocab_size, d_model=d_model)
        check_noise(std, "std")
        super().__init__(vocab_size, d_model, embedding_init=normal(std), rngs=rngs)
        self.dtype: Any = None  # the table's own, also once its weights are cast

    def __call__(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, ids: Integer[Array, "*B"]
    ) -> Float[Array, "*B D"]:
        """The rows of ids; in compiled code one that is none of them gives NaN."""
        check_rows("ids", ids, self.num_embeddings)
        return super().__call__(ids.astype("uint32"))
