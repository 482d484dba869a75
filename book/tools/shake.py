"""Would another machine print the same? Run pages as other machines would, and compare.

    python book/tools/shake.py                       # every page under every shake
    python book/tools/shake.py attention depth       # these pages
    python book/tools/shake.py --shake avx2 nudge    # these shakes
    python book/tools/shake.py --table               # what was run before, nothing anew
    python book/tools/shake.py --shake half four     # half and four times the training

The same versions round otherwise on a processor with another instruction set, on
another number of threads, and a training hands on what a last bit began. Each shake
stands for such a machine. The table has a line for each output that moves by more
than half of what `compare.py` forgives: how many times its allowance, under which
shake, and from what to what. With none it says so, and the exit status is 0.

All are compared with a run of this machine as it is, and all print three decimals more
than the page asks for: a float's move is measured before it is rounded, so that one
which just doesn't flip is seen, and one which flips by a hair is not. Of words, and of
whole numbers that code makes, only what flips can be seen.

A page that moves is changed, not its tolerance: more seeds and their median, a calmer
or shorter training, a coarser figure, a bound, a statement in words that holds.

The last two shakes are no machines: under half and four times the training
(`lengths.py`) all outputs are others, so only claims are asked, those of cells tagged
`any-length`. A claim that falls gets the length of its training into its sentence.
"""

import argparse
import multiprocessing
import os
import re
import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import wraps
from itertools import starmap
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
from compare import Move, moves, read_tolerance
from kernels import compiled
from lengths import FELL
from nbformat import NotebookNode
from notebooks import ROOT, find_chapters, read_cells, run_cells

FOLDER = "_build/shaken"
HERE = "here"
FIELD = re.compile(r"(\d*)(,?)\.(\d+)(?=[f%]\})")  # of a format: `{x:8,.2f}`
HALF = 0.5
TIMEOUT = 900  # seconds for a cell: without wide instructions all takes longer
LENGTHS = {"half": 0.5, "four": 4.0}
BEFORE = """\
import sys
sys.path.insert(0, {folder!r})
{what}
sys.path.remove({folder!r})"""
FIRST = {"nudge": "from shake import nudge; nudge()"} | {
    name: f"from lengths import lengthen; lengthen({factor})"
    for name, factor in LENGTHS.items()
}


def limited(
    aten: str, onednn: str, mkl: str, xla: str, openblas: str, numpy: Sequence[str]
) -> dict[str, str]:
    """Stand for a processor with this instruction set, or the next one below it.

    PyTorch reads the first three, JAX the fourth, NumPy what follows.
    """
    return {
        "ATEN_CPU_CAPABILITY": aten,
        "ONEDNN_MAX_CPU_ISA": onednn,
        "MKL_CBWR": mkl,
        "XLA_FLAGS": f"--xla_cpu_max_isa={xla}",
        "OPENBLAS_CORETYPE": openblas,
        "NPY_DISABLE_CPU_FEATURES": " ".join(numpy),
    }


# NumPy wants the names of what it shall leave, and only of what this machine has. It
# doesn't find what it was told to leave when it was started.
LEFT = os.environ.get("NPY_DISABLE_CPU_FEATURES", "").split()
FOUND = np.show_config(mode="dicts")["SIMD Extensions"].get("found", []) + LEFT
WIDER = [name for name in FOUND if name.startswith(("AVX512", "X86_V4"))]

# What the frameworks read when they start, on another machine or with another start.
SHAKES: Mapping[str, Mapping[str, str]] = {
    "avx2": limited("avx2", "AVX2", "AVX2", "AVX2", "Haswell", WIDER),
    "sse": limited("default", "SSE41", "COMPATIBLE", "SSE4_2", "Nehalem", FOUND),
    # PyTorch reads the first, JAX the second.
    "threads": {"OMP_NUM_THREADS": "2", "NPROC": "1"},
    # Each training begins one unit in the last place away.
    "nudge": {},
}


