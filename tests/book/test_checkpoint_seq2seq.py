"""What the stored networks write on the page about sequence to sequence."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("flax")
pytest.importorskip("num2words")


def test_the_file_has_both_networks_from_every_start(command, stored):
    assert set(stored) == set(command.RATES)
    for found in stored.values():
        assert found.shape[:2] == (len(command.STARTS), 700)
        assert len(np.unique(found, axis=0)) == len(found)  # no two networks are one


# The hard endings come out otherwise on another processor, a fifth of the numbers.
@pytest.mark.slow
def test_a_network_trained_again_writes_what_the_file_says(command, stored):
    page = command.task()
    for kind, found in stored.items():
        again = command.write(page, kind, 3)
        assert (again == found[3]).all(axis=1).mean() > 0.8
