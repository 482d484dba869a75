"""Checkpoints in Hugging Face's format, read into either wing.

A table for each family says what its parts are called here, and which choices of its
configuration our models can make; the weights then go through the wing's `set_weights`.
Only safetensors is read, never pickle. No framework is imported before `load` is told
which, and nothing is fetched unless it is given a name.
"""

import importlib
from pathlib import Path
from typing import Any

from course_lib.checks import check_choice
from course_lib.hub import bert, decoders, gpt2, marian, vit
from course_lib.hub.conversion import Conversion, in_their_names, rename
from course_lib.hub.fields import Fields
from course_lib.hub.files import find, index, read, read_config
from course_lib.hub.pinned import MINILM, Pinned, fetch
from course_lib.hub.tokenizer import end_tokens, load_tokenizer

__all__ = ["MINILM", "Pinned", "end_tokens", "fetch", "load", "load_tokenizer"]

FAMILIES = {"gpt2": gpt2, "marian": marian, "vit": vit}
FAMILIES |= bert.FAMILIES | decoders.FAMILIES


def load(
    path_or_name: str | Path, wing: str = "torch", *, dtype: str = "float32"
) -> Any:
    """Read a checkpoint that others have trained.

    Args:
        path_or_name: A folder with config.json and model.safetensors (or its parts and
            their index), or a name on the Hugging Face Hub, which is fetched once and
            then kept.
        wing: "torch" or "nnx".
        dtype: Of the weights, "float32", "bfloat16" or "float16", whatever the file
            has. 16 bits are for writing: `fit` trains 32.

    Returns:
        Our model in evaluation mode, with its `config`; `architectures` in
        config.json decides which one, so that a type checker learns it from you alone:
        `gpt: ct.GPT = hub.load(...)`. Dropout has one rate here, the residual stream's,
        where theirs has several; in evaluation nothing is dropped.

    Raises:
        ValueError: There is no checkpoint, or it is pickled; a field of its
            configuration is not known or asks for what our model does not have; weights
            are missing, not expected or of another shape, all of them listed.
    """
    check_choice("wing", wing, ("torch", "nnx"))
    check_choice("dtype", dtype, ("float32", "bfloat16", "float16"))
    folder = find(path_or_name)
    fields = Fields(read_config(folder), folder / "config.json")
    files = index(folder)
    conversion = _conversion(fields, set(files))
    weights = rename(read(files), conversion)
    bridge = importlib.import_module(f"course_lib.{wing}.bridge")
    piece = getattr(importlib.import_module(f"course_lib.{wing}"), conversion.model)
    try:
        model = bridge.from_weights(
            piece, weights, conversion.config, dtype=dtype, **conversion.options
        )
    except ValueError as error:
        raise ValueError(
            f"the weights of {folder} do not fit its config.json: "
            f"{in_their_names(str(error), conversion, files)}"
        ) from None
    model.eval()
    return model


def _conversion(fields: Fields, names: set[str]) -> Conversion:
    stated = fields.take("architectures", None) or []
    known = {a: f for f in FAMILIES.values() for a in f.ARCHITECTURES}
    if len(stated) != 1 or stated[0] not in known:
        raise ValueError(
            f"architectures in {fields.where} must be one of {', '.join(known)}: got "
            f"{', '.join(map(str, stated)) or 'none'}."
        )
    family = known[stated[0]]
    model_type = next(name for name, f in FAMILIES.items() if f is family)
    fields.must("model_type", model_type, default=model_type)
    try:
        return family.conversion(fields, stated[0], names)
    except (TypeError, AttributeError, KeyError) as error:  # such as text for a number
        raise ValueError(
            f"{fields.where} must have fields of the kinds that this architecture has: "
            f"one is of another ({error})."
        ) from error
