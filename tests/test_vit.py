"""ViT: what is its own beside `test_models`: patches, positions, its start."""

import numpy as np
from models import MODELS, B
from wings import assert_close, get_wing

from course_lib.config import GRID_POSITIONS

CH, P = 3, 2
CASE = MODELS["ViT"]
CONFIG = CASE.config


def permute_patches(images, order):
    """The same patches in other places."""
    rows, columns = CONFIG.grid
    patches = images.reshape(B, CH, rows, P, columns, P).transpose(0, 2, 4, 1, 3, 5)
    patches = patches.reshape(B, rows * columns, CH, P, P)[:, order]
    patches = patches.reshape(B, rows, columns, CH, P, P).transpose(0, 3, 1, 4, 2, 5)
    return patches.reshape(images.shape)


def test_without_positions_a_shuffled_image_is_the_same(wing, rng):
    (images,) = CASE.draw(rng)
    shuffled = permute_patches(images, np.array([4, 2, 0, 5, 1, 3]))
    assert np.abs(shuffled - images).max() > 0.1
    for position in GRID_POSITIONS:
        model = CASE.random(wing, position=position)
        before, after = (wing.numpy(model(wing.array(i))) for i in (images, shuffled))
        if position == "none":
            assert_close(after, before)
        else:
            assert np.abs(after - before).max() > 1e-3


def test_images_of_numpy_are_images_in_nnx(rng, no_hook):
    wing = get_wing("nnx")
    model, (images,) = CASE.random(wing), CASE.draw(rng)
    got, expected = model(images), model(wing.array(images))
    np.testing.assert_array_equal(wing.numpy(got), wing.numpy(expected))


def test_every_pixel_counts(wing, rng):
    model = CASE.random(wing)
    (grad,) = wing.grad(lambda x: (model(x) ** 2).sum(), *CASE.draw(rng))
    assert (grad != 0).all()


def test_starts_alike_in_both_wings(wing):
    model = CASE.build(wing, d_model=210, n_channels=7, n_classes=101)
    weights = wing.lib.get_weights(model)
    filters = weights["patches.weight"]
    assert filters.shape == (210, 7, P, P)
    assert np.isclose(filters.std(), 1 / np.sqrt(7 * P * P), rtol=0.05)
    assert (weights["cls"] == 0).all()
    assert (weights["patches.bias"] == 0).all()
    assert np.isclose(weights["positions.table.weight"].std(), 0.02, rtol=0.1)
    bound = np.sqrt(6 / (210 + 101))
    assert 0.9 * bound < np.abs(weights["head.weight"]).max() <= bound
