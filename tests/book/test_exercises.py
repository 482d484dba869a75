"""Exercises are headings, and their solutions fold without a script."""

from bs4 import BeautifulSoup
from valid_html import repair

PAGE = """
Some words.

```{exercise-start} By hand: one · easy · 5 minutes
:label: ex-one
```
What is it?
```{exercise-end}
```

```{solution-start} ex-one
:label: sol-one
:class: dropdown
```
It is one.
```{solution-end}
```
"""


def test_a_solution_folds_and_says_whose_it_is(book):
    book.write(PAGE)
    status, page, said = book.build("exercises", numfig=True)
    assert status == 0, said
    soup = BeautifulSoup(repair(page, lambda _: None), "html.parser")
    (solution,) = soup.select("details.solution.admonition#sol-one")
    assert not solution.has_attr("open")
    summary = solution.find("summary", recursive=False)
    assert summary.get_text() == "Solution to exercise 1"
    assert "It is one." in solution.get_text()
    assert not soup.select("section#solution-content, section#exercise-content")


def test_an_exercise_is_a_heading_below_its_section_s(book):
    book.write(PAGE)
    _, page, _ = book.build("exercises", numfig=True)
    soup = BeautifulSoup(repair(page, lambda _: None), "html.parser")
    (title,) = soup.select("div.exercise > [role=heading]")
    assert title["aria-level"] == "3"
    assert "Exercise 1" in title.get_text()
