"""Autoregressive generation: a GPT writes token after token (Flax NNX).

The model gives a distribution of the next token; one is chosen (sampling.py) and put
behind the others, and the model reads on. With a cache (cache.py) it reads each token
once.

The whole generation is one compiled program, a loop that stays on the device. It is
compiled for sizes rounded up to a power of two, and for any sampler setting: another
prompt, length, temperature or seed compiles nothing.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array, lax

from course_lib.generation.beam_search import Hypothesis
from course_lib.generation.beam_search import beam_search as search
from course_lib.generation.inputs import generation_inputs, new_tokens
from course_lib.nnx.evaluation import evaluating
from course_lib.nnx.generation.cache import KVCache
from course_lib.nnx.generation.sampling import greedy, keep_top_k, keep_top_p, sample
from course_lib.nnx.gpt import GPT


def generate(
    model: GPT,
    prompts: Iterable[Any],
    *,
    max_new_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    stop_token: int | None = None,
    seed: int = 0,
    use_cache: bool = True,
) -> list[list[int]]:
    """Autoregressive generation: continue each prompt, one token after another.

    The draws are fixed by the seed beforehand, one for each row and place, so that both
    wings write the same text and no text depends on what else is in the batch.

    Args:
        model: Used in evaluation mode; each part's own mode is restored.
        prompts: One sequence of token ids a text; lengths may differ.
        max_new_tokens: Longest continuation.
        temperature: 1 draws with the model's own probabilities, less makes likely
            tokens likelier, 0 takes the likeliest (greedy decoding).
        top_k: Draw from the k likeliest tokens only.
        top_p: Then draw from the smallest set of them with mass p only (nucleus
            sampling).
        stop_token: Ends a text; None means that only the length does.
        seed: Of the draws.
        use_cache: False reads the whole text again for each token; the text is the
            same.

    Returns:
        The new tokens of each text, without the stop token.

    Raises:
        ValueError: A prompt is not a sequence of the vocabulary's ids, or too long; a
            setting is out of range.
    """
    asked = generation_inputs(
        prompts,
        model.config,
        max_new_tokens=max_new_tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
    )
    with evaluating(model):
        graph, state = nnx.split(model)
    vocab_size = model.config.vocab_size
    ids = _write(
        graph,
        state,
        _room(asked.ids, model),
        jnp.asarray(asked.lengths, jnp.int32),
        _room(asked.uniforms, None),
        max_new_tokens,
        float(temperature),
        vocab_size if top_k is None else min(top_k, vocab_size),
        1.0 if top_p is None else float(top_p),
        -1 if stop_token is None else stop_token,
        n_prompt=min(_round_up(int(asked.lengths.max())), _most(model)),
        use_cache=use_cache,
    )
    return new_tokens(asked, np.asarray(ids), stop_token)


@partial(jax.jit, static_argnames=("graph", "n_prompt", "use_cache"))
def _write(
    graph: nnx.GraphDef,
    state: nnx.State,
    ids: Array,
    lengths: Array,
    uniforms: Array,
    max_new_tokens: Array,
    temperature: Array,
    top_k: Array,
    top_p: Array,
    stop_token: Array,
    *,
    n_prompt: int,
    use_cache: bool,
) -> Array:
    model = nnx.merge(graph, state)
    start, end = lengths.min(), lengths.max() + max_new_tokens
    # Prompts are read at their rounded size. What lies behind the shortest one's end is
    # the future: no position has attended to it, and the loop writes over it.
    cache = _cache(model, ids)
    logits = model(ids[:, :n_prompt], cache=cache)
    cache.rewind(start)
    cache_graph, kept = nnx.split(cache)
    logits = lax.dynamic_index_in_dim(logits, start - 1, axis=1, keepdims=False)

    def going_on(loop):
        t, _, _, done, _ = loop
        return (t < end) & ~done.all()

    def write(loop):
        t, ids, logits, done, kept = loop
        draw = jnp.clip(t - lengths, 0, max_new_tokens - 1)
        uniform = jnp.take_along_axis(uniforms, draw[:, None], axis=1)[:, 0]
        logits = logits.astype(jnp.float32)
        token = _choose(logits, uniform, temperature, top_k, top_p).astype(ids.dtype)
        given = t < lengths  # a longer prompt knows its next token
        token = jnp.where(given, ids[:, t], token)
        ids = ids.at[:, t].set(token)
        last = (t - lengths >= max_new_tokens - 1) | (token == stop_token)
        done = done | (~given & last)
        if use_cache:
            cache = nnx.merge(cache_graph, kept)
            logits = model(token[:, None], cache=cache)[:, 0]
            kept = nnx.state(cache)
        else:
            logits = model(ids)[:, t]
        return t + 1, ids, logits, done, kept

    done = jnp.zeros(lengths.shape, bool)
    loop = (start, ids, logits, done, kept)
    return lax.while_loop(going_on, write, loop)[1]


def _choose(
    logits: Array, uniform: Array, temperature: Array, top_k: Array, top_p: Array
) -> Array:
    def draw():
        scores = logits / temperature
        some = (top_k < logits.shape[-1]) | (top_p < 1)
        scores = lax.cond(  # ranking a large vocabulary takes time: only if needed
            some, lambda z: keep_top_p(keep_top_k(z, top_k), top_p), lambda z: z, scores
        )
        return sample(scores, uniform)

    return lax.cond(temperature > 0, draw, lambda: greedy(logits))


def _cache(model: GPT, ids: Array) -> KVCache:
    c, table = model.config, model.tokens.embedding[...]
    n_kv_heads = c.n_heads if c.n_kv_heads is None else c.n_kv_heads
    return KVCache(
        c.n_layers, ids.shape[0], n_kv_heads, ids.shape[1], c.d_head, like=table
    )


def _round_up(size: int) -> int:
    """The next power of two, at least 16."""
    return max(16, 1 << (size - 1).bit_length())


def _most(model: GPT) -> int:
    """The most positions the model has; without a table of them, any number."""
    bounded = model.config.position in ("learned", "sinusoidal")
    return model.config.max_len if bounded else 1 << 30


def _room(rows: np.ndarray, model: GPT | None) -> Array:
    """Rows with zeros behind them, up to the rounded size."""
    size = _round_up(rows.shape[1])
    size = size if model is None else min(size, _most(model))
    rows = np.pad(rows, ((0, 0), (0, size - rows.shape[1])))
    return jnp.asarray(rows, jnp.float32 if rows.dtype == np.float32 else jnp.int32)


@partial(jax.jit, static_argnames=("graph",))
def _next_log_probs(
    graph: nnx.GraphDef, state: nnx.State, ids: Array, t: Array
) -> Array:
    logits = nnx.merge(graph, state)(ids)
    logits = lax.dynamic_index_in_dim(logits, t, axis=1, keepdims=False)
    return jax.nn.log_softmax(logits, axis=-1)


def beam_search(
    model: GPT,
    prompt: Iterable[int],
    *,
    n_beams: int,
    max_new_tokens: int,
    stop_token: int | None = None,
    length_penalty: float = 0.0,
) -> list[Hypothesis]:
    """Beam search for the likeliest continuation of a prompt.

    Args:
        model: As in `generate`.
        prompt: Token ids.
        n_beams: Beginnings kept; one is greedy decoding.
        max_new_tokens: Longest continuation.
        stop_token: Ends a text; None means that only the length does.
        length_penalty: At least 0; larger favors longer texts; see
            `course_lib.generation.beam_search`.

    Returns:
        At most `n_beams` continuations, the best first, each with its log-probability.
    """
    asked = generation_inputs([prompt], model.config, max_new_tokens=max_new_tokens)
    with evaluating(model):
        graph, state = nnx.split(model)

    def next_log_probs(rows: np.ndarray) -> np.ndarray:
        # Rows and columns are filled up, so that few sizes are compiled.
        filled = np.pad(rows, ((0, _round_up(len(rows)) - len(rows)), (0, 0)))
        found = _next_log_probs(graph, state, _room(filled, model), rows.shape[1] - 1)
        return np.asarray(found, dtype=np.float64)[: len(rows)]

    return search(
        next_log_probs,
        asked.ids[0, : asked.start].tolist(),
        n_beams=n_beams,
        max_new_tokens=max_new_tokens,
        stop_token=stop_token,
        length_penalty=length_penalty,
    )
