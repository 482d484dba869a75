"""Pictures: what is drawn is what was given, and labels must fit."""

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from course_lib import plot


@pytest.fixture(autouse=True)
def _close_figures():
    with mpl.rc_context():
        yield
    plt.close("all")


@pytest.fixture
def weights(rng):
    return rng.dirichlet(np.ones(5), size=3)


def test_a_map_shows_queries_down_and_keys_across(weights):
    ax = plot.attention_map(weights, "abc", "vwxyz")
    (image,) = ax.images
    np.testing.assert_array_equal(image.get_array(), weights)
    assert [t.get_text() for t in ax.get_yticklabels()] == list("abc")
    assert [t.get_text() for t in ax.get_xticklabels()] == list("vwxyz")


def test_a_map_without_labels_says_what_its_axes_are(weights):
    ax = plot.attention_map(weights)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("keys", "queries")
    assert ax.xaxis.get_label_position() == "top"
    assert not [*ax.get_xticks(), *ax.get_yticks()]


def test_light_is_always_zero(weights):
    assert plot.attention_map(weights).images[0].norm.vmin == 0
    low, high = plot.attention_map(weights - 0.3, signed=True).images[0].get_clim()
    assert low == -high


def test_small_maps_carry_their_numbers(weights):
    written = [t.get_text() for t in plot.attention_map(weights).texts]
    assert written == [f"{w:.2f}" for w in weights.ravel()]
    assert not plot.attention_map(np.ones((10, 10))).texts


def test_numbers_are_white_on_dark_cells_and_dark_on_light_ones():
    texts = plot.attention_map(np.array([[0.0, 0.5], [0.7, 1.0]])).texts
    dark, light = plot.COLORS["black"], "white"
    assert [text.get_color() for text in texts] == [dark, dark, light, light]


def test_long_labels_are_turned_and_short_ones_are_not():
    def angles(keys):
        ax = plot.attention_map(np.ones((2, 5)), keys=keys)
        return {label.get_rotation() for label in ax.get_xticklabels()}

    assert angles("abcde") == {0}
    assert angles(["transformers"] * 5) == {60}


def test_the_floors_words_stay_inside_the_axes():
    _, ax = plt.subplots()
    plot.floor(ax, 0.25, "left", where=0.1)
    plot.floor(ax, 0.5, "right")
    assert [text.get_ha() for text in ax.texts] == ["left", "right"]


def test_arrays_of_either_wing_go_in(wing, weights):
    ax = plot.attention_map(wing.array(weights))
    np.testing.assert_array_equal(ax.images[0].get_array(), weights)
    if wing.name == "torch":  # also with a gradient attached
        plot.attention_map(wing.array(weights).requires_grad_())


def test_a_mask_is_filled_where_it_allows():
    allowed = np.tri(4, dtype=bool)
    image = plot.mask(allowed).images[0]
    np.testing.assert_array_equal(image.get_array(), allowed)


def test_lines_part_the_cells_of_a_mask_and_leave_its_labels_alone():
    ax = plot.mask(np.ones((2, 3), dtype=bool), "ab", "xyz")
    for axis, labels in ((ax.xaxis, "xyz"), (ax.yaxis, "ab")):
        edges = np.arange(len(labels) + 1) - 0.5
        np.testing.assert_array_equal(axis.get_minorticklocs(), edges)
        assert [t.get_text() for t in axis.get_ticklabels()] == list(labels)


def test_a_floor_says_its_value():
    _, ax = plt.subplots()
    plot.curve(ax, np.arange(5), np.arange(5) / 4, "loss", color=plot.TORCH)
    plot.floor(ax, 0.25, "entropy rate", where=0.5)
    assert [t.get_text() for t in ax.texts] == ["loss", "entropy rate 0.25"]
    assert ax.texts[1].get_ha() == "left"
    assert list(ax.lines[1].get_ydata()) == [0.25, 0.25]


def test_the_style_reads_on_dark_pages_and_on_phones():
    plot.use_style()
    assert mpl.rcParams["figure.facecolor"] == "white"
    assert mpl.rcParams["font.size"] >= 12


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda w: plot.attention_map(w[None]), r"2 axes: got shape \(1, 3, 5\)"),
        (lambda w: plot.mask(w[0] > 0), r"mask must have 2 axes: got shape \(5,\)"),
        (lambda w: plot.attention_map(w, queries="ab"), "3 queries: got 2 labels"),
        (lambda w: plot.mask(w > 0, keys="ab"), "5 keys: got 2 labels"),
    ],
)
def test_what_cannot_be_drawn_is_refused(weights, call, message):
    with pytest.raises(ValueError, match=message):
        call(weights)