def signs(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Draw up or down for each of a tensor's numbers.

    The first draw of a run and the tenth alike depend on the shape alone, so that
    nothing is drawn where a page draws its own numbers.
    """
    key = zlib.crc32(repr((seed, tuple(shape))).encode())
    return np.random.default_rng(key).choice([-np.inf, np.inf], shape)


def nudge(seed: int = 0) -> None:
    """Let every optimizer of this process nudge what it is given."""
    nudge_torch(seed)
    nudge_optax(seed)
    nudge_nnx(seed)


def nudge_torch(seed: int) -> None:
    """Do it where a PyTorch optimizer is made."""
    import torch

    make = torch.optim.Optimizer.__init__

    @wraps(make)
    def make_and_nudge(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        with torch.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.is_floating_point():
                        way = torch.as_tensor(signs(p.shape, seed)).to(p)
                        p.copy_(p.nextafter(way))

    torch.optim.Optimizer.__init__ = make_and_nudge


def nudge_nnx(seed: int) -> None:
    """Do it where an NNX optimizer is made."""
    import jax
    import jax.numpy as jnp
    from flax import nnx

    make = nnx.Optimizer.__init__

    @wraps(make)
    def make_and_nudge(self: Any, model: Any, *args: Any, **kwargs: Any) -> None:
        state = nnx.state(model, nnx.Param)
        nnx.update(model, jax.tree.map(lambda p: p + step_of(p, seed, jnp), state))
        make(self, model, *args, **kwargs)

    nnx.Optimizer.__init__ = make_and_nudge


def nudge_optax(seed: int) -> None:
    """Do it in Adam's first update, for trainings that are functions of arrays."""
    import jax
    import jax.numpy as jnp
    import optax

    adam = optax.adam

    @wraps(adam)
    def nudging_adam(*args: Any, **kwargs: Any) -> Any:
        inner = adam(*args, **kwargs)

        def init(params: Any) -> Any:
            steps = jax.tree.map(lambda p: step_of(p, seed, jnp), params)
            return inner.init(params), steps

        def update(updates: Any, state: Any, params: Any = None) -> Any:
            updates, moments = inner.update(updates, state[0], params)
            updates = jax.tree.map(jnp.add, updates, state[1])
            return updates, (moments, jax.tree.map(jnp.zeros_like, state[1]))

        return optax.GradientTransformation(init, update)

    optax.adam = nudging_adam


def step_of(p: Any, seed: int, jnp: Any) -> Any:
    """Say how far each number of an array is from its chosen neighbor."""
    if not jnp.issubdtype(p.dtype, jnp.floating):
        return jnp.zeros_like(p)
    return jnp.nextafter(p, jnp.asarray(signs(p.shape, seed), p.dtype)) - p


def finer(field: re.Match[str]) -> str:
    """Ask for three decimals more, in a column as much wider."""
    width, comma, decimals = field.groups()
    return f"{width and int(width) + 4}{comma}.{int(decimals) + 3}"


def run(root: Path, name: str, path: Path) -> None:
    """Execute a page as another machine would, and write it where `table` finds it.

    A cell that fails keeps its error as its output, and the page goes on.
    """
    start = time.perf_counter()
    text = path.read_text("utf-8")
    notebook = read_cells(text)
    if name not in LENGTHS:
        for cell in notebook.cells:
            cell.source = FIELD.sub(finer, cell.source)
    if name in FIRST:
        source = BEFORE.format(folder=str(Path(__file__).parent), what=FIRST[name])
        notebook.cells.insert(0, nbformat.v4.new_code_cell(source))
    cache = compiled(root, f"{name}-{multiprocessing.current_process().name}")
    machine = {**cache, **SHAKES.get(name, {})}
    run_cells(notebook, path.parent, TIMEOUT, machine, allow_errors=True)
    if name in FIRST:
        del notebook.cells[0]
    for cell, asked in zip(notebook.cells, read_cells(text).cells, strict=True):
        cell.source = asked.source
    file = root / FOLDER / name / f"{path.stem}.ipynb"
    file.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, file)
    seconds = time.perf_counter() - start
    print(f"{path.stem}: {name}, {seconds:.0f} s", file=sys.stderr, flush=True)


