r"""What came before: recurrence, dilated convolution, translation with both (PyTorch).

    h_t = tanh(W x_t + U h_{t-1} + b)                                    (eq. 1)

    i, f, g, o = W x_t + U h_{t-1} + b                                   (eq. 2)
    c_t = sigmoid(f) c_{t-1} + sigmoid(i) tanh(g),   h_t = sigmoid(o) tanh(c_t)

    h_t = x_t + relu(sum_j W_j x_{t - j 2^l} + b)   in layer l = 0, 1, ...  (eq. 3)

Eq. 1: Elman 1990, doi:10.1207/s15516709cog1402_1. Eq. 2: Hochreiter and Schmidhuber
1997, doi:10.1162/neco.1997.9.8.1735, with the forget gate of Gers et al. 2000,
doi:10.1162/089976600300015015. Eq. 3: van den Oord et al. 2016, arXiv:1609.03499, and
Bai et al. 2018, arXiv:1803.01271, without their gates and norms. Translation: Sutskever
et al. 2014, arXiv:1409.3215, and Bahdanau et al. 2014, arXiv:1409.0473.

Departures: Bahdanau's gated units are LSTMs here and its maxout layer a tanh. Recurrent
matrices start orthogonal (Saxe et al. 2013, arXiv:1312.6120), forget biases at 1
(Jozefowicz et al. 2015, proceedings.mlr.press/v37/jozefowicz15).
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.checks import (
    check_even,
    check_ids,
    check_rate,
    check_size,
    check_steps,
    check_tensors,
)
from course_lib.torch.attention import AdditiveAttention, additive_attention
from course_lib.torch.linear import linear

State = tuple[Tensor, ...]


class _Recurrence(nn.Module):
    """Read a sequence one step at a time; a subclass says what a step does."""

    n_gates: int
    n_states: int

    def __init__(self, d_in: int, d_model: int):
        super().__init__()
        check_size("d_in", d_in)
        check_size("d_model", d_model)
        self.d_in, self.d_model = d_in, d_model
        self.x_proj = linear(d_in, self.n_gates * d_model)
        self.h_proj = linear(d_model, self.n_gates * d_model, bias=False)
        for gate in self.h_proj.weight.chunk(self.n_gates):
            nn.init.orthogonal_(gate)

    def _step(self, inputs: Tensor, state: State) -> State:
        raise NotImplementedError

    def _read(
        self, x: Tensor, state: State | None, mask: Tensor | None, reverse: bool
    ) -> tuple[Tensor, State]:
        check_tensors(torch.Tensor, x=x)
        check_steps(x.shape, self.d_in, None if mask is None else mask.shape)
        if state is None:
            state = (x.new_zeros(*x.shape[:-2], self.d_model),) * self.n_states
        inputs = self.x_proj(x).unbind(dim=-2)  # all steps at once; the rest must wait
        outputs = [state[0]] * len(inputs)
        steps = range(len(inputs))
        for t in reversed(steps) if reverse else steps:
            new = self._step(inputs[t], state)
            if mask is not None:
                go_on = mask[..., t, None]
                new = tuple(
                    torch.where(go_on, n, s) for n, s in zip(new, state, strict=True)
                )
            state = new
            outputs[t] = state[0]
        return torch.stack(outputs, dim=-2), state


class RNN(_Recurrence):
    """A recurrent network: one hidden state, rewritten at each step.

    Args:
        d_in: Width of what comes in.
        d_model: Width D of the hidden state.

    Raises:
        ValueError: A width is not a whole number of at least 1.
    """

    n_gates, n_states = 1, 1

    def forward(
        self,
        x: Float[Tensor, "*B T Din"],
        state: tuple[Float[Tensor, "*B D"], ...] | None = None,
        *,
        mask: Bool[Tensor, "*B T"] | None = None,
        reverse: bool = False,
    ) -> tuple[Float[Tensor, "*B T D"], tuple[Float[Tensor, "*B D"], ...]]:
        """Read the sequence step by step and tell the hidden state after each.

        Args:
            x: The sequence.
            state: Where to start, as returned; None starts at 0.
            mask: True where there is something to read; elsewhere the state stays.
            reverse: Read from the last step to the first.

        Returns:
            The hidden state after each step, at that step's place; and the last one.

        Raises:
            ValueError: Shapes, kinds or dtypes do not fit; the sequence is empty.
        """
        return self._read(x, state, mask, reverse)

    def _step(self, inputs: Tensor, state: State) -> State:
        return (torch.tanh(inputs + self.h_proj(state[0])),)


class LSTM(_Recurrence):
    """A recurrent network with a memory cell that gates write, keep and read.

    Args:
        d_in: Width of what comes in.
        d_model: Width D of the hidden state and of the cell.

    Raises:
        ValueError: A width is not a whole number of at least 1.
    """

    n_gates, n_states = 4, 2

    def __init__(self, d_in: int, d_model: int):
        super().__init__(d_in, d_model)
        with torch.no_grad():
            self.x_proj.bias[d_model : 2 * d_model] = 1.0  # forget little at first

    def forward(
        self,
        x: Float[Tensor, "*B T Din"],
        state: tuple[Float[Tensor, "*B D"], ...] | None = None,
        *,
        mask: Bool[Tensor, "*B T"] | None = None,
        reverse: bool = False,
    ) -> tuple[Float[Tensor, "*B T D"], tuple[Float[Tensor, "*B D"], ...]]:
        """Read the sequence step by step and tell the hidden state after each.

        Args:
            x: The sequence.
            state: Where to start, hidden state and cell, as returned; None starts at 0.
            mask: True where there is something to read; elsewhere the state stays.
            reverse: Read from the last step to the first.

        Returns:
            The hidden state after each step, at that step's place; and the last hidden
            state and cell.

        Raises:
            ValueError: Shapes, kinds or dtypes do not fit; the sequence is empty.
        """
        return self._read(x, state, mask, reverse)

    def _step(self, inputs: Tensor, state: State) -> State:
        h, c = state
        i, f, g, o = (inputs + self.h_proj(h)).chunk(4, dim=-1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c


class DilatedCNN(nn.Module):
    """Causal convolutions, each looking twice as far back as the one below.

    Args:
        d_model: Width D of what comes in and what goes out.
        n_layers: How many; layer l looks back in strides of 2^l.
        kernel_size: Steps that one filter spans.

    Raises:
        ValueError: A size is not a whole number of at least 1.
    """

    def __init__(self, d_model: int, n_layers: int, *, kernel_size: int = 2):
        super().__init__()
        sizes = {"d_model": d_model, "n_layers": n_layers, "kernel_size": kernel_size}
        for name, size in sizes.items():
            check_size(name, size)
        self.receptive_field = 1 + (kernel_size - 1) * (2**n_layers - 1)  # steps seen
        self.d_model, self.kernel_size = d_model, kernel_size
        self.layers = nn.ModuleList()
        for layer in range(n_layers):
            conv = nn.Conv1d(d_model, d_model, kernel_size, dilation=2**layer)
            nn.init.xavier_uniform_(conv.weight)
            nn.init.zeros_(conv.get_parameter("bias"))
            self.layers.append(conv)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Mix each step with the ones before it.

        Args:
            x: A batch of sequences.

        Returns:
            One vector a step; it depends on the last `receptive_field` steps only.

        Raises:
            ValueError: Shapes or kinds do not fit; the sequence is empty.
        """
        check_tensors(torch.Tensor, x=x)
        check_steps(x.shape, self.d_model)
        x = x.mT  # B D T: PyTorch's convolutions want channels first
        for layer, conv in enumerate(self.layers):
            past = 2**layer * (self.kernel_size - 1)
            x = x + conv(F.pad(x, (past, 0))).relu()
        return x.mT


