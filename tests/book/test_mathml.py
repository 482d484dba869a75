"""Formulas become MathML while the book is built, or the build says what is wrong."""

import re
from xml.etree import ElementTree

import formulas as mathml
import pytest
from docutils import nodes

DOLLARS = {"myst_enable_extensions": ["dollarmath"], "html_math_renderer": "mathml"}


def block(text):
    return nodes.math_block(text, text)


def test_formulas_are_mathml(book):
    book.write("\nA formula, $a^2$, and one with a number:\n\n$$x_i$$ (eq-x)\n")
    status, page, said = book.build("formulas", math_numfig=False, **DOLLARS)
    assert status == 0, said
    assert "<msup><mi>a</mi>" in page
    assert "<msub><mi>x</mi><mi>i</mi></msub>" in page
    assert '<span class="eqno">(1)' in page
    assert 'id="equation-eq-x"' in page
    assert "<script" not in page[page.index("<math") : page.rindex("</math>")]


@pytest.mark.parametrize(
    ("tex", "base"),
    [
        (r"\widehat{\operatorname{Var}}", r"<mover><mrow>.*Var.*</mrow><mo[^>]*>ˆ"),
        (r"\underset{T}{\operatorname{head}_h}", r"<munder><mrow>.*head.*</mrow><mi>T"),
        (r"\sum_{i=1}^{n} x^2", r"<munderover><mo[^>]*>∑</mo><mrow>.*<msup>"),
    ],
)
def test_a_sign_has_one_thing_that_it_stands_at(tex, base):
    made = mathml.mathml(block(tex))
    assert re.search(base, made), made
    for element in ElementTree.fromstring(made).iter():
        assert len(element) == mathml.CHILDREN.get(element.tag, len(element))


def test_what_is_wrong_with_a_formula_is_said_where_it_stands(book):
    book.write("\nA formula, $\\nosuchcommand{a}$.\n")
    _, page, said = book.build("formulas", **DOLLARS)
    assert "WARNING" in said
    assert "nosuchcommand" in said
    assert re.search(r"chapter\.md:1\d: WARNING", said), said
    assert "<code>\\nosuchcommand{a}</code>" in page


@pytest.mark.parametrize(
    ("text", "tex"),
    [
        ("a = b", "a = b"),
        ("a &= b \\\\ c &= d", r"\begin{aligned}a &= b \\ c &= d\end{aligned}"),
        ("a\n\nb", r"\begin{aligned}a \\ b\end{aligned}"),
        (r"\begin{gathered}a \\ b\end{gathered}",) * 2,
    ],
)
def test_lines_of_a_block_are_aligned_as_sphinx_does(text, tex):
    assert mathml.read_formula(block(text)) == (tex, True)


def test_letters_bring_their_slanted_forms(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<p>z</p><math><mi>a</mi><mi>β</mi><mo>&lt;</mo></math>", "utf-8")
    used = {chr(code) for code in mathml.used_characters([page])}
    assert {"a", "𝑎", "β", "𝛽", "<", "√"} <= used
    assert "z" not in used
