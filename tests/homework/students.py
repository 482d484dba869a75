"""Students' answers: written from the exercises' texts, not from the marker's code.

An answer takes `xp` first, the functions of a framework under one name each, and then
what the exercise gives. `@right(name)` registers an answer that must pass, `wrong(name,
words, f)` one that must be named by the slip whose sentence contains these words. An
exercise that asks for a class has `parts`, what the class is made of, and functions
that are its forward pass: they take `xp`, the layer, and the arguments.
"""

import functools
from collections import defaultdict

RIGHT = defaultdict(list)  # by exercise: answers
WRONG = defaultdict(dict)  # by exercise: answers by words of the slip's sentence
PARTS = {}


def right(*names):
    def register(f):
        for name in names:
            RIGHT[name].append(f)
        return f

    return register


def wrong(names, words, f):
    for name in names.split():
        assert words not in WRONG[name], f"{name}: {words} twice"
        WRONG[name][words] = f


def parts(*names):
    def register(f):
        PARTS.update(dict.fromkeys(names, f))
        return f

    return register


class Torch:
    """PyTorch. What is not here has the same name in both."""

    name = "torch"

    def __getattr__(self, name):
        import torch

        return getattr(torch, name)

    def softmax(self, x, axis=-1):
        return x.softmax(axis)

    def permute(self, x, axes):
        return x.permute(axes)

    def variance(self, x, axis=-1, ddof=0):
        return x.var(dim=axis, correction=ddof, keepdim=True)

    def take(self, x, ids, axis=-1):
        return x.take_along_dim(ids.long(), dim=axis)

    def order(self, x):
        """Where the smallest numbers of the last axis stand, equals in order."""
        return x.argsort(dim=-1, stable=True)

    def sort(self, x):
        return x.sort(dim=-1).values

    def roll(self, x, by, axis):
        return x.roll(by, axis)

    def flip(self, x, axis):
        return x.flip(axis)

    def real(self, x):
        return x.float()

    def whole(self, x):
        return x.long()

    def array(self, x):
        import torch

        return torch.as_tensor(x)

    def gelu(self, x, rough=False):
        import torch

        how = "tanh" if rough else "none"
        return torch.nn.functional.gelu(x, approximate=how)

    def relu(self, x):
        return x.relu()

    def layer(self, build, forward):
        from torch import nn

        xp = self

        class Layer(nn.Module):
            def __init__(self, *args):
                super().__init__()
                self.args = args
                for name, (kind, *sizes) in build(*args).items():
                    setattr(self, name, xp.part(kind, sizes))

            def forward(self, *args, **kwargs):
                return forward(xp, self, *args, **kwargs)

        return Layer

    def part(self, kind, sizes):
        import torch
        from torch import nn

        import course_lib.torch as ct

        if kind == "linear":
            return nn.Linear(*sizes)
        if kind == "norm":
            return nn.LayerNorm(*sizes, eps=1e-5)
        if kind == "heads":
            return ct.MultiHeadAttention(*sizes)
        if kind == "mlp":
            return ct.FeedForward(*sizes)
        if kind == "table":
            return nn.Embedding(*sizes)
        if kind == "blocks":
            return nn.ModuleList(self._block(*sizes[1:]) for _ in range(sizes[0]))
        return nn.Parameter(torch.zeros(*sizes))

    def _block(self, parts):
        from torch import nn

        block = nn.Module()
        for name, (kind, *sizes) in parts.items():
            if kind == "parts":
                block.add_module(name, self._block(*sizes))
            else:
                block.add_module(name, self.part(kind, sizes))
        return block

    def tied(self, table, x):
        return x @ table.weight.T


class JAX:
    """JAX and NNX."""

    name = "nnx"

    def __getattr__(self, name):
        import jax
        import jax.numpy as jnp

        return getattr(jnp if hasattr(jnp, name) else jax.nn, name)

    def softmax(self, x, axis=-1):
        import jax

        return jax.nn.softmax(x, axis=axis)

    def permute(self, x, axes):
        return x.transpose(axes)

    def variance(self, x, axis=-1, ddof=0):
        return x.var(axis=axis, ddof=ddof, keepdims=True)

    def take(self, x, ids, axis=-1):
        import jax.numpy as jnp

        return jnp.take_along_axis(x, ids, axis=axis)

    def order(self, x):
        return x.argsort(axis=-1, stable=True)

    def real(self, x):
        return x.astype("float32")

    def whole(self, x):
        return x.astype(int)

    def array(self, x):
        import jax.numpy as jnp

        return jnp.asarray(x)

    def gelu(self, x, rough=False):
        import jax

        return jax.nn.gelu(x, approximate=rough)

    def layer(self, build, forward):
        from flax import nnx

        xp = self

        class Layer(nnx.Module):
            def __init__(self, *args, rngs):
                self.args = args
                for name, (kind, *sizes) in build(*args).items():
                    setattr(self, name, xp.part(kind, sizes, rngs))

            def __call__(self, *args, **kwargs):
                return forward(xp, self, *args, **kwargs)

        return Layer

    def part(self, kind, sizes, rngs):
        import jax.numpy as jnp
        from flax import nnx

        import course_lib.nnx as cn

        if kind == "linear":
            return nnx.Linear(*sizes, rngs=rngs)
        if kind == "norm":
            return nnx.LayerNorm(*sizes, epsilon=1e-5, rngs=rngs)
        if kind == "heads":
            return cn.MultiHeadAttention(*sizes, rngs=rngs)
        if kind == "mlp":
            return cn.FeedForward(*sizes, rngs=rngs)
        if kind == "table":
            return nnx.Embed(*sizes, rngs=rngs)
        if kind == "blocks":
            return nnx.data([self._block(sizes[1], rngs) for _ in range(sizes[0])])
        return nnx.Param(jnp.zeros(sizes))

    def _block(self, parts, rngs):
        from flax import nnx

        block = nnx.Module()
        for name, (kind, *sizes) in parts.items():
            if kind == "parts":
                setattr(block, name, self._block(*sizes, rngs))
            else:
                setattr(block, name, self.part(kind, sizes, rngs))
        return block

    def tied(self, table, x):
        return table.attend(x)


XP = {"torch": Torch(), "nnx": JAX()}


def answer(name, f, wing):
    """A registered answer as `check` takes it."""
    xp = XP[wing]
    if name in PARTS:
        return xp.layer(PARTS[name], f)
    return functools.partial(f, xp)


INF = float("inf")
