"""Progress bar. Quiet with COURSE_QUIET=1 or CI, and without terminal or notebook."""

import os
import sys
import time


class Progress:
    """One line on stderr, drawn over itself.

    Args:
        total: Steps in all.
        show: False keeps it quiet whatever the surroundings.
    """

    def __init__(self, total: int, *, show: bool = True):
        self.total = total
        self.show = show and _wanted()
        self._since, self._first = time.monotonic(), None

    def update(self, step: int, loss: float) -> None:
        """Say that `step` steps are done and what the last loss was."""
        if not self.show:
            return
        self._first = step if self._first is None else self._first
        seconds = time.monotonic() - self._since
        speed = (step - self._first) / seconds if seconds else 0.0
        filled = 24 * step // self.total
        bar = "━" * filled + "╌" * (24 - filled)
        sys.stderr.write(
            f"\r{bar} {step}/{self.total}  loss {loss:.4f}  {speed:.0f} steps/s  "
        )
        sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        if self.show and self._first is not None:
            sys.stderr.write("\n")


def _wanted() -> bool:
    """Whether there is a terminal or a notebook, and no variable against it."""
    if os.environ.get("COURSE_QUIET") == "1" or os.environ.get("CI"):
        return False
    return sys.stderr.isatty() or _in_notebook()


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
