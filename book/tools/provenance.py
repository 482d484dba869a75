"""On which machine an output was stored: its instruction set, its versions.

The same program rounds otherwise on another processor and with other versions. Each
notebook says in its metadata where its outputs come from, so that one that differs can
say so in its failure: "stored with AVX512, run with AVX2".
"""

import os
import platform
import re
from collections.abc import Mapping
from importlib import metadata

KEY = "stored_on"
PACKAGES = ("torch", "jax", "flax", "numpy")


def instruction_set(environ: Mapping[str, str] = os.environ) -> str:
    """Name the widest instructions that the frameworks may use here.

    Args:
        environ: Where a limit for JAX may stand; PyTorch reads its own.
    """
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
    """Say how the machine at hand differs from the one that stored a notebook.

    Args:
        stored: What the notebook's metadata says, if it says anything.
        here: What `describe_machine` says now.

    Returns:
        A sentence; that nothing differs is worth one, too.
    """
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
