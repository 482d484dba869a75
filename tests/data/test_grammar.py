"""The grammar: each computed entropy against enumeration, and against samples."""

import itertools

import numpy as np
import pytest

from course_lib.data import (
    Source,
    best_guess,
    entropy,
    grammar,
    guess_losses,
    mask_words,
)
from course_lib.data.grammar import SPECIALS


def small_source() -> Source:
    """Three states, four symbols, two of them interchangeable: small enough to list."""
    table = np.zeros((4, 3, 3))
    table[0, 0, 1], table[1, 0, 2] = 0.6, 0.4
    table[0, 1, 0], table[2, 1, 1], table[3, 1, 1] = 0.5, 0.3, 0.2
    table[1, 2, 0], table[2, 2, 2], table[3, 2, 2] = 0.25, 0.45, 0.3
    return Source(table)


def listed(source: Source, length: int, start: np.ndarray) -> dict[tuple, float]:
    """Every sequence with its probability, by multiplying matrices (eq. 1)."""
    found = {}
    for sequence in itertools.product(range(len(source.table)), repeat=length):
        belief = start
        for x in sequence:
            belief = belief @ source.table[x]
        if belief.sum() > 0:
            found[sequence] = belief.sum()
    return found


@pytest.mark.parametrize("which", ["ngram_entropies", "position_entropies"])
def test_entropies_equal_enumeration(which):
    source = small_source()
    start = source.stationary if which == "ngram_entropies" else np.eye(3)[0]
    blocks = [
        entropy(np.array(list(listed(source, n, start).values()))) for n in range(1, 6)
    ]
    found = getattr(source, which)(5)
    np.testing.assert_allclose(found, np.diff(blocks, prepend=0.0), rtol=1e-10)


def test_posterior_equals_enumeration_under_noise(rng):
    source = small_source()
    joint = listed(source, 4, np.eye(3)[0])
    likelihood = rng.random((2, 4, 4))
    likelihood[0, 2] = 1.0
    expected = np.zeros((2, 4, 4))
    for b, t in itertools.product(range(2), range(4)):
        for sequence, p in joint.items():
            others = [likelihood[b, s, x] for s, x in enumerate(sequence) if s != t]
            expected[b, t, sequence[t]] += p * np.prod(others)
    expected /= expected.sum(-1, keepdims=True)
    np.testing.assert_allclose(source.posterior(likelihood), expected, atol=1e-13)


def test_next_symbol_equals_enumeration():
    source = small_source()
    joint = listed(source, 4, np.eye(3)[0])
    sequence = (0, 2, 0, 1)
    for t in range(4):
        p = np.zeros(4)
        for other, mass in joint.items():
            if other[:t] == sequence[:t]:
                p[other[t]] += mass
        given = source.next_symbol(np.array([sequence]))[0, t]
        np.testing.assert_allclose(given, p / p.sum(), atol=1e-13)


def test_grammar_ngram_entropies_equal_enumeration_over_words():
    """The grouping of words into classes must not change anything."""
    source = grammar().source
    beliefs, blocks = source.stationary[None], []
    for _ in range(3):
        beliefs = np.concatenate([beliefs @ matrix for matrix in source.table])
        beliefs = beliefs[beliefs.sum(1) > 0]
        blocks.append(entropy(beliefs.sum(1)))
    np.testing.assert_allclose(
        source.ngram_entropies(3), np.diff(blocks, prepend=0.0), rtol=1e-10
    )


def test_ngram_entropies_fall_to_the_entropy_rate():
    source = grammar().source
    found = source.ngram_entropies(30)
    assert (np.diff(found) < 1e-12).all()
    assert 0 < found[-1] - source.entropy_rate < 1e-3
    assert found[1] - source.entropy_rate > 0.4  # a bigram is clearly not enough


def test_entropy_rate_equals_the_slope_of_position_entropies():
    source = grammar().source
    tail = source.position_entropies(3000)[1000:]
    assert abs(tail.mean() - source.entropy_rate) < 1e-6


