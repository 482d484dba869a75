"""n-gram models: distributions, equal to their definition, above the entropy floor."""

import numpy as np
import pytest

from course_lib import data
from course_lib.baselines import NGram

V = 7
KINDS = ["kneser-ney", "absolute", "add-k"]


@pytest.fixture(scope="module")
def texts():
    return np.random.default_rng(3).integers(0, V - 1, (11, 13))  # V - 1 never occurs


def contexts():
    rng = np.random.default_rng(5)
    return [[], [0], [V - 1, V - 1, V - 1], *rng.integers(0, V, (20, 3)).tolist()]


def discounted(model, d):
    """The model with a discount that can be followed by hand."""
    model._discount = lambda length: d
    return model


def by_definition(texts, context, order, discount, smoothing):
    """Eq. 1 from sets of n-grams, one order after the other."""
    padded = [[-1] * (order - 1) + list(text) for text in texts]
    places = [(text, i) for text in padded for i in range(order - 1, len(text))]
    p = np.full(V, 1 / V)
    for n in range(1, order + 1):
        longer = [tuple(text[i - n : i + 1]) for text, i in places if i >= n]
        if n < order and smoothing == "kneser-ney":
            grams = [gram[1:] for gram in set(longer)]
        else:
            grams = [tuple(text[i - n + 1 : i + 1]) for text, i in places]
        end = tuple(([-1] * order + list(context))[len(context) + order - n + 1 :])
        counts = np.array([grams.count((*end, x)) for x in range(V)])
        if counts.sum():
            kept = np.maximum(counts - discount, 0)
            handed = discount * (counts > 0).sum()
            p = (kept + handed * p) / counts.sum()
    return p


@pytest.mark.parametrize("smoothing", ["kneser-ney", "absolute"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_probabilities_equal_their_definition(texts, order, smoothing):
    model = discounted(NGram(order, V, smoothing=smoothing).fit(texts), 0.7)
    for context in contexts():
        expected = by_definition(texts, context, order, 0.7, smoothing)
        np.testing.assert_allclose(model.probabilities(context), expected)


def test_kneser_ney_worked_by_hand():
    """a b a b c: the bigrams are (start, a), (a, b) twice, (b, a), (b, c).

    Different predecessors: two of a, one of b, one of c, in all four. With d = 1/2 and
    four tokens in the vocabulary, p(a) = 1.5/4 + 0.5 * 3/4 * 1/4, and so on.
    """
    model = discounted(NGram(2, 4).fit([0, 1, 0, 1, 2]), 0.5)
    alone = np.array([0.46875, 0.21875, 0.21875, 0.09375])
    np.testing.assert_allclose(model.probabilities([3]), alone)  # an unseen context
    after_b = np.array([0.25, 0, 0.25, 0]) + 0.5 * alone
    np.testing.assert_allclose(model.probabilities([1]), after_b)
    after_a = np.array([0, 0.75, 0, 0]) + 0.25 * alone
    np.testing.assert_allclose(model.probabilities([0]), after_a)


def test_a_token_with_one_predecessor_is_a_bad_guess_elsewhere():
    """ "San Francisco": 1 is frequent, but comes after 0 alone; 2 comes after many."""
    text = [0, 1] * 9 + [2, 3, 2, 4, 2, 5, 2]
    known, plain = (
        discounted(NGram(2, V, smoothing=rule).fit(text), 0.7).probabilities([6])
        for rule in ("kneser-ney", "absolute")
    )
    assert known[1] < known[2]
    assert plain[1] > plain[2]


@pytest.mark.parametrize("smoothing", KINDS)
@pytest.mark.parametrize("order", [1, 2, 4])
def test_every_context_has_a_distribution(texts, order, smoothing):
    model = NGram(order, V, smoothing=smoothing).fit(texts)
    for context in contexts():
        p = model.probabilities(context)
        assert (p > 0).all()
        assert p.sum() == pytest.approx(1)


def test_add_k_adds_one(texts):
    model = NGram(2, V, smoothing="add-k").fit(texts)
    following = texts[:, 1:][texts[:, :-1] == 3]
    counts = np.bincount(following, minlength=V) + 1
    np.testing.assert_allclose(model.probabilities([3]), counts / counts.sum())
    np.testing.assert_allclose(model.probabilities([V - 1]), 1 / V)


@pytest.mark.parametrize("smoothing", KINDS)
def test_losses_are_those_of_the_probabilities(texts, smoothing):
    model = NGram(3, V, smoothing=smoothing).fit(texts)
    other = np.random.default_rng(11).integers(0, V, (5, 17))
    losses = model.losses(other)
    assert losses.shape == (5, 17)
    for row, t in np.ndindex(5, 17):
        p = model.probabilities(other[row, :t])[other[row, t]]
        assert losses[row, t] == pytest.approx(-np.log(p))
    np.testing.assert_array_equal(model.losses(other[2]), losses[2])
    np.testing.assert_array_equal(model.losses(other), losses)  # nothing was learned


def test_the_discount_comes_from_the_counts_of_counts():
    model = NGram(1, V).fit([0, 0, 0, 1, 1, 2, 3, 4])  # 3 tokens once, 1 twice
    assert model._discount(0) == pytest.approx((3 + 1) / (3 + 1 + 2 * (1 + 1)))
    model.fit([1, 2])  # now 2 once, 1 twice
    assert model._discount(0) == pytest.approx((2 + 1) / (2 + 1 + 2 * (1 + 1)))


def test_on_held_out_text_kneser_ney_beats_add_one_and_not_the_best_possible():
    language = data.grammar()
    train, test = (language.sample(n, 33, seed=s) for n, s in ((997, 1), (211, 2)))
    floor = language.source.losses(test)[:, 1:].mean()

    def loss(order, **options):
        model = NGram(order, language.vocab_size, **options).fit(train)
        return model.losses(test)[:, 1:].mean()

    found = {order: loss(order) for order in (1, 2, 3, 4)}
    for order in (2, 3, 4):
        assert found[order] < loss(order, smoothing="add-k") - 0.01
        assert found[order] < loss(order, smoothing="absolute") + 0.005
        assert found[order] > floor + 0.2
    best = language.source.ngram_entropies(2)[1]
    assert found[2] == pytest.approx(best, abs=0.05)
    assert found[2] < found[1] - 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: NGram(0, V), "order must be"),
        (lambda: NGram(2, V, smoothing="good-turing"), "smoothing must be one of"),
        (lambda: NGram(2, V).fit([0, V]), "from 0 to 6: got 0 to 7"),
        (lambda: NGram(2, V).losses([-1, 0]), "from 0 to 6: got -1"),
        (lambda: NGram(2, V).fit(np.zeros((1, 2, 3), int)), "T or N T"),
    ],
)
def test_refusals_say_what_came(call, words):
    with pytest.raises(ValueError, match=words):
        call()
