"""The linear map that every piece is built from (Flax NNX).

The frameworks start their linear layers differently. Both wings start them alike:
weights uniform on ±sqrt(6 / (d_in + d_out)), biases 0.

Glorot and Bengio 2010, eq. 16, proceedings.mlr.press/v9/glorot10a.
"""

from functools import cache

from flax import nnx

from course_lib.checks import check_sizes

__all__ = ["linear"]

# Made once, because older layers keep the function they were started with: two models
# whose layers keep one and the same function share one compiled program.
_XAVIER = nnx.initializers.xavier_uniform()
normal = cache(nnx.initializers.normal)


def linear(d_in: int, d_out: int, *, bias: bool = True, rngs: nnx.Rngs) -> nnx.Linear:
    """A linear layer that starts the same way in both wings."""
    check_sizes(d_in=d_in, d_out=d_out)
    return nnx.Linear(
        d_in,
        d_out,
        use_bias=bias,
        kernel_init=_XAVIER,
        bias_init=nnx.initializers.zeros,
        rngs=rngs,
    )
