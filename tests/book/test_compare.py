"""Outputs are stored clean; when compared, rounding is forgiven, and nothing else."""

import base64
import io
import json
import math

import matplotlib as mpl
import numpy as np
import pytest
from compare import (
    UNSEEN,
    Tolerance,
    image_moves,
    moves,
    outputs_differ,
    read_tolerance,
    shrink_png,
    text_moves,
)
from kernels import KEY, compare_machines, describe_machine, instruction_set
from matplotlib.figure import Figure
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from small_books import Book, cell


def stream(text):
    return [{"output_type": "stream", "name": "stdout", "text": text}]


def differs(stored, new, rtol=1e-4):
    return outputs_differ(stream(stored), stream(new), Tolerance(rtol=rtol))


@pytest.mark.parametrize(
    ("stored", "new"),
    [
        ("loss 1.332973", "loss 1.3329729"),
        ("loss 1.332973", f"loss {1.332973 * (1 + 1e-5):.6f}"),
        ("0.71", "0.72"),  # one unit in the last place that is printed
        ("[0.1 -0.2]", "[ 0.1    -0.2000001]"),  # NumPy aligns by what is longest
        ("array([1. , 0.5])", "array([0.99999994, 0.5       ])"),
        ("1.5e-08", "1.6e-08"),
        ("1,234.5", "1,234.6"),
        ("a  b\n-- --\n1  0.5", "a  b   \n-- ------\n1  0.50001"),
        ("-0.0000", "0.0000"),
    ],
)
def test_rounding_passes(stored, new):
    assert differs(stored, new) is None


@pytest.mark.parametrize(
    ("stored", "new", "why"),
    [
        ("loss 1.332973", f"loss {1.332973 * (1 + 1e-3):.6f}", "float"),
        ("0.71", "0.73", "float"),
        ("[1. 2.]", "[2. 2.]", "float"),
        ("235 households", "236 households", "integer"),
        ("torch.Size([2, 3])", "torch.Size([3, 2])", "integer"),
        ("the wings agree: True", "the wings agree: False", "words"),
        ("0.5 0.25", "0.5 0.25 0.125", "words"),  # one number more
        ("0.5", "nan", "words"),
        ("0.5", "inf", "words"),
        ("0.5", "-0.5", "float"),
        ("float32", "float64", "words"),
        ("PyTorch wins", "PyTorchwins", "words"),
        ("1.5e-08", "1.5e-05", "float"),
    ],
)
def test_differences_fail(stored, new, why):
    assert why in (differs(stored, new) or "no difference found")


def test_the_message_says_what_became_what():
    assert (
        differs("n = 5", "n = 6") == "stdout: the integer 5 became 6 (tolerance 0.0001)"
    )


def test_a_cell_may_widen_floats_and_nothing_else():
    assert differs("accuracy 0.9012", "accuracy 0.9312") is not None
    assert differs("accuracy 0.9012", "accuracy 0.9312", rtol=0.05) is None
    assert differs("99 right", "98 right", rtol=0.05) is not None


PAGE = ("def row(name, x):\n    return f'{name:2s} {x:6,.0f}, {len(name)} it'",)


@pytest.mark.parametrize(
    ("source", "stored", "rounded", "wrong"),
    [
        ('print(f"slope {x:6.0f}")', "slope  28797", "slope  28798", "slope  28801"),
        ('print(f"{x:.0f}")\nprint(f"at {n}")', "12\nat 5", "13\nat 5", "12\nat 6"),
        ('print(f"{n:3d}{x:5.0f} {k}")', "  5   12 7", "  5   13 7", "  6   12 7"),
        ('print(f"{x:.0%} of {n}")', "12% of 40", "13% of 40", "12% of 41"),
        ('print("{:3d} {:3.0f}".format(n, x))', "  5  12", "  5  13", "  6  12"),
        ('print("n", n, *(f"{x:3.0f}" for x in y))', "n 5  12", "n 5  13", "n 6  12"),
        ('print(a, "".join(f" {x:.0%}" for x in y))', "a  7%", "a  8%", "a  9%"),
        ('print("n", n)\nprint(f"{a} {x:.0f}")', "n 5\na 7", "n 5\na 8", "n 6\na 7"),
        ('print(row("a", x))', "a  1,234, 1 it", "a  1,235, 1 it", "a  1,234, 2 it"),
        ('print(f"is {x:.0f}.", n)', "is 12. 5", "is 13. 5", "is 12. 6"),
        ('print(f"{x:.{d}f} and {n}")', "12 and 5", "13 and 5", "12 and 6"),
        ('print(f"{x:.{d}f} and {n}")', "1.2 and 5", "1.3 and 5", "2.0 and 5"),
        ('print("epoch", f"{x:.0f}", round(x))', "epoch 7 7", "epoch 8 7", "epoch 7 8"),
    ],
)
def test_a_float_without_decimals_agrees_to_one_unit_and_a_count_beside_it_is_exact(
    source, stored, rounded, wrong
):
    tolerance = read_tolerance({}, source, PAGE)
    assert outputs_differ(stream(stored), stream(rounded), tolerance) is None
    assert outputs_differ(stream(stored), stream(wrong), tolerance) is not None


