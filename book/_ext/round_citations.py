"""Citations as economists write them: Vaswani et al. (2017).

sphinxcontrib-bibtex sets authors and year, but in square brackets, and learns another
style only by being told in Python.
"""

from dataclasses import dataclass, field
from typing import Any

from sphinx.application import Sphinx
from sphinxcontrib.bibtex.plugin import register_plugin
from sphinxcontrib.bibtex.style.referencing import BracketStyle
from sphinxcontrib.bibtex.style.referencing.author_year import AuthorYearReferenceStyle


def round_brackets() -> BracketStyle:
    """Make the brackets that all parts of the style share."""
    return BracketStyle(left="(", right=")")


@dataclass
class RoundAuthorYear(AuthorYearReferenceStyle):
    """Authors and year, in round brackets."""

    bracket_parenthetical: BracketStyle = field(default_factory=round_brackets)
    bracket_textual: BracketStyle = field(default_factory=round_brackets)
    bracket_author: BracketStyle = field(default_factory=round_brackets)
    bracket_label: BracketStyle = field(default_factory=round_brackets)
    bracket_year: BracketStyle = field(default_factory=round_brackets)


def setup(app: Sphinx) -> dict[str, Any]:
    """Make the style known by the name that `_config.yml` gives."""
    app.setup_extension("sphinxcontrib.bibtex")
    group = "sphinxcontrib.bibtex.style.referencing"
    register_plugin(group, "author_year_round", RoundAuthorYear, force=True)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
