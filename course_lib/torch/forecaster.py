r"""Forecaster: an encoder whose tokens are patches of a time series (PyTorch).

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

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.checks import check_past, check_tensors
from course_lib.config import ForecasterConfig
from course_lib.torch.block import Block
from course_lib.torch.linear import linear
from course_lib.torch.norm import final_norm
from course_lib.torch.position.schemes import make_positions

__all__ = ["Forecaster"]


class Forecaster(nn.Module):
    """Time series forecaster: all steps of a horizon at once."""

    def __init__(self, config: ForecasterConfig):
        super().__init__()
        self.config = config
        d_model, n_tokens = config.d_model, config.n_patches
        self.patches = linear(config.patch_size * config.n_series, d_model)
        self.positions = make_positions(config, n_tokens)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(
            Block(**config.block) for _ in range(config.n_layers)
        )
        self.norm = final_norm(config)
        n_numbers = math.prod(config.forecast_shape)
        self.head = linear(n_tokens * d_model, n_numbers)

    def forward(self, past: Float[Tensor, "B P C"]) -> Float[Tensor, "B H C *Q"]:
        """Forecast every series at every step of the horizon, next step first.

        The past comes oldest step first, on the scale of training.
        """
        check_tensors(torch.Tensor, past=past)
        config = self.config
        check_past(past.shape, config.past, config.n_series)
        x = self.patches(past.reshape(len(past), config.n_patches, -1))  # B P/p D
        x = self.dropout(self.positions.add(x))
        for block in self.blocks:
            x = block(x)
        x = self.norm(x).flatten(1)
        return self.head(x).unflatten(-1, config.forecast_shape)
