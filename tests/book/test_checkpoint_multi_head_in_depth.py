"""Where the stored starts end on the page about many heads, in depth."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("flax")


def test_the_file_has_each_kind_of_start_with_each_number_of_heads(command, stored):
    assert set(stored) == set(command.STARTS)
    for reached in stored.values():
        assert reached.shape == (len(command.HEADS), len(command.SEEDS))
        assert (reached <= 1).all()
        assert (np.ptp(reached, axis=1) > 0).all()  # no number of heads has one result


# Where a start decides late, another processor's rounding can turn it: not one in ten.
@pytest.mark.slow
@pytest.mark.parametrize(("name", "heads"), [("ordinary", 2), ("times 1.5", 8)])
def test_starts_that_are_trained_again_end_where_the_file_says(
    command, stored, name, heads
):
    again = command.train(command.task(), name, heads, range(100, 132))
    before = stored[name][command.HEADS.index(heads), 100:132]
    assert ((again > 0.95) == (before > 0.95)).mean() > 0.9
