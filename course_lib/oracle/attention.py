"""Softmax, attention and multi-head attention, one query and one key at a time."""

import math

import numpy as np

from course_lib.oracle.norm import norm
from course_lib.oracle.position import rotary
from course_lib.oracle.weights import Weights, floats, linear

__all__ = ["attention", "multihead", "softmax"]


def softmax(scores: np.ndarray) -> np.ndarray:
    """Weights of one row of scores; a row of nothing but -inf gets weights 0."""
    (scores,) = floats(scores)
    if np.all(scores == -np.inf):
        return np.zeros_like(scores)
    exps = np.exp(scores - scores.max())
    return exps / exps.sum()


def _rows(scores: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
    """Softmax of every row of `*B T S`, one by one; masked entries are -inf."""
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = np.empty_like(scores)
    for row in np.ndindex(scores.shape[:-1]):
        weights[row] = softmax(scores[row])
    return weights


def attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    *,
    cap: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Scaled dot-product attention: output `*B T Dv` and weights `*B T S`.

    Vaswani et al. 2017, eq. 1, arXiv:1706.03762. Queries are `*B T Dh`, keys `*B S Dh`,
    values `*B S Dv`; mask (True = may attend) and bias broadcast to `*B T S`. A soft
    cap c makes c tanh(s / c) of each score s (arXiv:2408.00118, section 2).
    """
    q, k, v = floats(q, k, v)
    scores = np.empty((*q.shape[:-1], k.shape[-2]))
    for *b, i, j in np.ndindex(scores.shape):
        scores[*b, i, j] = q[*b, i] @ k[*b, j] / math.sqrt(q.shape[-1])
        if cap is not None:
            scores[*b, i, j] = cap * math.tanh(scores[*b, i, j] / cap)
    weights = _rows(scores if bias is None else scores + bias, mask)
    output = np.zeros((*weights.shape[:-1], v.shape[-1]))
    for *b, i, j in np.ndindex(weights.shape):
        if weights[*b, i, j] > 0:  # a NaN of weight 0 stays out
            output[*b, i] += weights[*b, i, j] * v[*b, j]
    return output, weights


def multihead(
    x: np.ndarray,
    context: np.ndarray | None,
    weights: Weights,
    n_heads: int,
    n_kv_heads: int | None = None,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    rotary_base: float | None = None,
    window: int | None = None,
    scale: float | None = None,
    cap: float | None = None,
    eps: float = 1e-6,
) -> tuple[np.ndarray, np.ndarray]:
    """Multi-head attention, one head after the other: `*B T D` and weights `*B H T S`.

    Vaswani et al. 2017, section 3.2.2; grouped as in Ainslie et al. 2023,
    arXiv:2305.13245.

    Args:
        x: The sequence of the queries, `*B T D`.
        context: The sequence of the keys and values, `*B S D`; None means `x`.
        weights: `q_proj.weight` and so on; biases are optional.
        n_heads: H, of the queries.
        n_kv_heads: Key and value heads; None means H.
        mask: True where a query may attend, `T S` or `*#B #H #T #S`.
        bias: Added to the scores, broadcasting to `*B H T S`.
        rotary_base: Base of rotary positions; None has none.
        window: Positions that a query sees, itself among them.
        scale: What the products are multiplied by; None means 1 / sqrt(Dh).
        cap: Soft cap of the scores.
        eps: Of the RMS norms of queries and keys, where weights have a `q_norm`.
    """
    context = x if context is None else context
    q = linear(x, weights, "q_proj")
    k, v = (linear(context, weights, name) for name in ("k_proj", "v_proj"))
    width = q.shape[-1] // n_heads
    group = n_heads // (n_kv_heads or n_heads)
    scores = (*x.shape[:-2], n_heads, x.shape[-2], context.shape[-2])
    mask = np.broadcast_to(True if mask is None else mask, scores)
    bias = np.broadcast_to(0.0 if bias is None else bias, scores)
    if window is not None:
        near = [
            [abs(i - j) < window for j in range(scores[-1])] for i in range(scores[-2])
        ]
        mask = mask & np.array(near)
    outputs, maps = [], []
    for head in range(n_heads):
        own = slice(head * width, (head + 1) * width)
        shared = slice(head // group * width, (head // group + 1) * width)
        q_head, k_head = q[..., own], k[..., shared]
        if "q_norm.weight" in weights:
            q_head = norm(q_head, weights, "q_norm", eps)
            k_head = norm(k_head, weights, "k_norm", eps)
        if rotary_base is not None:
            q_head, k_head = (rotary(t, rotary_base) for t in (q_head, k_head))
        if scale is not None:
            q_head = q_head * scale * math.sqrt(width)
        output, w = attention(
            q_head,
            k_head,
            v[..., shared],
            mask[..., head, :, :],
            bias[..., head, :, :],
            cap=cap,
        )
        outputs.append(output)
        maps.append(w)
    heads = np.concatenate(outputs, axis=-1)
    return linear(heads, weights, "o_proj"), np.stack(maps, axis=-3)
