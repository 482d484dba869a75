"""The environment in which every cell of the book runs, and on which machine it did.

A chapter is executed from three places: the tool that stores its outputs, the tests
that compare them, and the book's build when a cell was edited. They agree because all
three take their environment from here.

The same program rounds otherwise on another processor and with other versions. Each
notebook says in its metadata where its outputs come from, so that one that differs can
say so in its failure: "stored with AVX512, run with AVX2".
"""

import os
import platform
import re
from collections.abc import Mapping, MutableMapping
from importlib import metadata
from pathlib import Path

KEY = "stored_on"
PACKAGES = ("torch", "jax", "flax", "numpy")

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
    """Lay the book's variables over an environment, by default this process's."""
    return {**(os.environ if base is None else base), **ENVIRONMENT}


def apply(environ: MutableMapping[str, str]) -> None:
    """Set the book's variables in place, for kernels that inherit them."""
    environ.update(ENVIRONMENT)


def compiled(root: Path, name: str) -> dict[str, str]:
    """Let JAX keep what it compiled: pages share most of their small functions."""
    return {
        "JAX_COMPILATION_CACHE_DIR": str(root / "_build" / "compiled" / name),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def instruction_set(environ: Mapping[str, str] = os.environ) -> str:
    """Name the widest instructions that the frameworks may use here."""
    import torch

    names = [torch.backends.cpu.get_cpu_capability()]
    limit = re.search(r"--xla_cpu_max_isa=(\w+)", environ.get("XLA_FLAGS", ""))
    if limit:
        names.append(f"{limit[1]} in XLA")
    return " and ".join(names)


def describe_machine() -> dict[str, str]:
    """Say what the outputs of this machine come from."""
    versions = {"python": ".".join(platform.python_version_tuple()[:2])}
    for package in PACKAGES:
        versions[package] = metadata.version(package).partition("+")[0]
    return {
        "processor": platform.machine(),
        "instructions": instruction_set(),
        **versions,
    }


def compare_machines(stored: Mapping[str, str] | None, here: Mapping[str, str]) -> str:
    """Say how the machine at hand differs from the one that stored a notebook."""
    if stored is None:
        return "On what it was stored is not noted."
    names = [n for n in {**stored, **here} if stored.get(n) != here.get(n)]
    if not names:
        return "It was stored on such a machine as this, with the same versions."
    was, runs = (
        ", ".join(_say(name, machine.get(name)) for name in names)
        for machine in (stored, here)
    )
    return f"It was stored with {was}; this is {runs}."


def _say(name: str, value: str | None) -> str:
    if name in ("processor", "instructions"):
        return str(value)
    return f"{name} {value}"
