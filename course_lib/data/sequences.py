"""Short tasks on sequences of symbols, each with its best attainable result.

Conventions, the same in every task: ids are int64; 0 is padding, on the right only,
with the true `lengths` beside it; symbols start at 1, and special symbols come after
the ordinary ones. A seed fixes the draw.
"""

import math
from dataclasses import dataclass

import numpy as np

__all__ = ["NextToken", "Pairs", "induction", "reversal"]

PAD = 0


@dataclass(frozen=True, eq=False)
class NextToken:
    """Sequences in which a token is to be predicted at each position."""

    tokens: np.ndarray  #: The inputs, `N T`
    targets: np.ndarray  #: The token to predict at each position, `N T`
    vocab_size: int  #: Ids run from 0 (padding, which never occurs here) to this less 1
    #: The expected loss of the best predictor at each position, in nats, `T`.
    best_loss: np.ndarray
    chance: float  #: Accuracy of a uniform guess


@dataclass(frozen=True, eq=False)
class Pairs:
    """Sequence-to-sequence pairs."""

    sources: np.ndarray  #: Ids, padded with 0 on the right, `N S`
    #: `<start>`, the output, `<end>`, then padding, `N S+2`. With teacher forcing, a
    #: decoder reads `targets[:, :-1]` and predicts `targets[:, 1:]`.
    targets: np.ndarray
    #: True lengths of the sources, which are those of the outputs, `N`.
    lengths: np.ndarray
    vocab_size: int  #: Ids run from 0 (padding) to this less 1
    start_id: int  #: The id of `<start>`
    end_id: int  #: The id of `<end>`
    best_accuracy: float  #: Exact match that the best rule reaches


def induction(n: int, *, seed: int, n_pairs: int = 16, n_symbols: int = 8) -> NextToken:
    """In-context copying: a code that holds for one sequence only, key, value, key, ...

    Each sequence draws its own code, a value for every symbol, and keys at random. When
    a key returns, its value must be copied from where the key stood before.

    The best predictor pays log(n_symbols) for a key and for a value whose key is new,
    and nothing for a value whose key has been seen. The i-th key (from 0) is new with
    probability (1 - 1/n_symbols)^i, which gives `best_loss` exactly.

    Symbols 1 to `n_symbols` serve as keys and as values. T = 2 `n_pairs` - 1, as the
    last token is only a target: `targets[:, t]` is the token after `tokens[:, t]`.
    """
    rng = np.random.default_rng(seed)
    code = rng.integers(1, n_symbols + 1, (n, n_symbols + 1))
    keys = rng.integers(1, n_symbols + 1, (n, n_pairs))
    values = np.take_along_axis(code, keys, axis=1)
    text = np.stack([keys, values], axis=2).reshape(n, 2 * n_pairs)
    best = np.full(2 * n_pairs, math.log(n_symbols))
    best[1::2] *= (1 - 1 / n_symbols) ** np.arange(n_pairs)
    return NextToken(text[:, :-1], text[:, 1:], n_symbols + 1, best[1:], 1 / n_symbols)


def reversal(n: int, *, seed: int, max_length: int = 12, min_length: int = 4) -> Pairs:
    """Random symbols, to be written backwards.

    Symbols are 1 to 8, followed by `<start>` and `<end>`; sources have
    `min_length` to `max_length` of them.
    """
    rng = np.random.default_rng(seed)
    lengths = rng.integers(min_length, max_length + 1, n)
    symbols = rng.integers(1, 9, (n, max_length))
    start, end = 9, 10
    sources = np.where(np.arange(max_length) < lengths[:, None], symbols, PAD)
    targets = np.full((n, max_length + 2), PAD)
    targets[:, 0] = start
    back = lengths[:, None] - 1 - np.arange(max_length)  # negative beyond the source
    mirrored = np.take_along_axis(sources, np.maximum(back, 0), axis=1)
    targets[:, 1:-1] = np.where(back >= 0, mirrored, PAD)
    targets[np.arange(n), lengths + 1] = end
    return Pairs(sources, targets, lengths, 11, start, end, 1.0)
