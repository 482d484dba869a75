"""Would another machine print the same? Run pages as other machines would, and compare.

    python book/tools/shake.py                       # every page under every shake
    python book/tools/shake.py attention depth       # these pages
    python book/tools/shake.py --shake avx2 nudge    # these shakes
    python book/tools/shake.py --table               # what was run before, nothing anew

The same versions round otherwise on a processor with another instruction set, on
another number of threads, and a training hands on what a last bit began. Each shake
stands for such a machine. The table has a line for each output that moves by more
than half of what `tolerance.py` forgives: how many times its allowance, under which
shake, and from what to what. With none it says so, and the exit status is 0.

A page that moves is changed, not its tolerance: more seeds and their median, a calmer
or shorter training, a coarser figure, a bound, a statement in words that holds.
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path

import nbformat
import numpy as np
from compare import Move, moves, read_tolerance
from kernels import compiled
from nbformat import NotebookNode
from notebook_pairs import code_of, read_cells
from notebooks import ROOT, find_chapters, run_cells

FOLDER = "_build/shaken"
HALF = 0.5
TIMEOUT = 900  # seconds for a cell: without wide instructions all takes longer
NUDGE = """\
import sys
sys.path.insert(0, {folder!r})
from nudge import nudge
nudge()
sys.path.remove({folder!r})"""


@dataclass(frozen=True, kw_only=True)
class Shake:
    """Another machine, or another start.

    Attributes:
        environment: Read by the frameworks when they start.
        nudge: Whether each training begins one unit in the last place away.
    """

    environment: Mapping[str, str]
    nudge: bool = False


def limited(
    aten: str, onednn: str, mkl: str, xla: str, openblas: str, numpy: Sequence[str]
) -> Shake:
    """Stand for a processor with this instruction set, or the next one below it.

    PyTorch reads the first three, JAX the fourth, NumPy what follows.
    """
    return Shake(
        environment={
            "ATEN_CPU_CAPABILITY": aten,
            "ONEDNN_MAX_CPU_ISA": onednn,
            "MKL_CBWR": mkl,
            "XLA_FLAGS": f"--xla_cpu_max_isa={xla}",
            "OPENBLAS_CORETYPE": openblas,
            "NPY_DISABLE_CPU_FEATURES": " ".join(numpy),
        }
    )


# NumPy wants the names of what it shall leave, and only of what this machine has. It
# doesn't find what it was told to leave when it was started.
LEFT = os.environ.get("NPY_DISABLE_CPU_FEATURES", "").split()
FOUND = np.show_config(mode="dicts")["SIMD Extensions"].get("found", []) + LEFT
WIDER = [name for name in FOUND if name.startswith(("AVX512", "X86_V4"))]


SHAKES: Mapping[str, Shake] = {
    "avx2": limited("avx2", "AVX2", "AVX2", "AVX2", "Haswell", WIDER),
    "sse": limited("default", "SSE41", "COMPATIBLE", "SSE4_2", "Nehalem", FOUND),
    # PyTorch reads the first, JAX the second.
    "threads": Shake(environment={"OMP_NUM_THREADS": "2", "NPROC": "1"}),
    "nudge": Shake(environment={}, nudge=True),
}


def run(path: Path, shake: Shake, cache: Mapping[str, str]) -> NotebookNode:
    """Execute a page as another machine would.

    Args:
        path: The page's text.
        shake: The machine.
        cache: Variables that say where JAX keeps what it compiles.

    Returns:
        The page's notebook. A cell that fails keeps its error as its output, and the
        page goes on.
    """
    notebook = read_cells(path.read_text("utf-8"))
    if shake.nudge:
        source = NUDGE.format(folder=str(Path(__file__).parent))
        notebook.cells.insert(0, nbformat.v4.new_code_cell(source))
    machine = {**cache, **shake.environment}
    run_cells(notebook, path.parent, TIMEOUT, machine, allow_errors=True)
    if shake.nudge:
        del notebook.cells[0]
    return notebook


def run_and_keep(root: Path, name: str, path: Path) -> None:
    """Execute a page under a shake, and write it where `read` finds it."""
    start = time.perf_counter()
    cache = compiled(root, f"{name}-{multiprocessing.current_process().name}")
    notebook = run(path, SHAKES[name], cache)
    file = root / FOLDER / name / f"{path.stem}.ipynb"
    file.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, file)
    seconds = time.perf_counter() - start
    print(f"{path.stem}: {name}, {seconds:.0f} s", file=sys.stderr, flush=True)


def find_moves(
    stored: NotebookNode, shaken: Mapping[str, NotebookNode]
) -> Iterator[tuple[int, str, Move]]:
    """Compare a page's outputs with what it gave under the shakes.

    Args:
        stored: The notebook as it is published.
        shaken: The same, executed under each shake.

    Yields:
        Number of the code cell (from 0), name of the shake, and the largest move of
        the cell's outputs, where they moved at all.
    """
    for name, new in shaken.items():
        pairs = zip(code_cells(stored), code_cells(new), strict=True)
        for number, (before, after) in enumerate(pairs):
            tolerance = read_tolerance(before.metadata)
            found = list(moves(before.outputs, after.outputs, tolerance))
            if found:
                yield number, name, max(found, key=lambda move: move.share)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """List the cells that have outputs."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def read(path: Path, root: Path) -> tuple[NotebookNode, dict[str, NotebookNode]]:
    """Read a page's notebook and its shaken ones, those that have the same code."""
    stored = nbformat.read(path.with_suffix(".ipynb"), as_version=4)
    shaken = {}
    for name in SHAKES:
        file = root / FOLDER / name / f"{path.stem}.ipynb"
        if file.exists():
            new = nbformat.read(file, as_version=4)
            if code_of(new) == code_of(stored):
                shaken[name] = new
    return stored, shaken


def table(paths: Sequence[Path], root: Path, limit: float) -> int:
    """Print a line for each cell that moves by more than `limit`; return how many."""
    found = 0
    print(f"{'page':<24}{'cell':>5}  {'share':>6}  shake     what moved")
    for path in paths:
        stored, shaken = read(path, root)
        worst: dict[int, list[tuple[str, Move]]] = {}
        for number, name, move in find_moves(stored, shaken):
            if round(move.share, 6) > limit:  # 0.01 of 0.02 is half
                worst.setdefault(number, []).append((name, move))
        for number, each in sorted(worst.items()):
            found += 1
            for name, move in each:
                print(
                    f"{path.stem:<24}{number:>5}  {move.share:>6.2f}  {name:<8}  "
                    f"{move.what}"
                )
        missing = ", ".join(name for name in SHAKES if name not in shaken)
        if missing:
            print(f"{path.stem:<24}       not run: {missing}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("slug", nargs="*", help="a page, such as attention")
    parser.add_argument("--shake", nargs="+", choices=SHAKES, default=list(SHAKES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--table", action="store_true", help="only compare")
    parser.add_argument(
        "--limit", type=float, default=HALF, help="of an allowance; 0 lists all moves"
    )
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    try:
        paths = find_chapters(options.root / "book", options.slug)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2

    if not options.table:
        tasks = [(options.root, n, p) for p in paths for n in options.shake]
        if options.jobs == 1:
            list(starmap(run_and_keep, tasks))
        else:
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(options.jobs, context) as pool:
                list(pool.map(run_and_keep, *zip(*tasks, strict=True)))
    found = table(paths, options.root, options.limit)
    if not found:
        print(f"No output moves by more than {options.limit:g} of its allowance.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
