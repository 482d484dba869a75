r"""Feed-forward network and its activations (PyTorch).

    FFN(x) = W_down g(W_up x)                                            (eq. 1)
    GLU(x) = W_down (g(W_gate x) * W_up x)                               (eq. 2)

Eq. 1: Vaswani et al. 2017, eq. 2, arXiv:1706.03762. Eq. 2: Shazeer 2020, eq. 6,
arXiv:2002.05202; SwiGLU has SiLU as its g, GEGLU GELU. GELU: Hendrycks and Gimpel
2016, arXiv:1606.08415.
"""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.checks import check_choice, check_rate
from course_lib.config import ACTIVATIONS
from course_lib.torch.linear import linear

__all__ = ["FeedForward", "activate"]


def activate(x: Float[Tensor, "*B"], name: str) -> Float[Tensor, "*B"]:
    """Activation function: a nonlinearity applied to each number.

    Names are "relu", "gelu" (exact, with the error function), "gelu_tanh" (GPT-2's
    approximation) and "silu" (also called swish).
    """
    check_choice("name", name, ACTIVATIONS[:-1])
    if name == "relu":
        return F.relu(x)
    if name == "silu":
        return F.silu(x)
    return F.gelu(x, approximate="tanh" if name == "gelu_tanh" else "none")


class FeedForward(nn.Module):
    """Feed-forward network (MLP), applied to each position alone.

    `d_ff` None means 4 D. The activation is a name for `activate`; `gated` gates one
    map with another and takes half as many parameters again. "swiglu" is "silu", gated.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int | None = None,
        *,
        activation: str = "gelu",
        dropout: float = 0.0,
        bias: bool = True,
        gated: bool = False,
    ):
        super().__init__()
        d_ff = 4 * d_model if d_ff is None else d_ff
        check_choice("activation", activation, ACTIVATIONS)
        check_rate("dropout", dropout)
        self.gated = gated or activation == "swiglu"
        self.activation = "silu" if activation == "swiglu" else activation
        self.up_proj = linear(d_model, d_ff, bias=bias)
        if self.gated:
            self.gate_proj = linear(d_model, d_ff, bias=bias)
        self.down_proj = linear(d_ff, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "*B D"]) -> Float[Tensor, "*B D"]:
        """Eq. 1 or eq. 2, of each vector by itself."""
        hidden = self.up_proj(x)  # *B F
        if self.gated:
            hidden = activate(self.gate_proj(x), self.activation) * hidden
        else:
            hidden = activate(hidden, self.activation)
        return self.dropout(self.down_proj(hidden))
