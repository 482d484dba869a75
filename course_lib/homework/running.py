"""The student's side of marking: call the answer on each case, whatever it does.

Nothing here knows a right answer, so the same code runs in a notebook and in a process
apart. An error, an exit, an endless loop or a wrong kind of result becomes a sentence.
"""

import contextlib
import importlib
import inspect
import linecache
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from course_lib.arrays import to_numpy
from course_lib.homework import called
from course_lib.homework.exercise import Case


@dataclass(frozen=True)
class Task:
    """What the student's side is told of an exercise; it can be pickled."""

    wing: str
    cases: tuple[Case, ...]
    returns: int = 1
    weights: dict[str, np.ndarray] | None = None
    build: tuple[Any, ...] = ()
    keywords: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    watched: bool = True
    seconds: float = 30.0


Watched = Callable[[], contextlib.AbstractContextManager]


@dataclass(frozen=True)
class Outcome:
    """What came of one case: arrays, or a sentence that says why there are none."""

    outputs: tuple[np.ndarray, ...] = ()
    trouble: str = ""


def watching(task: Task, note: called.Note) -> Watched:
    """A context in which `note` is told of calls, where a task asks for that."""
    if not task.watched:
        return contextlib.nullcontext
    return called.Watch(task.wing, task.forbidden, task.needs, note).on


def run(answer: Any, task: Task, watched: Watched) -> Iterator[Outcome]:
    """Run an answer, a student's function or class, on every case of a task in turn.

    Args:
        answer: Of a student.
        task: What is asked.
        watched: As from `watching`.
    """
    function, trouble = answer, _wrong_kind(answer, task)
    if task.weights is not None and not trouble:
        with watched():
            function, trouble = guarded(lambda: _build(answer, task), task.seconds)
        if not trouble:
            lib = importlib.import_module(f"course_lib.{task.wing}.bridge")
            _, trouble = guarded(
                lambda: lib.set_weights(function, task.weights), task.seconds
            )
            trouble = trouble and (_misfit(lib, function, task.weights) or trouble)
        trouble = trouble and f"it could not be built: {_start(trouble)}"
    too_long = 0
    for case in task.cases:
        if trouble:
            yield Outcome(trouble=trouble)
            continue
        outcome = _run_case(function, task, case, watched)
        yield outcome
        too_long += outcome.trouble.startswith(_TOO_LONG)
        if too_long == 2:  # the class is waiting
            trouble = "it was not run: two cases ran for too long."


def _misfit(lib: Any, layer: Any, weights: dict[str, np.ndarray]) -> str:
    """In the student's words: which parameters a layer lacks, and has instead."""
    try:
        names = set(lib.get_weights(layer))
    except Exception:  # whatever the layer is, the error of set_weights is the better
        return ""
    lacks, extra = sorted(weights.keys() - names), sorted(names - weights.keys())
    said = [f"it has no {', '.join(lacks)}"] if lacks else []
    said += (
        [f"it has {', '.join(extra)}, which the text does not name"] if extra else []
    )
    return " and ".join(said) + "." if said else ""


def _start(trouble: str) -> str:
    return trouble.removeprefix("it raised ")


def _wrong_kind(answer: Any, task: Task) -> str:
    """Why this can't be an answer at all: nothing if it can."""
    if task.weights is not None and not inspect.isclass(answer):
        if callable(answer) and not _is_module(answer):
            return ""  # a function that builds the layer
        return (
            f"a class is due: got an instance, {type(answer).__name__}. Hand over the "
            "class itself, without calling it: check(MyClass, ...)."
        )
    if not callable(answer):
        return (
            f"a function is due: got {type(answer).__name__}. "
            "Hand over the function itself, without calling it: check(f, ...)."
        )
    if task.weights is None and inspect.isclass(answer):
        return (
            f"a function is due: got the class {answer.__name__}. Write the equation "
            "as a function of the arguments, or hand over a function that calls it."
        )
    return ""


