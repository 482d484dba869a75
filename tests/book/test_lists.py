"""Lists over the whole book: exercises, live figures and traps, with links."""

import pytest

EXERCISE = """
```{exercise-start} By hand: add · easy · 5 minutes
:label: ex-add
```
Add.
```{exercise-end}
```
"""
LIVE = """
```{explore} picture.svg
:element: query
:label: Turn it, to try
:name: fig-try
:alt: A picture.

Move it. Then look.
```
"""
TRAPS = "\n## Where this goes wrong\n\nOften.\n\n### A trap\n\nHere.\n"


def build(book, kind):
    (book.folder / "picture.svg").write_text(
        "<svg xmlns='http://www.w3.org/2000/svg'/>"
    )
    book.write(EXERCISE, LIVE, TRAPS, f"\n## All\n\n```{{list-of}} {kind}\n```\n")
    status, page, said = book.build(
        "sphinx_exercise", "explore", "lists", html_static_path=[]
    )
    return status, page[page.index("<h2>All") :] if "<h2>All" in page else page, said


@pytest.mark.parametrize(
    ("kind", "place", "words"),
    [
        ("exercises", "ex-add", "By hand: add · easy · 5 minutes"),
        ("live figures", "fig-try", "Turn it"),
        ("traps", "a-trap", "A trap"),
    ],
)
def test_each_is_listed_with_a_link(book, kind, place, words):
    status, page, said = build(book, kind)
    assert status == 0, said
    assert f'href="#{place}">{words}</a>' in page


def test_another_kind_is_refused(book):
    status, _, said = build(book, "wishes")
    assert status == 1
    assert "a list is of exercises, live figures, traps: got 'wishes'" in said
