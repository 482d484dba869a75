"""What marker and sandbox say to each other: frames that can't execute anything.

A frame is two lengths, a header in JSON and the arrays that the header describes, one
behind the other as they lie in memory. The marker believes nothing of it: lengths,
kinds and shapes are compared with what came, and what is left is data.
"""

import json
import math
import os
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

LARGEST_HEADER = 2**24  # a notebook's code
LARGEST_OUTCOME = 2**16  # the header of any other frame
MOST_NOTES = 100  # of calls; one is enough for a person to look
MOST_STATEMENTS = 2000  # that explore, and say so before they do
EXPLORES, LOADED = b'"explores"', b'"loaded"'  # in the headers that say so
KINDS = ("|b1", "|i1", "|u1", *(f"<{k}" for k in ("i2", "u2", "i4", "u4", "i8", "u8")))
KINDS += ("<f4", "<f8", "<c8", "<c16")
LENGTHS = struct.Struct("<II")
pack = LENGTHS.pack


def frame(header: dict[str, Any], arrays: list[np.ndarray] | tuple = ()) -> bytes:
    """A header and its arrays as bytes."""
    arrays = [np.asarray(x) for x in arrays]
    arrays = [x.astype(x.dtype.newbyteorder("<"), order="C") for x in arrays]
    described = [{"kind": x.dtype.str, "shape": x.shape} for x in arrays]
    text = json.dumps({**header, "arrays": described}).encode("ascii")
    data = b"".join(x.tobytes() for x in arrays)
    return LENGTHS.pack(len(text), len(data)) + text + data


def noting(
    results: int, part: int, write: Callable[[int, bytes], int] = os.write
) -> Callable[[str, str], None]:
    """What writes a note of a call at once, so that nobody can take it back.

    Args:
        results: The file that frames go to.
        part: The question; -1 for none.
        write: As it was before a line of a stranger's ran.
    """

    def note(what: str, name: str) -> None:
        plain = "".join(c for c in name[:200] if c.isprintable() and c not in '"\\')
        text = f'{{"note": "{what}", "part": {part}, "name": "{plain}", "arrays": []}}'
        text = text.encode("ascii", "replace")
        write(results, pack(len(text), 0) + text)

    return note


def frames(
    raw: bytes, largest_header: int = LARGEST_HEADER
) -> Iterator[tuple[dict[str, Any], list[np.ndarray]]]:
    """Every frame up to the first that isn't one.

    Each is read when it is asked for, in time that is linear in its length: who takes
    no more than can be right pays for no more.
    """
    start = 0
    while len(raw) - start >= LENGTHS.size:
        n_text, n_data = LENGTHS.unpack_from(raw, start)
        middle = start + LENGTHS.size + n_text
        end = middle + n_data
        if n_text > largest_header or end > len(raw):
            return
        try:
            text = raw[middle - n_text : middle].decode("ascii")
            header = json.loads(text)
            if not isinstance(header, dict):
                return
            arrays = _arrays(header.pop("arrays", None), raw[middle:end])
        except (ValueError, RecursionError):
            return
        yield header, arrays
        start = end


def _arrays(described: Any, data: bytes) -> list[np.ndarray]:
    if not isinstance(described, list) or len(described) > 1000:
        raise ValueError("no list of arrays")
    found, start = [], 0
    for one in described:
        if not isinstance(one, dict):
            raise ValueError("no array")
        kind, shape = (one.get(k) for k in ("kind", "shape"))
        if kind not in KINDS or not isinstance(shape, list) or len(shape) > 16:
            raise ValueError("no array")
        if any(type(n) is not int or n < 0 for n in shape):
            raise ValueError("no size")
        dtype = np.dtype(kind)
        n_bytes = math.prod(shape) * dtype.itemsize
        if n_bytes > len(data) - start:
            raise ValueError("fewer numbers than its shape has")
        mine = data[start : start + n_bytes]
        found.append(np.frombuffer(mine, dtype).reshape(shape))
        start += n_bytes
    return found


def clean(text: Any, most: int = 600) -> str:
    """Text from a stranger, as every encoding can hold it: one line, not too long."""
    text = str(text)[: most + 1] if isinstance(text, str) else ""
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= most else text[:most] + " …"


def fold(value: Any, arrays: list[np.ndarray]) -> Any:
    """A task's inputs as JSON, its arrays put aside; `unfold` is the way back."""
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, (tuple, list)):
        return [fold(x, arrays) for x in value]
    if isinstance(value, dict):
        return {"dict": {k: fold(x, arrays) for k, x in value.items()}}
    if isinstance(value, (type(None), bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    # A small object that an exercise hands to the answer: its class, and what it holds.
    name = f"{type(value).__module__}:{type(value).__qualname__}"
    return {"object": name, "holds": fold(vars(value), arrays)}


def unfold(value: Any, arrays: list[np.ndarray]) -> Any:
    """What `fold` folded: lists become tuples. Only for what the marker has sent."""
    if isinstance(value, list):
        return tuple(unfold(x, arrays) for x in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]].copy()
    if "dict" in value:
        return {k: unfold(x, arrays) for k, x in value["dict"].items()}
    import importlib

    module, _, name = value["object"].partition(":")
    made = object.__new__(getattr(importlib.import_module(module), name))
    vars(made).update(unfold(value["holds"], arrays))
    return made
