"""The drawn picture of paths: its marked ways are the shortest there are."""

import itertools

import book_scripts
import pytest

before = book_scripts.load("before")


@pytest.mark.parametrize(
    ("network", "steps"),
    [("recurrent", before.N), ("dilated", 3), ("bahdanau", 2), ("self_attention", 1)],
)
def test_the_marked_way_has_the_length_that_the_text_says(network, steps):
    reads = getattr(before, network)()
    way = before.shortest(reads, max(reads))
    assert len(way) - 1 == steps
    assert way[0] == (0.0, 0)
    assert way[-1][1] == before.N - 1
    for below, node in itertools.pairwise(way):
        assert below in reads[node]
