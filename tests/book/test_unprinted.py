"""Numbers of a page's words are looked for in what its cells hold and print."""

import pytest
from unprinted import unprinted

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


def test_counts_years_formulas_and_links_are_not_looked_at():
    assert listed("three in 7, $a = 99.9$ or [that](page-99.md) and `f(98)`") == []
