"""The environment in which every cell of the book runs.

A chapter is executed from three places: the tool that stores its outputs, the tests
that compare them, and the book's build when a cell was edited. They agree because all
three take their environment from here.
"""

import os
from collections.abc import Mapping, MutableMapping
from pathlib import Path

ENVIRONMENT: Mapping[str, str] = {
    # JAX on a CPU hands its memory back to the system at each step and asks for it
    # again at the next: some ten thousand page faults a training step, nearly half
    # its time. glibc reads these once, when a process starts, and keeps its heap.
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": str(4 * 1024**3),
    "MALLOC_TRIM_THRESHOLD_": str(4 * 1024**3),
    "MALLOC_TOP_PAD_": str(64 * 1024**2),
    # One thread a kernel. The tests run a kernel on every core, and threads that wait
    # for each other cost more than they bring; sums are added in one order on all
    # machines.
    "OMP_NUM_THREADS": "1",
    # A progress bar writes the clock into a cell's output.
    "COURSE_QUIET": "1",
    # Published weights come from the hub's cache or from a package, never over the
    # network: a page does not wait for it, and prints no bar and no warning of its own.
    "HF_HUB_OFFLINE": "1",
    # Stored outputs come from a CPU, also on a machine that has an accelerator: its
    # float32 products are rounded otherwise.
    "JAX_PLATFORMS": "cpu",
    "CUDA_VISIBLE_DEVICES": "",
    # Another backend, inherited from the shell or a test runner, shows no figure.
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
}


def kernel_environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """Lay the book's variables over an environment.

    Args:
        base: What to start from; the environment of this process by default.

    Returns:
        A new dictionary, to be handed to a kernel that is about to start.
    """
    return {**(os.environ if base is None else base), **ENVIRONMENT}


def apply(environ: MutableMapping[str, str]) -> None:
    """Set the book's variables in place, for kernels that inherit them."""
    environ.update(ENVIRONMENT)


def compiled(root: Path, name: str) -> dict[str, str]:
    """Let JAX keep what it compiled: pages share most of their small functions.

    Args:
        root: The project's folder.
        name: Of the folder to keep it in. Each process has one of its own, for JAX
            writes there without a lock.
    """
    return {
        "JAX_COMPILATION_CACHE_DIR": str(root / "_build" / "compiled" / name),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
