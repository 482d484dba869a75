"""The drawn picture of paths: its marked ways are the shortest there are."""

import itertools

import book_scripts
import pytest

recurrence = book_scripts.load("recurrence")


@pytest.mark.parametrize(
    ("network", "steps"),
    [
        ("recurrent", recurrence.N),
        ("dilated", 3),
        ("bahdanau", 2),
        ("self_attention", 1),
    ],
)
def test_the_marked_way_has_the_length_that_the_text_says(network, steps):
    reads = getattr(recurrence, network)()
    way = recurrence.shortest(reads, max(reads))
    assert len(way) - 1 == steps
    assert way[0] == (0.0, 0)
    assert way[-1][1] == recurrence.N - 1
    for below, node in itertools.pairwise(way):
        assert below in reads[node]
