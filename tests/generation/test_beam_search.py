"""Beam search: wide enough, it finds what looking at everything finds."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.generation.beam_search import _length_factor, beam_search

V, STOP = 4, 3


def markov(seed, order=2):
    """A language in which the next token depends on the last two."""
    rng = np.random.default_rng(seed)
    table = np.log(rng.dirichlet(np.full(V, 0.7), size=(V,) * order))
    return lambda rows: table[tuple(rows[:, -order:].T)]


def every_text(model, prompt, longest, alpha, stop=STOP):
    """All continuations up to a length, with their scores: the slow, sure way."""
    texts = {}
    for length in range(1, longest + 1):
        for tokens in product(range(V), repeat=length):
            ended = stop is not None and tokens[-1] == stop
            if (stop is not None and stop in tokens[:-1]) or (
                not ended and length < longest
            ):
                continue
            log_prob, rows = 0.0, list(prompt)
            for token in tokens:
                log_prob += model(np.array([rows]))[0, token]
                rows.append(token)
            texts[tokens] = log_prob / _length_factor(length, alpha)
    return sorted(texts.items(), key=lambda item: -item[1])


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.6, 1.0, 2.0]),
    st.sampled_from([STOP, None]),
)
def test_full_width_equals_exhaustive_search(seed, longest, alpha, stop):
    model = markov(seed)
    expected = every_text(model, [0, 1], longest, alpha, stop)
    found = beam_search(
        model,
        [0, 1],
        n_beams=V**longest,
        max_new_tokens=longest,
        stop_token=stop,
        length_penalty=alpha,
    )
    assert {h.tokens for h in found} == {tokens for tokens, _ in expected}
    np.testing.assert_allclose([h.score for h in found], [s for _, s in expected])


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from([0.0, 3.0]))
def test_one_beam_is_greedy_search(seed, longest, alpha):
    model, rows = markov(seed), [0, 1]
    for _ in range(longest):
        rows.append(int(model(np.array([rows]))[0].argmax()))
        if rows[-1] == STOP:
            break
    how = {"max_new_tokens": longest, "stop_token": STOP, "length_penalty": alpha}
    (found,) = beam_search(model, [0, 1], n_beams=1, **how)
    assert found.tokens == tuple(rows[2:])


def test_greedy_can_miss_the_most_probable_text():
    # "a" is the likeliest first word, but all texts that start with "b" are the same
    # one.
    first = np.log([0.4, 0.6, 1e-12])
    after_b, after_a = np.log([1e-12, 1e-12, 1.0]), np.log([0.5, 0.5, 1e-12])

    def model(rows):
        return np.array(
            [first if len(r) == 1 else (after_b, after_a)[r[1]] for r in rows]
        )

    (one,) = beam_search(model, [2], n_beams=1, max_new_tokens=2)
    best, *_ = beam_search(model, [2], n_beams=2, max_new_tokens=2)
    assert one.tokens[0] == 1
    assert best.tokens == (0, 2)
    np.testing.assert_allclose(np.exp([one.log_prob, best.log_prob]), [0.3, 0.4])


def test_a_length_penalty_can_turn_the_ranking():
    def model(rows):  # stop at once with 0.5, or go on for sure and stop after three
        go, end = np.log([1.0, 1e-12]), np.log([1e-12, 1.0])
        table = {1: np.log([0.5, 0.5]), 2: go, 3: end}
        return np.array([table[len(r)] for r in rows])

    options = {"n_beams": 2, "max_new_tokens": 3, "stop_token": 1}
    short = beam_search(model, [0], **options)[0]
    long = beam_search(model, [0], **options, length_penalty=1.0)[0]
    assert (len(short.tokens), len(long.tokens)) == (1, 3)


def test_what_cannot_be_said_is_not_found():
    impossible = np.array([0.0, -np.inf])
    found = beam_search(
        lambda rows: np.tile(impossible, (len(rows), 1)),
        [0],
        n_beams=3,
        max_new_tokens=2,
    )
    assert [h.tokens for h in found] == [(0, 0)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_beams": 0}, "n_beams must be a whole number"),
        ({"max_new_tokens": 0}, "max_new_tokens must be a whole number"),
        ({"length_penalty": -1.0}, "length_penalty must be at least 0"),
        ({"prompt": []}, "at least one token"),
    ],
)
def test_searches_that_make_no_sense_are_refused(options, message):
    options = {"prompt": [0], "n_beams": 2, "max_new_tokens": 3} | options
    with pytest.raises(ValueError, match=message):
        beam_search(markov(0), **options)
