"""Tensors: of one framework, of one shape, floating-point, token ids."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from course_lib.checks.numbers import check_rate

__all__ = [
    "check_dtype", "check_ids", "check_kind", "check_logits", "check_rows",
    "check_shape", "check_targets", "check_tensors", "checking_values",
]  # fmt: skip

_look = False  # not a ContextVar, which torch.compile can't read


@contextmanager
def checking_values() -> Iterator[None]:
    """Check values too inside a `with`: ids and targets outside their range.

    Otherwise only shapes and dtypes are looked at, since compiled code has no values
    and reading them from an accelerator waits for it. `fit` turns this on to find out
    what was wrong with a step that failed.
    """
    global _look
    before, _look = _look, True
    try:
        yield
    finally:
        _look = before


def check_shape(
    name: str, shape: Sequence[int], axes: str, way_out: str = "", *, must: str = "have"
) -> None:
    """Refuse a shape of other axes than those named.

    Args:
        name: What the caller calls the tensor.
        shape: Its shape.
        axes: A word for each axis, as in `"... positions d_model=10"`: a number, alone
            or behind a name, is the size of that axis; another word stands for any size
            but 0; three dots first stand for any number of axes. What follows a comma
            is repeated in the error.
        way_out: A last sentence for the error.
        must: What the tensor is or has, up to the word "shape".
    """
    shape, (named, comma, rule) = tuple(shape), axes.partition(",")
    words = named.split()
    any_more = words[0] == "..."
    wanted = [word.rpartition("=")[2] for word in words[any_more:]]
    last = shape[-len(wanted) :] if any_more else shape
    fits = len(last) == len(wanted) and all(
        size == int(word) if word.isdigit() else size > 0
        for size, word in zip(last, wanted, strict=True)
    )
    if not fits:
        raise ValueError(
            f"{name} must {must} shape ({', '.join(words)}){comma}{rule}: got {shape}. "
            f"{way_out}".rstrip()
        )


def check_dtype(name: str, x: Any, kind: str, rule: str, way_out: str = "") -> None:
    """Refuse a dtype without `kind` in its name ("bool", "float", "int")."""
    came = f"dtype {x.dtype}" if hasattr(x, "dtype") else type(x).__name__
    if not came.startswith("dtype") or kind not in came:
        raise ValueError(f"{name} must {rule}: got {came}. {way_out}".rstrip())


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
    cast = "float()" if kind.__name__ == "Tensor" else "astype(float)"
    for name, x in given.items():
        check_kind(kind, name, x)
        check_dtype(
            *(name, x, "float", "hold floating-point numbers"),
            "Token ids go through an embedding first; other numbers are converted with "
            f"{name}.{cast}.",
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
    """Refuse scores of classes and targets that do not fit each other."""
    check_rate("label_smoothing", label_smoothing)
    shape, wanted = tuple(logits.shape), tuple(targets.shape)
    if len(shape) < 2 or shape[:-1] != wanted or shape[-1] == 0:
        raise ValueError(
            "each target needs its row of scores: logits must have the targets' axes "
            f"and then one for the classes: got logits {shape} for targets {wanted}."
        )
    check_dtype("logits", logits, "float", "hold floating-point numbers")
    check_dtype("targets", targets, "int", "be the classes' whole numbers")
    if _look:
        check_targets(targets, shape[-1], ignore_index)


def check_targets(targets: Any, n_classes: int, ignore_index: int) -> None:
    """Refuse targets that are no classes; inside compiled code none is seen."""
    rule = f"the classes that logits score, or be ignore_index={ignore_index}"
    _check_range("targets", targets, n_classes, ignore_index, rule)


def check_ids(name: str, ids: Any, vocab_size: int | None = None) -> None:
    """Refuse what is not a batch of token ids.

    Inside `checking_values()`, each must be a row of a table of `vocab_size` rows.
    """
    way_out = f"One sequence becomes a batch with {name}[None]."
    axes, must = "batch positions, neither of them 0", "be a batch of token ids with"
    check_shape(name, ids.shape, axes, way_out, must=must)
    check_dtype(name, ids, "int", "hold whole numbers, the tokens' rows in the table")
    if vocab_size is not None and _look:
        check_rows(name, ids, vocab_size)


def check_rows(name: str, ids: Any, vocab_size: int) -> None:
    """Refuse ids that are no rows of a table; inside compiled code none is seen."""
    rule = f"the rows of an embedding table of vocab_size={vocab_size}"
    _check_range(name, ids, vocab_size, None, rule)
