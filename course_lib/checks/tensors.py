"""Tensors: of one framework, floating-point, token ids."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from course_lib.checks.numbers import check_rate

_VALUES = ContextVar("values", default=False)


@contextmanager
def checking_values() -> Iterator[None]:
    """Check values too inside a `with`: ids and targets outside their range.

    Otherwise only shapes and dtypes are looked at, since compiled code has no values
    and reading them from an accelerator waits for it. `fit` turns this on to find out
    what was wrong with a step that failed.
    """
    token = _VALUES.set(True)
    try:
        yield
    finally:
        _VALUES.reset(token)


def _check_range(name: str, ids: Any, size: int, but: int | None, rule: str) -> None:
    if type(ids).__name__.endswith("Tracer"):  # inside code that JAX compiles
        return
    values = np.asarray(ids.tolist())
    bad = np.argwhere(((values < 0) | (values >= size)) & (values != but))
    if len(bad):
        place = tuple(bad[0].tolist())
        raise ValueError(
            f"{name} must lie between 0 and {size - 1}, {rule}: got {values[place]} at "
            f"{list(place)}."
        )


def _name(kind: type) -> str:
    if kind.__qualname__.endswith(("Array", "ArrayImpl")):
        return "jax.Array"
    return f"{kind.__module__.split('.')[0]}.{kind.__qualname__}"


def check_kind(kind: type, name: str, x: Any) -> None:
    """Refuse anything but a tensor of the wing's framework."""
    if not isinstance(x, kind):
        way_out = "torch.as_tensor" if kind.__name__ == "Tensor" else "jnp.asarray"
        raise ValueError(
            f"{name} must be a {_name(kind)}: got {_name(type(x))}. "
            f"Convert it with {way_out}({name})."
        )


def check_tensors(kind: type, **tensors: Any) -> None:
    """Refuse anything but floating-point tensors of one framework and one dtype.

    Args:
        kind: The wing's tensor type (`torch.Tensor`, `jax.Array`).
        **tensors: The tensors by the name the caller knows them by; None is skipped.
    """
    given = {name: x for name, x in tensors.items() if x is not None}
    for name, x in given.items():
        check_kind(kind, name, x)
        if "float" not in str(x.dtype):
            cast = "float()" if kind.__name__ == "Tensor" else "astype(float)"
            raise ValueError(
                f"{name} must hold floating-point numbers: got dtype {x.dtype}. "
                "Token ids go through an embedding first; other numbers are converted "
                f"with {name}.{cast}."
            )
    dtypes = {name: str(x.dtype) for name, x in given.items()}
    if len(set(dtypes.values())) > 1:
        raise ValueError(
            f"{', '.join(dtypes)} must share one dtype: got "
            + ", ".join(f"{name} {dtype}" for name, dtype in dtypes.items())
            + ". Convert them to the same one."
        )


def check_logits(
    logits: Any, targets: Any, label_smoothing: float, ignore_index: int
) -> None:
    """Refuse scores of classes and targets that do not fit each other.

    Args:
        logits: Anything with `.shape` and `.dtype`, one row of scores for each target.
        targets: The classes, whole numbers.
        label_smoothing: Share of the target's weight that is spread over all classes.
        ignore_index: The target that does not count.
    """
    check_rate("label_smoothing", label_smoothing)
    shape, wanted = tuple(logits.shape), tuple(targets.shape)
    if len(shape) < 2 or shape[:-1] != wanted or shape[-1] == 0:
        raise ValueError(
            "each target needs its row of scores: logits must have the targets' axes "
            f"and then one for the classes: got logits {shape} for targets {wanted}."
        )
    if "float" not in str(logits.dtype):
        raise ValueError(
            f"logits must hold floating-point numbers: got dtype {logits.dtype}."
        )
    if "int" not in str(targets.dtype):
        raise ValueError(
            f"targets must be the classes' whole numbers: got dtype {targets.dtype}."
        )
    if _VALUES.get():
        rule = f"the classes that logits score, or be ignore_index={ignore_index}"
        _check_range("targets", targets, shape[-1], ignore_index, rule)


def check_ids(name: str, ids: Any, vocab_size: int | None = None) -> None:
    """Refuse what is not a batch of token ids.

    Args:
        name: What the caller calls them.
        ids: Anything with `.shape` and `.dtype`.
        vocab_size: Rows of the embedding table, compared inside `checking_values()`.
    """
    shape, dtype = tuple(ids.shape), str(ids.dtype)
    if len(shape) != 2 or 0 in shape:
        raise ValueError(
            f"{name} must be a batch of token ids with shape (batch, positions), "
            f"neither of them 0: got {shape}. One sequence becomes a batch with "
            f"{name}[None]."
        )
    if "int" not in dtype:
        raise ValueError(
            f"{name} must hold whole numbers, the tokens' rows in the table: got dtype "
            f"{dtype}."
        )
    if vocab_size is not None and _VALUES.get():
        rule = f"the rows of an embedding table of vocab_size={vocab_size}"
        _check_range(name, ids, vocab_size, None, rule)
