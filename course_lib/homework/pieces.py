"""Which forbidden pieces an answer calls, as far as its own text says it.

This is for a notebook, where the mark is the student's own. A class is marked in rooms
in which the pieces don't work, whoever calls them.
"""

import ast
import inspect
from collections.abc import Iterator
from textwrap import dedent
from types import BuiltinFunctionType
from typing import Any

from course_lib.homework.exercise import PACKAGE
from course_lib.homework.running import tensor_type

FRAMEWORKS = ("torch", "jax", "jaxlib", "flax", "optax")


def called(answer: Any, forbidden: tuple[str, ...], wing: str) -> tuple[str, ...]:
    """Names of the forbidden pieces, in the order of the calls.

    Args:
        answer: A student's function or class, or such a piece itself.
        forbidden: As in `Exercise`.
        wing: "torch" or "nnx": whose tensors have methods.
    """
    words = {_plain(name) for name in forbidden}
    found: dict[str, None] = {}
    for name, piece in [(getattr(answer, "__name__", ""), answer), *_calls(answer)]:
        module = str(getattr(piece, "__module__", None) or "")
        root, *rooms = module.split(".")
        last = str(getattr(piece, "__name__", name.rpartition(".")[2]))
        asked = not words.isdisjoint(map(_plain, (*rooms, last)))
        if root == PACKAGE and rooms[:1] in (["homework"], ["arrays"]):
            continue  # the toy model of an exercise, and what turns tensors to NumPy
        if root == PACKAGE and (asked or PACKAGE in forbidden):
            found[f"{module}.{getattr(piece, '__qualname__', last)}"] = None
        elif piece is None:  # a method of a tensor, or of what only running it makes
            if asked and hasattr(tensor_type(wing), last) and name[:5] != "self.":
                found[last] = None
        elif asked and (root in FRAMEWORKS or isinstance(piece, BuiltinFunctionType)):
            found[last] = None
        if piece is answer and found:
            break  # it is such a piece, and its text is its own affair
    return tuple(found)


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _calls(answer: Any) -> Iterator[tuple[str, Any]]:
    """Every call in the text of an answer: how it is written, and what it leads to."""
    some = vars(answer).values() if inspect.isclass(answer) else [answer]
    for part in some:
        try:
            part = inspect.unwrap(part)
            if not inspect.isfunction(part):
                continue
            tree = ast.parse(dedent(inspect.getsource(part)))
            names = part.__globals__ | dict(inspect.getclosurevars(part).nonlocals)
        except (OSError, SyntaxError, ValueError):
            continue  # no text, or a lambda's, which is a part of a line
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                first, *rest = ast.unparse(node.func).split(".")
                piece = names.get(first)
                for word in rest:
                    piece = getattr(piece, word, None)
                yield ".".join((first, *rest)), piece
