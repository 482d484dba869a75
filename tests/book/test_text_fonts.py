"""The published fonts have what the book's words need, and no more."""

from types import SimpleNamespace

from fontTools import ttLib
from small_books import ROOT
from text_fonts import FONTS, announce, characters, cut_fonts

SOURCES = sorted((ROOT / "book" / "_static").glob(FONTS))


def test_the_characters_of_words_count_and_not_those_of_formulas():
    page = '<p title="ñ">É&eacute;</p><math><mi>ö</mi></math><script>"ü"</script>'
    found = characters([page], ["× 3"])
    assert {"É", "é", "×", "a", "~"} <= set(map(chr, found))
    assert not set("ñöü") & set(map(chr, found))


def test_a_font_keeps_the_characters_of_the_book_and_how_they_fit(tmp_path):
    (tmp_path / "_static" / "fonts").mkdir(parents=True)
    (tmp_path / "page.html").write_text("<p>Café “fluffy”</p>", "utf-8")
    builder = SimpleNamespace(format="html")
    app = SimpleNamespace(outdir=tmp_path, confdir=ROOT, builder=builder)
    cut_fonts(app, None)
    assert len(SOURCES) == 2
    for source in SOURCES:
        made = tmp_path / "_static" / "fonts" / source.name
        font, whole = ttLib.TTFont(made), ttLib.TTFont(source)
        cmap = font.getBestCmap()
        assert set(map(ord, "Café“”z")) <= set(cmap)
        assert ord("ö") not in cmap
        assert made.stat().st_size < 0.8 * source.stat().st_size
        # Weights, kerning and the letters that are joined are as they were.
        assert [axis.axisTag for axis in font["fvar"].axes] == ["wght"]
        assert {"kern", "liga"} <= {
            record.FeatureTag
            for table in ("GPOS", "GSUB")
            for record in font[table].table.FeatureList.FeatureRecord
        }
        widths, before = font["hmtx"], whole["hmtx"]
        for code in map(ord, "Café“fluy"):
            assert widths[cmap[code]] == before[whole.getBestCmap()[code]]


def test_a_page_asks_for_the_letters_of_its_first_screen():
    style = '<link rel="stylesheet" href="../_static/book.css?v=1" />'
    fonts = ["text.woff2", "text-italic.woff2"]
    lesson = f"<head>{style}</head><h1>A</h1>\n<p><em>25 minutes</em></p>"
    both = announce(lesson, fonts)
    assert both.index("../_static/fonts/text.woff2") < both.index(style)
    assert '"../_static/fonts/text-italic.woff2"' in both
    assert announce(both, fonts) == both
    plain = announce(lesson.replace("em>", "b>"), fonts)
    assert '"../_static/fonts/text.woff2"' in plain
    assert "italic" not in plain
