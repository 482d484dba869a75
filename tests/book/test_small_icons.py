"""Icons that no page uses are not shipped; those that one uses are."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
from fontTools import ttLib
from publishing import (
    FONTS,
    SCRIPT,
    STYLE,
    characters,
    cut_font,
    cut_icons,
    cut_style,
    used_icons,
)

SHEET = (
    '@font-face{src:url(../fonts/fa-solid.woff2) format("woff2"),'
    'url(../fonts/fa-solid.ttf) format("truetype")}'
    '.fa-arrow-up:before{content:"\\f062"}.fa-cog:before,.fa-gear:before{content:"\\f013"}'
    'main{--pst-icon-note:"\\f05a";color:#333}'
)


def test_icons_are_found_in_pages(tmp_path):
    page = tmp_path / "page.html"
    page.write_text('<i class="fa-solid fa-arrow-up fa-lg"></i>')
    assert {"solid", "arrow-up", "lg"} <= used_icons([page])


def test_rules_of_icons_that_no_page_uses_are_left_out():
    kept = cut_style(SHEET, {"gear"})
    assert ".fa-arrow-up" not in kept
    assert '.fa-cog:before,.fa-gear:before{content:"\\f013"}' in kept
    assert 'main{--pst-icon-note:"\\f05a";color:#333}' in kept
    assert '{src:url(../fonts/fa-solid.woff) format("woff")}' in kept


def test_the_font_keeps_what_the_style_sheet_shows():
    assert characters([cut_style(SHEET, {"gear"})]) == {0xF013, 0xF05A}
    assert characters(['main{--pst-icon-tip:"\uf0eb"}']) == {0xF0EB}


def test_a_font_is_cut_to_some_characters(tmp_path):
    source = Path(mpl.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
    cut_font(source, tmp_path / "small.woff", {ord("A"), ord("b")})
    small = ttLib.TTFont(tmp_path / "small.woff")
    assert set(small.getBestCmap()) == {ord("A"), ord("b")}
    assert (tmp_path / "small.woff").stat().st_size < source.stat().st_size / 50


def test_after_a_build_there_is_no_script_and_a_small_font_draws(tmp_path):
    static = tmp_path / "_static"
    files = {SCRIPT: "var c={};", STYLE: SHEET, "theme.js": '"fa-cog"'}
    for name, text in files.items():
        path = static / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    fonts = static / FONTS
    fonts.mkdir(parents=True)
    shutil.copy(Path(mpl.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf"), fonts)
    cut_icons(SimpleNamespace(outdir=tmp_path), None)
    assert not (static / SCRIPT).exists()
    assert "fa-gear" in (static / STYLE).read_text()
    assert "fa-arrow-up" not in (static / STYLE).read_text()
    assert [path.name for path in fonts.iterdir()] == ["DejaVuSans.woff"]
