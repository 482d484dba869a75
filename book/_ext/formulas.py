"""Formulas as MathML, made when the book is built.

A page ships no program for mathematics. The browser sets its formulas as it sets text,
so that they can be read aloud, copied, enlarged and printed. Temml (`temml/`) turns TeX
into MathML; it is written in JavaScript, which mini-racer, an engine from PyPI, runs
here and never on a page. TeX that Temml doesn't know is a warning, and so stops a build
with `-W`. Of the font for formulas only the characters that they use are published.
"""

import html
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from publishing import cut_font
from py_mini_racer import MiniRacer
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.logging import getLogger
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

LOGGER = getLogger(__name__)
TEMML = Path(__file__).with_name("temml") / "temml.min.js"
FONT = "fonts/stix-two-math.woff2"
# Script letters, primes, small forms in exponents, letters without their dots.
FEATURES = ("ss01", "ss04", "ssty", "dtls", "kern")
FORMULA = re.compile(r"<math.*?</math>", re.DOTALL)
# So many children these elements have. With others Firefox shows an error instead.
CHILDREN = {
    **dict.fromkeys(("mfrac", "mover", "mroot", "msub", "msup", "munder"), 2),
    **dict.fromkeys(("munderover", "msubsup"), 3),
}
# For each formula its MathML, or what is wrong with it.
CONVERT = """
(formulas) => JSON.stringify(formulas.map(([tex, displayMode]) => {
  try {
    return [temml.renderToString(tex, {displayMode, throwOnError: true}), null];
  } catch (error) {
    return [null, error.message];
  }
}))
"""

Formula = tuple[str, bool]  # TeX, and whether it stands on a line of its own
MADE: dict[Formula, tuple[str | None, str | None]] = {}


def group_base(made: str) -> str:
    """Make one child of what a sign is set over, under or beside.

    Temml writes the name of an operator with the gap behind it as several.

    >>> group_base("<mover><mi>Var</mi><mspace></mspace><mo>ˆ</mo></mover>")
    '<mover><mrow><mi>Var</mi><mspace></mspace></mrow><mo>ˆ</mo></mover>'
    """
    tree = ElementTree.fromstring(made)
    many = [e for e in tree.iter() if len(e) > CHILDREN.get(e.tag, len(e))]
    for element in many:
        base = ElementTree.Element("mrow")
        base.extend(element[: len(element) - CHILDREN[element.tag] + 1])
        for child in base:
            element.remove(child)
        element.insert(0, base)
    if not many:
        return made
    return ElementTree.tostring(tree, encoding="unicode", short_empty_elements=False)


def convert(formulas: Iterable[Formula]) -> None:
    """Make the formulas that are still missing."""
    missing = [formula for formula in dict.fromkeys(formulas) if formula not in MADE]
    if not missing:
        return
    with MiniRacer() as engine:  # left open, it would keep the process from ending
        engine.eval(TEMML.read_text("utf-8"))
        made = json.loads(str(engine.eval(f"({CONVERT})({json.dumps(missing)})")))
    MADE.update(
        (formula, (text and group_base(text), wrong))
        for formula, (text, wrong) in zip(missing, made, strict=True)
    )


def read_formula(node: nodes.Element) -> Formula:
    r"""Read the TeX of a node.

    As Sphinx does for MathJax: paragraphs of a block are its lines, and lines are
    aligned at `&`.
    """
    if not isinstance(node, nodes.math_block):
        return node.astext().strip(), False
    lines = [line.strip() for line in re.split(r"\n\s*\n", node.astext())]
    lines = [line for line in lines if line]
    tex = r" \\ ".join(lines)
    aligned = len(lines) > 1 or (r"\\" in tex and r"\begin" not in tex)
    return (rf"\begin{{aligned}}{tex}\end{{aligned}}" if aligned else tex), True


def mathml(node: nodes.Element) -> str:
    """Give a node's MathML, or its TeX where there is none, with a warning."""
    formula = read_formula(node)
    convert([formula])
    made, wrong = MADE[formula]
    if made is None:
        place: Any = node  # a formula within a line has the line of its paragraph
        while place.line is None and place.parent is not None:
            place = place.parent
        LOGGER.warning("TeX that Temml does not know: %s", wrong, location=place)
        return f"<code>{html.escape(formula[0])}</code>"
    return made


def convert_page(_app: Sphinx, doctree: nodes.document, _page: str) -> None:
    """Before a page is written: make all its formulas at once."""
    found = [*doctree.findall(nodes.math), *doctree.findall(nodes.math_block)]
    convert(read_formula(node) for node in found)


def visit_math(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    writer.body.append(f'<span class="math">{mathml(node)}</span>')
    raise nodes.SkipNode


def visit_math_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own, with its number if it has one."""
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    # A wide formula scrolls in a box of its own, which the keyboard reaches as well.
    writer.body.append(f'<div class="formula" tabindex="0">{mathml(node)}</div>')
    if node["number"]:
        number = get_node_equation_number(writer, node)
        writer.body.append(f'<span class="eqno">({number})')
        writer.add_permalink_ref(node, _("Link to this equation"))
        writer.body.append("</span>")
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def used_characters(pages: Iterable[Path]) -> set[int]:
    """Collect the characters of all formulas, as the browser draws them.

    A single letter in `<mi>` is drawn as the italic one of Unicode's mathematical
    alphabet, which the page doesn't name.
    """
    text = "".join(
        html.unescape(re.sub(r"<[^>]*>", "", formula))
        for page in pages
        for formula in FORMULA.findall(page.read_text("utf-8"))
    )
    # Roots and the accents that a browser stretches are drawn, not written.
    used = {ord(character) for character in text + "√‾_^~¯ˆ˜→"}
    italic = {0x1D434 + i: ord("A") + i for i in range(26)}
    italic |= {0x1D44E + i: ord("a") + i for i in range(26)} | {0x210E: ord("h")}
    italic |= {0x1D6E2 + i: 0x391 + i for i in range(25)}
    italic |= {0x1D6FC + i: 0x3B1 + i for i in range(25)}
    return used | {slanted for slanted, plain in italic.items() if plain in used}


def cut_formulas(app: Sphinx, exception: Exception | None) -> None:
    """After the build: write the font with what the book's formulas use."""
    font = Path(app.outdir, "_static", FONT)
    if exception or app.builder.format != "html" or not font.exists():
        return
    source = Path(app.confdir, "book", "_static", FONT)
    used = used_characters(Path(app.outdir).rglob("*.html"))
    cut_font(source, font, used, FEATURES)
    LOGGER.info("[mathml] kept %d characters of the font for formulas", len(used))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the way of writing formulas, and its steps before and after."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    app.connect("doctree-resolved", convert_page)
    app.connect("build-finished", cut_formulas)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