def test_sampled_loss_agrees_within_its_standard_error():
    source = grammar().source
    losses = source.losses(grammar().sample(3001, 41, seed=5)).mean(1)
    error = losses.std() / np.sqrt(len(losses))
    assert abs(losses.mean() - source.position_entropies(41).mean()) < 4 * error
    assert error < 0.005


def test_bigram_counts_pay_the_bigram_entropy():
    source = grammar().source
    train, test = (grammar().sample(3001, 83, seed=s)[:, 23:] for s in (1, 2))
    counts = np.full((grammar().vocab_size,) * 2, 1e-3)
    np.add.at(counts, (train[:, :-1], train[:, 1:]), 1)
    p = counts / counts.sum(1, keepdims=True)
    loss = -np.log(p[test[:, :-1], test[:, 1:]]).mean()
    assert abs(loss - source.ngram_entropies(2)[1]) < 0.01


@pytest.mark.parametrize("shown", [(1.0, 0.0, 0.0), (0.8, 0.1, 0.1)])
def test_best_guess_is_calibrated(shown):
    """Averaged over many texts, the mass it gives to the truth is the mass it has."""
    g = grammar()
    masked = mask_words(
        g.sample(701, 29, seed=11),
        seed=13,
        vocab_size=g.vocab_size,
        mask_id=g.mask_id,
        shown=shown,
    )
    guesses = best_guess(g, masked)
    rows = guesses[masked.selected]
    np.testing.assert_allclose(rows.sum(-1), 1, rtol=1e-12)
    losses = guess_losses(guesses, masked)
    # If truth is drawn from the rows themselves, the mean loss is their mean entropy.
    gap = losses - entropy(rows)
    assert abs(gap.mean()) < 4 * gap.std() / np.sqrt(len(gap))


def test_best_guess_sees_through_random_words():
    """Bayes' rule by hand on a text of one word: enumeration over truths and fates."""
    g = grammar()
    ids = g.sample(1, 1, seed=1)
    masked = mask_words(
        ids, seed=1, vocab_size=g.vocab_size, mask_id=g.mask_id, rate=1.0
    )
    seen = int(masked.inputs[0, 0])
    prior = g.source.emission[0]
    n = g.vocab_size - len(SPECIALS)
    shares = 0.8 * (seen == g.mask_id) + (seen != g.mask_id) * (
        0.1 / n + 0.1 * (np.arange(g.vocab_size) == seen)
    )
    expected = prior * shares / (prior * shares).sum()
    np.testing.assert_allclose(best_guess(g, masked)[0, 0], expected, atol=1e-13)


def test_masking_selects_and_shows_the_stated_shares():
    g = grammar()
    ids = g.sample(997, 101, seed=17)
    masked = mask_words(ids, seed=19, vocab_size=g.vocab_size, mask_id=g.mask_id)
    chosen = masked.selected
    assert abs(chosen.mean() - 0.15) < 0.005
    assert (masked.inputs[~chosen] == ids[~chosen]).all()
    assert (masked.targets[chosen] == ids[chosen]).all()
    assert abs((masked.inputs[chosen] == g.mask_id).mean() - 0.8) < 0.015
    same = (masked.inputs[chosen] == ids[chosen]).mean()
    assert abs(same - (0.1 + 0.1 / 48)) < 0.01


def test_special_tokens_are_never_selected():
    g = grammar()
    ids = np.full((7, 11), g.pad_id)
    masked = mask_words(
        ids, seed=1, vocab_size=g.vocab_size, mask_id=g.mask_id, rate=1.0
    )
    assert not masked.selected.any()


def test_verbs_agree_over_any_distance():
    g = grammar()
    text = "the bank that the firms trust"
    last = g.source.next_symbol(np.array([g.encode(text)]))[0, -1]
    allowed = {g.classes[i] for i in np.flatnonzero(last)}
    assert allowed == {"verb singular", "intransitive singular"}
    text = "does the bank near the firms near the firms"
    last = g.source.next_symbol(np.array([g.encode(text)]))[0, -1]
    allowed = {g.classes[i] for i in np.flatnonzero(last)}
    assert allowed == {"verb plural", "intransitive plural", "preposition"}


