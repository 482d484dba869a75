"""Sentences laid out for BERT, and ends that fit their beginnings or do not."""

import numpy as np
import pytest

from course_lib import data
from course_lib.data.segments import KINDS


def rows(ids, types):
    """Each row without its padding, which is on the right and of type 0."""
    for row, kind in zip(ids, types, strict=True):
        size = int((row != 0).sum())
        assert (row[:size] != 0).all()
        assert (kind[size:] == 0).all()
        yield row[:size].tolist(), kind[:size].tolist()


def test_a_pair_is_framed_by_its_special_tokens():
    ids, types = data.frame([[5, 6], [7]], [[8], [9, 10, 11]])
    assert list(rows(ids, types)) == [
        ([1, 5, 6, 2, 8, 2], [0, 0, 0, 0, 1, 1]),
        ([1, 7, 2, 9, 10, 11, 2], [0, 0, 0, 1, 1, 1, 1]),
    ]


def test_a_single_segment_has_one_separator_and_one_type():
    ids, types = data.frame([[5, 6], [7]], length=7)
    assert ids.tolist() == [[1, 5, 6, 2, 0, 0, 0], [1, 7, 2, 0, 0, 0, 0]]
    assert not types.any()


def test_targets_are_framed_like_their_inputs():
    text = data.grammar().sample(5, 11, seed=3)
    ids, _ = data.frame(text[:, :3], text[:, 3:])
    targets, _ = data.frame(text[:, :3], text[:, 3:], cls_id=-100, sep_id=-100)
    words = targets != data.IGNORE
    assert (words.sum(axis=1) == 11).all()
    assert (targets[words] == ids[words]).all()


def test_a_row_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="got 5 for 6"):
        data.frame([[5, 6]], [[8]], length=5)
    with pytest.raises(ValueError, match="equally many: got 1 and 2"):
        data.frame([[5]], [[8], [9]])


def test_masked_segments_hold_the_masked_text_and_a_cut():
    masked, (ids, types, targets) = data.masked_segments(37, 11, seed=(3, 5))
    assert ids.shape == types.shape == targets.shape == (37, 14)
    assert set(types.sum(axis=1)) <= set(range(2, 12))  # both segments hold a word
    for row, target, text in zip(ids, targets, range(37), strict=True):
        words = (row != 1) & (row != 2)
        assert (row[words] == masked.inputs[text]).all()
        assert (target[words] == masked.targets[text]).all()
        assert (target[~words] == data.IGNORE).all()


@pytest.fixture(scope="module")
def pairs():
    return data.continuations(1201, seed=5)


def test_an_end_fits_exactly_if_the_grammar_can_say_it(pairs):
    source = data.grammar().source
    for row, label in zip(pairs.tokens, pairs.labels, strict=True):
        words = row[row > 3][None]
        if label:
            assert np.isfinite(source.losses(words)).all()
        else:
            with pytest.raises(ValueError, match="can emit"):
                source.losses(words)


def test_the_second_segment_begins_with_the_main_verb(pairs):
    classes = data.grammar().classes
    first = np.argmax(pairs.token_types, axis=1)
    for row, place in zip(pairs.tokens, first, strict=True):
        assert row[place - 1] == 2
        assert classes[row[place]].startswith(("verb", "intransitive"))


def test_neither_side_alone_tells_the_label(pairs):
    """The labels of pairs with a given beginning, or a given end, are a fair coin."""
    assert pairs.labels.sum() == 600
    for side in (0, 1):
        for kind in range(len(KINDS)):
            found = pairs.labels[pairs.kinds[:, side] == kind]
            assert len(found) > 300
            assert abs(found.mean() - 0.5) < 4 * 0.5 / np.sqrt(len(found))


def test_kinds_are_equal_exactly_if_the_label_is_one(pairs):
    assert ((pairs.kinds[:, 0] == pairs.kinds[:, 1]) == (pairs.labels == 1)).all()
