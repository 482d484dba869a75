"""Turn the masters, `homework/<slug>.md`, into what students and instructors get.

    python homework/build.py             all assignments
    python homework/build.py attention   one

A master is written once for both frameworks. From each come, with otter-grader:

    _build/homework/student/<slug>-<wing>.ipynb
    _build/homework/instructor/<slug>/solutions/<slug>-<wing>.ipynb
    _build/homework/instructor/<slug>/autograders/<slug>-<wing>.zip
    _build/homework/instructor/<slug>/assignment.json    for `make grade`
    _build/homework/instructor/<slug>/rubric.md          for the open questions

The seed of the hidden cases is drawn once and kept in `classroom/<slug>/seed.json`,
outside of what `make clean` removes: building again changes no marks, and gives the
same files, byte for byte. The students' notebooks, which no seed changes, are kept in
`homework/student`, too, from where the book's page *Homework* hands them out.
"""

import argparse
import ast
import builtins
import copy
import hashlib
import json
import secrets
import shutil
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import yaml
from nbformat import NotebookNode

with warnings.catch_warnings(action="ignore"):  # otter takes its files by pkg_resources
    from otter.assign import main as otter_assign

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "_build" / "homework"
sys.path[:0] = [str(ROOT / "homework"), str(ROOT / "book" / "tools")]

from addresses import pages_address  # noqa: E402
from master import WINGS, Question, compose, parse, rubric  # noqa: E402
from sandbox import cells  # noqa: E402


def build(master: Path, out: Path, seed: int) -> None:
    """Build one assignment for both frameworks, over what an earlier build left.

    Args:
        master: `homework/<slug>.md`.
        out: The folder with `student` and `instructor` in it.
        seed: Draws the cases on which answers are marked.
    """
    slug = master.stem
    folder = out / "instructor" / slug
    for wanted in (out / "student", folder / "solutions", folder / "autograders"):
        wanted.mkdir(parents=True, exist_ok=True)
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    repository = config["repository"]["url"].rstrip("/")
    parts: dict[str, list[Question | NotebookNode]] = {}
    notebook = jupytext.read(master)
    notebook.metadata.pop("jupytext")
    title = notebook.cells[0].source.partition("\n")[0].removeprefix("# ")
    for wing in WINGS:
        parts[wing] = list(parse(copy.deepcopy(notebook.cells), wing))
    (folder / "rubric.md").write_text(rubric(parts["torch"], title), encoding="utf-8")
    paper = assignment(parts, title, seed)
    private = folder / "assignment.json"
    private.touch(mode=0o600)
    private.write_text(json.dumps(paper, indent=1), encoding="utf-8")
    for wing in WINGS:
        name, site = f"{slug}-{wing}", pages_address(repository)
        notebook.cells = compose(parts[wing], name, wing, repository, site)
        with tempfile.TemporaryDirectory() as work:
            nbformat.write(notebook, f"{work}/{name}.ipynb")
            otter_assign(f"{work}/{name}.ipynb", f"{work}/out", no_run_tests=True)
            made = Path(work, "out")
            solutions, (autograder,) = made / "autograder", made.rglob("*.zip")
            with_sandbox(autograder, paper)
            for notebook_made in (solutions, made / "student"):
                number_cells(notebook_made / f"{name}.ipynb")
            shutil.copy(made / "student" / f"{name}.ipynb", out / "student")
            shutil.copy(solutions / f"{name}.ipynb", folder / "solutions")
            shutil.copy(autograder, folder / "autograders" / f"{name}.zip")


def assignment(
    parts: dict[str, list[Question | NotebookNode]], title: str, seed: int
) -> dict[str, Any]:
    """What marks a class: the questions, and by wing the right answer to each."""
    solutions: dict[str, dict[str, str]] = {}
    for wing, some in parts.items():
        code, known, solutions[wing] = [], set(dir(builtins)), {}
        for part in some:
            own = part.cells if isinstance(part, Question) else [part]
            sources = [c.source for c in own if c.cell_type == "code"]
            code += [definitions(source, known) for source in sources]
            if isinstance(part, Question) and not part.by_hand:
                solutions[wing][part.options["name"]] = "\n".join(code)
    asked = [p for p in parts["torch"] if isinstance(p, Question)]
    return {
        "title": title,
        "seed": seed,
        "parts": [
            {key: q.options[name] for key, name in _PART.items()}
            for q in asked
            if not q.by_hand
        ],
        "solutions": solutions,
        "by_hand": {q.options["name"]: q.options["points"] for q in asked if q.by_hand},
    }


