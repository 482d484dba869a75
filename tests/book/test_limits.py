"""A page is one sitting: what each asks of a reader, and the limits."""

import re

import limits
import notebooks
import pytest
from limits import CLAIMS_TAG, find_faults, is_optional, measure
from notebooks import read_cells
from small_books import HEADER, ROOT, cell, contents

PATHS = {
    path.relative_to(ROOT).with_suffix("").as_posix(): path
    for path in notebooks.find_chapters(ROOT / "book", [])
}


@pytest.mark.parametrize("name", sorted(PATHS))
def test_a_page_keeps_to_its_limits(name):
    path = PATHS[name]
    text, notebook = path.read_text("utf-8"), limits.read_notebook(path)
    holds = limits.limits_of(path.stem, text)
    assert find_faults(text, None, notebook, holds) == []


def test_the_weekend_takes_five_hours_at_most():
    paths = [path for path in PATHS.values() if path.stem in limits.weekend()]
    pages = [measure(p.read_text("utf-8"), limits.read_notebook(p)) for p in paths]
    assert len(pages) == len(limits.weekend())
    assert sum(page.minutes for page in pages) <= 300


# `+ 1$` at the beginning of a line is an item of a list, and the formula is lost.
@pytest.mark.parametrize("name", [name for name, _ in contents()])
def test_no_line_within_a_formula_begins_a_list(name):
    text = (ROOT / f"{name}.md").read_text("utf-8")
    prose = re.sub(r"^(```|\$\$).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    item = re.compile(r"\$[^$\n]*\n\s*(?:[-+*>]|#+|1[.)])\s[^$]*\$")
    for paragraph in prose.split("\n\n"):
        # What stands between two formulas is none.
        formulas = re.sub(r"(?<!\\)\$([^$]*)\$", r"$\1$\0", paragraph).split("\0")
        assert not [part for part in formulas if item.search(part)]


def test_the_table_has_every_page(capsys):
    assert limits.main([]) == 0
    table, _, total = capsys.readouterr().out.partition("\n\n")
    slugs = [line.split()[0].rstrip("*") for line in table.splitlines()[1:]]
    assert total.startswith("The weekend")
    assert sorted(slugs) == sorted(path.stem for path in PATHS.values())


def test_a_page_builds_on_earlier_ones_and_no_road_on_an_optional_page():
    order = [(ROOT / f"{name}.md").resolve() for name, _ in contents()]
    there = set(PATHS.values())
    optional = {path for path in there if is_optional(path.read_text("utf-8"))}
    for name, path in PATHS.items():
        for needed in limits.builds_on(path):
            assert needed in there, f"{name} builds on {needed}, which is no page"
            if path not in optional:
                assert needed not in optional, f"{name} builds on {needed.stem}"
                if {path, needed} <= set(order):  # one may be left out, in a fork
                    assert order.index(needed) < order.index(path), name


def test_optional_pages_stand_under_a_chapter_and_the_others_do_not():
    for name, under in contents():
        # One page comes before the first of the road, and may be left out.
        if name in PATHS and name != "book/before-you-start":
            text = PATHS[name].read_text("utf-8")
            assert is_optional(text) == under, name


# From here on: does the measure measure?

SIGN = "*7 minutes · builds on [One](one.md) and\n[](two.md) · for: the next page*"
EXERCISE = """
```{{exercise-start}} {title}
:label: ex-page-{label}
```

Words that do not count, and a call: {call}.

```{{exercise-end}}
```

```{{solution-start}} ex-page-{label}
:class: dropdown
```

Nor do these count.
{code}
```{{solution-end}}
```
"""
FIGURE = "\n```{figure} ../figures/x.svg\n:alt: What it shows.\n\nIts caption.\n```\n"


def exercise(title, label="a", call="`f(x)`"):
    code = cell("print('in a solution')")
    return EXERCISE.format(title=title, label=label, call=call, code=code)


def write(*parts, sign=SIGN):
    text = HEADER.replace("Some words.\n", f"{sign}\n")
    return text + "".join(parts)


def measured(*parts, sign=SIGN):
    return measure(write(*parts, sign=sign))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Three plain words.", 3),
        ("With $x = y + z$ and {ref}`sec-x` inside.", 3),
        ("Before\n\n$$\na = b\n$$ (eq)\n\nafter.", 3),
        ("## A heading\n\nTwo words.", 4),
        ("```{figure} x.svg\n:alt: Not this.\n\nIts caption.\n```\nOne.", 3),
        ("One.\n\n## Exercises\n\nNot these three.", 1),
    ],
)
def test_words_are_those_of_the_prose(text, count):
    assert measured(f"\n{text}\n").words == count + measured().words  # the title's


