"""The reference has every module of the package, and leads to lessons and back."""

import inspect
import re
from importlib import import_module

import pytest
import yaml
from links import names_of
from reference import (
    FOLDER,
    Lesson,
    Module,
    back,
    escape,
    find_lessons,
    list_modules,
    pages_of,
    process_docstring,
    reference,
    resolve,
    write_page,
    written_signature,
)
from small_books import ROOT, contents


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
    listed = re.findall(r"\]\(/api/([\w.]+)\.md\)", reference(ROOT, {}))
    assert sorted(listed) == sorted(pages)


def test_the_table_of_lessons_names_pages_and_modules_that_there_are(lessons):
    table = yaml.safe_load((ROOT / "book" / "lessons.yml").read_text("utf-8"))
    slugs = {path.stem for path in (ROOT / "book").rglob("*.md")}
    pages = [
        page for kind in table.values() for pages in kind.values() for page in pages
    ]
    assert {slug for kind in table.values() for slug in kind} <= slugs
    assert set(pages) <= set(pages_of(ROOT))
    assert len(pages) == len(set(pages))
    assert lessons["multihead"] == Lesson("book/similarity/multi-head", "Lesson")
    assert lessons["gpt"] == Lesson("book/architectures/gpt", "Lesson")  # by its name
    assert lessons["data.grammar"] == Lesson("book/similarity/tokens", "First used in")
    # What the contents leave out is no lesson.
    some = ["book/intro", "book/similarity/attention"]
    assert {lesson.docname for lesson in find_lessons(ROOT, some).values()} == {some[1]}


def test_a_page_leads_to_its_lesson_and_the_lesson_back(lessons):
    page = write_page("multihead", pages_of(ROOT)["multihead"], lessons["multihead"])
    assert "Lesson: [](/book/similarity/multi-head.md)" in page
    torch, nnx = (page.index(f":::{{{wing}}}") for wing in ("torch", "nnx"))
    assert torch < page.index("automodule:: course_lib.torch.multihead") < nnx
    line = back("book/similarity/multi-head", lessons)
    assert f"[multihead](/{FOLDER}/multihead.md)" in line
    assert back("book/appendices/notation", lessons) == ""


def test_of_a_package_what_it_defines_is_described():
    module = Module("course_lib.hub", "Published weights.", ("load",), package=True)
    assert "automodule:: course_lib.hub\n   :members: load\n" in write_page(
        "hub", [module], None
    )


def test_a_name_is_found_where_it_is_defined():
    page = ROOT / "book" / "architectures" / "gpt.md"
    names = names_of(ROOT, page)
    assert names.find("ct.GPT.forward") == "course_lib.torch.gpt.GPT"
    assert names.find("cn.GPT") == "course_lib.nnx.gpt.GPT"
    assert names.find("data.grammar") == "course_lib.data.grammar.grammar"
    assert names.find("np.array") is names.find("ct.nothing") is None
    own = next(iter(names.own))
    assert names.find(own) is None  # the page's own
    assert resolve(ROOT, "course_lib.torch.attention.attention") == (
        "course_lib.torch.attention.attention"
    )


def test_signatures_are_those_of_the_source():
    pytest.importorskip("flax")
    multihead = import_module("course_lib.nnx.multihead")
    arguments, _ = written_signature(multihead.MultiHeadAttention.__dict__["__init__"])
    assert arguments.startswith("(d_model: int, n_heads: int, *, ")
    assert arguments.endswith("rngs: nnx.Rngs)")
    # Both wings have a class of each name: ours are named in full.
    block = import_module("course_lib.nnx.gpt").GPT
    assert "course_lib.config.gpt.GPTConfig" in written_signature(block.__init__)[0]
    assert written_signature(len) is None
    assert escape("`*#B T` and *args, |x|") == r"`*#B T` and \*args, \|x\|"


def test_where_nnx_says_one_line_its_tab_shows_what_pytorch_says(both):
    torch, nnx = (w.lib.MultiHeadAttention.__dict__ for w in both)
    lines = [
        "Attend from each position of `x` to `context`; without one, to `x` itself."
    ]
    process_docstring(None, "method", "", nnx["__call__"], None, lines)
    assert lines[:-1] == inspect.getdoc(torch["forward"]).splitlines()
    lines = ["What is its own."]
    process_docstring(None, "method", "", nnx["__call__"], None, lines)
    assert lines == ["What is its own."]
    module = import_module("course_lib.nnx.position.alibi")
    lines = [module.__doc__]
    process_docstring(None, "module", "", module, None, lines)
    assert lines[0] == module.__doc__
    assert "(eq. 1)" in "\n".join(lines)
