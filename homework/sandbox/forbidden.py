"""Pieces that an answer may not use: inside the sandbox they are not there.

In their place stands something of the same name that raises, and notes that it was
called. Nothing depends on the note, which only becomes a sentence in the report: an
answer that deletes it still has no result.
"""

import contextlib
import ctypes
import importlib.util
import inspect
import json
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

ROOTS = ("torch", "jax", "flax", "optax", "scipy")
FRAMEWORKS = ("torch", "jax", "flax", "flax.nnx", "optax", "scipy.special")
USED: dict[str, None] = {}  # names, in the order of the calls
_LIST = Path(__file__).with_name("forbidden.json")


class ForbiddenPieceError(RuntimeError):
    """A piece was called that the question asks for."""


def piece(name: str) -> ForbiddenPieceError:
    """Note a call, and give the error to raise."""
    USED[name] = None
    return ForbiddenPieceError(f"{name} may not be called in this question.")


def stub(name: str) -> Callable:
    """What stands in the place of a function."""

    def forbidden(*args: Any, **kwargs: Any) -> Any:
        raise piece(name)

    forbidden.__name__ = forbidden.__qualname__ = name.rpartition(".")[2]
    return forbidden


def shut(names: tuple[str, ...] | None = None) -> None:
    """Replace pieces in every module of a framework that has been imported."""
    names = tuple(json.loads(_LIST.read_text())) if names is None else names
    if not names:
        return
    for path, module in list(sys.modules.items()):
        if path.partition(".")[0] in ROOTS and isinstance(module, ModuleType):
            _shut_module(module, names)
    if "torch" in sys.modules:
        _shut_torch(sys.modules["torch"], names)


class Later:
    """On `sys.meta_path`: shuts pieces in what is imported later."""

    def __init__(self) -> None:
        self.busy: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Where others find it, with more to do once it is there."""
        root = name.partition(".")[0]
        if root not in ROOTS or name in self.busy:
            return None
        self.busy.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.busy.discard(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            whole = getattr(sys.modules.get(root), "__spec__", None)
            if name in FRAMEWORKS:
                shut()
            elif not getattr(whole, "_initializing", True):
                _shut_module(module, tuple(json.loads(_LIST.read_text())))

        spec.loader.exec_module = exec_module
        return spec


def _shut_module(module: ModuleType, names: tuple[str, ...]) -> None:
    for key, value in list(vars(module).items()):
        plain = issubclass(type(value), _PLAIN)  # others may do anything when asked
        own = value.__name__ if plain else key
        if not {key.strip("_"), own.strip("_")} & set(names) or own == "forbidden":
            continue
        if isinstance(value, type):
            _shut_class(value)
        elif not isinstance(value, ModuleType) and callable(value):
            setattr(module, key, stub(own.strip("_")))


_PLAIN = (FunctionType, BuiltinFunctionType, type)


def _shut_class(cls: type) -> None:
    """In place: whoever holds the class, or inherits from it, has it without code."""
    for key, value in list(vars(cls).items()):
        if inspect.isfunction(value) and key not in ("__new__", "__init_subclass__"):
            with contextlib.suppress(AttributeError, TypeError):
                setattr(cls, key, stub(cls.__name__))


def _shut_torch(torch: Any, names: tuple[str, ...]) -> None:
    """Methods of tensors, and the kernels that every way of calling ends in.

    A kernel is what a traced graph, another thread and `torch.ops` call as well.
    """
    for name in names:
        for place in (torch.Tensor, torch.ops.higher_order):
            if hasattr(place, name):
                setattr(place, name, stub(name))
    # TransformerEncoderLayer as its kernel is called; scaled_dot_product in all forms.
    snakes = [re.sub(r"(?<=[a-z])(?=[A-Z])", "_", n).lower() for n in names]
    stems = tuple({n[:18] for n in (*names, *(s for s in snakes if "_" in s))})
    kernels = torch._C._dispatch_library("IMPL", "aten", "", __file__, 1)
    # It lives for ever, and no name leads to it: there is no way back.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kernels))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for full in torch._C._dispatch_get_all_op_names():
            space, _, rest = full.partition("::")
            op = rest.partition(".")[0]
            if space == "aten" and "backward" not in op and _any_in(stems, op):
                with contextlib.suppress(RuntimeError):
                    kernels.impl(rest, "CPU", stub(op.strip("_")))
                # In place: torch.compile asks for their overloads when it's imported.
                packet = getattr(torch.ops.aten, op)
                for way in (packet, *(getattr(packet, o) for o in packet.overloads())):
                    way._op = stub(op.strip("_"))


def _any_in(stems: tuple[str, ...], text: str) -> bool:
    return any(stem in text for stem in stems)
