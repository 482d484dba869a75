"""The one loop in which GPT and the translators write (Flax NNX).

A writer is a model with `read(tokens, cache)`: logits after each of the newest tokens,
which the cache, what its `begin` returned, takes in.

The loop is a compiled program that stays on the device, for a whole text or, where it
streams, for a token at a time. It is compiled for sizes rounded up to a power of two,
and for any sampler setting: another prompt, length, temperature or seed compiles
nothing. More or longer stop words do.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array, lax

from course_lib.config.sampling import GREEDY, Sampling
from course_lib.generation.beam_search import Hypothesis, beam_search
from course_lib.generation.inputs import GenerationInputs
from course_lib.nnx.generation.sampling import (
    greedy,
    keep_min_p,
    keep_top_k,
    keep_top_p,
    penalize_repetition,
    sample,
)

jax.tree_util.register_dataclass(Sampling)  # one argument of a compiled function

Parts = tuple[nnx.GraphDef, nnx.State]  # what nnx.split makes of a model or a cache


def rounded(size: int, most: int | None = None) -> int:
    """The next power of two, at least 16 and at most `most`."""
    size = max(16, 1 << (size - 1).bit_length())
    return size if most is None else min(size, most)


class _Text(NamedTuple):
    """What the loop carries, one pytree on the device."""

    t: Any  # the place that is written next
    ids: Any  # `B T`
    done: Any  # which texts have ended, `B`
    cache: Parts | None


class _Rules(NamedTuple):
    """What it goes by: another value compiles nothing."""

    lengths: Any  # of the prompts, `B`
    n: Any  # new tokens of a text, at most
    uniforms: Any  # `B N`
    how: Sampling | None  # None is greedy, and compiles nothing else
    stops: Any  # `K W`


def write(
    model: Parts,
    cache: Parts | None,
    given: GenerationInputs,
    how: Sampling = GREEDY,
    *,
    at_once: int | None = None,
) -> Iterator[list[int]]:
    """Put token after token behind the prompts: at each place, those of all rows.

    Without a cache everything is read again for each token, and so is the newest of a
    text that is longer than what the model reads at once. The program goes `at_once`
    places before it says which tokens they are; None means to the end. A translator's
    `GREEDY` compiles nothing else.
    """
    room, longest, n = given.ids.shape[1], given.lengths.max(), given.uniforms.shape[1]
    window = min(room, given.most or room)
    # Up to here the model has read all that there is, and a cache can hold it.
    whole = given.end if given.most is None else min(given.most + 1, given.end)
    ids = jnp.asarray(given.ids.astype(np.int32))
    if cache is not None and longest > 1 and given.start < whole:
        prompts = ids[:, : rounded(int(longest), window)]
        cache = _prompted(model, cache, prompts, given.start - 1)
    stops = given.stops if len(given.stops) else np.array([[-2]])  # is no token's
    rules = _Rules(
        lengths=given.lengths.astype(np.int32),
        n=n,
        uniforms=_filled(given.uniforms, rounded(n)),
        how=None if how is GREEDY else _numbers(how),
        stops=stops.astype(np.int32),
    )
    text = _Text(np.int32(given.start), ids, np.zeros(len(ids), bool), cache)
    while (t := int(text.t)) < given.end and not np.asarray(text.done).all():
        text = text if t < whole else text._replace(cache=None)
        last = given.end if text.cache is None else whole
        end = last if at_once is None else min(t + at_once, last)
        text = _compiled(model, text, rules, end, window=window)
        yield from np.asarray(text.ids)[:, t : int(text.t)].T.tolist()


@partial(jax.jit, donate_argnames="cache_parts")
def _prompted(parts: Parts, cache_parts: Parts, ids: Array, length: Array) -> Parts:
    """What a cache holds when it has read the first `length` tokens.

    Prompts are read at their rounded size. What lies behind is the future: no position
    has attended to it, and the loop writes over it.
    """
    model, cache = nnx.merge(*parts), nnx.merge(*cache_parts)
    model.read(ids, cache)
    cache.rewind(length)
    return nnx.split(cache)


@partial(jax.jit, static_argnames="window", donate_argnames="text")
def _compiled(
    parts: Parts, text: _Text, rules: _Rules, end: Array, *, window: int
) -> _Text:
    """Write up to place `end`, or until all texts have ended."""
    model: Any = nnx.merge(*parts)
    lengths, n, uniforms, how, stops = rules

    def going_on(text):
        return (text.t < end) & ~text.done.all()

    def step(text):
        t, ids, done, kept = text
        if kept is None:
            first = jnp.maximum(t - window, 0)
            read = lax.dynamic_slice_in_dim(ids, first, window, axis=1)
            logits = model.read(read, None)
            logits = lax.dynamic_index_in_dim(logits, t - 1 - first, axis=1)
        else:
            cache = nnx.merge(*kept)
            newest = lax.dynamic_slice_in_dim(ids, t - 1, 1, axis=1)
            logits, kept = model.read(newest, cache), nnx.split(cache)
        logits = logits[:, 0].astype(jnp.float32)
        if how is None:  # a translator's
            token = greedy(logits).astype(ids.dtype)
        else:
            logits = _penalized(logits, ids, t, how.repetition_penalty)
            draw = jnp.clip(t - lengths, 0, n - 1)
            uniform = jnp.take_along_axis(uniforms, draw[:, None], axis=1)[:, 0]
            token = _choose(logits, uniform, how).astype(ids.dtype)
        token = jnp.where(jnp.isfinite(logits.max(axis=-1)), token, -1)
        known = t < lengths  # a longer prompt knows its next token
        ids = ids.at[:, t].set(jnp.where(known, ids[:, t], token))
        done |= (t - lengths >= n - 1) | _stopped(ids, t + 1, lengths, stops)
        done |= (ids[:, t] < 0).any()  # no token could be chosen: all end
        return _Text(t + 1, ids, done, kept)

    return lax.while_loop(going_on, step, text)


def _stopped(ids: Array, t: Array, lengths: Array, stops: Array) -> Array:
    """Which texts, at place `t`, end with a stop word that was written, not given.

    The device asks itself, to end in time; what a text keeps is `sure`'s to say.
    """
    places = t - stops.shape[1] + jnp.arange(stops.shape[1])
    last = ids[:, None, jnp.maximum(places, 0)]  # B 1 W
    same = ((stops == last) | (stops == -1)).all(axis=-1)  # B K
    written = t - lengths[:, None] >= (stops != -1).sum(axis=-1)
    return (same & written).any(axis=-1)


def _penalized(logits: Array, ids: Array, t: Array, penalty: Any) -> Array:
    """Repetition penalty on the tokens that stand before place `t`."""

    def lowered():
        rows = jnp.arange(len(ids))[:, None]
        written = jnp.broadcast_to(jnp.arange(ids.shape[1]) < t, ids.shape)
        seen = jnp.zeros(logits.shape, bool).at[rows, ids].max(written)
        return penalize_repetition(logits, seen, penalty)

    return lax.cond(penalty != 1, lowered, lambda: logits)


def probabilities(logits: Array, how: Sampling) -> Array:
    """What the next token is drawn from, `*B V`; all on one token at temperature 0."""
    if how.temperature == 0:
        nothing = 0 * logits.max(axis=-1, keepdims=True)  # or NaN where there is NaN
        return jax.nn.one_hot(greedy(logits), logits.shape[-1]) + nothing
    scores = _heated(logits, how.temperature)
    if how.top_k is not None:
        scores = keep_top_k(scores, how.top_k)
    if how.top_p is not None:
        scores = keep_top_p(scores, how.top_p)
    if how.min_p is not None:
        scores = keep_min_p(scores, how.min_p)
    return jax.nn.softmax(scores, axis=-1)


def _heated(logits: Array, temperature: Any) -> Array:
    # From the largest down: a quotient may be -inf, and never infinity.
    return (logits - logits.max(axis=-1, keepdims=True)) / temperature


def _numbers(how: Sampling) -> Sampling:
    """The same settings without None, so that each of them is traced."""
    return Sampling(
        temperature=float(how.temperature),
        top_k=np.iinfo(np.int32).max if how.top_k is None else how.top_k,
        top_p=1.0 if how.top_p is None else float(how.top_p),
        min_p=0.0 if how.min_p is None else float(how.min_p),
        repetition_penalty=float(how.repetition_penalty),
    )


def _choose(logits: Array, uniform: Array, how: Any) -> Array:
    """Draw by settings that are traced."""

    def ranked(z):
        return keep_top_p(keep_top_k(z, how.top_k), how.top_p)

    def draw():
        z = _heated(logits, how.temperature)
        # Ranking a large vocabulary takes time: only if needed.
        some = (how.top_k < z.shape[-1]) | (how.top_p < 1)
        z = lax.cond(some, ranked, lambda z: z, z)
        z = lax.cond(how.min_p > 0, lambda z: keep_min_p(z, how.min_p), lambda z: z, z)
        return sample(z, uniform)

    return lax.cond(how.temperature > 0, draw, lambda: greedy(logits))


def _filled(rows: np.ndarray, columns: int) -> Array:
    """Rows with zeros behind them."""
    return jnp.asarray(np.pad(rows, ((0, 0), (0, columns - rows.shape[1]))))


def write_beams(
    model: Parts, prompt: list[int], most: int | None, **search: Any
) -> list[Hypothesis]:
    """Beam search in texts of at most `most` tokens."""

    def next_log_probs(rows: np.ndarray) -> np.ndarray:
        # Rows and columns are filled up, so that few sizes are compiled.
        n, length = rows.shape
        n_rows = max(min(16, search["n_beams"]), 1 << (n - 1).bit_length())
        filled = np.pad(rows.astype(np.int32), ((0, n_rows - n), (0, 0)))
        ids = _filled(filled, rounded(length, most))
        found = _next_log_probs(model, ids, length - 1)
        return np.asarray(found, dtype=np.float64)[:n]

    return beam_search(next_log_probs, prompt, **search)


@jax.jit
def _next_log_probs(parts: Parts, ids: Array, t: Array) -> Array:
    model: Any = nnx.merge(*parts)
    logits = lax.dynamic_index_in_dim(model(ids), t, axis=1, keepdims=False)
    wide = jnp.promote_types(logits.dtype, jnp.float32)
    return jax.nn.log_softmax(logits.astype(wide), axis=-1)
