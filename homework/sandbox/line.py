"""How long a process has stood in line for a processor: no time of the student's."""

import contextlib
import glob


def waited() -> float:
    """Seconds that this process stood in line, on Linux; elsewhere 0."""
    total = 0
    for path in glob.glob("/proc/self/task/*/schedstat"):
        with contextlib.suppress(OSError), open(path) as file:
            total += int(file.read().split()[1])
    return total / 1e9
