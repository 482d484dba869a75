"""Turn the masters, `homework/<slug>.md`, into what students and instructors get.

    python homework/build.py             all assignments
    python homework/build.py attention   one

A master is written once for both frameworks. From each come, with otter-grader:

    _build/homework/student/<slug>-<wing>.ipynb
    _build/homework/instructor/<slug>/solutions/<slug>-<wing>.ipynb
    _build/homework/instructor/<slug>/autograders/<slug>-<wing>.zip
    _build/homework/instructor/<slug>/assignment.json    for `make grade`
    _build/homework/instructor/<slug>/rubric.md          for the open questions
"""

import argparse
import json
import secrets
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import jupytext
import nbformat
import yaml
from nbformat import NotebookNode

with warnings.catch_warnings(action="ignore"):  # otter takes its files by pkg_resources
    from otter.assign import main as otter_assign

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "homework"), str(ROOT / "book" / "_ext")]

from master import WINGS, Question, compose, parse, rubric  # noqa: E402
from publishing import pages_address  # noqa: E402


def build(master: Path, out: Path, *, seed: int | None = None) -> None:
    """Build one assignment for both frameworks.

    Args:
        master: `homework/<slug>.md`.
        out: The folder with `student` and `instructor` in it.
        seed: Draws the cases of the hidden tests; None draws the seed.
    """
    slug = master.stem
    seed = secrets.randbelow(2**31) if seed is None else seed
    folder = out / "instructor" / slug
    shutil.rmtree(folder, ignore_errors=True)
    for wanted in (out / "student", folder / "solutions", folder / "autograders"):
        wanted.mkdir(parents=True, exist_ok=True)
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    repository = config["repository"]["url"].rstrip("/")
    for wing in WINGS:
        notebook = jupytext.read(master)
        notebook.metadata.pop("jupytext")
        title = notebook.cells[0].source.partition("\n")[0].removeprefix("# ")
        parts = list(parse(notebook.cells, wing))
        (folder / "rubric.md").write_text(rubric(parts, title), encoding="utf-8")
        (folder / "assignment.json").write_text(assignment(parts, title, seed))
        name, site = f"{slug}-{wing}", pages_address(repository)
        notebook.cells = compose(parts, name, wing, seed, repository, site)
        with tempfile.TemporaryDirectory() as work:
            nbformat.write(notebook, f"{work}/{name}.ipynb")
            otter_assign(f"{work}/{name}.ipynb", f"{work}/out", no_run_tests=True)
            made = Path(work, "out")
            solutions, (autograder,) = made / "autograder", made.rglob("*.zip")
            shutil.copy(made / "student" / f"{name}.ipynb", out / "student")
            shutil.copy(solutions / f"{name}.ipynb", folder / "solutions")
            shutil.copy(autograder, folder / "autograders" / f"{name}.zip")


def assignment(parts: list[Question | NotebookNode], title: str, seed: int) -> str:
    """What `make grade` reads: the questions that code marks."""
    asked = [p.options for p in parts if isinstance(p, Question) and not p.by_hand]
    wanted = [
        {"exercise": q["exercise"], "answer": q["name"], "points": q["points"]}
        for q in asked
    ]
    return json.dumps({"title": title, "seed": seed, "parts": wanted}, indent=1)


def main(arguments: list[str] | None = None) -> None:
    """Build what is named, or everything."""
    parser = argparse.ArgumentParser(description="Build the assignments.")
    parser.add_argument("slugs", nargs="*", help="all of them if none is named")
    parser.add_argument("--out", type=Path, default=ROOT / "_build" / "homework")
    parser.add_argument("--seed", type=int, help="of the hidden tests")
    given = parser.parse_args(arguments)
    masters = sorted((ROOT / "homework").glob("*.md"))
    known = [master.stem for master in masters]
    if unknown := sorted(set(given.slugs) - set(known)):
        parser.error(
            f"no assignment {', '.join(unknown)}; there are {', '.join(known)}."
        )
    for master in masters:
        if not given.slugs or master.stem in given.slugs:
            build(master, given.out, seed=given.seed)
            sys.stdout.write(f"{master.stem}: built into {given.out}\n")


if __name__ == "__main__":
    main()
