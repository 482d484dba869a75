"""ViT: against the oracle, patches, positions, counts."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import randomize
from wings import assert_close

from course_lib import oracle
from course_lib.config import ACTIVATIONS, GRID_POSITIONS, NORMS, ViTConfig

B, CH, P, C = 2, 3, 2, 5
CONFIG = ViTConfig(
    image_size=(4, 6),
    patch_size=P,
    n_channels=CH,
    n_classes=C,
    d_model=12,
    n_layers=2,
    n_heads=3,
    d_ff=17,
)


def vary(**options):
    return dataclasses.replace(CONFIG, **options)


def draw(rng, config=CONFIG, b=B):
    return rng.standard_normal((b, config.n_channels, *config.image_shape))


@settings(max_examples=10)
@given(
    st.integers(0, 2**32 - 1),
    st.fixed_dictionaries(
        {
            "position": st.sampled_from(GRID_POSITIONS),
            "norm": st.sampled_from(NORMS),
            "activation": st.sampled_from(ACTIVATIONS),
            "image_size": st.sampled_from([(4, 6), 2]),
            "n_channels": st.sampled_from([1, CH]),
        }
    ),
    st.sampled_from([1, B]),
)
def test_equals_the_oracle(wing, seed, options, b):
    config = vary(**options)
    images = draw(np.random.default_rng(seed), config, b)
    model, weights = randomize(wing, wing.make(wing.lib.ViT, config))
    got = wing.numpy(model(wing.array(images)))
    assert_close(got, oracle.vit(images, weights, config))


def permute_patches(images, order):
    """The same patches in other places."""
    rows, columns = CONFIG.grid
    patches = images.reshape(B, CH, rows, P, columns, P).transpose(0, 2, 4, 1, 3, 5)
    patches = patches.reshape(B, rows * columns, CH, P, P)[:, order]
    patches = patches.reshape(B, rows, columns, CH, P, P).transpose(0, 3, 1, 4, 2, 5)
    return patches.reshape(images.shape)


def test_without_positions_a_shuffled_image_is_the_same(wing, rng):
    images = draw(rng)
    shuffled = permute_patches(images, np.array([4, 2, 0, 5, 1, 3]))
    assert np.abs(shuffled - images).max() > 0.1
    for position in GRID_POSITIONS:
        model, _ = randomize(wing, wing.make(wing.lib.ViT, vary(position=position)))
        before, after = (wing.numpy(model(wing.array(i))) for i in (images, shuffled))
        if position == "none":
            assert_close(after, before)
        else:
            assert np.abs(after - before).max() > 1e-3


def test_every_pixel_counts(wing, rng):
    model, _ = randomize(wing, wing.make(wing.lib.ViT, CONFIG))
    (grad,) = wing.grad(lambda x: (model(x) ** 2).sum(), draw(rng))
    assert (grad != 0).all()


def test_cls_looks_at_every_patch(wing, rng):
    model, _ = randomize(wing, wing.make(wing.lib.ViT, CONFIG))
    maps = wing.lib.attention_maps(model, wing.array(draw(rng)))
    rows, columns = CONFIG.grid
    n = 1 + rows * columns
    assert [wing.numpy(m).shape for m in maps] == [(B, CONFIG.n_heads, n, n)] * 2
    assert (wing.numpy(maps[0])[:, :, 0] > 0).all()


def test_starts_alike_in_both_wings(wing):
    model = wing.make(wing.lib.ViT, vary(d_model=210, n_channels=7, n_classes=101))
    weights = wing.lib.get_weights(model)
    filters = weights["patches.weight"]
    assert filters.shape == (210, 7, P, P)
    assert np.isclose(filters.std(), 1 / np.sqrt(7 * P * P), rtol=0.05)
    assert (weights["cls"] == 0).all()
    assert (weights["patches.bias"] == 0).all()
    assert np.isclose(weights["positions.table.weight"].std(), 0.02, rtol=0.1)
    bound = np.sqrt(6 / (210 + 101))
    assert 0.9 * bound < np.abs(weights["head.weight"]).max() <= bound


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (np.ones((B, CH, 6, 4)), ["(batch, 3, 4, 6)", "(2, 3, 6, 4)"]),
        (np.ones((B, 4, 6, CH)), ["channels before height", "(2, 4, 6, 3)"]),
        (np.ones((B, 4, 6)), ["images[:, None]"]),
        (np.ones((B, CH, 4, 6), int), ["floating-point", "int64"]),
    ],
)
def test_other_images_are_refused(wing, no_hook, images, words):
    with pytest.raises(ValueError) as error:  # noqa: PT011 the words are checked below
        wing.make(wing.lib.ViT, CONFIG)(wing.array(images))
    for word in words:
        assert word in str(error.value), str(error.value)
