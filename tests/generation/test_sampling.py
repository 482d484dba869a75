"""From scores to tokens: frequencies are probabilities, and sets are the smallest."""

import numpy as np
import pytest
from hypothesis import strategies as st
from wings import drawn

from course_lib import oracle

numbers = st.floats(-8, 8, width=32).map(lambda x: round(x, 2))
rows = st.sampled_from([1, 2, 11]).flatmap(  # few, since JAX compiles each new length
    lambda n: st.lists(numbers, min_size=n, max_size=n)
)


def kept(wing, logits):
    return np.isfinite(wing.numpy(logits))


@drawn(rows, st.integers(1, 13))
def test_top_k_keeps_what_the_oracle_keeps(wing, logits, k):
    got = kept(wing, wing.lib.keep_top_k(wing.array(logits, "float64"), k))
    assert got.sum() == min(k, len(logits))
    expected = np.isfinite(oracle.keep_top_k(np.array(logits), k))
    np.testing.assert_array_equal(got, expected)


@drawn(rows, st.floats(0.01, 0.99))
def test_top_p_keeps_the_smallest_set_with_that_mass(wing, logits, p):
    shares = np.sort(oracle.softmax(np.array(logits)))[::-1].cumsum()
    if np.abs(shares - p).min() < 1e-9:
        return  # rounding decides; either set is right
    got = kept(wing, wing.lib.keep_top_p(wing.array(logits, "float64"), p))
    np.testing.assert_array_equal(
        got, np.isfinite(oracle.keep_top_p(np.array(logits), p))
    )
    mass = oracle.softmax(np.array(logits))
    assert mass[got].sum() >= p
    assert mass[got].sum() - mass[got].min() < p  # one fewer would not do


@drawn(rows, st.floats(0.01, 1))
def test_min_p_keeps_what_is_likely_beside_the_likeliest(wing, logits, p):
    mass = oracle.softmax(np.array(logits))
    if np.abs(mass / mass.max() - p).min() < 1e-9 and p < 1:
        return  # rounding decides; either set is right
    got = kept(wing, wing.lib.keep_min_p(wing.array(logits, "float64"), p))
    np.testing.assert_array_equal(
        got, np.isfinite(oracle.keep_min_p(np.array(logits), p))
    )
    assert got[mass.argmax()]


@drawn(rows, st.floats(0.5, 3), st.data())
def test_a_penalty_lowers_what_was_seen_and_nothing_else(wing, logits, penalty, data):
    text = data.draw(st.lists(st.integers(0, len(logits) - 1), max_size=5))
    seen = np.isin(np.arange(len(logits)), text)
    got = wing.lib.penalize_repetition(
        wing.array(logits, "float64"), wing.array(seen), penalty
    )
    expected = oracle.penalize_repetition(np.array(logits), text, penalty)
    np.testing.assert_allclose(wing.numpy(got), expected, rtol=1e-12)
    change = wing.numpy(got) - np.array(logits)
    assert (change * np.sign(1 - penalty) >= 0).all()
    assert (change[~seen] == 0).all()


def test_the_penalty_and_min_p_are_those_of_transformers(rng):
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("transformers.generation.logits_process")
    import course_lib.torch as ct

    logits, ids = (
        torch.from_numpy(rng.standard_normal((3, 11))),
        torch.tensor([[1, 2, 2], [4, 0, 1], [10, 9, 8]]),
    )
    seen = torch.zeros(3, 11, dtype=torch.bool).scatter(1, ids, True)
    penalized = theirs.RepetitionPenaltyLogitsProcessor(1.3)(ids, logits)
    torch.testing.assert_close(ct.penalize_repetition(logits, seen, 1.3), penalized)
    cut = theirs.MinPLogitsWarper(0.3)(ids, logits)
    torch.testing.assert_close(ct.keep_min_p(logits, 0.3), cut)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_settings_of_one_keep_everything(wing, rng, dtype):
    many = wing.array(rng.standard_normal(4096), dtype)  # a sum passes 1 on the way
    assert kept(wing, wing.lib.keep_top_p(many, 1.0)).all()
    logits = wing.array(rng.standard_normal((2, 7)), dtype)
    assert kept(wing, wing.lib.keep_top_k(logits, 7)).all()
    assert kept(wing, wing.lib.keep_min_p(logits, 0.0)).all()
    seen = wing.array(np.ones((2, 7), bool))
    same = wing.lib.penalize_repetition(logits, seen, 1.0)
    np.testing.assert_array_equal(wing.numpy(same), wing.numpy(logits))


