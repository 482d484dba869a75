"""Masked language modeling: masked words, and the best prediction there is.

BERT's recipe (Devlin et al. 2018, section 3.1, arXiv:1810.04805): 15% of the positions
are selected; of these, 80% show `[MASK]`, 10% a random word, 10% the word itself. A
departure: each position is selected on its own, so that the number selected varies.
"""

from dataclasses import dataclass

import numpy as np

from course_lib.data.grammar import SPECIALS, Grammar

__all__ = ["IGNORE", "Masked", "best_guess", "guess_losses", "mask_words"]

IGNORE = -100  # a target that no loss counts: PyTorch's default `ignore_index`


@dataclass(frozen=True, eq=False)
class Masked:
    """Texts with masked words."""

    inputs: np.ndarray  #: What the model sees, `N T`, int64
    #: The true word where a position was selected, `IGNORE` elsewhere, `N T`.
    targets: np.ndarray
    rate: float  #: Probability that a position is selected
    #: Of the selected, the shares that show `[MASK]`, a random word, the word.
    shown: tuple[float, float, float]

    @property
    def selected(self) -> np.ndarray:
        """True where a word is to be predicted, `N T`."""
        return self.targets != IGNORE


def mask_words(
    ids: np.ndarray,
    *,
    seed: int,
    vocab_size: int,
    mask_id: int,
    rate: float = 0.15,
    shown: tuple[float, float, float] = (0.8, 0.1, 0.1),
) -> Masked:
    """Mask words of texts, `N T`, as BERT's training does.

    `SPECIALS` come first; they are never selected, and no random words.
    """
    if not 0 < rate <= 1:
        raise ValueError(f"rate must be above 0 and at most 1: got {rate}.")
    if min(shown) < 0 or abs(sum(shown) - 1) > 1e-9:
        raise ValueError(
            "shown must be three shares ([MASK], random word, same word) that sum to "
            f"1: got {shown}, which sum to {sum(shown)}."
        )
    ids = np.asarray(ids, dtype=np.int64)
    rng = np.random.default_rng(seed)
    selected = (rng.random(ids.shape) < rate) & (ids >= len(SPECIALS))
    fate = rng.random(ids.shape)
    words = rng.integers(len(SPECIALS), vocab_size, ids.shape)
    hidden = np.where(
        fate < shown[0], mask_id, np.where(fate < shown[0] + shown[1], words, ids)
    )
    return Masked(
        inputs=np.where(selected, hidden, ids),
        targets=np.where(selected, ids, IGNORE),
        rate=rate,
        shown=shown,
    )


def best_guess(grammar: Grammar, masked: Masked) -> np.ndarray:
    """The exact distribution of the true word at each position, if it was selected.

    Bayes' rule over the whole text, forward and backward through the grammar; an
    ordinary word may be a random one, with the probability of the recipe. No model that
    reads the same inputs has a lower expected loss. The texts hold no special token but
    `[MASK]`; of the result, `N T V`, only rows at selected positions mean anything.
    """
    n_words = grammar.vocab_size - len(SPECIALS)
    mask, random, same = (masked.rate * share for share in masked.shown)
    words = np.arange(grammar.vocab_size) >= len(SPECIALS)
    seen = np.eye(grammar.vocab_size)
    # P(seen y | true x) in general, and if the position is selected: rows y, columns x.
    general = (1 - masked.rate + same) * seen + random / n_words * words
    selected = same * seen + random / n_words * words
    general[grammar.mask_id] = selected[grammar.mask_id] = mask * words
    guesses = []
    for i in range(0, len(masked.inputs), 128):
        inputs = masked.inputs[i : i + 128]
        rest = grammar.source.posterior(general[inputs])
        guess = rest * selected[inputs]
        total = guess.sum(-1, keepdims=True)
        guesses.append(guess / np.where(total > 0, total, 1.0))
    return np.concatenate(guesses)


def guess_losses(guesses: np.ndarray, masked: Masked) -> np.ndarray:
    """Cross-entropy of distributions `N T V` at each selected position, in nats.

    With `best_guess`, their mean is the floor of masked language modeling on these
    texts.
    """
    rows = guesses[masked.selected]
    truth = masked.targets[masked.selected]
    return -np.log(rows[np.arange(len(truth)), truth])
