"""Run the tests of what changed since main, as `make quick` does.

`python tools/changed.py` looks at what was committed since the branch left main and at
what isn't committed yet. Which tests that concerns follows from the house's rule, that
a page, a module and a test share a name, and from what imports what:

- the tests of its name: of `course_lib/torch/multihead.py`, all `test_multihead*.py`;
- the tests that import it or name it, and those that have the name of a module that
  imports it: `test_block.py`;
- those that a whole folder has, in the table `ABOUT`;
- of a page whose code changed, and so its notebook: the notebook, run and compared.

Where that would take far longer than two minutes, the tests of its own name have to do,
and the end says what is left to `make test`.
"""

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
AT_MOST = 12  # test files beside those of a changed file's own name
PAGES_AT_MOST = 2
# They read what another target has built.
AFTER = {
    Path("tests/book/test_site.py"): "site",
    Path("tests/book/test_site_accessibility.py"): "site",
    Path("tests/book/test_site_offline.py"): "site",
    Path("tests/book/test_site_slides.py"): "site",
    Path("tests/homework/test_assignments.py"): "assignments",
}
# What holds for each file of a folder. `*` crosses slashes, too.
ABOUT = {
    "course_lib/torch/*": "tests/test_mirror.py",
    "course_lib/nnx/*": "tests/test_mirror.py",
    "book/*.md": "tests/book/test_pages.py",
    "course_lib/homework/*": "tests/homework/test_slips.py",
    "book/figures/*": "tests/book/test_figures.py",
    "_toc.yml": "tests/book/test_figures.py",  # the map of the pages
    "book/words.yml": "tests/book/test_site.py",
    "homework/*.md": "tests/homework/test_assignments.py",
    ".github/workflows/*": "tests/test_package.py",
}


@dataclass
class Plan:
    """What to run, and what not."""

    tests: set[Path] = field(default_factory=set)
    notebooks: set[Path] = field(default_factory=set)
    left: list[str] = field(default_factory=list)


def git(root: Path, *words: str) -> list[str]:
    """What git answers, line by line; nothing where it has no answer."""
    done = subprocess.run(
        ["git", *words], cwd=root, capture_output=True, text=True, check=False
    )
    return done.stdout.splitlines() if done.returncode == 0 else []


def find_changed(root: Path, base: str | None) -> list[Path]:
    """List the files that differ from where this branch left main.

    Args:
        root: The repository.
        base: What to compare with; by default `origin/main`, or else `main`.

    Raises:
        ValueError: If git knows none of them.
    """
    for name in [base] if base else ["origin/main", "main"]:
        if start := git(root, "merge-base", name, "HEAD"):
            break
    else:
        raise ValueError(
            f"what changed is found by comparing with {base or 'main'}, which git does "
            "not know here. Name a commit: make quick BASE=HEAD~1"
        )
    changed = git(root, "diff", "--name-only", "--no-renames", start[0])
    added = git(root, "ls-files", "--others", "--exclude-standard")
    return sorted({Path(name) for name in changed + added})


def name_of(path: Path) -> str:
    """The name by which others import a file."""
    parts = path.with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    return ".".join(parts if parts[0] == "course_lib" else parts[-1:])


def imports(source: str) -> set[str]:
    """Every module that a file may mean by its imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
            names.add(node.module)
    return names


def slug(name: str) -> str:
    """What a page, a module and a test have in common."""
    return name.replace("-", "_")


def room(path: Path) -> str | None:
    """Which tests a name may mean: the book's, those of homework, or the others."""
    return next((name for name in ("book", "homework") if name in path.parts[:2]), None)


