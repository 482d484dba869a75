"""A change finds its tests by the names that a page, a module and a test share."""

import subprocess
from pathlib import Path

import pytest
from load_tool import load_tool

ROOT = Path(__file__).parents[2]
FILES = {
    "course_lib/__init__.py": "",
    "course_lib/torch/__init__.py": "from course_lib.torch.block import Block\n",
    "course_lib/torch/attention.py": "",
    "course_lib/torch/block.py": "from course_lib.torch.attention import attention\n",
    "course_lib/torch/position/rotary.py": "",
    "course_lib/oracle/attention.py": "",
    "course_lib/checks.py": "",
    "book/part/multi-head.md": "",
    "book/part/multi-head.ipynb": "",
    "book/tools/tolerance.py": "",
    "book/words.yml": "",
    "README.md": "",
    "tests/wings.py": "",
    "tests/test_attention.py": "from course_lib.oracle import attention\n",
    "tests/test_attention_maps.py": "",
    "tests/test_block.py": "import wings\n",
    "tests/test_mirror.py": "WORDS = ['words']\n",
    "tests/test_position.py": "",
    "tests/test_readme.py": "TEXT = ROOT / 'README.md'\n",
    "tests/book/test_attention.py": "",
    "tests/book/test_multi_head_figures.py": "",
    "tests/book/test_pages.py": "",
    "tests/book/test_site.py": "TEXT = 'README.md'\n",
    "tests/book/test_compare.py": "from tolerance import outputs_differ\n",
    **{f"tests/many/test_{i}.py": "import course_lib.checks\n" for i in range(20)},
}


@pytest.fixture
def changed():
    """The tool, which is no part of a package."""
    return load_tool("changed")


@pytest.fixture
def course(tmp_path):
    """A repository of files that say no more than what they import."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        ("course_lib/torch/attention.py", "attention attention_maps block mirror"),
        ("course_lib/torch/block.py", "block mirror"),
        ("course_lib/torch/position/rotary.py", "position mirror"),
        ("course_lib/oracle/attention.py", "attention attention_maps"),
        ("book/part/multi-head.md", "book/multi_head_figures book/pages"),
        ("book/tools/tolerance.py", "book/compare"),
        ("tests/wings.py", "block"),
        ("tests/test_block.py", "block"),
    ],
)
def test_a_file_finds_the_tests_of_its_name_and_of_who_imports_it(
    changed, course, file, tests
):
    folders = [Path("tests", name) for name in tests.split()]
    expected = {path.with_name(f"test_{path.name}.py") for path in folders}
    plan = changed.choose(course, [Path(file)])
    assert (plan.tests, plan.notebooks, plan.left) == (expected, set(), [])


def test_a_file_that_is_only_named_finds_who_reads_it(changed, course):
    plan = changed.choose(course, [Path("README.md")])
    assert plan.tests == {Path("tests/test_readme.py")}
    assert plan.left == ["tests/book/test_site.py: make site"]


@pytest.mark.parametrize(
    ("file", "left"),
    [
        ("book/words.yml", "tests/book/test_site.py: make site"),
        ("homework/gpt.md", "tests/homework/test_assignments.py: make assignments"),
    ],
)
def test_what_only_a_longer_run_tests_is_said(changed, course, file, left):
    plan = changed.choose(course, [Path(file)])
    assert (plan.tests, plan.left) == (set(), [left])


def test_what_would_take_too_long_is_said(changed, course):
    plan = changed.choose(course, [Path("course_lib/checks.py")])
    assert not plan.tests
    assert plan.left == ["course_lib/checks.py: 20 files of tests that use it"]


def test_a_file_without_tests_is_said(changed, course):
    (course / "course_lib" / "lonely.py").write_text("")
    plan = changed.choose(course, [Path("course_lib/lonely.py")])
    assert plan.left == ["course_lib/lonely.py: no test has its name"]


def test_a_page_whose_notebook_changed_is_run(changed, course):
    page = Path("book/part/multi-head.ipynb")
    assert changed.choose(course, [page]).notebooks == {page}
    gone = Path("book/part/gone.ipynb")
    assert not changed.choose(course, [gone]).notebooks
    three = [page.with_stem(name) for name in ("one", "two", "three")]
    for path in three:
        (course / path).write_text("")
    plan = changed.choose(course, three)
    assert not plan.notebooks
    assert plan.left == ["3 notebooks: make outputs runs them"]


def test_what_is_committed_since_main_and_what_is_not_yet_has_changed(changed, course):
    git(course, "init", "-b", "main")
    git(course, "add", ".")
    git(course, "commit", "-m", "All")
    assert changed.find_changed(course, None) == []
    git(course, "checkout", "-b", "mine")
    (course / "README.md").write_text("Committed.")
    git(course, "commit", "-am", "One")
    (course / "tests" / "wings.py").write_text("# Not yet.")
    (course / "new.py").write_text("")
    files = ["README.md", "new.py", "tests/wings.py"]
    assert changed.find_changed(course, None) == list(map(Path, files))
    assert changed.find_changed(course, "HEAD") == list(map(Path, files[1:]))
    with pytest.raises(ValueError, match="make quick BASE="):
        changed.find_changed(course, "nowhere")


def test_tests_and_notebooks_are_handed_to_pytest(changed):
    plan = changed.Plan({Path("tests/test_b.py"), Path("tests/test_a.py")})
    plan.notebooks.add(Path("book/part/page.ipynb"))
    first, second = changed.commands(plan, jobs=3)
    assert first[-4:] == ["-n", "3", "tests/test_a.py", "tests/test_b.py"]
    assert "--nbval" in second
    assert second[-1] == "book/part/page.ipynb"
    assert not list(changed.commands(changed.Plan(), jobs=3))


def test_what_the_tool_names_is_there(changed):
    for name in [*changed.ABOUT.values(), *changed.AFTER]:
        assert (ROOT / name).is_file(), name
    for glob in changed.ABOUT:
        assert list(ROOT.glob(glob.replace("*", "**/*"))), glob
    targets = (ROOT / "Makefile").read_text("utf-8")
    assert all(f"\n{target}:" in targets for target in changed.AFTER.values())
