"""Tensors: of one framework, floating-point, token ids."""

from typing import Any

from course_lib.checks.numbers import check_rate


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


def check_logits(logits: Any, targets: Any, label_smoothing: float) -> None:
    """Refuse scores of classes and targets that do not fit each other.

    Args:
        logits: Anything with `.shape` and `.dtype`, one row of scores for each target.
        targets: The classes, whole numbers.
        label_smoothing: Share of the target's weight that is spread over all classes.
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


def check_ids(name: str, ids: Any) -> None:
    """Refuse what is not a batch of token ids.

    Args:
        name: What the caller calls them.
        ids: Anything with `.shape` and `.dtype`.
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
