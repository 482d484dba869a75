"""The process in which one submission is read, or runs: `python -m sandbox`.

It takes a job from its input, and writes a frame for what it read or for each case.
The job has inputs and no results; what could compute them isn't in this room.
"""

import ast
import contextlib
import functools
import importlib
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from . import calls, cells, doors, line, wire

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
        _mark(job, arrays, say, results)
    os._exit(0)  # whatever the submission left running


def _read(job: dict[str, Any], arrays: list[np.ndarray], say: Any) -> None:
    try:
        found = cells.read(job["name"], arrays[0].tobytes())
    except ValueError as error:
        say(trouble=str(error))
        return
    say(cells=[cell.code for cell in found], said=_said(found))


def _said(found: list[cells.Cell]) -> dict[str, Any]:
    """What a submission says of itself, what it imports, and what builds on what."""
    defined: dict[str, int] = {}
    said: dict[str, Any] = {"imports": set(), "uses": {}, "filled": {}, "checked": {}}
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
                said["filled"][bound] = not _blank(statement)
                if isinstance(statement, _ANSWERS):
                    defined[bound] = cell.number
            for node in ast.walk(statement):
                if (
                    isinstance(node, ast.Call)
                    and getattr(node.func, "id", "") == "check"
                ):
                    answer = getattr(node.args[0], "id", "") if node.args else ""
                    said["checked"][answer] = cell.number
                if isinstance(node, ast.Import):
                    said["imports"] |= {name.name for name in node.names}
                elif isinstance(node, ast.ImportFrom):
                    names = {f"{node.module or ''}.{n.name}" for n in node.names}
                    said["imports"] |= names
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    name = getattr(target, "id", "")
                    value = getattr(statement.value, "value", None)
                    if name == "WING" and isinstance(value, str):
                        said[name] = value
    said["uses"] = {name: sorted(used) for name, used in said["uses"].items()}
    said["checked"] = defined | said["checked"]
    return said | {"imports": sorted(said["imports"])}


_ANSWERS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign)


def _blank(statement: ast.stmt) -> bool:
    """Whether it is as it was handed out, with `...` where an answer is due."""
    lines = (n.value for n in ast.walk(statement) if isinstance(n, ast.Expr))
    return any(isinstance(x, ast.Constant) and x.value is ... for x in lines)


def _mark(
    job: dict[str, Any], arrays: list[np.ndarray], say: Any, results: int
) -> None:
    running = importlib.import_module("course_lib.homework.running")
    called = importlib.import_module("course_lib.homework.called")
    vars(running)["_in_line"] = line.waited
    vars(called)["LIBRARIES"] += (str(ROOM),)
    _start(job["wing"])
    for name, text in job["files"].items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(arrays[text].tobytes())
    parts = []
    for part in job["parts"]:
        task = running.Task(**wire.unfold(part["task"], arrays))
        noted = wire.noting(results, part["part"])
        parts.append((part, task, running.watching(task, noted)))
    odd = functools.partial(wire.noting(results, -1), "odd")
    doors.watch(odd, called.in_a_library)
    _limit(job)
    _hide()
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
    for part, task, watched in parts:
        if doors.threads(called.in_a_library):
            odd("a thread that goes on")
        answer = submission.names.get(part["answer"])
        if part["answer"] in submission.names:
            outcomes = running.run(answer, task, watched)
        else:
            why = submission.missing(part["answer"])
            outcomes = [running.Outcome(trouble=why)] * len(task.cases)
        for case, one in enumerate(outcomes):
            unsent = [x for x in one.outputs if x.dtype.str not in wire.KINDS]
            trouble = submission.because(one.trouble)
            say(
                [] if unsent else one.outputs,
                part=part["part"],
                case=case,
                trouble=f"it returned {unsent[0].dtype}." if unsent else trouble,
            )
        if job["wing"] == "nnx":  # JAX keeps every program that it has compiled
            importlib.import_module("jax").clear_caches()


def _hide() -> None:
    """Leave no name by which a submission finds what watches it."""
    ours = ("sandbox", "course_lib.homework.")
    for name in [n for n in sys.modules if n.startswith(ours)]:
        module = sys.modules.pop(name)
        room, _, last = name.rpartition(".")
        if getattr(sys.modules.get(room), last, None) is module:
            delattr(sys.modules[room], last)


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
