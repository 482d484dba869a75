"""A site without solutions: none on the pages, none in what can be downloaded."""

import re
from types import SimpleNamespace

import nbformat
import pytest
from hidden_solutions import only_solutions, strip_downloads, without_solutions
from notebook_pairs import read_cells
from small_books import ROOT, cell

EXERCISES = (
    """
```{exercise-start} By hand
:label: ex-a
```
A question.
```{exercise-end}
```

```{solution-start} ex-a
:class: dropdown
```
The first answer, $a$.
""",
    cell("print('the second answer')"),
    """
```{solution-end}
```

```{exercise-start} In code
:label: ex-b
```
Another question.
```{exercise-end}
```

````{solution-start} ex-b
:label: sol-b
:class: dropdown
````
""",
    cell("print('the third answer')", "torch"),
    cell("print('the fourth answer')", "nnx"),
    """
````{solution-end}
````

## Summary

The end.
""",
)


def build(book, **config):
    book.write(*EXERCISES)
    return book.build(
        "sphinx_exercise",
        "frameworks",
        "hidden_solutions",
        myst_enable_extensions=["dollarmath"],
        **config,
    )


@pytest.mark.parametrize(("shown", "count"), [(True, 4), (False, 0)])
def test_solutions_are_on_the_page_or_not(book, shown, count):
    status, page, said = build(book, show_solutions=shown)
    assert status == 0, said
    assert page.count("answer") == count
    assert page.count("question") == 2
    assert "The end." in page


def test_they_are_shown_unless_the_settings_say_otherwise(book):
    assert "answer" in build(book)[1]


def test_the_setting_of_sphinx_exercise_still_cannot_do_it(book):
    """The day this fails, our own setting can go."""
    status, _, said = build(book, hide_solutions=True)
    assert status != 0
    assert "solution_end_node" in said


def test_the_notebook_to_download_has_none(book):
    book.write(*EXERCISES)
    notebook = without_solutions(read_cells(book.text.read_text()))
    nbformat.validate(notebook)
    text = "\n".join(one.source for one in notebook.cells)
    assert "answer" not in text
    assert "solution-" not in text
    assert text.count("question") == 2
    assert "The end." in text


def test_the_instructor_gets_the_solutions_under_their_titles(book):
    book.write(*EXERCISES)
    notebook = only_solutions(read_cells(book.text.read_text()))
    nbformat.validate(notebook)
    text = "\n".join(one.source for one in notebook.cells)
    assert text.count("answer") == 4
    assert "question" not in text
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## By hand",
        "## In code",
    ]
    assert len(notebook.cells) == 5  # two titles, three cells of code


@pytest.mark.parametrize("shown", [True, False])
def test_no_file_that_the_site_offers_has_one(book, tmp_path, shown):
    book.write(*EXERCISES)
    sources = tmp_path / "_sources"
    sources.mkdir()
    nbformat.write(read_cells(book.text.read_text()), sources / "chapter.ipynb")
    (sources / "chapter.md").write_text(book.text.read_text())
    config = SimpleNamespace(show_solutions=shown)
    strip_downloads(SimpleNamespace(config=config, outdir=tmp_path), None)
    for path in sources.iterdir():
        text = path.read_text()
        assert text.count("answer") == (4 if shown else 0), path
        assert text.count("question") == 2
        assert "The end." in text


def test_a_page_of_ours_keeps_all_but_its_solutions():
    text = (ROOT / "book" / "similarity" / "attention.md").read_text("utf-8")
    before = read_cells(text)
    after = without_solutions(read_cells(text))
    assert len(after.cells) < len(before.cells)
    texts = ["\n".join(one.source for one in nb.cells) for nb in (before, after)]
    assert texts[1].count("{exercise-start}") == texts[0].count("{exercise-start}") > 0
    assert texts[1].count("## Further reading") == 1
    assert "solution-" not in texts[1]


def test_the_settings_leave_it_to_one_line():
    settings = (ROOT / "_config.yml").read_text("utf-8")
    assert re.search(r"^    show_solutions: (true|false)$", settings, re.MULTILINE)