def test_lines_are_those_of_pytorchs_tab_in_two_kinds():
    page = measured(
        cell("a = 1\n\nb = 2  # a comment"),
        cell("import torch", "torch"),
        cell("import jax\nimport flax\nimport optax", "nnx"),
        cell("plot()\nshow()", "hide-input"),
        cell("table()", "remove-input", "torch"),
        cell("import sys", "remove-cell", "colab-setup"),
        cell("assert 1 > 0\nassert 2 > 1", "remove-cell", CLAIMS_TAG),
        "\n## Exercises\n",
        cell("in_a_solution()"),
    )
    assert page.visible == 2 + 1
    assert page.folded == 2 + 2
    assert page.longest == 3


def test_a_minute_has_so_much_of_each():
    printed = {"output_type": "stream", "text": ["one\n", "two\n"] * 45}
    cells = [
        {"cell_type": "code", "metadata": {"tags": ["nnx"]}, "outputs": [printed]},
        {"cell_type": "code", "metadata": {}, "outputs": [printed]},
        {"cell_type": "markdown", "source": ["## Exercises"]},
        {"cell_type": "code", "metadata": {}, "outputs": [printed]},
    ]
    text = write("\n" + "word " * 900 + "\n", cell("x = 1\n" * 32), FIGURE * 2)
    text += "\n\n$$\na\n$$\n\nand\n\n$$\nb\n$$ (eq-page-b)\n"
    page = measure(text, {"cells": cells})
    assert (page.visible, page.figures, page.equations, page.printed) == (32, 2, 2, 90)
    assert page.minutes == 5 + 4 + 2 + 2 * 2 + 3


def test_the_first_picture_has_a_place():
    drawn = cell(
        "---\ntags: [hide-input]\nmystnb:\n  figure: {name: x}\n---\nplt.show()"
    )
    page = measured("\nOne two three.\n", drawn, "\nFour.\n", FIGURE, exercise("x"))
    assert page.words_before_figure == 3 + measured().words
    assert measured("\nWords.\n").words_before_figure is None


def test_exercises_are_read_with_their_effort_and_their_mark():
    page = measured(
        exercise("By hand: odds · easy · 5 minutes", "a"),
        exercise("In code · hard · 20 minutes", "b", '`check(f, "x")`'),
        exercise("Without effort", "c", "`checked`"),
    )
    assert [(e.difficulty, e.minutes, e.is_checked) for e in page.exercises] == [
        ("easy", 5, False),
        ("hard", 20, True),
        (None, None, False),
    ]


GOOD = (
    FIGURE,
    exercise("By hand: odds · easy · 5 minutes", "a"),
    exercise("In code · medium · 10 minutes", "b", '`check(f, "x")`'),
    exercise("Change the experiment · hard · 20 minutes", "c"),
    exercise("Why · medium · 10 minutes", "d"),
)
LONG = "word " * 1601


@pytest.mark.parametrize(
    ("parts", "sign", "fault"),
    [
        ((f"\n{LONG}\n", *GOOD), SIGN, "words of prose, and 1600 are the most"),
        ((cell("x = 1\n" * 26), *GOOD), SIGN, "26 lines in a visible cell"),
        ((*[cell("x = 1\n" * 25)] * 4, *GOOD), SIGN, "visible lines of code, and 80"),
        (("\n\n$$\na\n$$\n" * 5, *GOOD), SIGN, "5 displayed equations"),
        (("\n**A** **b**.\n" * 5, *GOOD), SIGN, "10 terms in bold"),
        ((cell("x = 1\n" * 121, "hide-input"), *GOOD), SIGN, "121 folded lines"),
        (GOOD, "Words.", "no line of minutes under the title"),
        (GOOD, "*5 minutes · a joke*", "does not say what it is for"),
        (GOOD[1:], SIGN, "no picture"),
        (("\n" + "word " * 251 + "\n", *GOOD), SIGN, "words before the first"),
        (GOOD[:-1], SIGN, "3 exercises: there are 4 to 6"),
        ((*GOOD, exercise("Why")), SIGN, "exercise 'Why' does not end in"),
        ((*GOOD[:1], *GOOD[2:], GOOD[4]), SIGN, "no exercise has 'by hand'"),
        ((*GOOD[:2], *GOOD[3:], GOOD[4]), SIGN, "no exercise is marked"),
        ((*GOOD[:3], *GOOD[4:], GOOD[4]), SIGN, "no exercise has 'experiment'"),
    ],
)
def test_each_limit_is_noticed(parts, sign, fault):
    found = find_faults(write(*parts, sign=sign))
    assert any(fault in one for one in found), found


