"""Numbers and names: sizes, rates, widths that must divide."""

import math
from typing import Any


def check_heads(d_model: int, n_heads: int, n_kv_heads: int) -> None:
    """Refuse a number of heads that does not divide what it must divide.

    Args:
        d_model: Model width.
        n_heads: Number of query heads.
        n_kv_heads: Number of key and value heads; each serves an equal group of
            queries.
    """
    check_divides("n_heads", n_heads, "d_model", d_model)
    check_divides("n_kv_heads", n_kv_heads, "n_heads", n_heads)


def check_divides(name: str, part: int, whole_name: str, whole: int) -> None:
    """Refuse a part that leaves something of the whole.

    Args:
        name: What the caller calls the part.
        part: Its size.
        whole_name: What the caller calls the whole.
        whole: Its size.
    """
    check_size(whole_name, whole)
    check_size(name, part)
    if whole % part:
        raise ValueError(
            f"{name} must divide {whole_name}: got {whole_name}={whole}, "
            f"{name}={part} (remainder {whole % part}). The nearest that fits is "
            f"{name}={nearest_divisor(whole, part)}."
        )


def check_size(name: str, size: int) -> None:
    """Refuse a size that is not a whole number of at least 1."""
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ValueError(f"{name} must be a whole number of at least 1: got {size!r}.")


def check_whole(name: str, number: Any) -> None:
    """Refuse what is not a whole number of at least 0."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise ValueError(
            f"{name} must be a whole number of at least 0: got {number!r}."
        )


def check_positive(name: str, number: float) -> None:
    """Refuse what is not positive and finite."""
    if not 0 < number < math.inf:
        raise ValueError(f"{name} must be positive and finite: got {number}.")


def check_rate(name: str, rate: float) -> None:
    """Refuse a dropout rate outside [0, 1)."""
    if not 0 <= rate < 1:
        raise ValueError(
            f"{name} must be at least 0 and less than 1: got {rate}. "
            "0 switches it off; 0.1 drops every tenth number."
        )


def nearest_divisor(whole: int, near: int) -> int:
    """The divisor of `whole` that is closest to `near`; of two, the smaller.

    >>> nearest_divisor(10, 3)
    2
    """
    divisors = (n for n in range(1, whole + 1) if whole % n == 0)
    return min(divisors, key=lambda n: (abs(n - near), n))


def check_choice(name: str, choice: str, known: tuple[str, ...]) -> None:
    """Refuse a name that is not on the list, and show the list."""
    if choice not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}: got {choice!r}.")


def check_even(
    name: str, size: int, why: str = "positions turn pairs of features"
) -> None:
    """Refuse a width that does not fall into pairs.

    Args:
        name: What the caller calls the width.
        size: The width.
        why: What needs it to be even.
    """
    check_size(name, size)
    if size % 2:
        raise ValueError(f"{name} must be even, because {why}: got {size}.")
