"""Arrays of either framework in NumPy, and the largest difference between two."""

import numpy as np
import pytest

from course_lib.arrays import largest_difference, to_numpy
from course_lib.optional import missing


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_a_tensor_keeps_its_numbers_its_shape_and_its_dtype(wing, rng, dtype):
    x = (3 * rng.standard_normal((2, 3, 5))).astype(dtype)
    got = to_numpy(wing.array(x))
    assert type(got) is np.ndarray
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, x)


def test_a_tensor_with_a_gradient_is_converted():
    torch = pytest.importorskip("torch")
    np.testing.assert_array_equal(to_numpy(torch.ones(3, requires_grad=True)), 1)


def test_the_largest_difference_has_no_sign(wing, rng):
    x = rng.standard_normal((3, 5))
    y = x.copy()
    y[1, 2] += 0.5
    y[2, 4] -= 0.75
    assert largest_difference(wing.array(x), y) == pytest.approx(0.75)
    assert largest_difference(y, wing.array(x)) == pytest.approx(0.75)
    assert largest_difference(x, x) == 0


def test_a_nan_is_not_hidden(rng):
    x = rng.standard_normal(7)
    y = x.copy()
    y[3] = np.nan
    assert np.isnan(largest_difference(x, y))


@pytest.mark.parametrize(("a", "b"), [((3, 5), (5, 3)), ((3,), (1, 3)), ((0,), (0,))])
def test_arrays_that_cannot_be_compared_are_refused(a, b):
    with pytest.raises(ValueError, match="same shape, and at least one entry"):
        largest_difference(np.ones(a), np.ones(b))


def test_a_missing_package_is_named_with_its_extra():
    error = missing("Checkpoints need", "safetensors", "hub")
    assert isinstance(error, ImportError)
    assert "Checkpoints need safetensors" in str(error)
    assert "pip install -e '.[hub]'" in str(error)
