r"""n-gram language model with Kneser-Ney smoothing: the perplexity to beat.

    p_n(x | c) = max(N_cx - d, 0) / N_c + d K_c / N_c * p_(n-1)(x | c')   (eq. 1)

N_cx counts how often token x followed the context c, N_c is their sum, K_c the number
of different tokens that followed, c' the context without its oldest token, and p_0 is
uniform. A context that was never seen takes p_(n-1). In Kneser-Ney smoothing the counts
of all orders but the highest are *continuation counts*: N_cx is the number of different
tokens that preceded c x. "Francisco" is frequent, but only after "San": alone it is a
bad guess.

Kneser and Ney 1995, doi:10.1109/ICASSP.1995.479394, in the interpolated form of Chen
and Goodman 1999, doi:10.1006/csla.1999.0128.

    model = NGram(3, vocab_size).fit(train)
    loss = model.losses(test).mean()  # nats a token; its exp is the perplexity
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from course_lib.checks import check_choice, check_sizes

__all__ = ["NGram"]

_START = -1  # stands before the first token of a text, order - 1 times
Context = tuple[int, ...]


class NGram:
    """n-gram language model, fitted by counting token ids.

    Args:
        order: n; a context has n - 1 tokens.
        vocab_size: V; ids run from 0 to V - 1.
        smoothing: "kneser-ney"; "absolute" for absolute discounting, which is eq. 1
            with plain counts in every order; "add-k" for Laplace's rule, with k = 1,
            (N_cx + 1) / (N_c + V), which knows no shorter contexts.
    """

    def __init__(self, order: int, vocab_size: int, *, smoothing: str = "kneser-ney"):
        check_sizes(order=order, vocab_size=vocab_size)
        check_choice("smoothing", smoothing, ("kneser-ney", "absolute", "add-k"))
        self.order, self.vocab_size, self.smoothing = order, vocab_size, smoothing
        self._counts: dict[Context, dict[int, int]] = {}
        self._totals: dict[Context, int] = defaultdict(int)
        # By length of context: how many n-grams were counted once, twice, three times.
        self._repeats = [[0, 0, 0, 0] for _ in range(order)]

    def fit(self, texts: np.ndarray | Sequence[int]) -> "NGram":
        """Count one text `T` or several `N T`; a second call adds to the counts."""
        for text in self._padded(texts):
            for i in range(self.order - 1, len(text)):
                self._count(text, i)
        return self

    def losses(self, texts: np.ndarray | Sequence[int]) -> np.ndarray:
        """-log p of each token given those before it, in nats, `T` or `N T`.

        The first token of a text is scored by how often texts began with it.
        """
        found = []
        for text in self._padded(texts):
            for i in range(self.order - 1, len(text)):
                context = tuple(text[i - self.order + 1 : i])
                found.append(self._probability(context, text[i]))
        return -np.log(np.array(found)).reshape(np.shape(texts))

    def probabilities(self, context: Sequence[int]) -> np.ndarray:
        """The distribution of the next token, `V`; sums to 1.

        Of the tokens before it, the last n - 1 count; fewer than that are taken for the
        beginning of a text.
        """
        padded = self._padded(list(context))[0]
        last = tuple(padded[len(padded) - self.order + 1 :])
        return np.array([self._probability(last, x) for x in range(self.vocab_size)])

    def _padded(self, texts: np.ndarray | Sequence[int]) -> list[list[int]]:
        ids = np.asarray(texts, dtype=np.int64)
        if ids.ndim not in (1, 2):
            raise ValueError(f"texts must be T or N T: got shape {ids.shape}.")
        if ids.size and not 0 <= ids.min() <= ids.max() < self.vocab_size:
            raise ValueError(
                f"ids must be from 0 to {self.vocab_size - 1}: got {ids.min()} to "
                f"{ids.max()}."
            )
        start = [_START] * (self.order - 1)
        return [start + text for text in np.atleast_2d(ids).tolist()]

    def _count(self, text: list[int], i: int) -> None:
        token = text[i]
        for length in reversed(range(self.order)):  # of the context
            context = tuple(text[i - length : i])
            row = self._counts.setdefault(context, {})
            row[token] = times = row.get(token, 0) + 1
            self._totals[context] += 1
            if times <= 3:
                self._repeats[length][times] += 1
                self._repeats[length][times - 1] -= 1
            if self.smoothing == "kneser-ney" and times > 1:
                break  # not a new predecessor of the shorter n-gram

    def _probability(self, context: Context, token: int) -> float:
        if self.smoothing == "add-k":
            seen = self._counts.get(context, {}).get(token, 0)
            return (seen + 1) / (self._totals.get(context, 0) + self.vocab_size)
        p = 1 / self.vocab_size
        for length in range(self.order):
            shorter = context[len(context) - length :]
            seen = self._counts.get(shorter)
            if seen:
                d = self._discount(length)
                kept = max(seen.get(token, 0) - d, 0.0)
                p = (kept + d * len(seen) * p) / self._totals[shorter]
        return p

    def _discount(self, length: int) -> float:
        """An order's d, n1 / (n1 + 2 n2), of the n-grams counted once and twice.

        Each has one more, so that d is never 0: no token is then impossible.
        """
        once, twice = (self._repeats[length][times] + 1 for times in (1, 2))
        return once / (once + 2 * twice)
