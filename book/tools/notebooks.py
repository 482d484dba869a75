"""A chapter's two files, the text `<slug>.md` and the notebook `<slug>.ipynb`.

    python book/tools/notebooks.py            # mend every pair that needs it
    python book/tools/notebooks.py attention  # this chapter alone
    python book/tools/notebooks.py --force    # execute although the code is the same
    python book/tools/notebooks.py --check    # change nothing, exit 1 if one is stale

The text is the source. From it follows what the notebook beside it must be, byte for
byte: the same cells, the stored outputs, ids that come from content, no metadata that
changes from run to run. That makes "do they still match?" a comparison of strings.
(Jupytext can pair files too, but it goes by modification times, and has thrown edits
away; here it only reads the text.) A chapter in which only words were edited keeps its
outputs and is not executed. After a change in the library use `--force`, or let the
tests say which chapters it touched. Executing again changes no byte.

It also writes what authors do not: the first cell, which installs the package in Colab
(its address comes from `_config.yml`, so that a fork edits one line), the number of
minutes under the title and, without a slug, the address in the files of `addresses.py`.
"""

import argparse
import hashlib
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

# Heavy imports stand in the function that needs them: --check is to take no time.
import jupytext
import nbformat
import yaml
from addresses import refresh
from kernels import KEY, describe_machine, kernel_environment
from limits import SETUP_TAG, end_of_head, measure, write_minutes
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "python book/tools/notebooks.py"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
SETUP_CELL = """\
```{{code-cell}} ipython3
:tags: [remove-cell, {tag}]

import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"  # these models are small: a GPU would only wait
if "google.colab" in sys.modules:
    %pip install -q "course_lib[chapters] @ git+{url}"
```
"""
CODE_CELL = re.compile(
    r"\n?^```\{code-cell\}.*?^```[ \t]*$\n?", re.MULTILINE | re.DOTALL
)
# Another tool may put a byte-order mark in front of it, or spaces behind its lines.
HEADER = re.compile(r"\A\ufeff?---[ \t]*\n(.*?)^---[ \t]*\n", re.MULTILINE | re.DOTALL)


def read_settings(root: Path) -> tuple[str, int]:
    """Read the repository's address and the seconds that a cell may take."""
    config = yaml.safe_load((root / "_config.yml").read_text("utf-8"))
    url = (config.get("repository") or {}).get("url")
    if not url:
        raise ValueError(
            "_config.yml must name the repository (repository: url): got nothing. "
            "Colab installs the package from there."
        )
    return url.rstrip("/"), int((config.get("execute") or {}).get("timeout", 300))


def is_chapter(path: Path) -> bool:
    """Say whether a Markdown file is a notebook: its header names a kernel."""
    header = HEADER.match(path.read_text("utf-8"))
    return header is not None and "kernelspec:" in header[1]


def with_plain_header(text: str) -> str:
    """Return a chapter's text with a header that every tool sees."""
    header = HEADER.match(text)
    return f"---\n{header[1]}---\n{text[header.end() :]}" if header else text


def with_setup_cell(text: str, url: str) -> str:
    """Return a chapter's text with the cell for Colab as it must be."""
    cell = SETUP_CELL.format(tag=SETUP_TAG, url=url)
    for match in CODE_CELL.finditer(text):
        if SETUP_TAG in match[0].strip().partition("\n\n")[0]:
            text = text[: match.start()] + text[match.end() :]
            break
    header = HEADER.match(text)
    end = end_of_head(text, header.end() if header else 0)
    return f"{text[:end]}\n{cell}{text[end:]}"


def read_cells(text: str) -> NotebookNode:
    """Read a chapter's text as a notebook without outputs, in its fixed form."""
    notebook = jupytext.reads(text, fmt="md:myst")
    seen: dict[str, int] = {}
    cells: list[NotebookNode] = []
    for cell in notebook.cells:
        content = f"{cell.cell_type}\n{cell.source}"
        digest = hashlib.sha256(content.encode()).hexdigest()[:12]
        seen[digest] = seen.get(digest, 0) + 1
        cell["id"] = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
        cells.append(cell)
    metadata = nbformat.from_dict(METADATA)
    return NotebookNode(nbformat=4, nbformat_minor=5, metadata=metadata, cells=cells)