def test_a_page_within_its_limits_has_no_fault_until_it_runs_too_long():
    assert find_faults(write(*GOOD), seconds=14) == []
    assert find_faults(write(*GOOD), seconds=16) == ["16 seconds, and 15 are the most"]


@pytest.mark.parametrize(
    ("kind", "parts", "faults"),
    [
        ("Optional", (f"\n{LONG}\n", *GOOD[1:3]), []),
        ("Optional", GOOD[:2], ["1 exercises: there are 2 to 6"]),
        ("Appendix", (f"\n{LONG}\n",), []),
    ],
)
def test_a_page_beside_the_road_may_be_longer_and_needs_fewer_exercises(
    kind, parts, faults
):
    text = write(*parts, sign=SIGN.replace("*7", f"*{kind} · 7"))
    assert find_faults(text, limits=limits.limits_of("page", text)) == faults
    assert is_optional(text) == (kind == "Optional")


def test_what_a_page_builds_on_is_read(tmp_path):
    (tmp_path / "part").mkdir()
    path = tmp_path / "part" / "page.md"
    path.write_text(write())
    assert limits.builds_on(path) == [
        tmp_path / "part" / f"{n}.md" for n in ("one", "two")
    ]


def test_the_tool_writes_the_minutes_and_notices_stale_ones(book):
    parts = (
        "\n" + "word " * 720 + "\n",
        cell("print(1)"),
        exercise("Why · hard · 9 minutes"),
    )
    book.text.write_text(write(*parts))
    assert book.tool()[0] == 0
    for path in (book.text, book.notebook):
        assert (
            "*4 minutes, and 9 for the exercises · builds on [One]" in path.read_text()
        )
    assert book.tool("--check") == (0, "")
    book.text.write_text(book.text.read_text() + "\n" + "word " * 720 + "\n")
    assert "the minutes under the title are outdated" in book.tool("--check")[1]
    assert "outputs kept" in book.tool()[1]
    assert "*8 minutes" in book.text.read_text()


def test_the_cell_for_colab_stands_under_the_line_of_minutes(book):
    book.text.write_text(write(cell("print(1)"), sign="Words."))
    book.tool()
    text = book.text.read_text()
    title = limits.TITLE.search(text)
    assert text[title.end() :].startswith("\n```{code-cell} ipython3\n:tags: [remove-")
    # A line that is written later goes above the cell, wherever its author put it.
    book.text.write_text(text.replace("\nWords.\n", f"\n{SIGN}\n\nWords.\n"))
    assert "outputs kept" in book.tool()[1]
    body = book.text.read_text()[title.end() :]
    assert re.match(
        r"\n\*0 minutes[^*]+\*\n\n```\{code-cell\}[^`]*```\n\nWords\.", body
    )
    assert book.tool("--check") == (0, "")


def claims_of(path):
    """List the cells of a page that assert what its text says."""
    cells = read_cells(path.read_text("utf-8")).cells
    return [c for c in cells if CLAIMS_TAG in c.metadata.get("tags", [])]


@pytest.mark.parametrize("name", sorted(PATHS))
def test_what_a_page_says_of_what_it_trained_is_asserted(name):
    cells = read_cells(PATHS[name].read_text("utf-8")).cells
    trains = any("rtol" in cell.metadata.get("nbval", {}) for cell in cells)
    claims = claims_of(PATHS[name])
    assert claims or not trains, f"{name} trains, and no cell is tagged claims"
    for claim in claims:
        assert "remove-cell" in claim.metadata["tags"], claim.source
        assert re.search(r"^\s*assert ", claim.source, re.MULTILINE), claim.source
        assert "print(" not in claim.source
