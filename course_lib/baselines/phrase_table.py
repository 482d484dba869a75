r"""Phrase table: translation by counting which stretches occur together.

    Dice(e, f) = 2 N_ef / (N_e + N_f)                                    (eq. 1)

N_e counts the source texts that hold the stretch of tokens e, N_f the target texts
that hold f, N_ef the pairs of which both is true; it is 1 if they always come together.
Dice 1945, doi:10.2307/1932409. Each e keeps its best f, and a text is translated from
left to right by the longest stretch whose partner is good enough.

The tables of Koehn, Och and Marcu 2003 (ACL Anthology N03-1017) had probabilities in
both directions, stretches that move, and a language model to choose among them.

    table = PhraseTable(2, 7).fit(sources, targets)
    table.translate(source, good=0.5)
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, Self

from course_lib.checks import check_sizes

__all__ = ["PhraseTable"]


class PhraseTable:
    """Phrase table, fitted by counting.

    Args:
        n_source: The longest stretch of the source, in tokens.
        n_target: The longest stretch of the target.
    """

    def __init__(self, n_source: int, n_target: int):
        check_sizes(n_source=n_source, n_target=n_target)
        self.n_source, self.n_target = n_source, n_target
        self.partner: dict[tuple, tuple[float, tuple]] = {}  #: Eq. 1 and f, by e

    def fit(
        self, sources: Sequence[Sequence[Hashable]], targets: Sequence[Sequence]
    ) -> Self:
        """Count over pairs of texts, which are sequences of tokens."""
        of_e, of_f, together = Counter(), Counter(), Counter()
        for source, target in zip(sources, targets, strict=True):
            held, meant = _pieces(source, self.n_source), _pieces(target, self.n_target)
            of_e.update(held)
            of_f.update(meant)
            together.update((e, f) for e in held for f in meant)
        best: dict[tuple, tuple] = {}
        for (e, f), n in together.items():  # of equals the longer, then the last
            best[e] = max(best.get(e, (0.0,)), (2 * n / (of_e[e] + of_f[f]), len(f), f))
        self.partner = {e: (dice, f) for e, (dice, _, f) in best.items()}
        return self

    def translate(self, source: Sequence[Hashable], *, good: float = 0.5) -> list[Any]:
        """The target, part by part; unknown tokens are left out.

        A stretch of several tokens is used if eq. 1 is at least `good`, a single token
        always.
        """
        found: list[Any] = []
        place = 0
        while place < len(source):
            n, target = self._longest(source[place:], good)
            found.extend(target)
            place += n
        return found

    def _longest(self, rest: Sequence[Hashable], good: float) -> tuple[int, tuple]:
        """How many tokens are translated at once, and their partner."""
        for n in range(min(self.n_source, len(rest)), 1, -1):
            dice, target = self.partner.get(tuple(rest[:n]), (-1.0, ()))
            if dice >= good:
                return n, target
        return 1, self.partner.get(tuple(rest[:1]), (0.0, ()))[1]


def _pieces(text: Sequence, longest: int) -> set[tuple]:
    """All stretches of up to so many tokens."""
    return {
        tuple(text[i:end])
        for i in range(len(text))
        for end in range(i + 1, min(i + longest, len(text)) + 1)
    }