def serialize(notebook: NotebookNode) -> str:
    """Write a notebook as text: sorted keys, one line per line of output."""
    return nbformat.writes(notebook, version=nbformat.NO_CONVERT).rstrip("\n") + "\n"


def code_of(notebook: dict[str, Any]) -> list[tuple[str, bool]]:
    """Give what decides outputs: each code cell's source, and whether it may fail."""
    return [
        (
            "".join(cell["source"]),
            "raises-exception" in cell["metadata"].get("tags", []),
        )
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def is_executed(notebook: dict[str, Any]) -> bool:
    """Say whether every code cell was run, in order, in a fresh kernel."""
    counts = [
        cell.get("execution_count")
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]
    return counts == list(range(1, len(counts) + 1))


def keep_outputs(fresh: NotebookNode, stored: dict[str, Any]) -> NotebookNode:
    """Carry stored outputs, and whence they are, over into cells with the same code."""
    if KEY in stored["metadata"]:
        fresh.metadata[KEY] = nbformat.from_dict(stored["metadata"][KEY])
    old = (cell for cell in stored["cells"] if cell["cell_type"] == "code")
    for cell in fresh.cells:
        if cell.cell_type == "code":
            before = next(old)
            cell.outputs = nbformat.from_dict(before["outputs"])
            cell.execution_count = before["execution_count"]
    return fresh


class Pair(NamedTuple):
    """A chapter's two files and how they stand to each other."""

    text_path: Path
    text: str  #: What the `.md` must hold: the cell for Colab and the minutes differ
    refreshed: str | None  #: The notebook with the stored outputs, if they are good
    problem: str | None  #: What is wrong, in words


def read_pair(text_path: Path, url: str) -> Pair:
    """Read and compare a chapter's two files."""
    on_disk = text_path.read_text("utf-8")
    plain = with_plain_header(on_disk)
    with_cell = with_setup_cell(plain, url)
    path = text_path.with_suffix(".ipynb")
    raw = path.read_text("utf-8") if path.exists() else None
    stored = nbformat.reads(raw, as_version=nbformat.NO_CONVERT) if raw else None
    text = write_minutes(with_cell, measure(with_cell, stored))
    wanted = read_cells(text)
    problem = None
    if plain != on_disk:
        problem = "the header has a byte-order mark or spaces around it"
    elif with_cell != on_disk:
        problem = "the cell for Colab is missing or outdated"
    elif text != on_disk:
        problem = "the minutes under the title are outdated"
    refreshed = None
    if stored is None:
        problem = "the notebook is missing"
    else:
        # The cell for Colab prints nothing: a new address needs no new execution.
        new, old = (
            [c for c in code_of(nb) if "google.colab" not in c[0]]
            for nb in (wanted, stored)
        )
        if new != old or len(code_of(wanted)) != len(code_of(stored)):
            problem = "code cells were edited"
        elif not is_executed(stored):
            problem = "the notebook was not executed from start to end"
        else:
            refreshed = serialize(keep_outputs(read_cells(text), stored))
            if refreshed != raw and problem is None:
                problem = "text, tags or metadata differ"
    return Pair(text_path, text, refreshed, problem)


def find_chapters(book: Path, slugs: Sequence[str]) -> list[Path]:
    """Find the texts of the chapters that are named; none means all.

    Raises:
        ValueError: If a name is no chapter's, or that of two.
    """
    chapters: dict[str, Path] = {}
    for path in filter(is_chapter, sorted(book.rglob("*.md"))):
        if chapters.setdefault(path.stem, path) != path:
            raise ValueError(
                f"chapters must have names of their own: got {chapters[path.stem]} and "
                f"{path}. Rename one."
            )
    wanted = [Path(slug).stem for slug in slugs] or list(chapters)
    unknown = [slug for slug in wanted if slug not in chapters]
    if unknown:
        raise ValueError(
            f"no chapter is called {', '.join(unknown)}: "
            f"there are {', '.join(chapters) or 'none'}."
        )
    return [chapters[slug] for slug in wanted]


def run_cells(
    notebook: NotebookNode,
    folder: Path,
    timeout: int,
    environment: Mapping[str, str] | None = None,
    *,
    allow_errors: bool = False,
) -> None:
    """Run a page in a fresh kernel, which writes each cell's outputs into it.

    The environment lies over the book's; with `allow_errors` a page goes on after a
    cell that fails, whose output is the error.
    """
    from nbclient import NotebookClient

    client = NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        allow_errors=allow_errors,
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env={**kernel_environment(), **(environment or {})})


