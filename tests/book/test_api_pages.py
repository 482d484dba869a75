"""The reference says what is written in the source."""

import html
import re
import sys
from importlib import import_module

import pytest
import yaml
from api_names import Module, list_modules
from reference import (
    FOLDER,
    Lesson,
    back,
    escape,
    find_lessons,
    mark_equations,
    pages_of,
    reference,
    write_page,
    written_signature,
)
from small_books import ROOT, contents

LIBRARY = '''\
"""A library.

    y = |x| * 2

Someone 2017, arXiv:1706.03762.
"""

from __future__ import annotations

from dataclasses import dataclass


class Hidden(type):
    def __call__(cls, *args, **kwargs):
        return super().__call__(*args, **kwargs)


class Layer(metaclass=Hidden):
    """A layer."""

    def __init__(self, d_model: int, *, rngs: "Rngs"):
        pass

    def __call__(self, x: Float[Array, "*B T D"]) -> Float[Array, "*B T D"]:
        """Map `x` by |W|."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings."""

    depth: int = 12  #: Blocks: one after the other


def build() -> Layer:
    """Build."""


def attention(
    q: Float[Tensor, "*B T Dh"], *, mask: Bool[Tensor, "*#B #T #S"] | None = None
):
    """Attend.

    Args:
        q: Queries, |q| > 0.
    """
'''


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A small package whose annotations are no names that exist."""
    package = tmp_path / "small_library"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "_private.py").write_text("")
    (package / "torch").mkdir()
    (package / "torch" / "__init__.py").write_text("")
    (package / "pieces.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("small_library.pieces")
    for name in [name for name in sys.modules if name.startswith("small_library")]:
        del sys.modules[name]


def test_shapes_stand_in_signatures_as_written(library):
    arguments, returns = written_signature(library.attention)
    assert arguments == (
        "(q: Float[Tensor, '*B T Dh'], *, mask: Bool[Tensor, '*#B #T #S'] | None=None)"
    )
    assert returns == ""


def test_self_is_left_out(library):
    signature = written_signature(library.Layer.__call__)
    assert signature == ("(x: Float[Array, '*B T D'])", "Float[Array, '*B T D']")


def test_what_has_no_source_is_left_to_autodoc(library):
    assert written_signature(library.Config.__init__) is None
    assert written_signature(len) is None


def test_the_library_s_own_classes_are_named_in_full(library, monkeypatch):
    monkeypatch.setattr("reference.PACKAGE", "small_library")
    assert written_signature(library.build)[1] == "small_library.pieces.Layer"


def test_equations_are_set_as_written():
    lines = ["A title.", "", "    y = |x|", "", "Words about |x|."]
    assert mark_equations(lines) == [
        "A title.",
        "",
        ".. code-block:: text",
        "",
        "    y = |x|",
        "",
        r"Words about \|x\|.",
    ]


def test_code_in_a_sentence_is_left_alone():
    assert escape("`*#B T` and *args, |x|") == r"`*#B T` and \*args, \|x\|"


def test_a_page_shows_the_signatures_that_metaclasses_hide(book, library):
    options = ":members:\n   :special-members: __call__"
    directive = f".. automodule:: {library.__name__}\n   {options}"
    book.write(f"\n```{{eval-rst}}\n{directive}\n```\n")
    status, page, said = book.build("sphinx.ext.napoleon", "reference")
    assert status == 0, said
    for name in ("d_model", "rngs", "depth", "mask"):
        assert f'<span class="n"><span class="pre">{name}</span></span>' in page
    assert "kwargs" not in page
    assert "arxiv.org/abs/1706.03762" in page
    words = re.sub(r"<[^>]*>", "", page)
    assert "q: Float[Tensor, '*B T Dh']" in html.unescape(words)
    assert "Blocks: one after the other" in words


@pytest.fixture(scope="module")
def lessons():
    return find_lessons(ROOT, [name for name, _ in contents()])


def test_the_library_s_own_modules_have_a_page_each_and_the_wings_share_theirs():
    pages = pages_of(ROOT)
    for name in ("attention", "multihead", "position.rotary"):
        assert [module.name for module in pages[name]] == [
            f"course_lib.{wing}.{name}" for wing in ("torch", "nnx")
        ]
    assert {"checks.attention", "data.grammar", "oracle.attention", "plot"} <= set(
        pages
    )
    # Both wings, and the half that needs neither.
    assert len(pages["training.checkpoint"]) == 3
    # Packages that define something themselves.
    assert "load" in pages["hub"][0].names
    assert "check" in pages["homework"][0].names
    assert not {"torch", "nnx", "data"} & set(pages)
    described = [module.name for modules in pages.values() for module in modules]
    assert sorted(described) == sorted(list_modules(ROOT))


def test_a_lesson_is_the_page_of_that_name_or_one_that_writes_it_out(lessons):
    for page, lesson in {
        "attention": "similarity/attention",
        "oracle.attention": "similarity/attention",
        "multihead": "similarity/multi-head",
        "extra.experts": "further/experts",
        "gpt": "architectures/gpt",
        "masks": "transformer/masking",
    }.items():
        assert lessons[page] == Lesson(f"book/{lesson}", "Lesson"), page
    # Nobody teaches it, but a page of the road uses it first.
    assert lessons["data.grammar"] == Lesson("book/similarity/tokens", "First used in")
    assert "optional" not in lessons


def test_a_page_leads_to_its_lesson_and_the_lesson_back(lessons):
    page = write_page("multihead", pages_of(ROOT)["multihead"], lessons["multihead"])
    assert "Lesson: [](/book/similarity/multi-head.md)" in page
    torch, nnx = (page.index(f":::{{{wing}}}") for wing in ("torch", "nnx"))
    assert torch < page.index("automodule:: course_lib.torch.multihead") < nnx
    (line,) = back("book/similarity/multi-head", lessons)
    assert f"[multihead](/{FOLDER}/multihead.md)" in line
    assert list(back("book/appendices/notation", lessons)) == []


def test_the_list_has_every_page_once(lessons):
    listed = re.findall(r"\]\(/api/([\w.]+)\.md\)", reference(ROOT, lessons))
    assert sorted(listed) == sorted(pages_of(ROOT))


def test_of_a_package_what_it_defines_is_described():
    module = Module("course_lib.hub", "Published weights.", ("load",), package=True)
    assert "automodule:: course_lib.hub\n   :members: load\n" in write_page(
        "hub", [module], None
    )


def test_pages_that_the_contents_leave_out_are_no_lessons():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    some = [toc["root"], "book/similarity/attention"]
    lessons = find_lessons(ROOT, some)
    assert {lesson.docname for lesson in lessons.values()} == {some[1]}


def test_an_nnx_layer_shows_its_own_arguments():
    pytest.importorskip("flax")
    multihead = import_module("course_lib.nnx.multihead")
    arguments, _ = written_signature(multihead.MultiHeadAttention.__dict__["__init__"])
    assert arguments.startswith("(d_model: int, n_heads: int, *, ")
    assert arguments.endswith("rngs: nnx.Rngs)")