@pytest.mark.parametrize("metadata", [{}, {"nbval": {}}, {"tags": ["torch"]}])
def test_the_usual_tolerance(metadata):
    assert read_tolerance(metadata) == Tolerance(rtol=1e-4, pixels=1e-3)


@pytest.mark.parametrize("rtol", [0.01, 0.05, "1e-2"])
def test_widening_is_read_from_the_cell(rtol):
    assert read_tolerance({"nbval": {"rtol": rtol}}).rtol == float(rtol)


@pytest.mark.parametrize("name", ["rtol", "pixels"])
@pytest.mark.parametrize("width", [0.051, 1, -1e-3])
def test_widening_has_a_limit(name, width):
    with pytest.raises(ValueError, match=r"may widen its tolerance to 0\.05 at most"):
        read_tolerance({"nbval": {name: width}})


def test_nothing_else_can_be_widened():
    with pytest.raises(ValueError, match="nothing else: got atol"):
        read_tolerance({"nbval": {"atol": 0.01}})
    with pytest.raises(ValueError, match="nothing else: got rtol, words"):
        read_tolerance({"nbval": {"words": "drawn", "rtol": 0.01}})


def test_of_words_that_a_model_draws_the_lines_are_counted():
    drawn = read_tolerance({"nbval": {"words": "drawn"}})
    stored = stream("the firm grows .\ndo banks wait ?\n")
    assert outputs_differ(stored, stream("the city 2 .\n?\n"), drawn) is None
    assert outputs_differ(stored, stream("the firm grows .\n"), drawn) is not None
    assert outputs_differ(stored, stream("the firm grows .\nwhy ?\n")) is not None


def test_a_cell_may_widen_its_picture():
    share = {"pixels": 0.05}
    tolerance = read_tolerance({"nbval": share})
    assert image_differs(curve(), curve(factor=1.01), tolerance.pixels) is None
    assert image_differs(curve(), curve(factor=-1.0), 0.001) is not None


def test_outputs_are_counted():
    assert "became" in outputs_differ(stream("a"), [])
    assert "became" in outputs_differ([], stream("a"))


def test_a_stream_may_arrive_in_pieces():
    assert outputs_differ(stream("a\nb"), stream("a\n") + stream("b")) is None
    assert outputs_differ(stream("a\nb"), stream("a\n") + stream("c"))


def test_kinds_of_output_are_compared():
    html = [{"output_type": "display_data", "data": {"text/html": "<b>1</b>"}}]
    other = [{"output_type": "display_data", "data": {"text/html": "<b>2</b>"}}]
    assert outputs_differ(html, html) is None
    assert "text/html: the integer 1 became 2" in outputs_differ(html, other)
    assert "became" in outputs_differ(html, stream("<b>1</b>"))


def test_errors_are_compared_by_name_and_words():
    def error(name, words):
        return [{"output_type": "error", "ename": name, "evalue": words}]

    stored = error("ValueError", "n_heads must divide d_model")
    assert outputs_differ(stored, error("ValueError", stored[0]["evalue"])) is None
    assert outputs_differ(stored, error("TypeError", stored[0]["evalue"]))
    assert outputs_differ(stored, error("ValueError", "other words"))


def image_differs(stored, new, pixels=1e-3):
    """Say how two pictures differ, if by more than is forgiven."""
    found = image_moves(stored, new, pixels)
    return next((move.what for move in found if move.share > 1), None)


def curve(factor=1.0, shift=0.0, width=7):
    """Draw a curve, as a PNG."""
    with mpl.rc_context({"figure.dpi": 144}):
        figure = Figure(figsize=(width, 4))
    axes = figure.subplots()
    x = np.linspace(0, 1, 101)
    axes.plot(x, factor * np.sin(5 * x) + shift)
    axes.set(xlim=(0, 1), ylim=(-1.1, 1.1))
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def test_the_same_picture_passes():
    assert image_differs(curve(), curve()) is None


def test_a_picture_shaded_otherwise_passes():
    assert image_differs(curve(), curve(factor=1 + 1e-5)) is None
    pixels = np.asarray(Image.open(io.BytesIO(curve())).convert("RGB")).astype(int)
    pixels = np.clip(
        pixels + np.random.default_rng(2).integers(-9, 9, pixels.shape), 0, 255
    )
    buffer = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(buffer, format="png")
    assert image_differs(curve(), buffer.getvalue()) is None


