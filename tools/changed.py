"""Run the tests of what changed since main, as `make quick` does.

By the house's rule a page, a module and a test share a name. So what changed, and is
committed since the branch left main or isn't yet, has these tests: those of its name
(of `course_lib/torch/multihead.py`, all `test_multihead*.py`), those that import it or
read it by its name, those of the modules that import it, and those of its folder, in
the table `ABOUT`. A page's notebook is run and compared. Where that would take far
longer than two minutes, the end says what is left to `make test`.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
AT_MOST = 12  # test files beside those of a changed file's own name
PAGES_AT_MOST = 2
# They read what another target has built.
BUILT = re.compile(r"tests/(book/test_site.*|homework/test_assignments)\.py")
# What holds for each file of a folder. `*` crosses slashes, too.
ABOUT = {
    "course_lib/torch/*": "tests/test_mirror.py tests/test_pieces.py",
    "course_lib/nnx/*": "tests/test_mirror.py tests/test_pieces.py",
    "course_lib/oracle/*": "tests/test_pieces.py",
    "course_lib/*/position/schemes.py": "tests/test_models.py",
    "course_lib/homework/*": "tests/homework/test_slips.py",
    "book/*.md": "tests/book/test_limits.py",
    "book/_ext/*": "tests/book/test_extensions.py",
    "book/figures/*": "tests/book/test_figures.py",
    "_toc.yml": "tests/book/test_navigation.py",
    "_config.yml": "tests/book/test_extensions.py",
    ".github/*": "tests/tools/test_repository.py",
    ".devcontainer/*": "tests/tools/test_repository.py",
}


def git(root: Path, *words: str) -> list[str]:
    """What git answers, line by line; nothing where it has no answer."""
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else []


def find_changed(root: Path, base: str | None) -> list[Path]:
    """List the files that differ from where this branch left main, or another."""
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


def named(path: Path, tests: Iterable[Path]) -> set[Path]:
    """List the tests of a file's name or its folder's, in the room for such files."""
    names = {name.replace("-", "_") for name in (path.stem, path.parent.name)}
    name = re.compile(rf"test_({'|'.join(map(re.escape, names))})(_|$)")
    rooms = {room for room in ("book", "homework") if room in path.parts[:2]}
    return {
        test
        for test in tests
        if name.match(test.stem) and rooms == {"book", "homework"} & {*test.parts[:2]}
    }


def choose(root: Path, changed: Iterable[Path]) -> tuple[set[Path], list[str]]:
    """Find the tests and notebooks of what changed, and say what is left out."""
    tests, package = (
        {p.relative_to(root): p.read_text("utf-8") for p in (root / f).rglob(pattern)}
        for f, pattern in (("tests", "test_*.py"), ("course_lib", "*.py"))
    )
    chosen: set[Path] = set()
    left = []
    for path in changed:
        if path in tests or (path.suffix == ".ipynb" and (root / path).exists()):
            chosen.add(path)
            continue
        own = named(path, tests)
        for glob, files in ABOUT.items():
            if fnmatch(str(path), glob):
                own |= {Path(test) for test in files.split()}
        around: set[Path] = set()
        if path.parts[0] == "course_lib" and path.suffix == ".py":
            parts = path.with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            room, _, stem = map(re.escape, module.rpartition("."))
            use = re.compile(rf"(import|from) {room}(\.{stem}\b| import .*\b{stem}\b)")
            around = {test for test, text in tests.items() if use.search(text)}
            users = [p for p, t in package.items() if use.search(t)]
            users = [user for user in users if user.stem != "__init__"]
            around |= set().union(*(named(user, tests) for user in users))
        elif path.suffix != ".md" or not path.parts[1:]:
            words = {path.name} | ({path.stem} if path.suffix == ".py" else set())
            either = "|".join(map(re.escape, words))
            use = re.compile(
                rf"[\"'/]({either})[\"']|^(import|from) ({either})\b", re.M
            )
            around = {test for test, text in tests.items() if use.search(text)}
        if len(around - own) > AT_MOST:
            left.append(f"{path}: {len(around - own)} files of tests that use it")
            around = set()
        elif not own | around:
            left.append(f"{path}: no test has its name")
        chosen |= own | around
    longer = {test for test in chosen if BUILT.fullmatch(test.as_posix())}
    pages = {path for path in chosen if path.suffix == ".ipynb"}
    longer |= pages if len(pages) > PAGES_AT_MOST else set()
    return chosen - longer, left + sorted(map(str, longer))


def main() -> int:
    """Choose, run, and say what is left."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--base", help="the commit to compare with; default: main")
    parser.add_argument("--jobs", type=int, default=1, help="processes for the tests")
    given = parser.parse_args()
    try:
        chosen, left = choose(ROOT, find_changed(ROOT, given.base))
    except ValueError as error:
        parser.error(str(error))
    status = 0
    compare = ("--nbval", "--nbval-current-env", "--nbval-cell-timeout", "300")
    for suffix, options in {
        ".py": (),
        ".ipynb": ("--dist", "loadfile", *compare),
    }.items():
        if paths := sorted(str(path) for path in chosen if path.suffix == suffix):
            command = [sys.executable, "-m", "pytest", "-q", "-n", str(given.jobs)]
            print("$", *command[1:], *options, *paths, flush=True)
            status |= subprocess.run([*command, *options, *paths], cwd=ROOT).returncode
    if left:
        print("Left to make test:", *left, sep="\n- ")
    return int(status != 0)


if __name__ == "__main__":
    sys.exit(main())
