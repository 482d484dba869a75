r"""Feed-forward network and its activations (Flax NNX).

    FFN(x) = W_down g(W_up x)                                            (eq. 1)
    GLU(x) = W_down (g(W_gate x) * W_up x)                               (eq. 2)

Eq. 1: Vaswani et al. 2017, eq. 2, arXiv:1706.03762. Eq. 2: Shazeer 2020, eq. 6,
arXiv:2002.05202; SwiGLU has SiLU as its g, GEGLU GELU. GELU: Hendrycks and Gimpel
2016, arXiv:1606.08415.
"""

import jax
from flax import nnx
from jax import Array
from jaxtyping import Float

from course_lib.checks import check_choice, check_rate
from course_lib.config import ACTIVATIONS
from course_lib.nnx.linear import linear

__all__ = ["FeedForward", "activate"]


def activate(x: Float[Array, "*B"], name: str) -> Float[Array, "*B"]:
    """Activation function: a nonlinearity applied to each number."""
    check_choice("name", name, ACTIVATIONS[:-1])
    if name == "relu":
        return jax.nn.relu(x)
    if name == "silu":
        return jax.nn.silu(x)
    return jax.nn.gelu(x, approximate=name == "gelu_tanh")


class FeedForward(nnx.Module):
    """Feed-forward network (MLP), applied to each position alone."""

    def __init__(
        self,
        d_model: int,
        d_ff: int | None = None,
        *,
        activation: str = "gelu",
        dropout: float = 0.0,
        bias: bool = True,
        gated: bool = False,
        rngs: nnx.Rngs,
    ):
        d_ff = 4 * d_model if d_ff is None else d_ff
        check_choice("activation", activation, ACTIVATIONS)
        check_rate("dropout", dropout)
        self.gated = gated or activation == "swiglu"
        self.activation = "silu" if activation == "swiglu" else activation
        self.up_proj = linear(d_model, d_ff, bias=bias, rngs=rngs)
        if self.gated:
            self.gate_proj = linear(d_model, d_ff, bias=bias, rngs=rngs)
        self.down_proj = linear(d_ff, d_model, bias=bias, rngs=rngs)
        self.dropout = nnx.Dropout(dropout, rngs=rngs)

    def __call__(self, x: Float[Array, "*B D"]) -> Float[Array, "*B D"]:
        """Eq. 1 or eq. 2, of each vector by itself."""
        hidden = self.up_proj(x)  # *B F
        if self.gated:
            hidden = activate(self.gate_proj(x), self.activation) * hidden
        else:
            hidden = activate(hidden, self.activation)
        return self.dropout(self.down_proj(hidden))
