"""Drawn shapes: the images hold what was drawn, and a matched filter finds it."""

import numpy as np
import pytest

from course_lib import data
from course_lib.data.drawn_shapes import SHAPES, _drawings, draw


@pytest.mark.parametrize("name", SHAPES)
def test_the_area_is_that_of_the_disk(name):
    rng = np.random.default_rng(1)
    radius = rng.uniform(5, 9, 11)
    covered = draw(
        name, 43, rng.uniform(20, 23, (11, 2)), radius, rng.uniform(0, 6, 11)
    )
    areas = covered.sum((1, 2))
    np.testing.assert_allclose(areas, np.pi * radius**2, rtol=0.02)


@pytest.mark.parametrize("name", SHAPES)
def test_coverage_equals_counting_points_inside(name):
    """The slow way: a grid of points in each pixel, each asked whether it is inside."""
    center, radius, angle = np.array([[10.3, 12.6]]), np.array([6.2]), np.array([0.7])
    fast = draw(name, 23, center, radius, angle)[0]
    fine = draw(name, 23 * 16, center * 16, radius * 16, angle)[0]
    slow = (fine > 0.5).reshape(23, 16, 23, 16).mean((1, 3))
    assert np.abs(fast - slow).mean() < 0.01
    assert np.abs(fast - slow).max() < 0.35  # at a corner


def test_a_shape_turned_by_its_symmetry_is_the_same():
    center, radius = np.array([[15.5, 17.2]]), np.array([7.0])
    for name, turn in (("square", 1 / 4), ("triangle", 1 / 3), ("cross", 1 / 4)):
        one, other, half = (
            draw(name, 31, center, radius, np.array([0.3 + 2 * np.pi * turn * f]))
            for f in (0, 1, 0.5)
        )
        np.testing.assert_allclose(one, other, atol=1e-9)
        assert np.abs(one - half).max() > 0.3


def test_a_shape_turns_and_moves_as_asked():
    """A triangle that points down the rows points along the columns a quarter later."""
    center, radius = np.array([[15.0, 15.0]]), np.array([7.0])
    down = draw("triangle", 30, center, radius, np.array([0.0]))[0]
    turned = draw("triangle", 30, center, radius, np.array([np.pi / 2]))[0]
    assert any(
        np.allclose(turned, np.rot90(down, quarter), atol=1e-9) for quarter in (1, 3)
    )
    moved = draw("triangle", 30, center + np.array([2, 3]), radius, np.array([0.0]))[0]
    np.testing.assert_allclose(moved, np.roll(down, (2, 3), (0, 1)), atol=1e-9)


def test_images_are_what_was_drawn_plus_noise():
    quiet, noisy = (data.drawn_shapes(101, seed=3, size=23, noise=s) for s in (0, 0.3))
    for i in range(101):
        drawn = draw(
            SHAPES[quiet.labels[i]],
            23,
            quiet.center[i : i + 1],
            quiet.radius[i : i + 1],
            quiet.angle[i : i + 1],
        )
        np.testing.assert_allclose(
            quiet.images[i], quiet.brightness[i] * drawn, atol=1e-6
        )
    rest = noisy.images - quiet.images
    assert abs(rest.mean()) < 0.01
    assert rest.std() == pytest.approx(0.3, rel=0.02)


def test_shapes_lie_wholly_inside():
    """Drawn on a larger canvas, nothing shows beyond the image."""
    shapes = data.drawn_shapes(397, seed=5, size=17, noise=0)
    assert shapes.images.shape == (397, 1, 17, 17)
    assert shapes.images.dtype == np.float32
    for k, name in enumerate(SHAPES):
        own = shapes.labels == k
        pose = shapes.center[own] + 5, shapes.radius[own], shapes.angle[own]
        wide = draw(name, 27, *pose)
        inside = wide[:, 5:-5, 5:-5].sum((1, 2))
        assert (inside / wide.sum((1, 2)) > 0.99).all()


def test_classes_are_equally_frequent_and_in_no_order():
    labels = data.drawn_shapes(403, seed=7, size=12).labels
    assert list(np.bincount(labels)) == [101, 101, 101, 100]
    assert (labels[:-1] == labels[1:]).mean() == pytest.approx(0.25, abs=0.08)


def test_mean_brightness_does_not_give_the_class_away():
    shapes = data.drawn_shapes(2003, seed=9, noise=0)
    means = [shapes.images[shapes.labels == k].mean() for k in range(4)]
    assert max(means) / min(means) < 1.05


def test_the_matched_filter_is_right_on_99_percent():
    """The best rule is right at least as often as this one."""
    shapes = data.drawn_shapes(211, seed=11)
    right = data.matched_filter(shapes.images) == shapes.labels
    assert right.mean() >= 0.99


def test_the_matched_filter_finds_the_drawing_of_least_squared_error():
    """Each drawing at each place, one by one, on images that are half noise."""
    images = data.drawn_shapes(61, seed=17, size=12, noise=0.8).images
    x = images[:, 0].reshape(61, 144).astype(np.float64)
    errors = np.full((len(SHAPES), 61), np.inf)
    for k, name in enumerate(SHAPES):
        for drawing in _drawings(name, 12):
            for place in np.ndindex(12, 12):
                d = np.roll(drawing, place, (0, 1)).ravel()
                brightness = np.maximum(x @ d / (d @ d), 0)
                error = ((x - brightness[:, None] * d) ** 2).sum(1)
                errors[k] = np.minimum(errors[k], error)
    found = data.matched_filter(images)
    np.testing.assert_array_equal(found, errors.argmin(0))


def test_the_matched_filter_fails_under_overwhelming_noise():
    shapes = data.drawn_shapes(101, seed=13, size=16, noise=100.0)
    right = data.matched_filter(shapes.images) == shapes.labels
    assert right.mean() < 0.5
