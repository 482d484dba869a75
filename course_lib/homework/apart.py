"""Run a submission in a process of its own, with limits on time and memory.

A submission can't reach the marker: its process is given the cases without their
answers, and what comes back are numbers, which this side compares. It can't read this
side's files by their names, but it is no jail: who expects attacks on the machine
itself runs the grading in a container without a network.
"""

import ast
import base64
import contextlib
import json
import os
import pickle
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from course_lib.homework.running import Outcome, Task

_ROOT = Path(__file__).resolve().parents[2]
_LARGEST = 2**26  # bytes of results
_TOO_LONG = "did not end within"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a submission may take.

    Args:
        seconds: For one case of an exercise; a challenge has its own limit.
        load_seconds: For one cell, while the submission is loaded.
        start_seconds: Until the framework is imported.
        megabytes: Of memory, beyond what the framework takes.
    """

    seconds: float = 20.0
    load_seconds: float = 60.0
    start_seconds: float = 120.0
    megabytes: int = 1000

    def whole(self, tasks: Iterable[Task]) -> float:
        """Seconds for a process that runs these tasks."""
        running = sum(task.seconds * len(task.cases) for task in tasks)
        return self.start_seconds + self.load_seconds + self.seconds + running


def run_apart(
    cells: list[str], parts: list[tuple[str, Task]], wing: str, limits: Limits
) -> list[list[Outcome]]:
    """Run every part of a submission, each case, whatever happens in another.

    Args:
        cells: The submission's code: one text, or one for each cell of a notebook.
        parts: The name of each answer, and its task.
        wing: "torch" or "nnx".
        limits: On time and memory.

    Returns:
        For each part an outcome for each case.
    """
    done: dict[int, list[Outcome]] = {}
    whole = cells
    while len(done) < len(parts):
        left = {i: part for i, part in enumerate(parts) if i not in done}
        found, loaded, end = _run(cells, left, wing, limits)
        if not loaded and cells is whole and not end.startswith(_TOO_LONG):
            # A line that only shows something ended it: what it defines may be right.
            cells = [_definitions(cell) for cell in whole]
            continue
        for i, (_, task) in left.items():
            outcomes = found.get(i, [])
            if len(outcomes) == len(task.cases):
                done[i] = outcomes
                continue
            # This one ended the process. The next parts start in another, unless it
            # was ended before any of them began.
            where = "it" if loaded else "while it was loaded, it"
            trouble = Outcome(trouble=f"{where} {end}")
            missing = len(task.cases) - len(outcomes)
            done[i] = [*outcomes, *[trouble] * missing]
            if loaded:
                break
    return [done[i] for i in range(len(parts))]


def _definitions(cell: str) -> str:
    """Imports, functions, classes and constants of a cell, on the lines they stand."""
    try:
        nodes = ast.parse(cell).body
    except SyntaxError:
        return cell
    lines, kept = cell.splitlines(), set()
    for node in nodes:
        plain = isinstance(node, ast.Assign) and not any(
            isinstance(part, ast.Call) for part in ast.walk(node)
        )
        if plain or isinstance(node, _DEFINITIONS):
            marks = getattr(node, "decorator_list", [])
            first = min(part.lineno for part in (node, *marks))
            kept |= set(range(first, (node.end_lineno or first) + 1))
    return "\n".join(x if i in kept else "" for i, x in enumerate(lines, start=1))


_DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)


def _run(
    cells: list[str], parts: dict[int, tuple[str, Task]], wing: str, limits: Limits
) -> tuple[dict[int, list[Outcome]], bool, str]:
    """Outcomes by part, whether the submission was loaded, how the process ended."""
    clock = limits.whole(task for _, task in parts.values())
    job = {
        "token": secrets.token_hex(),
        "wing": wing,
        "cells": cells,
        "parts": parts,
        "megabytes": limits.megabytes,
        "load_seconds": limits.load_seconds,
        "processor_seconds": int(clock) + 1,
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as results,
    ):
        pickle.dump(job, given)
        given.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "course_lib.homework.child"],
            stdin=given,
            stdout=results,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=_environment(folder),
            start_new_session=True,
        )
        try:
            status = process.wait(timeout=clock)
            end = _name(status)
        except subprocess.TimeoutExpired:
            end = f"{_TOO_LONG} {clock:g} s. Does every loop end?"
        finally:
            _stop(process)
        found, loaded = _read(results, job["token"], parts)
    return found, loaded, end


def _environment(folder: str) -> dict[str, str]:
    """Little of ours, no accelerator, one thread."""
    kept = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
    return {name: os.environ[name] for name in kept if name in os.environ} | {
        "PYTHONPATH": str(_ROOT),
        "HOME": folder,
        "TMPDIR": folder,
        "OMP_NUM_THREADS": "1",
        "JAX_PLATFORMS": "cpu",
        "CUDA_VISIBLE_DEVICES": "",
    }


def _name(status: int) -> str:
    if status < 0:
        name = signal.Signals(-status).name
        memory = " It may have needed too much memory." if name != "SIGXCPU" else ""
        return f"was killed by {name}.{memory}"
    return f"ended the process (exit status {status}). Return the result instead."


def _stop(process: subprocess.Popen) -> None:
    """End the process, and what it started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def _read(
    results: IO[bytes], token: str, parts: dict[int, tuple[str, Task]]
) -> tuple[dict[int, list[Outcome]], bool]:
    """The outcomes that came in order and in form; nothing else is believed."""
    results.seek(0)
    found: dict[int, list[Outcome]] = {i: [] for i in parts}
    loaded = False
    for text in results.read(_LARGEST).splitlines():
        try:
            line = json.loads(text)
            if line.get("token") != token:
                continue
            loaded = True
            if "part" in line and len(found[line["part"]]) == line["case"]:
                found[line["part"]].append(_outcome(line))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return found, loaded


def _outcome(line: dict[str, Any]) -> Outcome:
    return Outcome(
        outputs=tuple(_array(x) for x in line["outputs"]),
        trouble=str(line["trouble"]),
        used=tuple(map(str, line["used"])),
    )


def _array(x: dict[str, Any]) -> np.ndarray:
    dtype = np.dtype(x["dtype"])
    if dtype.kind not in "biufc":
        raise ValueError(f"arrays must be of numbers: got {dtype}.")
    data = base64.b64decode(x["data"])
    return np.frombuffer(data, dtype).reshape(x["shape"])
