"""Execute the chapters whose code was edited, and check that no pair has come apart.

    python book/tools/notebooks.py            # mend every pair that needs it
    python book/tools/notebooks.py attention  # this chapter alone
    python book/tools/notebooks.py --force    # execute although the code is the same
    python book/tools/notebooks.py --check    # change nothing, exit 1 if one is stale

A chapter in which only words were edited keeps its outputs and is not executed. After
a change in the library use `--force`, or let the tests say which chapters it touched.
Executing again changes no byte. Without a slug it also writes the repository's address
into `CITATION.cff`, where `_config.yml` names another.
"""

import argparse
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

# Heavy imports stand in the function that needs them: --check is to take no time.
from kernels import kernel_environment
from nbformat import NotebookNode
from notebook_pairs import (
    Pair,
    Settings,
    is_chapter,
    keep_outputs,
    read_cells,
    read_pair,
    read_settings,
    serialize,
)

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "python book/tools/notebooks.py"
CITED = re.compile(r"(?<=^repository-code: ).*$", re.MULTILINE)


def find_chapters(book: Path, slugs: Sequence[str]) -> list[Path]:
    """Find the texts of the chapters that are named, or of all.

    Args:
        book: The folder of the chapters.
        slugs: Names (`attention`) or paths; none means all.

    Raises:
        ValueError: If a name is no chapter's.
    """
    chapters = {path.stem: path for path in sorted(book.rglob("*.md"))}
    chapters = {slug: path for slug, path in chapters.items() if is_chapter(path)}
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

    Args:
        notebook: The page.
        folder: Where the kernel starts.
        timeout: How many seconds a cell may take.
        environment: Variables over those of the book.
        allow_errors: Whether the page goes on after a cell that fails, with the error
            as its output.
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


def execute(pair: Pair, settings: Settings) -> str:
    """Run a chapter in a fresh kernel.

    Args:
        pair: The chapter.
        settings: How long a cell may take.

    Returns:
        The notebook's bytes, with outputs.
    """
    from clean_outputs import clean_outputs
    from provenance import KEY, describe_machine

    notebook = read_cells(pair.text)
    run_cells(notebook, pair.text_path.parent, settings.timeout)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = clean_outputs(cell.outputs, cell.source)
    # The kernel leaves its own metadata in the notebook it ran: only outputs are taken.
    notebook.metadata = {KEY: describe_machine()}
    return serialize(keep_outputs(read_cells(pair.text), notebook))


def mend(pair: Pair, settings: Settings, *, force: bool) -> str | None:
    """Write both files of a chapter as they must be.

    Returns:
        What was done, in words, or None if nothing had to be.
    """
    if pair.problem is None and not force:
        return None
    # Now and not at the end: who edits the text while it is executed loses nothing.
    pair.text_path.write_text(pair.text, "utf-8")
    start = time.perf_counter()
    if force or pair.refreshed is None:
        content = execute(pair, settings)
        done = f"executed in {time.perf_counter() - start:.1f} s"
    else:
        content = pair.refreshed
        done = "outputs kept, text refreshed"
    pair.notebook_path.write_text(content, "utf-8")
    return done


def find_orphans(book: Path) -> list[str]:
    """List notebooks whose text is gone."""
    return [
        path.name
        for path in sorted(book.rglob("*.ipynb"))
        if not path.with_suffix(".md").exists()
    ]


def cite(root: Path, url: str, *, write: bool) -> bool:
    """Compare the address in `CITATION.cff` with the repository's.

    Args:
        root: The project's folder.
        url: The repository's address.
        write: Whether to put the right one there.

    Returns:
        Whether it was right.
    """
    path = root / "CITATION.cff"
    text = path.read_text("utf-8") if path.exists() else ""
    right = CITED.sub(lambda _: url, text)
    if write and right != text:
        path.write_text(right, "utf-8")
    return right == text


def check(pairs: Sequence[Pair], orphans: Sequence[str], *, cited: bool = True) -> int:
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
    if not cited:
        print(f"CITATION.cff: names another repository. Fix with: {COMMAND}")
    return 1 if stale or orphans or not cited else 0


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
        settings = read_settings(options.root)
        texts = find_chapters(book, options.slug)
        if options.check:
            pairs = [read_pair(text, settings.url) for text in texts]
            if options.slug:
                return check(pairs, [])
            cited = cite(options.root, settings.url, write=False)
            return check(pairs, find_orphans(book), cited=cited)
        if not options.slug and not cite(options.root, settings.url, write=True):
            print("CITATION.cff: address refreshed")
        failed = 0
        for text in texts:
            try:
                pair = read_pair(text, settings.url)
                done = mend(pair, settings, force=options.force)
            except (
                Exception
            ) as error:  # one broken chapter leaves the others their turn
                print(f"{text.stem}: {error}", file=sys.stderr)
                failed += 1
            else:
                print(f"{text.stem}: {done or 'up to date'}")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
