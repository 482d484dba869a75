r"""Dilated causal convolutions, as in WaveNet and the TCN (PyTorch).

    h_t = x_t + relu(sum_j W_j x_{t - j 2^l} + b)   in layer l = 0, 1, ...  (eq. 1)

van den Oord et al. 2016, arXiv:1609.03499, and Bai et al. 2018, arXiv:1803.01271,
without their gates and norms.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.checks import check_sizes, check_steps, check_tensors

__all__ = ["DilatedCNN"]


class DilatedCNN(nn.Module):
    """Dilated causal convolutions: each layer looks twice as far back as the last.

    Layer l has dilation 2^l; one filter spans `kernel_size` steps.
    """

    def __init__(self, d_model: int, n_layers: int, *, kernel_size: int = 2):
        super().__init__()
        check_sizes(d_model=d_model, n_layers=n_layers, kernel_size=kernel_size)
        self.receptive_field = 1 + (kernel_size - 1) * (2**n_layers - 1)  # steps seen
        self.d_model, self.kernel_size = d_model, kernel_size
        self.layers = nn.ModuleList()
        for layer in range(n_layers):
            conv = nn.Conv1d(d_model, d_model, kernel_size, dilation=2**layer)
            nn.init.xavier_uniform_(conv.weight)
            nn.init.zeros_(conv.get_parameter("bias"))
            self.layers.append(conv)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """One vector a step, which depends on the last `receptive_field` steps only."""
        check_tensors(torch.Tensor, x=x)
        check_steps(x.shape, self.d_model)
        x = x.mT  # B D T: PyTorch's convolutions want channels first
        for layer, conv in enumerate(self.layers):
            past = 2**layer * (self.kernel_size - 1)
            x = x + conv(F.pad(x, (past, 0))).relu()
        return x.mT
