r"""Learned positions: one vector for each place, added to the tokens (PyTorch).

    x_t <- x_t + W_P[t]                                                  (eq. 1)
    x_ij <- x_ij + [W_R[i]; W_C[j]]                                      (eq. 2)

Eq. 1: Gehring et al. 2017, section 3.1, arXiv:1705.03122. Eq. 2, for the cells of a
grid: Dosovitskiy et al. 2021, appendix D.4, arXiv:2010.11929. Tables start normal with
standard deviation 0.02 (Radford et al. 2019, GPT-2's code).
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.checks import check_even, check_positions, check_size


class Learned(nn.Module):
    """Learned positions: one vector for each place in a sequence.

    Args:
        max_len: Rows of the table: the longest sequence.
        d_model: D.
    """

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        check_size("max_len", max_len)
        check_size("d_model", d_model)
        self.table = nn.Embedding(max_len, d_model)
        nn.init.normal_(self.table.weight, std=0.02)

    def forward(
        self,
        n_positions: int,
        offset: int | Int[Tensor, ""] = 0,
        *,
        like: Float[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "T D"]:
        """Rows of `n_positions` positions from `offset` on, in `like`'s dtype."""
        check_positions(n_positions, offset, self.table.num_embeddings)
        rows = self.table.weight[offset : offset + n_positions]
        return rows if like is None else rows.to(like.dtype)


class Learned2D(nn.Module):
    """Learned positions in a grid: a row's vector and a column's, side by side.

    Args:
        height: Rows of the grid.
        width: Columns of the grid.
        d_model: D, even: half of the features say the row, half the column.
    """

    def __init__(self, height: int, width: int, d_model: int):
        super().__init__()
        check_size("height", height)
        check_size("width", width)
        check_even("d_model", d_model)
        self.rows = nn.Embedding(height, d_model // 2)
        self.columns = nn.Embedding(width, d_model // 2)
        for table in (self.rows, self.columns):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self) -> Float[Tensor, "P D"]:
        """One vector for each cell of the grid, row by row."""
        rows, columns = self.rows.weight, self.columns.weight
        shape = len(rows), len(columns), -1
        cells = rows[:, None].expand(shape), columns[None].expand(shape)
        return torch.cat(cells, dim=-1).flatten(0, 1)  # P D
