r"""Recurrent networks: Elman's and the LSTM (PyTorch).

    h_t = tanh(W x_t + U h_{t-1} + b)                                    (eq. 1)

    i, f, g, o = W x_t + U h_{t-1} + b                                   (eq. 2)
    c_t = sigmoid(f) c_{t-1} + sigmoid(i) tanh(g),   h_t = sigmoid(o) tanh(c_t)

Eq. 1: Elman 1990, doi:10.1207/s15516709cog1402_1. Eq. 2: Hochreiter and Schmidhuber
1997, doi:10.1162/neco.1997.9.8.1735, with the forget gate of Gers et al. 2000,
doi:10.1162/089976600300015015.

The start: recurrent matrices orthogonal (Saxe et al. 2013, arXiv:1312.6120), forget
biases 1 (Jozefowicz et al. 2015, proceedings.mlr.press/v37/jozefowicz15).
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.checks import check_sizes, check_steps, check_tensors
from course_lib.torch.linear import linear

__all__ = ["LSTM", "RNN"]

State = tuple[Tensor, ...]


class RNN(nn.Module):
    """Recurrent network (RNN): a hidden state that each step updates."""

    n_gates, n_states = 1, 1

    def __init__(self, d_in: int, d_model: int):
        super().__init__()
        check_sizes(d_in=d_in, d_model=d_model)
        self.d_in, self.d_model = d_in, d_model
        self.x_proj = linear(d_in, self.n_gates * d_model)
        self.h_proj = linear(d_model, self.n_gates * d_model, bias=False)
        for gate in self.h_proj.weight.chunk(self.n_gates):
            nn.init.orthogonal_(gate)

    def forward(
        self,
        x: Float[Tensor, "*B T Din"],
        state: tuple[Float[Tensor, "*B D"], ...] | None = None,
        *,
        mask: Bool[Tensor, "*B T"] | None = None,
        reverse: bool = False,
    ) -> tuple[Float[Tensor, "*B T D"], tuple[Float[Tensor, "*B D"], ...]]:
        """Read the sequence step by step, from the last to the first with `reverse`.

        Starts from `state`, as returned by an earlier call, or from 0. Where `mask` is
        False, at padding, the state is carried over unchanged. Returns the hidden state
        after each step, in the order of `x`, and the final state: (h,), or (h, c) for
        an LSTM.
        """
        check_tensors(torch.Tensor, x=x)
        check_steps(x.shape, self.d_in, mask)
        if state is None:
            state = (x.new_zeros(*x.shape[:-2], self.d_model),) * self.n_states
        inputs = self.x_proj(x).unbind(dim=-2)  # all steps at once; h_proj has to wait
        outputs = [state[0]] * len(inputs)
        steps = range(len(inputs))
        for t in reversed(steps) if reverse else steps:
            new = self._step(inputs[t], state)
            if mask is not None:
                real = mask[..., t, None]
                new = tuple(
                    torch.where(real, n, s) for n, s in zip(new, state, strict=True)
                )
            state = new
            outputs[t] = state[0]
        return torch.stack(outputs, dim=-2), state

    def _step(self, inputs: Tensor, state: State) -> State:
        return (torch.tanh(inputs + self.h_proj(state[0])),)


class LSTM(RNN):
    """Long short-term memory (LSTM): gates decide what a cell writes, keeps, shows."""

    n_gates, n_states = 4, 2

    def __init__(self, d_in: int, d_model: int):
        super().__init__(d_in, d_model)
        with torch.no_grad():
            self.x_proj.bias[d_model : 2 * d_model] = 1.0  # forget little at first

    def _step(self, inputs: Tensor, state: State) -> State:
        h, c = state
        i, f, g, o = (inputs + self.h_proj(h)).chunk(4, dim=-1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c
