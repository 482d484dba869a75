"""One style sheet, which says of the book's pages what all of them said."""

import pytest
from small_books import cell
from style_sheet import SHEET, cut_all, link, linked, names_in, read

PAGE = (
    """<body class="wide" id='top'><main style="color: var(--ink)"><p class="note">"""
)
SCRIPT = (
    """node.classList.add("open"); node.className = `kind-${kind}`; "tip-" + way;"""
)
NAMES = names_in([PAGE], [SCRIPT])


@pytest.mark.parametrize(
    "rule",
    [
        "*{color:red}",
        "body.wide>p:first-child::before{color:red}",
        "#top main{color:red}",
        "p[title=x]:not(.never,#never){color:red}",
        ":is(.never,.note){color:red}",
        ".open{color:red}",
        ".kind-page .tip-left{color:red}",
        "@font-face{font-family:F;src:url(f.woff2)}",
        "@media print{p{color:red}}",
    ],
)
def test_a_rule_stays_where_an_element_may_have_all_that_it_asks_for(rule):
    assert cut_all(rule, NAMES) == rule


@pytest.mark.parametrize(
    "rule",
    [
        ".never{color:red}",
        "p.note.never{color:red}",
        "#never p{color:red}",
        "table{color:red}",
        ".kindred{color:red}",
        "@media print{.never{color:red}}",
        "@keyframes turn{from{top:0}to{top:1px}}",
        "p{--unused:1px}",
        "/* a remark */",
    ],
)
def test_a_rule_about_nothing_goes(rule):
    assert cut_all(rule, NAMES) == ""


def test_of_several_selectors_those_stay_that_may_be_met():
    style = 'p, .never,\n .note:is(a, b) { top: 0; /* why */ left: url("a;b") ; }'
    assert cut_all(style, NAMES) == 'p,.note:is(a, b){top: 0;left: url("a;b")}'


def test_variables_and_animations_stay_while_something_uses_them():
    chain = "p{--one:1px;--two:var(--one);--ink:red;top:var(--two);animation:turn 1s}"
    turn = "@keyframes turn{from{top:0}to{top:1px}}"
    assert cut_all(chain + turn, NAMES) == f"{chain}\n{turn}"
    # A variable that only an unused one uses goes with it.
    assert cut_all("p{--one:1px;--two:var(--one);--ink:red}", NAMES) == "p{--ink:red}"


def test_addresses_are_those_of_the_place_of_the_new_file(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "basic.css").write_text("a{background:url(file.png)}")
    (tmp_path / "deep" / "theme.css").write_text(
        '@import "../basic.css";\n'
        'b{src:url("../fonts/f.woff2?v=1"),url(data:x),url(#g),url(near.png)}'
    )
    assert read(tmp_path, "deep/theme.css") == (
        "a{background:url(file.png)}\n"
        'b{src:url("fonts/f.woff2?v=1"),url(data:x),url(#g),url(deep/near.png)}'
    )


def test_one_link_takes_the_place_of_all():
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


def test_a_page_that_an_earlier_build_wrote_gets_the_new_sheet(book):
    (book.folder / "other.md").write_text("# Another\n\n```{card} Title\nWords.\n```\n")
    book.write(cell("1"), "\n```{toctree}\nother\n```\n")
    extensions = ("style_sheet",)
    status, first, said = book.build(*extensions)
    assert status == 0, said
    sheet = book.root / "_build" / "html" / "_static" / SHEET
    assert ".sd-card-title" in sheet.read_text()
    assert ".cell_input" in sheet.read_text()
    (book.folder / "other.md").write_text("# Another\n\nWords.\n")
    status, second, said = book.build(*extensions)
    assert status == 0, said
    assert ".sd-card-title" not in sheet.read_text()
    assert ".cell_input" in sheet.read_text()
    assert linked(first) == linked(second) == [SHEET]
    assert first != second  # whoever has the old file asks for the new one
