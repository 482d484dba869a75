"""Recurrent networks: Elman's and the LSTM (Flax NNX)."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array, lax
from jaxtyping import Bool, Float

from course_lib.checks import check_sizes, check_steps, check_tensors
from course_lib.nnx.linear import linear

__all__ = ["LSTM", "RNN"]

State = tuple[Array, ...]


class RNN(nnx.Module):
    """Recurrent network (RNN): a hidden state that each step updates."""

    n_gates, n_states = 1, 1

    def __init__(self, d_in: int, d_model: int, *, rngs: nnx.Rngs):
        check_sizes(d_in=d_in, d_model=d_model)
        self.d_in, self.d_model = d_in, d_model
        self.x_proj = linear(d_in, self.n_gates * d_model, rngs=rngs)
        self.h_proj = linear(d_model, self.n_gates * d_model, bias=False, rngs=rngs)
        orthogonal = nnx.initializers.orthogonal()
        gates = [
            orthogonal(rngs.params(), (d_model, d_model), jnp.float32)
            for _ in range(self.n_gates)
        ]
        self.h_proj.kernel = nnx.Param(jnp.concatenate(gates, axis=-1))

    def __call__(
        self,
        x: Float[Array, "*B T Din"],
        state: tuple[Float[Array, "*B D"], ...] | None = None,
        *,
        mask: Bool[Array, "*B T"] | None = None,
        reverse: bool = False,
    ) -> tuple[Float[Array, "*B T D"], tuple[Float[Array, "*B D"], ...]]:
        """Read the sequence step by step, from the last to the first with `reverse`."""
        check_tensors(jax.Array, x=x)
        check_steps(x.shape, self.d_in, mask)
        if state is None:
            state = (jnp.zeros((*x.shape[:-2], self.d_model), x.dtype),) * self.n_states
        inputs = self.x_proj(x)  # all steps at once; h_proj has to wait
        real = jnp.ones(x.shape[:-1], bool) if mask is None else mask

        def step(state, now):
            inputs, real = now
            new = self._step(inputs, state)
            new = tuple(jnp.where(real, n, s) for n, s in zip(new, state, strict=True))
            return new, new[0]

        now = jnp.moveaxis(inputs, -2, 0), jnp.moveaxis(real, -1, 0)[..., None]
        state, outputs = lax.scan(step, state, now, reverse=reverse)
        return jnp.moveaxis(outputs, 0, -2), state

    def _step(self, inputs: Array, state: State) -> State:
        return (jnp.tanh(inputs + self.h_proj(state[0])),)


class LSTM(RNN):
    """Long short-term memory (LSTM): gates decide what a cell writes, keeps, shows."""

    n_gates, n_states = 4, 2

    def __init__(self, d_in: int, d_model: int, *, rngs: nnx.Rngs):
        super().__init__(d_in, d_model, rngs=rngs)
        forget = jnp.zeros(4 * d_model, jnp.float32).at[d_model : 2 * d_model].set(1.0)
        self.x_proj.bias = nnx.Param(forget)  # forget little at first

    def _step(self, inputs: Array, state: State) -> State:
        h, c = state
        i, f, g, o = jnp.split(inputs + self.h_proj(h), 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return jax.nn.sigmoid(o) * jnp.tanh(c), c
