"""The two wings behind one face, so that a test of a piece is written once.

JAX compiles each operation anew for each shape: most of what the tests would cost. So a
claim is proved in PyTorch for every option, in NNX for a few that stand for all, unless
`WINGS=all` is set.
"""

import importlib
import importlib.util
import inspect
import os
from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from memory import stay_small

ALL = os.environ.get("WINGS") == "all"


class Wing:
    """What a test needs of a wing: arrays in, arrays out, modules, gradients."""

    name: str

    def __init__(self):
        self.lib = importlib.import_module(f"course_lib.{self.name}")

    def module(self, name: str) -> Any:
        """The wing's module of that name (`ct.attention` is the function)."""
        return importlib.import_module(f"course_lib.{self.name}.{name}")


class Torch(Wing):
    name = "torch"

    def array(self, x, dtype=None):
        import torch

        return torch.from_numpy(np.array(x, dtype=dtype))

    def numpy(self, x) -> np.ndarray:
        return x.detach().cpu().numpy()

    def make(self, piece: type, *args, seed: int = 0, **kwargs):
        """A module of this wing in evaluation mode, drawn from `seed`."""
        import torch

        torch.manual_seed(seed)
        return piece(*args, **kwargs).eval()

    def dropouts(self, model) -> dict[str, Any]:
        """Every dropout layer of a model by its path."""
        import torch

        return {
            name: part
            for name, part in model.named_modules()
            if isinstance(part, torch.nn.Dropout)
        }

    def rate(self, dropout, new: float | None = None) -> float:
        """A dropout layer's rate, set first if there is a new one."""
        dropout.p = dropout.p if new is None else new
        return dropout.p

    def cast(self, model, dtype: str):
        import torch

        return model.to(getattr(torch, dtype))

    def grad(self, f: Callable, *arrays: np.ndarray) -> list[np.ndarray]:
        """Gradients of the scalar `f(*arrays)` in every argument."""
        tensors = [self.array(a).requires_grad_() for a in arrays]
        f(*tensors).backward()
        return [
            np.zeros(t.shape) if t.grad is None else t.grad.numpy() for t in tensors
        ]

    def parameter_grads(self, model, f: Callable) -> dict[str, np.ndarray]:
        """Gradients of the scalar `f(model)` in every parameter, PyTorch's layout."""
        model.zero_grad()
        f(model).backward()
        return {n: p.grad.numpy().copy() for n, p in model.named_parameters()}


class NNX(Wing):
    name = "nnx"

    def array(self, x, dtype=None):
        import jax.numpy as jnp

        return jnp.asarray(np.asarray(x, dtype=dtype))

    def numpy(self, x) -> np.ndarray:
        return np.asarray(x)

    def make(self, piece: type, *args, seed: int = 0, **kwargs):
        """A module of this wing in evaluation mode, drawn from `seed`."""
        stay_small()  # each size that a test draws is compiled anew
        from flax import nnx

        model = piece(*args, **kwargs, rngs=nnx.Rngs(seed))
        model.eval()
        return model

    def dropouts(self, model) -> dict[str, Any]:
        """Every dropout layer of a model by its path."""
        from flax import nnx

        return {
            ".".join(map(str, path)): part
            for path, part in nnx.iter_graph(model)
            if isinstance(part, nnx.Dropout)
        }

    def rate(self, dropout, new: float | None = None) -> float:
        """A dropout layer's rate, set first if there is a new one."""
        dropout.rate = dropout.rate if new is None else new
        return dropout.rate

    def cast(self, model, dtype: str):
        import jax
        from flax import nnx

        state = nnx.state(model, nnx.Param)
        nnx.update(model, jax.tree.map(lambda a: a.astype(dtype), state))
        for _, part in nnx.iter_graph(model):  # the framework's table has its first
            if isinstance(part, nnx.Embed) and part.dtype is not None:
                part.dtype = dtype
        return model

    def grad(self, f: Callable, *arrays: np.ndarray) -> list[np.ndarray]:
        """Gradients of the scalar `f(*arrays)` in every argument."""
        import jax

        given = [self.array(a) for a in arrays]
        grads = jax.grad(f, argnums=tuple(range(len(given))))(*given)
        return [np.asarray(g) for g in grads]

    def parameter_grads(self, model, f: Callable) -> dict[str, np.ndarray]:
        """Gradients of the scalar `f(model)` in every parameter, PyTorch's layout."""
        from flax import nnx

        grads = nnx.jit(nnx.grad(f))(model)
        as_model = nnx.clone(model)
        nnx.update(as_model, grads)
        return self.lib.get_weights(as_model)


WINGS = {"torch": Torch, "nnx": NNX}
FRAMEWORKS = {"torch": "torch", "nnx": "flax"}


def get_wing(name: str) -> Wing:
    """The wing of that name; the test is skipped where its framework is missing."""
    if importlib.util.find_spec(FRAMEWORKS[name]) is None:
        pytest.skip(f"{FRAMEWORKS[name]} is not installed")
    return WINGS[name]()


def each(names: str | tuple[str, ...], options: Iterable, nnx: Collection):
    """Run a test with every option in PyTorch, and in NNX with those of `nnx`.

    Args:
        names: The arguments that take an option, beside `wing`.
        options: What they take; a tuple for several names.
        nnx: The options that stand for all.
    """
    several = not isinstance(names, str)
    return pytest.mark.parametrize(
        ("wing", *names) if several else ("wing", names),
        [
            (wing, *option) if several else (wing, option)
            for wing in WINGS
            for option in options
            if ALL or wing == "torch" or option in nnx
        ],
        indirect=["wing"],
    )


def few(options: Iterable, n: int) -> list:
    """The first options, for tests that compare the wings with each other."""
    return list(options)[: None if ALL else n]


def drawn(*strategies, examples: int = 30, **named):
    """Hypothesis's `given` for a test of a wing; NNX sees a third of the examples."""

    def decorate(test: Callable) -> Callable:
        counts = {"torch": examples, "nnx": examples if ALL else -(-examples // 3)}
        runs = {
            wing: settings(max_examples=n)(given(*strategies, **named)(test))
            for wing, n in counts.items()
        }

        def run(wing, **arguments):
            runs[wing.name](wing=wing, **arguments)

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        run.__signature__ = inspect.signature(runs["torch"])
        return run

    return decorate


def assert_refused(call: Callable[[], object], words: Iterable[str]) -> str:
    """The call raises a ValueError with all of these words; returns what it says."""
    with pytest.raises(ValueError) as error:  # noqa: PT011 the words are checked below
        call()
    for word in words:
        assert word in str(error.value), str(error.value)
    return str(error.value)


def assert_close(got, expected, dtype: str = "float64"):
    """Equal up to the course's tolerance: 1e-10 or 1e-5 of the largest entry."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape, f"shape {got.shape}, expected {expected.shape}"
    tolerance = {"float64": 1e-10, "float32": 1e-5}[dtype]
    size = max(1e-30, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * size)
