"""Let candidates take turns and compare their medians."""

import statistics
import time
from collections.abc import Callable, Mapping


def race(candidates: Mapping[str, Callable[[], object]], rounds: int = 21) -> dict:
    """Run every candidate once a round, so that a slow moment hits all of them.

    Args:
        candidates: Calls without arguments that return when their work is done. The
            first is what the others are compared with.
        rounds: How often each is timed, after two rounds that are not.

    Returns:
        For each name the median in seconds, and its speed in units of the first one's.
    """
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for lap in range(rounds + 2):
        for name, call in candidates.items():
            start = time.perf_counter()
            call()
            if lap >= 2:
                times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(t) for name, t in times.items()}
    first = next(iter(medians.values()))
    return {name: (t, first / t) for name, t in medians.items()}


def table(title: str, columns: dict[str, dict]) -> str:
    """Lay races out: a row for each candidate, a column for each size.

    Args:
        title: What was measured.
        columns: The results of `race` by the name of the size.

    Returns:
        Lines of text.
    """
    names = list(next(iter(columns.values())))
    width = max(map(len, [title, *names]))
    lines = [f"{title:<{width}}" + "".join(f"  {c:>22}" for c in columns)]
    for name in names:
        cells = (columns[c][name] for c in columns)
        cells = (f"{1e3 * t:.1f} ms, speed {r:.2f}" for t, r in cells)
        lines.append(f"{name:<{width}}" + "".join(f"  {cell:>22}" for cell in cells))
    return "\n".join(lines)