@pytest.mark.parametrize(
    "change", [{"factor": 1.01}, {"factor": 0.99}, {"shift": 0.01}]
)
def test_a_curve_that_is_off_by_one_percent_fails(change):
    assert "pixels are far" in (image_differs(curve(), curve(**change)) or "the same")


def test_a_picture_of_another_size_fails():
    assert "size" in image_differs(curve(), curve(width=6))


def shown(png):
    data = {"image/png": base64.b64encode(png).decode(), "text/plain": "<Figure>"}
    return [{"output_type": "display_data", "data": data}]


def test_pictures_in_outputs_are_compared():
    assert outputs_differ(shown(curve()), shown(curve())) is None
    found = outputs_differ(shown(curve()), shown(curve(factor=0.98)))
    assert found.startswith("image/png:")


def test_pictures_of_what_a_clock_measured_must_only_be_there():
    measured = read_tolerance({"nbval": {"times": "measured"}})
    assert outputs_differ(shown(curve()), shown(curve(width=6)), measured) is None
    assert outputs_differ(shown(curve()), stream("done\n"), measured) is not None
    assert outputs_differ(shown(curve()), [], measured) is not None


def test_equal_texts_need_no_reading():
    assert list(text_moves("anything", "anything", Tolerance())) == []


def test_how_far_a_number_moved_is_counted_in_tolerances():
    found = moves(
        stream("0.500 100 2.0"), stream("0.505 100 2.1"), Tolerance(rtol=0.02)
    )
    assert [round(move.share, 6) for move in found] == [0.5, 1.0]


def test_with_more_decimals_it_is_counted_before_numbers_are_rounded():
    tolerance = read_tolerance({}, 'print(f"{x:.0f} of {n}")')
    shares = [
        next(moves(stream("12 of 40"), stream(new), tolerance, stream(before))).share
        for before, new in [
            ("12.499 of 40", "12.501 of 40"),
            ("11.600 of 40", "12.400 of 40"),
            ("12.000 of 40", "12.000 of 41"),
        ]
    ]
    assert shares == pytest.approx([0.002, 0.8, math.inf])


def test_what_no_tolerance_covers_moved_infinitely_far():
    changes = [("5 runs", "6 runs"), ("0.5", "nan"), ("0.", "1e-9"), ("a", "b")]
    for stored, new in changes:
        (move,) = moves(stream(stored), stream(new), Tolerance(rtol=0.05))
        assert move.share == math.inf or move.share > 1


def test_a_picture_moves_by_its_share_of_far_pixels():
    (near,) = image_moves(curve(), curve(factor=1.01), 0.05)
    (far,) = image_moves(curve(), curve(factor=1.01), 0.0005)
    assert far.share == pytest.approx(100 * near.share)


# How pictures are stored


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


# On which machine


def test_a_machine_is_its_instructions_and_its_versions():
    here = describe_machine()
    assert set(here) == {
        "processor",
        "instructions",
        "python",
        *("torch", "jax", "flax", "numpy"),
    }
    assert all(here.values())


def test_a_limit_for_jax_is_part_of_it():
    limited = instruction_set({"XLA_FLAGS": "--a=b --xla_cpu_max_isa=AVX2"})
    assert limited.endswith(" and AVX2 in XLA")


def test_what_differs_is_said_and_nothing_else():
    stored = {"instructions": "AVX512", "torch": "2.13.0", "jax": "0.10.2"}
    here = stored | {"instructions": "AVX2", "torch": "2.15.0"}
    assert compare_machines(stored, here) == (
        "It was stored with AVX512, torch 2.13.0; this is AVX2, torch 2.15.0."
    )
    assert "such a machine as this" in compare_machines(stored, dict(stored))
    assert "is not noted" in compare_machines(None, here)


@pytest.mark.filterwarnings("default")
def test_executing_notes_the_machine_and_a_prose_edit_keeps_the_note(tmp_path):
    book = Book(tmp_path)
    book.write(cell("print(6 * 7)"))
    assert book.tool()[0] == 0
    notebook = json.loads(book.notebook.read_text("utf-8"))
    assert notebook["metadata"][KEY] == describe_machine()
    notebook["metadata"][KEY]["instructions"] = "another"
    book.notebook.write_text(json.dumps(notebook), "utf-8")
    book.text.write_text(book.text.read_text("utf-8") + "\nMore words.\n", "utf-8")
    assert book.tool()[0] == 0
    kept = json.loads(book.notebook.read_text("utf-8"))
    assert kept["metadata"][KEY]["instructions"] == "another"
