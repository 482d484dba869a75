"""BERT: what is its own beside `test_models`: order, segments, its start."""

import dataclasses

import numpy as np
from models import MODELS, V, randomize
from wings import assert_close, each

from course_lib.config import POSITIONS

CASE = MODELS["BERTForMaskedLM"]


def bert(wing, **options):
    config = dataclasses.replace(CASE.config, **options)
    return randomize(wing, wing.make(wing.lib.BERT, config))[0]


@each("position", POSITIONS, nnx=["none", "learned"])
def test_only_without_positions_it_is_equivariant(wing, rng, position):
    ids, types = CASE.draw(rng)
    order = np.array([3, 0, 4, 2, 1])
    model = bert(wing, position=position)
    before, after = (
        wing.numpy(model(wing.array(i), token_types=wing.array(t)))
        for i, t in ((ids, types), (ids[:, order], types[:, order]))
    )
    if position == "none":
        assert_close(after, before[:, order])
    else:
        assert np.abs(after - before[:, order]).max() > 1e-4


def test_no_token_types_means_the_first(wing, rng):
    model = bert(wing)
    ids, _ = CASE.draw(rng)
    without = wing.numpy(model(wing.array(ids)))
    zeros = wing.numpy(model(wing.array(ids), token_types=wing.array(0 * ids)))
    ones = wing.numpy(model(wing.array(ids), token_types=wing.array(0 * ids + 1)))
    np.testing.assert_array_equal(without, zeros)
    assert np.abs(ones - zeros).max() > 1e-3


def test_the_guessing_heads_table_is_the_token_table(wing):
    weights = wing.lib.get_weights(CASE.build(wing))
    shapes = [w.shape for w in weights.values()]
    assert shapes.count((V, CASE.config.d_model)) == 1