def test_questions_end_in_question_marks():
    g = grammar()
    n_questions = 0
    for row in g.sample(211, 53, seed=3):
        text = g.decode(row).replace("?", "?|").replace(".", ".|")
        for sentence in text.split("|")[:-1]:  # the last one is cut off
            words = sentence.split()
            question = words[0] in ("do", "does")
            assert words[-1] == ("?" if question else ".")
            n_questions += question
    assert n_questions > 100


def test_a_word_depends_on_the_text_through_its_class_alone():
    g = grammar()
    emission = g.source.emission
    for name in set(g.classes[len(SPECIALS) :]):
        ids = [i for i, c in enumerate(g.classes) if c == name]
        rows = emission[:, ids][emission[:, ids[0]] > 0]
        shares = rows / rows.sum(1, keepdims=True)
        np.testing.assert_allclose(shares, shares[:1].repeat(len(shares), 0))


def test_encode_and_decode_are_inverse():
    g = grammar()
    text = g.decode(g.sample(1, 37, seed=23)[0])
    assert g.decode(g.encode(text)) == text


def test_the_first_mistake_is_where_no_text_of_the_language_goes_on():
    language = grammar()
    for text in language.sample(50, 33, seed=3):
        assert language.first_mistake(text) is None
    for text, at in (
        ("the firm near the banks grow .", 5),
        ("does the firm near the banks grow ?", None),
        ("do the farmer pay", 2),
        ("the firm grows . the firm grow", 6),
        ("the firms that the bank", None),
        ("firm", 0),
    ):
        assert language.first_mistake(language.encode(text)) == at


def test_refusals_say_what_came():
    g = grammar()
    with pytest.raises(ValueError, match="got 'dragon'"):
        g.encode("the dragon")
    with pytest.raises(ValueError, match="sequence 0 leaves it at position 1"):
        g.source.next_symbol(np.array([g.encode("the the")]))
    with pytest.raises(ValueError, match="unifilar"):
        Source(np.full((1, 2, 2), 0.5))
    with pytest.raises(ValueError, match="sums run from"):
        Source(np.full((2, 1, 1), 0.3))
    with pytest.raises(ValueError, match="rate must be above 0"):
        mask_words(np.zeros((1, 1)), seed=0, vocab_size=9, mask_id=3, rate=0)
    with pytest.raises(ValueError, match="sum to 1"):
        mask_words(
            np.zeros((1, 1)), seed=0, vocab_size=9, mask_id=3, shown=(1.0, 0.1, 0.1)
        )
    impossible = np.eye(g.vocab_size)[np.array([g.encode("the the")])]
    with pytest.raises(ValueError, match="possible under the source"):
        g.source.posterior(impossible)


def test_sentences_are_whole_and_of_the_lengths_asked_for():
    language = grammar()
    found = language.sentences(500, seed=3, shortest=4, longest=7)
    assert len(found) == 500
    assert {len(s) for s in found} == {4, 5, 6, 7}
    for s in found:
        assert language.first_mistake(s) is None
        assert language.decode(s[-1:]) in (".", "?")
        assert not {".", "?"} & set(language.decode(s[:-1]).split())
    again = language.sentences(500, seed=3, shortest=4, longest=7)
    assert all(np.array_equal(a, b) for a, b in zip(found, again, strict=True))
    with pytest.raises(ValueError, match="none of 1 to 2 words"):
        language.sentences(1, seed=0, shortest=1, longest=2)


def test_the_forms_of_a_word_are_each_others():
    language = grammar()
    ids = language.encode("firms firm see sees waits wait that .")
    named = language.decode(language.other_number[ids])
    assert named == "firm firms sees see wait waits that ."
    assert language.decode(language.lemma[ids[:6]]) == "firm firm sees sees waits waits"
    assert (language.lemma[ids[6:]] == -1).all()
    assert language.is_plural[ids].tolist() == [1, 0, 1, 0, 0, 1, 0, 0]
    assert language.is_noun[ids].tolist() == [1, 1, 0, 0, 0, 0, 0, 0]
    assert language.is_verb[ids].tolist() == [0, 0, 1, 1, 1, 1, 0, 0]
