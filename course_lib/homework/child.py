"""The process in which one submission runs, started by `apart`.

It reads a job from its input, runs the submission's cells, calls each answer on each
case, and writes a line of JSON for every outcome. It is told no right answers, and what
could compute or compare them is taken out of reach before the submission starts.
"""

import base64
import importlib
import json
import linecache
import os
import pickle
import sys
from types import ModuleType
from typing import Any

import numpy as np

import course_lib
from course_lib.homework.running import Outcome, Task, Watch, _guarded, run

HIDDEN = ("course_lib.oracle", "course_lib.homework")


def main() -> None:
    """Run the job on standard input."""
    job = pickle.loads(sys.stdin.buffer.read())
    results = os.fdopen(os.dup(1), "w", encoding="utf-8")
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)

    def say(**line: Any) -> None:
        json.dump({"token": job["token"], **line}, results)
        results.write("\n")
        results.flush()

    _warm_up(job["wing"])
    _limit(job["megabytes"], job["processor_seconds"])
    _hide()
    names, trouble = _load(job["cells"], job["load_seconds"])
    say(loaded=True)
    for part, (answer, task) in job["parts"].items():
        for case, outcome in enumerate(_outcomes(names, answer, task, trouble)):
            say(
                part=part,
                case=case,
                trouble=outcome.trouble,
                used=outcome.used,
                outputs=[_as_text(x) for x in outcome.outputs],
            )
        _forget_programs(job["wing"])
    os._exit(0)  # whatever the submission left running


def _outcomes(names: dict, answer: str, task: Task, trouble: str):
    if answer in names:
        return run(names[answer], task)
    text = f"the submission defines no {answer}"
    text += f"; while it was loaded, {trouble}" if trouble else "."
    return [Outcome(trouble=text)] * len(task.cases)


def _as_text(x: np.ndarray) -> dict[str, Any]:
    data = base64.b64encode(np.ascontiguousarray(x).tobytes()).decode()
    return {"dtype": x.dtype.str, "shape": x.shape, "data": data}


def _warm_up(wing: str) -> None:
    """Import the framework and let it start its threads, before memory is counted."""
    importlib.import_module(f"course_lib.{wing}")
    if wing == "torch":
        torch = importlib.import_module("torch")
        torch.set_num_threads(1)
        torch.matmul(torch.ones(2, 2), torch.ones(2, 2))
    else:
        ones = importlib.import_module("jax.numpy").ones((2, 2))
        (ones @ ones).block_until_ready()


def _forget_programs(wing: str) -> None:
    """Give back the memory of what JAX has compiled: it keeps every program."""
    if wing == "nnx":
        importlib.import_module("jax").clear_caches()


def _limit(megabytes: int, seconds: int) -> None:
    """Limit memory, processor time and files, on systems that can."""
    try:
        import resource
    except ImportError:  # Windows: the parent's clock remains
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**26, 2**26))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    status = "/proc/self/status"
    if os.path.exists(status):
        with open(status) as lines:
            used = next(int(n.split()[1]) for n in lines if n.startswith("VmData"))
        most = used * 1024 + megabytes * 2**20
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _hide() -> None:
    """Take the oracle and the marker away; `check` in a submission does nothing."""
    for name in [name for name in sys.modules if name.startswith(HIDDEN)]:
        sys.modules[name] = None  # type: ignore[assignment]
    for name in ("oracle", "homework"):
        if hasattr(course_lib, name):
            delattr(course_lib, name)
    stub: Any = ModuleType("course_lib.homework")
    stub.check = lambda *args, **kwargs: None
    stub.EXERCISES, stub.CHALLENGES = {}, {}
    sys.modules["course_lib.homework"] = course_lib.homework = stub  # type: ignore


def _load(cells: list[str], seconds: float) -> tuple[dict[str, Any], str]:
    """What the submission defines, and the first error of a cell.

    A cell that fails does not keep the next from running, as in a notebook.
    """
    module = ModuleType("submission")
    # Dataclasses and pickle look it up; and nothing of ours stays in reach.
    sys.modules["submission"] = sys.modules["__main__"] = module
    trouble = ""
    for number, cell in enumerate(cells, start=1):
        name = f"<cell {number}>"
        linecache.cache[name] = (len(cell), None, cell.splitlines(True), name)

        def execute(cell: str = cell, name: str = name) -> None:
            exec(compile(cell, name, "exec"), vars(module))

        _, wrong = _guarded(execute, Watch(()), seconds)
        trouble = trouble or wrong
    return vars(module), trouble


if __name__ == "__main__":
    main()
