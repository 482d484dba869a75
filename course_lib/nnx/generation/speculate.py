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
from course_lib.generation import speculative
from course_lib.generation.inputs import generation_inputs
from course_lib.generation.speculative import Speculation, chooser, shared
from course_lib.nnx.evaluation import evaluating
from course_lib.nnx.generation.write import probabilities, rounded
from course_lib.nnx.gpt import GPT

__all__ = ["speculate"]


class Reader:
    """A GPT's distributions of the next token, in a text that it reads on.

    Args:
        model: In evaluation mode.
        room: Tokens of the longest text.
        use_cache: False reads the whole text each time.
        how: Temperature and cuts, as in `generate`.
    """

    def __init__(self, model: GPT, room: int, use_cache: bool, **how: Any):
        self.model, self.room, self.known = nnx.split(model), room, []
        self.how = tuple(how.items())
        self.graph, self.kept = None, None
        if use_cache:
            self.graph, self.kept = nnx.split(model.begin(1, room))

    def __call__(self, text: list[int], n: int) -> np.ndarray:
        """The distributions after each of the last n tokens, `n V`."""
        start = 0
        if self.graph is not None:
            start = shared(self.known, text, len(text) - n)
        new = text[start:]
        # Few sizes are compiled. What fills them up is the future: no token sees it,
        # and the next reading writes over it.
        size = 1 << (len(new) - 1).bit_length()
        size = size if start + size <= self.room else len(new)
        ids = np.pad(np.array([new], np.int32), ((0, 0), (0, size - len(new))))
        rows = min(size, 1 << (n - 1).bit_length())
        first = max(len(new) - rows, 0)
        shares, self.kept = _read(
            *self.model, self.graph, self.kept, ids, start, first, rows, self.how
        )
        self.known = list(text)
        last = np.asarray(shares, dtype=np.float64)[: len(new) - first]
        return last[-n:]


@partial(jax.jit, static_argnames=("model_graph", "graph", "rows", "how"))
def _read(
    model_graph: nnx.GraphDef,
    state: nnx.State,
    graph: nnx.GraphDef | None,
    kept: nnx.State | None,
    ids: Array,
    start: Array,
    first: Array,
    rows: int,
    how: tuple[tuple[str, Any], ...],
) -> tuple[Array, nnx.State | None]:
    model = nnx.merge(model_graph, state)
    cache = None if graph is None else nnx.merge(graph, kept)
    if cache is not None:
        cache.rewind(start)
    logits = model.read(ids, cache)[0]
    logits = lax.dynamic_slice_in_dim(logits, first, rows).astype(jnp.float32)
    kept = None if cache is None else nnx.state(cache)
    return probabilities(logits, **dict(how)), kept


def speculate(
    model: GPT,
    draft: GPT,
    prompts: Iterable[Any],
    *,
    max_new_tokens: int,
    n_draft: int = 4,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    stop_token: int | None = None,
    stop: Iterable[Any] = (),
    seed: int = 0,
    use_cache: bool = True,
) -> list[Speculation]:
    """Speculative decoding: what `generate` could have written, with fewer readings.

    The distribution of the texts is the model's, whatever the draft, and at temperature
    0 so are the texts. Otherwise a seed gives another text than in `generate`. Prompts
    are continued one after the other, since each accepts another number of tokens.

    Args:
        model: The target, whose texts they are.
        draft: A smaller GPT with the same vocabulary.
        prompts: As all that follows, described in `generate`.
        max_new_tokens: Longest continuation.
        n_draft: Tokens drafted before the target reads.
        temperature: Of both.
        top_k: The cuts are made in both distributions.
        top_p: The same.
        min_p: The same.
        stop_token: Ends a text.
        stop: Stop words, which end a text.
        seed: Of the draws.
        use_cache: False reads the whole text again each time.
    """
    how = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p}
    check_vocabularies(model.config.vocab_size, draft.config.vocab_size)
    limits = [m.positions.max_len for m in (model, draft)]
    most = min((n for n in limits if n is not None), default=None)
    given = generation_inputs(
        prompts,
        model.config.vocab_size,
        most,
        max_new_tokens=max_new_tokens,
        stop_token=stop_token,
        stop=stop,
        seed=seed,
        **how,
    )
    room = rounded(given.ids.shape[1], most)
    with evaluating(model), evaluating(draft):
        reader, drafter = (Reader(m, room, use_cache, **how) for m in (model, draft))
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
