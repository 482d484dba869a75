r"""Telling a token where it stands (Flax NNX).

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

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array
from jaxtyping import Float, Int

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

_START = nnx.initializers.normal(0.02)  # made once: see linear.py


def sinusoidal(
    n_positions: int,
    d_model: int,
    *,
    base: float = 10000.0,
    interleaved: bool = True,
    dtype: Any = None,
) -> Float[Array, "T D"]:
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
    # A constant, so NumPy makes it: JAX has 64 bits only where they are switched on.
    positions = np.arange(n_positions, dtype=np.float64)[:, None]
    exponents = np.arange(0, d_model, 2, dtype=np.float64) / d_model
    angles = positions / base**exponents  # T D/2
    pairs = np.sin(angles), np.cos(angles)
    if interleaved:
        table = np.stack(pairs, axis=-1).reshape(n_positions, d_model)
    else:
        table = np.concatenate(pairs, axis=-1)
    return jnp.asarray(table, dtype=jnp.float32 if dtype is None else dtype)


class Sinusoidal(nnx.Module):
    """Sines and cosines of the position, behind the same face as `Learned`.

    Args:
        max_len: Positions that may be asked for.
        d_model: D, even.
        interleaved: As in `sinusoidal`.
        rngs: Not used: nothing here is random. Every piece has it.

    Raises:
        ValueError: A size is not positive, or `d_model` is odd.
    """

    def __init__(
        self,
        max_len: int,
        d_model: int,
        *,
        interleaved: bool = True,
        rngs: nnx.Rngs | None = None,
    ):
        check_size("max_len", max_len)
        check_even("d_model", d_model)
        self.max_len, self.d_model = max_len, d_model
        self.interleaved = interleaved

    def __call__(
        self,
        n_positions: int,
        offset: int | Int[Array, ""] = 0,
        *,
        dtype: Any = None,
    ) -> Float[Array, "T D"]:
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
        table = sinusoidal(
            self.max_len, self.d_model, interleaved=self.interleaved, dtype=dtype
        )
        return jax.lax.dynamic_slice_in_dim(table, offset, n_positions)


class Learned(nnx.Module):
    """One learned vector for each position.

    It starts normal with standard deviation 0.02 (Radford et al. 2019, GPT-2's code).

    Args:
        max_len: Rows of the table: the longest sequence.
        d_model: D.
        rngs: Source of the random start.

    Raises:
        ValueError: A size is not a whole number of at least 1.
    """

    def __init__(self, max_len: int, d_model: int, *, rngs: nnx.Rngs):
        check_size("max_len", max_len)
        check_size("d_model", d_model)
        self.table = nnx.Embed(max_len, d_model, embedding_init=_START, rngs=rngs)

    def __call__(
        self,
        n_positions: int,
        offset: int | Int[Array, ""] = 0,
        *,
        dtype: Any = None,
    ) -> Float[Array, "T D"]:
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
        table = self.table.embedding[...]
        rows = jax.lax.dynamic_slice_in_dim(table, offset, n_positions)
        return rows if dtype is None else rows.astype(dtype)


def added_positions(
    kind: str, max_len: int, d_model: int, *, interleaved: bool = True, rngs: nnx.Rngs
) -> Learned | Sinusoidal | None:
    """What a model adds to its tokens to say where they stand.

    Args:
        kind: "learned", "sinusoidal", or a kind that adds nothing: "rotary", "alibi"
            and "none".
        max_len: Positions that may be asked for.
        d_model: D.
        interleaved: As in `sinusoidal`.
        rngs: Source of the random start.

    Returns:
        A table of vectors; None where nothing is added.

    Raises:
        ValueError: The kind is not known, or a size is not allowed.
    """
    check_choice("kind", kind, POSITIONS)
    if kind == "learned":
        return Learned(max_len, d_model, rngs=rngs)
    if kind == "sinusoidal":
        return Sinusoidal(max_len, d_model, interleaved=interleaved)
    return None


class Learned2D(nnx.Module):
    """A learned vector for each row and each column of a grid, side by side.

    Dosovitskiy et al. 2021, appendix D.4, arXiv:2010.11929: half of the features say
    the row, the other half the column. It starts as `Learned`.

    Args:
        height: Rows of the grid.
        width: Columns of the grid.
        d_model: D, even.
        rngs: Source of the random start.

    Raises:
        ValueError: A size is not a whole number of at least 1, or `d_model` is odd.
    """

    def __init__(self, height: int, width: int, d_model: int, *, rngs: nnx.Rngs):
        check_size("height", height)
        check_size("width", width)
        check_even("d_model", d_model)
        half = d_model // 2
        self.rows = nnx.Embed(height, half, embedding_init=_START, rngs=rngs)
        self.columns = nnx.Embed(width, half, embedding_init=_START, rngs=rngs)

    def __call__(self) -> Float[Array, "P D"]:
        """Describe every cell of the grid, row by row.

        Returns:
            One vector a cell.
        """
        rows, columns = self.rows.embedding[...], self.columns.embedding[...]
        shape = len(rows), len(columns), rows.shape[-1]
        cells = (
            jnp.broadcast_to(rows[:, None], shape),
            jnp.broadcast_to(columns[None], shape),
        )
        return jnp.concatenate(cells, axis=-1).reshape(-1, 2 * shape[-1])  # P D


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
        self, x: Float[Array, "*B T Dh"], offset: int | Int[Array, ""] = 0
    ) -> Float[Array, "*B T Dh"]:
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
        wide = jnp.promote_types(x.dtype, jnp.float32)
        exponents = np.arange(0, self.d_head, 2, dtype=np.float64) / self.d_head
        speeds = jnp.asarray(self.base**-exponents, dtype=wide)
        positions = offset + jnp.arange(x.shape[-2])
        angles = positions[:, None] * speeds  # T Dh/2
        cos, sin = jnp.cos(angles).astype(x.dtype), jnp.sin(angles).astype(x.dtype)
        first, second = jnp.split(x, 2, axis=-1)
        turned = first * cos - second * sin, second * cos + first * sin
        return jnp.concatenate(turned, axis=-1)


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
    offset: int | Int[Array, ""] | None = None,
    dtype: Any = None,
) -> Float[Array, "H T S"]:
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
    step = first + np.arange(n_queries)[:, None] - np.arange(n_keys)
    slopes = np.array(alibi_slopes(n_heads))
    dtype = jnp.float32 if dtype is None else dtype
    return jnp.asarray(-slopes[:, None, None] * abs(step), dtype=dtype)


class RelativeBias(nnx.Module):
    """A learned number for each head and each step from a query to a key.

    It starts at 0: no step is preferred.

    Args:
        n_heads: H.
        max_distance: Farthest step with a number of its own; farther ones share it.
        rngs: Not used: the start is not random. Every piece has it.

    Raises:
        ValueError: A size is not a whole number of at least 1.
    """

    def __init__(
        self, n_heads: int, max_distance: int, *, rngs: nnx.Rngs | None = None
    ):
        check_size("n_heads", n_heads)
        check_size("max_distance", max_distance)
        self.max_distance = max_distance
        self.table = nnx.Embed(
            2 * max_distance + 1,
            n_heads,
            embedding_init=nnx.initializers.zeros,
            rngs=nnx.Rngs(0) if rngs is None else rngs,
        )

    def __call__(
        self,
        n_queries: int,
        n_keys: int | None = None,
        *,
        offset: int | Int[Array, ""] | None = None,
    ) -> Float[Array, "H T S"]:
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
        step = np.arange(n_keys) - (first + np.arange(n_queries)[:, None])
        step = step.clip(-self.max_distance, self.max_distance)  # T S
        table = self.table.embedding[...]
        return table[step + self.max_distance].transpose(2, 0, 1)  # H T S
