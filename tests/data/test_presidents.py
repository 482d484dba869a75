"""The stored GPT that writes like a president, in both wings."""

import numpy as np
import pytest

from course_lib import data

pytest.importorskip("safetensors")


@pytest.fixture(scope="module")
def stored():
    return data.presidents()


def test_a_text_begins_with_its_decade(stored):
    n = stored.tokenizer.vocab_size
    ids = stored.encode("The economy", year=1790)
    assert ids[0] == n
    assert stored.encode("The economy", year=2029) == [n + 23, *ids[1:]]
    assert stored.config.vocab_size == n + 24
    assert stored.decode([*ids, n + 5]) == "The economy"


@pytest.mark.parametrize("year", [1789, 2030])
def test_a_decade_without_addresses_is_refused(stored, year):
    with pytest.raises(ValueError, match=r"year must be from 1790 to 2029: got"):
        stored.encode("The economy", year=year)


def test_matrices_come_back_from_eight_bits(stored):
    for name, array in stored.weights.items():
        assert array.dtype == np.float32, name
        if array.ndim == 2:
            steps = array / (np.abs(array).max(axis=1, keepdims=True) / 127)
            np.testing.assert_allclose(steps, np.rint(steps), atol=1e-3)


def test_both_wings_make_the_same_model_of_it(stored):
    ct = pytest.importorskip("course_lib.torch")
    cn = pytest.importorskip("course_lib.nnx")
    import jax.numpy as jnp
    import torch
    from flax import nnx

    model, jmodel = (
        ct.GPT(stored.config).eval(),
        cn.GPT(stored.config, rngs=nnx.Rngs(0)),
    )
    ct.set_weights(model, stored.weights)
    cn.set_weights(jmodel, stored.weights)
    ids = [stored.encode("The economy of", year=year) for year in (1830, 1990)]
    with torch.no_grad():
        ours = model(torch.tensor(ids)).numpy()
    np.testing.assert_allclose(ours, jmodel(jnp.array(ids)), atol=1e-3)
    assert np.abs(ours[0] - ours[1]).max() > 0.1  # the decade counts
