"""Attention: queries, keys, values, masks and what is added to scores.

Where only shapes come in, `q`, `k` and `v` are the shapes of queries (`*B T Dh`), keys
(`*B S Dh`) and values (`*B S Dv`); a mask or a bias comes itself, or as None.
"""

from typing import Any

from course_lib.checks.numbers import stated
from course_lib.checks.tensors import check_dtype, check_shape, check_tensors

__all__ = [
    "check_attention", "check_cache_room",
    "check_context", "check_memory", "check_no_cache",
    "check_rewind", "check_scores",
]  # fmt: skip

Shape = tuple[int, ...]


def _check_mask(mask: Any, scores: Shape) -> None:
    """Refuse a mask that is not boolean or does not broadcast to scores, `*B T S`."""
    if mask is not None:
        check_dtype(
            *("mask", mask, "bool", "be boolean, True where a query may attend"),
            "From numbers that are 0 where attention is forbidden, write mask != 0; "
            "from an additive mask of 0 and -inf, write mask == 0.",
        )
        _check_broadcast("mask", tuple(mask.shape), scores)


def _check_bias(name: str, bias: Any, scores: Shape) -> None:
    """Refuse numbers that cannot be added to scores, `*B T S`."""
    if bias is not None:
        rule = "hold floating-point numbers, which are added to the scores"
        way_out = "What is allowed and what is not goes into mask."
        check_dtype(name, bias, "float", rule, way_out)
        _check_broadcast(name, tuple(bias.shape), scores)


def _check_broadcast(name: str, shape: Shape, scores: Shape) -> None:
    before = len(scores) - len(shape)  # axes that it need not have
    fits = before >= 0 and all(
        m in (1, s) for m, s in zip(shape, scores[before:], strict=True)
    )
    if not fits:
        raise ValueError(
            f"{name} must broadcast to the scores, whose last axes are queries and "
            f"keys: got {name} {shape} for scores {scores}. "
            "An axis may be 1 or the same size, counted from the right."
        )


def check_attention(
    q: Shape, k: Shape, v: Shape, mask: Any = None, bias: Any = None
) -> None:
    """Refuse queries, keys and values that do not fit each other."""
    q, k, v = tuple(q), tuple(k), tuple(v)
    for name, shape, letters in (("q", q, "T Dh"), ("k", k, "S Dh"), ("v", v, "S Dv")):
        if len(shape) < 2:
            raise ValueError(
                f"{name} must have at least two axes ({letters}): got shape {shape}. "
                f"A single vector becomes one row with {name}[None, :]."
            )
        if 0 in shape[-2:]:
            raise ValueError(
                f"{name} must not be empty: got shape {shape} for ({letters}). "
                "Attention needs at least one query, one key and one feature."
            )
    if q[-1] != k[-1]:
        raise ValueError(
            f"queries and keys must have the same width: got q {q} and k {k} "
            f"({q[-1]} against {k[-1]}). Project both to one width first."
        )
    if k[-2] != v[-2]:
        raise ValueError(
            f"each key needs its value: got k {k} and v {v} "
            f"({k[-2]} keys against {v[-2]} values)."
        )
    if not q[:-2] == k[:-2] == v[:-2]:
        raise ValueError(
            "q, k and v must agree in every axis before the last two: "
            f"got q {q}, k {k}, v {v}. Expand the smaller one first."
        )
    _check_mask(mask, (*q[:-1], k[-2]))
    _check_bias("bias", bias, (*q[:-1], k[-2]))


def check_context(x: Any, context: Any, d_model: int, kind: type) -> None:
    """Refuse what a multi-head layer of width `d_model` cannot read.

    Args:
        x: The sequence that queries come from, `*B T D`.
        context: The sequence that keys and values come from, `*B S D`, or both of them,
            `*B G S Dh`; None means `x`.
        d_model: The layer's width, D.
        kind: The wing's tensor type.
    """
    projected = isinstance(context, tuple)
    given = {"x": x} if context is None or projected else {"x": x, "context": context}
    check_tensors(kind, **given)
    for name, tensor in given.items():
        if len(tensor.shape) > 1 and tensor.shape[-2] == 0:
            raise ValueError(
                f"{name} must hold at least one position: got {tuple(tensor.shape)}."
            )
        check_shape(name, tensor.shape, f"... positions d_model={d_model}")
    if context is None:
        return
    theirs, batch = (context[0], -3) if projected else (context, -2)
    if tuple(x.shape[:-2]) != tuple(theirs.shape[:batch]):
        raise ValueError(
            "x and context must have the same batch axes: got x "
            f"{tuple(x.shape)} and context {tuple(theirs.shape)}."
        )


