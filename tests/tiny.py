"""A small model in both wings, and a task for it, to try training on."""

from functools import cache

import numpy as np

VOCAB, T, D, H = 11, 5, 14, 7  # primes, and a width that heads divide
PAD = -100


@cache  # the same objects again, so that NNX compiles for them once
def classes(wing: str):
    """The wing's two classes: embedding, dropout, head; and attention and norm too."""
    if wing == "torch":
        from torch import nn

        from course_lib.torch import MultiHeadAttention, linear

        class Nano(nn.Module):
            def __init__(self, dropout=0.0):
                super().__init__()
                self.embed = nn.Embedding(VOCAB, D)
                self.dropout = nn.Dropout(dropout)
                self.head = linear(D, VOCAB)

            def forward(self, ids):
                return self.head(self.dropout(self.mixed(self.embed(ids))))

            def mixed(self, x):
                return x

        class Tiny(Nano):
            def __init__(self, dropout=0.0):
                super().__init__(dropout)
                self.attention = MultiHeadAttention(D, H, bias=False, dropout=dropout)
                self.norm = nn.LayerNorm(D, eps=1e-5)

            def mixed(self, x):
                return self.norm(x + self.attention(x))

        return Nano, Tiny
    from flax import nnx

    from course_lib.nnx import MultiHeadAttention, linear

    class Nano(nnx.Module):
        def __init__(self, dropout=0.0, *, rngs):
            self.embed = nnx.Embed(VOCAB, D, rngs=rngs)
            self.dropout = nnx.Dropout(dropout, rngs=rngs)
            self.head = linear(D, VOCAB, rngs=rngs)

        def __call__(self, ids):
            x = self.embed.embedding[...][ids]  # Embed itself casts to its first dtype
            return self.head(self.dropout(self.mixed(x)))

        def mixed(self, x):
            return x

    class Tiny(Nano):
        def __init__(self, dropout=0.0, *, rngs):
            super().__init__(dropout, rngs=rngs)
            self.attention = MultiHeadAttention(
                D, H, bias=False, dropout=dropout, rngs=rngs
            )
            self.norm = nnx.LayerNorm(D, epsilon=1e-5, rngs=rngs)

        def mixed(self, x):
            return self.norm(x + self.attention(x))

    return Nano, Tiny


def tiny_weights() -> dict[str, np.ndarray]:
    """One start for every model, so that runs can be compared."""
    draw = np.random.default_rng(3)
    shapes = {"embed.weight": (VOCAB, D), "head.weight": (VOCAB, D)}
    shapes |= {"head.bias": (VOCAB,), "norm.weight": (D,), "norm.bias": (D,)}
    for part in ("q_proj", "k_proj", "v_proj", "o_proj"):
        shapes[f"attention.{part}.weight"] = (D, D)
    return {name: 0.3 * draw.standard_normal(s) for name, s in shapes.items()}


def tiny_model(wing, dropout: float = 0.0, dtype: str = "float64"):
    """A model with attention, norm and dropout, and those weights."""
    return _with_weights(wing, classes(wing.name)[1], dropout, dtype)


def nano_model(wing, dropout: float = 0.0, dtype: str = "float64"):
    """The same without attention and norm, which a sixth of the time compiles."""
    return _with_weights(wing, classes(wing.name)[0], dropout, dtype)


def _with_weights(wing, kind, dropout, dtype):
    model = wing.cast(wing.make(kind, dropout), dtype)
    names = wing.lib.get_weights(model)
    wing.lib.set_weights(model, {n: w for n, w in tiny_weights().items() if n in names})
    return model


def assert_weights(wing, model, expected) -> None:
    """The model has these weights, or those of that model, bit for bit."""
    if not isinstance(expected, dict):
        expected = wing.lib.get_weights(expected)
    for name, w in wing.lib.get_weights(model).items():
        assert (w == expected[name]).all(), name


def tiny_gpt(wing, n_layers: int = 2):
    """A whole model, its weights drawn by the same rule in both wings."""
    from models import randomize

    from course_lib.config import GPTConfig

    # Without biases: a key's has the gradient 0 in theory, and in practice noise that
    # Adam blows up to full steps.
    config = GPTConfig(
        vocab_size=VOCAB, max_len=T, d_model=D, n_layers=n_layers, n_heads=H,
        d_ff=4 * H, bias=False,
    )  # fmt: skip
    return randomize(wing, wing.make(wing.lib.GPT, config))[0]


def tiny_data(n_rows: int = 36) -> tuple[np.ndarray, np.ndarray]:
    """Ids, and as targets the same ids shifted by one class, some of them padding."""
    draw = np.random.default_rng(5)
    ids = draw.integers(0, VOCAB, (n_rows, T))
    targets = (ids + 1) % VOCAB
    for row, length in enumerate(draw.integers(1, T + 1, n_rows)):
        targets[row, length:] = PAD
    return ids, targets


@cache
def summed_loss(wing):
    """The loss as a pair, which is divided by the number of targets that count."""
    return lambda model, ids, targets: wing.lib.cross_entropy_sum(model(ids), targets)


@cache
def averaged_loss(wing):
    """The loss as a mean over the batch."""
    return lambda model, ids, targets: wing.lib.cross_entropy(model(ids), targets)
