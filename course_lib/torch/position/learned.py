r"""Learned positions: one vector for each place, added to the tokens (PyTorch).

    x_t <- x_t + W_P[t]                                                  (eq. 1)
    x_ij <- x_ij + [W_R[i]; W_C[j]]                                      (eq. 2)

Eq. 1: Gehring et al. 2017, section 3.1, arXiv:1705.03122. Eq. 2, for the cells of a
grid: Dosovitskiy et al. 2021, appendix D.4, arXiv:2010.11929. Tables start normal with
standard deviation 0.02 (Radford et al. 2019, GPT-2's code).
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.checks import check_even, check_positions, check_size, check_sizes
from course_lib.torch.embedding import Embedding
from course_lib.torch.position.base import Positions, rows_of

__all__ = ["Learned", "Learned2D"]


class Learned(Positions, nn.Module):
    """Learned positions: one vector for each of `max_len` places in a sequence."""

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        check_size("max_len", max_len)
        self.max_len, self.table = max_len, Embedding(max_len, d_model, std=0.02)

    def forward(
        self,
        n_positions: int,
        offset: int = 0,
        *,
        like: Float[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "T D"]:
        """Rows of `n_positions` positions from `offset` on, in `like`'s dtype."""
        check_positions(n_positions, offset, self.table.num_embeddings)
        rows = self.table.weight[offset : offset + n_positions]
        return rows if like is None else rows.to(like.dtype)

    def add(
        self,
        x: Float[Tensor, "*B T D"],
        offset: int = 0,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Tensor:
        """Eq. 1."""
        return x + rows_of(self, x, offset, mask)


class Learned2D(Positions, nn.Module):
    """Learned positions in a grid: a row's vector and a column's, side by side.

    Each gets half of the features, so `d_model` is even.
    """

    def __init__(self, height: int, width: int, d_model: int):
        super().__init__()
        check_sizes(height=height, width=width)
        check_even("d_model", d_model)
        self.rows = Embedding(height, d_model // 2, std=0.02)
        self.columns = Embedding(width, d_model // 2, std=0.02)

    def forward(self) -> Float[Tensor, "P D"]:
        """One vector for each cell of the grid, row by row."""
        rows, columns = self.rows.weight, self.columns.weight
        shape = len(rows), len(columns), -1
        cells = rows[:, None].expand(shape), columns[None].expand(shape)
        return torch.cat(cells, dim=-1).flatten(0, 1)  # P D

    def add(
        self,
        x: Float[Tensor, "*B T D"],
        offset: int = 0,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Tensor:
        """Eq. 2. Tokens in front of the cells, such as [CLS], stand nowhere."""
        cells = self()
        front, grid = x.split([x.shape[-2] - len(cells), len(cells)], dim=-2)
        return torch.cat([front, grid + cells], dim=-2)