def check_scores(
    q: Shape, k: Shape, mask: Any, score_bias: Any, cache: Any = None
) -> None:
    """Refuse a mask or a bias that does not fit the scores of several heads.

    A mask has two axes (`T S`) or as many as the scores (`*B H T S`): between them it
    would be ambiguous which axis is the heads'. Beside a cache it has a column a key:
    one that is made of the newest token alone would spread over the past.
    """
    scores = (*q[:-1], k[-2])
    shape: Shape = () if mask is None else tuple(mask.shape)
    if mask is not None and len(shape) not in (2, len(scores)):
        raise ValueError(
            f"mask must have 2 axes (T S) or {len(scores)} (batch, heads, T, S): got "
            f"{shape}. A mask for each sequence of a batch gets its head "
            "axis with mask[:, None]."
        )
    if len(shape) == 2 and shape[0] not in (1, q[-2]):
        raise ValueError(
            f"mask must have a row for each query (T S): got {shape} for {q[-2]} "
            "queries. A padding mask, with a row for each sequence of a batch, gets "
            "the axes of heads and queries with mask[:, None, None]."
        )
    _check_mask(mask, scores)
    _check_bias("score_bias", score_bias, scores)
    if cache is not None and shape and shape[-1] != k[-2]:
        raise ValueError(
            "mask must have a column for each key that the cache holds: got "
            f"{shape} for {k[-2]} keys. Make it of the whole text, with "
            "what was read before."
        )


def check_no_cache(cache: Any) -> None:
    """Refuse a cache where maps are asked for: they would need what is not kept."""
    if cache is not None:
        raise ValueError(
            "attention_maps must be called without a cache: got "
            f"{type(cache).__name__}. Give the model the whole sequence at once."
        )


def check_memory(cross: bool, memory: Any) -> None:
    """Refuse a block's memory where nothing reads it, or none where something would.

    Args:
        cross: Whether the block has cross-attention.
        memory: The memory, `*B S D`, its keys and values, or None.
    """
    if cross and memory is None:
        raise ValueError(
            "a block with cross_attention=True must be given a memory: got none. Give "
            "it the encoder's output."
        )
    if memory is not None and not cross:
        raise ValueError(
            "memory must come to a block that reads it: this one was built with "
            "cross_attention=False."
        )


def check_cache_room(length: Any, new: Shape, room: Shape, name: str) -> None:
    """Refuse keys or values that a cache has no room for.

    Args:
        length: Tokens stored; one that a compiler traces has no value yet.
        new: Shape of the newest, `B H T Dh`.
        room: Shape of the whole room, `B H S Dh`.
        name: What they are, "keys" or "values".
    """
    new, room = tuple(new), tuple(room)
    if (*new[:-2], new[-1]) != (*room[:-2], room[-1]):
        raise ValueError(
            "the cache must be made for this batch, these heads and this width: got "
            f"{name} {new} for a cache {room} (batch, heads, tokens, width)."
        )
    stored = stated(length) or 0  # if it is traced, the new ones alone must fit
    if stored + new[-2] > room[-2]:
        raise ValueError(
            f"the cache must have room for every token: got {stored} stored and "
            f"{new[-2]} new for max_len={room[-2]}. Make it larger when you start."
        )


def check_rewind(length: Any, stored: Any) -> None:
    """Refuse to keep more tokens than a cache holds; traced numbers pass."""
    left, held = stated(length), stated(stored)
    if left is not None and held is not None and not 0 <= left <= held:
        raise ValueError(
            "a cache can be rewound to as many tokens as it holds, or fewer: got "
            f"length={left} for {held} tokens. Read the others into it first."
        )
