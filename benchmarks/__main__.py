"""Run the benchmarks that are named, or all of them."""

import importlib
import os
import sys
from pathlib import Path

FRAME = {"__init__", "__main__", "race"}

# The profiler would print lines of its own between the tables.
os.environ.setdefault("KINETO_LOG_LEVEL", "6")


def main(names: list[str]) -> None:
    """Print one table after the other.

    Args:
        names: Modules of this folder; none means all.
    """
    there = sorted(p.stem for p in Path(__file__).parent.glob("*.py"))
    for name in names or [n for n in there if n not in FRAME]:
        if name not in there or name in FRAME:
            sys.exit(f"There is no benchmark {name!r}.")
        print(importlib.import_module(f"benchmarks.{name}").run(), end="\n\n")


if __name__ == "__main__":
    main(sys.argv[1:])
