"""After the build: what no page uses goes, what each uses stays, and HTML is valid."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import light_pages
import matplotlib as mpl
import numpy as np
import pytest
from fontTools import ttLib
from light_pages import (
    cut_style,
    give_sizes,
    give_widths,
    least_width,
    link,
    linked,
    read_sheet,
    repair,
)
from PIL import Image
from small_books import ROOT

FONTS = ROOT / "book" / "_static"
PAGE = """<body class="wide" id='top'><p class="note" style="color: var(--ink)">"""
SCRIPT = """node.classList.add("open"); x = `kind-${kind}`; "tip-" + way;"""


@pytest.mark.parametrize(
    "rule",
    [
        "*{color:red}",
        "body.wide>p:first-child:before{color:red}",
        "#top main{color:red}",
        "p[title=x]:not(.never,#never){color:red}",
        ":is(.never,.note:not(.never)){color:red}",
        ".open{color:red}",
        ".kind-page .tip-left{color:red}",
        "@font-face{font-family:F;src:url(f.woff2)}",
        "p{--ink:red}",
        "p{--two:1px;top:var(--two);animation:1s turn}",
        ".never,.note{color:red}",
    ],
)
def test_a_rule_stays_where_an_element_may_have_all_that_it_asks_for(rule):
    assert cut_style(rule, [PAGE, SCRIPT]).strip() == rule


@pytest.mark.parametrize(
    "rule",
    [
        ".never{color:red}",
        "p.note.never{color:red}",
        "#never p{color:red}",
        ".kindred{color:red}",
        "@media print{.never{color:red}}",
        "@keyframes turn{from{top:0}to{top:1px}}",
        "p{--unused:1px}",
        "p{--one:1px;--unused:var(--one)}",
        "p{--unused:url(data:a;b)}",
        ".never,.neither{color:red}",
        "/* a remark */",
    ],
)
def test_a_rule_about_nothing_goes(rule):
    assert cut_style(rule, [PAGE, SCRIPT]).strip() == ""


def test_what_stays_is_as_short_as_it_can_be():
    style = "p,\n .note:is(a, b) { top: 0; /* why */ left: 1px ; }"
    cut = cut_style(f"@media print{{{style}}}", [PAGE])
    assert cut == "@media print{p,.note:is(a,b){top:0;left:1px}}"
    turn = "@keyframes turn{from{top:0}to{top:1px}}p{animation:turn 1s}"
    assert "@keyframes turn" in cut_style(turn, [PAGE])


def test_one_sheet_takes_the_place_of_all_with_addresses_from_its_own(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "basic.css").write_text("a{background:url(file.png)}")
    (tmp_path / "deep" / "theme.css").write_text(
        '@import "../basic.css";\n'
        'b{src:url("../fonts/f.woff2?v=1"),url(data:x),url(#g),url(near.png)}'
    )
    assert read_sheet(tmp_path, "deep/theme.css") == (
        "a{background:url(file.png)}\n"
        'b{src:url("fonts/f.woff2?v=1"),url(data:x),url(#g),url(deep/near.png)}'
    )
    page = (
        '<meta><link href="../_static/a.css?v=1" rel="stylesheet" />\n'
        '<link rel="stylesheet" type="text/css" href="../_static/deep/b.css" />\n'
        '<link rel="icon" href="../_static/c.svg" /><script></script>'
    )
    assert linked(page) == ["a.css", "deep/b.css"]
    one = link(page, "book.css?v=2")
    assert linked(one) == ["book.css"]
    assert '<link rel="stylesheet" href="../_static/book.css?v=2" />' in one
    assert one.endswith(page[page.index('<link rel="icon"') :])
    assert link(one, "book.css?v=2") == one


def test_fonts_keep_the_characters_of_the_book_and_how_they_fit(tmp_path):
    (tmp_path / "fonts").mkdir()
    page = (
        "<p title='ñ'>Café “fluffy”</p><script>ü</script>"
        "<math><mi>a</mi><mi>β</mi><mo>&lt;</mo></math>"
    )
    text, italic = light_pages.cut_fonts(FONTS, tmp_path, [page])
    for name in (text, italic):
        font = ttLib.TTFont(tmp_path / "fonts" / name)
        whole = ttLib.TTFont(FONTS / "fonts" / name)
        cmap, before = font.getBestCmap(), whole.getBestCmap()
        assert set(map(ord, "Café“”z")) <= set(cmap)
        assert not set(map(ord, "ñüβ")) & set(cmap)
        # Weights, kerning and the letters that are joined are as they were.
        assert [axis.axisTag for axis in font["fvar"].axes] == ["wght"]
        assert {"kern", "liga"} <= {
            record.FeatureTag
            for table in ("GPOS", "GSUB")
            for record in font[table].table.FeatureList.FeatureRecord
        }
        for code in map(ord, "Café“fluy"):
            assert font["hmtx"][cmap[code]] == whole["hmtx"][before[code]]
    formulas = ttLib.TTFont(tmp_path / light_pages.MATH)
    assert "MATH" in formulas
    used = set(map(chr, formulas.getBestCmap()))
    assert {"a", "𝑎", "β", "𝛽", "<", "√"} <= used  # letters with their slanted forms
    assert "f" not in used


def test_a_page_asks_for_the_letters_of_its_first_screen():
    style = '<link rel="stylesheet" href="../_static/book.css?v=1" />'
    fonts = ["text.woff2", "text-italic.woff2"]
    lesson = f"<head>{style}</head><h1>A</h1>\n<p><em>25 minutes</em></p>"
    both = light_pages.announce(lesson, fonts)
    assert both.index("../_static/fonts/text.woff2") < both.index(style)
    assert '"../_static/fonts/text-italic.woff2"' in both
    assert light_pages.announce(both, fonts) == both
    plain = light_pages.announce(lesson.replace("em>", "b>"), fonts)
    assert '"../_static/fonts/text.woff2"' in plain
    assert "italic" not in plain


def test_icons_that_no_page_names_are_not_shipped(tmp_path):
    sheet = (
        '@font-face{src:url(../fonts/fa-solid.woff2) format("woff2"),'
        'url(../fonts/fa-solid.ttf) format("truetype")}'
        '.fa-arrow-up:before{content:"\\f062"}'
        '.fa-cog:before,.fa-gear:before{content:"\\f013"}'
        'main{--pst-icon-note:"\\f05a";--pst-icon-tip:"\uf0eb"}'
    )
    files = {
        light_pages.ICON_SCRIPT: "var c={};",
        light_pages.ICON_STYLE: sheet,
        "theme.js": '"fa-cog"',
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    fonts = tmp_path / light_pages.ICON_FONTS
    fonts.mkdir(parents=True)
    shutil.copy(Path(mpl.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf"), fonts)
    light_pages.cut_icons(tmp_path, ['<i class="fa-solid fa-star fa-lg"></i>'])
    assert not (tmp_path / light_pages.ICON_SCRIPT).exists()
    style = (tmp_path / light_pages.ICON_STYLE).read_text()
    assert ".fa-arrow-up" not in style
    assert '.fa-cog:before,.fa-gear:before{content:"\\f013"}' in style
    assert '{src:url(../fonts/fa-solid.woff) format("woff")}' in style
    assert 'main{--pst-icon-note:"\\f05a"' in style
    assert [path.name for path in fonts.iterdir()] == ["DejaVuSans.woff"]


def test_after_a_build_pages_show_smaller_files_with_the_same_points(tmp_path):
    drawn = np.zeros((60, 80, 4), np.uint8)
    drawn[..., 0] = np.arange(80)
    drawn[20:40, 10:70] = 255, 255, 255, 128
    (tmp_path / "_images").mkdir()
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "documentation_options.js").write_text("")
    sources = {mode: tmp_path / f"_images/{mode}.png" for mode in ("P", "RGBA", "L")}
    for mode, source in sources.items():
        Image.fromarray(drawn).convert(mode).save(source)
    page = tmp_path / "page.html"
    page.write_text(
        '<article class="bd-article"><img alt="a.png" src="_images/RGBA.png" />'
        '<a href="_images/RGBA.png">'
    )
    app = SimpleNamespace(
        outdir=tmp_path,
        confdir=tmp_path,
        builder=SimpleNamespace(format="html"),
        config=SimpleNamespace(html_sourcelink_suffix=".txt"),
    )
    for _ in range(2):
        light_pages.lighten(app, None)  # pyright: ignore[reportArgumentType]
        assert page.read_text() == (
            '<article class="bd-article"><img alt="a.png" src="_images/RGBA.webp" '
            'width="80" height="60" /><a href="_images/RGBA.png">'
        )
    for source in sources.values():
        made, before = (
            Image.open(path).convert("RGBA")
            for path in (source.with_suffix(".webp"), source)
        )
        assert made.tobytes() == before.tobytes()


def test_pictures_have_sizes_and_come_when_they_are_near(tmp_path):
    images = [f'<img alt="a" src="{i}.png" />' for i in range(light_pages.FIRST + 1)]
    frame = '<img alt="logo" src="9.png"><article class="bd-article">'
    page = give_sizes(frame + "".join(images), lambda name: (int(name[0]) + 1, 7))
    assert page.startswith(frame)
    assert page.count('height="7"') == len(images)
    assert page.count('loading="lazy"') == 1
    assert page.endswith('width="3" height="7" loading="lazy" />')
    assert give_sizes(frame + images[0], lambda _: None) == frame + images[0]
    for unit, width in {"pt": 672, "px": 504, "": 504}.items():
        path = tmp_path / f"a{unit}.svg"
        path.write_text(f'<svg x="y" width="504{unit}" height="300{unit}"></svg>')
        assert light_pages.size_of(path)[0] == width
    assert light_pages.size_of(tmp_path / "none.png") is None


SETTINGS = '<script src="a/documentation_options.js?v=1"></script>'
ARGUMENT = '<em class="sig-param">a</em>,'


@pytest.mark.parametrize(
    ("page", "repaired"),
    [
        (
            '<head><meta name="viewport" content="a" /> <meta name="viewport"> <title>',
            '<head><meta name="viewport" content="a" /> <title>',
        ),
        (
            '<summary><p class="collapsed admonition-title">Show</p></summary>',
            '<summary><span class="collapsed admonition-title">Show</span></summary>',
        ),
        (
            f"<dt>f(\n<dl>\n<dd>{ARGUMENT}</dd>\n</dl>\n)</dt><dl>\n</dl>",
            f'<dt>f(\n<span class="arguments">\n<span>{ARGUMENT}</span>\n</span>\n'
            ")</dt><dl>\n</dl>",
        ),
        (f"{SETTINGS}<script>1</script>",) * 2,
        ('<script data-a="b" src="a.js">', '<script defer data-a="b" src="a.js">'),
        # Those that search wait for each other.
        ('<script src="searchtools.js"><script src="searchindex.js">',) * 2,
        (
            '<pre><span class="n">a</span><span class="o">=</span></pre>',
            '<pre>a<span class="o">=</span></pre>',
        ),
        ('<span class="w">  </span><span class="c1"># fmt: skip</span>', ""),
    ],
)
def test_what_is_not_valid_is_repaired_and_scripts_wait(page, repaired):
    assert repair(page) == repaired
    assert repair(repaired) == repaired


def test_a_drawing_says_how_wide_its_smallest_letters_want_it(tmp_path):
    letters = "".join(
        f'<g transform="translate(9 9) scale({size} -{size})"/>'
        for size in (0.12, 0.09)
    )
    drawing = tmp_path / "drawing.svg"
    drawing.write_text(f'<svg width="504pt" height="300pt">{letters}</svg>')
    assert least_width(drawing) == 672  # nine points are twelve pixels
    page = '<img alt="x" src="drawing.svg" style="width: 100%;"/><img src="a.png"/>'
    given = give_widths(page, lambda name: least_width(tmp_path / name))
    assert 'style="--least: 672px; width: 100%;"' in given
    assert given.count("--least") == 1
