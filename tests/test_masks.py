"""Masks: against the rule asked of every pair, alignment, combining, refusals."""

import numpy as np
import pytest
from hypothesis import strategies as st
from wings import assert_refused, drawn, each

from course_lib import oracle

T, S = 5, 11

# Each pattern: its arguments, and the rule of a query at i and a key at j.
PATTERNS = {
    "causal": ({}, lambda i, j: j <= i),
    "window": ({"size": 3}, lambda i, j: abs(i - j) <= 2),
}


@pytest.mark.parametrize("name", PATTERNS)
@each(
    ("n_queries", "n_keys"),
    [(T, S), (S, S), (1, 1), (1, S), (3, 3), (3, 7), (7, 13)],
    nnx=[(T, S), (1, 1)],
)
def test_equals_the_rule_asked_of_every_pair(wing, name, n_queries, n_keys):
    options, rule = PATTERNS[name]
    got = wing.numpy(getattr(wing.lib, f"{name}_mask")(n_queries, n_keys, **options))
    assert got.dtype == bool
    np.testing.assert_array_equal(got, oracle.mask(n_queries, n_keys, rule))


def test_an_offset_says_where_the_first_query_stands(wing):
    whole = wing.numpy(wing.lib.causal_mask(S))
    rows = wing.numpy(wing.lib.causal_mask(T, S, offset=2))
    np.testing.assert_array_equal(rows, whole[2 : 2 + T])


def test_an_offset_may_be_traced():
    jax = pytest.importorskip("jax")
    lib = pytest.importorskip("course_lib.nnx")
    rows = jax.jit(lambda offset: lib.causal_mask(T, S, offset=offset))(3)
    np.testing.assert_array_equal(rows, oracle.causal_mask(S, S)[3 : 3 + T])


@drawn(
    st.sampled_from([1, 5]).flatmap(
        lambda n: st.lists(st.integers(0, 7), min_size=n, max_size=n)
    )
)
def test_padding_by_lengths_equals_padding_by_ids(wing, lengths):
    ids = np.ones((len(lengths), 7), dtype=np.int32)
    for row, length in zip(ids, lengths, strict=True):
        row[length:] = 0
    by_length = wing.numpy(wing.lib.padding_mask(lengths, 7))
    by_array = wing.numpy(wing.lib.padding_mask(wing.array(lengths), 7))
    by_id = wing.numpy(wing.lib.padding_mask_from_ids(wing.array(ids), 0))
    np.testing.assert_array_equal(by_length, oracle.padding_mask(np.array(lengths), 7))
    np.testing.assert_array_equal(by_array, by_length)
    np.testing.assert_array_equal(by_id, by_length)


def test_padding_may_stand_anywhere(wing):
    ids = wing.array(np.array([[0, 3, 0, 5, 7]]))
    real = wing.numpy(wing.lib.padding_mask_from_ids(ids, 0))
    np.testing.assert_array_equal(real[0, 0, 0], [False, True, False, True, True])


def test_masks_combine(wing):
    both = wing.lib.causal_mask(S) & wing.lib.window_mask(S, size=3)
    expected = oracle.mask(S, S, lambda i, j: 0 <= i - j <= 2)
    np.testing.assert_array_equal(wing.numpy(both), expected)
    assert (wing.numpy(both).sum(-1)[2:] == 3).all()  # the last `size` tokens
    batch = wing.lib.padding_mask([2, 5], 5) & wing.lib.causal_mask(5)
    assert tuple(batch.shape) == (2, 1, 5, 5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda w: w.lib.causal_mask(5, 3), ["n_keys must be at least", "n_keys=3"]),
        (lambda w: w.lib.causal_mask(3, 5, offset=3), ["offset=3", "n_keys=5"]),
        (
            lambda w: w.lib.padding_mask_from_ids(w.array(np.ones(3, int)), 0),
            ["ids must be a batch", "(3,)", "ids[None]"],
        ),
        (
            lambda w: w.lib.padding_mask_from_ids(w.array(np.ones((2, 3))), 0),
            ["ids must hold whole numbers", "float64"],
        ),
    ],
)
def test_nonsense_is_refused(wing, no_hook, call, words):
    assert_refused(lambda: call(wing), words)


def test_packed_texts_do_not_see_each_other(wing):
    documents = np.array([[0, 0, 1, 1, 1, 2, 2], [4, 4, 4, 4, 4, 4, 9]])
    got = wing.numpy(wing.lib.document_mask(wing.array(documents)))
    assert got.shape == (2, 1, 7, 7)
    for b, i, j in np.ndindex(2, 7, 7):
        assert got[b, 0, i, j] == (documents[b, i] == documents[b, j])