def code_cells(path: Path) -> list[NotebookNode]:
    """List the cells of a notebook that have outputs; none, if it isn't there."""
    if not path.exists():
        return []
    return [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]


def table(paths: Sequence[Path], root: Path, limit: float) -> int:
    """Print a line for each cell that moves by more than `limit`; return how many."""
    found = 0
    print(f"{'page':<24}{'cell':>5}  {'share':>6}  shake     what moved")
    for path in paths:
        stored = code_cells(path.with_suffix(".ipynb"))
        page = [cell.source for cell in stored]
        runs = {
            name: code_cells(root / FOLDER / name / f"{path.stem}.ipynb")
            for name in (HERE, *SHAKES)
        }
        missing = [n for n, run in runs.items() if [c.source for c in run] != page]
        moved: list[tuple[int, str, Move]] = []
        for name in SHAKES if HERE not in missing else ():
            if name in missing:
                continue
            cells = zip(stored, runs[HERE], runs[name], strict=True)
            for number, (old, here, new) in enumerate(cells):
                tolerance = read_tolerance(old.metadata, old.source, page)
                each = moves(old.outputs, new.outputs, tolerance, here.outputs)
                worst = max(each, key=lambda move: move.share, default=Move(0, ""))
                if round(worst.share, 6) > limit:  # 0.01 of 0.02 is half
                    moved.append((number, name, worst))
        for number, name, (share, what) in sorted(moved, key=lambda move: move[0]):
            print(f"{path.stem:<24}{number:>5}  {share:>6.2f}  {name:<8}  {what}")
        found += len({number for number, *_ in moved})
        if missing:
            print(f"{path.stem:<24}       not run: {', '.join(missing)}")
    return found


def fallen(cell: NotebookNode) -> list[str]:
    """List the claims of a cell that don't hold; that it failed, if it did."""
    said = "".join(out.get("text", "") for out in cell.outputs).splitlines()
    failed = [out for out in cell.outputs if out.output_type == "error"]
    return [line.removeprefix(FELL) for line in said if line.startswith(FELL)] + [
        f"{out.ename}: {out.evalue}".partition("\n")[0] for out in failed
    ]


def falls(paths: Sequence[Path], root: Path, every: bool) -> int:
    """Print a line for each claim that falls at another length; return how many.

    With `every`, also those that aren't said to hold at any length, and cells that
    don't run.
    """
    found = 0
    for path in paths:
        stored = code_cells(path.with_suffix(".ipynb"))
        for name in LENGTHS:
            run = code_cells(root / FOLDER / name / f"{path.stem}.ipynb")
            if [cell.source for cell in run] != [cell.source for cell in stored]:
                continue
            for number, cell in enumerate(run):
                if not every and "any-length" not in cell.metadata.get("tags", ()):
                    continue
                for what in fallen(cell):
                    print(f"{path.stem:<24}{number:>5}          {name:<8}  {what}")
                    found += 1
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("slug", nargs="*", help="a page, such as attention")
    parser.add_argument(
        "--shake", nargs="+", choices=[*SHAKES, *LENGTHS], default=[*SHAKES]
    )
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

    machines = [name for name in options.shake if name in SHAKES]
    if not options.table:
        names = [HERE] * bool(machines) + options.shake
        tasks = [(options.root, n, p) for p in paths for n in names]
        if options.jobs == 1:
            list(starmap(run, tasks))
        else:
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(options.jobs, context) as pool:
                list(pool.map(run, *zip(*tasks, strict=True)))
    found = table(paths, options.root, options.limit) if machines else 0
    if machines and not found:
        print(f"No output moves by more than {options.limit:g} of its allowance.")
    fell = falls(paths, options.root, every=options.limit == 0)
    return 1 if found or fell else 0


if __name__ == "__main__":
    sys.exit(main())
