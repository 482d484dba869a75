"""Move the start of every training by one unit in the last place.

    from nudge import nudge
    nudge()

Another processor adds in another order, and the first update of a training differs from
ours in a last bit. Here one processor does as much: when an optimizer takes a model up,
each of the model's numbers goes to a neighbor of its own, up or down by chance. What a
page prints should not notice. Trainings written without an optimizer stay as they are.
"""

import zlib
from functools import wraps
from typing import Any

import numpy as np


def signs(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Draw up or down for each of a tensor's numbers.

    The first draw of a run and the tenth alike depend on the shape alone, so that
    nothing is drawn where a page draws its own numbers.
    """
    key = zlib.crc32(repr((seed, tuple(shape))).encode())
    return np.random.default_rng(key).choice([-np.inf, np.inf], shape)


def nudge(seed: int = 0) -> None:
    """Let every optimizer of this process nudge what it is given.

    Args:
        seed: Of the choice of up and down.
    """
    nudge_torch(seed)
    nudge_optax(seed)
    nudge_nnx(seed)


def nudge_torch(seed: int) -> None:
    """Do it where a PyTorch optimizer is made."""
    import torch

    make = torch.optim.Optimizer.__init__

    @wraps(make)
    def make_and_nudge(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        with torch.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.is_floating_point():
                        way = torch.as_tensor(signs(p.shape, seed)).to(p)
                        p.copy_(p.nextafter(way))

    torch.optim.Optimizer.__init__ = make_and_nudge


def nudge_nnx(seed: int) -> None:
    """Do it where an NNX optimizer is made."""
    import jax
    import jax.numpy as jnp
    from flax import nnx

    make = nnx.Optimizer.__init__

    @wraps(make)
    def make_and_nudge(self: Any, model: Any, *args: Any, **kwargs: Any) -> None:
        state = nnx.state(model, nnx.Param)
        nnx.update(model, jax.tree.map(lambda p: p + step_of(p, seed, jnp), state))
        make(self, model, *args, **kwargs)

    nnx.Optimizer.__init__ = make_and_nudge


def nudge_optax(seed: int) -> None:
    """Do it in Adam's first update, for trainings that are functions of arrays."""
    import jax
    import jax.numpy as jnp
    import optax

    adam = optax.adam

    @wraps(adam)
    def nudging_adam(*args: Any, **kwargs: Any) -> Any:
        inner = adam(*args, **kwargs)

        def init(params: Any) -> Any:
            steps = jax.tree.map(lambda p: step_of(p, seed, jnp), params)
            return inner.init(params), steps

        def update(updates: Any, state: Any, params: Any = None) -> Any:
            updates, moments = inner.update(updates, state[0], params)
            updates = jax.tree.map(jnp.add, updates, state[1])
            return updates, (moments, jax.tree.map(jnp.zeros_like, state[1]))

        return optax.GradientTransformation(init, update)

    optax.adam = nudging_adam


def step_of(p: Any, seed: int, jnp: Any) -> Any:
    """Say how far each number of an array is from its chosen neighbor."""
    if not jnp.issubdtype(p.dtype, jnp.floating):
        return jnp.zeros_like(p)
    return jnp.nextafter(p, jnp.asarray(signs(p.shape, seed), p.dtype)) - p
