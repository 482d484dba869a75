"""What Sphinx loads of ours, on one small book that has a piece of everything.

Three books are built: a whole one, one in which all is wrong that stops a build, and
one without its solutions and without a page. What the real site shows is in
`test_site.py`.
"""

import json
import pickle
import re
import sys
from contextlib import contextmanager

import nbformat
import pytest
import reference
from bs4 import BeautifulSoup
from docutils import nodes
from exercises import only_solutions, without_solutions
from formulas import mathml, side_by_side
from links import find_labels
from notebooks import read_cells
from small_books import ROOT, Book, cell

TORCH = cell("print('written for torch')", "torch")
NNX = cell("print('written for nnx')", "nnx")
OPENING = """
Plain at *first*, for {cite:t}`engel1857consumption`. Then $a^2$ follows.

It is at <{{ repository }}>, as in {cite:p}`engel1857consumption`. The
[beam search](appendices/words.md) of a link, `beam search` in code, and a beam search,
a beam search again. Two residual connections, one skip connection. The class `ct.Piece`
and `ct.nothing`; [](other.md), [*in* words](other.md), {ref}`sec-other`,
{eq}`eq-other`, {ref}`a part <sec-other>`, {ref}`ex-other`, {doc}`other` and
{numref}`tab-other`.

$$x_i$$ (eq-x)

## On `ct.Piece`
"""
CODE = cell(
    "import course_lib.torch as ct\n"
    "from course_lib.things import (\n    thing,\n    second as another,\n)\n\n\n"
    "def mine(x):\n    return ct.Piece(x), thing(another), ct.nothing, mine.Piece\n"
)
TABS = [
    cell("print('for both')"),
    NNX,
    TORCH,
    cell("print('more of it')", "torch"),
    "\nWords.\n\n:::{torch}\nRows come *first*.\n:::\n",
    TORCH,
    "\n:::{nnx}\nColumns come *first*.\n:::\n",
    NNX,
    TORCH,
    NNX,
]
EXERCISES = [
    """
```{exercise-start} By hand · easy · 5 minutes
:label: ex-a
```
A question.
```{exercise-end}
```

```{solution-start} ex-a
:label: sol-a
:class: dropdown
```
The first answer, $a$. It follows ($b$, by {eq}`eq-other`).
""",
    cell("print('the second answer')", "torch"),
    cell("print('the third answer')", "nnx"),
    """
```{solution-end}
```

## Where this goes wrong

### A trap

Here.

```{explore} _static/explore/query.svg
:element: query
:label: Turn it, to try
:name: fig-try
:alt: A picture.

Move it. Then look.
```

## Where this goes wrong: the century

Then.

(sec-part)=
## A part

```{list-of} exercises
```
```{list-of} live figures
```
```{list-of} traps
```
```{words}
```
```{bibliography}
```
""",
]
OTHER = """\
# The other page

(sec-other)=
## A part of it

$$
a = b
$$ (eq-other)

```{exercise} An exercise
:label: ex-other

Why?
```

```{list-table} A table
:name: tab-other

* - a
```
"""
GLOSSARY = """\
# Glossary

beam search
: Keeps the best beginnings. [](#sec-beam)

skip connection, residual connection
: A sum. [](../block.md)
"""
PAGES = {
    "appendices/words": GLOSSARY,
    "block": "# Block\n\n*5 minutes · for: sums*\n\nA residual connection is a sum.\n",
    "writing": "# Writing\n\n(sec-beam)=\n## Beams\n\nWe use beam search.\n",
    "other": OTHER,
    "named": "# Reference\n\n```{eval-rst}\n.. automodule:: course_lib.torch.piece\n"
    "   :members:\n   :special-members: __call__\n\n"
    ".. automodule:: course_lib.things\n   :members:\n```\n",
}
PIECE = '''\
"""A piece (PyTorch).

    y = |x| * 2

Someone 2017, arXiv:1706.03762.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Config", "Piece", "piece"]


class Hidden(type):
    def __call__(cls, *args, **kwargs):
        return super().__call__(*args, **kwargs)


class Piece(metaclass=Hidden):
    """A class."""

    def __init__(self, d_model: int, *, rngs: "Rngs"):
        pass

    def __call__(self, x: Float[Array, "*B T D"]) -> Float[Array, "*B T D"]:
        """Map `x` by |W|."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings."""

    depth: int = 12  #: Blocks: one after the other


def piece(q: Float[Tensor, "*B T"], *, mask: Bool[Tensor, "*#B"] | None = None):
    """Attend.

    Args:
        q: Queries, |q| > 0.
    """


def helper() -> Piece:
    """Not public."""
'''
THINGS = "".join(f"def {n}():\n    '''Words.'''\n\n\n" for n in ("thing", "second"))
LIBRARY = {
    "__init__": "",
    "torch/__init__": "from course_lib.torch.piece import *\n",
    "torch/piece": PIECE,
    "things": THINGS,
    "_private": 'def hidden():\n    """Hidden."""\n',
}
BIB = """\
@article{engel1857consumption,
  author = {Engel, Ernst}, title = {A title}, journal = {A journal}, year = {1857},
}
"""
WORDS = {"chapter": ["a synonym"], "sec-part": ["1/sqrt(d)"], "other": ["gone"]}
EXTENSIONS = [
    "sphinx.ext.napoleon", "sphinxcontrib.bibtex", "sphinxext.opengraph",
    "sphinx_last_updated_by_git", "sphinx_thebe", "exercises", "formulas",
    "frameworks", "light_pages", "links", "live_figures", "outputs", "publishing",
    "reference",
]  # fmt: skip
SETTINGS = {
    "myst_enable_extensions": ["colon_fence", "deflist", "dollarmath"],
    "myst_heading_anchors": 2,
    "exclude_patterns": ["*.ipynb", "_static", "course_lib"],
    "html_theme": "sphinx_book_theme",
    "html_theme_options": {
        "repository_url": "https://github.com/fork/course/",
        "path_to_docs": "book",
    },
    "html_baseurl": "https://example.org/",
    "html_static_path": ["book/_static"],
    "html_css_files": ["math.css", "course.css"],
    "html_math_renderer": "mathml",
    "math_numfig": False,
    "numfig": True,
    "bibtex_bibfiles": ["book/references.bib"],
    "bibtex_reference_style": "author_year_round",
    "suppress_warnings": ["git.subprocess_error"],
    "html_last_updated_fmt": "%Y",
    "git_untracked_check_dependencies": False,
    "git_untracked_show_sourcelink": True,
    "default_role": "literal",
    "thebe_config": {},
}


