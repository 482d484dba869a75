"""Numbers and names: sizes, rates, widths that must divide."""

import math
from difflib import get_close_matches
from numbers import Real
from operator import index
from typing import Any

import numpy as np

__all__ = [
    "check_choice", "check_divides", "check_even", "check_experts", "check_heads",
    "check_noise", "check_positive", "check_range", "check_rate",
    "check_size", "check_sizes", "check_whole", "make_plain", "nearest_divisor",
    "plain", "stated",
]  # fmt: skip


def make_plain(config: Any) -> None:
    """Make Python's numbers of NumPy's in a configuration: rules and JSON know those.

    All else stays as it is.
    """
    for name, value in list(vars(config).items()):
        object.__setattr__(config, name, plain(value))


def stated(number: Any) -> int | None:
    """A whole number, also out of an array; None of one that a compiler traces."""
    if isinstance(number, int):
        return number
    try:
        return index(number)
    except TypeError:
        return None


def check_size(name: str, size: Any) -> None:
    """Refuse a size that is not a whole number of at least 1."""
    check_whole(name, size, least=1)


def check_sizes(**sizes: Any) -> None:
    """Refuse sizes, given by their names, that are not whole numbers of at least 1."""
    for name, size in sizes.items():
        check_size(name, size)


def check_whole(name: str, number: Any, *, least: int = 0, why: str = "") -> None:
    """Refuse what is not a whole number of at least `least`, and say why so many."""
    number = plain(number)
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise ValueError(
            f"{name} must be a whole number of at least {least}{why and ', '}{why}: "
            f"got {number!r}."
        )


def check_range(
    name: str, number: float, low: float, high: float = math.inf, why: str = ""
) -> None:
    """Refuse a number outside `low` to `high`; both of them pass, infinity does not.

    Args:
        name: What the caller calls it.
        number: The number.
        low: The smallest that passes.
        high: The largest.
        why: The reason, which the error repeats.
    """
    if not _real(number) or not low <= number <= high or number == math.inf:
        span = f"at least {low:,}" if high == math.inf else f"from {low:,} to {high:,}"
        raise ValueError(f"{name} must be {span}{why and ', '}{why}: got {number!r}.")


def plain(value: Any) -> Any:
    """Python's number of NumPy's, which has a dtype; all else stays as it is."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return value.item() if isinstance(value, np.generic) else value


def _real(number: Any) -> bool:
    return isinstance(number, Real) or hasattr(number, "shape")


def check_positive(name: str, number: float) -> None:
    """Refuse what is not positive and finite."""
    if not _real(number) or not 0 < number < math.inf:
        raise ValueError(f"{name} must be positive and finite: got {number!r}.")


def check_noise(noise: float, name: str = "noise") -> None:
    """Refuse what is no standard deviation."""
    if not _real(noise) or not 0 <= noise < math.inf:
        raise ValueError(
            f"{name} must be a standard deviation, which can not be negative or "
            f"infinite: got {noise!r}."
        )


def check_rate(name: str, rate: float) -> None:
    """Refuse a dropout rate outside [0, 1)."""
    if not _real(rate) or not 0 <= rate < 1:
        raise ValueError(
            f"{name} must be at least 0 and less than 1: got {rate!r}. "
            "0 switches it off; 0.1 drops every tenth number."
        )


def check_choice(name: str, choice: str, known: tuple[str, ...]) -> None:
    """Refuse a name that is not on the list, and show the list and the nearest."""
    if choice not in known:
        near = get_close_matches(str(choice), known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"{name} must be one of {', '.join(known)}: got {choice!r}.{hint}"
        )


def check_even(
    name: str, size: int, why: str = "positions turn pairs of features"
) -> None:
    """Refuse a size that does not fall into pairs, and say what needs them."""
    check_size(name, size)
    if size % 2:
        raise ValueError(
            f"{name} must be even, because {why}: got {size}. The nearest that fits "
            f"is {size + 1}."
        )


def check_heads(
    d_model: int, n_heads: int, n_kv_heads: int, head_dim: int | None = None
) -> int:
    """Refuse a number of heads that does not divide what it must; the width of one."""
    if head_dim is None:
        check_divides("n_heads", n_heads, "d_model", d_model)
    check_sizes(d_model=d_model, n_heads=n_heads)
    check_divides("n_kv_heads", n_kv_heads, "n_heads", n_heads)
    if head_dim is not None:
        check_size("head_dim", head_dim)
    return d_model // n_heads if head_dim is None else head_dim


def check_experts(n_experts: int, top_k: int) -> None:
    """Refuse more experts for a token than there are."""
    check_sizes(n_experts=n_experts, top_k=top_k)
    if top_k > n_experts:
        raise ValueError(
            f"top_k must be at most n_experts: got top_k={top_k}, n_experts="
            f"{n_experts}. The most that fits is top_k={n_experts}."
        )


def check_divides(name: str, part: int, whole_name: str, whole: int) -> None:
    """Refuse a part that leaves something of the whole."""
    check_size(whole_name, whole)
    check_size(name, part)
    if whole % part:
        raise ValueError(
            f"{name} must divide {whole_name}: got {whole_name}={whole}, "
            f"{name}={part} (remainder {whole % part}). The nearest that fits is "
            f"{name}={nearest_divisor(whole, part)}."
        )


def nearest_divisor(whole: int, near: int) -> int:
    """The divisor of `whole` that is closest to `near`; of two, the smaller.

    >>> nearest_divisor(10, 3)
    2
    """
    divisors = (n for n in range(1, whole + 1) if whole % n == 0)
    return min(divisors, key=lambda n: (abs(n - near), n))