@drawn(rows, st.floats(0, 0.999999))
def test_a_number_falls_into_the_oracles_token(wing, logits, uniform):
    edges = oracle.softmax(np.array(logits)).cumsum()
    if np.abs(edges - uniform).min() < 1e-9:
        return  # on the border between two tokens
    got = wing.lib.sample(wing.array(logits, "float64"), wing.array(uniform, "float64"))
    assert int(got) == oracle.sample(np.array(logits), uniform)


def test_sampled_frequencies_are_the_probabilities(wing, rng):
    logits = np.array([0.5, -np.inf, 2.0, -1.0, 1.0])
    n = 200_000
    draws = wing.numpy(
        wing.lib.sample(wing.array(np.tile(logits, (n, 1))), wing.array(rng.random(n)))
    )
    p = oracle.softmax(logits)
    frequencies = np.bincount(draws, minlength=5) / n
    standard_error = np.sqrt(p * (1 - p) / n)
    assert (np.abs(frequencies - p) <= 4 * standard_error).all()
    assert frequencies[1] == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_largest_number_still_draws_a_possible_token(wing, dtype):
    logits = np.array([0.1] * 1001 + [-np.inf] * 3, dtype)
    largest = np.nextafter(np.array(1, dtype), np.array(0, dtype))
    assert int(wing.lib.sample(wing.array(logits), wing.array(largest))) == 1000


def test_greedy_takes_the_first_of_equals(wing):
    ids = wing.lib.greedy(wing.array([[0.0, 3.0, 3.0], [1.0, 0.0, 0.5]], "float32"))
    np.testing.assert_array_equal(wing.numpy(ids), [1, 0])


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_the_likeliest_stays_whatever_the_setting(wing, dtype):
    logits = wing.array(np.arange(4.0), dtype)
    for cut, p in ((wing.lib.keep_top_p, 1e-46), (wing.lib.keep_min_p, 1.0)):
        np.testing.assert_array_equal(kept(wing, cut(logits, p)), [0, 0, 0, 1])


def test_in_16_bits_probabilities_are_summed_in_32(wing):
    n = 4001  # of which 16 bits reach a few hundred
    logits, numbers = np.zeros((9, n), "float16"), np.arange(1, 10).astype("float16")
    drawn = wing.lib.sample(wing.array(logits), wing.array(numbers / 16))
    np.testing.assert_array_equal(wing.numpy(drawn), np.arange(1, 10) * n // 16)
    kept_at = wing.lib.keep_top_p(wing.array(logits[0]), 0.75)
    assert kept(wing, kept_at).sum() == 3001


def test_both_wings_draw_the_same(both, rng):
    logits = rng.standard_normal((997, 31)).astype("float32")
    uniform = rng.random(997).astype("float32")
    ids = [
        w.numpy(
            w.lib.sample(
                w.lib.keep_top_p(w.lib.keep_top_k(w.array(logits), 11), 0.9),
                w.array(uniform),
            )
        )
        for w in both
    ]
    np.testing.assert_array_equal(ids[0], ids[1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda lib, z: lib.keep_top_k(z, 0), "top_k must be a whole number"),
        (lambda lib, z: lib.keep_top_k(z, 2.5), "top_k must be a whole number"),
        (lambda lib, z: lib.keep_top_p(z, 0.0), "top_p must be above 0"),
        (lambda lib, z: lib.keep_top_p(z, 1.5), "top_p must be above 0"),
        (lambda lib, z: lib.keep_min_p(z, -0.1), "min_p must be at least 0"),
        (lambda lib, z: lib.keep_min_p(z, 1.1), "min_p must be at least 0"),
        (
            lambda lib, z: lib.penalize_repetition(z, z > 0, 0),
            "repetition_penalty must be from",
        ),
    ],
)
def test_settings_that_draw_nothing_are_refused(wing, no_hook, call, message):
    with pytest.raises(ValueError, match=message):
        call(wing.lib, wing.array([0.0, 1.0], "float32"))


@pytest.mark.parametrize(
    ("dtypes", "message"),
    [
        (
            ("float64", "float32"),
            "must share one dtype: got logits .*float",
        ),
        (
            ("float32", "float64"),
            "must share one dtype: got logits .*float",
        ),
        (("int32", "float32"), "logits must hold floating-point numbers"),
        (("float32", "int32"), "uniform must hold floating-point numbers"),
    ],
)
def test_scores_and_numbers_to_draw_with_are_of_one_kind(
    wing, no_hook, dtypes, message
):
    logits, uniform = (
        wing.array(np.zeros(shape), dtype)
        for shape, dtype in zip(((2, 3), (2,)), dtypes, strict=True)
    )
    with pytest.raises(ValueError, match=message):
        wing.lib.sample(logits, uniform)