def _is_module(answer: Any) -> bool:
    """Whether this is a layer of a framework (none is imported to find out)."""
    roots = {"torch": "torch.nn", "flax": "flax.nnx"}
    found = (sys.modules.get(name) for name in roots.values())
    return isinstance(answer, tuple(m.Module for m in found if m is not None))


def _build(cls: Any, task: Task) -> Callable:
    rngs = {}
    if task.wing == "nnx":
        rngs["rngs"] = importlib.import_module("flax.nnx").Rngs(0)
    return called.call(cls, *task.build, **rngs)


def _run_case(function: Callable, task: Task, case: Case, watched: Watched) -> Outcome:
    names = ("",) * (len(case) - len(task.keywords)) + task.keywords
    given = list(zip(names, case, strict=True))
    while given and given[-1][1] is None:
        given.pop()
    arguments = [(name, _to_wing(x, task.wing)) for name, x in given]
    kept = [to_numpy(x).copy() for _, x in arguments if hasattr(x, "shape")]

    def call() -> tuple[np.ndarray, ...]:
        by_name = {name: x for name, x in arguments if name}
        given = [x for n, x in arguments if not n]
        with watched():
            got = called.call(function, *given, **by_name)
        return _outputs(got, task)

    got, trouble = guarded(call, task.seconds)
    if trouble:
        return Outcome(trouble=trouble)
    now = [to_numpy(x) for _, x in arguments if hasattr(x, "shape")]
    if not all(map(np.array_equal, kept, now)):
        return Outcome(trouble="it changed its own input. Work on a copy.")
    return Outcome(outputs=got)


class _WrongResultError(Exception):
    """The answer returned, but not what is due; the text says what."""


def _outputs(got: Any, task: Task) -> tuple[np.ndarray, ...]:
    """What the answer returned, in NumPy."""
    kind = _tensor_type(task.wing)
    wanted = {"torch": "a torch.Tensor", "nnx": "a JAX array"}[task.wing]
    if task.returns == 1:  # an output may come with its weights
        got = (got[0] if isinstance(got, (tuple, list)) and got else got,)
    elif not isinstance(got, (tuple, list)) or len(got) != task.returns:
        came = f"{len(got)} things" if isinstance(got, tuple) else type(got).__name__
        raise _WrongResultError(
            f"it returned {came} where {task.returns} tensors are due."
        )
    arrays = []
    for x in got:
        if not isinstance(x, kind):
            hint = " Does it end with return?" if x is None else ""
            came = "a NumPy array" if isinstance(x, np.ndarray) else type(x).__name__
            raise _WrongResultError(f"it returned {came} where {wanted} is due.{hint}")
        dtype = str(x.dtype).removeprefix("torch.")
        if "float16" in dtype or "float8" in dtype:
            raise _WrongResultError(
                f"it returned {dtype}, which keeps two or three digits; "
                "stay in float32, as the input is."
            )
        arrays.append(np.array(to_numpy(x)))
    return tuple(arrays)


def _to_wing(x: Any, wing: str) -> Any:
    """A NumPy array as a tensor of the wing (floats in float32); the rest as it is."""
    if not isinstance(x, np.ndarray):
        return x
    x = x.astype(np.float32) if x.dtype == np.float64 else x
    if wing == "torch":
        return importlib.import_module("torch").from_numpy(x.copy())
    return importlib.import_module("jax.numpy").asarray(x)


def _tensor_type(wing: str) -> type:
    """The class of the framework's arrays."""
    if wing == "torch":
        return importlib.import_module("torch").Tensor
    return importlib.import_module("jax").Array


class _OutOfTimeError(BaseException):
    """Raised inside an answer that runs too long; no `except Exception` stops it."""


