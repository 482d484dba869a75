"""Dilated convolutions: the oracle's numbers and the receptive field."""

import numpy as np
import pytest
from wings import assert_close

from course_lib import oracle

B, T, D = 2, 13, 7


def stack(wing, n_layers=3, **options):
    model = wing.make(wing.lib.DilatedCNN, D, n_layers, **options)
    return wing.cast(model, "float64")


@pytest.mark.parametrize("kernel_size", [1, 2, 3])
def test_equals_the_oracle(wing, rng, kernel_size):
    x = rng.standard_normal((B, T, D))
    model = stack(wing, kernel_size=kernel_size)
    weights = wing.lib.get_weights(model)
    expected = [oracle.dilated_cnn(one, weights, 3) for one in x]
    assert_close(wing.numpy(model(wing.array(x))), expected)


def test_starts_with_xaviers_bounds(wing):
    weights = wing.lib.get_weights(wing.make(wing.lib.DilatedCNN, 41, 2, kernel_size=3))
    bound = np.sqrt(6 / (3 * (41 + 41)))
    for name, w in weights.items():
        if name.endswith("bias"):
            assert not w.any()
        else:
            assert 0.99 * bound < np.abs(w).max() <= bound * (1 + 1e-6), name


def test_sees_its_receptive_field_and_no_further(wing, rng):
    model = stack(wing)
    assert model.receptive_field == 8
    (grad,) = wing.grad(
        lambda x: (model(x)[:, 10] ** 2).sum(), rng.standard_normal((1, T, D))
    )
    seen = np.abs(grad[0]).max(axis=-1) > 0
    np.testing.assert_array_equal(seen, (np.arange(T) > 2) & (np.arange(T) <= 10))


BAD = {
    "another width": (
        lambda w: stack(w)(w.array(np.ones((B, T, 5)))),
        r"\(\.\.\., steps, 7\)",
    ),
    "whole numbers": (
        lambda w: stack(w)(w.array(np.ones((B, T, D), int))),
        "x must hold floating-point numbers",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(wing, no_hook, case):
    call, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        call(wing)
