"""Numbers of a page's words are looked for in what its cells hold and print."""

import json

import pytest
from notebooks import ROOT, find_chapters
from unprinted import shown, unprinted

PAGE = """\
---
kernelspec: {{name: python3}}
---

# A page

*25 minutes, and 30 for the exercises · for: trying*

In 2014 it took {said} of all.

```{{code-cell}} ipython3
---
tags: [claims]
nbval: {{rtol: 0.05}}
mystnb:
  image:
    alt: A curve that falls {alt}.
    width: 92%
---
assert 17.5 < loss < 17.7
```
"""
OUTPUTS = [
    {"output_type": "stream", "name": "stdout", "text": "right 0.6249, of 1,024"}
]
NOTEBOOK = {"cells": [{"cell_type": "code", "source": "", "outputs": OUTPUTS}]}


def listed(said: str, alt: str = "") -> list[str]:
    return [n for n, _ in unprinted(PAGE.format(said=said, alt=alt), NOTEBOOK)]


@pytest.mark.parametrize("said", ["0.62", "62%", "62.5%", "1024", "1,024", "17.7"])
def test_what_a_cell_holds_or_prints_is_known_also_rounded(said):
    assert listed(said) == []


@pytest.mark.parametrize("said", ["0.61", "61%", "62.6%", "1,025", "17.8"])
def test_what_none_does_is_listed(said):
    assert listed(said) == [said]
    assert listed("most", alt=f"to {said}") == [said]


@pytest.mark.parametrize(
    "said",
    [
        "a third, as section 17.8 has it, and 0.61 {cite:p}`harris1954distributional`",
        "a third of 1.02 thousand",
        "a text, *17.8 percent of 99*, and $0.61\n\\cdot 3$",
        "102,000",
    ],
)
def test_numbers_of_others_and_rounded_ones_are_known(said):
    printed = {"cells": [{"outputs": [*OUTPUTS, {"text": "of 102,400 texts"}]}]}
    assert not unprinted(PAGE.format(said=said, alt=""), printed)


def test_a_citation_covers_its_own_sentence_and_an_exercise_what_it_asks_for():
    cited = "0.1 in one. It is 0.2 there {cite:p}`a2014b`. Here it is 0.3"
    assert listed(cited) == ["0.1", "0.3"]
    exercise = """a third. It is 17.8 and 99 and 98.

```{{exercise-start}} Draw · easy · 5 minutes
```
Draw 99 of them.
```{{exercise-end}}
```
""".replace("{{", "{").replace("}}", "}")
    assert listed(exercise) == ["17.8", "98"]


def test_what_a_figure_s_still_and_an_included_file_say_is_shown(tmp_path):
    (tmp_path / "x.svg").write_text('<text x="61">17.8</text>')
    (tmp_path / "x.txt").write_text("loss 0.61")
    text = "```{explore} x.svg\n```\n```{literalinclude} x.txt\n```"
    assert shown(tmp_path / "no-such-page.md", text).split() == ["17.8", "loss", "0.61"]


def test_comments_hold_nothing_and_code_that_no_cell_runs_says_nothing():
    assert listed("0.37") == ["0.37"]
    cell = 'x = 1  # 0.37\n# 0.38\ny = "# 0.39"\n'
    page = PAGE.replace("assert", cell + "assert")
    said = "0.37 and 0.38.\n\n```python\nwait = 9.5\n```\n\nWait"
    found = unprinted(page.format(said=said, alt=""), NOTEBOOK)
    assert [n for n, _ in found] == ["0.37", "0.38"]


def test_counts_years_formulas_and_links_are_not_looked_at():
    assert (
        listed("three in 7, 32 bits, $a = 99.9$ or [that](page-99.md) and `f(98)`")
        == []
    )


@pytest.mark.parametrize("path", find_chapters(ROOT / "book", []), ids=lambda p: p.stem)
def test_every_number_of_a_page_is_printed_or_asserted(path):
    notebook = json.loads(path.with_suffix(".ipynb").read_text("utf-8"))
    text = path.read_text("utf-8")
    found = unprinted(text, notebook, shown(path, text))
    assert not found, f"print or assert these in a cell, or say it without: {found}"
