"""The linear map that every piece is built from (PyTorch).

The frameworks start their linear layers differently. Both wings start them alike:
weights uniform on ±sqrt(6 / (d_in + d_out)), biases 0.

Glorot and Bengio 2010, eq. 16, proceedings.mlr.press/v9/glorot10a.
"""

from torch import nn

from course_lib.checks import check_sizes

__all__ = ["linear"]


def linear(d_in: int, d_out: int, *, bias: bool = True) -> nn.Linear:
    """A linear layer that starts the same way in both wings."""
    check_sizes(d_in=d_in, d_out=d_out)
    layer = nn.Linear(d_in, d_out, bias=bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer
