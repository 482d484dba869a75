"""Formulas as MathML, made when the book is built.

A page ships no program for mathematics. The browser sets its formulas as it sets text,
so that they can be read aloud, copied, enlarged and printed. math-core turns TeX into
MathML; TeX that it doesn't know is a warning, and so stops a build with `-W`. Of the
font for formulas only the characters that they use are published (light_pages.py).
"""

import html
import re
from typing import Any

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.logging import getLogger
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

LOGGER = getLogger(__name__)
CONVERTER = LatexToMathML(fancy_error=False)
# After a script letter: the chancery form, which is the font's own.
FORM = "\ufe00"
# The sign of a root over a low letter reaches down as over a tall one.
LOW = re.compile("(<msqrt>)(?=<mi>[acemnorsuvwxz]</mi></msqrt>)")
STRUT = '<mpadded width="0"><mphantom><mi>d</mi></mphantom></mpadded>'
# Two equations side by side stand one under the other where a screen is narrow.
BESIDE = re.compile(r"\\qquad(?![a-zA-Z])\s*")
PAIRS = r"\{", r"\}", r"\\left(?![a-z])", r"\\right(?![a-z])", r"\\begin", r"\\end"
# More room before the next line, `\\[1ex]`, is a thing of the style sheet.
ROOM = re.compile(r"\\\\\s*\[[\d.]+\s*\w+\]")


def read_formula(node: nodes.Element) -> tuple[str, bool]:
    r"""Read the TeX of a node, and whether it stands on a line of its own.

    As Sphinx does for MathJax: paragraphs of a block are its lines, and lines are
    aligned at `&`.
    """
    if not isinstance(node, nodes.math_block):
        return node.astext().strip(), False
    lines = [line.strip() for line in re.split(r"\n\s*\n", node.astext())]
    lines = [line for line in lines if line]
    tex = ROOM.sub(r"\\\\", r" \\ ".join(lines))
    aligned = len(lines) > 1 or (r"\\" in tex and r"\begin" not in tex)
    return (rf"\begin{{aligned}}{tex}\end{{aligned}}" if aligned else tex), True


def side_by_side(tex: str) -> list[str]:
    """Part a formula where it has much room, unless that is inside of something."""
    parts, open_part = [], ""
    for piece in BESIDE.split(tex):
        open_part += rf"\qquad {piece}" if open_part else piece
        counts = [len(re.findall(mark, open_part)) for mark in PAIRS]
        if counts[::2] == counts[1::2]:
            parts.append(open_part)
            open_part = ""
    return [*parts, open_part] if open_part else parts


def mathml(node: nodes.Element) -> str:
    """Give a node's MathML, or its TeX where there is none, with a warning."""
    tex, display = read_formula(node)
    parts = side_by_side(tex) if display else [tex]
    try:
        made = " ".join(
            CONVERTER.convert_with_local_state(part, displaystyle=display)
            for part in parts
        ).replace(FORM, "")
        if len(parts) > 1:  # as words of a line, which may break between them
            made = made.replace('display="block"', 'displaystyle="true"')
        return LOW.sub(rf"\1{STRUT}", made)
    except LatexError as error:
        place: Any = node  # a formula within a line has the line of its paragraph
        while place.line is None and place.parent is not None:
            place = place.parent
        wrong = f"TeX that math-core does not know: {error}: {tex}"
        LOGGER.warning("%s", wrong, location=place)
        return f"<code>{html.escape(tex)}</code>"


class KeepTogether(SphinxPostTransform):
    """Give a formula in a line the marks that touch it: no line begins with one."""

    default_priority = 900

    def run(self, **_: Any) -> None:
        """Go through one page."""
        for formula in self.document.findall(nodes.math):
            siblings, i = formula.parent.children, formula.parent.index(formula)
            for name, j, mark in (
                ("before", i - 1, r"\($"),
                ("after", i + 1, r"^[.,;:?!)]+"),
            ):
                text = siblings[j] if 0 <= j < len(siblings) else None
                if isinstance(text, nodes.Text) and (found := re.search(mark, text)):
                    formula[name] = found[0]
                    rest = text[: found.start()] + text[found.end() :]
                    formula.parent[j] = nodes.Text(rest)


def visit_math(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    before, after = node.get("before", ""), node.get("after", "")
    writer.body.append(f'<span class="math">{before}{mathml(node)}{after}</span>')
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


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the way of writing formulas."""
    app.add_post_transform(KeepTogether)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