def execute(pair: Pair, timeout: int) -> str:
    """Run a chapter in a fresh kernel."""
    from compare import clean_outputs

    notebook = read_cells(pair.text)
    run_cells(notebook, pair.text_path.parent, timeout)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = clean_outputs(cell.outputs, cell.source)
    # The kernel leaves its own metadata in the notebook it ran: only outputs are taken.
    notebook.metadata = {KEY: describe_machine()}
    return serialize(keep_outputs(read_cells(pair.text), notebook))


def mend(pair: Pair, timeout: int, *, force: bool) -> str:
    """Write both files of a chapter as they must be; say what was done."""
    if pair.problem is None and not force:
        return "up to date"
    # Now and not at the end: who edits the text while it is executed loses nothing.
    pair.text_path.write_text(pair.text, "utf-8")
    content, done = pair.refreshed, "outputs kept, text refreshed"
    if force or content is None:
        start = time.perf_counter()
        content = execute(pair, timeout)
        done = f"executed in {time.perf_counter() - start:.1f} s"
    pair.text_path.with_suffix(".ipynb").write_text(content, "utf-8")
    return done


def find_orphans(book: Path) -> list[str]:
    """List notebooks whose text is gone."""
    return [
        path.name
        for path in sorted(book.rglob("*.ipynb"))
        if not path.with_suffix(".md").exists()
    ]


def check(
    pairs: Sequence[Pair], orphans: Sequence[str], elsewhere: Sequence[str] = ()
) -> int:
    """Say which pairs have come apart, and what mends them."""
    stale = [pair for pair in pairs if pair.problem is not None]
    for pair in stale:
        print(f"{pair.text_path.stem}: {pair.problem}")
    for name in orphans:
        print(f"{name}: its text is missing")
    if stale:
        names = " ".join(pair.text_path.stem for pair in stale)
        print(f"Fix with: {COMMAND} {names}")
    if orphans:
        print(f"Remove, or bring the text back: {' '.join(orphans)}")
    for name in elsewhere:
        print(f"{name}: names another repository. Fix with: {COMMAND}")
    return 1 if stale or orphans or elsewhere else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        epilog="Without a slug: every chapter.",
    )
    parser.add_argument("slug", nargs="*", help="a chapter, such as attention")
    parser.add_argument("--check", action="store_true", help="only say what is stale")
    parser.add_argument("--force", action="store_true", help="execute in any case")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    book = options.root / "book"
    try:
        url, timeout = read_settings(options.root)
        texts = find_chapters(book, options.slug)
        if options.check:
            pairs = [read_pair(text, url) for text in texts]
            if options.slug:
                return check(pairs, [])
            elsewhere = refresh(options.root, url, write=False)
            return check(pairs, find_orphans(book), elsewhere)
        for name in [] if options.slug else refresh(options.root, url, write=True):
            print(f"{name}: address refreshed")
        failed = 0
        for text in texts:
            try:
                pair = read_pair(text, url)
                done = mend(pair, timeout, force=options.force)
                if options.force or pair.refreshed is None:  # it may print more now
                    mend(read_pair(text, url), timeout, force=False)
                print(f"{text.stem}: {done}")
            except Exception as error:  # the others have their turn
                print(f"{text.stem}: {error}", file=sys.stderr)
                failed += 1
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
