"""The picture of patches, held to what the model's convolution reads."""

import book_scripts
import numpy as np
import pytest


@pytest.fixture(scope="module")
def vit():
    return book_scripts.load("vit")


def test_the_patches_drawn_are_those_that_a_convolution_reads(vit):
    torch = pytest.importorskip("torch")
    picture = vit.image()
    read = torch.nn.functional.unfold(
        torch.from_numpy(picture)[None, None], vit.PATCH, stride=vit.PATCH
    )[0].T
    np.testing.assert_array_equal(vit.cut(picture).reshape(vit.N_PATCHES, -1), read)


def test_the_shape_touches_some_patches_and_not_all(vit):
    covered = vit.cut(vit.image()).sum(axis=(1, 2)) > 0
    assert 3 < covered.sum() < vit.N_PATCHES
