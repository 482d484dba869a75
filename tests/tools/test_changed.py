"""A change finds its tests by the names that a page, a module and a test share."""

import subprocess
from pathlib import Path

import pytest
from load_tool import load_tool

ROOT = Path(__file__).parents[2]
FILES = {
    "course_lib/torch/__init__.py": "from course_lib.torch.block import Block\n",
    "course_lib/torch/attention.py": "",
    "course_lib/torch/block.py": "from course_lib.torch.attention import attention\n",
    "course_lib/torch/position/rotary.py": "",
    "course_lib/oracle/attention.py": "",
    "course_lib/checks.py": "",
    "book/part/multi-head.ipynb": "",
    "tests/test_attention.py": "from course_lib.oracle import attention\n",
    "tests/test_attention_maps.py": "",
    "tests/test_block.py": "import wings\n",
    "tests/test_position.py": "",
    "tests/test_readme.py": "TEXT = ROOT / 'README.md'\n",
    "tests/book/test_attention.py": "",
    "tests/book/test_multi_head_figures.py": "",
    "tests/book/test_site.py": "TEXT = 'README.md'\n",
    "tests/book/test_said.py": "from compare import outputs_differ\n",
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


@pytest.mark.parametrize(
    ("file", "tests", "left"),
    [
        (
            "course_lib/torch/attention.py",
            "attention attention_maps block mirror pieces",
            [],
        ),
        ("course_lib/torch/position/rotary.py", "position mirror pieces", []),
        ("course_lib/oracle/attention.py", "attention attention_maps pieces", []),
        ("book/part/multi-head.md", "book/multi_head_figures book/limits", []),
        ("book/tools/compare.py", "book/said", []),
        ("tests/wings.py", "block", []),
        ("tests/test_block.py", "block", []),
        ("README.md", "readme", ["tests/book/test_site.py"]),
        (
            "course_lib/checks.py",
            "",
            ["course_lib/checks.py: 20 files of tests that use it"],
        ),
        ("course_lib/lonely.py", "", ["course_lib/lonely.py: no test has its name"]),
    ],
)
def test_a_file_finds_the_tests_of_its_name_and_of_who_uses_it(
    changed, course, file, tests, left
):
    folders = [Path("tests", name) for name in tests.split()]
    expected = {path.with_name(f"test_{path.name}.py") for path in folders}
    assert changed.choose(course, [Path(file)]) == (expected, left)


def test_a_page_whose_notebook_changed_is_run_unless_there_are_many(changed, course):
    page = Path("book/part/multi-head.ipynb")
    assert changed.choose(course, [page]) == ({page}, [])
    three = [page.with_stem(name) for name in ("a", "b", "c")]
    for path in three:
        (course / path).write_text("")
    assert changed.choose(course, three) == (set(), list(map(str, three)))


def test_what_is_committed_since_main_and_what_is_not_yet_has_changed(changed, course):
    def git(*words):
        who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        command = ["git", *who, *words]
        subprocess.run(command, cwd=course, check=True, capture_output=True)

    git("init", "-b", "main")
    git("add", ".")
    git("commit", "-m", "All")
    assert changed.find_changed(course, None) == []
    git("checkout", "-b", "mine")
    (course / "tests" / "test_block.py").write_text("# Committed.")
    git("commit", "-am", "One")
    (course / "new.py").write_text("")
    files = [Path("new.py"), Path("tests/test_block.py")]
    assert changed.find_changed(course, None) == files
    assert changed.find_changed(course, "HEAD") == files[:1]
    with pytest.raises(ValueError, match="make quick BASE="):
        changed.find_changed(course, "nowhere")


def test_what_the_tool_names_is_there(changed):
    for names in changed.ABOUT.values():
        for name in names.split():
            assert (ROOT / name).is_file(), name
    for glob in changed.ABOUT:
        assert list(ROOT.glob(glob.replace("*", "**/*"))), glob
