"""Translation: the target is written autoregressively, token after token (Flax NNX).

The source is read once. The target starts as the start token alone; the likeliest next
token is put behind it until the stop token comes. What has been computed for the source
and for the tokens before is cached, so each token is read once too. Training is
different (teacher forcing): there the true target is given, and all its positions are
predicted at once.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array, lax
from jaxtyping import Bool, Int

from course_lib.generation.beam_search import Hypothesis, beam_search
from course_lib.generation.inputs import check_translation, cut
from course_lib.nnx.evaluation import evaluating
from course_lib.nnx.extra.recurrent_seq2seq import RecurrentSeq2Seq
from course_lib.nnx.seq2seq import Seq2Seq


def translate(
    model: Seq2Seq | RecurrentSeq2Seq,
    source: Int[Array, "B S"],
    *,
    start_token: int,
    stop_token: int,
    max_new_tokens: int,
    source_mask: Bool[Array, "..."] | None = None,
) -> list[list[int]]:
    """Greedy decoding: write the likeliest next token, again and again.

    Args:
        model: Used in evaluation mode; each part's own mode is restored.
        source: Token ids.
        start_token: What the target began with in training.
        stop_token: What it ended with.
        max_new_tokens: Longest target.
        source_mask: True at real source tokens, such as
            `padding_mask_from_ids(source, pad_id)`.

    Returns:
        One target for each source, without start and stop token.

    Raises:
        ValueError: A token is not in its vocabulary, or a size is not positive.
    """
    _check(model, source, start_token, stop_token, max_new_tokens)
    with evaluating(model):
        graph, state = nnx.split(model)
    ids = _write(
        graph, state, source, source_mask, start_token, stop_token, max_new_tokens
    )
    return [cut(row, stop_token) for row in np.asarray(ids).tolist()]


@partial(jax.jit, static_argnames=("graph", "max_new_tokens"))
def _write(
    graph: nnx.GraphDef,
    state: nnx.State,
    source: Array,
    source_mask: Array | None,
    start_token: Array,
    stop_token: Array,
    max_new_tokens: int,
) -> Array:
    model = nnx.merge(graph, state)
    memory = model.encode(source, source_mask=source_mask)
    # Room for the whole target: a compiled program knows its sizes beforehand.
    ids = jnp.zeros((source.shape[0], max_new_tokens), source.dtype)
    token = jnp.full_like(source[:, :1], start_token)
    cache_graph, kept = nnx.split(model.begin(memory, max_new_tokens))

    def going_on(loop):
        t, _, _, done, _ = loop
        return (t < max_new_tokens) & ~done.all()

    def write(loop):
        t, token, ids, done, kept = loop
        cache = nnx.merge(cache_graph, kept)
        logits = model.decode(token, memory, source_mask=source_mask, cache=cache)
        token = logits.argmax(axis=-1).astype(ids.dtype)
        ids = ids.at[:, t].set(token[:, 0])
        return t + 1, token, ids, done | (token == stop_token), nnx.state(cache)

    done = jnp.zeros_like(token, bool)
    return lax.while_loop(going_on, write, (0, token, ids, done, kept))[2]


@partial(jax.jit, static_argnames=("graph",))
def _encode(graph: nnx.GraphDef, state: nnx.State, source: Array) -> Array:
    return nnx.merge(graph, state).encode(source)


@partial(jax.jit, static_argnames=("graph",))
def _next_log_probs(
    graph: nnx.GraphDef, state: nnx.State, ids: Array, memory: Array, t: Array
) -> Array:
    memory = jnp.broadcast_to(memory, (len(ids), *memory.shape[1:]))
    logits = nnx.merge(graph, state).decode(ids, memory)
    logits = lax.dynamic_index_in_dim(logits, t, axis=1, keepdims=False)
    return jax.nn.log_softmax(logits, axis=-1)


def beam_translate(
    model: Seq2Seq | RecurrentSeq2Seq,
    source: Int[Array, "1 S"],
    *,
    n_beams: int,
    start_token: int,
    stop_token: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
) -> list[Hypothesis]:
    """Beam search for the likeliest target of one source.

    Args:
        model: As in `translate`.
        source: Token ids of one source.
        n_beams: Beginnings kept; one is greedy decoding.
        start_token: What the target began with in training.
        stop_token: What it ended with.
        max_new_tokens: Longest target.
        length_penalty: At least 0; larger favors longer targets. See
            `course_lib.generation.beam_search`.

    Returns:
        At most `n_beams` targets, the best first, each with its log-probability.
    """
    _check(model, source, start_token, stop_token, max_new_tokens)
    with evaluating(model):
        graph, state = nnx.split(model)
    memory = _encode(graph, state, source)

    def next_log_probs(rows: np.ndarray) -> np.ndarray:
        # Filled up to one size, so that one program serves every step.
        ids = np.zeros((n_beams, max_new_tokens), np.int32)
        ids[: len(rows), : rows.shape[1]] = rows
        found = _next_log_probs(
            graph, state, jnp.asarray(ids), memory, rows.shape[1] - 1
        )
        return np.asarray(found, dtype=np.float64)[: len(rows)]

    return beam_search(
        next_log_probs,
        [start_token],
        n_beams=n_beams,
        max_new_tokens=max_new_tokens,
        stop_token=stop_token,
        length_penalty=length_penalty,
    )


def _check(
    model: Seq2Seq | RecurrentSeq2Seq,
    source: Array,
    start_token: int,
    stop_token: int,
    max_new_tokens: int,
) -> None:
    if isinstance(model, RecurrentSeq2Seq):
        tables = model.source_embedding, model.target_embedding
        sizes = tables[0].num_embeddings, tables[1].num_embeddings
    else:
        sizes = model.config.vocab_size, model.config.vocab_target
    check_translation(source, sizes, start_token, stop_token, max_new_tokens)
