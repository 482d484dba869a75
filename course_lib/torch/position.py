r"""Telling a token where it stands (PyTorch).

    PE[t, 2i] = sin(t / b^(2i/D)),   PE[t, 2i+1] = cos(t / b^(2i/D))     (eq. 1)
    RoPE(x_t)_(i, i+Dh/2) = R(t / b^(2i/Dh)) (x_i, x_(i+Dh/2))           (eq. 2)
    bias[h, i, j] = -m_h |i - j|                                         (eq. 3)

Eq. 1, added to the tokens: Vaswani et al. 2017, section 3.5, arXiv:1706.03762. Eq. 2, a
rotation R of queries and keys: Su et al. 2021, section 3.2, arXiv:2104.09864; which
features make a pair is a convention, and this is Hugging Face's for LLaMA ("rotate
half": i with i + Dh/2), where the paper pairs neighbors. Eq. 3, added to the scores:
Press et al. 2022, section 3, arXiv:2108.12409. A learned number for each step between
query and key: Shaw et al. 2018, section 3.2, arXiv:1803.02155, as a bias in Raffel et
al. 2020, section 2.1, arXiv:1910.10683; here steps are clipped as in the first, where
the second puts far ones into bins.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.checks import (
    check_choice,
    check_even,
    check_positions,
    check_positive,
    check_rotary,
    check_size,
    check_span,
)
from course_lib.config import POSITIONS


def sinusoidal(
    n_positions: int,
    d_model: int,
    *,
    base: float = 10000.0,
    interleaved: bool = True,
    dtype: Any = None,
) -> Float[Tensor, "T D"]:
    """Describe each position by sines and cosines of many wavelengths.

    Args:
        n_positions: T, counted from 0.
        d_model: D, even.
        base: The longest wave is nearly `base` times the shortest, of 2 pi positions.
        interleaved: Sine and cosine in turns, as in the paper; False puts all sines
            before all cosines, as Hugging Face's Marian does.
        dtype: Of the result; None means 32 bits. The numbers are computed in 64.

    Returns:
        One row a position. The row of t + k is the row of t with each pair turned by an
        angle that depends on k alone.

    Raises:
        ValueError: A size is not positive, or `d_model` is odd.
    """
    check_size("n_positions", n_positions)
    check_even("d_model", d_model)
    check_positive("base", base)
    table = _waves(torch.arange(n_positions), d_model, base, interleaved)
    return table.to(torch.float32 if dtype is None else dtype)


def _waves(positions: Tensor, d_model: int, base: float, interleaved: bool) -> Tensor:
    """The rows of eq. 1 for any positions, in 64 bits."""
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    angles = positions[:, None] / base**exponents  # T D/2
    pairs = angles.sin(), angles.cos()
    if interleaved:
        return torch.stack(pairs, dim=-1).flatten(-2)
    return torch.cat(pairs, dim=-1)


class Sinusoidal(nn.Module):
    """Sines and cosines of the position, behind the same face as `Learned`.

    Args:
        max_len: Positions that may be asked for.
        d_model: D, even.
        interleaved: As in `sinusoidal`.

    Raises:
        ValueError: A size is not positive, or `d_model` is odd.
    """

    def __init__(self, max_len: int, d_model: int, *, interleaved: bool = True):
        super().__init__()
        check_size("max_len", max_len)
        check_even("d_model", d_model)
        self.max_len, self.d_model = max_len, d_model
        self.interleaved = interleaved

    def forward(
        self,
        n_positions: int,
        offset: int | Int[Tensor, ""] = 0,
        *,
        dtype: Any = None,
    ) -> Float[Tensor, "T D"]:
        """Describe `n_positions` positions in a row.

        Args:
            n_positions: T.
            offset: The first of them.
            dtype: Of the result; None means 32 bits.

        Returns:
            One row a position.

        Raises:
            ValueError: A position lies outside `max_len`.
        """
        check_positions(n_positions, offset, self.max_len)
        positions = offset + torch.arange(n_positions)
        rows = _waves(positions, self.d_model, 10000.0, self.interleaved)
        return rows.to(torch.float32 if dtype is None else dtype)


class Learned(nn.Module):
    """One learned vector for each position.

    It starts normal with standard deviation 0.02 (Radford et al. 2019, GPT-2's code).

    Args:
        max_len: Rows of the table: the longest sequence.
        d_model: D.

    Raises:
        ValueError: A size is not a whole number of at least 1.
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
        dtype: Any = None,
    ) -> Float[Tensor, "T D"]:
        """Look `n_positions` positions in a row up.

        Args:
            n_positions: T.
            offset: The first of them.
            dtype: Of the result; None means the table's own.

        Returns:
            One row a position.

        Raises:
            ValueError: A position lies outside the table.
        """
        check_positions(n_positions, offset, self.table.num_embeddings)
        return self.table.weight[offset : offset + n_positions].to(dtype)


def added_positions(
    kind: str, max_len: int, d_model: int, *, interleaved: bool = True
) -> Learned | Sinusoidal | None:
    """What a model adds to its tokens to say where they stand.

    Args:
        kind: "learned", "sinusoidal", or a kind that adds nothing: "rotary", "alibi"
            and "none".
        max_len: Positions that may be asked for.
        d_model: D.
        interleaved: As in `sinusoidal`.

    Returns:
        A table of vectors; None where nothing is added.

    Raises:
        ValueError: The kind is not known, or a size is not allowed.
    """
    check_choice("kind", kind, POSITIONS)
    if kind == "learned":
        return Learned(max_len, d_model)
    if kind == "sinusoidal":
        return Sinusoidal(max_len, d_model, interleaved=interleaved)
    return None


