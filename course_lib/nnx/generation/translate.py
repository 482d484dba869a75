"""Translation: the target is written autoregressively, token after token (Flax NNX)."""

from functools import partial
from typing import Any

import jax
from flax import nnx
from jax import Array
from jaxtyping import Bool, Int

from course_lib.generation.inputs import translation_inputs
from course_lib.generation.stopping import gathered
from course_lib.nnx.evaluation import evaluating
from course_lib.nnx.generation.write import Parts, write
from course_lib.nnx.seq2seq import Seq2Seq

__all__ = ["translate"]


def translate(
    model: Seq2Seq,
    source: Int[Array, "B S"],
    *,
    start_token: int,
    stop_token: int,
    max_new_tokens: int,
    source_mask: Bool[Array, "..."] | None = None,
) -> list[list[int]]:
    """Greedy decoding: write the likeliest next token, again and again."""
    given = translation_inputs(
        source, model.vocab_sizes, start_token, stop_token, max_new_tokens
    )
    with evaluating(model):
        parts = nnx.split(model)
    cache = _begin(parts, source, source_mask, max_new_tokens)
    return gathered(given, write(parts, cache, given))


@partial(jax.jit, static_argnames="max_len")
def _begin(
    parts: Parts, source: Array, source_mask: Array | None, max_len: int
) -> Parts:
    model: Any = nnx.merge(*parts)
    memory = model.encode(source, source_mask=source_mask)
    return nnx.split(model.begin(memory, max_len, source_mask=source_mask))
