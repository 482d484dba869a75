"""The process in which one submission is read, or runs: `python -m sandbox`.

It takes a job from its input, and writes a frame for what it read or for each case.
The job has inputs and no results; what could compute them isn't in this room.
"""

import ast
import contextlib
import importlib
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from . import calls, cells, forbidden, reach, wire

ROOM = Path(__file__).resolve().parents[1]


def main() -> None:
    """Do the job on standard input."""
    ((job, arrays),) = wire.frames(sys.stdin.buffer.read())
    results = os.dup(1)
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)

    def say(outputs: Any = (), **header: Any) -> None:
        left = wire.frame(header, outputs)
        while left:
            left = left[os.write(results, left) :]

    if job["do"] == "read":
        cells.prepare()
        _limit(job)
        say(ready=True)
        _read(job, arrays, say)
    else:
        _mark(job, arrays, say)
    os._exit(0)  # whatever the submission left running


def _read(job: dict[str, Any], arrays: list[np.ndarray], say: Any) -> None:
    try:
        found = cells.read(job["name"], arrays[0].tobytes())
    except ValueError as error:
        say(trouble=str(error))
        return
    odd = list(dict.fromkeys(w for cell in found for w in reach.reached(cell.code)))
    say(
        cells=[cell.code for cell in found], said=_said(found), odd=odd[: wire.MOST_ODD]
    )


def _said(found: list[cells.Cell]) -> dict[str, Any]:
    """What a submission says of itself, what it imports, and what builds on what."""
    said: dict[str, Any] = {"imports": set(), "uses": {}}
    for cell in found:
        try:
            body = ast.parse(cell.code).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            # Only its imports can be guessed.
            lines = re.findall(
                r"^\s*(?:import|from)\s+([\w.]+)", cell.code, re.MULTILINE
            )
            said["imports"] |= set(lines)
            continue
        for statement in body:
            names = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
            for bound in cells.bound(statement):
                said["uses"].setdefault(bound, set()).update(names)
            for node in ast.walk(statement):
                if isinstance(node, ast.Import):
                    said["imports"] |= {name.name for name in node.names}
                elif isinstance(node, ast.ImportFrom):
                    names = {f"{node.module or ''}.{n.name}" for n in node.names}
                    said["imports"] |= names
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    name = getattr(target, "id", "")
                    value = getattr(statement.value, "value", None)
                    if name in ("WING", "ALIAS") and isinstance(value, str):
                        said[name] = value
    said["uses"] = {name: sorted(used) for name, used in said["uses"].items()}
    return said | {"imports": sorted(said["imports"])}


def _mark(job: dict[str, Any], arrays: list[np.ndarray], say: Any) -> None:
    running = importlib.import_module("course_lib.homework.running")
    running.LIBRARIES = (*running.LIBRARIES, str(ROOM))  # pyright: ignore
    _start(job["wing"])
    forbidden.shut()
    parts = [(p, running.Task(**wire.unfold(p["task"], arrays))) for p in job["parts"]]
    _limit(job)
    say(ready=True)

    def guarded(call: Any, seconds: float) -> str:
        return running.guarded(call, seconds)[1]

    made = [cells.Cell(n, code) for n, code in enumerate(job["cells"], start=1)]
    sys.path.append(os.getcwd())
    seconds, instead = job["explore_seconds"], job["instead"]

    def explores(number: int) -> None:
        if number <= wire.MOST_STATEMENTS:
            say(explores=number)

    skipped = set(job["skipped"])
    submission = cells.Submission(made, guarded, seconds, instead, skipped, explores)
    say(loaded=True)
    for part, task in parts:
        answer = submission.names.get(part["answer"])
        forbidden.USED.clear()
        if part["answer"] in submission.names:
            outcomes = running.run(answer, task)
        else:
            why = submission.missing(part["answer"])
            outcomes = [running.Outcome(trouble=why)] * len(task.cases)
        for case, one in enumerate(outcomes):
            odd = [x for x in one.outputs if x.dtype.str not in wire.KINDS]
            trouble = submission.because(one.trouble)
            say(
                [] if odd else one.outputs,
                part=part["part"],
                case=case,
                trouble=f"it returned {odd[0].dtype}." if odd else trouble,
                used=list(forbidden.USED),
            )
            forbidden.USED.clear()
        if job["wing"] == "nnx":  # JAX keeps every program that it has compiled
            importlib.import_module("jax").clear_caches()


def _start(wing: str) -> None:
    """Import the framework and let it start its threads, before memory is counted."""
    importlib.import_module(f"course_lib.{wing}")
    if wing == "torch":
        torch = importlib.import_module("torch")
        torch.set_num_threads(1)
        torch.matmul(torch.ones(2, 2), torch.ones(2, 2))
    else:
        ones = importlib.import_module("jax.numpy").ones((2, 2))
        (ones @ ones).block_until_ready()


def _limit(job: dict[str, Any]) -> None:
    """Limit memory, processor time, files and system calls, on systems that can."""
    # Where memory runs out after all, this one ends and no one else.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    calls.refuse()
    try:
        import resource
    except ImportError:  # Windows: the marker's clock remains
        return

    def limit(what: int, most: int) -> None:
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))

    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_FSIZE, 2**26)
    limit(resource.RLIMIT_NOFILE, 1024)
    limit(resource.RLIMIT_CPU, int(job["seconds"]) * (os.cpu_count() or 1) + 5)
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        used = next(int(n.split()[1]) for n in lines if n.startswith("VmData"))
        limit(resource.RLIMIT_DATA, used * 1024 + job["megabytes"] * 2**20)


if __name__ == "__main__":
    main()
