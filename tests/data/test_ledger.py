"""A ledger in code: what must agree agrees, and what the best forecast costs."""

import numpy as np

from course_lib import data
from course_lib.data.ledger import ledger
from course_lib.data.markov import entropy


def test_records_open_and_close_with_one_currency():
    source = ledger(seed=3)
    between = source.start
    ids = source.sample(50, 60, seed=0)
    pairs = set()
    for row in ids:
        state, opening = between, None
        for code in row:
            opening = code if state == between else opening
            state = source.next_state[state, code]
            if state == between:
                pairs.add((opening, code))
    openings, closings = map(set, zip(*pairs, strict=True))
    assert (len(openings), len(closings)) == (8, 4)
    assert len(pairs) == 8  # each opening code has one closing code


def test_the_past_beyond_the_last_code_tells_something():
    for seed in range(5):
        source = ledger(seed=seed)
        pairs, triples = source.ngram_entropies(3)[1:]
        assert source.entropy_rate + 0.15 < triples < pairs


def test_a_gap_costs_less_when_both_sides_are_known():
    source = ledger(seed=1)
    seen = np.eye(source.table.shape[0])[source.sample(101, 24, seed=1)]
    gaps = entropy(source.posterior(seen)).mean()
    assert gaps < source.position_entropies(24).mean() - 0.1


def test_seeds_draw_other_ledgers_and_the_same_seed_the_same():
    assert np.array_equal(data.ledger(seed=5).table, ledger(seed=5).table)
    rates = {round(ledger(seed=seed).entropy_rate, 6) for seed in range(7)}
    assert len(rates) == 7
