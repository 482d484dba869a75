"""The page on text as data: its kernel, on data made up so that the answer is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from book_scripts import load


@pytest.fixture(scope="module", params=["torch", "nnx"])
def predict(request):
    """The page's kernel regression that leaves a group out."""
    names = {"torch": torch, "np": np, "jax": jax, "jnp": jnp}
    name = {"torch": "predict", "nnx": "jpredict"}[request.param]
    cells = load("page_cells", "checkpoints")
    cells.run_cell("further/text-as-data.md", f"def {name}(", names)
    return names[name]


@pytest.fixture(scope="module")
def texts():
    """Vectors of 6 paragraphs of each of 8 addresses by 12 presidents."""
    rng = np.random.default_rng(0)
    president, address = np.arange(576) // 48, np.arange(576) // 6
    x = (
        rng.standard_normal((12, 20))[president]
        + rng.standard_normal((96, 20))[address]
    )
    x = x + 0.7 * rng.standard_normal((576, 20))
    x = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype("float32")
    return x @ x.T, {
        "paragraph": np.arange(576),
        "address": address,
        "president": president,
    }


def r2(predict, similar, y, group):
    y = y.astype("float32")
    return 1 - ((predict(similar, y, group) - y) ** 2).mean() / y.var()


def test_the_more_is_left_out_the_less_a_kernel_knows(predict, texts):
    """An outcome of presidents and addresses leaks through both, in this order."""
    similar, lists = texts
    rng = np.random.default_rng(1)
    y = rng.standard_normal(12)[lists["president"]]
    y = y + rng.standard_normal(96)[lists["address"]]
    found = [r2(predict, similar, y, group) for group in lists.values()]
    assert found[0] > found[1] + 0.1
    assert found[1] > found[2] + 0.1
    assert found[2] < 0.02


def test_a_shuffled_outcome_is_found_by_no_list(predict, texts):
    similar, lists = texts
    y = np.random.default_rng(2).permutation(576)
    for name, group in lists.items():
        assert r2(predict, similar, y, group) < 0.01, name
