"""How a family's checkpoints become models of ours: a table of names, renaming.

A family's module offers `ARCHITECTURES`, and `conversion`, which translates config.json
for one of them, given the names of the arrays that the checkpoint holds.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
# How parts of heads begin, which stand outside of the prefix.
_HEADS = re.compile("lm_head|cls|classifier|pre_classifier|vocab_")


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """How a checkpoint becomes a model of ours."""

    model: str  #: Name of our class, the same in both wings
    config: Any  #: What it is built with
    #: What else it is built with, by name.
    options: Mapping[str, Any] = field(default_factory=dict)
    prefix: str  #: What their names may begin with or not; heads stand outside of it
    #: Their name of a part to ours, "#" for the number of a layer. A row that ends in a
    #: parameter's own name holds for that parameter alone.
    table: Mapping[str, str]
    #: Parts, or parameters, that a checkpoint may hold and this class has no use for.
    unused: frozenset[str] = frozenset()
    #: Parameters stored with axes of size 1 that ours lacks, and which these are.
    squeeze: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    #: Our parts that lie within one of theirs, which `prepare` splits, and its name.
    packed: Mapping[str, str] = field(default_factory=dict)
    #: What is done to the arrays before they are renamed.
    prepare: Callable[[Arrays], Arrays] = lambda arrays: arrays


def pairs(rows: str, theirs: str = "", ours: str = "") -> dict[str, str]:
    """A table of names from text, a pair a line, and what all of them begin with."""
    lines = (line.split() for line in rows.splitlines() if line)
    return {theirs + name: ours + our_name for name, our_name in lines}


def within(table: Mapping[str, str], part: str) -> dict[str, str]:
    """The same table for a model that is the part `part` of another one."""
    return {theirs: f"{part}.{ours}" for theirs, ours in table.items()}


def generic(name: str) -> str:
    """A name with "#" for the number of its layer."""
    return re.sub(r"(?<=\.)\d+(?=\.)", "#", name, count=1)


def rename(arrays: Arrays, conversion: Conversion) -> Arrays:
    """Give every array of a checkpoint its name in our model.

    What the table does not know keeps its name, in quotes, so that the model refuses it
    by that name. Arrays that our model holds as one must be equal.
    """
    table, found, source = conversion.table, {}, {}
    for name, array in conversion.prepare(arrays).items():
        inner = name.removeprefix(conversion.prefix)
        part, _, leaf = generic(inner).rpartition(".")
        if not conversion.unused.isdisjoint((generic(inner), part)):
            continue
        ours = table.get(generic(inner))
        if ours is None and part in table:
            ours = f"{table[part]}.{leaf}"
        if ours is None:
            found[repr(name)] = array  # in quotes it can be no name of ours
            continue
        if array.dtype.kind != "f":
            raise ValueError(
                f"{name} must hold floating-point numbers, the model's weights: got "
                f"{array.dtype}. A quantized checkpoint is not read."
            )
        axes = conversion.squeeze.get(inner, ())
        if array.ndim > max(axes, default=-1) and {*array.shape[: len(axes)]} == {1}:
            array = array.squeeze(axes)
        if number := re.search(r"\.(\d+)\.", inner):
            ours = ours.replace("#", number[1])
        if ours in found and not np.array_equal(found[ours], array):
            raise ValueError(
                f"{source[ours]} and {name} must be equal, since our model holds them "
                f"as one, {ours}: they differ. The checkpoint was made with parts "
                "apart that its configuration calls shared."
            )
        found[ours], source[ours] = array, name
    return found


def in_their_names(text: str, conversion: Conversion, held: Collection[str]) -> str:
    """A text about parameters of ours, each with its name in the file behind it.

    `held` are the names in the file, which show whether it has the prefix.
    """
    prefix = conversion.prefix
    prefix = prefix if any(name.startswith(prefix) for name in held) else ""
    theirs = {ours: name for name, ours in conversion.table.items()}
    theirs |= conversion.packed

    def both(found: re.Match[str]) -> str:
        part, _, leaf = found[0].rpartition(".")
        name = theirs.get(generic(part))
        if name is None:
            return found[0]
        for number in re.findall(r"\.(\d+)\.", found[0]):
            name = name.replace("#", number)
        name = name if _HEADS.match(name) else prefix + name
        return f"{found[0]} (there {name}.{leaf})"

    return re.sub(r"(?<!')\b[a-z_]+(\.\w+)+", both, text)
