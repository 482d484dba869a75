"""Code looks as it did, with fewer elements."""

import re

from plain_code import plain_tokens, unwrap
from small_books import cell

STYLE = """
html[data-theme="light"] .highlight { color: #080808 }
html[data-theme="light"] .highlight .k { color: #6730C5 } /* Keyword */
html[data-theme="light"] .highlight .n { color: #080808 } /* Name */
html[data-theme="light"] .highlight .p { color: #080808 } /* Punctuation */
html[data-theme="light"] .highlight .w { color: #080808 } /* Whitespace */
html[data-theme="dark"] .highlight .n { color: #F8F8F2 } /* Name */
html[data-theme="dark"] .highlight .p { color: #F8F8F2 } /* Punctuation */
html[data-theme="dark"] .highlight .w { color: #ABE338 } /* Whitespace */
"""


def block(inside):
    return f'<div class="highlight"><pre>{inside}</pre></div>'


def test_plain_is_what_looks_as_names_by_day_and_by_night():
    assert plain_tokens(STYLE) == {"n", "p"}
    assert plain_tokens("") == set()


def test_the_look_of_names_is_that_of_the_block():
    code = '<span></span><span class="n">f</span><span class="p">(</span>'
    code += '<a class="api" href="#f"><span class="n">g</span></a>'
    code += '<span class="k">if</span><span class="w"> </span>'
    page = '<span class="n">sig</span>' + block(code)
    made = unwrap(page, {"n", "p"})
    kept = 'f(<a class="api" href="#f">g</a><span class="k">if</span>'
    kept += '<span class="w"> </span>'
    assert made == '<span class="n">sig</span>' + block(
        f'<span class="n">{kept}</span>'
    )
    assert unwrap(made, {"n", "p"}) == made


def test_blocks_of_text_and_of_parts_stay():
    for inside in (
        "<span></span>No code.\n",
        '<div id="f"><span class="n">f</span></div>',
    ):
        assert unwrap(block(inside), {"n"}) == block(inside)


def test_a_page_keeps_every_character(book):
    book.write(cell("def f(x):\n    return x[0] + 'a'  # why"))
    _, before, _ = book.build()
    (book.root / "_build").rename(book.root / "before")
    status, after, said = book.build("plain_code")
    assert status == 0, said

    def words(page):
        return re.sub(r"<[^>]*>", "", page)

    assert words(after) == words(before)
    assert after.count("<span") < before.count("<span")
