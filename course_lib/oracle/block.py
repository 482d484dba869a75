"""A transformer block: MLP, experts and skip connections, one position at a time."""

import math

import numpy as np

from course_lib.oracle.attention import multihead, softmax
from course_lib.oracle.norm import norm
from course_lib.oracle.weights import Weights, floats, linear, part

__all__ = ["activate", "block", "experts", "feed_forward"]

_ERF = np.vectorize(math.erf)


def activate(x: np.ndarray, name: str) -> np.ndarray:
    """Activation function: "relu", "gelu", "gelu_tanh" or "silu".

    GELU: Hendrycks and Gimpel 2016, section 2, arXiv:1606.08415.
    """
    if name == "relu":
        return np.maximum(x, 0)
    if name == "gelu":
        return x * (1 + _ERF(x / math.sqrt(2))) / 2
    if name == "gelu_tanh":
        return x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2
    if name == "silu":
        return x / (1 + np.exp(-x))
    raise ValueError(f"name must be relu, gelu, gelu_tanh or silu: got {name!r}.")


def feed_forward(x: np.ndarray, weights: Weights, activation: str) -> np.ndarray:
    """Feed-forward network (MLP): linear, activation, linear; or gated, as SwiGLU is.

    Vaswani et al. 2017, eq. 2, arXiv:1706.03762; Shazeer 2020, eq. 6, arXiv:2002.05202.
    It is gated where there is a `gate_proj`.
    """
    up = linear(x, weights, "up_proj")
    if "gate_proj.weight" in weights:
        name = "silu" if activation == "swiglu" else activation
        hidden = activate(linear(x, weights, "gate_proj"), name) * up
    else:
        hidden = activate(up, activation)
    return linear(hidden, weights, "down_proj")


def experts(
    x: np.ndarray,
    weights: Weights,
    top_k: int,
    *,
    normalize: bool = True,
    activation: str = "silu",
) -> np.ndarray:
    """Mixture of experts, one token and one expert at a time.

    Shazeer et al. 2017, section 2, arXiv:1701.06538; the bias of the choice as in
    DeepSeek-AI 2024, section 2.1.2, arXiv:2412.19437.
    """
    out = np.zeros_like(x)
    for row in np.ndindex(x.shape[:-1]):
        scores = softmax(linear(x[row], weights, "router"))
        best = np.argsort(-(scores + weights.get("balance", 0)), kind="stable")[:top_k]
        for e in best:
            names = ("up_proj", "gate_proj", "down_proj")
            own = {f"{n}.weight": weights[n][e].T for n in names if n in weights}
            size = scores[e] / (scores[best].sum() if normalize else 1)
            out[row] += size * feed_forward(x[row], own, activation)
    return out


def block(
    x: np.ndarray,
    weights: Weights,
    n_heads: int,
    *,
    n_kv_heads: int | None = None,
    form: str = "pre",
    activation: str = "gelu",
    eps: float = 1e-5,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    rotary_base: float | None = None,
    memory: np.ndarray | None = None,
    memory_mask: np.ndarray | None = None,
) -> np.ndarray:
    """One transformer block in evaluation mode; `form` says where the norm stands.

    Options are those of `multihead` and `feed_forward`. Memory, `*B S D`, is the
    context of cross-attention; None has none. The forms are "pre", "post", "res_post"
    and "sandwich".
    """

    def sublayer(h, name, f):
        def normalize(h):
            return norm(h, weights, f"{name}_norm", eps)

        if form == "pre":
            return h + f(normalize(h))
        if form == "post":
            return normalize(h + f(h))
        if form == "sandwich":
            return h + norm(f(normalize(h)), weights, f"{name}_post_norm", eps)
        return h + normalize(f(h))

    own, cross = part(weights, "attention"), part(weights, "cross_attention")

    def attend(h):
        options = (n_heads, n_kv_heads, mask, bias, rotary_base)
        return multihead(h, None, own, *options)[0]

    def attend_to_memory(h):
        return multihead(h, memory, cross, n_heads, n_kv_heads, memory_mask)[0]

    def mlp(h):
        return feed_forward(h, part(weights, "feed_forward"), activation)

    (h,) = floats(x)
    h = sublayer(h, "attention", attend)
    if memory is not None:
        h = sublayer(h, "cross_attention", attend_to_memory)
    return sublayer(h, "feed_forward", mlp)
