"""Positions: which may be asked for, and what can be turned."""

from typing import Any

from course_lib.checks.numbers import check_size

Shape = tuple[int, ...]


def check_span(n_queries: int, n_keys: int, offset: Any = None) -> None:
    """Refuse queries that do not stand among the keys.

    Args:
        n_queries: T.
        n_keys: S.
        offset: Where the first query stands among the keys; None puts the last query at
            the last key. One that a compiler traces has no value yet and passes.
    """
    check_size("n_queries", n_queries)
    check_size("n_keys", n_keys)
    if offset is None and n_queries > n_keys:
        raise ValueError(
            "n_keys must be at least n_queries, since the last query stands at the "
            f"last key: got n_queries={n_queries}, n_keys={n_keys}."
        )
    if isinstance(offset, int) and not 0 <= offset <= n_keys - n_queries:
        raise ValueError(
            "the queries must stand among the keys, 0 <= offset <= n_keys - n_queries: "
            f"got offset={offset}, n_queries={n_queries}, n_keys={n_keys}."
        )


def check_positions(n_positions: int, offset: Any, max_len: int) -> None:
    """Refuse positions that a table of length `max_len` does not hold.

    Args:
        n_positions: T.
        offset: Where the first of them stands; traced, it passes.
        max_len: Rows of the table.
    """
    check_size("n_positions", n_positions)
    first = offset if isinstance(offset, int) else 0
    if first < 0 or first + n_positions > max_len:
        raise ValueError(
            f"positions must lie within max_len={max_len}: got {first} to "
            f"{first + n_positions - 1}. Shorten the sequence, or build the model with "
            "a larger max_len."
        )


def check_rotary(x: Shape, d_head: int) -> None:
    """Refuse vectors that a rotary embedding of width `d_head` cannot turn."""
    if len(x) < 2 or x[-1] != d_head:
        raise ValueError(
            f"x must have shape (..., positions, d_head={d_head}): got {tuple(x)}."
        )