class Tests:
    """The test files of a repository, and what each is about."""

    def __init__(self, root: Path):
        self.root = root
        self.sources = read(root, "tests", "test_*.py")
        self.imports = {path: imports(text) for path, text in self.sources.items()}
        package = read(root, "course_lib", "*.py")
        self.package = {path: imports(text) for path, text in package.items()}

    def named(self, path: Path) -> set[Path]:
        """Those of a file's name or its folder's, in the room for such files."""
        names = {slug(name) for name in (path.stem, path.parent.name)}
        name = re.compile(rf"test_({'|'.join(map(re.escape, names))})(_|$)")
        return {
            test
            for test in self.sources
            if name.match(test.stem) and room(test) == room(path)
        }

    def using(self, path: Path) -> set[Path]:
        """Those that import a file, or load it or read it by its name."""
        names = {path.name} if path.suffix == ".yml" else {path.name, path.stem}
        words = "|".join(map(re.escape, sorted(names)))
        word = re.compile(rf"[\"'/]({words})[\"']")
        imported = name_of(path)
        if path.parts[0] == "course_lib" or (path.suffix == ".md" and path.parts[1:]):
            word = re.compile(r"$.")  # their names are everywhere: attention, block
        return {
            test
            for test, text in self.sources.items()
            if imported in self.imports[test] or word.search(text)
        }

    def behind(self, path: Path) -> set[Path]:
        """Those of the modules that import a file."""
        importing = (
            module for module, names in self.package.items() if name_of(path) in names
        )
        return set().union(*(self.named(m) for m in importing if m.stem != "__init__"))


def read(root: Path, folder: str, files: str) -> dict[Path, str]:
    """Read the files of a folder."""
    return {
        path.relative_to(root): path.read_text("utf-8")
        for path in sorted((root / folder).rglob(files))
    }


def choose(root: Path, changed: Iterable[Path]) -> Plan:
    """Find the tests of the files that changed."""
    tests, plan = Tests(root), Plan()
    for path in changed:
        if path in tests.sources:
            plan.tests.add(path)
            continue
        if path.stem == "conftest":
            plan.left.append(f"{path}: all tests beside it")
            continue
        if path.suffix == ".ipynb":
            if (root / path).exists():
                plan.notebooks.add(path)
            continue
        own = tests.named(path)
        own |= {Path(test) for glob, test in ABOUT.items() if fnmatch(str(path), glob)}
        around = tests.using(path)
        if path.parts[0] == "course_lib" and path.suffix == ".py":
            around |= tests.behind(path)
        if len(around - own) > AT_MOST:
            plan.left.append(f"{path}: {len(around - own)} files of tests that use it")
            around = set()
        elif not own | around:
            plan.left.append(f"{path}: no test has its name")
        plan.tests |= own | around
    for test in plan.tests & AFTER.keys():
        plan.left.append(f"{test}: make {AFTER[test]}")
    plan.tests -= AFTER.keys()
    if len(plan.notebooks) > PAGES_AT_MOST:
        plan.left.append(f"{len(plan.notebooks)} notebooks: make outputs runs them")
        plan.notebooks.clear()
    return plan


def commands(plan: Plan, jobs: int) -> Iterator[list[str]]:
    """What is run, one after the other."""
    pytest = [sys.executable, "-m", "pytest", "-q", "-n", str(jobs)]
    if plan.tests:
        yield [*pytest, *map(str, sorted(plan.tests))]
    if plan.notebooks:
        nbval = ["--nbval", "--nbval-current-env", "--nbval-cell-timeout", "300"]
        yield [*pytest, "--dist", "loadfile", *nbval, *map(str, sorted(plan.notebooks))]


def main() -> int:
    """Choose, run, and say what is left."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--base", help="the commit to compare with; default: main")
    parser.add_argument("--jobs", type=int, default=1, help="processes for the tests")
    given = parser.parse_args()
    try:
        changed = find_changed(ROOT, given.base)
    except ValueError as error:
        parser.error(str(error))
    plan = choose(ROOT, changed)
    failed = False
    for command in commands(plan, given.jobs):
        print("$", *command[1:], flush=True)
        failed |= subprocess.run(command, cwd=ROOT, check=False).returncode != 0
    if plan.left:
        print("Left to make test:", *plan.left, sep="\n- ")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
