"""BERT: against the oracle, padding, order, heads, counts."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import count, randomize
from wings import assert_close

from course_lib import oracle
from course_lib.config import ACTIVATIONS, NORM_KINDS, NORMS, POSITIONS, BERTConfig

B, T, V, MAX, C = 2, 5, 13, 11, 3
CONFIG = BERTConfig(
    vocab_size=V, max_len=MAX, d_model=12, n_layers=2, n_heads=3, d_ff=17
)

OPTIONS = st.fixed_dictionaries(
    {
        "position": st.sampled_from(POSITIONS),
        "norm": st.sampled_from(NORMS),
        "norm_kind": st.sampled_from(NORM_KINDS),
        "activation": st.sampled_from(ACTIVATIONS),
        "n_kv_heads": st.sampled_from([None, 1]),
    }
)


def vary(**options):
    return dataclasses.replace(CONFIG, **options)


def draw(rng, b=B, t=T):
    return rng.integers(0, V, (b, t)), rng.integers(0, 2, (b, t))


def inside(weights, name="bert"):
    """The weights of a part of a model."""
    return oracle.part(weights, name)


@settings(max_examples=12)
@given(
    st.integers(0, 2**32 - 1), OPTIONS, st.sampled_from([(B, T), (1, 1)]), st.booleans()
)
def test_the_masked_word_model_equals_the_oracle(wing, seed, options, sizes, padded):
    config = vary(**options)
    rng = np.random.default_rng(seed)
    ids, types = draw(rng, *sizes)
    mask = rng.random((sizes[0], 1, 1, sizes[1])) < 0.7 if padded else None
    model, weights = randomize(wing, wing.make(wing.lib.BERTForMaskedLM, config))
    given_ = {"mask": None if mask is None else wing.array(mask)}
    got = model(wing.array(ids), token_types=wing.array(types), **given_)
    hidden = oracle.bert(ids, inside(weights), config, types, mask)
    assert_close(wing.numpy(got), oracle.bert_mlm(hidden, weights, config))


def test_the_classifier_equals_the_oracle(wing, rng):
    ids, types = draw(rng)
    build = wing.lib.BERTForClassification
    model, weights = randomize(wing, wing.make(build, CONFIG, C))
    got = model(wing.array(ids), token_types=wing.array(types))
    hidden = oracle.bert(ids, inside(weights), CONFIG, types)
    pooled = oracle.bert_pool(hidden, inside(weights))
    expected = pooled @ weights["head.weight"].T + weights["head.bias"]
    assert_close(wing.numpy(got), expected)


def test_every_token_sees_both_ways(wing, rng):
    model, _ = randomize(wing, wing.make(wing.lib.BERT, CONFIG))
    ids, _ = draw(rng)
    before = wing.numpy(model(wing.array(ids)))
    ids[:, 2] = (ids[:, 2] + 1) % V
    after = wing.numpy(model(wing.array(ids)))
    assert (np.abs(after - before).max(axis=(0, 2)) > 1e-6).all()


@pytest.mark.parametrize("position", POSITIONS)
def test_padding_changes_nothing(wing, rng, position):
    model, _ = randomize(wing, wing.make(wing.lib.BERT, vary(position=position)))
    ids, types = draw(rng)
    alone = wing.numpy(
        model(wing.array(ids[:, :3]), token_types=wing.array(types[:, :3]))
    )
    padded = model(
        wing.array(ids),
        token_types=wing.array(types),
        mask=wing.lib.padding_mask([3, 3], T),
    )
    assert_close(wing.numpy(padded)[:, :3], alone)


def test_without_positions_it_is_equivariant(wing, rng):
    ids, types = draw(rng)
    order = np.array([3, 0, 4, 2, 1])

    def run(position):
        model, _ = randomize(wing, wing.make(wing.lib.BERT, vary(position=position)))
        before, after = (
            wing.numpy(model(wing.array(i), token_types=wing.array(t)))
            for i, t in ((ids, types), (ids[:, order], types[:, order]))
        )
        return after, before[:, order]

    assert_close(*run("none"))
    for position in ("learned", "sinusoidal", "rotary", "alibi"):
        after, before = run(position)
        assert np.abs(after - before).max() > 1e-4, position


def test_no_token_types_means_the_first(wing, rng):
    model, _ = randomize(wing, wing.make(wing.lib.BERT, CONFIG))
    ids, _ = draw(rng)
    without = wing.numpy(model(wing.array(ids)))
    zeros = wing.numpy(model(wing.array(ids), token_types=wing.array(0 * ids)))
    ones = wing.numpy(model(wing.array(ids), token_types=wing.array(0 * ids + 1)))
    np.testing.assert_array_equal(without, zeros)
    assert np.abs(ones - zeros).max() > 1e-3


def test_a_sequence_of_nothing_but_padding_is_finite(wing, rng):
    model, _ = randomize(wing, wing.make(wing.lib.BERTForMaskedLM, CONFIG))
    ids, _ = draw(rng)
    mask = wing.lib.padding_mask([0, T], T)
    assert np.isfinite(wing.numpy(model(wing.array(ids), mask=mask))).all()
    grads = wing.parameter_grads(
        model, lambda m: (m(wing.array(ids), mask=mask) ** 2).sum()
    )
    assert all(np.isfinite(g).all() for g in grads.values())


def test_the_guessing_heads_table_is_the_token_table(wing):
    weights = wing.lib.get_weights(wing.make(wing.lib.BERTForMaskedLM, CONFIG))
    shapes = [w.shape for w in weights.values()]
    assert shapes.count((V, CONFIG.d_model)) == 1


def test_starts_as_bert_does(wing):
    config = vary(vocab_size=1009, d_model=90, d_ff=210)
    model = wing.make(wing.lib.BERTForMaskedLM, config)
    for name, w in wing.lib.get_weights(model).items():
        if name.endswith("bias"):
            assert (w == 0).all(), name
        elif "norm" in name:
            assert (w == 1).all(), name
        else:
            assert np.isclose(w.std(), 0.02, rtol=5 / np.sqrt(w.size)), name


def test_with_its_heads_it_has_hugging_faces_number(both):
    base, large = BERTConfig.base(), BERTConfig.large()
    for name, config, more, number in (
        ("BERTForMaskedLM", base, (), 109_514_298),
        ("BERTForClassification", base, (2,), 109_483_778),
        ("BERT", large, (), 335_141_888),
        ("BERTForMaskedLM", large, (), 335_174_458),
    ):
        assert count(both[0], name, config, *more) == number


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda w: w.make(w.lib.BERT, CONFIG)(w.array(np.ones((2, 12), int))),
            ["max_len=11", "0 to 11"],
        ),
        (
            lambda w: w.make(w.lib.BERT, CONFIG)(
                w.array(np.ones((2, 5), int)),
                token_types=w.array(np.ones((2, 3), int)),
            ),
            ["one entry for each token", "(2, 3)", "(2, 5)"],
        ),
        (
            lambda w: w.make(w.lib.BERT, CONFIG, pooler=False).pool(
                w.array(np.ones((2, 5, 12), "float32"))
            ),
            ["pooler=False", "hidden[:, 0]"],
        ),
        (
            lambda w: w.make(w.lib.BERTForClassification, CONFIG, 0),
            ["n_classes must be a whole number", "0"],
        ),
    ],
)
def test_nonsense_is_refused(wing, no_hook, call, words):
    with pytest.raises(ValueError) as error:  # noqa: PT011 the words are checked below
        call(wing)
    for word in words:
        assert word in str(error.value), str(error.value)
