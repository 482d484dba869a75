r"""Dilated causal convolutions, as in WaveNet and the TCN (Flax NNX).

    h_t = x_t + relu(sum_j W_j x_{t - j 2^l} + b)   in layer l = 0, 1, ...  (eq. 1)

van den Oord et al. 2016, arXiv:1609.03499, and Bai et al. 2018, arXiv:1803.01271,
without their gates and norms.
"""

import jax
from flax import nnx
from jax import Array
from jaxtyping import Float

from course_lib.checks import check_sizes, check_steps, check_tensors
from course_lib.nnx.linear import _XAVIER

__all__ = ["DilatedCNN"]


class DilatedCNN(nnx.Module):
    """Dilated causal convolutions: each layer looks twice as far back as the last."""

    def __init__(
        self, d_model: int, n_layers: int, *, kernel_size: int = 2, rngs: nnx.Rngs
    ):
        check_sizes(d_model=d_model, n_layers=n_layers, kernel_size=kernel_size)
        self.receptive_field = 1 + (kernel_size - 1) * (2**n_layers - 1)  # steps seen
        self.d_model = d_model
        layers = []
        for layer in range(n_layers):
            conv = nnx.Conv(
                d_model,
                d_model,
                (kernel_size,),
                kernel_dilation=(2**layer,),
                padding="CAUSAL",
                kernel_init=_XAVIER,
                bias_init=nnx.initializers.zeros,
                rngs=rngs,
            )
            layers.append(conv)
        self.layers = nnx.data(layers)

    def __call__(self, x: Float[Array, "B T D"]) -> Float[Array, "B T D"]:
        """One vector a step, which depends on the last `receptive_field` steps only."""
        check_tensors(jax.Array, x=x)
        check_steps(x.shape, self.d_model)
        for conv in self.layers:
            x = x + jax.nn.relu(conv(x))
        return x