_PART = {"exercise": "exercise", "answer": "name", "points": "points"}


def definitions(source: str, known: set[str]) -> str:
    """The imports, functions, classes and constants of a cell.

    Args:
        source: Of the cell.
        known: Names that a constant may be made of; those of this cell are added.
    """
    kept = []
    for node in ast.parse(source).body:
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        used = {n.id for n in names if isinstance(n.ctx, ast.Load)}
        constant = isinstance(node, (ast.Assign, ast.AnnAssign))
        if cells.defines(node) and not (constant and used - known):
            kept.append(node)
            known |= cells.bound(node)
    return ast.unparse(ast.Module(kept, []))


def number_cells(path: Path) -> None:
    """Give each cell an id that follows from what it says, where otter draws one.

    So a build of the same masters is the same file, byte for byte, and an edit of one
    cell leaves the ids of the others.
    """
    notebook = nbformat.read(path, as_version=4)
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        said = f"{cell.cell_type}\n{cell.source}"
        seen[said] = seen.get(said, 0) + 1
        cell.id = hashlib.sha256(f"{seen[said]}\n{said}".encode()).hexdigest()[:12]
    nbformat.write(notebook, path)


def with_sandbox(autograder: Path, paper: dict[str, Any]) -> None:
    """Add the marker to otter's zip, as a plugin that marks in a sandbox.

    What otter copies from `files` it can import; its other parts stay otter's.
    """
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        with zipfile.ZipFile(autograder) as file:
            file.extractall(folder)
        for name in ("marker", "sandbox"):
            ignored = shutil.ignore_patterns("__pycache__")
            target = folder / "files" / name
            shutil.copytree(ROOT / "homework" / name, target, ignore=ignored)
        config = json.loads((folder / "otter_config.json").read_text("utf-8"))
        config["plugins"] = [{PLUGIN: paper}]
        (folder / "otter_config.json").write_text(json.dumps(config), "utf-8")
        with zipfile.ZipFile(autograder, "w", zipfile.ZIP_DEFLATED) as file:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    entry = zipfile.ZipInfo(path.relative_to(folder).as_posix())
                    runs = path.name in ("run_autograder", "setup.sh")
                    entry.external_attr = (0o100755 if runs else 0o100644) << 16
                    entry.compress_type = zipfile.ZIP_DEFLATED
                    file.writestr(entry, path.read_bytes())  # its day is always 1980


PLUGIN = "marker.otter_plugin.Sandboxed"


def keep_seed(folder: Path, *, new: bool = False) -> int:
    """The seed of an assignment, drawn once."""
    file = folder / "seed.json"
    if new or not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        file.write_text(json.dumps(secrets.randbits(128)))
    return int(json.loads(file.read_text()))


def main(arguments: list[str] | None = None) -> None:
    """Build what is named, or everything."""
    parser = argparse.ArgumentParser(description="Build the assignments.")
    parser.add_argument("slugs", nargs="*", help="all of them if none is named")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--keep", type=Path, default=ROOT / "classroom")
    parser.add_argument("--new-seed", action="store_true", help="draw other cases")
    given = parser.parse_args(arguments)
    masters = sorted((ROOT / "homework").glob("*.md"))
    known = [master.stem for master in masters]
    if unknown := sorted(set(given.slugs) - set(known)):
        parser.error(
            f"no assignment {', '.join(unknown)}; there are {', '.join(known)}."
        )
    for master in masters:
        if not given.slugs or master.stem in given.slugs:
            seed = keep_seed(given.keep / master.stem, new=given.new_seed)
            build(master, given.out, seed)
            sys.stdout.write(f"{master.stem}: built into {given.out}\n")
            for wing in WINGS if given.out == OUT else ():
                name = f"{master.stem}-{wing}.ipynb"
                shutil.copy(given.out / "student" / name, ROOT / "homework" / "student")


if __name__ == "__main__":
    main()
