"""Positions: which may be asked for, and what can be turned.

An offset says where the first query or token stands. One that a compiler traces has no
value yet and passes.
"""

from typing import Any

from course_lib.checks.numbers import check_size, check_sizes, stated
from course_lib.checks.tensors import check_shape

__all__ = ["check_positions", "check_rotary", "check_span"]


def check_span(n_queries: int, n_keys: int, offset: Any = None) -> None:
    """Refuse queries that do not stand among the keys, the last at the last if None."""
    check_sizes(n_queries=n_queries, n_keys=n_keys)
    if offset is None and n_queries > n_keys:
        raise ValueError(
            "n_keys must be at least n_queries, since the last query stands at the "
            f"last key: got n_queries={n_queries}, n_keys={n_keys}."
        )
    first = stated(offset)
    if first is not None and not 0 <= first <= n_keys - n_queries:
        raise ValueError(
            "the queries must stand among the keys, 0 <= offset <= n_keys - n_queries: "
            f"got offset={offset}, n_queries={n_queries}, n_keys={n_keys}."
        )


def check_positions(n_positions: int, offset: Any, max_len: int) -> None:
    """Refuse positions that a table of length `max_len` does not hold."""
    check_size("n_positions", n_positions)
    first = stated(offset) or 0
    if first < 0 or first + n_positions > max_len:
        raise ValueError(
            f"positions must lie within max_len={max_len}: got {first} to "
            f"{first + n_positions - 1}. Shorten the sequence, or build the model with "
            "a larger max_len."
        )


def check_rotary(x: tuple[int, ...], d_head: int) -> None:
    """Refuse vectors that a rotary embedding of width `d_head` cannot turn."""
    check_shape("x", x, f"... positions d_head={d_head}")
