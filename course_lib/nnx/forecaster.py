r"""Forecaster: an encoder whose tokens are patches of a time series (Flax NNX).

    h_0 = [W_p patch_1 + b; ...; W_p patch_n + b] + positions            (eq. 1)
    h_l = Block_l(h_(l-1))                                               (eq. 2)
    forecast = W [LN(h_L)_1, ..., LN(h_L)_n] + c                         (eq. 3)

Nie et al. 2023 (PatchTST), section 3.1, arXiv:2211.14730. A patch is a few steps in a
row; with one step a patch, each observation is a token. All steps of the horizon are
read at once from the tokens side by side.

Departures: layer norm before each part where theirs is a batch norm after it; patches
do not overlap; several series share a token, where theirs go through the same model one
by one (which is ours with one series and a larger batch); a window is not rescaled by
its own mean and deviation. With `n_quantiles`, W has as many rows for each step and
series; `pinball` trains them.
"""

import math

import jax
from flax import nnx
from jax import Array
from jaxtyping import Float

from course_lib.checks import check_past, check_tensors
from course_lib.config import ForecasterConfig
from course_lib.nnx.block import Block
from course_lib.nnx.linear import linear
from course_lib.nnx.norm import final_norm
from course_lib.nnx.position.schemes import make_positions

__all__ = ["Forecaster"]


class Forecaster(nnx.Module):
    """Time series forecaster: all steps of a horizon at once."""

    def __init__(self, config: ForecasterConfig, *, rngs: nnx.Rngs):
        self.config = config
        d_model, n_tokens = config.d_model, config.n_patches
        self.patches = linear(config.patch_size * config.n_series, d_model, rngs=rngs)
        self.positions = make_positions(config, n_tokens, rngs=rngs)
        self.dropout = nnx.Dropout(config.dropout, rngs=rngs)
        self.blocks = nnx.data(
            [Block(**config.block, rngs=rngs) for _ in range(config.n_layers)]
        )
        self.norm = final_norm(config, rngs=rngs)
        n_numbers = math.prod(config.forecast_shape)
        self.head = linear(n_tokens * d_model, n_numbers, rngs=rngs)

    def __call__(self, past: Float[Array, "B P C"]) -> Float[Array, "B H C *Q"]:
        """Forecast every series at every step of the horizon, next step first."""
        check_tensors(jax.Array, past=past)
        config = self.config
        check_past(past.shape, config.past, config.n_series)
        x = self.patches(past.reshape(len(past), config.n_patches, -1))  # B P/p D
        x = self.dropout(self.positions.add(x))
        for block in self.blocks:
            x = block(x)
        x = self.norm(x).reshape(len(x), -1)
        return self.head(x).reshape(len(x), *config.forecast_shape)
