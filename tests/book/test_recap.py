"""The recap's program is the pieces of the weekend's pages, line for line.

A piece is a function or a class that a page writes once. On the recap the package's
names (`ct.Block`) are the program's own (`Block`), and docstrings and imports are left
out; every other character but white space is the page's.
"""

import ast
import re

import pytest
from book_scripts import BOOK
from notebooks import read_cells

RECAP = BOOK / "architectures/recap.md"
PIECES = {
    "similarity/attention": ["attention"],
    "similarity/positions": ["Rotary"],
    "similarity/multi-head": ["split", "join", "MultiHeadAttention"],
    "transformer/block": ["FeedForward", "LayerNorm", "Block"],
    "transformer/masking": ["causal_mask"],
    "architectures/gpt": ["GPT", "next_token_loss"],
}
WHERE = {name: slug for slug, names in PIECES.items() for name in names}
MOST_LINES = 90


def in_tab(name: str, tab: str) -> str:
    """A piece's name in one of the tabs: those of NNX begin with J or j."""
    if tab == "torch":
        return name
    return ("J" if name[0].isupper() else "j") + name


def pieces(text: str, tab: str) -> dict[str, str]:
    """What the cells of one tab define, as they write it, without docstrings."""
    found: dict[str, str] = {}
    for cell in read_cells(text.partition("\n## Exercises")[0]).cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type != "code" or tab not in tags or "claims" in tags:
            continue
        lines = cell.source.split("\n")
        for node in ast.parse(cell.source).body:
            if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                continue
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
            kept = lines[first : node.end_lineno]
            if ast.get_docstring(node) is not None:
                said = node.body[0]
                kept[said.lineno - 1 - first : said.end_lineno - first] = []
            found[node.name] = "\n".join(kept)
    return found


def bare(source: str, tab: str) -> str:
    """A piece without white space, the package's names being the program's."""
    package = {"torch": "ct", "nnx": "cn"}[tab]
    for name in WHERE:
        source = re.sub(rf"\b{package}\.{name}\b", in_tab(name, tab), source)
    # Where a line is longer or shorter, so that it breaks, a comma comes or goes.
    return re.sub(r",(?=[)\]])", "", re.sub(r"\s+", "", source))


@pytest.mark.parametrize("tab", ["torch", "nnx"])
@pytest.mark.parametrize("name", WHERE)
def test_a_piece_of_the_recap_is_the_one_of_its_page(name, tab):
    page = pieces((BOOK / f"{WHERE[name]}.md").read_text("utf-8"), tab)
    recap, own = pieces(RECAP.read_text("utf-8"), tab), in_tab(name, tab)
    assert own in page, f"{WHERE[name]} doesn't write {own}"
    assert bare(recap[own], tab) == bare(page[own], tab)


@pytest.mark.parametrize("tab", ["torch", "nnx"])
def test_the_recap_s_program_is_these_pieces_in_few_lines(tab):
    found = pieces(RECAP.read_text("utf-8"), tab)
    assert list(found) == [in_tab(name, tab) for name in WHERE]
    lines = "\n".join(found.values()).split("\n")
    assert sum(bool(line.strip()) for line in lines) < MOST_LINES


def test_each_piece_stands_beside_its_page_and_its_file():
    text = RECAP.read_text("utf-8")
    rows = [row.split("|")[1:-1] for row in re.findall(r"^\| `.*\|$", text, re.M)]
    files = {}
    for named, link, where in (row for row in rows if "`" in row[2]):
        slug = re.search(r"\((?:\.\./)?([\w/-]+)\.md\)", link)[1]
        slug = slug if "/" in slug else f"architectures/{slug}"
        for name in re.findall(r"`(\w+)`", named):
            assert slug == WHERE[name]
            files[name] = re.findall(r"`([\w/.]+)`", where)
    assert sorted(files) == sorted(WHERE)
    for name in set(WHERE) - {"split", "join"}:  # split_heads, merge_heads there
        for wing in ("torch", "nnx"):
            sources = [
                (BOOK.parent / "course_lib" / wing / file).read_text("utf-8")
                for file in files[name]
            ]
            assert any(re.search(rf"\b{name}\b", source) for source in sources), name
