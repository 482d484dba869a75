"""Icons that no page uses are not shipped; those that one uses are."""

from pathlib import Path

import matplotlib as mpl
import pytest
from fontTools import ttLib
from small_icons import characters, cut_font, cut_script, cut_style, used_icons

SCRIPT = (
    'var c={"arrow-up":[384,512,[8593],"f062","M1 2z"],'
    'gear:[512,512,[9881,"cog"],"f013","M3 4z"],'
    '"chart-pie":[576,512,["pie-chart"],"f200",["M5 6z","M7 8z"]]};'
)


STYLE = (
    '@font-face{src:url(../fonts/fa-solid.woff2) format("woff2"),'
    'url(../fonts/fa-solid.ttf) format("truetype")}'
    '.fa-arrow-up:before{content:"\\f062"}.fa-cog:before,.fa-gear:before{content:"\\f013"}'
    'main{--pst-icon-note:"\\f05a";color:#333}'
)


def test_icons_that_no_page_uses_are_left_out():
    kept = cut_script(SCRIPT, {"arrow-up"})
    assert kept == 'var c={"arrow-up":[384,512,[8593],"f062","M1 2z"],};'


@pytest.mark.parametrize("name", ["gear", "cog"])
def test_icons_are_kept_by_name_and_by_alias(name):
    assert "M3 4z" in cut_script(SCRIPT, {name})
    assert "M1 2z" not in cut_script(SCRIPT, {name})


def test_icons_of_two_layers_are_recognized():
    assert "M5 6z" in cut_script(SCRIPT, {"pie-chart"})
    assert "M5 6z" not in cut_script(SCRIPT, {"gear"})


def test_icons_are_found_in_pages(tmp_path):
    page = tmp_path / "page.html"
    page.write_text('<i class="fa-solid fa-arrow-up fa-lg"></i>')
    assert {"solid", "arrow-up", "lg"} <= used_icons([page])


def test_rules_of_icons_that_no_page_uses_are_left_out():
    kept = cut_style(STYLE, {"gear"})
    assert ".fa-arrow-up" not in kept
    assert '.fa-cog:before,.fa-gear:before{content:"\\f013"}' in kept
    assert 'main{--pst-icon-note:"\\f05a";color:#333}' in kept
    assert '{src:url(../fonts/fa-solid.woff) format("woff")}' in kept


def test_the_font_keeps_what_the_style_sheet_shows():
    assert characters([cut_style(STYLE, {"gear"})]) == {0xF013, 0xF05A}
    assert characters(['main{--pst-icon-tip:"\uf0eb"}']) == {0xF0EB}


def test_a_font_is_cut_to_some_characters(tmp_path):
    source = Path(mpl.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
    cut_font(source, tmp_path / "small.woff", {ord("A"), ord("b")})
    small = ttLib.TTFont(tmp_path / "small.woff")
    assert set(small.getBestCmap()) == {ord("A"), ord("b")}
    assert (tmp_path / "small.woff").stat().st_size < source.stat().st_size / 50
