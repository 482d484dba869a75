"""What a family of checkpoints says about itself, and how its names become ours."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How a checkpoint becomes a model of ours.

    Attributes:
        model: Name of our class, the same in both wings.
        config: What it is built with.
        options: What else it is built with, by name.
        prefix: What their names may begin with or not; heads stand outside of it.
        table: Their name of a part to ours, "#" for the number of a layer. A row that
            ends in a parameter's own name holds for that parameter alone.
        unused: Parts, or parameters, that a checkpoint may hold and this class has no
            use for.
        prepare: What is done to the arrays before they are renamed.
    """

    model: str
    config: Any
    options: Mapping[str, Any] = field(default_factory=dict)
    prefix: str
    table: Mapping[str, str]
    unused: frozenset[str] = frozenset()
    prepare: Callable[[Arrays], Arrays] = lambda arrays: arrays


def within(table: Mapping[str, str], part: str) -> dict[str, str]:
    """The same table for a model that stands inside another one.

    Args:
        table: Their names to ours.
        part: What the inner model is called in ours.

    Returns:
        Their names to ours, seen from outside.
    """
    return {theirs: f"{part}.{ours}" for theirs, ours in table.items()}


def generic(name: str) -> str:
    """A name with "#" for the number of its layer."""
    return re.sub(r"(?<=\.)\d+(?=\.)", "#", name, count=1)


def rename(arrays: Arrays, plan: Plan) -> Arrays:
    """Call every array of a checkpoint what our model calls it.

    Args:
        arrays: By their names.
        plan: The table.

    Returns:
        By our names. What the table does not know keeps its name, in quotes, so that
        the model refuses it by that name.

    Raises:
        ValueError: Arrays that our model holds as one differ.
    """
    found: Arrays = {}
    source: dict[str, str] = {}
    for name, array in plan.prepare(arrays).items():
        inner = name.removeprefix(plan.prefix)
        number = re.search(r"\.(\d+)\.", inner)
        part, _, leaf = generic(inner).rpartition(".")
        if not plan.unused.isdisjoint((generic(inner), part)):
            continue
        ours = plan.table.get(generic(inner))
        if ours is None and part in plan.table:
            ours = f"{plan.table[part]}.{leaf}"
        if ours is None:
            found[repr(name)] = array  # in quotes it can be no name of ours
            continue
        if number:
            ours = ours.replace("#", number[1])
        if ours in found and not np.array_equal(found[ours], array):
            raise ValueError(
                f"{source[ours]} and {name} must be equal, since our model holds them "
                f"as one, {ours}: they differ. The checkpoint was made with parts "
                "apart that its configuration calls shared."
            )
        found[ours], source[ours] = array, name
    return found
