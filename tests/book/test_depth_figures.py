"""The picture of the norms, held to the norms: what it colors is what counts."""

import book_scripts
import numpy as np
import pytest


@pytest.fixture(scope="module")
def depth():
    return book_scripts.load("depth")


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def _layers(torch, d, groups):
    nn = torch.nn
    return {
        "BatchNorm": lambda a: nn.BatchNorm1d(d, eps=1e-5).to(a.dtype)(a.mT).mT,
        "LayerNorm": nn.LayerNorm(d, eps=1e-5, dtype=torch.float64),
        "GroupNorm": lambda a: nn.GroupNorm(groups, d, eps=1e-5, dtype=a.dtype)(
            a.flatten(0, 1)
        ).view_as(a),
        "RMSNorm": nn.RMSNorm(d, eps=1e-5, dtype=torch.float64),
    }


@pytest.mark.parametrize("entry", [(1, 1, 1), (0, 3, 5)])
@pytest.mark.parametrize("name", ["BatchNorm", "LayerNorm", "GroupNorm", "RMSNorm"])
def test_the_colored_entries_are_those_that_count(depth, torch, name, entry):
    """The derivative of one output is other than 0 exactly where the picture says."""
    rng = np.random.default_rng(0)
    shape = (depth.B, depth.T, depth.D)
    x = torch.tensor(rng.standard_normal(shape), requires_grad=True)
    layer = _layers(torch, depth.D, depth.GROUPS)[name]
    layer(x)[entry].backward()
    np.testing.assert_array_equal(
        x.grad.abs().numpy() > 1e-9, depth.averaged(name, *entry)
    )


def test_every_norm_of_the_picture_is_tested(depth):
    assert set(depth.NORMS) == {"BatchNorm", "LayerNorm", "GroupNorm", "RMSNorm"}
