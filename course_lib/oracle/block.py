"""A transformer block: norms, MLP and skip connections, one position at a time."""

import math

import numpy as np

from course_lib.oracle.attention import multihead
from course_lib.oracle.weights import Weights, floats, linear, part

__all__ = ["activate", "block", "feed_forward", "layer_norm", "rms_norm"]

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


def layer_norm(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, eps: float
) -> np.ndarray:
    """LayerNorm: center and scale each vector, eps inside the root.

    Ba et al. 2016, section 3, arXiv:1607.06450.
    """
    out = np.empty_like(x)
    for row in np.ndindex(x.shape[:-1]):
        centered = x[row] - x[row].mean()
        out[row] = centered / math.sqrt((centered**2).mean() + eps) * weight + bias
    return out


def rms_norm(x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    """RMSNorm: scale each vector to root mean square 1, eps inside the root.

    Zhang and Sennrich 2019, section 4, arXiv:1910.07467.
    """
    out = np.empty_like(x)
    for row in np.ndindex(x.shape[:-1]):
        out[row] = x[row] / math.sqrt((x[row] ** 2).mean() + eps) * weight
    return out


def norm(x: np.ndarray, weights: Weights, name: str, eps: float) -> np.ndarray:
    """The norm of that name: LayerNorm if it has a bias, else RMSNorm."""
    w = part(weights, name)
    if "bias" in w:
        return layer_norm(x, w["weight"], w["bias"], eps)
    return rms_norm(x, w["weight"], eps)


def feed_forward(x: np.ndarray, weights: Weights, activation: str) -> np.ndarray:
    """Feed-forward network (MLP): linear, activation, linear; or SwiGLU.

    Vaswani et al. 2017, eq. 2, arXiv:1706.03762; Shazeer 2020, eq. 6, arXiv:2002.05202.
    """
    up = linear(x, weights, "up_proj")
    if activation == "swiglu":
        hidden = activate(linear(x, weights, "gate_proj"), "silu") * up
    else:
        hidden = activate(up, activation)
    return linear(hidden, weights, "down_proj")


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
    context of cross-attention; None has none. The forms are "pre", "post" and
    "res_post".
    """

    def sublayer(h, name, f):
        def normalize(h):
            return norm(h, weights, f"{name}_norm", eps)

        if form == "pre":
            return h + f(normalize(h))
        if form == "post":
            return normalize(h + f(h))
        return h + normalize(f(h))

    own, cross = part(weights, "attention"), part(weights, "cross_attention")

    def attend(h):
        return multihead(h, None, own, n_heads, n_kv_heads, mask, bias, rotary_base)[0]

    def attend_to_memory(h):
        return multihead(h, memory, cross, n_heads, n_kv_heads, memory_mask)[0]

    def mlp(h):
        return feed_forward(h, part(weights, "feed_forward"), activation)

    (h,) = floats(x)
    h = sublayer(h, "attention", attend)
    if memory is not None:
        h = sublayer(h, "cross_attention", attend_to_memory)
    return sublayer(h, "feed_forward", mlp)
