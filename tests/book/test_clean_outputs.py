"""Pictures are stored small, and look the same."""

import io

import numpy as np
import pytest
from clean_outputs import UNSEEN, shrink_png
from matplotlib.figure import Figure
from PIL import Image
from PIL.PngImagePlugin import PngInfo


def png(image, **options):
    buffer = io.BytesIO()
    image.save(buffer, format="png", **options)
    return buffer.getvalue()


def pixels(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGBA")).astype(int)


@pytest.fixture
def chart():
    """A chart with a color map and a curve, as matplotlib writes it."""
    figure = Figure(figsize=(6, 3), dpi=144)
    left, right = figure.subplots(1, 2)
    left.imshow(np.arange(35.0).reshape(5, 7), cmap="Purples")
    right.plot(np.sin(np.arange(101) / 9))
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def test_a_chart_takes_half_the_bytes_and_looks_the_same(chart):
    small = shrink_png(chart)
    assert len(small) < len(chart) / 2
    assert np.abs(pixels(small) - pixels(chart)).max() <= UNSEEN


def test_shrinking_again_changes_nothing(chart):
    small = shrink_png(chart)
    assert shrink_png(small) == small


def test_many_colors_are_all_kept():
    noise = np.random.default_rng(7).integers(0, 256, (53, 59, 3), dtype=np.uint8)
    small = shrink_png(png(Image.fromarray(noise)))
    np.testing.assert_array_equal(pixels(small)[..., :3], noise)


def test_transparency_is_kept():
    image = Image.new("RGBA", (5, 3), (10, 20, 30, 40))
    np.testing.assert_array_equal(pixels(shrink_png(png(image))), pixels(png(image)))


@pytest.mark.parametrize(
    ("mode", "color"), [("RGB", (1, 2, 3)), ("RGBA", (1, 2, 3, 4)), ("P", 1)]
)
def test_metadata_is_dropped_and_pixels_are_not(mode, color):
    info = PngInfo()
    info.add_text("Software", "something 1.0")
    image = Image.new(mode, (7, 5), color)
    data = png(image, pnginfo=info, dpi=(144, 144))
    assert b"something" in data
    assert b"pHYs" in data
    stripped = shrink_png(data)
    assert b"something" not in stripped
    assert b"pHYs" not in stripped
    np.testing.assert_array_equal(pixels(stripped), pixels(data))
