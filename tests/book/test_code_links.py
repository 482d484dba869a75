"""A name of the package in code leads to its reference, and no other name does."""

import sys

import pytest
from api_names import Names, list_modules, page_code, resolve, used
from bs4 import BeautifulSoup
from small_books import ROOT, cell

PIECE = '''\
"""A piece (PyTorch)."""

__all__ = ["Piece", "piece"]


class Piece:
    """A class."""


def piece():
    """A function."""


def helper():
    """Not public."""
'''
THINGS = ("thing", "other")
PAGE = cell(
    "import course_lib.torch as ct\n"
    "from course_lib.things import (\n    thing,\n    other as another,\n)\n\n\n"
    "def mine(x):\n    return ct.Piece(x), thing(another), ct.nothing, mine.Piece\n"
)


@pytest.fixture
def package(book, monkeypatch):
    """A book beside a package: a piece in one wing, and a module beside the wings."""
    root = book.folder / "course_lib"
    for name, text in {
        "__init__": "",
        "torch/__init__": "from course_lib.torch.piece import *\n",
        "torch/piece": PIECE,
        "things": "".join(f"def {name}():\n    '''Words.'''\n\n\n" for name in THINGS),
        "_private": 'def hidden():\n    """Hidden."""\n',
    }.items():
        path = root / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    saved = {name: sys.modules.pop(name) for name in list(sys.modules) if ours(name)}
    monkeypatch.syspath_prepend(book.folder)
    yield book
    for name in [name for name in sys.modules if ours(name)]:
        del sys.modules[name]
    sys.modules.update(saved)


def ours(name):
    return name.partition(".")[0] == "course_lib"


def test_a_module_offers_what_it_lists(package):
    modules = list_modules(package.folder)
    assert set(modules) == {"course_lib.torch.piece", "course_lib.things"}
    assert modules["course_lib.torch.piece"].names == ("Piece", "piece")
    assert modules["course_lib.torch.piece"].page == "piece"


def test_a_name_is_found_where_it_is_defined(package):
    def find(name):
        return resolve(package.folder, f"course_lib.{name}")

    assert (
        find("torch.Piece")
        == find("torch.piece.Piece")
        == "course_lib.torch.piece.Piece"
    )
    assert find("things.thing") == "course_lib.things.thing"
    assert find("torch.helper") is find("thing") is find("torch.nothing") is None


def test_the_imports_of_a_page_say_what_its_names_are(package):
    names = Names(package.folder, page_code(PAGE))
    assert names.find("ct.Piece.method") == "course_lib.torch.piece.Piece"
    assert names.find("another") == "course_lib.things.other"
    assert names.find("mine") is names.find("np.array") is None


def test_a_name_that_the_page_defines_is_its_own(package):
    code = "from course_lib.things import thing\n\n\ndef thing():\n    pass\n"
    assert Names(package.folder, code).find("thing") is None


def test_code_and_words_lead_to_the_reference(package):
    (package.folder / "other.md").write_text(
        "# Reference\n\n```{eval-rst}\n.. automodule:: course_lib.torch.piece\n"
        "   :members:\n\n.. automodule:: course_lib.things\n   :members:\n```\n"
    )
    words = "\nThe class `ct.Piece` and `ct.nothing`.\n\n## On `ct.Piece`\n"
    package.write(PAGE, words, "\n```{toctree}\nother\n```\n")
    status, page, said = package.build(
        "sphinx.ext.autodoc", "reference", "code_links", nb_execution_mode="off"
    )
    assert status == 0, said
    links = BeautifulSoup(page, "html.parser").select("a.api")
    got = [(link.get_text(), link["href"]) for link in links]
    piece = "other.html#course_lib.torch.piece.Piece"
    thing, other = (f"other.html#course_lib.things.{n}" for n in THINGS)
    assert got == [
        ("thing", thing),
        ("another", other),
        ("ct.Piece", piece),
        ("thing", thing),
        ("another", other),
        ("ct.Piece", piece),  # in the sentence, and not in the title
    ]


def test_what_our_pages_use_is_found():
    code = page_code((ROOT / "book/architectures/gpt.md").read_text("utf-8"))
    assert {
        "course_lib.torch.gpt.GPT",
        "course_lib.nnx.gpt.GPT",
        "course_lib.data.grammar.grammar",
        "course_lib.config.gpt.GPTConfig",
        "course_lib.homework.check",
    } <= set(used(ROOT, code))
