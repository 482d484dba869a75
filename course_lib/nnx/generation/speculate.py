"""Speculative decoding: a small GPT drafts, a large one verifies (Flax NNX)."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array, lax

from course_lib.checks import check_vocabularies
from course_lib.config.sampling import Sampling
from course_lib.generation import speculative
from course_lib.generation.inputs import generation_inputs, longest
from course_lib.generation.speculative import (
    Speculation,
    chooser,
    shared,
    unpenalized,
)
from course_lib.nnx.evaluation import evaluating
from course_lib.nnx.generation.write import Parts, probabilities, rounded
from course_lib.nnx.gpt import GPT

__all__ = ["speculate"]


class Reader:
    """A GPT's distributions of the next token, in a text that it reads on."""

    def __init__(self, model: GPT, room: int, how: Sampling):
        self.model, self.room, self.known = nnx.split(model), room, []
        self.how = how
        self.cache = nnx.split(model.begin(1, room))

    def __call__(self, text: list[int], n: int) -> np.ndarray:
        """The distributions after each of the last n tokens, `n V`."""
        start = shared(self.known, text, len(text) - n)
        new = text[start:]
        # Few sizes are compiled. What fills them up is the future: no token sees it,
        # and the next reading writes over it.
        size = 1 << (len(new) - 1).bit_length()
        size = size if start + size <= self.room else len(new)
        ids = np.pad(np.array([new], np.int32), ((0, 0), (0, size - len(new))))
        rows = min(size, 1 << (n - 1).bit_length())
        first = max(len(new) - rows, 0)
        shares, self.cache = _read(
            self.model, self.cache, ids, start, first, rows, self.how
        )
        self.known = list(text)
        last = np.asarray(shares, dtype=np.float64)[: len(new) - first]
        return last[-n:]


@partial(jax.jit, static_argnames=("rows", "how"))
def _read(
    parts: Parts,
    cache_parts: Parts,
    ids: Array,
    start: Array,
    first: Array,
    rows: int,
    how: Sampling,
) -> tuple[Array, Parts]:
    model: Any = nnx.merge(*parts)
    cache: Any = nnx.merge(*cache_parts)
    cache.rewind(start)
    logits = model.read(ids, cache)[0]
    logits = lax.dynamic_slice_in_dim(logits, first, rows).astype(jnp.float32)
    return probabilities(logits, how), nnx.split(cache)


def speculate(
    model: GPT,
    draft: GPT,
    prompts: Iterable[Any],
    *,
    max_new_tokens: int,
    n_draft: int = 4,
    stop_token: int | None = None,
    stop: Iterable[Any] = (),
    seed: int = 0,
    **how: Any,
) -> list[Speculation]:
    """Speculative decoding: what `generate` could have written, with fewer readings."""
    check_vocabularies(model.config.vocab_size, draft.config.vocab_size)
    sampling = unpenalized(**how)
    ends = {"max_new_tokens": max_new_tokens, "stop_token": stop_token, "stop": stop}
    given = generation_inputs(prompts, model, draft, **ends, seed=seed)
    room = rounded(given.ids.shape[1], longest(model, draft))
    with evaluating(model), evaluating(draft):
        reader, drafter = (Reader(m, room, sampling) for m in (model, draft))
        return [
            speculative.speculate(
                reader,
                drafter,
                given,
                row,
                n_draft=n_draft,
                choose=chooser((seed, row)),
            )
            for row in range(len(given.ids))
        ]
