"""What would hide a call from the profiler is said at once, while cells run and later.

Python tells an audit hook of each such step, and nobody can take the hook off: reading
frames, changing a function's code, making code under another file's name, and starting
a process, in which nothing is watched. Of threads it is asked before each question.
"""

import os
import re
import sys
import sysconfig
from collections.abc import Callable
from sys import _current_frames as frames_of_threads
from sys import _getframe as frame_of
from threading import get_ident as this_thread
from types import FrameType
from typing import Any

_DIRECT = re.compile(
    r"^(sys\.(_current_frames|setprofile|settrace)|gc\.get_(objects|referrers|referents)"
    r"|code\.__new__|marshal\.loads)$"
)
_THROUGH = re.compile(
    r"^(ctypes\.|subprocess\.Popen|os\.(fork|forkpty|posix_spawn|exec|spawn|system)"
    r"|pty\.spawn)"
)
_STDLIB = (sysconfig.get_paths()["stdlib"] + os.sep, "<frozen")
_FRAMES = ("inspect.py", "traceback.py")


def watch(say: Callable[[str], None], in_a_library: Callable[[str], bool]) -> None:
    """Tell `say` of each step that a line of the student's takes, by its name.

    Args:
        say: Is told, once for each name.
        in_a_library: Whether a file isn't the student's.
    """
    said: set[str] = set()
    busy: list[bool] = []

    def hook(event: str, given: tuple[Any, ...]) -> None:
        direct, through = _is_direct(event, given, in_a_library), _THROUGH.match(event)
        if busy or not (direct or through):
            return
        busy.append(True)  # looking at frames is such a step as well
        try:
            frame = frame_of(1)
            if through:
                frame = _past(frame, lambda file: file.startswith(_STDLIB))
            elif event == "sys._getframe":
                frame = _past(frame, lambda file: file.endswith(_FRAMES))
            if frame is not None and not in_a_library(frame.f_code.co_filename):
                name = f"{event}, {given[1]}" if event[:8] == "object._" else event
                if name not in said:
                    said.add(name)
                    say(name)
        finally:
            busy.pop()

    sys.addaudithook(hook)


def threads(in_a_library: Callable[[str], bool]) -> bool:
    """Whether a line of the student's runs in another thread, where nobody watches."""
    others = [f for n, f in frames_of_threads().items() if n != this_thread()]
    passed = (_past(frame, in_a_library) for frame in others)
    return any(frame is not None for frame in passed)


def _is_direct(
    event: str, given: tuple[Any, ...], in_a_library: Callable[[str], bool]
) -> bool:
    if event == "compile":  # under the name of a library's file
        file = given[1]
        file = os.fsdecode(file) if isinstance(file, (str, bytes)) else ""
        return file != "<unknown>" and in_a_library(file)
    if event == "object.__getattr__":
        return str(given[1]).endswith("_frame")
    if event == "object.__setattr__":
        return given[1] == "__code__"
    return event == "sys._getframe" or bool(_DIRECT.match(event))


def _past(frame: FrameType | None, passes: Callable[[str], bool]) -> FrameType | None:
    while frame is not None and passes(frame.f_code.co_filename):
        frame = frame.f_back
    return frame