class Learned2D(nn.Module):
    """A learned vector for each row and each column of a grid, side by side.

    Dosovitskiy et al. 2021, appendix D.4, arXiv:2010.11929: half of the features say
    the row, the other half the column. It starts as `Learned`.

    Args:
        height: Rows of the grid.
        width: Columns of the grid.
        d_model: D, even.

    Raises:
        ValueError: A size is not a whole number of at least 1, or `d_model` is odd.
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
        """Describe every cell of the grid, row by row.

        Returns:
            One vector a cell.
        """
        rows, columns = self.rows.weight, self.columns.weight
        shape = len(rows), len(columns), -1
        cells = rows[:, None].expand(shape), columns[None].expand(shape)
        return torch.cat(cells, dim=-1).flatten(0, 1)  # P D


@dataclass(frozen=True)
class Rotary:
    """Turn queries and keys by angles that grow with the position.

    Nothing is learned. A dot product of a turned query with a turned key depends on how
    far apart they stand, and on nothing else of where they stand.

    Args:
        d_head: Width of a head, even.
        base: The slowest pair turns nearly `base` times as slowly as the fastest, which
            turns by one radian a position.

    Raises:
        ValueError: `d_head` is odd, or `base` is not positive.
    """

    d_head: int
    base: float = 10000.0

    def __post_init__(self):
        check_even("d_head", self.d_head)
        check_positive("base", self.base)

    def __call__(
        self, x: Float[Tensor, "*B T Dh"], offset: int | Int[Tensor, ""] = 0
    ) -> Float[Tensor, "*B T Dh"]:
        """Turn each vector by its position.

        Args:
            x: Queries or keys.
            offset: Where the first of them stands.

        Returns:
            Vectors of the same lengths.

        Raises:
            ValueError: `x` is not as wide as a head.
        """
        check_rotary(x.shape, self.d_head)
        # Angles of large positions need at least 32 bits, whatever x has.
        wide = torch.promote_types(x.dtype, torch.float32)
        exponents = torch.arange(0, self.d_head, 2, dtype=torch.float64) / self.d_head
        speeds = (self.base**-exponents).to(wide).to(x.device)
        positions = offset + torch.arange(x.shape[-2], device=x.device)
        angles = positions[:, None] * speeds  # T Dh/2
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        first, second = x.chunk(2, dim=-1)
        turned = first * cos - second * sin, second * cos + first * sin
        return torch.cat(turned, dim=-1)


def alibi_slopes(n_heads: int) -> list[float]:
    """How fast each head's interest falls with distance.

    Args:
        n_heads: H. For a power of two, slopes go from 2^(-8/H) to 2^-8 in equal ratios;
            other numbers are filled up as in the authors' code, with every other slope
            of twice the next lower power of two.

    Returns:
        One positive number a head.

    Raises:
        ValueError: `n_heads` is not a whole number of at least 1.
    """
    check_size("n_heads", n_heads)
    power = 2 ** (n_heads.bit_length() - 1)
    slopes = [2.0 ** (-8 * (h + 1) / power) for h in range(power)]
    between = [2.0 ** (-4 * (2 * h + 1) / power) for h in range(n_heads - power)]
    return slopes + between


def alibi_bias(
    n_heads: int,
    n_queries: int,
    n_keys: int | None = None,
    *,
    offset: int | Int[Tensor, ""] | None = None,
    dtype: Any = None,
) -> Float[Tensor, "H T S"]:
    """Make far keys score less, each head at its own rate.

    Args:
        n_heads: H.
        n_queries: T.
        n_keys: S; None means T.
        offset: Where the first query stands among the keys; None puts the last query at
            the last key.
        dtype: Of the result; None means 32 bits.

    Returns:
        Numbers to add to the scores: 0 at a query's own position, negative elsewhere.

    Raises:
        ValueError: A query stands outside the keys.
    """
    n_keys = n_queries if n_keys is None else n_keys
    check_span(n_queries, n_keys, offset)
    first = n_keys - n_queries if offset is None else offset
    step = first + torch.arange(n_queries)[:, None] - torch.arange(n_keys)
    slopes = torch.tensor(alibi_slopes(n_heads), dtype=torch.float64)
    bias = -slopes[:, None, None] * abs(step)
    return bias.to(torch.float32 if dtype is None else dtype)


class RelativeBias(nn.Module):
    """A learned number for each head and each step from a query to a key.

    It starts at 0: no step is preferred.

    Args:
        n_heads: H.
        max_distance: Farthest step with a number of its own; farther ones share it.

    Raises:
        ValueError: A size is not a whole number of at least 1.
    """

    def __init__(self, n_heads: int, max_distance: int):
        super().__init__()
        check_size("n_heads", n_heads)
        check_size("max_distance", max_distance)
        self.max_distance = max_distance
        self.table = nn.Embedding(2 * max_distance + 1, n_heads)
        nn.init.zeros_(self.table.weight)

    def forward(
        self,
        n_queries: int,
        n_keys: int | None = None,
        *,
        offset: int | Int[Tensor, ""] | None = None,
    ) -> Float[Tensor, "H T S"]:
        """Look each pair's step up.

        Args:
            n_queries: T.
            n_keys: S; None means T.
            offset: Where the first query stands among the keys; None puts the last
                query at the last key.

        Returns:
            Numbers to add to the scores.

        Raises:
            ValueError: A query stands outside the keys.
        """
        n_keys = n_queries if n_keys is None else n_keys
        check_span(n_queries, n_keys, offset)
        first = n_keys - n_queries if offset is None else offset
        step = torch.arange(n_keys) - (first + torch.arange(n_queries)[:, None])
        step = step.clamp(-self.max_distance, self.max_distance)  # T S
        rows = (step + self.max_distance).to(self.table.weight.device)
        return self.table(rows).permute(2, 0, 1)  # H T S
