"""A ledger in code: records whose first codes fix some of the later ones.

    opening, side, then any number of entries, closing; then the next record

The opening code fixes a record's currency, one of four, and the second code its side,
debit or credit. Most entries say nothing about either. Some must agree with the
currency or with the side, and so must the closing code with the currency, however long
ago the record was opened.

Each seed draws another ledger: the probabilities of all choices, and which number
stands for which code. What the best forecaster pays is computed, not estimated: the
entropy rate, the loss of the best n-gram model, the distribution of a missing code.
"""

from itertools import product

import numpy as np

from course_lib.data.markov import Source

__all__ = ["ledger"]

_CURRENCIES, _SIDES = range(4), range(2)
# What may come in a record, and how likely it is on average, behind what came last.
_AFTER = {  # a plain entry of either kind, currency, side, closing
    "plain a": (0.15, 0.30, 0.25, 0.18, 0.12),
    "plain b": (0.35, 0.10, 0.25, 0.18, 0.12),
    "agreeing": (0.45, 0.35, 0.04, 0.04, 0.12),
}


def ledger(*, seed: int) -> Source:
    """Draw a ledger: a source of 32 codes that begins with a new record."""
    rng = np.random.default_rng(seed)
    groups = {("open", c): 2 for c in _CURRENCIES}
    groups |= {("begin", s): 1 for s in _SIDES}
    groups |= {("plain a",): 3, ("plain b",): 3}
    groups |= {("currency", c): 2 for c in _CURRENCIES}
    groups |= {("side", s): 2 for s in _SIDES}
    groups |= {("closing", c): 1 for c in _CURRENCIES}
    n_codes = sum(groups.values())
    numbers = iter(rng.permutation(n_codes).tolist())
    codes = {
        group: [(next(numbers), p) for p in rng.dirichlet(np.full(n, 5.0))]
        for group, n in groups.items()
    }
    after = {last: rng.dirichlet(40 * np.array(p)) for last, p in _AFTER.items()}
    opened = [("opened", c) for c in _CURRENCIES]
    inside = list(product(_CURRENCIES, _SIDES, _AFTER))
    states = [("between",), *opened, *inside]
    table = np.zeros((n_codes, len(states), len(states)))

    def add(state, p, group, then):
        for code, share in codes[group]:
            table[code, states.index(state), states.index(then)] += p * share

    for c, p in zip(_CURRENCIES, rng.dirichlet(np.full(4, 20.0)), strict=True):
        add(("between",), p, ("open", c), ("opened", c))
        for s, q in zip(_SIDES, rng.dirichlet(np.full(2, 20.0)), strict=True):
            add(("opened", c), q, ("begin", s), (c, s, "agreeing"))
    for c, s, last in inside:
        agreeing = (c, s, "agreeing")
        entries = (  # in the order of _AFTER: which codes, and the state behind them
            (("plain a",), (c, s, "plain a")),
            (("plain b",), (c, s, "plain b")),
            (("currency", c), agreeing),
            (("side", s), agreeing),
            (("closing", c), ("between",)),
        )
        for p, (group, then) in zip(after[last], entries, strict=True):
            add((c, s, last), p, group, then)
    return Source(table)
