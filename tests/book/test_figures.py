"""The drawings that no cell makes: code draws each, and what it shows is so.

Every script draws what is committed. Where a drawing states something about the task,
the model or the text of its page, a test below holds it to that.
"""

import itertools
import re
import runpy
import shutil
import sys
from functools import cache
from pathlib import Path

import book_scripts
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from book_scripts import FIGURES

from course_lib import data, plot

SCRIPTS = sorted(set(FIGURES.glob("*.py")) - {FIGURES / "drawing.py"})
load = cache(book_scripts.load)


def words(path: Path) -> list[str]:
    """What is written in a drawing: letters are outlines, with the text beside them."""
    return re.findall(r"<!-- (.+?) -->", path.read_text("utf-8"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_draws_what_is_committed(script, tmp_path, monkeypatch):
    copy = shutil.copy(script, tmp_path)
    monkeypatch.setattr(sys, "argv", [str(copy)])
    with mpl.rc_context():
        runpy.run_path(str(copy), run_name="__main__")
    drawn = sorted(tmp_path.glob("*.svg"))
    assert drawn
    for path in drawn:
        assert words(path) == words(FIGURES / path.name), (
            f"run `python book/figures/{script.name}`"
        )
        assert words(path)


def test_every_drawing_has_its_script():
    stems = tuple(path.stem.replace("_", "-") for path in SCRIPTS)
    assert all(path.name.startswith(stems) for path in FIGURES.glob("*.svg"))


# What was measured long ago, and code.
OTHER = {"attention-cost", "long-sequences-cost", "recap-shapes"}


def test_drawings_have_the_letters_of_the_pages_and_no_ground():
    for path in FIGURES.glob("*.svg"):
        if path.stem in OTHER:
            continue
        text = path.read_text("utf-8")
        fonts = set(re.findall(r'<(?:path|g) id="(\w+(?:-\w+)*)-[0-9a-f]+"', text))
        assert any(font.startswith("SourceSerif4") for font in fonts), path
        ground = re.search(r'<g id="patch_1">.*?style="([^"]*)"', text, re.DOTALL)
        assert "fill: none" in ground[1] or "opacity: 0" in ground[1], path


def test_the_smallest_letters_fit_a_phone(tmp_path, monkeypatch):
    """At 500 pixels, as wide as a phone shows a drawing: 12 pixels."""
    sizes = []

    def close(figure):
        scale = 500 / (72 * figure.get_size_inches()[0])
        sizes.extend(
            scale * text.get_fontsize() for text in figure.findobj(mpl.text.Text)
        )

    monkeypatch.setattr(plt, "close", close)
    script = shutil.copy(FIGURES / "tokens.py", tmp_path)
    with mpl.rc_context():
        runpy.run_path(str(script), run_name="__main__")
    assert min(sizes) == pytest.approx(12)


def test_bert_s_picture_shows_what_the_package_lays_out():
    tokens, types = load("bert").row()
    assert tokens.count("[CLS]") == 1
    assert [i for i, t in enumerate(tokens) if t == "[SEP]"] == [4, 7]
    assert types == [0, 0, 0, 0, 0, 1, 1, 1]


def test_bert_s_hidden_word_fits_the_sentence():
    bert, language = load("bert"), data.grammar()
    text = " ".join([bert.FIRST, bert.SECOND.replace("[MASK]", bert.HIDDEN)])
    assert language.source.losses([language.encode(text)]).shape == (1, 5)


def layers(nn, d, groups):
    return {
        "BatchNorm": lambda a: nn.BatchNorm1d(d, eps=1e-5).to(a.dtype)(a.mT).mT,
        "LayerNorm": lambda a: nn.LayerNorm(d, eps=1e-5, dtype=a.dtype)(a),
        "GroupNorm": lambda a: nn.GroupNorm(groups, d, eps=1e-5, dtype=a.dtype)(
            a.flatten(0, 1)
        ).view_as(a),
        "RMSNorm": lambda a: nn.RMSNorm(d, eps=1e-5, dtype=a.dtype)(a),
    }


@pytest.mark.parametrize("entry", [(1, 1, 1), (0, 3, 5)])
@pytest.mark.parametrize("name", ["BatchNorm", "LayerNorm", "GroupNorm", "RMSNorm"])
def test_the_colored_entries_of_a_norm_are_those_that_count(name, entry):
    """The derivative of one output is other than 0 exactly where the picture says."""
    torch, depth = pytest.importorskip("torch"), load("depth")
    shape = (depth.B, depth.T, depth.D)
    draw = np.random.default_rng(0).standard_normal(shape)
    x = torch.tensor(draw, requires_grad=True)
    norms = layers(torch.nn, depth.D, depth.GROUPS)
    assert set(depth.NORMS) == set(norms)
    norms[name](x)[entry].backward()
    np.testing.assert_array_equal(
        x.grad.abs().numpy() > 1e-9, depth.averaged(name, *entry)
    )


def test_a_training_window_ends_with_its_horizon_at_the_origin():
    forecasting = load("forecasting")
    assert forecasting.WINDOW % forecasting.PATCH == 0
    for row in range(forecasting.ORIGINS):
        start, middle, end = forecasting.training_window(row)
        assert end == forecasting.FIT + row
        assert end - middle == forecasting.STEPS
        assert 0 <= start < middle


def test_with_a_cache_one_row_is_computed_and_without_one_all():
    kv_cache = load("kv_cache")
    cached, again = kv_cache.entries(True), kv_cache.entries(False)
    n = kv_cache.T
    assert cached["rows"] == {(n - 1, 0)}
    assert len(cached["scores"]) == n
    assert len(again["rows"]) == n
    assert len(again["scores"]) == n * (n + 1) // 2


def test_the_two_heads_find_the_answer_wherever_there_is_one():
    in_context = load("in_context")
    task = data.induction(37, seed=5, n_symbols=5, n_pairs=7)
    found = 0
    for tokens, targets in zip(task.tokens, task.targets, strict=True):
        for t in range(0, len(tokens), 2):
            places = in_context.look_up(tuple(tokens[: t + 1]))
            assert {int(tokens[i]) for i in places} <= {int(targets[t])}
            assert bool(places) == (tokens[t] in tokens[:t:2])
            found += bool(places)
    assert 0 < found < task.targets.size
    assert len(in_context.look_up(in_context.TOKENS)) == 1  # rent returns once


def test_a_row_reads_its_own_word_and_those_before_and_says_the_next():
    with mpl.rc_context():
        plot.use_style()
        masking = load("masking")
        (ax,) = masking.rows().axes
    said, by_row = masking.TEXT.split(), {}
    for text in ax.texts:
        if text.get_text() in said:
            x, y = text.get_position()
            by_row.setdefault(round(y, 6), []).append((x, text.get_text()))
    plt.close(ax.figure)
    rows = [[word for _, word in sorted(by_row[y])] for y in sorted(by_row)[::-1]]
    assert rows == [said[: i + 2] for i in range(len(said) - 1)]


@pytest.mark.parametrize(
    ("network", "steps"),
    [("recurrent", None), ("dilated", 3), ("bahdanau", 2), ("self_attention", 1)],
)
def test_the_marked_way_has_the_length_that_the_text_says(network, steps):
    recurrence = load("recurrence")
    reads = getattr(recurrence, network)()
    way = recurrence.shortest(reads, max(reads))
    assert len(way) - 1 == (steps or recurrence.N)
    assert way[0] == (0.0, 0)
    assert way[-1][1] == recurrence.N - 1
    for below, node in itertools.pairwise(way):
        assert below in reads[node]


@pytest.mark.parametrize("stack", ["ENCODER", "DECODER"])
def test_every_part_of_a_repeated_block_is_followed_by_its_sum_and_norm(stack):
    seq2seq = load("seq2seq")
    parts = seq2seq.repeated(getattr(seq2seq, stack))
    assert parts[-2:] == ["feed-forward", "add and norm"]
    assert set(parts[1::2]) == {"add and norm"}
    assert "add and norm" not in parts[::2]


def test_a_decoder_block_is_an_encoder_block_and_a_cross_attention():
    seq2seq = load("seq2seq")
    encoder, decoder = map(seq2seq.repeated, (seq2seq.ENCODER, seq2seq.DECODER))
    assert decoder[0] == "causal " + encoder[0]
    assert decoder[2] == "cross-attention"
    assert decoder[1:2] + decoder[4:] == encoder[1:]


def test_the_patches_drawn_are_those_that_a_convolution_reads():
    torch, vit = pytest.importorskip("torch"), load("vit")
    picture = vit.image()
    read = torch.nn.functional.unfold(
        torch.from_numpy(picture)[None, None], vit.PATCH, stride=vit.PATCH
    )[0].T
    cut = vit.cut(picture)
    np.testing.assert_array_equal(cut.reshape(vit.N_PATCHES, -1), read)
    assert 3 < (cut.sum(axis=(1, 2)) > 0).sum() < vit.N_PATCHES  # some, and not all


def test_the_lists_of_paragraphs_leave_out_what_their_names_say():
    drawing = load("text_as_data")
    sizes = len(drawing.PRESIDENTS), drawing.ADDRESSES, drawing.PARAGRAPHS
    every = list(itertools.product(*map(range, sizes)))

    def hidden(name):
        n = drawing.ROWS[name]
        return [
            other for other in every if not drawing.may_answer(drawing.ONE, other, n)
        ]

    president, address, _ = drawing.ONE
    assert hidden("the paragraph") == [drawing.ONE]
    assert hidden("its address") == [
        one for one in every if one[:2] == (president, address)
    ]
    assert hidden("its president") == [one for one in every if one[0] == president]


def test_the_frame_cuts_no_household():
    with mpl.rc_context():
        figure = load("kernel_regression").households()
    right, (income, _) = figure.axes[0].get_xlim()[1], data.engel()
    plt.close(figure)
    assert abs(income - right).min() > 20  # francs: more than half a dot