@contextmanager
def small_library(folder):
    """Put the small package where the course's own is, while a book is built."""

    def ours():
        return [n for n in sys.modules if n.partition(".")[0] == "course_lib"]

    for name, text in LIBRARY.items():
        path = folder / "course_lib" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    saved = {name: sys.modules.pop(name) for name in ours()}
    sys.path.insert(0, str(folder))
    root, reference.ROOT = reference.ROOT, folder
    try:
        yield
    finally:
        reference.ROOT = root
        sys.path.remove(str(folder))
        for name in ours():
            del sys.modules[name]
        sys.modules.update(saved)


class Built(Book):
    """A small book, what was said while it was built, and its pages."""

    def __init__(self, root, pages=PAGES):
        super().__init__(root)
        self.site = root / "_build" / "html"
        for name, text in pages.items():
            path = self.folder / f"{name}.md"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        (self.folder / "references.bib").write_text(BIB)
        (self.folder / "words.yml").write_text(json.dumps(WORDS))
        (self.folder / "_static").symlink_to(ROOT / "book" / "_static")

    def make(self, *, listed=tuple(PAGES), **settings):
        """Build all of it, with these pages in the contents."""
        contents = "\n".join(["```{toctree}", *listed, "```"])
        text = self.text.read_text().partition("\n```{toctree}")[0]
        self.text.write_text(f"{text}\n{contents}\n")
        with small_library(self.folder):
            made = self.build(*EXTENSIONS, **{**SETTINGS, **settings})
        self.status, self.page, self.said = made
        return self

    def read(self, name="chapter"):
        """One of its pages."""
        return (self.site / f"{name}.html").read_text("utf-8")

    def soup(self, name="chapter"):
        return BeautifulSoup(self.read(name), "html.parser")


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The whole book."""
    book = Built(tmp_path_factory.mktemp("whole"))
    book.write(OPENING, CODE, *TABS, *EXERCISES)
    book.notebook.write_text("{}")  # as if it were a page with a notebook beside it
    book.make()
    assert book.status == 0, book.said
    return book


def words(element):
    return " ".join(element.get_text().split())


# --- The two frameworks


def labels(page):
    """List the sets of tabs: for each its tabs, as (sync group, sync id, label)."""
    return [
        [
            (label["data-sync-group"], label["data-sync-id"], words(label))
            for label in tabs.select(".sd-tab-label")
        ]
        for tabs in page.select(".framework-tabs")
    ]


def test_neighbors_become_a_synced_tab_set_and_pytorch_comes_first(book):
    both = [("framework", "torch", "PyTorch"), ("framework", "nnx", "Flax NNX")]
    # Words part them, and a framework that comes back opens a new set.
    assert labels(book.soup()) == [both] * 4  # the last in a solution
    first, second, *_, last = book.soup().select(".framework-tabs")
    torch, nnx = first.select(".sd-tab-content")
    assert words(torch).count("written for torch") == 1
    assert "more of it" in torch.get_text()
    assert "written for nnx" in nnx.get_text()
    assert "for both" not in first.get_text()
    # Words of a framework share its tab with its cell.
    order = ["Rows", "written for torch", "Columns", "written for nnx"]
    places = [second.get_text().index(words) for words in order]
    assert places == sorted(places)
    assert last.find_parent("details") is not None
    # Radio buttons work without scripts.
    assert len(first.select('input[type="radio"]')) == 2
    assert len(first.select("input[checked]")) == 1


# --- Exercises


def test_a_solution_folds_and_says_whose_it_is(book):
    (solution,) = book.soup().select("details.solution.admonition#sol-a")
    assert not solution.has_attr("open")
    summary = solution.find("summary", recursive=False)
    assert words(summary) == "Solution to exercise 1"
    assert "The first answer" in solution.get_text()
    assert not book.soup().select("section#solution-content, section#exercise-content")
    title = book.soup().select_one("div.exercise > [role=heading]")
    assert title["aria-level"] == "3"
    assert "Exercise 1" in title.get_text()


def test_lists_have_a_link_to_each_exercise_live_figure_and_trap(book):
    part = book.soup().select_one("#a-part")
    links = {a["href"]: a.get_text() for a in part.select("li li a")}
    assert links["#ex-a"] == "By hand · easy · 5 minutes"
    assert links["other.html#ex-other"] == "An exercise"
    assert links["#fig-try"] == "Turn it"
    assert links["#a-trap"] == "A trap"
    assert links["#where-this-goes-wrong-the-century"] == "The century"


def test_a_formula_keeps_the_marks_that_touch_it(book):
    found = [words(math) for math in book.soup().select("#sol-a span.math")]
    assert found == ["a.", "(b,"]


def test_a_number_of_another_page_says_which(book):
    assert "by (1) of The other page)" in words(book.soup().select_one("#sol-a"))


def test_a_live_figure_stands_over_its_still_and_brings_its_scripts(book):
    (figure,) = book.soup().select("figure#fig-try")
    assert figure.select_one("explore-query.explore[data-label] > img[alt]")
    assert "Fig. 1" in words(figure.select_one("figcaption"))
    scripts = [s["src"].partition("?")[0] for s in book.soup().select("script[defer]")]
    mine = [s for s in scripts if "explore" in s]
    assert mine == ["_static/explore/explore.js", "_static/explore/query.js"]
    assert "explore" not in " ".join(
        str(s) for s in book.soup("block").select("script")
    )


def test_the_instructor_gets_the_solutions_and_the_class_what_remains():
    text = "".join(["# A title\n", *EXERCISES])
    kept, rest = only_solutions(read_cells(text)), without_solutions(read_cells(text))
    for notebook in (kept, rest):
        nbformat.validate(notebook)
    solutions, others = (
        "\n".join(one.source for one in notebook.cells) for notebook in (kept, rest)
    )
    assert solutions.count("answer") == 3
    assert "question" not in solutions
    assert re.findall(r"^## .*", solutions, re.M) == ["## By hand · easy · 5 minutes"]
    assert "answer" not in others
    assert "solution-" not in others
    assert "question" in others
    assert "## A part" in others


# --- Links


def test_the_first_use_of_a_term_leads_to_the_glossary_and_no_other_does(book):
    glossary = book.read("appendices/words")
    links = book.soup().select("a.term")
    assert [a.get_text() for a in links] == ["beam search", "residual connections"]
    for link in links:
        page, _, place = link["href"].partition("#")
        assert page == "appendices/words.html"
        assert f'id="{place}"' in glossary
    for page in ("block", "writing", "appendices/words"):  # they explain them
        assert not book.soup(page).select("a.term")


def test_code_and_words_lead_to_the_reference(book):
    links = book.soup().select("a.api")
    piece = "named.html#course_lib.torch.piece.Piece"
    thing, other = (f"named.html#course_lib.things.{n}" for n in ("thing", "second"))
    assert [(link.get_text(), link["href"]) for link in links] == [
        ("ct.Piece", piece),  # in the sentence, and not in the title
        ("thing", thing),
        ("another", other),
        ("ct.Piece", piece),
        ("thing", thing),
        ("another", other),
    ]


def search_index(book):
    text = (book.site / "searchindex.js").read_text("utf-8")
    return json.loads(text[text.index("{") : text.rindex("}") + 1])


def test_other_words_lead_to_their_page_and_section(book):
    found = search_index(book)
    places = {w: p[0][1:] for w, p in found["indexentries"].items() if w[0] != "("}
    assert places["a synonym"] == ["a-title", True]
    assert places["1/sqrt(d)"] == ["a-part", True]
    # By parts of them, and a notebook by what one does with it.
    assert {"synonym", "sqrt", "colab"} <= set(found["terms"])
    listed = book.soup().select("#a-part table td")
    assert [words(td) for td in listed[::2]] == ["a synonym", "gone", "1/sqrt(d)"]
    links = [td.a["href"] for td in listed[1::2]]
    assert links == ["#", "other.html", "#sec-part"]


def test_a_page_that_is_not_written_again_keeps_its_words(tmp_path):
    book = Book(tmp_path)
    book.site = tmp_path / "_build" / "html"
    book.write("\n```{toctree}\nother\n```\n")
    (book.folder / "other.md").write_text("# Another\n")
    (book.folder / "words.yml").write_text("{chapter: [a synonym], other: [its word]}")
    for said in ("2 added, 0 changed", "0 added, 1 changed"):
        status, _, messages = book.build("links")
        assert status == 0, messages
        assert said in messages
        assert {"a synonym", "its word"} <= search_index(book)["indexentries"].keys()
        book.write("\n```{toctree}\nother\n```\n\nMore of it.\n")


def test_links_to_a_page_that_is_there_stay_links(book):
    links = [a["href"] for a in book.soup().select("p a[href^='other.html']")]
    assert len(links) >= 8
    assert "a formula in" not in book.page


def test_labels_of_every_kind_are_found():
    page = ROOT / "book" / "similarity" / "attention.md"
    labels = find_labels((page,))
    for label in (
        "eq-attention-variance",
        "fig-attention-shapes",
        "fig-attention-learned",
        "sec-attention-scale",
        "ex-attention-code",
        "sol-attention-code",
    ):
        assert labels[label] == page


# --- Formulas


def test_formulas_are_mathml(book):
    page = book.read()
    assert "<msup><mi>a</mi><mn>2</mn></msup>" in page
    assert "<msub><mi>x</mi><mi>i</mi></msub>" in page
    assert '<span class="eqno">(1)' in page
    assert 'id="equation-eq-x"' in page
    assert "<script" not in page[page.index("<math") : page.rindex("</math>")]


def test_equations_side_by_side_part_where_nothing_holds_them_together():
    assert side_by_side(r"a = b, \qquad c = d .") == ["a = b, ", "c = d ."]
    assert side_by_side(r"a \qquadx") == [r"a \qquadx"]
    held, both = r"\left( a \qquad b \right), ", r"\text{or \qquad both}"
    assert side_by_side(rf"{held}\qquad {both}") == [held, both]
    tex = nodes.math_block("", r"a = b, \qquad c = d .")
    assert mathml(tex).count('<math displaystyle="true">') == 2
    assert mathml(nodes.math_block("", "a = b")).count("<math display=") == 1


# --- How it is published


def test_a_page_describes_itself_by_its_first_plain_sentences(book):
    for name, expected in {
        "chapter": "Some words.",
        "block": "A residual connection is a sum.",
        "other": "Why?",
    }.items():
        metas = book.soup(name).select('meta[name="description"]')
        previews = book.soup(name).select('meta[property="og:description"]')
        assert [m["content"] for m in metas] == [expected], name
        assert [m["content"] for m in previews] == [expected], name


def test_citations_have_round_brackets_and_pages_name_the_repository(book):
    text = words(book.soup())
    assert "for Engel (1857)." in text
    assert "as in (Engel, 1857)." in text
    assert book.soup().select('p > a[href="https://github.com/fork/course"]')


def test_without_git_a_page_has_no_date_but_the_way_to_its_source(book):
    assert "Last updated" not in book.page
    assert 'href="_sources/chapter.md"' in book.page


def test_live_code_is_left_out(book):
    assert "unpkg" not in book.page
    assert "thebe.js" not in book.page


# --- The reference


def test_the_reference_shows_the_signatures_that_metaclasses_hide(book):
    page = book.soup("named")
    text = page.get_text()
    assert "class course_lib.torch.piece.Piece(d_model: int, *, rngs: 'Rngs')" in words(
        page.select_one("dt[id$='piece.Piece']")
    ).replace("( ", "(").replace(" )", ")")
    assert "kwargs" not in text
    assert "q: Float[Tensor, '*B T']" in text
    assert "Blocks: one after the other" in text
    assert "helper" not in text
    assert "y = |x| * 2" in page.select_one(".highlight").get_text()
    assert page.select_one('a[href="https://arxiv.org/abs/1706.03762"]')


def test_a_stored_page_holds_itself_alone(book):
    """What `{eval-rst}` made would bring the whole environment along."""
    stored = (book.site / ".doctrees" / "named.doctree").read_bytes()
    document = pickle.loads(stored)
    assert {id(node.document) for node in document.findall()} == {id(document)}


def test_each_object_leads_to_its_lines_in_the_repository(book):
    (link,) = book.soup("named").select("dt[id$='piece.Piece'] > a.reference.external")
    start = PIECE.splitlines().index("class Piece(metaclass=Hidden):") + 1
    tree = "https://github.com/fork/course/blob/"
    assert link["href"].startswith(tree)
    assert f"course_lib/torch/piece.py#L{start}-L" in link["href"]


# --- What stops a build, and a site with less


BROKEN = [
    TORCH,
    "\nWords, $\\nosuchcommand{a}$.\n",
    NNX,
    "\nWords.\n\n:::{torch}\nRows.\n:::\nStray words.\n:::{nnx}\nColumns.\n:::\n",
    "\n```{list-of} wishes\n```\n\n```{explore} _static/explore/query.svg\n```\n",
    "\nA link: [](missing.md), {ref}`sec-missing`, {doc}`missing`, {eq}`eq-missing`.\n",
]


def test_what_is_wrong_stops_the_build_and_is_said_with_its_place(tmp_path):
    book = Built(tmp_path)
    (book.folder / "words.yml").write_text('{"sec-gone": ["x"]}')
    book.write(*BROKEN)
    book.make(nitpicky=True)
    assert book.status != 0
    assert book.said.count("has no counterpart for Flax NNX") == 2
    assert book.said.count("has no counterpart for PyTorch") == 2
    assert re.search(r"chapter\.md:\d+: WARNING: a part for PyTorch", book.said)
    assert re.search(r"chapter\.md:\d+: WARNING: TeX .*nosuchcommand", book.said)
    assert "<code>\\nosuchcommand{a}</code>" in book.page
    assert "a list is of exercises, live figures, traps: got 'wishes'" in book.said
    assert "an explorer needs the option `:element:`" in book.said
    assert "no page and no label is called sec-gone" in book.said
    for what in ("sec-missing", "eq-missing", "'missing'"):
        assert what in book.said


def test_a_page_and_solutions_that_are_left_out_leave_words_and_nothing_else(tmp_path):
    book = Built(tmp_path)
    book.write(OPENING, *EXERCISES)
    (book.folder / "named.md").write_text("# Reference\n")
    assert book.make().status == 0, book.said
    assert (book.site / "other.html").exists()
    listed = [page for page in PAGES if page != "other"]
    excluded = [*SETTINGS["exclude_patterns"], "other.md"]
    book.make(listed=listed, exclude_patterns=excluded, show_solutions=False)
    assert book.status == 0, book.said
    text = words(book.soup().select_one("article"))
    title = "The other page"
    assert (
        f"{title}, in words, {title}, a formula in {title}, a part, an exercise in "
        f"{title}, {title} and a table in {title}."
    ) in text
    assert "other.html" not in book.page
    assert "gone" not in text
    assert not (book.site / "other.html").exists()
    assert not list((book.site / "_sources").rglob("other*"))
    assert set(search_index(book)["docnames"]) == {"chapter", *listed}
    for shown in (text, (book.site / "_sources" / "chapter.md").read_text()):
        assert "answer" not in shown
        assert "question" in shown


def test_where_there_are_no_tabs_each_version_stands_under_its_name(tmp_path):
    book = Book(tmp_path)
    book.write(TORCH, NNX)
    status, page, said = book.build("frameworks", builder="text")
    assert status == 0, said
    order = ["PyTorch", "written for torch", "Flax NNX", "written for nnx"]
    places = [page.index(words) for words in order]
    assert places == sorted(places)
