"""Speculative decoding: a small GPT drafts, a large one verifies (Flax NNX).

The rule and its sources are in `course_lib.generation.speculative`. Rejected tokens
leave the cache again: it is rewound to what it shares with the text to be read.
"""

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

    def __init__(self, model: GPT, room: int, use_cache: bool, how: Sampling):
        self.model, self.room, self.known = nnx.split(model), room, []
        self.how = how
        self.cache = nnx.split(model.begin(1, room)) if use_cache else None

    def __call__(self, text: list[int], n: int) -> np.ndarray:
        """The distributions after each of the last n tokens, `n V`."""
        start = 0
        if self.cache is not None:
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
    cache_parts: Parts | None,
    ids: Array,
    start: Array,
    first: Array,
    rows: int,
    how: Sampling,
) -> tuple[Array, Parts | None]:
    model: Any = nnx.merge(*parts)
    cache: Any = None if cache_parts is None else nnx.merge(*cache_parts)
    if cache is not None:
        cache.rewind(start)
    logits = model.read(ids, cache)[0]
    logits = lax.dynamic_slice_in_dim(logits, first, rows).astype(jnp.float32)
    kept = None if cache is None else nnx.split(cache)
    return probabilities(logits, how), kept


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
    use_cache: bool = True,
    **how: Any,
) -> list[Speculation]:
    """Speculative decoding: what `generate` could have written, with fewer readings."""
    check_vocabularies(model.config.vocab_size, draft.config.vocab_size)
    sampling = unpenalized(**how)
    ends = {"max_new_tokens": max_new_tokens, "stop_token": stop_token, "stop": stop}
    given = generation_inputs(prompts, model, draft, **ends, seed=seed)
    room = rounded(given.ids.shape[1], longest(model, draft))
    with evaluating(model), evaluating(draft):
        reader, drafter = (Reader(m, room, use_cache, sampling) for m in (model, draft))
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