class RecurrentCache:
    """How far a target has been written, and what need not be computed again.

    Args:
        h: The decoder's hidden state.
        c: Its cell.
        keys: What the memory is compared by; None without attention.
    """

    def __init__(
        self,
        h: Float[Tensor, "B D"],
        c: Float[Tensor, "B D"],
        keys: Float[Tensor, "B S D"] | None,
    ):
        self.h, self.c, self.keys = h, c, keys


class RecurrentSeq2Seq(nn.Module):
    """Translate with recurrence: read all of the source, then write word by word.

    With attention each written word looks the source up again (Bahdanau); without, all
    it has is one vector of fixed size (Sutskever), the last state of each direction.

    Args:
        source_vocab_size: Source tokens.
        target_vocab_size: Target tokens.
        d_model: Width D of embeddings, states and annotations; even, since each reading
            direction of the source gets half.
        attend: Whether each target position attends to the source.
        dropout: Share of embeddings and of the last layer's inputs dropped in training.

    Raises:
        ValueError: A size is not a whole number of at least 1, the width is odd, or the
            dropout rate is not in [0, 1).
    """

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        d_model: int,
        *,
        attend: bool = True,
        dropout: float = 0.0,
    ):
        super().__init__()
        check_size("source_vocab_size", source_vocab_size)
        check_size("target_vocab_size", target_vocab_size)
        check_even("d_model", d_model, "each reading direction gets half of it")
        check_rate("dropout", dropout)
        self.source_embedding = nn.Embedding(source_vocab_size, d_model)
        self.target_embedding = nn.Embedding(target_vocab_size, d_model)
        for table in (self.source_embedding, self.target_embedding):
            nn.init.normal_(table.weight, std=d_model**-0.5)
        self.forward_lstm = LSTM(d_model, d_model // 2)
        self.backward_lstm = LSTM(d_model, d_model // 2)
        self.start = linear(d_model, d_model)
        self.attention = (
            AdditiveAttention(d_model, d_model, d_model) if attend else None
        )
        self.decoder = LSTM(2 * d_model, d_model)
        self.mix = linear(3 * d_model, d_model)
        self.head = linear(d_model, target_vocab_size)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        source: Int[Tensor, "B S"],
        target: Int[Tensor, "B T"],
        *,
        source_mask: Bool[Tensor, "B 1 1 S"] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Score the next target token at every position, the true ones being given.

        Args:
            source: Source token ids.
            target: Target token ids, shifted right: the start token first.
            source_mask: True at real source tokens, False at padding.

        Returns:
            Logits: at position t, for what follows `target[:, : t + 1]`.

        Raises:
            ValueError: Shapes or kinds do not fit; a sequence is empty.
        """
        memory = self.encode(source, source_mask=source_mask)
        return self.decode(target, memory, source_mask=source_mask)

    def encode(
        self,
        source: Int[Tensor, "B S"],
        *,
        source_mask: Bool[Tensor, "B 1 1 S"] | None = None,
    ) -> Float[Tensor, "B S D"]:
        """Read the source in both directions.

        Args:
            source: Source token ids.
            source_mask: True at real tokens, False at padding behind them.

        Returns:
            One annotation for each token: what was read up to it from either side.

        Raises:
            ValueError: Shapes or kinds do not fit; the sequence is empty.
        """
        check_ids("source", source)
        x = self.dropout(self.source_embedding(source))
        real = None if source_mask is None else source_mask[:, 0, 0]  # B S
        before, _ = self.forward_lstm(x, mask=real)
        behind, _ = self.backward_lstm(x, mask=real, reverse=True)
        return torch.cat([before, behind], dim=-1)

    def begin(
        self, memory: Float[Tensor, "B S D"], max_len: int | None = None
    ) -> RecurrentCache:
        """Prepare for writing a target token by token: `decode`'s cache.

        Args:
            memory: What `encode` returned.
            max_len: Not needed here: a state has one size, whatever is written. As in
                `Seq2Seq`.

        Returns:
            The decoder's first state, and the keys of the memory.
        """
        keys = None if self.attention is None else self.attention.k_proj(memory)
        h = torch.tanh(self.start(_last(memory)))
        return RecurrentCache(h, torch.zeros_like(h), keys)

    def decode(
        self,
        target: Int[Tensor, "B T"],
        memory: Float[Tensor, "B S D"],
        *,
        source_mask: Bool[Tensor, "B 1 1 S"] | None = None,
        cache: RecurrentCache | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Score the next target token at every position, given the annotations.

        Args:
            target: Target token ids, the start token first.
            memory: What `encode` returned.
            source_mask: As in `encode`.
            cache: What `begin` returned, carried on by what came before `target`.

        Returns:
            Logits, as `forward`.

        Raises:
            ValueError: Shapes or kinds do not fit; the sequence is empty.
        """
        return self._write(target, memory, source_mask, cache)[0]

    def maps(
        self,
        source: Int[Tensor, "B S"],
        target: Int[Tensor, "B T"],
        *,
        source_mask: Bool[Tensor, "B 1 1 S"] | None = None,
    ) -> Float[Tensor, "B T S"]:
        """Show which source tokens each target position looks at.

        Args:
            source: Source token ids.
            target: Target token ids, the start token first.
            source_mask: True at real source tokens, False at padding.

        Returns:
            The alignment; each row sums to 1.

        Raises:
            ValueError: As `forward`, or the model was built without attention.
        """
        if self.attention is None:
            raise ValueError("maps needs a model built with attend=True: got False.")
        memory = self.encode(source, source_mask=source_mask)
        return self._write(target, memory, source_mask)[1]

    def _write(
        self,
        target: Tensor,
        memory: Tensor,
        mask: Tensor | None,
        cache: RecurrentCache | None = None,
    ):
        check_ids("target", target)
        cache = self.begin(memory) if cache is None else cache
        state, keys, last = (cache.h, cache.c), cache.keys, _last(memory)
        words = self.dropout(self.target_embedding(target))
        seen = None if mask is None else mask[:, 0]  # B 1 S
        read, maps = [], []
        for word in words.unbind(dim=1):
            context, weights = self._look(state[0], memory, keys, last, seen)
            inputs = torch.cat([word, context], dim=-1)
            _, state = self.decoder(inputs[:, None], state)
            read.append(torch.cat([state[0], inputs], dim=-1))
            maps.append(weights)
        cache.h, cache.c = state
        mixed = self.mix(torch.stack(read, dim=1)).tanh()  # all positions at once
        return self.head(self.dropout(mixed)), torch.stack(maps, dim=1)

    def _look(self, h: Tensor, memory: Tensor, keys, last: Tensor, seen):
        """The context of one target position, and the weights that made it."""
        if self.attention is None:
            return last, memory.new_zeros(memory.shape[:2])
        query = self.attention.q_proj(h)[:, None]
        w = self.attention.score.weight[0]
        context, weights = additive_attention(query, keys, memory, w, mask=seen)
        return context[:, 0], weights[:, 0]


def _last(memory: Tensor) -> Tensor:
    """What each reading direction ended with: `B D`."""
    half = memory.shape[-1] // 2
    return torch.cat([memory[:, -1, :half], memory[:, 0, half:]], dim=-1)
