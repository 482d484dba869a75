"""Cells tagged for the two frameworks become tabs that switch together."""

import re

import pytest
from small_books import cell

TORCH = cell("print('written for torch')", "torch")
NNX = cell("print('written for nnx')", "nnx")
PROSE = """
:::{torch}
Rows come *first*.
:::
:::{nnx}
Columns come *first*.
:::
"""


def labels(page):
    """List each page's tabs as (sync group, sync id, label), in order."""
    found = re.findall(
        r'<label[^>]*class="sd-tab-label"[^>]*>\s*(.*?)\s*</label>', page
    )
    ids = re.findall(r'data-sync-group="(\w+)" data-sync-id="(\w+)"', page)
    return list(zip(ids, found, strict=True))


BOTH = [(("framework", "torch"), "PyTorch"), (("framework", "nnx"), "Flax NNX")]


def test_neighbors_become_one_synced_tab_set(book):
    book.write(TORCH, NNX)
    status, page, said = book.build("frameworks")
    assert status == 0, said
    assert labels(page) == BOTH


def test_pytorch_comes_first_whatever_the_order(book):
    book.write(NNX, TORCH)
    _, page, _ = book.build("frameworks")
    assert labels(page) == BOTH
    assert page.index("written for torch") < page.index("written for nnx")


def test_several_cells_of_a_framework_share_its_tab(book):
    book.write(TORCH, cell("print('more of it')", "torch"), NNX)
    status, page, said = book.build("frameworks")
    assert status == 0, said
    assert labels(page) == BOTH
    assert page.index("more of it") < page.index("Flax NNX</label>")


def test_a_framework_that_comes_back_opens_a_new_set(book):
    book.write(TORCH, NNX, TORCH, NNX)
    _, page, _ = book.build("frameworks")
    assert labels(page) == BOTH * 2


def test_words_between_cells_part_them(book):
    book.write(TORCH, NNX, "\nWords.\n", TORCH, NNX)
    status, page, said = book.build("frameworks")
    assert status == 0, said
    assert labels(page) == BOTH * 2


def test_untagged_cells_stay_outside(book):
    book.write(cell("print('for both')"), TORCH, NNX)
    _, page, _ = book.build("frameworks")
    assert page.index("for both") < page.index("sd-tab-set")


@pytest.mark.parametrize(
    ("present", "missing"), [(TORCH, "Flax NNX"), (NNX, "PyTorch")]
)
def test_a_cell_without_its_counterpart_fails_the_build(book, present, missing):
    book.write(present, "\nWords.\n")
    status, _, said = book.build("frameworks")
    assert status != 0
    assert f"has no counterpart for {missing}" in said
    assert "chapter.md:" in said


def test_words_between_the_two_leave_both_alone_and_fail_the_build(book):
    book.write(TORCH, "\nWords.\n", NNX)
    status, _, said = book.build("frameworks")
    assert status != 0
    assert said.count("has no counterpart") == 2


def test_prose_gets_the_same_tabs(book):
    book.write(PROSE)
    status, page, said = book.build("frameworks")
    assert status == 0, said
    assert labels(page) == BOTH
    assert "<em>first</em>" in page


def test_prose_without_its_counterpart_fails_the_build(book):
    book.write(PROSE.replace(":::{nnx}\nColumns come *first*.\n:::\n", ""))
    status, _, said = book.build("frameworks")
    assert status != 0
    assert "has no counterpart for Flax NNX" in said


def test_words_between_the_two_parts_fail_the_build(book):
    book.write(PROSE.replace(":::{nnx}", "Stray words.\n\n:::{nnx}"))
    status, _, said = book.build("frameworks")
    assert status != 0
    assert said.count("has no counterpart") == 2


def test_prose_and_a_cell_of_a_framework_share_its_tab(book):
    torch, nnx = re.findall(r":::\{.*?\n:::\n", PROSE, re.DOTALL)
    book.write("\n", torch, TORCH, "\n", nnx, NNX)
    status, page, said = book.build("frameworks")
    assert status == 0, said
    assert labels(page) == BOTH
    order = ["Rows", "written for torch", "Columns", "written for nnx"]
    positions = [page.index(words) for words in order]
    assert positions == sorted(positions)


def test_outputs_sit_inside_their_tab(book):
    book.write(TORCH, NNX)
    assert book.tool()[0] == 0
    extensions = ["frameworks", "outputs"]
    status, page, said = book.build(*extensions, nb_execution_mode="cache")
    assert status == 0, said
    second = page.index("Flax NNX</label>")
    outputs = [m.start() for m in re.finditer(r'<div class="output stream', page)]
    assert len(outputs) == 2
    assert page.index("PyTorch</label>") < outputs[0] < second < outputs[1]


def test_tabs_work_inside_a_solution(book):
    start = (
        "\n```{exercise-start}\n:label: one\n```\n\nDo it.\n\n```{exercise-end}\n```\n"
    )
    solution = "\n```{solution-start} one\n:class: dropdown\n```\n"
    book.write(start, solution, TORCH, NNX, "\n```{solution-end}\n```\n")
    status, page, said = book.build("sphinx_exercise", "frameworks")
    assert status == 0, said
    assert labels(page) == BOTH
    assert page.index('class="solution') < page.index("sd-tab-set")


def test_without_tabs_each_version_stands_under_its_name(book):
    book.write(TORCH, NNX)
    status, page, said = book.build("frameworks", builder="text")
    assert status == 0, said
    order = ["PyTorch", "written for torch", "Flax NNX", "written for nnx"]
    positions = [page.index(words) for words in order]
    assert positions == sorted(positions)


def test_tabs_are_radio_buttons_so_they_work_without_scripts(book):
    book.write(TORCH, NNX)
    _, page, _ = book.build("frameworks")
    tabs = page[page.index("sd-tab-set") :]
    assert len(re.findall(r'<input[^>]*type="radio"', tabs)) == 2
    assert len(re.findall(r'<input[^>]*checked="checked"', tabs)) == 1
