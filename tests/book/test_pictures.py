"""Smaller files show the same pictures."""

from types import SimpleNamespace

import numpy as np
import pytest
from pictures import show, shrink, shrink_pictures
from PIL import Image

DRAWN = np.zeros((60, 80, 4), np.uint8)
DRAWN[..., 0] = np.arange(80)
DRAWN[20:40, 10:70] = 255, 255, 255, 128


@pytest.mark.parametrize("mode", ["P", "RGB", "RGBA", "L"])
def test_every_point_is_the_same(tmp_path, mode):
    source = tmp_path / "a.png"
    Image.fromarray(DRAWN).convert(mode).save(source)
    assert shrink(source)
    made = Image.open(source.with_suffix(".webp")).convert("RGBA")
    before = Image.open(source).convert("RGBA")
    assert made.tobytes() == before.tobytes()


def test_only_what_is_smaller_is_shown():
    page = '<img alt="a.png" src="../_images/a.png" /><a href="../_images/a.png">'
    assert show(page, {"a"}) == page.replace('a.png" />', 'a.webp" />')
    assert show(page, {"b"}) == page


def test_after_a_build_pages_show_the_smaller_files(tmp_path):
    (tmp_path / "_images").mkdir()
    Image.fromarray(DRAWN).save(tmp_path / "_images" / "a.png")
    page = tmp_path / "page.html"
    page.write_text('<img src="_images/a.png">')
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(format="html"))
    shrink_pictures(app, None)
    shown = page.read_text()
    assert '"_images/a.webp"' in shown
    made = tmp_path / "_images" / "a.webp"
    before = made.stat().st_mtime_ns
    shrink_pictures(app, None)
    assert page.read_text() == shown
    assert made.stat().st_mtime_ns == before  # made once
