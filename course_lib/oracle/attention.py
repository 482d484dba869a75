"""Softmax, attention and many heads, one query and one key at a time."""

import math

import numpy as np

from course_lib.oracle.position import rotary


def softmax(scores: np.ndarray) -> np.ndarray:
    """Weights of one row of scores; a row of nothing but -inf gets weights 0."""
    scores = np.asarray(scores, dtype=np.float64)
    if np.all(scores == -np.inf):
        return np.zeros_like(scores)
    exps = np.exp(scores - scores.max())
    return exps / exps.sum()


def _rows(scores: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
    """Softmax of every row of `*B T S`, one by one; forbidden entries are -inf."""
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
) -> tuple[np.ndarray, np.ndarray]:
    """Scaled dot-product attention, one query and one key at a time.

    Vaswani et al. 2017, eq. 1, arXiv:1706.03762.

    Args:
        q: Queries, `*B T Dh`.
        k: Keys, `*B S Dh`.
        v: Values, `*B S Dv`.
        mask: True where a query may attend, broadcasting to `*B T S`.
        bias: Numbers added to the scores, broadcasting to `*B T S`.

    Returns:
        Output `*B T Dv` and weights `*B T S`.
    """
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    scores = np.empty((*q.shape[:-1], k.shape[-2]))
    for *batch, i, j in np.ndindex(scores.shape):
        b = tuple(batch)
        scores[*b, i, j] = q[*b, i] @ k[*b, j] / math.sqrt(q.shape[-1])
    weights = _rows(scores if bias is None else scores + bias, mask)
    output = np.zeros((*weights.shape[:-1], v.shape[-1]))
    for *batch, i, j in np.ndindex(weights.shape):
        b = tuple(batch)
        if weights[*b, i, j] > 0:  # a value of weight 0 is not looked at
            output[*b, i] += weights[*b, i, j] * v[*b, j]
    return output, weights


def additive_attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    w: np.ndarray,
    mask: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Additive attention, one query and one key at a time.

    Bahdanau et al. 2014, appendix A.1.2, arXiv:1409.0473.

    Args:
        q: Queries, projected, `*B T A`.
        k: Keys, projected, `*B S A`.
        v: Values, `*B S Dv`.
        w: What turns the hidden layer into a score, `A`.
        mask: True where a query may attend, broadcasting to `*B T S`.

    Returns:
        Output `*B T Dv` and weights `*B T S`.
    """
    q, k, v, w = (np.asarray(x, dtype=np.float64) for x in (q, k, v, w))
    scores = np.empty((*q.shape[:-1], k.shape[-2]))
    for *batch, i, j in np.ndindex(scores.shape):
        b = tuple(batch)
        scores[*b, i, j] = w @ np.tanh(q[*b, i] + k[*b, j])
    weights = _rows(scores, mask)
    return weights @ v, weights


def multihead(
    x: np.ndarray,
    context: np.ndarray | None,
    weights: dict[str, np.ndarray],
    n_heads: int,
    n_kv_heads: int | None = None,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    rotary_base: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Multi-head attention, one head after the other.

    Vaswani et al. 2017, section 3.2.2; grouped as in Ainslie et al. 2023,
    arXiv:2305.13245.

    Args:
        x: The sequence that asks, `*B T D`.
        context: The sequence that answers, `*B S D`; None means `x`.
        weights: `q_proj.weight` and so on, in PyTorch's layout (out, in); biases
            are optional.
        n_heads: H.
        n_kv_heads: Key and value heads; None means H.
        mask: True where a query may attend, `T S` or `*#B #H #T #S`.
        bias: Numbers added to the scores, broadcasting to `*B H T S`.
        rotary_base: Turn queries and keys by their positions, with this base; None
            does not.

    Returns:
        Output `*B T D` and weights `*B H T S`.
    """
    context = x if context is None else context

    def project(name: str, inputs: np.ndarray) -> np.ndarray:
        w = np.asarray(weights[f"{name}.weight"], dtype=np.float64)
        b = np.asarray(weights.get(f"{name}.bias", np.zeros(len(w))), dtype=np.float64)
        return inputs @ w.T + b

    q, k, v = (
        project("q_proj", x),
        project("k_proj", context),
        project("v_proj", context),
    )
    width = q.shape[-1] // n_heads
    group = n_heads // (n_kv_heads or n_heads)
    scores = (*x.shape[:-2], n_heads, x.shape[-2], context.shape[-2])
    mask, bias = (
        None if extra is None else np.broadcast_to(extra, scores)
        for extra in (mask, bias)
    )
    outputs, maps = [], []
    for head in range(n_heads):
        mine = slice(head * width, (head + 1) * width)
        shared = slice(head // group * width, (head // group + 1) * width)
        q_head, k_head = q[..., mine], k[..., shared]
        if rotary_base is not None:
            q_head, k_head = (rotary(t, rotary_base) for t in (q_head, k_head))
        output, w = attention(
            q_head,
            k_head,
            v[..., shared],
            None if mask is None else mask[..., head, :, :],
            None if bias is None else bias[..., head, :, :],
        )
        outputs.append(output)
        maps.append(w)
    return project("o_proj", np.concatenate(outputs, axis=-1)), np.stack(maps, axis=-3)