def _in_line() -> float:
    """Seconds for which this process has stood in line for a processor, if that counts.

    Here it doesn't: a notebook has a button that stops it. The sandbox has its own.
    """
    return 0.0


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Interrupt Python code after so many seconds, where the system can do that."""
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return
    start, given, over = _in_line(), 0.0, False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal given, over
        more = _in_line() - start - given
        over = more < 0.05
        if over:
            raise _OutOfTimeError
        given += more
        signal.setitimer(signal.ITIMER_REAL, more)

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if over:  # and the answer has caught what stops it
        raise _OutOfTimeError


def guarded(call: Callable, seconds: float) -> tuple[Any, str]:
    """The result of a call, and what went wrong: one of the two is empty."""
    try:
        with _time_limit(seconds):
            return call(), ""
    except KeyboardInterrupt:
        raise
    except _WrongResultError as error:
        return None, str(error)
    except _OutOfTimeError:
        return None, f"{_TOO_LONG} {seconds:g} s. Does every loop end?"
    except SystemExit:
        return None, "it called sys.exit. Return the result instead."
    except MemoryError as error:
        return None, _no_memory(error)
    except BaseException as error:
        if re.search(_NO_MEMORY, str(error)):
            return None, _no_memory(error)
        return None, _explain(error)


_TOO_LONG = "it ran for more than"
_NO_MEMORY = "can't allocate memory|RESOURCE_EXHAUSTED|[Oo]ut of memory"
_HINTS = {
    r"must match the size|[Ii]ncompatible shapes|broadcast": (
        "Shapes are compared from the right; two axes fit if they are equal or one of "
        "them is 1. x[:, None] inserts an axis of 1."
    ),
    r"mat1 and mat2|batch2 tensor|contracting|inconsistent tensor size|matmul": (
        "In a @ b the last axis of a must equal the last but one of b; b.mT swaps b's "
        "last two axes."
    ),
    r"invalid for input of size|cannot reshape": (
        "A reshape keeps the number of entries: the new sizes must have the same "
        "product as the old."
    ),
    r"einsum": "In an einsum one letter stands for one size, wherever it occurs.",
    r"unexpected keyword argument 'dim'|unexpected keyword argument 'keepdim'": (
        "JAX, like NumPy, says axis and keepdims."
    ),
}

_TRANSPOSED = (
    "x.T turns all axes round, also that of the batch; x.mT swaps the last two alone."
)


def _no_memory(error: BaseException) -> str:
    frame = _students_frame(error.__traceback__)
    return f"it ran out of memory{_place(frame)}. Which array is so large?"


def _explain(error: BaseException) -> str:
    """An error in the student's terms: their own line, its shapes, a hint."""
    text = " ".join(str(error).split())
    text = text if len(text) <= 300 else text[:300] + " …"
    frame = _students_frame(error.__traceback__)
    sentence = f"it raised {type(error).__name__}{_place(frame)}: {text}"
    sentence += "" if text.endswith((".", "!", "?", "…")) else "."
    shapes = _shapes_in(frame)
    if "same dtype" in text:
        return f"{sentence}{shapes} Stay in float32, as the input is."
    for pattern, hint in _HINTS.items():
        if re.search(pattern, text):
            batch = re.search(r"\.T\b.* is \(\d+, \d+, \d", _line(frame) + shapes)
            return f"{sentence}{shapes} {_TRANSPOSED if batch else hint}"
    return sentence


Place = tuple[FrameType, int] | None


def _students_frame(trace: TracebackType | None) -> Place:
    """The innermost line that belongs to no library."""
    found = None
    while trace is not None:
        if not called.in_a_library(trace.tb_frame.f_code.co_filename):
            found = trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next
    return found


def _line(place: Place) -> str:
    if place is None:
        return ""
    frame, number = place
    return linecache.getline(frame.f_code.co_filename, number, frame.f_globals).strip()


def _place(place: Place) -> str:
    line = _line(place)
    return f' in your line "{line}"' if line else ""


def _shapes_in(place: Place) -> str:
    """The shapes of the tensors that the student's line names."""
    if place is None:
        return ""
    known = place[0].f_locals
    names = dict.fromkeys(re.findall(r"\b[^\W\d]\w*\b", _line(place)))
    shapes = [
        f"{name} is {tuple(known[name].shape)}"
        for name in names
        if isinstance(getattr(known.get(name), "shape", None), tuple)
    ]
    return f" There {', '.join(shapes)}." if shapes else ""
