"""Whole models: their weights, images, steps, graphs.

`x`, `images`, `past` and the like are shapes; a mask, edges and token types come
themselves.
"""

from typing import Any, TypeVar

from course_lib.checks.attention import Shape
from course_lib.checks.numbers import check_size, nearest_divisor
from course_lib.checks.tensors import check_dtype, check_ids, check_shape

__all__ = [
    "check_images", "check_past", "check_patches", "check_pooler",
    "check_steps", "check_token_types", "check_vocabularies", "check_weights",
]  # fmt: skip

Pooler = TypeVar("Pooler")


def check_weights(expected: dict[str, Shape], weights: dict[str, Any]) -> None:
    """Refuse weights that do not fit a model, and list everything that does not.

    Args:
        expected: The shape of each parameter of the model, by path.
        weights: The arrays offered, by path.
    """
    missing = sorted(expected.keys() - weights.keys())
    extra = sorted(weights.keys() - expected.keys())
    differ = [
        f"{name} (model {expected[name]}, given {tuple(weights[name].shape)})"
        for name in sorted(expected.keys() & weights.keys())
        if tuple(weights[name].shape) != expected[name]
    ]
    if missing or extra or differ:
        raise ValueError(
            "weights must match the model's parameters one for one. "
            f"Missing: {', '.join(missing) or 'none'}. "
            f"Not expected: {', '.join(extra) or 'none'}. "
            f"Other shape: {', '.join(differ) or 'none'}. "
            "Build the model with the configuration that the weights were made with."
        )


def check_images(images: Shape, n_channels: int, image_size: tuple[int, int]) -> None:
    """Refuse images of another size than the model was built for, `B C H W`."""
    size = "{} {} {}".format(n_channels, *image_size)
    way_out = (
        "Gray images get a channel axis with images[:, None]; channels at the end move "
        "to the front first."
    )
    axes = f"batch {size}, channels before height and width"
    check_shape("images", images, axes, way_out)


def check_past(past: Shape, length: int, n_series: int) -> None:
    """Refuse windows of another size than the model was built for, `B P C`."""
    way_out = "A single series gets its axis with past[..., None]."
    axes = f"batch {length} {n_series}, time before series"
    check_shape("past", past, axes, way_out)


def check_steps(x: Shape, d_in: int, mask: Any = None) -> None:
    """Refuse what cannot be read step by step: `*B T Din`, a mask `*B T` or None."""
    check_shape("x", x, f"... steps {d_in}, with at least one step")
    if mask is not None:
        check_dtype(
            *("mask", mask, "bool", "be boolean, True at the steps to read"),
            "From numbers that are 0 at padding, write mask != 0.",
        )
        if tuple(mask.shape) != tuple(x[:-1]):
            raise ValueError(
                "mask must say for each step whether to read it: got "
                f"{tuple(mask.shape)} for steps {tuple(x[:-1])}."
            )


def check_vocabularies(target: int, draft: int) -> None:
    """Refuse a draft whose tokens are not the target's."""
    if target != draft:
        raise ValueError(
            "model and draft must share a vocabulary: got vocab_size="
            f"{target} and {draft}. Train the draft with the model's tokenizer."
        )


def check_patches(image_size: Shape, patch_size: int) -> None:
    """Refuse square patches that do not cover an image, height by width, exactly."""
    check_size("patch_size", patch_size)
    if len(image_size) != 2:
        raise ValueError(
            f"image_size must be one number, or height and width: got {image_size}."
        )
    for name, size in zip(("height", "width"), image_size, strict=True):
        check_size(name, size)
        if size % patch_size:
            raise ValueError(
                f"patch_size must divide the image's {name}: got {name}={size}, "
                f"patch_size={patch_size} (remainder {size % patch_size}). The nearest "
                f"that fits is patch_size={nearest_divisor(size, patch_size)}."
            )


def check_token_types(token_types: Any, ids: Shape) -> None:
    """Refuse segments that do not say one thing about each token; None passes."""
    if token_types is None:
        return
    check_ids("token_types", token_types)
    if tuple(token_types.shape) != tuple(ids):
        raise ValueError(
            "token_types must have one entry for each token: got "
            f"{tuple(token_types.shape)} for ids {tuple(ids)}."
        )


def check_pooler(pooler: Pooler | None) -> Pooler:
    """Refuse to sum up with a layer that was not built; give it back if it was."""
    if pooler is None:
        raise ValueError(
            "pool needs the pooler, and this model was built with pooler=False: got "
            "None. Build it with BERT(config), or take the first vector, hidden[:, 0]."
        )
    return pooler
